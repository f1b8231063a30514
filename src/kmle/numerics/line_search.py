"""Maxima and roots of many functions of one variable at once."""

from collections.abc import Callable

import numpy as np

from .arrays import Array

# The larger part of an interval that golden section search keeps.
GOLDEN = 0.5 * (np.sqrt(5.0) - 1)
# Limits on the evaluations of bracketing and searching.
MOST_WIDENINGS, MOST_SECTIONS, MOST_STEPS = 60, 60, 60


def maximize(
    function: Callable[[Array], Array],
    start: Array,
    low: float,
    high: float,
    step: float = 0.25,
    precision: float = 1e-7,
) -> Array:
    """Where functions (k,) of one variable each have a maximum between two bounds, searched from `start` (k,) on.

    `function(x)` has the value of function j at x_j. The bracket around the start is widened until both of its ends are
    lower; golden section search follows. A function with several maxima gets one of them.

    >>> maximize(lambda x: -(x - np.array([1.0, 3.0])) ** 2, np.zeros(2), -10.0, 2.0).round(5)
    array([1., 2.])
    """
    middle = np.clip(start, low, high)
    left, right = np.maximum(middle - step, low), np.minimum(middle + step, high)
    value, at_left, at_right = function(middle), function(left), function(right)
    reach = step
    for _ in range(MOST_WIDENINGS):
        go_left = (at_left > value) & (at_left >= at_right) & (left > low)
        go_right = (at_right > value) & ~go_left & (right < high)
        if not (go_left | go_right).any():
            break
        reach *= 2
        new_left = np.where(go_left, np.maximum(left - reach, low), np.where(go_right, middle, left))
        new_right = np.where(go_right, np.minimum(right + reach, high), np.where(go_left, middle, right))
        new_middle = np.where(go_left, left, np.where(go_right, right, middle))
        new_value = np.where(go_left, at_left, np.where(go_right, at_right, value))
        beyond = function(np.where(go_left, new_left, new_right))
        at_left, at_right = (
            np.where(go_left, beyond, np.where(go_right, value, at_left)),
            np.where(go_right, beyond, np.where(go_left, value, at_right)),
        )
        left, right, middle, value = new_left, new_right, new_middle, new_value
    return _sections(function, left, right, middle, value, precision)


def _sections(
    function: Callable[[Array], Array], left: Array, right: Array, middle: Array, value: Array, precision: float
) -> Array:
    """Golden section search between brackets; the best point seen is returned, ends included."""
    best, best_value = middle, value
    one, two = right - GOLDEN * (right - left), left + GOLDEN * (right - left)
    at_one, at_two = function(one), function(two)
    for _ in range(MOST_SECTIONS):
        for point, there in ((one, at_one), (two, at_two)):
            better = there > best_value
            best, best_value = np.where(better, point, best), np.where(better, there, best_value)
        if (right - left <= precision).all():
            break
        lower = at_one >= at_two
        left, right = np.where(lower, left, one), np.where(lower, two, right)
        fresh = np.where(lower, right - GOLDEN * (right - left), left + GOLDEN * (right - left))
        found = function(fresh)
        one, two = np.where(lower, fresh, two), np.where(lower, one, fresh)
        at_one, at_two = np.where(lower, found, at_two), np.where(lower, at_one, found)
    for end in (left, right):
        there = function(end)
        better = there > best_value
        best, best_value = np.where(better, end, best), np.where(better, there, best_value)
    return best


def increasing_root(
    function: Callable[[Array], tuple[Array, Array]], start: Array, low: float, high: float, precision: float = 1e-12
) -> Array:
    """The roots of increasing functions (k,), by Newton's method kept between bounds that close in.

    `function(x)` has values and derivatives. Where a function has no root between the bounds, the end it is closer to.

    >>> increasing_root(lambda x: (x**3 - 8, 3 * x**2), np.ones(1), 0.0, 10.0).round(10)
    array([2.])
    """
    x = np.clip(start, low, high)
    lower, upper = np.full(x.shape, float(low)), np.full(x.shape, float(high))
    for _ in range(MOST_STEPS):
        value, slope = function(x)
        lower, upper = np.where(value < 0, x, lower), np.where(value > 0, x, upper)
        with np.errstate(all="ignore"):
            proposed = x - value / slope
        inside = (proposed > lower) & (proposed < upper)
        # Outside, a step towards the end: half of the way, or out to the bound where that is far.
        following = np.where(inside, proposed, 0.5 * (lower + upper))
        following = np.where(value == 0, x, following)
        done = np.abs(following - x) <= precision * np.maximum(1.0, np.abs(x))
        x = following
        if done.all():
            break
    return x
