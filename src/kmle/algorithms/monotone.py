"""Maxima of rows of a totally monotone matrix, by divide and conquer (Aggarwal et al., 1987, give an O(n) method)."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array

Indices = NDArray[np.intp]


def monotone_maxima(
    previous: Array, value: Callable[[Indices, Indices], Array], reach: Indices, floor: Indices | None = None
) -> tuple[Array, Indices]:
    """max_i previous[i] + value(i, j) over i = floor[j]..reach[j] and the lowest best i, when that i grows with j.

    `reach` grows with j and is never negative. All intervals of one depth are computed at once.

    >>> monotone_maxima(np.zeros(3), lambda i, j: -((i - j) ** 2.0), np.array([0, 1, 1]))
    (array([ 0.,  0., -1.]), array([0, 1, 1]))
    """
    n = len(reach)
    best, argument = np.full(n, -np.inf), np.zeros(n, dtype=np.intp)
    lowest = np.zeros(n, dtype=np.intp) if floor is None else floor
    low_j, high_j = np.array([0]), np.array([n - 1])
    low_i, high_i = np.array([0]), np.array([len(previous) - 1])
    while len(low_j):
        middle = (low_j + high_j) // 2
        start = np.minimum(np.maximum(low_i, lowest[middle]), reach[middle])
        stop = np.maximum(np.minimum(high_i, reach[middle]), start)
        sizes = stop - start + 1
        offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        i = np.arange(sizes.sum()) + np.repeat(start - offsets, sizes)
        values = previous[i] + value(i, np.repeat(middle, sizes))
        top = np.maximum.reduceat(values, offsets)
        hits = np.flatnonzero(values == np.repeat(top, sizes))
        chosen = i[hits[np.searchsorted(hits, offsets)]]
        best[middle], argument[middle] = top, chosen
        left, right = low_j < middle, middle < high_j
        low_j, high_j, low_i, high_i = (
            np.concatenate([low_j[left], middle[right] + 1]),
            np.concatenate([middle[left] - 1, high_j[right]]),
            np.concatenate([low_i[left], chosen[right]]),
            np.concatenate([chosen[left], high_i[right]]),
        )
    return best, argument
