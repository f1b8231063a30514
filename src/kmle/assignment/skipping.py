"""The skipping engine: components that cannot have caught up since the last pass are not scored.

Once few rows move, rows are put in the order of their labels and, among those of one label, of their second best
components: neighbours are then threatened by the same few. Of every stretch of them it is kept how far the rows' own
components lead over each other one. Leads only shrink as fast as components move, so most of them are beyond doubt for
many passes, and every label is the dense engine's.
"""

from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ..kernels import Clusters, SkippingRows
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .partition import Labelled, Labels, Partition, Reordered
from .rows import Rows
from .tally import Tally

# Leads last long enough to be worth knowing once a pass moves fewer than this share of the rows.
FEW_MOVES = 0.1


class SkippingEngine:
    """Hard passes that score what may have changed; soft passes by the dense kernel."""

    name = "skipping"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._tally: Tally | None = None
        self._partition: Labelled | None = None
        self._ordered: _Ordered | None = None

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        if self._ordered is not None:
            return self._ordered.hard_pass(natural, bias)
        if self._tally is None:
            self._tally = Tally(self.rows.packed)
        clusters = self._tally.opened(len(natural))
        first = self._partition is None or bool(np.any(clusters.labels[:1] < 0))
        rivals = None if first else np.empty(len(self.rows), dtype=np.int32)
        changed = self.rows.packed.hard_pass(natural, bias, clusters, rivals)
        if changed or self._partition is None:
            before = None if self._partition is None else ref(self._partition)
            self._partition = Labelled(clusters.labels.copy(), before)
        found = self._partition, self._tally.statistics()
        if rivals is not None and changed < FEW_MOVES * len(self.rows):
            self._ordered = _Ordered(self.rows, clusters, rivals)
            self._tally = self._partition = None
        return found

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        packed = self.rows.packed if self._ordered is None else self._ordered.packed
        return ClusterStatistics(*packed.soft_pass(natural, bias, n_kept))


class _Ordered:
    """The rows in the order of their labels and rivals, and their latest labels."""

    def __init__(self, rows: Rows, clusters: Clusters, rivals: Labels) -> None:
        self._places = like_order(clusters.labels, rivals, len(clusters.counts))
        weights = None if rows.weights is None else rows.weights[self._places]
        self.packed = rows.packed.reordered(self._places, weights)
        rows.release_packed()
        self._skipping = SkippingRows(self.packed)
        clusters.labels = clusters.labels[self._places]
        self._tally = Tally(self.packed, clusters)
        self._partition: Reordered | None = None

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        clusters = self._tally.opened(len(natural))
        if np.any(clusters.labels[:1] < 0):
            changed = self.packed.hard_pass(natural, bias, clusters)
            self._skipping = SkippingRows(self.packed)  # what was certain was so of other labels
        else:
            changed, _ = self._skipping.hard_pass(natural, bias, clusters)
        if changed or self._partition is None:
            self._partition = Reordered.noted(clusters.labels, self._places, len(natural), self._partition)
        return self._partition, self._tally.statistics()


def like_order(labels: Labels, rivals: Labels, n_components: int) -> NDArray[np.int32]:
    """The rows by label, and by rival among those of one label.

    >>> like_order(np.array([1, 0, 1, 1], np.int32), np.array([2, 1, 0, 2], np.int32), 3)
    array([1, 2, 0, 3], dtype=int32)
    """
    pairs = labels.astype(np.int64) * n_components + rivals
    # Few enough pairs fit a type that is sorted without comparisons.
    narrow = pairs.astype(np.uint16) if n_components**2 <= 1 << 16 else pairs
    return np.argsort(narrow, kind="stable").astype(np.int32)
