"""k-MLE||: seeds in a few passes over all rows, after scalable k-means++ (Bahmani et al., 2012).

k-MLE++ needs a pass for every seed. Here a few passes draw 2k rows each, with probability proportional to their
divergence to the seeds so far; every candidate then weighs what is nearest to it, and k-MLE++ chooses among them.

A divergence needs F* of the row and so the parameters that fit it best, which take long to find in many families; the
scores with the seeds do not need them. So a draw has two steps (sampling, importance resampling: Rubin, 1987). First,
rows are drawn with probability proportional to a guess of their divergence, from their highest score and the
divergences of a few rows. Of these rows each gets the key E * probability / divergence with E exponential, and those
with the smallest keys are taken. Rows in memory are compared with new seeds only. The outcome does not depend on the
chunks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from .._kernels import PackedRows, RowScores
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..engines.statistics import ClusterStatistics
from ..families import ExponentialFamily
from ..numerics.arrays import Array
from ..numerics.numbered_draws import uniforms
from ..numerics.threads import for_each
from ..problem.problem import LearningProblem, Parameters, Problem
from ..problem.shrinking import SHRINKAGE, Candidates, drawn, seed_candidates, shrunk
from .k_mle_plus_plus import spread_of

ROUNDS = 5
OVERSAMPLING = 2
# Rows that divergences are guessed from, and about as many as the first step of a draw takes: some, and more by seed.
REFERENCE_ROWS = 500
FIRST_ROWS, FIRST_ROWS_EACH = 1000, 16
# Divergences below this share of their terms are rounding.
ROUNDING = 64 * np.finfo(float).eps
# Blocks of rows are whole ones of the kernels, and have about this many statistics.
KERNEL_ROWS, BLOCK_NUMBERS = 64, 1 << 16


def k_mle_parallel(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Seeds spread by divergence over all rows, in six passes; fewer when there are no more distinct rows."""
    first = seed_candidates(problem, n_components, rng)
    mean, size = problem.prior_moment, OVERSAMPLING * n_components
    seeds = new = _Seeds.at(problem.family, first.moments[drawn(first.weights[np.newaxis], rng)[0]])
    reference = _Reference.of(problem, first)
    # Rows in chunks are compared with all seeds in every pass; for rows in memory the highest scores are kept.
    kept = _Scores.of(problem.rows) if isinstance(problem, Problem) else None
    for _ in range(ROUNDS):
        reference = reference.beside(new)
        guess = reference.guess(problem.total, FIRST_ROWS + FIRST_ROWS_EACH * n_components)
        scoring = _Pass(seeds, new, mean, guess, kept)
        found = problem.over_rows(partial(_drawn, scoring=scoring, key=int(rng.integers(2**63)), size=size)).statistics
        if len(found) == 0:
            break
        # In the order of their values, so that the seeds have the same order wherever the rows are.
        new = _Seeds.at(problem.family, np.unique(shrunk(found, mean), axis=0))
        seeds = seeds + new
    nearest = problem.over_rows(partial(_gathered, seeds=seeds, mean=mean))
    active = nearest.counts > 0
    candidates = Candidates(np.flatnonzero(active), nearest.counts[active], seeds.moments[active])
    return spread_of(problem, candidates).parameters(problem, n_components, rng)


@dataclass(frozen=True)
class _Seeds:
    """Legal moments with their natural parameters and log-normalisers."""

    moments: Array
    natural: Array
    normalizer: Array

    @classmethod
    def at(cls, family: ExponentialFamily, moments: Array) -> "_Seeds":
        natural = family.natural_from_moment(moments)
        return cls(moments, natural, family.log_normalizer(natural))

    def __len__(self) -> int:
        return len(self.moments)

    def __add__(self, other: "_Seeds") -> "_Seeds":
        return _Seeds(
            np.concatenate([self.moments, other.moments]),
            np.concatenate([self.natural, other.natural]),
            np.concatenate([self.normalizer, other.normalizer]),
        )

    @property
    def conjugate(self) -> Array:
        """F* at each."""
        return np.asarray(np.einsum("nd,nd->n", self.natural, self.moments) - self.normalizer)

    def components(self, mean: Array) -> tuple[Array, Array]:
        """Coefficients and biases: <t, coefficients_j> + bias_j = <y, theta_j> - F(theta_j) at the shrunk point y of t.

        So rows need not be shrunk to be compared with seeds.
        """
        return (1 - SHRINKAGE) * self.natural, SHRINKAGE * (self.natural @ mean) - self.normalizer

    def divergences(self, top: Array, seeds: "_Seeds") -> Array:
        """B_F* to the nearest seeds from the highest scores with them; what rounding leaves of equal points is zero."""
        divergence = self.conjugate - top
        size = np.abs(self.conjugate) + np.abs(self.normalizer) + np.abs(seeds.normalizer).max()
        return np.where(divergence > ROUNDING * size, divergence, 0.0)


