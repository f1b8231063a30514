"""Sparse rows: text and other wide counts, learned without filling in the zeros."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._kernels import CompressedRows, Meter
from ..families import ExponentialFamily
from ..numerics.arrays import Array, Labels

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Rows are filled in, where something needs that, in blocks of about this many bytes.
BLOCK_BYTES = 4 << 20


class SparseRows:
    """What `Rows` offers, for sparse X whose t(x) is x itself."""

    def __init__(
        self,
        family: ExponentialFamily,
        X: "csr_array",
        weights: Array | None = None,
        n_threads: int = 1,
        meter: Meter | None = None,
    ) -> None:
        self.meter = Meter() if meter is None else meter
        self.family = family
        self.X = X
        self.weights = weights
        self.n_threads = n_threads
        self.center: Array | None = None
        self.n_statistics = family.n_statistics_for(X.shape[1])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def filled(self) -> "SparseRows":
        """The rows themselves: none of their entries is missing."""
        return self

    @cached_property
    def packed(self) -> CompressedRows:
        """The rows as the kernels want them: where they lie."""
        return CompressedRows(self.X, self.weights, self.n_threads, self.meter)

    @property
    def total(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def slices(self, width: int) -> Iterator[slice]:
        """Blocks of rows that make a table of this many columns a few megabytes large."""
        size = max(1, BLOCK_BYTES // (8 * width))
        for start in range(0, len(self), size):
            yield slice(start, min(start + size, len(self)))

    def centered_rows(self, rows: slice | NDArray[np.intp]) -> Array:
        """Chosen rows, filled in."""
        return np.asarray(self.X[rows].toarray())

    def take(self, rows: slice | NDArray[np.intp]) -> Array:
        """Statistics of chosen rows, in float64: the rows, filled in."""
        return self.centered_rows(rows).astype(float, copy=False)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their statistics, filled in block by block."""
        for rows in self.slices(self.n_statistics):
            yield rows, self.take(rows)

    def weights_of(self, rows: slice) -> Array | None:
        """Sample weights of a block."""
        return None if self.weights is None else self.weights[rows]

    @property
    def mean_statistic(self) -> Array:
        """The weighted mean of t over all rows."""
        _, sums = self.label_sums(np.zeros(len(self), dtype=np.int32), 1)
        return np.asarray(sums[0] / self.total)

    @property
    def largest_statistic(self) -> Array:
        """A bound on |t_i(x)|: the largest entry of all."""
        data = self.X.data
        return np.full(self.n_statistics, max(float(data.max(initial=0.0)), -float(data.min(initial=0.0))))

    def sum_log_carrier(self) -> float:
        """The weighted sum of k(x)."""
        carrier = self.family.sparse_log_carrier(self.X)
        return float(carrier.sum() if self.weights is None else self.weights @ carrier)

    def raw(self, rows: slice | NDArray[np.intp]) -> Array:
        """Chosen rows, filled in."""
        return self.centered_rows(rows)

    def subset(self, rows: NDArray[np.intp]) -> "SparseRows":
        """Chosen rows, still sparse."""
        weights = None if self.weights is None else self.weights[rows]
        return SparseRows(self.family, self.X[rows], weights, self.n_threads, self.meter)

    def log_carrier(self, rows: slice) -> Array:
        """k(x) of a block."""
        everything = rows == slice(None)
        return self.family.sparse_log_carrier(self.X if everything else self.X[rows])

    def scores(self, natural: Array, bias: Array) -> Array:
        """<t(x), natural_j> + bias_j of every row and component, (n, k)."""
        return self.packed.scores(natural, bias)

    def label_sums(self, labels: Labels, n_components: int) -> tuple[Array, Array]:
        """Counts (k,) and sums (k, D) of given labels; rows labelled -1 are no one's."""
        return self.packed.label_sums(labels, n_components)
