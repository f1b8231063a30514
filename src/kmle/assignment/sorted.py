"""The sorted engine: one column sorted once, so that cells are intervals and a pass hardly depends on n.

This is the explicit cell diagram of the paper's section on proximity structures, for univariate data.
"""

import numpy as np

from ..kernels import PackedRows, SortedRows
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .dense import DenseEngine
from .partition import Intervals, Partition
from .rows import Rows
from .threads import for_each

# Values of the line turned into statistics at a time.
BLOCK_ROWS = 1 << 16


def can_sort(rows: Rows) -> bool:
    """Whether cells are intervals of a line: one column with one statistic, or with two that cross but twice."""
    return rows.X.shape[1] == 1 and (rows.order == 1 or (rows.order == 2 and rows.family.ordered_cells))


class SortedEngine:
    """Hard passes by bisection; soft passes, which need every distinct value, by the dense kernel."""

    name = "sorted"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._line: Array = np.empty(len(rows))

        def fill(block: slice) -> None:
            self._line[block] = rows.along_line(block)

        for_each(fill, rows.line_blocks(), rows.n_threads)
        weights = rows.weights
        if weights is None:
            _sort(self._line, rows.n_threads)
        else:
            order = np.argsort(self._line, kind="stable")
            self._line, weights = self._line[order], weights[order]
        self._line, weights = _distinct(self._line, weights)
        self._packed = self._packed_line(weights)
        self._sorted = SortedRows(self._packed)
        alone = self._sorted.hard_pass(np.zeros((1, rows.order)), np.zeros(1))
        assert alone is not None  # one component has no rival
        rows.summary = alone[3][0] / alone[2][0], self._packed.largest()
        self._dense: DenseEngine | None = None

    def _packed_line(self, weights: Array | None) -> PackedRows:
        """The line in the kernels' layout; with one statistic the line is that of t(x), with two that of x itself."""
        blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, len(self._line), BLOCK_ROWS)]

        def columns(block: slice) -> tuple[Array, str]:
            line = self._line[block, None]
            return self.rows.family.kernel_columns(line) if self.rows.order > 1 else (line, "identity")

        first, features = columns(slice(0, 1))
        size = (len(self._line), first.shape[1])
        packed = PackedRows(*size, features, weights, n_threads=self.rows.n_threads)
        for_each(lambda block: packed.load(block.start, columns(block)[0]), blocks, self.rows.n_threads)
        return packed

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        cells = self._sorted.hard_pass(natural, bias)
        if cells is None:
            self._dense = self._dense or DenseEngine(self.rows)
            return self._dense.hard_pass(natural, bias)
        cuts, owners, counts, sums = cells
        return Intervals(self.rows, self._line, cuts, owners), ClusterStatistics(counts, sums, 0.0)

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        return ClusterStatistics(*self._packed.soft_pass(natural, bias, n_kept))


def _sort(line: Array, n_threads: int) -> None:
    """In place; of long lines each thread sorts a part of its own, after all values have come to their parts."""
    parts = min(n_threads, len(line) // BLOCK_ROWS)
    if parts < 2:
        line.sort()
        return
    edges = np.linspace(0, len(line), parts + 1).astype(np.intp)
    line.partition(edges[1:-1])
    for_each(lambda part: line[edges[part] : edges[part + 1]].sort(), range(parts), parts)


def _distinct(line: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """Each value of a sorted line once, with its total weight; no weights are made where no value repeats."""
    new = np.concatenate([[True], line[1:] != line[:-1]])
    if new.all():
        return line, weights
    starts = np.flatnonzero(new)
    if weights is None:
        counts = np.empty(len(starts))
        np.subtract(starts[1:], starts[:-1], out=counts[:-1])
        counts[-1] = len(line) - starts[-1]
        return line[starts], counts
    return line[starts], np.add.reduceat(weights, starts)