@dataclass(frozen=True)
class _Guess:
    """What rows' divergences seem to be: how far their score and k(x) are below `typical`, and `floor` at least.

    Rows are drawn with probability `rate` times that, or all of them without a rate. The floor is the mean of the
    guesses without it, so that each row is drawn about half as often as if all were drawn alike, or more often.
    """

    typical: float
    floor: float
    rate: float | None

    def probability(self, scores: Array, weights: Array | None) -> Array:
        """How likely rows are drawn; those of weight zero are not."""
        if self.rate is None:
            return np.ones(len(scores)) if weights is None else (weights > 0).astype(float)
        wanted = self.rate * (np.maximum(self.typical - scores, 0.0) + self.floor)
        return np.minimum(wanted if weights is None else wanted * weights, 1.0)


@dataclass(frozen=True)
class _Reference:
    """A few rows of the sample, whose divergences are known: F* + k(x) and weight of each, and its highest score."""

    points: _Seeds
    carrier: Array
    weights: Array
    top: Array

    @classmethod
    def of(cls, problem: LearningProblem, candidates: Candidates) -> "_Reference":
        """Some of the candidates, which are in the order of their values, at equal distances."""
        chosen = np.unique(np.linspace(0, len(candidates) - 1, REFERENCE_ROWS).astype(np.intp))
        rows = problem.sample.rows.subset(candidates.indices[chosen])
        carrier = rows.log_carrier(slice(None)) if rows.family.has_carrier else np.zeros(len(chosen))
        points = _Seeds.at(problem.family, candidates.moments[chosen])
        return cls(points, carrier, candidates.weights[chosen], np.full(len(chosen), -np.inf))

    def beside(self, new: _Seeds) -> "_Reference":
        """The same with some more seeds taken into account."""
        scores = self.points.moments @ new.natural.T - new.normalizer
        return replace(self, top=np.maximum(self.top, scores.max(axis=1)))

    def guess(self, total: float, size: int) -> _Guess:
        """What tells divergences of rows that weigh `total`, about `size` of which are to be drawn."""
        typical = float(np.median(self.points.conjugate + self.carrier))
        excess = np.maximum(typical - self.top - self.carrier, 0.0)
        floor = float(np.average(excess, weights=self.weights))
        return _Guess(typical, floor, size / (2 * floor * total) if floor > 0 else None)


@dataclass(frozen=True)
class _Scores:
    """For each row the highest score with a seed so far, and k(x)."""

    top: Array
    carrier: Array | None

    @classmethod
    def of(cls, rows: Rows | SparseRows) -> "_Scores":
        """Those of rows that no seed has been compared with."""
        top = np.full(len(rows), -np.inf)
        if not rows.family.has_carrier:
            return cls(top, None)
        if isinstance(rows, SparseRows):
            return cls(top, rows.log_carrier(slice(None)))
        carrier = np.empty(len(rows))

        def fill(block: slice) -> None:
            carrier[block] = rows.log_carrier(block)

        for_each(fill, _blocks(rows), rows.n_threads)
        return cls(top, carrier)

    def compare(self, rows: Rows | SparseRows, seeds: _Seeds, mean: Array) -> None:
        """Takes some more seeds into account."""
        out = RowScores.wanting(["tops"], len(rows), len(seeds))
        natural, bias = seeds.components(mean)
        if isinstance(rows, SparseRows):
            rows.packed.row_scores(natural, bias, out)
        else:
            for_each(
                lambda block: _packed(rows, block).row_scores(natural, bias, out.part(block)),
                _blocks(rows),
                rows.n_threads,
            )
        assert out.tops is not None  # it was asked for
        np.maximum(self.top, out.tops, out=self.top)


