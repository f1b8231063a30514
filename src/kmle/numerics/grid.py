"""The grid that values were rounded to: found exactly where it is decimal, else as an approximate common divisor."""

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

# Decimals are tried from steps of a million down to these.
COARSEST, FINEST = -6, 12
# What values are multiplied by and divided by for each of them: one of the two is one, so there is one rounding.
MULTIPLIERS = np.array([[10.0 ** max(decimals, 0)] for decimals in range(COARSEST, FINEST + 1)])
DIVISORS = np.array([[10.0 ** max(-decimals, 0)] for decimals in range(COARSEST, FINEST + 1)])
# A decimal is stored to half a unit of rounding; computing with it adds as much again and more.
DECIMAL_UNITS, GRID_UNITS = 2, 1000
# Where rounding could hide more than this share of a step, values cannot tell whether they are on the grid.
HIDDEN = 0.1
# Euclid's algorithm more than halves a remainder at each step.
EUCLID_STEPS = 60
# Fewer distinct values may have a common divisor by chance: only decimals are believed of them.
ENOUGH = 8
# A grid is given up once this many values are not on it.
FEW = 64


def grid_step(values: Array) -> float:
    """The step of the coarsest grid, wherever it begins, that holds all values (n,); zero where there is none.

    >>> grid_step(np.array([0.3, 0.1, 1.2])), grid_step(10.0 * np.arange(9) + 5)
    (0.1, 10.0)
    >>> grid_step(np.array([1.0, np.pi, np.e]))
    0.0
    """
    epsilon = float(np.finfo(values.dtype).eps)
    if len(values) > FEW and _step(values[:: len(values) // FEW].astype(float), epsilon) == 0:
        return 0.0
    return _step(values.astype(float), epsilon)


def _step(values: Array, epsilon: float) -> float:
    if values.min() == values.max():
        return 0.0
    step = _decimal_step(values, epsilon)
    if step > 0:
        return step
    distinct = np.unique(values)
    return _common_divisor(distinct, epsilon) if len(distinct) >= ENOUGH else 0.0


def _decimal_step(values: Array, epsilon: float) -> float:
    largest = float(np.abs(values).max())
    # A few values rule out most decimals.
    scaled_some = values[:FEW] * MULTIPLIERS / DIVISORS
    possible = _whole(scaled_some, epsilon).all(axis=1)
    for decimals in np.flatnonzero(possible).tolist():
        decimals += COARSEST
        if largest * 10.0**decimals * DECIMAL_UNITS * epsilon > HIDDEN:
            break
        scaled = _scaled(values, decimals)
        if _whole(scaled, epsilon).all():
            whole = np.unique(np.rint(scaled).astype(np.int64))
            divisor = float(np.gcd.reduce(np.diff(whole))) if len(whole) >= ENOUGH else 1.0
            return float(_scaled(divisor, -decimals))
    return 0.0


def _scaled(values: Array | float, decimals: int) -> Array:
    """Values times a power of ten, each with one rounding: negative powers have no exact float."""
    return np.asarray(values * 10.0**decimals if decimals >= 0 else values / 10.0**-decimals)


def _whole(scaled: Array, epsilon: float) -> NDArray[np.bool_]:
    """Which values are whole, up to rounding."""
    return np.asarray(np.abs(scaled - np.rint(scaled)) <= DECIMAL_UNITS * epsilon * np.abs(scaled))


def _common_divisor(distinct: Array, epsilon: float) -> float:
    """Of the differences of sorted values, by Euclid's algorithm; remainders that rounding explains are zero."""
    differences = np.diff(distinct)
    off = GRID_UNITS * epsilon * float(np.abs(distinct).max())
    step = float(differences.min())
    for _ in range(EUCLID_STEPS):
        multiples = np.rint(differences / step)
        hidden = off * (1 + multiples)
        if hidden.max() > HIDDEN * step:
            return 0.0
        remainders = np.abs(differences - multiples * step)
        if np.all(remainders <= hidden):
            return float(differences @ multiples / (multiples @ multiples))
        step = float(remainders[remainders > hidden].min())
    return 0.0
