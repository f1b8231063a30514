"""Passes over rows in the order of their places in space, in plain NumPy; see `reference`."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..._kernels import reference
from ..._kernels.reference import Floats
from ..._kernels.statistics import Clusters, Totals

if TYPE_CHECKING:
    from .kernel import Boxes, Candidates, GroupLabels

Integers = NDArray[np.int32]


class BoxesRows:
    """Rows and their groups. Components are not ruled out: that changes nothing but the time."""

    def __init__(self, rows: reference.PackedRows) -> None:
        self._rows = rows

    def groups(self, rows_each: int, low: Floats, high: Floats, totals: Floats) -> None:
        """Extremes of the columns, and weight and weighted statistics, of groups of `rows_each` rows."""
        for rows, t in self._rows.blocks(1, rows_each):
            starts = np.arange(0, len(t), rows_each)
            groups = slice(rows.start // rows_each, rows.start // rows_each + len(starts))
            weights = self._rows.weights_of(rows)
            columns = t[:, : low.shape[1]]
            low[groups], high[groups] = np.minimum.reduceat(columns, starts), np.maximum.reduceat(columns, starts)
            totals[groups, 0] = np.add.reduceat(weights, starts)
            totals[groups, 1:] = np.add.reduceat(weights[:, None] * t, starts)

    def boxes_pass(
        self,
        natural: Floats,
        bias: Floats,
        boxes: "Boxes",
        candidates: "Candidates | None",
        before: "GroupLabels | None",
        after: "GroupLabels",
        totals: Totals,
    ) -> int:
        """A hard pass over all rows; groups with one label are told from the others afterwards."""
        rows_each, labels = boxes.levels[-1].rows_each, after.rows
        old = np.full(len(labels), -1, dtype=np.int32)
        if before is not None:
            spread_labels(before.owners, before.rows, rows_each, np.arange(len(labels)), old, 1)
        labels[:] = -1
        clusters = Clusters(labels, np.zeros(len(bias), dtype=np.int64), totals.counts, totals.sums)
        self._rows.hard_pass(natural, bias, clusters, None)
        groups = np.arange(0, len(labels), rows_each)
        lowest, highest = np.minimum.reduceat(labels, groups), np.maximum.reduceat(labels, groups)
        after.owners[:] = np.where(lowest == highest, lowest, -1)
        return int(np.count_nonzero(old != labels))


def spatial_order(rows: NDArray[Any], leaf: int, places: Integers) -> None:
    """Puts rows in an order in which neighbours are close: halves of halves, each cut across the widest column."""
    places[:] = np.arange(len(rows))
    stack = [(0, len(rows))]
    while stack:
        first, last = stack.pop()
        widths = np.ptp(rows[first:last], axis=0)
        if last - first <= leaf or widths.max() == 0:
            continue
        order = first + np.argsort(rows[first:last, np.argmax(widths)], kind="stable")
        rows[first:last], places[first:last] = rows[order], places[order]
        half = leaf
        while 2 * half < last - first:
            half *= 2
        stack += [(first, first + half), (first + half, last)]


def spread_labels(
    owners: Integers, labels: Integers, each: int, places: NDArray[Any], out: Integers, threads: int
) -> None:
    """One label per row, at the places the rows had: the owner of its group, or its own where that is -1."""
    own = np.repeat(owners, each)[: len(labels)]
    out[places] = np.where(own >= 0, own, labels)
