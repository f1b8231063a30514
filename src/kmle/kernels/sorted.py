"""Rows along a line: passes whose cost hardly depends on their number."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import reference
from .packed import PackedRows
from .serving import compiled_module

Floats = NDArray[np.float64]

# Values of a run, about: so few that putting them in order takes no time, so many that runs are few.
RUN_VALUES = 1024
MOST_RUNS = 4096
SAMPLED_A_RUN = 4


class Runs:
    """Values put into runs: all of a run are above those of the runs before it, and its least comes first.

    Values come in blocks, each of them twice: to be counted, and when all are, to be placed on the line. Different
    threads may work on different blocks. A sample of the values tells where runs begin, about.

    >>> values = np.array([5.0, 1.0, 4.0, 1.0])
    >>> runs, line = Runs(values, 4, 4), np.empty(4)
    >>> runs.count(0, values)
    >>> runs.lay_out()
    >>> runs.place(0, values, line)
    >>> runs.finish(line)
    array([0, 4])
    >>> line[0]
    np.float64(1.0)
    """

    def __init__(self, sample: ArrayLike, n_values: int, values_a_block: int) -> None:
        serving: Any = compiled_module() or reference
        borders = np.sort(np.asarray(sample, dtype=np.float64))[::SAMPLED_A_RUN].copy()
        self._runs = serving.Runs(borders, n_values, values_a_block)

    @staticmethod
    def sample_size(n_values: int) -> int:
        """How many values to draw for a sample."""
        runs = min(MOST_RUNS, max(1, n_values // RUN_VALUES))
        return min(n_values, SAMPLED_A_RUN << int(runs).bit_length() - 1)

    @staticmethod
    def of_sorted(n_values: int) -> NDArray[np.intp]:
        """Where runs of a line begin that is in order already, and its end."""
        return np.append(np.arange(0, n_values, RUN_VALUES), n_values)

    def count(self, first: int, values: NDArray[Any]) -> None:
        """Looks at a block, whose first value is this one of all."""
        self._runs.count(first, np.ascontiguousarray(values))

    def lay_out(self) -> None:
        """Says that all blocks are counted."""
        self._runs.lay_out()

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
        self._runs.place(first, np.ascontiguousarray(values), own, line, line_weights)

    def finish(
        self, line: NDArray[Any], line_weights: NDArray[Any] | None = None, n_threads: int = 1
    ) -> NDArray[np.intp]:
        """Where runs begin on the line, and its end."""
        return np.array(self._runs.finish(line, line_weights, n_threads), dtype=np.intp)


class SortedRows:
    """Packed rows (float64) in runs along the line of their values; t(x) has at most eight entries.

    Two components' scores may cross at most once (order one) or twice, with one extremum of their difference. Runs
    whose order a pass asks for are put in order, of the rows and of the line alike.

    >>> packed, line = PackedRows(4, 1), np.array([1.0, 2.0, 8.0, 3.0])
    >>> packed.load(0, line[:, None])
    >>> passes = SortedRows(packed, line, np.array([0, 1, 4]))
    >>> cuts, owners, counts, sums = passes.hard_pass(np.array([[0.0], [1.0]]), np.array([0.0, -2.5]))
    >>> cuts, owners, sums.ravel()
    (array([0, 2, 4]), array([0, 1], dtype=int32), array([ 3., 11.]))
    """

    def __init__(self, packed: PackedRows, line: NDArray[Any], starts: NDArray[np.intp]) -> None:
        if packed.order > 8 or packed.dtype != np.float64:
            raise ValueError(f"a line has at most eight statistics, in float64; got {packed.order} in {packed.dtype}.")
        self._rows = packed.sorted_passes(line, starts.tolist())

    def hard_pass(
        self, natural: ArrayLike, bias: ArrayLike
    ) -> tuple[NDArray[np.intp], NDArray[np.int32], Floats, Floats] | None:
        """Places where the owner changes (first 0, last n), the owners, and counts and sums of the components.

        None where components are so nearly equal that rounding decides about too many rows: cells are then no help.
        """
        b = np.ascontiguousarray(bias, dtype=np.float64)
        theta = np.where(np.isneginf(b)[:, None], 0.0, np.asarray(natural, dtype=np.float64))
        counts, sums = np.zeros(len(b)), np.zeros(theta.shape)
        cells = self._rows.hard_pass(np.ascontiguousarray(theta), b, counts, sums)
        if cells is None:
            return None
        cuts, owners = cells
        return np.array(cuts, dtype=np.intp), np.array(owners, dtype=np.int32), counts, sums


def locate(
    values: NDArray[Any], firsts: NDArray[Any], owners: NDArray[np.int32], n_threads: int = 1
) -> NDArray[np.int32]:
    """The owner of the interval each value lies in; `firsts` are the first values of all intervals but the first.

    >>> locate(np.array([0.5, 2.0, 9.0]), np.array([2.0]), np.array([7, 4], dtype=np.int32))
    array([7, 4, 4], dtype=int32)
    """
    labels = np.empty(len(values), dtype=np.int32)
    serving: Any = compiled_module() or reference
    serving.locate(np.ascontiguousarray(values), np.ascontiguousarray(firsts), owners, labels, n_threads)
    return labels
