"""What a pass over the data leaves behind: counts and sums of t for each component. They add."""

from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array


@dataclass(frozen=True)
class ClusterStatistics:
    """Weighted counts (k,), weighted sums of t (k, D) and the weighted sum of the rows' scores.

    Two of them from disjoint rows add to that of all rows, so chunks, threads and machines are all `a + b`.

    >>> half = ClusterStatistics(np.array([2.0]), np.array([[6.0]]), -1.5)
    >>> (half + half).moments()
    array([[3.]])
    """

    counts: Array
    sums: Array
    score: float

    def __add__(self, other: "ClusterStatistics") -> "ClusterStatistics":
        return ClusterStatistics(self.counts + other.counts, self.sums + other.sums, self.score + other.score)

    @staticmethod
    def zeros(n_components: int, n_statistics: int) -> "ClusterStatistics":
        """Nothing seen yet."""
        return ClusterStatistics(np.zeros(n_components), np.zeros((n_components, n_statistics)), 0.0)

    def moments(self, prior_strength: float = 0.0, prior_moment: Array | float = 0.0) -> Array:
        """Mean of t for each component (k, D), with `prior_strength` pseudo-observations at `prior_moment`.

        An empty component without a prior has no mean; it gets zeros, and its parameters are never read.
        """
        total = self.counts + prior_strength
        moments = self.sums + prior_strength * np.asarray(prior_moment)
        moments /= np.where(total > 0, total, 1.0)[:, None]
        return moments

    def weights(self) -> Array:
        """The share of each component (k,)."""
        return self.counts / self.counts.sum()
