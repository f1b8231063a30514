"""Rows along a line in plain NumPy: the statement of what the compiled versions compute, and their stand-in."""

import numpy as np
from numpy.typing import NDArray

from ..._kernels.reference import PackedRows
from ..._kernels.statistics import Clusters, Totals

Floats = NDArray[np.float64]


class Buckets:
    """Values along a line, put in order altogether: as one bucket."""

    def __init__(self, borders: Floats, rows: int, rows_a_block: int) -> None:
        self._rows = rows

    def count(self, first: int, values: Floats) -> None:
        """There is one bucket only."""

    def lay_out(self) -> None:
        """So values need not be told apart."""

    def place(
        self, first: int, values: Floats, weights: Floats | None, line: Floats, line_weights: Floats | None
    ) -> None:
        line[first : first + len(values)] = values
        if line_weights is not None:
            line_weights[first : first + len(values)] = weights

    def finish(self, line: Floats, weights: Floats | None, threads: int) -> list[int]:
        if weights is None:
            line.sort()
        else:
            order = np.argsort(line, kind="stable")
            line[:], weights[:] = line[order], weights[order]
        return [0, self._rows]


class SortedRows:
    """Rows in the order of one column and their cells, found the slow way: every row's label.

    `Buckets` of this module have put all rows in order.
    """

    def __init__(self, packed: PackedRows, line: Floats, starts: list[int]) -> None:
        self._rows = packed

    def hard_pass(self, natural: Floats, bias: Floats, totals: Totals) -> tuple[list[int], list[int]]:
        labels = np.full(len(self._rows), -1, dtype=np.int32)
        sizes = np.zeros(len(bias), dtype=np.int64)
        self._rows.hard_pass(natural, bias, Clusters(labels, sizes, totals.counts, totals.sums), None)
        changes = np.flatnonzero(np.diff(labels)) + 1
        return [0, *changes.tolist(), len(labels)], labels[[0, *changes]].tolist()
