"""The data as the learners see it: legal rows, their weights, and t(x) a block at a time."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..numerics.arrays import Array

# Statistics up to this many bytes are kept between passes; wider or longer ones are built again, block by block.
KEPT_BYTES = 64 << 20
# Rows of a block are chosen so that its statistics take about this many bytes: they stay near the processor.
BLOCK_BYTES = 4 << 20

T = TypeVar("T")


class Rows:
    """Rows of one family measured from its origin, with statistics on demand. Holds a reference to X, not a copy."""

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
        self.n_threads = n_threads
        self.origin = family.origin(X, weights) if origin is None else origin
        self.order = family.order_for(X.shape[1])
        self._size = max(1, BLOCK_BYTES // (self.order * X.itemsize))
        self._kept: list[Array] | None = None
        if self.order * len(X) * X.itemsize <= KEPT_BYTES:
            self._kept = [self._statistics(rows) for rows in self._slices()]

    def __len__(self) -> int:
        return len(self.X)

    @property
    def total(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.X) if self.weights is None else self.weights.sum())

    def _slices(self) -> Iterator[slice]:
        for start in range(0, len(self.X), self._size):
            yield slice(start, min(start + self._size, len(self.X)))

    def seen_from_origin(self, rows: slice | NDArray[np.intp]) -> Array:
        """Rows of X as the family measures them."""
        block = self.X[rows]
        return block if self.origin is None else self.family.measured_from(block, self.origin)

    def _statistics(self, rows: slice | NDArray[np.intp]) -> Array:
        statistics = self.family.sufficient_statistic(self.seen_from_origin(rows))
        return np.ascontiguousarray(statistics.astype(self.X.dtype, copy=False))

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their statistics, always in the same order and of the same size."""
        for index, rows in enumerate(self._slices()):
            yield rows, self._statistics(rows) if self._kept is None else self._kept[index]

    def map(self, function: Callable[[slice, Array], T]) -> Iterator[T]:
        """function(rows, statistics) of every block, in order; several at a time when there are threads for it."""
        slices = list(self._slices())
        if self.n_threads == 1 or len(slices) == 1:
            for rows, statistics in self.blocks():
                yield function(rows, statistics)
            return

        def work(index: int) -> T:
            rows = slices[index]
            return function(rows, self._statistics(rows) if self._kept is None else self._kept[index])

        # Results are yielded in the order of the blocks, so sums do not depend on the number of threads.
        with ThreadPoolExecutor(min(self.n_threads, len(slices))) as pool:
            yield from pool.map(work, range(len(slices)))

    def take(self, indices: NDArray[np.intp]) -> Array:
        """Statistics of chosen rows, in float64."""
        return self._statistics(indices).astype(float)

    def weights_of(self, rows: slice) -> Array | None:
        """Sample weights of a block."""
        return None if self.weights is None else self.weights[rows]

    def mean_statistic(self) -> Array:
        """The weighted mean of t over all rows."""
        total = np.zeros(self.order)
        for rows, statistics in self.blocks():
            weights = self.weights_of(rows)
            total += statistics.sum(axis=0, dtype=float) if weights is None else weights @ statistics
        return total / self.total

    def largest_statistic(self) -> Array:
        """The largest |t_i(x)| of each coordinate: what bounds the rounding of a score."""
        largest = np.zeros(self.order)
        for _, statistics in self.blocks():
            np.maximum(largest, np.abs(statistics).max(axis=0), out=largest)
        return largest

    def sum_log_carrier(self) -> float:
        """The weighted sum of k(x), the part of the likelihood no component can change."""
        total = 0.0
        for rows in self._slices():
            carrier = self.family.log_carrier(self.X[rows].astype(float, copy=False))
            weights = self.weights_of(rows)
            total += float(carrier.sum() if weights is None else weights @ carrier)
        return total