@dataclass(frozen=True)
class _Pass:
    """Seeds to compare rows with, some of them new. The scores are those of all rows with the others, or None."""

    seeds: _Seeds
    new: _Seeds
    mean: Array
    guess: _Guess
    scores: _Scores | None

    def at(self, rows: Rows | SparseRows) -> _Scores:
        """The scores of rows, all seeds taken into account."""
        scores = _Scores.of(rows) if self.scores is None else self.scores
        scores.compare(rows, self.seeds if self.scores is None else self.new, self.mean)
        return scores

    def divergences(self, rows: Rows | SparseRows, places: NDArray[np.intp], top: Array) -> Array:
        """B_F* of the shrunk points of some rows to their nearest seeds, from the highest scores of all."""
        out = np.empty(len(places))

        def fill(block: slice) -> None:
            points = _Seeds.at(rows.family, shrunk(rows.take(places[block]), self.mean))
            out[block] = points.divergences(top[places[block]], self.seeds)

        for_each(fill, _blocks(rows, len(places)), rows.n_threads)
        return out


def _blocks(rows: Rows | SparseRows, n_rows: int | None = None) -> Iterator[slice]:
    """Blocks of rows, of all or of some, whose statistics take little room, in their order."""
    size = max(1, BLOCK_NUMBERS // rows.n_statistics // KERNEL_ROWS) * KERNEL_ROWS
    n_rows = len(rows) if n_rows is None else n_rows
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def _packed(rows: Rows, block: slice) -> PackedRows:
    """A block of rows as the kernels want it."""
    columns, features = rows.kernel_columns(block)
    packed = PackedRows(len(columns), columns.shape[1], features, None, columns.dtype)
    packed.load(0, columns)
    return packed


@dataclass(frozen=True)
class _Draw:
    """The rows with the smallest keys so far: their keys, and t(x) of each."""

    size: int
    keys: Array
    statistics: Array

    def __add__(self, other: "_Draw") -> "_Draw":
        keys = np.concatenate([self.keys, other.keys])
        best = np.argsort(keys, kind="stable")[: self.size]
        return _Draw(self.size, keys[best], np.concatenate([self.statistics, other.statistics])[best])


def _drawn(rows: Rows | SparseRows, first: int, scoring: _Pass, key: int, size: int) -> _Draw:
    """The rows with the smallest keys of some; those that are seeds already have none."""
    scores = scoring.at(rows)
    levels = scores.top if scores.carrier is None else scores.top + scores.carrier
    probability = scoring.guess.probability(levels, rows.weights)
    uniform = uniforms(key, first, len(rows))
    places = np.flatnonzero(uniform < probability)
    probability = probability[places]
    divergence = scoring.divergences(rows, places, scores.top)
    if rows.weights is not None:
        divergence *= rows.weights[places]
    # A uniform number below the probability is, divided by it, uniform again.
    exponential = -np.log1p(-uniform[places] / probability)
    apart = np.flatnonzero(divergence > 0)
    keys = exponential[apart] * probability[apart] / divergence[apart]
    best = np.argsort(keys, kind="stable")[:size]
    return _Draw(size, keys[best], rows.take(places[apart[best]]))


def _gathered(rows: Rows | SparseRows, first: int, seeds: _Seeds, mean: Array) -> ClusterStatistics:
    """How much is nearest to each seed; it does not matter where the rows begin."""
    natural, bias = seeds.components(mean)
    labels = np.empty(len(rows), dtype=np.int32)
    if isinstance(rows, SparseRows):
        rows.packed.label_rows(natural, bias, labels)
    else:
        for_each(
            lambda block: _packed(rows, block).label_rows(natural, bias, labels[block]), _blocks(rows), rows.n_threads
        )
    counts = np.bincount(labels, rows.weights, len(seeds)).astype(float)
    return ClusterStatistics(counts, np.zeros((len(seeds), 0)), 0.0)
