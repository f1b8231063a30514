"""Uniform samples of a stream of unknown length, by skips: Li's Algorithm L, a whole batch of skips at a time."""

import numpy as np
from numpy.typing import NDArray

# Skips drawn at once. The draws that a sample takes depend on the length of the stream alone, not on its chunks.
BATCH = 4096
# No stream has this many rows, and sums of such skips do not overflow.
PAST_ANY_END = 2.0**50


def reservoir_places(n: int, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Places of `size` of n rows (of all, if there are no more), drawn at random without replacement, in order.

    >>> reservoir_places(4, 10, np.random.default_rng(0)).tolist()
    [0, 1, 2, 3]
    >>> reservoir_places(1000, 3, np.random.default_rng(0)).tolist() == sorted(
    ...     reservoir_places(1000, 3, np.random.default_rng(0)).tolist())
    True
    """
    held = np.arange(min(n, size))
    last, log_threshold = size - 1, 0.0
    while last < n:
        # The threshold shrinks by a power of a uniform number at every replacement; the rows skipped before the next
        # one are geometric in it.
        thresholds = log_threshold + np.cumsum(np.log1p(-rng.random(BATCH))) / size
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            skips = np.floor(np.log1p(-rng.random(BATCH)) / np.log1p(-np.exp(thresholds)))
        slots = rng.integers(size, size=BATCH)
        places = last + np.cumsum(np.fmin(skips, PAST_ANY_END).astype(np.int64) + 1)
        inside = places < n
        # Later replacements of a slot win, as they do one after the other.
        held[slots[inside]] = places[inside]
        last, log_threshold = int(places[-1]), float(thresholds[-1])
    return np.sort(held).astype(np.intp)
