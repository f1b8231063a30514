"""Values along a line: sorted, and each but once."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array

# Values examined at a time.
BLOCK_ROWS = 1 << 16
# Values that are compared with the next one before all are.
SAMPLE = 1 << 12


def _starts(line: Array) -> Iterator[NDArray[np.intp]]:
    """Places on a sorted line where a value stands for the first time, block by block."""
    yield np.zeros(1, dtype=np.intp)
    for start in range(0, len(line) - 1, BLOCK_ROWS):
        block = line[start : start + BLOCK_ROWS + 1]
        yield start + 1 + np.flatnonzero(block[1:] != block[:-1])


def first_places(line: Array, most: float) -> NDArray[np.intp] | None:
    """Where the values of a sorted line stand for the first time; None, and no array, if they are more than `most`.

    Where a sample of a long line has far more of them than that already, the rest is not examined.

    >>> first_places(np.array([1.0, 1.0, 2.0, 5.0, 5.0]), most=3)
    array([0, 2, 3])
    """
    if len(line) > SAMPLE:
        places = np.random.default_rng(0).integers(len(line) - 1, size=SAMPLE)
        if np.mean(line[places] != line[places + 1]) > 2 * most / len(line) + 0.1:
            return None
    count = sum(len(places) for places in _starts(line))
    if count > most:
        return None
    starts = np.empty(count, dtype=np.intp)
    filled = 0
    for places in _starts(line):
        starts[filled : filled + len(places)] = places
        filled += len(places)
    return starts


def multiplicities(starts: NDArray[np.intp], n: int) -> Array:
    """How often each value stands on a line of n, from the places where they stand first.

    >>> multiplicities(np.array([0, 2, 3]), 5)
    array([2., 1., 2.])
    """
    return np.diff(starts, append=n).astype(float)
