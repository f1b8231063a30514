"""Where rows are measured from, and whether single precision then holds them without rounding.

The same numbers give the same fit in float32 and in float64: whatever single precision holds is treated alike, and
nothing that it would round is packed in it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary, has_missing, summarize_columns
from ..families import ExponentialFamily
from ..numerics.arrays import Array

# Rows are examined in blocks of about this many bytes.
BLOCK_BYTES = 4 << 20
# This many rows show roughly where most rows are.
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
    def of(X: Array, summary: ColumnSummary) -> "Extent":
        """That of rows in memory; the middle and the spread (between quartiles) are those of a sample."""
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


def center_of(
    family: ExponentialFamily, X: Array, weights: Array | None, summary: ColumnSummary | None = None
) -> Array | None:
    """Where rows are measured from: the family's choice, or one close by that needs no rounding."""
    if has_missing(X) if summary is None else summary.missing:
        return data_center(family, X, weights)
    if not all_single(blocks_of(X)):
        return family.data_center(X, weights, summary)
    center, total, first = None, 0.0, 0
    for block in blocks_of(X):
        own = None if weights is None else weights[first : first + len(block)]
        weight = float(len(block) if own is None else own.sum())
        added = family.data_center(block.astype(float, copy=False), own) if weight > 0 else None
        center, total, first = merged_centers(center, total, added, weight), total + weight, first + len(block)
    if center is None:
        return None
    return exact_center(family, center, Extent.of(X, summarize_columns(X) if summary is None else summary))


def data_center(
    family: ExponentialFamily, X: Array, weights: Array | None, summary: ColumnSummary | None = None
) -> Array | None:
    """The family's choice of a center (d,) for rows that may have missing entries; None if it has none.

    That of each column follows from the entries it has; of a constant column it is exactly the constant.
    """
    if not (has_missing(X) if summary is None else summary.missing):
        return family.data_center(X, weights, summary)
    center, totals = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    first = 0
    for block in blocks_of(X):
        own = None if weights is None else weights[first : first + len(block)]
        found = _center_of_entries(family, block.astype(float, copy=False), own)
        if found is None:
            return None
        middle, added = found
        merged = merged_centers(center, totals, middle, np.maximum(added, 1e-300))
        assert merged is not None  # both are there
        center = np.where(totals > 0, merged, middle)
        totals, first = totals + added, first + len(block)
    return center


def _center_of_entries(family: ExponentialFamily, X: Array, weights: Array | None) -> tuple[Array, Array] | None:
    """The family's center of the entries of each column (d,), and what they weigh."""
    seen, shares = ~np.isnan(X), np.ones(len(X)) if weights is None else weights
    totals = shares @ seen
    first = X[np.argmax(seen, axis=0), np.arange(X.shape[1])]
    first = np.where(np.isnan(first), family.support.example(X.shape[1]), first)
    middle, at_first = family.data_center(np.where(seen, X, first), weights), family.data_center(first[None])
    if middle is None or at_first is None:
        return None
    # Missing entries stand at the first value of their column; what they add to the mean is taken off again.
    return middle + (shares.sum() - totals) / np.maximum(totals, 1e-300) * (middle - at_first), totals


def merged_centers(one: Array | None, weight: Array | float, other: Array | None, added: Array | float) -> Array | None:
    """The middle of both; what they agree on exactly stays so, that nothing is left of a constant column."""
    if one is None or other is None:
        return one if other is None else other
    return np.where(one == other, one, one + added / (weight + added) * (other - one))


def exact_center(family: ExponentialFamily, center: Array, extent: Extent) -> Array:
    """A center from which values that single precision holds are seen without rounding, where a shift is all there is.

    Where columns reach too far for one close to the given center it is zero, unless most rows are far from that.

    >>> from kmle.families import Gaussian
    >>> X = np.array([[6.0, -3.0], [14.0, 4.0]])
    >>> exact_center(Gaussian(n_features=2), np.array([10.1, 0.1]), Extent.of(X, summarize_columns(X)))
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
