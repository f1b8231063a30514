"""Seeds that are legal for every family: points of t(x) pulled a little towards their mean.

t(x) itself is no legal moment for most families (one point has no variance, a count of zero no logarithm). The shrunk
point (1 - e) t(x) + e mean(t) is in the interior of the moment space whenever the mean is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .problem import SAMPLE_ROWS_EACH, LearningProblem, Parameters

SHRINKAGE = 0.05
# Batched Cholesky factors of wide families cost D^1.5 each; this bounds their total.
SAMPLE_COST = 4e7


@dataclass(frozen=True)
class Candidates:
    """Distinct rows of a sample: where in it they are, what they weigh, and legal moments near them."""

    indices: NDArray[np.intp]
    weights: Array
    moments: Array

    def __len__(self) -> int:
        return len(self.indices)


def seed_candidates(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Candidates:
    """The distinct rows of the problem's sample, or of a part of it where that would cost much.

    They come in the order of their values, equal rows as one with their weights added: so the seeds do not depend on
    the order of the rows, nor on whether a row stands twice or weighs two. (A sample of more than 20 000 rows is drawn
    by place, so there the order does matter.)
    """
    rows = problem.sample.rows
    n = len(rows)
    size = min(n, max(int(SAMPLE_COST / problem.n_statistics**1.5), SAMPLE_ROWS_EACH * n_components))
    chosen = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
    weights = np.ones(size) if rows.weights is None else rows.weights[chosen]
    _, first, group = np.unique(rows.filled().raw(chosen), axis=0, return_index=True, return_inverse=True)
    indices = chosen[first]
    moments = shrunk(rows.take(indices), problem.prior_moment)
    return Candidates(indices, np.bincount(group.ravel(), weights, len(first)).astype(float), moments)


def shrunk(statistics: Array, mean: Array) -> Array:
    """Legal moments (m, D) close to t of rows."""
    return (1 - SHRINKAGE) * statistics + SHRINKAGE * mean


def drawn(weights: Array, rng: np.random.Generator, size: int = 1) -> NDArray[np.intp]:
    """Places (m, size) drawn with probability proportional to each line of weights (m, n).

    Where all are zero, it is the last one.
    """
    cumulative = np.cumsum(weights, axis=1)
    thresholds = rng.random((len(weights), size)) * cumulative[:, -1:]
    places = [np.searchsorted(line, own, side="right") for line, own in zip(cumulative, thresholds, strict=True)]
    return np.minimum(places, weights.shape[1] - 1)


def parameters_at(problem: LearningProblem, moments: Array) -> Parameters:
    """Components at these moments with equal (or the prescribed) weights."""
    k = len(moments)
    return Parameters(problem.estimates(np.ones(k), moments), problem.log_weights(np.full(k, 1 / k)))
