"""The sorted engine: one column sorted once, so that cells are intervals and a pass hardly depends on n.

This is the explicit cell diagram of the paper's section on proximity structures, for univariate data.
"""

import numpy as np

from ..kernels import PackedRows, SortedRows
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .dense import DenseEngine
from .line import BLOCK_ROWS, first_places, multiplicities
from .partition import Intervals, Partition
from .rows import Rows
from .threads import BLOCKS_A_THREAD, for_each

# Values that repeat are merged where at most this share of the line is left: the weights they then have take memory.
MERGED_SHARE = 0.25


def can_sort(rows: Rows) -> bool:
    """Whether cells are intervals of a line: one column with one statistic, or with two that cross but twice."""
    return rows.X.shape[1] == 1 and (rows.order == 1 or (rows.order == 2 and rows.family.ordered_cells))


class SortedEngine:
    """Hard passes by bisection; soft passes, which need every distinct value, by the dense kernel."""

    name = "sorted"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._line, self._packed = self._sorted_line()
        self._sorted = SortedRows(self._packed)
        alone = self._sorted.hard_pass(np.zeros((1, rows.order)), np.zeros(1))
        assert alone is not None  # one component has no rival
        rows.summary = alone[3][0] / alone[2][0], self._packed.largest()
        self._dense: DenseEngine | None = None

    def _sorted_line(self) -> tuple[Array, PackedRows]:
        """The line in order, and in the kernels' layout: where they hold it, if that is all they are to hold."""
        weights = self.rows.weights
        probe = self.rows.along_line(slice(0, 1))[:, None]
        columns, features = self._kernel_columns(probe)
        packed: PackedRows | None = None
        if columns is probe and weights is None:
            packed = PackedRows(len(self.rows), 1, features, n_threads=self.rows.n_threads)
        line = np.empty(len(self.rows)) if packed is None else packed.column()

        def fill(block: slice) -> None:
            line[block] = self.rows.along_line(block)

        for_each(fill, self.rows.line_blocks(), self.rows.n_threads)
        if weights is None:
            _sort(line, self.rows.n_threads)
        else:
            order = np.argsort(line, kind="stable")
            line, weights = line[order], weights[order]
        starts = first_places(line, most=MERGED_SHARE * len(line))
        if starts is not None:
            weights = multiplicities(starts, len(line)) if weights is None else np.add.reduceat(weights, starts)
            line, packed = line[starts], None
        if packed is None:
            packed = self._packed_line(line, weights)
        else:
            packed.measure()
        return line, packed

    def _kernel_columns(self, line: Array) -> tuple[Array, str]:
        """What the kernels pack of values (m, 1) of the line, which is that of t(x) if that is a number, else of x."""
        return (line, "identity") if self.rows.order == 1 else self.rows.family.kernel_columns(line)

    def _packed_line(self, line: Array, weights: Array | None) -> PackedRows:
        first, features = self._kernel_columns(line[:1, None])
        packed = PackedRows(len(line), first.shape[1], features, weights, n_threads=self.rows.n_threads)

        def load(start: int) -> None:
            packed.load(start, self._kernel_columns(line[start : start + BLOCK_ROWS, None])[0])

        for_each(load, range(0, len(line), BLOCK_ROWS), self.rows.n_threads)
        return packed

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        cells = self._sorted.hard_pass(natural, bias)
        if cells is None:
            self._dense = self._dense or DenseEngine(self.rows)
            return self._dense.hard_pass(natural, bias)
        cuts, owners, counts, sums = cells
        return Intervals(self.rows, self._line, cuts, owners), ClusterStatistics(counts, sums, 0.0)

    def evidence(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        return self._packed.evidence(natural, bias)

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        return ClusterStatistics(*self._packed.soft_pass(natural, bias, n_kept))


def _sort(line: Array, n_threads: int) -> None:
    """In place; of long lines each thread sorts a part of its own, after all values have come to their parts."""
    parts = min(n_threads, len(line) // (BLOCKS_A_THREAD * BLOCK_ROWS))
    if parts < 2:
        line.sort()
        return
    edges = np.linspace(0, len(line), parts + 1).astype(np.intp)
    line.partition(edges[1:-1])
    for_each(lambda part: line[edges[part] : edges[part + 1]].sort(), range(parts), parts, 1)
