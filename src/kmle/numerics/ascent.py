"""Newton's method by differences, for functions of a few variables that are costly to differentiate."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

# Differences of coordinates, the longest step, and how often a step that does not gain is shortened.
DIFFERENCE, LONGEST, SHORTENED = 1e-4, 1.0, 12
# A gain of less than this share of the value is none.
NO_GAIN = 1e-13


def ascend(function: Callable[[Array], Array], point: Array, places: NDArray[np.intp], most: int) -> Array:
    """Points (k, D) after up to `most` steps in the coordinates at `places`, none of which lowers a value (k,).

    Value j depends on row j of the point alone. Values of minus infinity are out of bounds.

    >>> ascend(lambda x: -((x - 2.0) ** 2).sum(axis=1), np.zeros((1, 2)), np.array([1]), 9).round(6)
    array([[0., 2.]])
    """
    value = function(point)
    for _ in range(most):
        step = _step(function, point, value, places)
        for _ in range(SHORTENED):
            moved = point + step
            there = function(moved)
            worse = ~(there >= value)
            if not worse.any():
                break
            step[worse] *= 0.25
        better = there > value
        gain = np.subtract(there, value, out=np.zeros_like(value), where=better)
        point, value = np.where(better[:, None], moved, point), np.where(better, there, value)
        if (gain <= NO_GAIN * np.abs(value)).all():
            break
    return point


def _step(function: Callable[[Array], Array], point: Array, value: Array, places: NDArray[np.intp]) -> Array:
    """Steps (k, D) to the maximum of a quadratic through differences; along the gradient where it has none."""
    p = len(places)
    shift = np.zeros((p, point.shape[1]))
    shift[np.arange(p), places] = DIFFERENCE
    up, down = (np.array([function(point + sign * one) for one in shift]).T for sign in (1, -1))
    with np.errstate(invalid="ignore"):
        gradient = (up - down) / (2 * DIFFERENCE)
        bend = np.empty((len(point), p, p))
        for i in range(p):
            bend[:, i, i] = up[:, i] - 2 * value + down[:, i]
            for j in range(i):
                both = function(point + shift[i] + shift[j]) + function(point - shift[i] - shift[j])
                bend[:, i, j] = bend[:, j, i] = 0.5 * (both - up[:, i] - down[:, i] - up[:, j] - down[:, j] + 2 * value)
    known = np.isfinite(gradient).all(axis=1) & np.isfinite(bend).all(axis=(1, 2))
    gradient, bend = np.where(known[:, None], gradient, 0.0), np.where(known[:, None, None], -bend, np.eye(p))
    values, vectors = np.linalg.eigh(bend / DIFFERENCE**2)
    # Directions in which the function bends upwards are taken as bending down as much.
    scaled = np.einsum("kij,ki->kj", vectors, gradient) / np.maximum(
        np.abs(values), 1e-12 * (1 + np.abs(value))[:, None]
    )
    way = np.einsum("kij,kj->ki", vectors, scaled)
    way *= np.minimum(1.0, LONGEST / np.maximum(np.abs(way).max(axis=1, keepdims=True), 1e-300))
    step = np.zeros(point.shape)
    step[:, places] = way
    return step
