"""Rows in the order of their places in space: passes that examine a row only where several components may win."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._kernels.backend import compiled_module
from ..._kernels.packed import PackedRows
from ..._kernels.statistics import Totals
from . import reference as boxes_reference

Floats = NDArray[np.float64]
Integers = NDArray[np.int32]

# Rows of a group: one block of the kernels in float32, two in float64.
GROUP_ROWS = 64
# A span consists of this many of the next finer level: rows are ordered by halves of halves (see ordering.hpp).
PARTS = 4
# The coarsest level has at least this many spans, if there are as many groups: threads share them.
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

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.Level(self.rows_each, self.centers, self.halves, self.totals)


@dataclass(frozen=True)
class Boxes:
    """Levels from the coarsest to the finest; each span of a level is a whole number of those of the next."""

    levels: tuple[Level, ...]

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.Boxes([level.compiled(module) for level in self.levels])


@dataclass(frozen=True)
class Candidates:
    """In span s of the coarsest level only the components names[starts[s] : starts[s + 1]] are tried."""

    starts: NDArray[np.int64]
    names: Integers

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.Candidates(self.starts, self.names)


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

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.GroupLabels(self.owners, self.rows)

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
        self._packed, self._module = packed, packed.module
        self._passes: Any = boxes_reference.BoxesRows(packed.native) if self._module is None else packed.native
        boxes = Boxes(tuple(self._levels())[::-1])
        self.levels, self._boxes = boxes.levels, self._given(boxes)

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
        candidates: Candidates | None = None,
    ) -> tuple[int, Floats, Floats]:
        """Writes every row's best component, the lowest index on a tie, into `after`.

        Returns how many labels are others than those `before`, and counts (k,) and sums (k, D). Components that are no
        `candidates` of a span are not tried there.
        """
        theta, b = self._packed.components(natural, bias)
        totals = Totals.zeros(*theta.shape)
        given = (self._given(value) for value in (candidates, before, after, totals))
        changed = self._passes.boxes_pass(theta, b, self._boxes, *given)
        return int(changed), totals.counts, totals.sums

    def _given(self, value: Any) -> Any:
        """An object as the passes take it: in NumPy as it is."""
        return value if value is None or self._module is None else value.compiled(self._module)


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
        boxes_reference.spatial_order(rows, GROUP_ROWS, places)
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
    backend: Any = compiled_module() or boxes_reference
    backend.spread_labels(labels.owners, labels.rows, GROUP_ROWS, places, out, n_threads)
    return out
