"""A finite stand-in for the log-density of a row outside a support.

Zero times minus infinity is not a number in a product of statistics and parameters, so packed rows hold this instead.
"""

import numpy as np

from ..numerics.arrays import Array

# A power of two, which single precision holds exactly: no likelihood of real data reaches it.
OUTSIDE = -(2.0**100)


def without_outside(size: Array) -> Array:
    """Sizes of statistics, with zero where they are those of the stand-in: its rounding does not matter."""
    return np.where(size == -OUTSIDE, 0.0, size)


def as_infinite(log_density: Array) -> Array:
    """Log-densities with minus infinity where they hold the stand-in."""
    return np.where(log_density <= 0.5 * OUTSIDE, -np.inf, log_density)
