"""Inverting grad F from F alone: a damped Newton ascent on <theta, eta> - F(theta), for families without a formula."""

from collections.abc import Callable
from functools import partial

import numpy as np

from .arrays import Array
from .differentiation import gradient, jacobian, natural_steps

MAX_STEPS = 200
ACCURACY = 1e-11  # in Fisher norm: the distance to the answer in units of its standard deviation
ACCEPTABLE = 1e-6


def invert_gradient(log_normalizer: Callable[[Array], Array], moment: Array, start: Array) -> Array:
    """The natural parameters (k, D) whose mean of t is `moment` (k, D), from a legal `start` (D,).

    Raises ValueError, naming the component, where no such parameter is found: the moment is then on or outside the
    boundary of the moment space.
    """
    moment = np.asarray(moment, dtype=float)
    natural = np.broadcast_to(start, moment.shape).astype(float)
    distance = np.full(moment.shape[0], np.inf)
    for _ in range(MAX_STEPS):
        steps = natural_steps(log_normalizer, natural)
        score = moment - gradient(log_normalizer, natural, steps)
        information = jacobian(partial(_gradient_nearby, log_normalizer, steps), natural, steps)
        direction = np.linalg.solve(_made_definite(information), score[..., None])[..., 0]
        distance = np.sqrt(np.maximum((direction * score).sum(axis=-1), 0.0))
        if np.all(distance <= ACCURACY):
            break
        # Newton's step is trusted up to a Fisher length of one half; F is nearly quadratic over that distance.
        damping = np.minimum(1.0, 0.5 / np.maximum(distance, 1e-300))[..., None]
        following = _backtracked(log_normalizer, natural, damping * direction, moment)
        if np.array_equal(following, natural):
            break
        natural = following
    lost = ~(distance <= ACCEPTABLE)
    if lost.any():
        component = int(np.argmax(lost))
        raise ValueError(
            f"component {component}: no natural parameter has the mean statistic {moment[component]}; "
            "it lies on or outside the boundary of the moment space (more, or more varied, rows would help)"
        )
    return natural


def _gradient_nearby(log_normalizer: Callable[[Array], Array], steps: Array, theta: Array) -> Array:
    """The gradient at stencil points around a base point, with the base point's steps."""
    return gradient(log_normalizer, theta, np.broadcast_to(steps[..., None, None, :], theta.shape))


def _made_definite(information: Array) -> Array:
    """The Hessian with its eigenvalues kept positive: differences at an awkward point may break convexity."""
    symmetric = 0.5 * (information + np.swapaxes(information, -1, -2))
    symmetric = np.where(np.isfinite(symmetric), symmetric, 0.0)
    values, vectors = np.linalg.eigh(symmetric)
    lifted = np.maximum(values, np.maximum(values[..., -1:], 1e-300) * 1e-12)
    return np.asarray((vectors * lifted[..., None, :]) @ np.swapaxes(vectors, -1, -2))


def _backtracked(log_normalizer: Callable[[Array], Array], natural: Array, step: Array, moment: Array) -> Array:
    """natural + step, halved where that would leave the domain or lower <theta, eta> - F."""

    def objective(theta: Array) -> Array:
        with np.errstate(all="ignore"):
            value = (theta * moment).sum(axis=-1) - log_normalizer(theta)
        return np.where(np.isfinite(value), value, -np.inf)

    current = objective(natural)
    tolerance = 1e-13 * np.abs(current)
    for _ in range(60):
        worse = objective(natural + step) < current - tolerance
        if not worse.any():
            return natural + step
        step = np.where(worse[..., None], 0.5 * step, step)
    return np.where(worse[..., None], natural, natural + step)
