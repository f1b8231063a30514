"""Parts of rows with missing entries, each scored in its own way; their statistics add.

`CompleteRows` lack nothing, `PatternRows` of a Gaussian all lack the same columns: both are passed over by the kernels,
the latter as rows of their observed columns. `PartialRows` lack different entries and are completed row by row.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, reduce
from operator import add
from typing import Any, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from ..._kernels import Centered, PackedRows, RowScores, Work
from ...data.table import Rows
from ...families import ExponentialFamily, Gaussian
from ...families.gaussian import natural_of
from ...families.units import Unit
from ...numerics.arrays import Array, Labels
from ...numerics.blas import blas_on_one_thread
from ...numerics.linear_algebra import cholesky_or_nan
from ...numerics.packing import unpack
from ...numerics.threads import for_each
from ..direct import direct_fits
from ..precision import SCORE_ERROR, centered_form, finite, score_error
from .components import Components, Sums
from .units import GaussianRows, IndependentRows, Scored, UnitRows, expected

# A block of rows that are completed together has BLOCK_NUMBERS entries, but at least FEWEST_ROWS rows.
BLOCK_NUMBERS = 1 << 13
FEWEST_ROWS = 64


class Part(ABC):
    """Some of the rows, by their places among all."""

    places: NDArray[np.intp]

    @abstractmethod
    def soft(self, components: Components, n_responsibilities: int | None) -> Sums:
        """Expected statistics by responsibility; scores are sums of log sum_j exp(score_j)."""

    @abstractmethod
    def hard(self, components: Components) -> tuple[Labels, Sums]:
        """The best component of each row, and the expected statistics."""

    @abstractmethod
    def log_likelihood(self, components: Components) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""

    @abstractmethod
    def fits(self, components: Components, labels: Labels) -> Array:
        """The sum of log p_j over the rows of each component (k,), without log-weights."""

    @abstractmethod
    def put_scores(self, components: Components, out: RowScores) -> None:
        """Fills in what is wanted of each of the rows."""


# By the kernels -------------------------------------------------------------------------------------------------------


class PackedPart(Part):
    """Rows that the kernels pass over; statistics of missing entries are linear in those of the others."""

    packed: PackedRows

    @cached_property
    def _largest(self) -> Array:
        return self.packed.largest()

    def _form(self, family: ExponentialFamily, natural: Array, bias: Array, log_weights: Array) -> Centered | None:
        """The components by their means, where packed scores would lose digits."""
        if score_error(self._largest, natural, bias) <= SCORE_ERROR:
            return None
        return finite(centered_form(family, natural, log_weights))

    @abstractmethod
    def seen(self, components: Components) -> tuple[Array, Array, Centered | None]:
        """Natural parameters, biases and the centered form of the components, for what rows have."""

    @abstractmethod
    def completed(self, components: Components, counts: Array, sums: Array) -> Array:
        """Expected statistics (k, D) from those of what rows have."""

    def soft(self, components: Components, n_responsibilities: int | None) -> Sums:
        natural, bias, centered = self.seen(components)
        m = components.n_mixtures
        theta, b = natural.reshape(m, len(bias) // m, -1), bias.reshape(m, -1)
        found, sums, scores = self.packed.soft_passes(theta, b, n_responsibilities, centered)
        counts = found.reshape(-1)
        return Sums(counts, self.completed(components, counts, sums.reshape(natural.shape)), scores)

    def hard(self, components: Components) -> tuple[Labels, Sums]:
        natural, bias, centered = self.seen(components)
        labels = np.empty(len(self.places), dtype=np.int32)
        self.packed.label_rows(natural, bias, labels, centered)
        counts, sums = self.packed.label_sums(labels, len(natural))
        return labels, Sums(counts, self.completed(components, counts, sums), np.zeros(1))

    def log_likelihood(self, components: Components) -> tuple[float, float]:
        return self.packed.log_likelihood(*self.seen(components))

    def put_scores(self, components: Components, out: RowScores) -> None:
        natural, bias, centered = self.seen(components)
        self.packed.row_scores(natural, bias, out, centered)


class CompleteRows(PackedPart):
    """Rows without a missing entry, as the family packs them; scores lack the carrier."""

    def __init__(self, rows: Rows, places: NDArray[np.intp]) -> None:
        self.places, self._rows = places, rows.subset(places)
        self.packed = self._rows.packed

    def seen(self, components: Components) -> tuple[Array, Array, Centered | None]:
        family, natural, log_weights = components.family, components.natural, components.log_weights
        return natural, components.bias, self._form(family, natural, components.bias, log_weights)

    def completed(self, components: Components, counts: Array, sums: Array) -> Array:
        return sums

    def fits(self, components: Components, labels: Labels) -> Array:
        return direct_fits(self._rows, components.natural, labels)

    def sum_log_carrier(self) -> float:
        """The weighted sum of k(x)."""
        return self._rows.sum_log_carrier()


class PatternRows(PackedPart):
    """Rows of a Gaussian that have the columns `observed`."""

    def __init__(self, rows: Rows, unit: Unit, places: NDArray[np.intp], hole: NDArray[np.bool_]) -> None:
        self.places, self._unit = places, unit
        self._observed, self._missing = np.flatnonzero(~hole), np.flatnonzero(hole)
        weights = None if rows.weights is None else rows.weights[places]
        self._family = Gaussian(n_features=len(self._observed))
        self.packed = PackedRows(
            len(places), len(self._observed), "quadratic", weights, np.float64, rows.n_threads, rows.meter
        )
        self.packed.load(0, rows.centered_rows(places)[:, self._observed])

    def seen(self, components: Components) -> tuple[Array, Array, Centered | None]:
        form = components.form(self._unit)
        assert form is not None  # a Gaussian unit
        covariance = form.covariance[:, self._observed[:, None], self._observed]
        natural = natural_of(form.mean[:, self._observed], cholesky_or_nan(covariance))
        bias = components.log_weights - self._family.log_normalizer(natural)
        return natural, bias, self._form(self._family, natural, bias, components.log_weights)

    def completed(self, components: Components, counts: Array, sums: Array) -> Array:
        form = components.form(self._unit)
        assert form is not None
        there, lacking = self._observed, self._missing
        mean, covariance = form.mean, form.covariance
        own, n = mean[:, there], counts[:, None]
        first, products = sums[:, : len(there)], unpack(sums[:, len(there) :])
        cross = own[:, :, None] * first[:, None, :]
        inside = products - cross - np.swapaxes(cross, 1, 2) + n[:, :, None] * own[:, :, None] * own[:, None, :]
        pairs = there[:, None], there
        across = covariance[:, lacking[:, None], there]
        slope = np.swapaxes(np.linalg.solve(covariance[:, *pairs], np.swapaxes(across, 1, 2)), 1, 2)
        rest = covariance[:, lacking[:, None], lacking] - slope @ np.swapaxes(across, 1, 2)
        delta, scatter = np.zeros_like(mean), np.zeros_like(covariance)
        delta[:, there] = first - n * own
        delta[:, lacking] = (slope @ delta[:, there, None])[..., 0]
        scatter[:, *pairs] = inside
        between = slope @ inside
        scatter[:, lacking[:, None], there] = between
        scatter[:, there[:, None], lacking] = np.swapaxes(between, 1, 2)
        scatter[:, lacking[:, None], lacking] = between @ np.swapaxes(slope, 1, 2) + n[:, :, None] * rest
        return expected(self._unit, mean, counts, delta, scatter)

    def fits(self, components: Components, labels: Labels) -> Array:
        natural, bias, centered = self.seen(components)
        if centered is not None:
            own = self.packed.own_scores(labels, centered)
            return own - self.packed.label_sums(labels, len(bias))[0] * components.log_weights
        counts, sums = self.packed.label_sums(labels, len(bias))
        return np.einsum("kd,kd->k", sums, natural) + counts * (bias - components.log_weights)


# Row by row -----------------------------------------------------------------------------------------------------------


class PartialRows(Part):
    """Rows that lack different entries. Scores have the carriers of what is there."""

    def __init__(self, rows: Rows, places: NDArray[np.intp]) -> None:
        self.places, self._n_threads, self._meter = places, rows.n_threads, rows.meter
        self._weights = None if rows.weights is None else rows.weights[places]
        size = max(FEWEST_ROWS, BLOCK_NUMBERS // rows.X.shape[1])
        starts = range(0, len(places), size)
        self._blocks = [slice(start, min(start + size, len(places))) for start in starts]
        self._units = [unit_rows(rows, places[block]) for block in self._blocks]

    def _each(self, components: Components, use: Callable[[int, list[Scored], Array], Any]) -> Any:
        """The sum of what a function says of each block, of what its units scored and of its scores (n, k)."""
        found: list[Any] = [None] * len(self._blocks)

        def work(place: int) -> None:
            scored = [unit.scored(components) for unit in self._units[place]]
            scores = components.log_weights + sum(unit.scores for unit in scored)
            found[place] = use(place, scored, np.asarray(scores))

        with blas_on_one_thread():
            for_each(work, range(len(self._blocks)), self._n_threads, 1)
        pairs = len(self.places) * len(components)
        self._meter.add(Work(1, pairs, in_numpy=pairs))
        return reduce(add, found)  # in their order: no digit depends on the threads

    def _weighed(self, values: Array, place: int) -> Array:
        """Values (n, ...) times the weights of the rows of a block."""
        if self._weights is None:
            return values
        return values * self._weights[self._blocks[place]].reshape(-1, *(1,) * (values.ndim - 1))

    def _sums(
        self, components: Components, place: int, scored: list[Scored], shares: Array, values: Array | None = None
    ) -> Sums:
        weighted = self._weighed(shares, place)
        sums = np.empty((len(components), components.natural.shape[1]))
        for unit, own in zip(self._units[place], scored, strict=True):
            sums[:, list(unit.unit.statistics)] = unit.sums(components, weighted, own)
        scores = np.zeros(1) if values is None else self._weighed(values, place).sum(axis=0)
        return Sums(weighted.sum(axis=0), sums, scores)

    def soft(self, components: Components, n_responsibilities: int | None) -> Sums:
        def use(place: int, scored: list[Scored], scores: Array) -> Sums:
            by_mixture = scores.reshape(len(scores), components.n_mixtures, -1)
            shares, values = shared(by_mixture, n_responsibilities)
            return self._sums(components, place, scored, shares.reshape(scores.shape), values)

        return cast(Sums, self._each(components, use))

    def hard(self, components: Components) -> tuple[Labels, Sums]:
        labels = np.empty(len(self.places), dtype=np.int32)

        def use(place: int, scored: list[Scored], scores: Array) -> Sums:
            own = scores.argmax(axis=1)
            labels[self._blocks[place]] = own
            return self._sums(components, place, scored, np.eye(len(components))[own])

        return labels, self._each(components, use)

    def log_likelihood(self, components: Components) -> tuple[float, float]:
        def use(place: int, scored: list[Scored], scores: Array) -> Array:
            shares, values = shared(scores, None)
            each = np.column_stack([values, scipy.special.entr(shares).sum(axis=1)])
            return np.asarray(self._weighed(each, place).sum(axis=0))

        score, entropy = self._each(components, use)
        return float(score), float(entropy)

    def fits(self, components: Components, labels: Labels) -> Array:
        def use(place: int, scored: list[Scored], scores: Array) -> Array:
            own = labels[self._blocks[place]]
            value = scores[np.arange(len(own)), own] - components.log_weights[own]
            return np.bincount(own, self._weighed(value, place), len(components)).astype(float)

        return np.asarray(self._each(components, use), dtype=float)

    def put_scores(self, components: Components, out: RowScores) -> None:
        def use(place: int, scored: list[Scored], scores: Array) -> int:
            out.put(self._blocks[place], scores)
            return 0

        self._each(components, use)


def unit_rows(rows: Rows, places: NDArray[np.intp]) -> list[UnitRows]:
    """The units of the columns of some rows."""
    X, hole = rows.stood_in(places), np.isnan(rows.X[places])
    found: list[UnitRows] = []
    for unit in rows.family.units():
        own = hole[:, list(unit.columns)]
        if unit.family.is_gaussian:
            found.append(GaussianRows(unit, X, own, rows.center))
        else:
            found.append(IndependentRows(unit, X, ~own[:, 0], rows.center))
    return found


def shared(scores: Array, n_responsibilities: int | None) -> tuple[Array, Array]:
    """Responsibilities (..., k) of the largest scores, and the logarithms of the sums they are shares of (...)."""
    if n_responsibilities == 1:
        best = scores.argmax(axis=-1)
        return np.eye(scores.shape[-1])[best], np.take_along_axis(scores, best[..., None], axis=-1)[..., 0]
    if n_responsibilities is not None and n_responsibilities < scores.shape[-1]:
        # A stable sort of the negated scores keeps the lowest indices among equals.
        dropped = np.argsort(-scores, axis=-1, kind="stable")[..., n_responsibilities:]
        scores = scores.copy()
        np.put_along_axis(scores, dropped, -np.inf, axis=-1)
    top = scores.max(axis=-1)
    shares = np.exp(scores - top[..., None])
    total = shares.sum(axis=-1)
    return shares / total[..., None], top + np.log(total)
