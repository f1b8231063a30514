"""k-MLE||: seeds in a few passes over all rows, after scalable k-means++ (Bahmani et al., 2012).

k-MLE++ needs a pass for every seed. Here a few passes draw 2k rows each, with probability proportional to their
divergence to the seeds so far; every candidate then weighs what is nearest to it, and k-MLE++ chooses among them. The
draw gives each row the key E / divergence with E exponential, and takes the smallest keys: no pass must first sum up
the divergences, chunks keep only their smallest keys, and the outcome does not depend on the chunks.
"""

from dataclasses import dataclass, field
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..data.sparse import SparseRows
from ..data.table import Rows
from ..engines.statistics import ClusterStatistics
from ..families import ExponentialFamily
from ..numerics.arrays import Array
from ..numerics.numbered_draws import uniforms
from ..problem.problem import LearningProblem, Parameters, Problem
from .k_mle_plus_plus import spread_of
from .shrinking import Candidates, drawn, seed_candidates, shrunk

ROUNDS = 5
OVERSAMPLING = 2
# Divergences below this share of their terms are rounding.
ROUNDING = 64 * np.finfo(float).eps


def k_mle_parallel(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Seeds spread by divergence over all rows, in six passes; fewer when there are no more distinct rows."""
    first = seed_candidates(problem, n_components, rng)
    seeds = _Seeds.at(problem.family, first.moments[drawn(first.weights, rng)])
    # Rows elsewhere are compared with all seeds in every pass; what is at hand is remembered.
    memory = _Memory.of(len(problem.rows)) if isinstance(problem, Problem) else None
    for _ in range(ROUNDS):
        key = int(rng.integers(2**63))
        scoring = _Pass(seeds, problem.prior_moment, memory)
        new = problem.over_rows(partial(_drawn, scoring=scoring, key=key, size=OVERSAMPLING * n_components)).statistics
        if len(new) == 0:
            break
        # In the order of their values, so that the seeds have the same order wherever the rows are.
        seeds = seeds + _Seeds.at(problem.family, np.unique(shrunk(new, problem.prior_moment), axis=0))
    nearest = problem.over_rows(partial(_gathered, scoring=_Pass(seeds, problem.prior_moment, memory)))
    occupied = nearest.counts > 0
    candidates = Candidates(np.flatnonzero(occupied), nearest.counts[occupied], seeds.moments[occupied])
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

    def best_for(self, points: Array, first: int) -> tuple[Array, NDArray[np.intp]]:
        """The highest <point, theta_j> - F(theta_j) of seeds from `first` on, and whose it is."""
        scores = points @ self.natural[first:].T - self.normalizer[first:]
        best = scores.argmax(axis=1)
        return scores[np.arange(len(points)), best], best + first


@dataclass(frozen=True)
class _Memory:
    """What earlier passes found for each row: F* of its shrunk point, its size, and the best seed so far."""

    conjugate: Array
    size: Array
    score: Array
    nearest: NDArray[np.intp]
    compared: dict[int, int] = field(default_factory=dict)
    """How many seeds the block that begins at a row has been compared with."""

    @classmethod
    def of(cls, n: int) -> "_Memory":
        return cls(np.empty(n), np.empty(n), np.full(n, -np.inf), np.zeros(n, dtype=np.intp))


@dataclass(frozen=True)
class _Pass:
    """Seeds to compare rows with."""

    seeds: _Seeds
    mean: Array
    memory: _Memory | None

    def at(self, rows: Rows | SparseRows, block: slice, t: Array) -> tuple[Array, NDArray[np.intp]]:
        """B_F* of the shrunk points of rows to their nearest seeds, and which these are.

        What rounding leaves of equal points is zero.
        """
        memory, here = (_Memory.of(len(t)), slice(None)) if self.memory is None else (self.memory, block)
        known, points = memory.compared.get(block.start, 0), shrunk(t, self.mean)
        if known == 0:
            own = _Seeds.at(rows.family, points)
            memory.conjugate[here] = np.einsum("nd,nd->n", own.natural, points) - own.normalizer
            memory.size[here] = np.abs(memory.conjugate[here]) + np.abs(own.normalizer)
        if known < len(self.seeds):
            score, nearest = self.seeds.best_for(points, known)
            better = score > memory.score[here]
            memory.score[here] = np.where(better, score, memory.score[here])
            memory.nearest[here] = np.where(better, nearest, memory.nearest[here])
            memory.compared[block.start] = len(self.seeds)
        divergence = memory.conjugate[here] - memory.score[here]
        size = memory.size[here] + np.abs(self.seeds.normalizer).max()
        return np.where(divergence > ROUNDING * size, divergence, 0.0), memory.nearest[here]


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
    draw = _Draw(size, np.zeros(0), np.zeros((0, rows.n_statistics)))
    for block, t in rows.blocks():
        weights = rows.weights_of(block)
        divergence = scoring.at(rows, block, t)[0]
        divergence *= 1.0 if weights is None else weights
        exponential = -np.log1p(-uniforms(key, first + block.start, len(t)))
        far = divergence > 0
        draw += _Draw(size, exponential[far] / divergence[far], t[far])
    return draw


def _gathered(rows: Rows | SparseRows, first: int, scoring: _Pass) -> ClusterStatistics:
    """How much is nearest to each seed; it does not matter where the rows begin."""
    k = len(scoring.seeds)
    total = ClusterStatistics.zeros(k, 0)
    for block, t in rows.blocks():
        nearest = scoring.at(rows, block, t)[1]
        counts = np.bincount(nearest, rows.weights_of(block), k).astype(float)
        total += ClusterStatistics(counts, np.zeros((k, 0)), 0.0)
    return total
