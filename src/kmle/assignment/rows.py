"""The data as the learners see it: legal rows, their weights, and their statistics, packed for the kernels."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..kernels import PackedRows
from ..numerics.arrays import Array

# Where statistics are needed as an array, they are built in blocks of rows of about this many bytes.
BLOCK_BYTES = 4 << 20


class Rows:
    """Rows of one family measured from its origin. Holds a reference to X and one packed copy of its columns."""

    def __init__(
        self,
        family: ExponentialFamily,
        X: Array,
        weights: Array | None = None,
        origin: Array | None = None,
        n_threads: int = 1,
    ) -> None:
        self.family = family
        self.X = X
        self.weights = weights
        self.origin = family.origin(X, weights) if origin is None else origin
        self.order = family.order_for(X.shape[1])
        self.largest_statistic = np.zeros(self.order)
        self.packed = self._pack(n_threads)

    def _pack(self, n_threads: int) -> PackedRows:
        """Packs block by block, so that no second copy is held on the way; notes the largest |t| of each coordinate."""
        packed: PackedRows | None = None
        for rows in self._slices(BLOCK_BYTES // (self.X.shape[1] * self.X.itemsize)):
            columns, features = self.family.kernel_columns(self.seen_from_origin(rows))
            columns = columns.astype(self.X.dtype, copy=False)
            if packed is None:
                packed = PackedRows(len(self.X), columns.shape[1], features, self.weights, self.X.dtype, n_threads)
            packed.load(rows.start, columns)
            largest = np.abs(columns).max(axis=0).astype(float)
            if features == "diagonal":
                largest = np.concatenate([largest, largest**2])
            elif features == "quadratic":
                first, second = np.triu_indices(len(largest))
                largest = np.concatenate([largest, largest[first] * largest[second]])
            np.maximum(self.largest_statistic, largest, out=self.largest_statistic)
        assert packed is not None  # there is at least one row
        return packed

    def __len__(self) -> int:
        return len(self.X)

    @property
    def total(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.X) if self.weights is None else self.weights.sum())

    def _slices(self, size: int) -> Iterator[slice]:
        size = max(1, size)
        for start in range(0, len(self.X), size):
            yield slice(start, min(start + size, len(self.X)))

    def seen_from_origin(self, rows: slice | NDArray[np.intp]) -> Array:
        """Rows of X as the family measures them."""
        block = self.X[rows]
        return block if self.origin is None else self.family.measured_from(block, self.origin)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their statistics in float64, always in the same order and of the same size."""
        for rows in self._slices(BLOCK_BYTES // (self.order * 8)):
            yield rows, self.take(rows)

    def take(self, rows: slice | NDArray[np.intp]) -> Array:
        """Statistics of chosen rows, in float64."""
        return self.family.sufficient_statistic(self.seen_from_origin(rows).astype(float, copy=False))

    def weights_of(self, rows: slice) -> Array | None:
        """Sample weights of a block."""
        return None if self.weights is None else self.weights[rows]

    def mean_statistic(self) -> Array:
        """The weighted mean of t over all rows."""
        _, sums = self.packed.label_sums(np.zeros(len(self.X), dtype=np.int32), 1)
        return sums[0] / self.total

    def sum_log_carrier(self) -> float:
        """The weighted sum of k(x), the part of the likelihood no component can change."""
        total = 0.0
        for rows in self._slices(BLOCK_BYTES // (self.X.shape[1] * 8)):
            carrier = self.family.log_carrier(self.X[rows].astype(float, copy=False))
            weights = self.weights_of(rows)
            total += float(carrier.sum() if weights is None else weights @ carrier)
        return total
