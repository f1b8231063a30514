"""Rows in the order of their places in space: passes that examine a row only where several components may win."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._kernels.backend import compiled_module
from ..._kernels.packed import PackedRows
from . import reference as pruned_reference

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]

# Rows of a group: one block of the kernels in float32, two in float64.
GROUP_ROWS = 64
# Spans of a level are so many of the next finer one: rows are ordered by halves of halves (see ordering.hpp).
PARTS = 4
# The coarsest level has at least so many spans, if groups are not that few: they are what threads share.
FEWEST_SPANS = 16


@dataclass(frozen=True)
class Level:
    """Spans of `rows_each` rows (m of them): boxes around their columns, and what their rows add up to.

    Centers and half widths are (m, d); totals (m, 1 + D) are weights and weighted sums of t(x).
    """

    rows_each: int
    centers: Floats
    halves: Floats
    totals: Floats


@dataclass(frozen=True)
class GroupLabels:
    """Labels of rows in groups: `owners` has the label of each group whose rows all have the same, -1 for the others.

    Only of the latter does `rows` (n,) tell anything.
    """

    owners: Integers
    rows: Integers

    @staticmethod
    def empty(n_rows: int) -> "GroupLabels":
        """Room for labels."""
        return GroupLabels(np.empty(-(-n_rows // GROUP_ROWS), dtype=np.int32), np.empty(n_rows, dtype=np.int32))

    @staticmethod
    def of_rows(labels: Integers) -> "GroupLabels":
        """Labels of rows (n,) of which none is known to be that of its group."""
        return GroupLabels(np.full(-(-len(labels) // GROUP_ROWS), -1, dtype=np.int32), labels)

    def mixed_rows(self) -> Integers:
        """The labels of all rows in groups without an owner."""
        mixed = np.flatnonzero(self.owners < 0)
        places = (mixed[:, None] * GROUP_ROWS + np.arange(GROUP_ROWS)).ravel()
        return self.rows[places[places < len(self.rows)]]

    def same_as(self, other: "GroupLabels") -> bool:
        """Whether no row has another label."""
        return np.array_equal(self.owners, other.owners) and np.array_equal(self.mixed_rows(), other.mixed_rows())


class BoxesRows:
    """Packed rows that lie in a `spatial_order`, with boxes and sums of spans of 64 rows, of 256, of 1024...

    A span in which only one component can win goes to that component with its sums, unseen. Scores and labels are
    those of `PackedRows.hard_pass`.

    >>> packed = PackedRows(4, 1)
    >>> packed.load(0, np.array([[1.0], [2.0], [3.0], [8.0]]))
    >>> labels = GroupLabels.empty(4)
    >>> BoxesRows(packed).hard_pass(np.array([[0.0], [1.0]]), np.array([0.0, -2.5]), None, labels)
    (4, array([2., 2.]), array([[ 3.],
           [11.]]))
    >>> labels.owners, labels.rows
    (array([-1], dtype=int32), array([0, 0, 1, 1], dtype=int32))
    """

    def __init__(self, packed: PackedRows) -> None:
        self._packed = packed
        self._passes = packed.boxes_passes()
        self.levels = tuple(self._levels())[::-1]

    def _levels(self) -> Iterator[Level]:
        """From the finest to the coarsest."""
        n, d = self._packed.n_rows, self._packed.n_columns
        count = -(-n // GROUP_ROWS)
        low, high, totals = np.empty((count, d)), np.empty((count, d)), np.empty((count, 1 + self._packed.n_statistics))
        self._passes.groups(GROUP_ROWS, low, high, totals)
        rows_each = GROUP_ROWS
        while True:
            centers = 0.5 * low + 0.5 * high
            # Rounded up, so that no row is outside.
            halves = np.maximum(high - centers, centers - low) * (1 + 1e-15)
            yield Level(rows_each, centers, halves, totals)
            if len(low) < PARTS * FEWEST_SPANS:
                return
            starts = np.arange(0, len(low), PARTS)
            low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
            totals = np.add.reduceat(totals, starts)
            rows_each *= PARTS

    def hard_pass(
        self,
        natural: ArrayLike,
        bias: ArrayLike,
        before: GroupLabels | None,
        after: GroupLabels,
        lists: tuple[NDArray[np.int64], Integers] | None = None,
    ) -> tuple[int, Floats, Floats]:
        """Writes every row's best component, the lowest index on a tie, into `after`.

        Returns how many labels are others than those `before`, and counts (k,) and sums (k, D). `lists` are starts and
        names: in span s of the coarsest level only the components names[starts[s] : starts[s + 1]] are tried.
        """
        theta, b = self._packed.components(natural, bias)
        counts, sums = np.zeros(len(theta)), np.zeros(theta.shape)
        starts, names = (None, None) if lists is None else lists
        levels = self.levels
        changed = self._passes.boxes_pass(
            theta,
            b,
            [level.rows_each for level in levels],
            [level.centers for level in levels],
            [level.halves for level in levels],
            [level.totals for level in levels],
            starts,
            names,
            None if before is None else before.owners,
            None if before is None else before.rows,
            after.owners,
            after.rows,
            counts,
            sums,
        )
        return int(changed), counts, sums


def spatial_order(rows: NDArray[Any], n_threads: int = 1) -> Integers:
    """Puts rows (n, d) in an order in which neighbours are close, in place; returns where each stood.

    >>> rows = np.arange(200.0)[::-1, None].copy()
    >>> places = spatial_order(rows)
    >>> bool(rows[:64].max() < rows[64:].min()), bool((199 - places == rows[:, 0]).all())
    (True, True)
    """
    places = np.empty(len(rows), dtype=np.int32)
    compiled: Any = compiled_module()
    if compiled is None:
        pruned_reference.spatial_order(rows, GROUP_ROWS, places)
    else:
        order = compiled.spatial_order32 if rows.dtype == np.float32 else compiled.spatial_order64
        order(rows, GROUP_ROWS, places, n_threads)
    return places


def spread_labels(labels: GroupLabels, places: Integers, n_threads: int = 1) -> Integers:
    """One label per row (n,), where each stood before it was put in order.

    >>> labels = GroupLabels(np.array([-1], dtype=np.int32), np.array([5, 6, 7], dtype=np.int32))
    >>> spread_labels(labels, np.array([2, 0, 1], dtype=np.int32))
    array([6, 7, 5], dtype=int32)
    """
    out = np.empty(len(places), dtype=np.int32)
    backend: Any = compiled_module() or pruned_reference
    backend.spread_labels(labels.owners, labels.rows, GROUP_ROWS, places, out, n_threads)
    return out
