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
    step: float | Array = 0.25,
    precision: float = 1e-7,
    most: int = MOST_SECTIONS,
) -> Array:
    """Where functions (k,) of one variable each have a maximum between two bounds, searched from `start` (k,) on.

    `function(x)` has the value of function j at x_j. The bracket around the start is widened until both of its ends are
    lower; Brent's method follows, for `most` points. A function with several maxima gets one of them, which is no lower
    than the start.

    >>> maximize(lambda x: -(x - np.array([1.0, 3.0])) ** 2, np.zeros(2), -10.0, 2.0).round(5)
    array([1., 2.])
    """
    middle = np.clip(start, low, high)
    left, right = np.maximum(middle - step, low), np.minimum(middle + step, high)
    value, at_left, at_right = function(middle), function(left), function(right)
    reach = np.asarray(step, dtype=float)
    for _ in range(MOST_WIDENINGS):
        go_left = (at_left > value) & (at_left >= at_right) & (left > low)
        go_right = (at_right > value) & ~go_left & (right < high)
        if not (go_left | go_right).any():
            break
        reach = 2 * reach
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
    return _refined(function, left, right, middle, value, precision, most)


def _refined(
    function: Callable[[Array], Array],
    left: Array,
    right: Array,
    middle: Array,
    value: Array,
    precision: float,
    most: int,
) -> Array:
    """Brent's method (1973) between brackets; the best point seen is returned, ends included.

    Points are where a parabola through the three best ones has its top, or, where that is no progress, sections.
    """
    tolerance = 0.5 * precision
    best, second, third = middle, middle, middle
    at_best, at_second, at_third = value, value, value
    step = before = np.zeros(middle.shape)
    for _ in range(most):
        center = 0.5 * (left + right)
        if (np.abs(best - center) <= 2 * tolerance - 0.5 * (right - left)).all():
            break
        top, slope = _parabola(best, second, third, at_best, at_second, at_third)
        good = (np.abs(before) > tolerance) & (np.abs(top) < np.abs(0.5 * slope * before))
        good &= (top > slope * (left - best)) & (top < slope * (right - best))
        larger = np.where(best < center, right - best, left - best)
        with np.errstate(all="ignore"):
            before, step = np.where(good, step, larger), np.where(good, top / slope, (1 - GOLDEN) * larger)
        close = (best + step - left < 2 * tolerance) | (right - best - step < 2 * tolerance)
        step = np.where(good & close, np.copysign(tolerance, center - best), step)
        point = best + np.where(np.abs(step) >= tolerance, step, np.copysign(tolerance, step))
        there = function(point)
        better, beyond = there >= at_best, point >= best
        left = np.where(better & beyond, best, np.where(~better & ~beyond, point, left))
        right = np.where(better & ~beyond, best, np.where(~better & beyond, point, right))
        runner = ~better & ((there >= at_second) | (second == best))
        last = ~better & ~runner & ((there >= at_third) | (third == best) | (third == second))
        moved = better | runner
        third, at_third = np.where(moved, second, third), np.where(moved, at_second, at_third)
        third, at_third = np.where(last, point, third), np.where(last, there, at_third)
        second = np.where(better, best, np.where(runner, point, second))
        at_second = np.where(better, at_best, np.where(runner, there, at_second))
        best, at_best = np.where(better, point, best), np.where(better, there, at_best)
    for end in (left, right):
        there = function(end)
        better = there > at_best
        best, at_best = np.where(better, end, best), np.where(better, there, at_best)
    return best


def _parabola(
    best: Array, second: Array, third: Array, at_best: Array, at_second: Array, at_third: Array
) -> tuple[Array, Array]:
    """How far the top of the parabola through three points is from the best one, as numerator and denominator."""
    with np.errstate(all="ignore"):
        one, two = (best - second) * (at_third - at_best), (best - third) * (at_second - at_best)
        top, slope = (best - third) * two - (best - second) * one, 2 * (two - one)
    return np.where(slope > 0, -top, top), np.abs(slope)


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
