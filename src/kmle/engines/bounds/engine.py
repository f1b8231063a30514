"""The bounds engine: components that cannot have caught up since the last pass are not scored.

Once few rows move, rows are put in the order of their labels and, among those of one label, of their margins over the
second best: rows that are in danger are then neighbours. Of every span of them it is kept how far the rows' own
components are ahead of each other one. Margins only shrink as fast as components move, so most of them are certain for
many passes, and every label is the dense engine's.
"""

from functools import partial
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ..._kernels import Clusters, PackedRows
from ..._kernels.packed import Singles
from ...data.table import Rows
from ...numerics.arrays import Array, Labels
from ..boxes.kernel import GroupLabels, spread_labels
from ..partition import Compact, Labelled, Partition, noted
from ..statistics import ClusterStatistics, Tally
from .kernel import BoundsRows, margin_order

# Margins last long enough to be worth knowing once a pass moves fewer than this share of the rows, as a sample tells.
FEW_MOVES = 0.03
SAMPLED_ROWS = 4096
# Rows that have moved lie among those of other labels, where nothing is ever certain. They are put in order again
# once this many times the number of all rows have been examined for that reason.
STRAYED = 10


class BoundsEngine:
    """Hard passes that score what may have changed; soft passes by the dense kernel."""

    name = "bounds"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._tally: Tally | None = None
        self._partition: Labelled | None = None
        self._margins: Singles | None = None
        self._sample: Rows | None = None
        self._ordered: _Ordered | None = None

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        if self._ordered is not None:
            return self._ordered.hard_pass(natural, bias)
        if self._tally is None:
            self._tally = Tally(self.rows.packed)
        clusters = self._tally.opened(len(natural))
        if self._partition is not None and self._margins is not None and self._few_move(natural, bias, clusters.labels):
            self._ordered = _Ordered(self.rows, self._tally, clusters, self._margins, self._partition)
            self._tally = self._partition = self._margins = self._sample = None
            return self._ordered.hard_pass(natural, bias)
        if self._margins is None:
            self._margins = np.empty(len(self.rows), dtype=np.float32)
        changed = self.rows.packed.hard_pass(natural, bias, clusters, self._margins)
        if changed or self._partition is None:
            before = None if self._partition is None else ref(self._partition)
            self._partition = Labelled(noted(clusters.labels, len(natural)), before)
        return self._partition, self._tally.statistics()

    def _few_move(self, natural: Array, bias: Array, labels: Labels) -> bool:
        """Whether so few rows of a sample have another label with these components that knowing margins is worth it."""
        places = np.arange(0, len(labels), max(1, len(labels) // SAMPLED_ROWS))
        if self._sample is None:
            self._sample = self.rows.subset(places)
        before = labels[places]
        found = Clusters.empty(len(places), len(natural), self._sample.n_statistics)
        self._sample.packed.hard_pass(natural, bias, found)
        # Rows without a label move, all of them.
        return bool(np.count_nonzero(found.labels != before) < FEW_MOVES * len(places))

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        known = self.rows.packed if self._ordered is None else self._ordered.bounds
        return known.log_likelihood(natural, bias)

    def soft_pass(self, natural: Array, bias: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        return ClusterStatistics(*self.packed.soft_pass(natural, bias, n_responsibilities))

    @property
    def packed(self) -> PackedRows:
        """The rows in the order soft passes have them."""
        return self.rows.packed if self._ordered is None else self._ordered.packed


class _Ordered:
    """The rows in the order of their labels and margins, and their latest labels."""

    packed: PackedRows
    bounds: BoundsRows

    def __init__(self, rows: Rows, tally: Tally, clusters: Clusters, margins: Singles, partition: Partition) -> None:
        self._rows = rows
        self._tally = tally
        self._partition = partition
        self._places: Labels | None = None
        self._put_in_order(clusters, margins)

    def _put_in_order(self, clusters: Clusters, margins: Singles) -> None:
        order = margin_order(clusters.labels, margins, len(clusters.counts), self._rows.n_threads)
        self._places = order if self._places is None else self._places[order]
        self._tally.reordered(order)
        old = self._rows.release_packed()
        if hasattr(self, "packed"):
            old = self.packed
            del self.bounds, self.packed
        if not self._rows.repacks:
            old = None  # they are let go of first: there is never more than one packed copy of the rows
        self.packed = self._rows.packed_in_order(self._places, old)
        self._tally.packed = self.packed
        self.bounds = BoundsRows(self.packed, margins)  # all of them are written by the next pass
        self._strayed = 0

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        clusters = self._tally.opened(len(natural))
        if np.any(clusters.labels[:1] < 0):
            changed = self.packed.hard_pass(natural, bias, clusters)
            # All that was certain was of other labels.
            self.bounds = BoundsRows(self.packed, self.bounds.margins)
        else:
            if self._strayed > STRAYED * len(clusters.labels):
                self._put_in_order(clusters, self.bounds.margins)
            changed, _, strayed = self.bounds.hard_pass(natural, bias, clusters)
            self._strayed += strayed
        if changed:
            assert self._places is not None  # they are in order
            values = noted(clusters.labels, len(natural))
            write = partial(_in_given_order, values, self._places, self._rows.n_threads)
            self._partition = Compact(lambda: (values,), write, self._places, ref(self._partition), hashes_key=False)
        return self._partition, self._tally.statistics()


def _in_given_order(values: NDArray[Any], places: Labels, n_threads: int) -> Labels:
    """Labels (n,) of rows at these places, in the order the rows were given in."""
    return spread_labels(GroupLabels.of_rows(values.astype(np.int32)), places, n_threads)
