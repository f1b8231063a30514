"""Units of columns in rows with missing entries: scores of what is there, expectations of what is not.

A Gaussian with precision P has, given the observed entries o, the mean mu_u - P_uu^-1 P_uo (x_o - mu_o) and the
covariance P_uu^-1 in the missing entries u. With these entries filled in, its quadratic form is that of the observed
ones alone, and log p(x_o) is the log-density at the completed row plus (|u| log 2 pi - log |P_uu|) / 2. Rows of one
pattern share P_uu^-1; patterns of equally many missing entries are treated together.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...families.units import Unit
from ...numerics.arrays import Array
from .components import LOG_2PI, Components, GaussianForm


class UnitRows(ABC):
    """One unit of some rows, `X` (n, c) with any legal value where entries are missing."""

    unit: Unit

    @abstractmethod
    def scored(self, components: Components) -> "Scored":
        """log p_j (n, k) of the observed entries, and what expectations follow from."""

    @abstractmethod
    def sums(self, components: Components, shares: Array, scored: "Scored") -> Array:
        """Expected statistics (k, s) by responsibilities (n, k), from what the same components scored."""


@dataclass(frozen=True)
class Scored:
    """Scores (n, k); for Gaussians also rows completed by conditional means, less the means (k, n, d)."""

    scores: Array
    squares: Array | None = None
    """Squared Mahalanobis distances (n, k) of the observed entries."""
    deltas: Array | None = None
    covariances: tuple[Array, ...] = ()
    """Those of missing entries given the others (k, p, m, m), for each number of missing entries."""


class IndependentRows(UnitRows):
    """A unit that rows have or lack as a whole."""

    def __init__(self, unit: Unit, X: Array, observed: NDArray[np.bool_], center: Array | None) -> None:
        self.unit, self._observed = unit, observed
        columns, family = list(unit.columns), unit.family
        seen = X[:, columns]
        if center is None:
            self._carrier = family.log_carrier(seen)
        else:
            self._carrier = family.log_carrier_from(seen, center[columns])
            seen = family.centered_rows(seen, center[columns])
        self._statistic = family.sufficient_statistic(seen) * observed[:, None]
        self._carrier = np.where(observed, self._carrier, 0.0)

    def scored(self, components: Components) -> Scored:
        natural = components.of(self.unit)
        constant = np.outer(self._observed, self.unit.family.log_normalizer(natural))
        return Scored(self._statistic @ natural.T - constant + self._carrier[:, None])

    def sums(self, components: Components, shares: Array, scored: Scored) -> Array:
        missing = shares[~self._observed].sum(axis=0)
        moments = self.unit.family.moment_from_natural(components.of(self.unit))
        return shares.T @ self._statistic + missing[:, None] * moments


@dataclass(frozen=True)
class Patterns:
    """Rows (n,) that lack m entries each, in order of their patterns."""

    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    """The first of the rows of each pattern (p,)."""
    missing: NDArray[np.intp]
    """The entries that are missing in each pattern (p, m)."""
    pattern: NDArray[np.intp]
    """The pattern of each row (n,)."""


class GaussianRows(UnitRows):
    """A Gaussian unit of which rows lack some entries."""

    def __init__(self, unit: Unit, X: Array, hole: NDArray[np.bool_], center: Array | None) -> None:
        self.unit = unit
        columns = list(unit.columns)
        seen = X[:, columns] if center is None else unit.family.centered_rows(X[:, columns], center[columns])
        self._X, self._observed = seen, (~hole).astype(float)
        self.n_columns = (~hole).sum(axis=1)
        self._groups = grouped(hole)

    def scored(self, components: Components) -> Scored:
        form = components.form(self.unit)
        assert form is not None  # a Gaussian unit
        return self.completed_by(form)

    def completed_by(self, form: GaussianForm) -> Scored:
        """The same for Gaussians of this form."""
        deltas = (self._X - form.mean[:, None, :]) * self._observed
        gradient = deltas @ form.precision
        lacking = np.zeros(deltas.shape[:2])
        covariances = []
        for group in self._groups:
            covariance, lacking[:, group.rows] = _completed(deltas, gradient, form, group)
            covariances.append(covariance)
        whitened = deltas @ form.factor
        quadratic = np.einsum("knd,knd->kn", whitened, whitened)
        scores = np.asarray((form.constant[:, None] + lacking - 0.5 * quadratic).T)
        return Scored(scores, quadratic.T, deltas, tuple(covariances))

    def sums(self, components: Components, shares: Array, scored: Scored) -> Array:
        form = components.form(self.unit)
        assert form is not None
        sums, scatter = self.sums_around(scored, shares, shares)
        return expected(self.unit, form.mean, shares.sum(axis=0), sums, scatter)

    def sums_around(self, scored: Scored, weights: Array, shares: Array) -> tuple[Array, Array]:
        """Sums (k, d) and products (k, d, d) of completed rows less the means, by weights (n, k).

        What is missing adds its covariance by the shares (n, k).
        """
        deltas = scored.deltas
        assert deltas is not None
        weighted = deltas * weights.T[:, :, None]
        scatter = np.swapaxes(deltas, 1, 2) @ weighted
        for group, covariance in zip(self._groups, scored.covariances, strict=True):
            scatter += _spread(covariance, group, shares, deltas.shape[2])
        return weighted.sum(axis=1), scatter

    def mean(self, form: GaussianForm, shares: Array) -> Array:
        """Rows (n, d) completed by their means given what they have, with posteriors (n, k)."""
        deltas = self.completed_by(form).deltas
        assert deltas is not None
        return np.einsum("nk,knd->nd", shares, deltas + form.mean[:, None, :])

    def draw(
        self, form: GaussianForm, chosen: NDArray[np.intp], rng: np.random.Generator, degrees: Array | None = None
    ) -> Array:
        """Rows (n, d) with draws for missing entries given the others, each from its component (n,).

        With `degrees` (k,) of freedom the components are t distributions, and the form has their scale matrices.
        """
        scored = self.completed_by(form)
        assert scored.deltas is not None
        assert scored.squares is not None
        widths = np.ones(len(chosen))
        if degrees is not None:
            own = degrees[chosen]
            given = own + scored.squares[np.arange(len(chosen)), chosen]
            widths = np.sqrt(given / np.maximum(rng.chisquare(own + self.n_columns), 1e-300))
        rows = scored.deltas[chosen, np.arange(len(chosen))] + form.mean[chosen]
        for group, covariance in zip(self._groups, scored.covariances, strict=True):
            factors = np.linalg.cholesky(covariance[chosen[group.rows], group.pattern])
            noise = (factors @ rng.standard_normal((*factors.shape[:2], 1)))[..., 0] * widths[group.rows, None]
            rows[group.rows[:, None], group.missing[group.pattern]] += noise
        return rows


def _completed(deltas: Array, gradient: Array, form: GaussianForm, group: Patterns) -> tuple[Array, Array]:
    """Fills in the conditional means of a group of rows.

    Returns the conditional covariances (k, p, m, m), and what the rows' log-densities (k, n) exceed completed ones by.
    """
    missing, pattern = group.missing, group.pattern
    m = missing.shape[1]
    rows, columns = group.rows[:, None], missing[pattern]
    precision = form.precision[:, missing[:, :, None], missing[:, None, :]]
    pull = gradient[:, rows, columns]
    covariance: Array = 1 / precision if m == 1 else np.linalg.inv(precision)
    log_determinant: Array = np.log(precision[..., 0, 0]) if m == 1 else np.linalg.slogdet(precision)[1]
    if m == 1:
        deltas[:, rows, columns] = -pull * covariance[:, pattern, 0]
    else:
        deltas[:, rows, columns] = -(covariance[:, pattern] @ pull[..., None])[..., 0]
    return covariance, np.asarray(0.5 * (m * LOG_2PI - log_determinant)[:, pattern])


def expected(unit: Unit, mean: Array, counts: Array, sums: Array, scatter: Array) -> Array:
    """Statistics (k, s) from sums (k, d) and products (k, d, d) of rows, both measured from the means (k, d)."""
    cross = mean[:, :, None] * sums[:, None, :]
    square = counts[:, None, None] * mean[:, :, None] * mean[:, None, :]
    products = scatter + cross + np.swapaxes(cross, 1, 2) + square
    return unit.family.expected_statistic(sums + counts[:, None] * mean, products)


def _spread(covariance: Array, group: Patterns, shares: Array, d: int) -> Array:
    """The weighted sum (k, d, d) of the covariances of missing entries over the rows of a group."""
    k = shares.shape[1]
    counts = np.add.reduceat(shares[group.rows], group.starts, axis=0)
    entries = (group.missing[:, :, None] * d + group.missing[:, None, :]).ravel()
    total = np.stack(
        [np.bincount(entries, (counts[:, j, None, None] * covariance[j]).ravel(), d * d) for j in range(k)]
    )
    return total.astype(float, copy=False).reshape(k, d, d)


def grouped(hole: NDArray[np.bool_]) -> list[Patterns]:
    """Rows with missing entries (n, c), those that lack equally many together."""
    sizes = hole.sum(axis=1)
    found = []
    for size in np.unique(sizes[sizes > 0]):
        rows = np.flatnonzero(sizes == size)
        missing = np.nonzero(hole[rows])[1].reshape(len(rows), size)
        order = np.lexsort(missing.T[::-1])
        rows, missing = rows[order], missing[order]
        new = np.concatenate([[True], (missing[1:] != missing[:-1]).any(axis=1)])
        starts = np.flatnonzero(new)
        found.append(Patterns(rows, starts, missing[starts], np.cumsum(new) - 1))
    return found
