"""Sums of clusters, updated by the rows that move and computed afresh before rounding can matter."""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._kernels import Clusters
from ..numerics.arrays import Array
from .statistics import ClusterStatistics

# Sums are gathered afresh after this many passes, those of a cluster whenever it has shrunk to this share of what it
# was, and all of them always while that costs next to nothing: what rounding leaves behind must stay small beside the
# sums themselves.
PASSES = 50
SHRUNK = 0.1
SMALL = 1 << 18


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


def shrunken(sizes: NDArray[np.int64], peak: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each cluster (k,) that still has rows has far fewer than at its peak."""
    return (sizes > 0) & (sizes <= SHRUNK * peak)


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
        self._passes += 1
        small = self.packed.n_values <= SMALL
        all_afresh = small or self._passes % PASSES == 0
        afresh = np.full(len(clusters.sizes), True) if all_afresh else shrunken(clusters.sizes, self._peak)
        if afresh.any():
            names = np.where(afresh, np.arange(len(afresh)), -1).astype(np.int32)
            labels = clusters.labels if all_afresh else names[clusters.labels]
            counts, sums = self.packed.label_sums(labels, len(afresh))
            clusters.counts[afresh], clusters.sums[afresh] = counts[afresh], sums[afresh]
            self._peak[afresh] = clusters.sizes[afresh]
        np.maximum(self._peak, clusters.sizes, out=self._peak)
        return ClusterStatistics(clusters.counts.copy(), clusters.sums.copy(), 0.0)
