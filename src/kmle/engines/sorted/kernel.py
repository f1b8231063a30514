"""Rows along a line: passes whose cost hardly depends on their number."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._kernels.backend import compiled_module
from ..._kernels.packed import PackedRows
from ..._kernels.statistics import Totals
from . import reference

Floats = NDArray[np.float64]

# Approximate number of values of a bucket: few enough to be sorted quickly, enough to need only a few buckets.
BUCKET_VALUES = 1024
MOST_BUCKETS = 4096
SAMPLED_PER_BUCKET = 4


class Buckets:
    """Values put into buckets: all of a bucket are above those of the buckets before it, and its least comes first.

    Values come in blocks, each of them twice: to be counted, and when all are, to be placed on the line. Different
    threads may work on different blocks. A sample of the values tells where buckets begin, about.

    >>> values = np.array([5.0, 1.0, 4.0, 1.0])
    >>> buckets, line = Buckets(values, 4, 4), np.empty(4)
    >>> buckets.count(0, values)
    >>> buckets.lay_out()
    >>> buckets.place(0, values, line)
    >>> buckets.finish(line)
    array([0, 4])
    >>> line[0]
    np.float64(1.0)
    """

    def __init__(self, sample: ArrayLike, n_values: int, values_a_block: int) -> None:
        backend: Any = compiled_module() or reference
        borders = np.sort(np.asarray(sample, dtype=np.float64))[::SAMPLED_PER_BUCKET].copy()
        self._buckets = backend.Buckets(borders, n_values, values_a_block)

    @staticmethod
    def sample_size(n_values: int) -> int:
        """How many values to draw for a sample."""
        buckets = min(MOST_BUCKETS, max(1, n_values // BUCKET_VALUES))
        return min(n_values, SAMPLED_PER_BUCKET << int(buckets).bit_length() - 1)

    @staticmethod
    def of_sorted(n_values: int) -> NDArray[np.intp]:
        """Where buckets of a line begin that is in order already, and its end."""
        return np.append(np.arange(0, n_values, BUCKET_VALUES), n_values)

    def count(self, first: int, values: NDArray[Any]) -> None:
        """Looks at a block, whose first value is this one of all."""
        self._buckets.count(first, np.ascontiguousarray(values))

    def lay_out(self) -> None:
        """Says that all blocks are counted."""
        self._buckets.lay_out()

    def place(
        self,
        first: int,
        values: NDArray[Any],
        line: NDArray[Any],
        weights: NDArray[Any] | None = None,
        line_weights: NDArray[Any] | None = None,
    ) -> None:
        """Puts the values of a block, and their weights, where they belong on the line (n,) of all."""
        own = None if weights is None else np.ascontiguousarray(weights)
        self._buckets.place(first, np.ascontiguousarray(values), own, line, line_weights)

    def finish(
        self, line: NDArray[Any], line_weights: NDArray[Any] | None = None, n_threads: int = 1
    ) -> NDArray[np.intp]:
        """Where buckets begin on the line, and its end."""
        return np.array(self._buckets.finish(line, line_weights, n_threads), dtype=np.intp)


class SortedRows:
    """Packed rows (float64) in buckets along the line of their values; t(x) has at most eight entries.

    Two components' scores may cross at most once (order one) or twice, with one extremum of their difference. Buckets
    whose order a pass asks for are put in order, of the rows and of the line alike.

    >>> packed, line = PackedRows(4, 1), np.array([1.0, 2.0, 8.0, 3.0])
    >>> packed.load(0, line[:, None])
    >>> passes = SortedRows(packed, line, np.array([0, 1, 4]))
    >>> cuts, owners, counts, sums = passes.hard_pass(np.array([[0.0], [1.0]]), np.array([0.0, -2.5]))
    >>> cuts, owners, sums.ravel()
    (array([0, 2, 4]), array([0, 1], dtype=int32), array([ 3., 11.]))
    """

    def __init__(self, packed: PackedRows, line: NDArray[Any], starts: NDArray[np.intp]) -> None:
        if packed.n_statistics > 8 or packed.dtype != np.float64:
            raise ValueError(
                f"a line has at most eight statistics, in float64; got {packed.n_statistics} in {packed.dtype}."
            )
        self._module: Any = packed.module
        passes: Any = self._module or reference
        self._rows = passes.SortedRows(packed.native, line, starts.tolist())

    def hard_pass(
        self, natural: ArrayLike, bias: ArrayLike
    ) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats, Floats] | None:
        """Places where the owner changes (first 0, last n), the owners, and counts and sums of the components.

        None where components are so nearly equal that rounding decides about too many rows: cells are then no help.
        """
        b = np.ascontiguousarray(bias, dtype=np.float64)
        theta = np.where(np.isneginf(b)[:, None], 0.0, np.asarray(natural, dtype=np.float64))
        totals = Totals.zeros(*theta.shape)
        given = totals if self._module is None else totals.compiled(self._module)
        cells = self._rows.hard_pass(np.ascontiguousarray(theta), b, given)
        if cells is None:
            return None
        cuts, owners = cells
        return np.array(cuts, dtype=np.intp), np.array(owners, dtype=np.int32), totals.counts, totals.sums
