"""k-MLE||: seeds in a few passes over all rows, after scalable k-means++ (Bahmani et al., 2012).

k-MLE++ needs a pass for every seed. Here a few passes draw 2k rows each, with probability proportional to their
divergence to the seeds so far; every candidate then weighs what is nearest to it, and k-MLE++ chooses among them. The
draw gives each row the key E / divergence with E exponential, and takes the smallest keys: no pass must first sum up
the divergences, chunks keep only their smallest keys, and the outcome does not depend on the chunks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

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
# Divergences below this share of their terms are rounding.
ROUNDING = 64 * np.finfo(float).eps
# Blocks of rows are whole ones of the kernels, and have about this many statistics.
KERNEL_ROWS, BLOCK_NUMBERS = 64, 1 << 16


def k_mle_parallel(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Seeds spread by divergence over all rows, in six passes; fewer when there are no more distinct rows."""
    first = seed_candidates(problem, n_components, rng)
    seeds, known = _Seeds.at(problem.family, first.moments[drawn(first.weights[np.newaxis], rng)[0]]), 0
    mean = problem.prior_moment
    # Rows in chunks are compared with all seeds in every pass; for rows in memory the highest scores are kept.
    kept = _Scores.of(problem.rows, mean) if isinstance(problem, Problem) else None
    for _ in range(ROUNDS):
        key = int(rng.integers(2**63))
        scoring = _Pass(seeds, known, mean, kept)
        new = problem.over_rows(partial(_drawn, scoring=scoring, key=key, size=OVERSAMPLING * n_components)).statistics
        if len(new) == 0:
            break
        known = len(seeds)
        # In the order of their values, so that the seeds have the same order wherever the rows are.
        seeds = seeds + _Seeds.at(problem.family, np.unique(shrunk(new, mean), axis=0))
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

    def after(self, first: int) -> "_Seeds":
        """Those from one on."""
        return _Seeds(self.moments[first:], self.natural[first:], self.normalizer[first:])

    def components(self, mean: Array) -> tuple[Array, Array]:
        """Coefficients and biases: <t, coefficients_j> + bias_j = <y, theta_j> - F(theta_j) at the shrunk point y of t.

        So rows need not be shrunk to be compared with seeds.
        """
        return (1 - SHRINKAGE) * self.natural, SHRINKAGE * (self.natural @ mean) - self.normalizer


@dataclass(frozen=True)
class _Scores:
    """For each row F* of its shrunk point, the size of its terms, and the highest score with a seed so far."""

    conjugate: Array
    size: Array
    top: Array

    @classmethod
    def of(cls, rows: Rows | SparseRows, mean: Array) -> "_Scores":
        """Those of rows that no seed has been compared with."""
        scores = cls(np.empty(len(rows)), np.empty(len(rows)), np.full(len(rows), -np.inf))

        def fill(block: slice) -> None:
            points = shrunk(rows.take(block), mean)
            own = _Seeds.at(rows.family, points)
            scores.conjugate[block] = np.einsum("nd,nd->n", own.natural, points) - own.normalizer
            scores.size[block] = np.abs(scores.conjugate[block]) + np.abs(own.normalizer)

        for_each(fill, _blocks(rows), rows.n_threads)
        return scores

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
    """Seeds to compare rows with: those from `known` on are new. The scores are those of all rows, or None."""

    seeds: _Seeds
    known: int
    mean: Array
    scores: _Scores | None

    def at(self, rows: Rows | SparseRows) -> _Scores:
        """The scores of rows, all seeds taken into account."""
        scores, known = (_Scores.of(rows, self.mean), 0) if self.scores is None else (self.scores, self.known)
        scores.compare(rows, self.seeds.after(known), self.mean)
        return scores

    def divergences(self, scores: _Scores, block: slice) -> Array:
        """B_F* of the shrunk points of rows to their nearest seeds; what rounding leaves of equal points is zero."""
        divergence = scores.conjugate[block] - scores.top[block]
        size = scores.size[block] + np.abs(self.seeds.normalizer).max()
        return np.where(divergence > ROUNDING * size, divergence, 0.0)


def _blocks(rows: Rows | SparseRows) -> Iterator[slice]:
    """Blocks of rows whose statistics take little room, in their order."""
    size = max(1, BLOCK_NUMBERS // rows.n_statistics // KERNEL_ROWS) * KERNEL_ROWS
    for start in range(0, len(rows), size):
        yield slice(start, min(start + size, len(rows)))


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
    smallest, places = np.zeros(0), np.zeros(0, dtype=np.intp)
    for block in _blocks(rows):
        weights, divergence = rows.weights_of(block), scoring.divergences(scores, block)
        divergence *= 1.0 if weights is None else weights
        exponential = -np.log1p(-uniforms(key, first + block.start, len(divergence)))
        with np.errstate(divide="ignore", invalid="ignore"):
            keys = exponential / divergence
        low = np.flatnonzero(keys < (smallest[-1] if len(smallest) == size else np.inf))
        smallest, places = np.concatenate([smallest, keys[low]]), np.concatenate([places, block.start + low])
        best = np.argsort(smallest, kind="stable")[:size]
        smallest, places = smallest[best], places[best]
    return _Draw(size, smallest, rows.take(places))


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
