"""What examines and counts the columns of a table, in plain NumPy: the statement of what the compiled versions do."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

VALUES_PER_BLOCK = 2**17  # 1 MB of float64: a block stays in the cache


def summarize_columns(table: NDArray[Any], lowest: Floats, highest: Floats, totals: Floats) -> tuple[bool, bool]:
    """Extremes and totals of the columns; whether all values are finite, and whole."""
    with np.errstate(over="ignore", invalid="ignore"):
        np.minimum(lowest, table.min(axis=0, initial=np.inf), out=lowest)
        np.maximum(highest, table.max(axis=0, initial=-np.inf), out=highest)
        totals += table.sum(axis=0, dtype=float)
    finite = bool(np.isfinite(lowest).all() and np.isfinite(highest).all() and np.isfinite(table).all())
    small = finite and max(np.abs(lowest).max(initial=0.0), np.abs(highest).max(initial=0.0)) < 2.0**51
    return finite, bool(small and all(np.array_equal(np.floor(column), column) for column in table.T))


def squares(table: NDArray[Any], center: Floats, totals: Floats) -> None:
    """Sums of the squares of the columns, seen from a center, in double precision."""
    step = max(1, VALUES_PER_BLOCK // table.shape[1])
    for first in range(0, len(table), step):
        totals += ((table[first : first + step] - center) ** 2).sum(axis=0)


def locate(values: Floats, firsts: Floats, owners: NDArray[np.int32], labels: NDArray[np.int32], threads: int) -> None:
    """The owner of the interval each value lies in."""
    labels[:] = owners[np.searchsorted(firsts, values, side="right")]
