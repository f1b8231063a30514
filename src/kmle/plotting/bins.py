"""Bins that show a mixture: narrow enough for its components, aligned with rounded data and with the support."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array

MOST_BINS, FEWEST_BINS = 100, 8
# Of n rows at most this many times the square root of n bins: few rows in many bins are a comb.
BINS_PER_ROOT = 3.0
# Rows examined to settle the width; all rows are counted.
SAMPLED_ROWS = 20_000


@dataclass(frozen=True)
class Bins:
    """Equal bins from `start`, `count` of them."""

    start: float
    width: float
    count: int

    @property
    def edges(self) -> Array:
        """count + 1 edges."""
        return self.start + self.width * np.arange(self.count + 1)

    @property
    def stop(self) -> float:
        """The last edge."""
        return self.start + self.width * self.count

    def fractions(self, values: Array) -> Array:
        """The share of the values that lies in each bin; values outside are counted in none."""
        counts, _ = np.histogram(values, self.count, (self.start, self.stop))
        return counts / len(values)


def continuous_bins(values: Array, labels: NDArray[np.intp], lower: float, upper: float, most: int = MOST_BINS) -> Bins:
    """Bins for values (a sample) with these labels, inside the support from `lower` to `upper`.

    >>> continuous_bins(np.linspace(0.01, 0.99, 500), np.zeros(500, dtype=int), 0.0, 1.0).count
    8
    """
    low, high = view(values)
    width = _width(values, labels, high - low, min(most, BINS_PER_ROOT * np.sqrt(len(values))))
    step = _resolution(values)
    if step is not None and width < 12 * step:
        # Rounded data: each bin holds the same number of possible values, which stand at its middle.
        width = step * max(1, round(width / step))
        start = low - 0.5 * step
        start = start if start > lower else lower
        return Bins(start, width, _count(high + 0.25 * step - start, width))
    if np.isfinite(lower) and np.isfinite(upper):
        width = (upper - lower) / max(1, round((upper - lower) / width))
    origin = lower if np.isfinite(lower) else 0.0
    start = origin + width * np.floor((low - origin) / width)
    return Bins(start, width, _count(high - start, width))


def integer_bins(values: Array, most: int = MOST_BINS) -> Bins:
    """Bins of one whole number each or, where there would be too many, of several."""
    low, high = view(values)
    low, high = np.floor(low), np.ceil(high)
    width = max(1, int(np.ceil((high - low + 1) / most)))
    return Bins(low - 0.5, float(width), _count(high + 0.5 - (low - 0.5), width))


def view(values: Array) -> tuple[float, float]:
    """From the smallest to the largest value, without far outliers at either end."""
    low, first, last, high = np.quantile(values, [0, 0.005, 0.995, 1])
    reach = 1.5 * (last - first)
    return float(max(low, first - reach) if reach > 0 else low), float(min(high, last + reach) if reach > 0 else high)


def _count(length: float, width: float) -> int:
    return max(1, int(np.ceil(length / width - 1e-9)))


def _width(values: Array, labels: NDArray[np.intp], length: float, most: float) -> float:
    """By the rule of Freedman and Diaconis in the components that hold a fair share of the rows; the narrowest wins."""
    if length == 0:
        return abs(float(values[0])) or 1.0
    widths = [length / FEWEST_BINS]
    counts = np.bincount(labels)
    for label in np.flatnonzero(counts >= max(5, 0.5 * counts.mean())):
        own = values[labels == label]
        spread = float(np.subtract(*np.quantile(own, [0.75, 0.25])))
        if spread > 0:
            widths.append(2 * spread / len(own) ** (1 / 3))
    return max(min(widths), length / most)


def _resolution(values: Array) -> float | None:
    """The step all values are multiples of, if they were rounded; None otherwise."""
    distinct = np.unique(values)
    if len(distinct) < 2 or len(distinct) > 0.6 * len(values):
        return None
    gaps = np.diff(distinct)
    step = float(gaps[gaps > 1e-9 * (distinct[-1] - distinct[0])].min())
    multiples = gaps / step
    return step if np.abs(multiples - np.round(multiples)).max() < 0.02 else None
