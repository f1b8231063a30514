"""Rows with missing entries as the components of any family see them: log-densities, and steps of EM from shares.

Components of different families, and of Student t distributions, are estimated from shares of the rows. Marginals of a
t distribution are t distributions of the same degrees. Given the hidden scale u of a row its missing entries are
Gaussian, with the covariance of a Gaussian divided by u (Liu and Rubin, 1995, with missing data).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...data.holes import statistics_of_entries
from ...data.table import Rows
from ...families import ComponentFamilies, ExponentialFamily, Gaussian
from ...families.blocks import blocks_of
from ...families.coordinates import CoordinateFamily
from ...families.hidden_scales import Parts, Prior, factors_of, log_density, log_diagonal
from ...families.laplace import weighted_medians
from ...families.student_t import FIRST_DEGREES, StudentT
from ...families.support import as_infinite
from ...families.units import whole
from ...numerics.arrays import Array
from ...numerics.packing import unpack
from ...numerics.threads import for_each
from .components import LOG_2PI, GaussianForm
from .incomplete_rows import IncompleteRows
from .units import GaussianRows, Scored

# Some of the rows.
Places = NDArray[np.intp] | slice

# Rows of t distributions that are completed at a time, and steps of a first estimate.
ROWS_AT_ONCE, FIRST_STEPS = 1 << 10, 6


class Entries(ABC):
    """Rows (n, d) of one family, with NaN for missing entries."""

    @abstractmethod
    def log_densities(self, natural: Array) -> Array:
        """log p_j of what rows have (n, k)."""

    @abstractmethod
    def estimate(self, shares: Array, prior: Array | None, before: Array | None, spread: Array | None) -> Array:
        """Parameters (k, D) for shares (n, k) of the rows: a step from `before` that does not lower their likelihood.

        The prior has weights (n,) of its own on the rows.
        """


def entries_of(family: ExponentialFamily, X: Array, n_threads: int = 1) -> Entries:
    """The rows (n, d) as a family with parameters sees them."""
    if isinstance(family, StudentT):
        return TailEntries(family, X, n_threads)
    if X.shape[1] == 1 and not family.joint:
        return ColumnEntries(family, X)
    if not family.exponential:
        return BlockEntries(family, X, n_threads)
    return UnitEntries(family, X, n_threads)


def observed_log_densities(family: ExponentialFamily, X: Array, natural: Array, n_threads: int = 1) -> Array:
    """log p_j of what rows (n, d) have, under components (k, D) of a family or of several: (n, k)."""
    if not isinstance(family, ComponentFamilies):
        return entries_of(family, X, n_threads).log_densities(natural)

    def of_kind(kind: ExponentialFamily, natural: Array) -> tuple[Places, Array]:
        inside = rows_inside(kind, X)
        if len(inside) == 0:
            return inside, np.empty((0, len(natural)))
        return inside, observed_log_densities(kind, X[inside], natural, n_threads)

    return densities_by_kind(family, natural, len(X), of_kind)


def densities_by_kind(
    family: ComponentFamilies,
    natural: Array,
    n_rows: int,
    of_kind: Callable[[ExponentialFamily, Array], tuple[Places, Array]],
) -> Array:
    """log p_j (n, k), each component in one piece, from what each family says of its own components.

    That is which rows it can have at all, and their log-densities.
    """
    density = np.full((len(natural), n_rows), -np.inf).T
    kinds = family.kind_of(natural)
    for place, kind in enumerate(family.kinds):
        own = np.flatnonzero(kinds == place)
        if len(own):
            inside, found = of_kind(kind, natural[own][:, family.block(place)])
            for column, values in zip(own, found.T, strict=True):
                density[inside, column] = values
    return density


def rows_inside(family: ExponentialFamily, X: Array) -> NDArray[np.intp]:
    """The rows (n, d) that have no entry outside the support of a family."""
    hole = np.isnan(X)
    outside = family.support.outside(np.where(hole, family.support.example(X.shape[1]), X))
    return np.flatnonzero(~np.asarray(outside.any(axis=1) if outside.ndim == 2 else outside))


class ColumnEntries(Entries):
    """One column: rows that have no entry there say nothing of it."""

    def __init__(self, family: ExponentialFamily, X: Array) -> None:
        self._family, self._seen = family, ~np.isnan(X[:, 0])
        self._x = X[self._seen]

    def log_densities(self, natural: Array) -> Array:
        density = np.zeros((len(self._seen), len(natural)))
        found = self._family.direct_log_density(self._x, natural)
        if found is None:
            found = self._family.packed_log_density(self._x, natural)
        density[self._seen] = np.where(np.isnan(found), -np.inf, found)
        return density

    def estimate(self, shares: Array, prior: Array | None, before: Array | None, spread: Array | None) -> Array:
        own, known = shares[self._seen], None if prior is None else prior[self._seen]
        # A component without an entry keeps its own parameters, and begins as all rows.
        there = own.sum(axis=0) > 0
        found = self._estimate(np.where(there, own, 1.0), known, before, spread)
        return found if before is None else np.where(there[:, None], found, before)

    def _estimate(self, shares: Array, prior: Array | None, before: Array | None, spread: Array | None) -> Array:
        if isinstance(self._family, CoordinateFamily):
            return self._family.weighted_estimate(self._x, shares, prior, before, spread)
        center, statistics = self._statistics
        weights = shares if prior is None else shares + prior[:, None]
        return self._family.natural_from_centered(weights.T @ statistics / weights.sum(axis=0)[:, None], center, spread)

    @cached_property
    def _statistics(self) -> tuple[Array | None, Array]:
        """The center of the entries and their statistics seen from there, for exponential families."""
        center = self._family.data_center(self._x)
        seen = self._x if center is None else self._family.centered_rows(self._x, center)
        return center, self._family.sufficient_statistic(seen)


class BlockEntries(Entries):
    """Rows of a family by its independent blocks of columns."""

    def __init__(self, family: ExponentialFamily, X: Array, n_threads: int) -> None:
        self._family, self._blocks = family, blocks_of(family)
        self._entries = [entries_of(block.family, X[:, block.columns], n_threads) for block in self._blocks]

    def log_densities(self, natural: Array) -> Array:
        parts = zip(self._entries, self._blocks, strict=True)
        return np.asarray(sum(own.log_densities(natural[:, block.statistics]) for own, block in parts))

    def estimate(self, shares: Array, prior: Array | None, before: Array | None, spread: Array | None) -> Array:
        natural = np.empty((shares.shape[1], self._family.n_statistics))
        for own, block in zip(self._entries, self._blocks, strict=True):
            start = None if before is None else before[:, block.statistics]
            narrow = None if spread is None else spread[block.columns]
            natural[:, block.statistics] = own.estimate(shares, prior, start, narrow)
        return natural


class UnitEntries(Entries):
    """Rows of an exponential family, unit by unit of their columns."""

    def __init__(self, family: ExponentialFamily, X: Array, n_threads: int) -> None:
        self._family, self._n_threads = family, n_threads
        self._table = Rows(family, X, None, None, n_threads)
        self._rows = IncompleteRows(self._table, None)

    def _seen(self, natural: Array) -> Array:
        center = self._table.center
        return natural if center is None else self._family.natural_at_center(natural, -center)

    def log_densities(self, natural: Array) -> Array:
        density, seen, slices = np.empty((len(self._table), len(natural))), self._seen(natural), [*self._rows.slices()]

        def score(place: int) -> None:
            density[slices[place]] = self._rows.scored(place, seen)[0]

        for_each(score, range(len(slices)), self._n_threads, 1)
        return as_infinite(np.where(np.isnan(density), -np.inf, density))

    def estimate(self, shares: Array, prior: Array | None, before: Array | None, spread: Array | None) -> Array:
        shares = shares if prior is None else shares + prior[:, None]
        counts, family = shares.sum(axis=0), self._family
        if before is None:
            moments = np.stack([self._mean_statistic(own) for own in shares.T])
        else:
            seen, sums = self._seen(before), np.zeros(before.shape)
            for place, rows in enumerate(self._rows.slices()):
                self._rows.add_sums(sums, shares[rows], self._rows.scored(place, seen)[1])
            moments = sums / counts[:, None]
        return family.natural_from_centered(moments, self._table.center, spread)

    def _mean_statistic(self, weights: Array) -> Array:
        slices = self._rows.slices()
        blocks = ((self._table.stood_in(rows), np.isnan(self._table.X[rows]), weights[rows]) for rows in slices)
        return statistics_of_entries(self._family, blocks, self._table.center)[0]


class TailEntries(Entries):
    """Rows of Student t distributions, centered at the means of the columns."""

    def __init__(self, family: StudentT, X: Array, n_threads: int) -> None:
        self._family, self._n_threads = family, n_threads
        self._hole, self._d = np.isnan(X), X.shape[1]
        self._center = np.nan_to_num(np.nansum(X, axis=0) / np.maximum((~self._hole).sum(axis=0), 1))
        self._X = np.where(self._hole, 0.0, X - self._center)
        self._n_columns = (~self._hole).sum(axis=1)
        unit = whole(Gaussian(n_features=self._d))[0]
        starts = range(0, len(X), ROWS_AT_ONCE)
        self._slices = [slice(start, min(start + ROWS_AT_ONCE, len(X))) for start in starts]
        self._rows = [GaussianRows(unit, self._X[rows], self._hole[rows], None) for rows in self._slices]

    def _parts(self, natural: Array) -> Parts:
        parts = self._family.parts(natural)
        return parts._replace(location=parts.location - self._center)

    def log_densities(self, natural: Array) -> Array:
        parts = self._parts(natural)
        form, density = tail_form(parts), np.empty((len(self._X), len(natural)))

        def score(place: int) -> None:
            rows = self._slices[place]
            density[rows] = self._log_density(self._rows[place].completed_by(form), self._n_columns[rows], parts)

        for_each(score, range(len(self._slices)), self._n_threads, 1)
        return np.where(np.isnan(density), -np.inf, density)

    def _log_density(self, scored: Scored, n_columns: NDArray[np.intp], parts: Parts) -> Array:
        """Log-densities (n, k) of completed rows that have these numbers of columns (n,)."""
        assert scored.squares is not None
        # What the Gaussian of the same location and scale has at its mean, in the columns that a row has.
        gaussian = scored.scores + 0.5 * scored.squares + 0.5 * LOG_2PI * n_columns[:, None]
        density = gaussian + log_diagonal(parts.factor)
        for number in np.unique(n_columns):
            own = n_columns == number
            density[own] += log_density(scored.squares[own], parts, int(number))
        return density

    def moments(self, weights: Array) -> tuple[Array, Array]:
        """Mean (d,) and covariance (d, d) of the entries that weighted rows have."""
        gaussian = Gaussian(n_features=self._d)
        mean_statistic = statistics_of_entries(gaussian, [(self._X, self._hole, weights)], None)[0]
        mean = mean_statistic[: self._d]
        return mean + self._center, unpack(mean_statistic[self._d :]) - np.outer(mean, mean)

    def estimate(self, shares: Array, prior: Array | None, before: Array | None, spread: Array | None) -> Array:
        known = None if prior is None else Prior(float(prior.sum()), *self.moments(prior))
        if before is not None:
            parts = self._step(shares, known, self._parts(before), spread)
        else:
            (plain, value), (robust, other) = (self._first(shares, known, spread, way) for way in (False, True))
            better = other > value if not self._family.n_shared else np.full(len(other), other.sum() > value.sum())
            parts = Parts(
                np.where(better[:, None], robust.location, plain.location),
                np.where(better[:, None, None], robust.factor, plain.factor),
                np.where(better, robust.degrees, plain.degrees),
            )
        return self._family.from_parts(parts._replace(location=parts.location + self._center))

    def _first(self, shares: Array, prior: Prior | None, spread: Array | None, robust: bool) -> tuple[Parts, Array]:
        """A first estimate from means and covariances, or from medians, and its log-likelihoods (k,)."""
        family, moments = self._family, [self.moments(own) for own in shares.T]
        location = np.stack([mean for mean, _ in moments]) - self._center
        scale = np.stack([covariance for _, covariance in moments])
        if robust:
            for column, (x, hole) in enumerate(zip(self._X.T, self._hole.T, strict=True)):
                own = shares[~hole] + 1e-300
                location[:, column] = weighted_medians(x[~hole], own)
                gaps = np.einsum("nk,nk->k", own, np.abs(x[~hole, None] - location[:, column]))
                scale[:, column] = scale[:, :, column] = 0.0
                scale[:, column, column] = (gaps / own.sum(axis=0)) ** 2
        degrees = FIRST_DEGREES if family.estimates_degrees else float(family.degrees)  # type: ignore[arg-type]
        parts = Parts(location, factors_of(scale, spread, self._sizes), np.full(len(location), degrees))
        for _ in range(FIRST_STEPS):
            parts = self._step(shares, prior, parts, spread)
        natural = family.from_parts(parts._replace(location=parts.location + self._center))
        return parts, np.einsum("nk,nk->k", shares, self.log_densities(natural))

    @property
    def _sizes(self) -> Array:
        return np.asarray(np.abs(self._X + np.where(self._hole, 0.0, self._center)).max(axis=0))

    def _step(self, shares: Array, prior: Prior | None, parts: Parts, spread: Array | None) -> Parts:
        """One step of EM: rows weighted by their expected hidden scales, then the degrees of freedom."""
        d, form = self._d, tail_form(parts)
        strength, middle, own_scatter = (0.0, np.zeros(d), np.zeros((d, d))) if prior is None else prior
        middle = middle - self._center
        hidden, sums = np.zeros(len(form.mean)), np.zeros(form.mean.shape)
        scatter = np.zeros(form.covariance.shape)
        for rows, own in self._with_shares(shares):
            scored = rows.completed_by(form)
            assert scored.squares is not None
            weights = own * (parts.degrees + rows.n_columns[:, None]) / (parts.degrees + scored.squares)
            first, second = rows.sums_around(scored, weights, own)
            hidden, sums, scatter = hidden + weights.sum(axis=0), sums + first, scatter + second
        moved = (sums + strength * (middle - parts.location)) / (hidden + strength)[:, None]
        location = parts.location + moved
        cross = sums[:, :, None] * moved[:, None, :]
        scatter = scatter - cross - np.swapaxes(cross, 1, 2)
        scatter += hidden[:, None, None] * moved[:, :, None] * moved[:, None, :]
        gap = middle - location
        scatter += strength * (own_scatter + gap[:, :, None] * gap[:, None, :])
        scale = scatter / (shares.sum(axis=0) + strength)[:, None, None]
        after = Parts(location, factors_of(scale, spread, self._sizes), parts.degrees)
        if not self._family.estimates_degrees:
            return after
        return after._replace(degrees=self._family.likely_degrees(self._cells(shares, after), after))

    def _with_shares(self, shares: Array) -> Iterator[tuple[GaussianRows, Array]]:
        return zip(self._rows, (shares[rows] for rows in self._slices), strict=True)

    def _cells(self, shares: Array, parts: Parts) -> list[tuple[Array, Array, int]]:
        """Squared distances (n, k) and shares of rows by how many columns these have."""
        form = tail_form(parts)
        squares = np.concatenate([rows.completed_by(form).squares for rows in self._rows])
        numbers = np.unique(self._n_columns)
        return [(squares[own], shares[own], int(m)) for m in numbers for own in [self._n_columns == m]]


def tail_form(parts: Parts) -> GaussianForm:
    """The Gaussians with the locations and scale matrices of t distributions."""
    whitening = np.linalg.inv(parts.factor)
    covariance = parts.factor @ np.swapaxes(parts.factor, -1, -2)
    return GaussianForm(parts.location, np.swapaxes(whitening, -1, -2), covariance)
