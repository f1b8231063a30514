"""Parts of rows with missing entries, each scored in its own way; their statistics add.

`CompleteRows` lack nothing, `PatternRows` of a Gaussian come pattern by pattern: both are passed over by the kernels.
`PartialRows` are completed row by row, in NumPy.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property, reduce
from operator import add
from typing import Any, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from ..._kernels import Centered, RowScores, Work
from ..._kernels.backend import compiled_module
from ...data.table import Rows
from ...families.units import Unit
from ...numerics.arrays import Array, Labels
from ...numerics.blas import blas_on_one_thread
from ...numerics.threads import for_each
from ..direct import own_fits
from ..precision import SCORE_ERROR, centered_form, finite, score_error
from ..statistics import ClusterStatistics, Tally
from .components import Components, GaussianForm, Sums
from .kernel import Expected, PackedPatterns
from .units import GaussianRows, IndependentRows, Scored, UnitRows, expected

# A block of rows that are completed together has BLOCK_NUMBERS entries, but at least FEWEST_ROWS rows.
BLOCK_NUMBERS = 1 << 13
FEWEST_ROWS = 64
# Numbers that are packed at a time.
LOADED_NUMBERS = 1 << 16


class Part(ABC):
    """Some of the rows, by their places among all."""

    places: NDArray[np.intp]

    @abstractmethod
    def soft(self, components: Components, n_responsibilities: int | None) -> Sums:
        """Expected statistics by responsibility; scores are sums of log sum_j exp(score_j)."""

    @abstractmethod
    def hard(self, components: Components) -> tuple[Labels, Sums, Array]:
        """The best component of each row, the expected statistics, and what `fits` says of these labels."""

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


class CompleteRows(Part):
    """Rows without a missing entry, as the family packs them; scores lack the carrier."""

    _latest: ClusterStatistics | None
    """What the last hard pass found."""

    def __init__(self, rows: Rows, places: NDArray[np.intp]) -> None:
        self.places, self._rows = places, rows
        self.packed = rows.packed_part(places)
        self._tally, self._latest = Tally(self.packed), None

    @cached_property
    def _largest(self) -> Array:
        return self.packed.largest()

    def _form(self, components: Components) -> Centered | None:
        """The components by their means, where packed scores would lose digits."""
        natural, bias = components.natural, components.bias
        if score_error(self._largest, natural, bias) <= SCORE_ERROR:
            return None
        return finite(centered_form(components.family, natural, components.log_weights))

    def soft(self, components: Components, n_responsibilities: int | None) -> Sums:
        m = components.n_mixtures
        natural, bias = components.natural, components.bias
        theta, b = natural.reshape(m, len(bias) // m, -1), bias.reshape(m, -1)
        found, sums, scores = self.packed.soft_passes(theta, b, n_responsibilities, self._form(components))
        return Sums(found.reshape(-1), sums.reshape(natural.shape), scores)

    def hard(self, components: Components) -> tuple[Labels, Sums, Array]:
        clusters = self._tally.opened(len(components))
        self.packed.hard_pass(components.natural, components.bias, clusters, centered=self._form(components))
        self._latest = found = self._tally.statistics()
        fits = self._fits(components, clusters.labels, found.counts, found.sums)
        return clusters.labels, Sums(found.counts, found.sums, np.zeros(1)), fits

    def fits(self, components: Components, labels: Labels) -> Array:
        found, known = self._latest, self._tally.labels_of(len(components))
        if found is None or known is None or not np.array_equal(labels, known):  # mostly those of the last hard pass
            return self._fits(components, labels, *self.packed.label_sums(labels, len(components)))
        return self._fits(components, labels, found.counts, found.sums)

    def _fits(self, components: Components, labels: Labels, counts: Array, sums: Array) -> Array:
        natural, normalizer = components.natural, components.log_normalizer
        if score_error(self._largest, natural, np.where(counts > 0, normalizer, -np.inf)) <= SCORE_ERROR:
            return np.asarray(np.where(counts > 0, np.einsum("kd,kd->k", sums, natural) - counts * normalizer, 0.0))
        form = centered_form(self._rows.family, natural, np.zeros(len(natural)))
        if form is not None and form.is_finite:
            return self.packed.own_scores(labels, form)
        return own_fits(self._rows.subset(self.places), natural, labels)

    def log_likelihood(self, components: Components) -> tuple[float, float]:
        return self.packed.log_likelihood(components.natural, components.bias, self._form(components))

    def put_scores(self, components: Components, out: RowScores) -> None:
        self.packed.row_scores(components.natural, components.bias, out, self._form(components))


class PatternRows(Part):
    """Rows of a Gaussian whose patterns other rows have too, in the order of their patterns, by the compiled passes."""

    def __init__(self, rows: Rows, unit: Unit, groups: list[NDArray[np.intp]], holes: NDArray[np.bool_]) -> None:
        self.places, self._unit = np.concatenate(groups), unit
        weights = None if rows.weights is None else rows.weights[self.places]
        ends = np.cumsum([len(group) for group in groups], dtype=np.int64)
        self._packed = PackedPatterns(compiled_module(), ends, holes, weights, rows.n_threads, rows.meter)
        step = max(1, LOADED_NUMBERS // holes.shape[1])
        for start in range(0, len(self.places), step):
            self._packed.load(start, rows.centered_rows(self.places[start : start + step]))

    def _seen(self, components: Components) -> tuple[GaussianForm, Any]:
        form = components.form(self._unit)
        assert form is not None  # a Gaussian unit
        return form, self._packed.gaussians(form.mean, form.covariance, components.log_weights)

    def _sums(self, form: GaussianForm, found: Expected, scores: Array) -> Sums:
        statistics = expected(self._unit, form.mean, found.counts, found.delta, found.scatter)
        return Sums(found.counts, statistics, scores)

    def soft(self, components: Components, n_responsibilities: int | None) -> Sums:
        form, given = self._seen(components)
        m = components.n_mixtures
        k = len(components) // m
        kept = k if n_responsibilities is None else min(n_responsibilities, k)
        found = self._packed.soft_passes(given, form.mean, m, kept)
        return self._sums(form, found, found.values)

    def hard(self, components: Components) -> tuple[Labels, Sums, Array]:
        form, given = self._seen(components)
        labels = np.empty(len(self.places), dtype=np.int32)
        found = self._packed.hard_pass(given, form.mean, labels)
        return labels, self._sums(form, found, np.zeros(1)), found.values

    def fits(self, components: Components, labels: Labels) -> Array:
        return self._packed.fits(self._seen(components)[1], len(components), np.ascontiguousarray(labels))

    def log_likelihood(self, components: Components) -> tuple[float, float]:
        return self._packed.log_likelihood(self._seen(components)[1])

    def put_scores(self, components: Components, out: RowScores) -> None:
        self._packed.row_scores(self._seen(components)[1], out)


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

    def hard(self, components: Components) -> tuple[Labels, Sums, Array]:
        labels = np.empty(len(self.places), dtype=np.int32)
        fits = np.zeros((len(self._blocks), len(components)))

        def use(place: int, scored: list[Scored], scores: Array) -> Sums:
            own = scores.argmax(axis=1)
            labels[self._blocks[place]] = own
            fits[place] = self._own(components, place, scores, own)
            return self._sums(components, place, scored, np.eye(len(components))[own])

        sums = self._each(components, use)
        return labels, sums, fits.sum(axis=0)

    def log_likelihood(self, components: Components) -> tuple[float, float]:
        def use(place: int, scored: list[Scored], scores: Array) -> Array:
            shares, values = shared(scores, None)
            each = np.column_stack([values, scipy.special.entr(shares).sum(axis=1)])
            return np.asarray(self._weighed(each, place).sum(axis=0))

        score, entropy = self._each(components, use)
        return float(score), float(entropy)

    def fits(self, components: Components, labels: Labels) -> Array:
        def use(place: int, scored: list[Scored], scores: Array) -> Array:
            return self._own(components, place, scores, labels[self._blocks[place]])

        return np.asarray(self._each(components, use), dtype=float)

    def _own(self, components: Components, place: int, scores: Array, labels: Labels) -> Array:
        """The sums of log p_j over the rows of a block that each component has."""
        value = scores[np.arange(len(labels)), labels] - components.log_weights[labels]
        return np.bincount(labels, self._weighed(value, place), len(components)).astype(float)

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
