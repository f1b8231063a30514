"""What a pass over the data leaves behind: counts and sums of t for each component.

They add, and a `Tally` keeps those of a hard clustering up to date: rows that move are moved from sum to sum, and sums
are recomputed before rounding can matter.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._kernels import Clusters
from ..numerics.arrays import Array

# Sums are recomputed after this many passes, those of a cluster also when it has shrunk to this share of its peak, and
# all of them in every pass while that costs next to nothing: accumulated rounding errors must stay small beside the
# sums.
PASSES = 50
SHRUNK = 0.1
SMALL = 1 << 18


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
    units: Array | None = None
    """What weights are shares of (k,), where groups of rows belong together and count once; None: the counts."""

    def __add__(self, other: "ClusterStatistics") -> "ClusterStatistics":
        units = None
        if self.units is not None or other.units is not None:
            mine, theirs = (part.counts if part.units is None else part.units for part in (self, other))
            units = mine + theirs
        return ClusterStatistics(self.counts + other.counts, self.sums + other.sums, self.score + other.score, units)

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
        units = self.counts if self.units is None else self.units
        return units / units.sum()


class Summable(Protocol):
    """Rows that can be added up by label."""

    @property
    def n_rows(self) -> int: ...
    @property
    def n_statistics(self) -> int: ...
    @property
    def n_values(self) -> int:
        """How many numbers a pass over all rows reads."""
        ...

    def label_sums(self, labels: ArrayLike, n_labels: int) -> tuple[Array, Array]:
        """Counts and sums of given labels; rows labelled -1 are no one's."""
        ...


class Tally:
    """The running state of a hard clustering of packed rows."""

    def __init__(self, packed: Summable) -> None:
        self.packed: Summable | None = packed
        self._clusters: Clusters | None = None
        self._peak = np.zeros(0, dtype=np.int64)
        self._passes = 0

    def opened(self, n_components: int) -> Clusters:
        """The clusters before a pass; none has a row yet if their number is new."""
        if self._clusters is None or len(self._clusters.counts) != n_components:
            assert self.packed is not None  # the new order has come
            self._clusters = Clusters.empty(self.packed.n_rows, n_components, self.packed.n_statistics)
            self._peak = self._clusters.sizes.copy()
        return self._clusters

    @property
    def is_regular(self) -> bool:
        """Whether the sums are recomputed after the next pass."""
        return (self._passes + 1) % PASSES == 0

    def labels_of(self, n_components: int) -> NDArray[np.int32] | None:
        """The labels of the latest pass with that many components; None if it had another number."""
        clusters = self._clusters
        return None if clusters is None or len(clusters.counts) != n_components else clusters.labels

    def reordered(self, places: NDArray[np.int32]) -> None:
        """Lets go of the rows, which are to come in another order: `places` says which comes at each place."""
        self.packed = None
        if self._clusters is not None:
            self._clusters.labels = self._clusters.labels[places]

    def statistics(self) -> ClusterStatistics:
        """What the clusters add up to after a pass."""
        clusters = self._clusters
        assert clusters is not None  # a pass has been made
        assert self.packed is not None  # over these
        regular = self.is_regular
        self._passes += 1
        small = self.packed.n_values <= SMALL
        all_again = small or regular
        again = np.full(len(clusters.sizes), True) if all_again else self._shrunken(clusters.sizes)
        if again.any():
            names = np.where(again, np.arange(len(again)), -1).astype(np.int32)
            labels = clusters.labels if all_again else names[clusters.labels]
            counts, sums = self.packed.label_sums(labels, len(again))
            clusters.counts[again], clusters.sums[again] = counts[again], sums[again]
            self._peak[again] = clusters.sizes[again]
        np.maximum(self._peak, clusters.sizes, out=self._peak)
        return ClusterStatistics(clusters.counts.copy(), clusters.sums.copy(), 0.0)

    def _shrunken(self, sizes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether each cluster (k,) that still has rows has far fewer than at its peak."""
        return (sizes > 0) & (sizes <= SHRUNK * self._peak)
