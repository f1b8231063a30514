"""The sorted engine: one column sorted once, so that cells are intervals and a pass hardly depends on n.

This is the explicit cell diagram of the paper's section on proximity structures, for univariate data.
"""

import numpy as np

from ..kernels import SortedRows
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .dense import DenseEngine
from .partition import Intervals, Partition
from .rows import Rows


def can_sort(rows: Rows) -> bool:
    """Whether cells are intervals of a line: one column with one statistic, or with two that cross but twice."""
    return rows.X.shape[1] == 1 and (rows.order == 1 or (rows.order == 2 and rows.family.ordered_cells))


class SortedEngine:
    """Hard passes by bisection; soft passes, which need every row, by the dense engine."""

    name = "sorted"

    def __init__(self, rows: Rows) -> None:
        self._dense = DenseEngine(rows)
        # With one statistic the line is that of t(x), with two that of x itself.
        self._column = rows.take(slice(None))[:, 0] if rows.order == 1 else rows.X[:, 0].astype(float, copy=False)
        weights = rows.weights
        if weights is None:
            self._line = np.sort(self._column)
        else:
            order = np.argsort(self._column, kind="stable")
            self._line, weights = self._column[order], weights[order]
        self._line, weights = _distinct(self._line, weights)
        columns, features = self._line[:, None], "identity"
        if rows.order > 1:
            line = columns if rows.origin is None else rows.family.measured_from(columns, rows.origin)
            columns, features = rows.family.kernel_columns(line)
        self._sorted = SortedRows(columns, features, weights, rows.n_threads)
        self._n_threads = rows.n_threads
        rows.summary = self._summary(rows, columns, features)

    def _summary(self, rows: Rows, columns: Array, features: str) -> tuple[Array, Array]:
        """Mean and largest |t| without another pass: statistics of these families are largest at an end of the line."""
        alone = self._sorted.hard_pass(np.zeros((1, rows.order)), np.zeros(1))
        assert alone is not None  # one component has no rival
        _, _, counts, sums = alone
        ends = np.abs(columns[[0, -1]]).max(axis=0)
        largest = ends if features == "identity" else np.concatenate([ends, ends**2])
        return sums[0] / counts[0], largest

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        cells = self._sorted.hard_pass(natural, bias)
        if cells is None:
            return self._dense.hard_pass(natural, bias)
        cuts, owners, counts, sums = cells
        return Intervals(self._column, self._line, cuts, owners, self._n_threads), ClusterStatistics(counts, sums, 0.0)

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        return self._dense.soft_pass(natural, bias, n_kept)


def _distinct(line: Array, weights: Array | None) -> tuple[Array, Array | None]:
    """Each value of a sorted line once, with its total weight; no weights are made where no value repeats."""
    new = np.concatenate([[True], line[1:] != line[:-1]])
    if new.all():
        return line, weights
    starts = np.flatnonzero(new)
    if weights is None:
        return line[starts], np.diff(np.append(starts, len(line))).astype(float)
    return line[starts], np.add.reduceat(weights, starts)
