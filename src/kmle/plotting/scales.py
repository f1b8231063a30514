"""Which columns are drawn over their logarithm."""

import numpy as np

from ..families.support import Integers, Interval, Support
from ..numerics.arrays import Array
from .bins import view

# Where the largest hundredth lies this far above the smallest quarter, values span decades.
DECADES_FROM = 25.0
# Where three quarters of the values take up less than this part of the axis, the rest presses them together.
PRESSED = 0.12


def bounds(support: Support) -> tuple[float, float]:
    """The least and the largest number of a column; matrices of one row are positive numbers."""
    if isinstance(support, Integers):
        return float(support.lower), float(np.max(support.upper))
    return (support.lower, support.upper) if isinstance(support, Interval) else (0.0, np.inf)


def is_logarithmic(values: Array, support: Support) -> bool:
    """Whether a column of positive numbers is so spread, or its tail so heavy, that only its logarithm can be read."""
    lower, upper = bounds(support)
    if isinstance(support, Integers) or lower < 0 or np.isfinite(upper):
        return False
    quarter, most, largest = np.quantile(values, [0.25, 0.75, 0.99])
    if quarter <= 0:
        return False
    low, high = view(values)
    return bool(largest > DECADES_FROM * quarter or most - low < PRESSED * (high - low))


def log_view(values: Array) -> tuple[float, float]:
    """The decimal logarithms of the smallest and the largest value to be seen; values that are not positive are not."""
    return view(np.log10(values[values > 0]))
