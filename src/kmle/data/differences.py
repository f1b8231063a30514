"""Rows by the differences of their statistics to those of one row among them.

Where columns hardly vary, components are narrow and their parameters large: products with t(x) round too much. Products
with differences do not, and what the one row scores, which belongs to the bias, the family's own density tells.
"""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._kernels import PackedRows
from ..numerics.arrays import Array
from ..numerics.threads import for_each
from .table import Rows

# The row is in the middle of about this many.
SAMPLED_ROWS = 2048


class Differences(Rows):
    """The same rows, with t(x) - t(row) in place of t(x); the row is given as the family measures it."""

    def __init__(self, rows: Rows, row: Array) -> None:
        super().__init__(rows.family, rows.X, rows.weights, rows.center, rows.n_threads, False, rows.meter)
        self.row = row

    @classmethod
    def of(cls, rows: Rows) -> "Differences":
        """Differences to a row in the middle."""
        sample = rows.centered_rows(slice(None, None, -(-len(rows) // SAMPLED_ROWS)))
        middle = (len(sample) - 1) // 2
        if rows.family.independent_columns:
            return cls(rows, np.sort(sample, axis=0)[middle])
        return cls(rows, sample[np.argsort(sample[:, 0], kind="stable")[middle]])

    @cached_property
    def statistic(self) -> Array:
        """t(row), (D,)."""
        return self.family.sufficient_statistic(self.row[None])[0]

    @cached_property
    def _carrier(self) -> float:
        return float(self.family.log_carrier(self.row[None])[0])

    def bias(self, natural: Array, log_weights: Array) -> Array:
        """What components (k, D) of these log-weights score at the row, (k,)."""
        active = np.isfinite(log_weights)
        bias = np.full(len(log_weights), -np.inf)
        density = self.family.direct_log_density(self.row[None], natural[active])
        assert density is not None  # only such families need differences
        bias[active] = density[0] - self._carrier + log_weights[active]
        return bias

    def take(self, rows: slice | NDArray[np.integer]) -> Array:
        return self.family.statistic_differences(self.centered_rows(rows), self.row)

    def subset(self, rows: NDArray[np.intp]) -> "Differences":
        return Differences(super().subset(rows), self.row)

    def _pack(self, places: NDArray[np.int32] | None = None, packed: PackedRows | None = None) -> PackedRows:
        weights, precision = self.weights, np.dtype(np.float64)
        found = PackedRows(len(self), self.n_statistics, "identity", weights, precision, self.n_threads, self.meter)
        for_each(lambda rows: found.load(rows.start, self.take(rows)), self.line_blocks(), self.n_threads)
        return found
