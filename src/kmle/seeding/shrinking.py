"""Seeds that are legal for every family: points of t(x) pulled a little towards their mean.

t(x) itself is no legal moment for most families (one point has no variance, a count of zero no logarithm). The shrunk
point (1 - e) t(x) + e mean(t) is in the interior of the moment space whenever the mean is.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..assignment.problem import Parameters, Problem
from ..numerics.arrays import Array

SHRINKAGE = 0.05
# Seeds are looked for among at most this many rows: enough to see every component that is worth one.
SAMPLE_ROWS = 20_000
# Batched Cholesky factors of wide families cost D^1.5 each; this bounds their total.
SAMPLE_COST = 4e7


@dataclass(frozen=True)
class Candidates:
    """Distinct rows among which seeds are looked for: where they are, what they weigh, and legal moments near them."""

    indices: NDArray[np.intp]
    weights: Array
    moments: Array

    def __len__(self) -> int:
        return len(self.indices)


def seed_candidates(problem: Problem, n_components: int, rng: np.random.Generator) -> Candidates:
    """All distinct rows, or those of a random sample when there are many.

    They come in the order of their values, equal rows as one with their weights added: so the seeds do not depend on
    the order of the rows, nor on whether a row stands twice or weighs two. (A sample of more than 20 000 rows is drawn
    by place, so there the order does matter.)
    """
    n = len(problem.rows)
    affordable = int(SAMPLE_COST / problem.rows.order**1.5)
    size = min(n, max(min(SAMPLE_ROWS, affordable), 20 * n_components))
    sample = np.arange(n) if size == n else np.sort(rng.choice(n, size, replace=False))
    weights = np.ones(size) if problem.rows.weights is None else problem.rows.weights[sample]
    _, first, group = np.unique(problem.rows.raw(sample), axis=0, return_index=True, return_inverse=True)
    indices = sample[first]
    moments = shrunk_moments(problem, indices)
    return Candidates(indices, np.bincount(group.ravel(), weights, len(first)).astype(float), moments)


def shrunk_moments(problem: Problem, indices: NDArray[np.intp], shrinkage: float = SHRINKAGE) -> Array:
    """Legal moments (m, D) close to t of the rows."""
    return (1 - shrinkage) * problem.rows.take(indices) + shrinkage * problem.prior_moment


def drawn(weights: Array, rng: np.random.Generator, size: int = 1) -> NDArray[np.intp]:
    """Places drawn with probability proportional to their weights."""
    cumulative = np.cumsum(weights)
    places = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return np.minimum(places, len(weights) - 1)


def parameters_at(problem: Problem, moments: Array) -> Parameters:
    """Components at these moments with equal (or the prescribed) weights."""
    k = len(moments)
    return Parameters(problem.family.natural_from_moment(moments), problem.log_weights(np.full(k, 1 / k)))
