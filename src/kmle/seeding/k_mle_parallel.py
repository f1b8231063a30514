"""k-MLE||: seeds for data that is looked at in passes, after Bahmani et al.'s scalable k-means++ (2012).

k-MLE++ needs a pass for every seed. Here a few passes draw 2k rows each, with probability proportional to their
divergence to the seeds so far; every candidate then weighs what is nearest to it, and k-MLE++ chooses among them. The
draw gives each row the key E / divergence with E exponential, and takes the smallest keys: no pass must first sum up
the divergences, chunks keep only their smallest keys, and the outcome does not depend on the chunks.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..assignment.problem import LearningProblem, Parameters
from ..assignment.rows import Rows
from ..assignment.sparse import SparseRows
from ..families import ExponentialFamily
from ..numerics.arrays import Array
from ..numerics.numbered_draws import uniforms
from ..statistics import ClusterStatistics
from .k_mle_plus_plus import spread_of
from .shrinking import Candidates, drawn, seed_candidates, shrunk

ROUNDS = 5
OVERSAMPLING = 2


def k_mle_parallel(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Seeds spread by divergence over all rows, in six passes; fewer when there are no more distinct rows."""
    first = seed_candidates(problem, n_components, rng)
    seeds = first.moments[drawn(first.weights, rng)]
    for _ in range(ROUNDS):
        key = int(rng.integers(2**63))
        draw = partial(_drawn, moments=seeds, mean=problem.prior_moment, key=key, size=OVERSAMPLING * n_components)
        new = problem.over_rows(draw).statistics
        if len(new) == 0:
            break
        # In the order of their values, so that the seeds have the same order wherever the rows are.
        seeds = np.concatenate([seeds, np.unique(shrunk(new, problem.prior_moment), axis=0)])
    nearest = problem.over_rows(partial(_gathered, moments=seeds, mean=problem.prior_moment))
    living = nearest.counts > 0
    candidates = Candidates(np.flatnonzero(living), nearest.counts[living], seeds[living])
    return spread_of(problem, candidates).parameters(problem, n_components, rng)


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


def _drawn(rows: Rows | SparseRows, first: int, moments: Array, mean: Array, key: int, size: int) -> _Draw:
    """The rows with the smallest keys of some; those that are seeds already have none."""
    draw = _Draw(size, np.zeros(0), np.zeros((0, rows.order)))
    for block, t in rows.blocks():
        weights = rows.weights_of(block)
        divergence = _divergences(rows.family, shrunk(t, mean), moments).min(axis=1)
        divergence *= 1.0 if weights is None else weights
        exponential = -np.log1p(-uniforms(key, first + block.start, len(t)))
        far = divergence > 0
        draw += _Draw(size, exponential[far] / divergence[far], t[far])
    return draw


def _gathered(rows: Rows | SparseRows, first: int, moments: Array, mean: Array) -> ClusterStatistics:
    """How much is nearest to each seed; it does not matter where the rows begin."""
    total = ClusterStatistics.zeros(len(moments), 0)
    for block, t in rows.blocks():
        nearest = _divergences(rows.family, shrunk(t, mean), moments).argmin(axis=1)
        counts = np.bincount(nearest, rows.weights_of(block), len(moments)).astype(float)
        total += ClusterStatistics(counts, np.zeros((len(moments), 0)), 0.0)
    return total


def _divergences(family: ExponentialFamily, points: Array, moments: Array) -> Array:
    """B_F* of points to seeds, (n, seeds), both legal moments; what rounding leaves of equal ones is zero."""
    own = family.natural_from_moment(points)
    own_normalizer = family.log_normalizer(own)
    natural = family.natural_from_moment(moments)
    normalizer = family.log_normalizer(natural)
    conjugate = np.einsum("nd,nd->n", own, points) - own_normalizer
    values = conjugate[:, None] + normalizer - points @ natural.T
    size = np.abs(conjugate) + np.abs(own_normalizer) + np.abs(normalizer).max()
    return np.where(values > 64 * np.finfo(float).eps * size[:, None], values, 0.0)
