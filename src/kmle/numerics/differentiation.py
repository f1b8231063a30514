"""Derivatives of log-normalizers by central differences of order eight: about twelve digits without any formula."""

from collections.abc import Callable

import numpy as np

from .arrays import Array

_OFFSETS = np.array([1, 2, 3, 4, -1, -2, -3, -4.0])
_WEIGHTS = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280, -4 / 5, 1 / 5, -4 / 105, 1 / 280])
# Truncation grows with the eighth power of this fraction of the natural length scale, rounding with its inverse.
FRACTION = 0.01
# Second differences over one step and over four may differ by this fraction.
_STEADY = 0.01


def natural_steps(function: Callable[[Array], Array], point: Array) -> Array:
    """A step for each coordinate: a small fraction of 1/sqrt(F''), the distance over which F bends.

    The steps stay where `function` is finite, so they never leave the natural parameter space, and where F'' changes
    little: far out in a tail (a Poisson rate near zero, say) that is a shorter way than 1/sqrt(F'').
    """
    size = np.maximum(np.abs(point), 1.0)
    value = function(point)
    step = 1e-3 * size
    with np.errstate(all="ignore"):
        for _ in range(14):
            curvature = _bend(function, point, value, step) / step**2
            length = 1 / np.sqrt(np.maximum(curvature, 1e-300))
            # A trial step longer than the natural length would misjudge the curvature itself.
            bad = ~np.isfinite(curvature) | (step > 0.1 * length)
            if not bad.any():
                break
            step = np.where(bad, step / 8, step)
        step = FRACTION * np.minimum(length, 100 * size)
        for _ in range(40):
            near, far = (_bend(function, point, value, factor * step) / factor**2 for factor in (1, 4))
            # Where the two differ only by rounding, a shorter step would make it worse.
            rounding = 16 * np.finfo(float).eps * np.abs(value)[..., None]
            bad = ~np.isfinite(near + far) | (np.abs(far - near) > _STEADY * np.abs(near) + rounding)
            if not bad.any():
                break
            step = np.where(bad, step / 2, step)
    return step


def _bend(function: Callable[[Array], Array], point: Array, value: Array, step: Array) -> Array:
    """Second differences of `function` along every coordinate."""
    return _shifted(function, point, step) - 2 * value[..., None] + _shifted(function, point, -step)


def _shifted(function: Callable[[Array], Array], point: Array, step: Array) -> Array:
    """function(point + step_i e_i) for every coordinate i, stacked last."""
    moved = point[..., None, :] + step[..., None] * np.eye(point.shape[-1])
    return function(moved)


def gradient(function: Callable[[Array], Array], point: Array, steps: Array | None = None) -> Array:
    """Gradient (..., D) of a scalar function at points (..., D)."""
    steps = natural_steps(function, point) if steps is None else steps
    values = function(_stencil(point, steps))
    return np.asarray((values * _WEIGHTS).sum(axis=-1) / steps)


def jacobian(function: Callable[[Array], Array], point: Array, steps: Array) -> Array:
    """Derivatives (..., i, j) of output j with respect to coordinate i, for a vector function at (..., D)."""
    values = function(_stencil(point, steps))
    return np.asarray((values * _WEIGHTS[:, None]).sum(axis=-2) / steps[..., None])


def hessian(function: Callable[[Array], Array], point: Array, steps: Array) -> Array:
    """Second derivatives (..., D, D) of a scalar function at points (..., D), to about four digits."""
    first, second = np.triu_indices(point.shape[-1])
    shifts = np.eye(point.shape[-1]) * steps[..., None]
    sums, differences = shifts[..., first, :] + shifts[..., second, :], shifts[..., first, :] - shifts[..., second, :]
    moved = point[..., None, None, :] + np.stack([sums, differences, -sums, -differences], axis=-2)
    mixed = function(moved) @ np.array([1.0, -1.0, 1.0, -1.0]) / (4 * steps[..., first] * steps[..., second])
    values = np.empty((*point.shape, point.shape[-1]))
    values[..., first, second] = values[..., second, first] = mixed
    return values


def slopes(function: Callable[[Array], Array], point: Array, steps: Array) -> Array:
    """Derivatives (..., i, j) as `jacobian` finds them, by two values for each coordinate: to about four digits."""
    shifts = np.eye(point.shape[-1]) * steps[..., None]
    upper, lower = (function(point[..., None, :] + shift) for shift in (shifts, -shifts))
    return np.asarray((upper - lower) / (2 * steps[..., None]))


def _stencil(point: Array, steps: Array) -> Array:
    shifts = _OFFSETS[:, None] * np.eye(point.shape[-1])[:, None, :] * steps[..., :, None, None]
    return np.asarray(point[..., None, None, :] + shifts)
