"""The skipping engine: components that cannot have caught up since the last pass are not scored.

Once few rows move, rows are put in the order of their labels and, among those of one label, of their leads over the
second best: rows that are in danger are then neighbours. Of every stretch of them it is kept how far the rows' own
components lead over each other one. Leads only shrink as fast as components move, so most of them are beyond doubt for
many passes, and every label is the dense engine's.
"""

from weakref import ref

import numpy as np

from ..kernels import Clusters, PackedRows, SkippingRows, ranks
from ..kernels.packed import Singles
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .partition import Labelled, Labels, Partition, Reordered
from .rows import Rows
from .tally import Tally

# Leads last long enough to be worth knowing once a pass moves fewer than this share of the rows.
FEW_MOVES = 0.03
# Rows that have moved lie among those of other labels, where nothing is ever beyond doubt. They are put in order again
# once so many rows, as a multiple of all, have been looked at for that reason.
STRAYED = 10
# Margins between which the order is by margin.
LEAST_MARGIN, MOST_MARGIN = np.float32(1e-30), np.float32(1e30)


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
        first = bool(np.any(clusters.labels[:1] < 0))
        margins = None if first else np.empty(len(self.rows), dtype=np.float32)
        changed = self.rows.packed.hard_pass(natural, bias, clusters, margins)
        if changed or self._partition is None:
            before = None if self._partition is None else ref(self._partition)
            self._partition = Labelled(clusters.labels.copy(), before)
        found = self._partition, self._tally.statistics()
        if margins is not None and changed < FEW_MOVES * len(self.rows):
            self._ordered = _Ordered(self.rows, self._tally, clusters, margins)
            self._tally = self._partition = None
        return found

    def evidence(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        known = self.rows.packed if self._ordered is None else self._ordered.skipping
        return known.evidence(natural, bias)

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        return ClusterStatistics(*self._packed.soft_pass(natural, bias, n_kept))

    @property
    def _packed(self) -> PackedRows:
        return self.rows.packed if self._ordered is None else self._ordered.packed


class _Ordered:
    """The rows in the order of their labels and leads, and their latest labels."""

    packed: PackedRows
    skipping: SkippingRows

    def __init__(self, rows: Rows, tally: Tally, clusters: Clusters, margins: Singles) -> None:
        self._rows = rows
        self._tally = tally
        self._partition: Reordered | None = None
        self._places = np.arange(len(rows), dtype=np.int32)
        self._put_in_order(clusters, margins)

    def _put_in_order(self, clusters: Clusters, margins: Singles) -> None:
        order = like_order(clusters.labels, margins, len(clusters.counts))
        places = np.empty_like(self._places)
        places[order] = self._places
        self._places = places
        self._tally.reordered(order)
        # Those in the old order are let go of first: there is never more than one packed copy of the rows.
        self._rows.release_packed()
        if hasattr(self, "skipping"):
            del self.skipping, self.packed
        self.packed = self._rows.packed_in_order(places)
        self._tally.packed = self.packed
        self.skipping = SkippingRows(self.packed, margins)  # all of them are written by the next pass
        self._strayed = 0

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        clusters = self._tally.opened(len(natural))
        if np.any(clusters.labels[:1] < 0):
            changed = self.packed.hard_pass(natural, bias, clusters)
            # All that was certain was of other labels.
            self.skipping = SkippingRows(self.packed, self.skipping.margins)
        else:
            if self._strayed > STRAYED * len(clusters.labels):
                self._put_in_order(clusters, self.skipping.margins)
            changed, _, strayed = self.skipping.hard_pass(natural, bias, clusters)
            self._strayed += strayed
        if changed or self._partition is None:
            self._partition = Reordered.noted(clusters.labels, self._places, len(natural), self._partition)
        return self._partition, self._tally.statistics()


def like_order(labels: Labels, margins: Singles, n_components: int) -> Labels:
    """Where each row goes in an order by label and, nearly, by margin among those of one label.

    >>> like_order(np.array([1, 0, 1, 1], np.int32), np.array([3.0, 1.0, 0.0, 9.0], np.float32), 3)
    array([2, 0, 1, 3], dtype=int32)
    """
    # So few steps of the margin that the numbers are sorted without comparisons; components beyond that share some.
    steps = max(1, (1 << 16) // n_components)
    typical = np.clip(np.median(margins[:: max(1, len(margins) // 1000)]), LEAST_MARGIN, MOST_MARGIN)
    # A margin that is infinite, or no number, is beyond them all.
    share = np.fmin(margins, MOST_MARGIN)
    share += typical
    np.divide(np.float32(steps) * typical, share, out=share)
    step = np.minimum(share.astype(np.uint16), np.uint16(steps - 1))
    numbers = labels.astype(np.uint16)
    numbers *= np.uint16(steps)
    numbers += np.uint16(steps - 1) - step
    return ranks(numbers)
