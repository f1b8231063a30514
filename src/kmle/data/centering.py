"""Where rows are measured from, and whether single precision then holds them without rounding.

The same numbers give the same fit in float32 and in float64: whatever single precision holds is treated alike, and
nothing that it would round is packed in it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels import shared_summaries, summarize_columns
from ..families import ExponentialFamily
from ..numerics.arrays import Array

# Rows are examined in blocks of about this many bytes.
BLOCK_BYTES = 4 << 20
# So many rows tell where most of them are, about.
SAMPLED_ROWS = 1024
# Zero is no center for columns most of whose values are further away than this many times their own spread.
FAR = 1000.0


def all_single(blocks: Iterable[Array]) -> bool:
    """Whether single precision holds all values of these blocks; usually the first one tells.

    >>> all_single([np.array([0.5, 3.0])]), all_single([np.array([0.1])])
    (True, False)
    """
    with np.errstate(over="ignore", under="ignore"):
        return all(block.dtype == np.float32 or np.array_equal(block.astype(np.float32), block) for block in blocks)


def blocks_of(X: Array) -> Iterator[Array]:
    """The rows of X, some at a time."""
    step = max(1, BLOCK_BYTES // (8 * X.shape[1]))
    return (X[start : start + step] for start in range(0, len(X), step))


@dataclass(frozen=True)
class Extent:
    """How far the columns (d,) of some rows reach, and where most of the rows are."""

    lowest: Array
    highest: Array
    middle: Array
    spread: Array

    @staticmethod
    def of(X: Array) -> "Extent":
        """That of rows in memory; the middle and the spread (between quartiles) are those of a sample."""
        summary = summarize_columns(X)
        sample = X[np.linspace(0, len(X) - 1, min(len(X), SAMPLED_ROWS)).astype(np.intp)].astype(float)
        first, middle, third = np.quantile(sample, [0.25, 0.5, 0.75], axis=0)
        return Extent(summary.lowest, summary.highest, np.abs(middle), third - first)

    def __add__(self, other: "Extent") -> "Extent":
        return Extent(
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            np.maximum(self.middle, other.middle),
            np.minimum(self.spread, other.spread),
        )


def center_of(family: ExponentialFamily, X: Array, weights: Array | None) -> Array | None:
    """Where rows are measured from: the family's choice, or one close by that needs no rounding."""
    if not all_single(blocks_of(X)):
        return family.data_center(X, weights)
    center, total, first = None, 0.0, 0
    for block in blocks_of(X):
        own = None if weights is None else weights[first : first + len(block)]
        weight = float(len(block) if own is None else own.sum())
        with shared_summaries(1):  # which forgets the block
            added = family.data_center(block.astype(float, copy=False), own) if weight > 0 else None
        center, total, first = merged_centers(center, total, added, weight), total + weight, first + len(block)
    return None if center is None else exact_center(family, center, Extent.of(X))


def merged_centers(one: Array | None, weight: float, other: Array | None, added: float) -> Array | None:
    """The middle of both; what they agree on exactly stays so, that nothing is left of a constant column."""
    if one is None or other is None:
        return one if other is None else other
    return np.where(one == other, one, one + added / (weight + added) * (other - one))


def exact_center(family: ExponentialFamily, center: Array, extent: Extent) -> Array:
    """A center from which values that single precision holds are seen without rounding, where a shift is all there is.

    Where columns reach too far for one close to the given center it is zero, unless most rows are far from that.

    >>> from kmle.families import Gaussian
    >>> X = np.array([[6.0, -3.0], [14.0, 4.0]])
    >>> exact_center(Gaussian(n_features=2), np.array([10.1, 0.1]), Extent.of(X))
    array([10.10000038,  0.        ])
    """
    if family.kernel_shift(center) is None:
        return center
    near = center.astype(np.float32).astype(float)
    otherwise = np.where(extent.middle <= FAR * extent.spread, 0.0, center)
    return np.where(_differences_exact(near, extent.lowest, extent.highest), near, otherwise)


def centered_exactly(center: Array, lowest: Array, highest: Array) -> bool:
    """Whether all values in these ranges that single precision holds are so, too, when centered (d,)."""
    held = center.astype(np.float32) == center
    return bool((held & _differences_exact(center, lowest, highest)).all())


def _differences_exact(center: Array, lowest: Array, highest: Array) -> NDArray[np.bool_]:
    """Differences of floats within a factor of two of each other are floats (Sterbenz, 1974), as are those to zero."""
    above = (lowest > 0) & (center <= 2 * lowest) & (highest <= 2 * center)
    below = (highest < 0) & (center >= 2 * highest) & (lowest >= 2 * center)
    return above | below | (center == 0) | ((lowest == center) & (highest == center))
