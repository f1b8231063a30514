"""Rows along a line: passes whose cost hardly depends on their number."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import reference
from .packed import PackedRows
from .serving import compiled_module

Floats = NDArray[np.float64]


class SortedRows:
    """Packed rows (float64) in the order of one column; t(x) has at most eight entries.

    Two components' scores may cross at most once (order one) or twice, with one extremum of their difference.

    >>> packed = PackedRows(4, 1)
    >>> packed.load(0, np.array([[1.0], [2.0], [3.0], [8.0]]))
    >>> cuts, owners, counts, sums = SortedRows(packed).hard_pass(np.array([[0.0], [1.0]]), np.array([0.0, -2.5]))
    >>> cuts, owners, sums.ravel()
    (array([0, 2, 4]), array([0, 1], dtype=int32), array([ 3., 11.]))
    """

    def __init__(self, packed: PackedRows) -> None:
        if packed.order > 8 or packed.dtype != np.float64:
            raise ValueError(f"a line has at most eight statistics, in float64; got {packed.order} in {packed.dtype}.")
        self._rows = packed.sorted_passes()

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
