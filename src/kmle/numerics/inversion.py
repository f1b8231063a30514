"""Inverting grad F from F alone: a damped Newton ascent on <theta, eta> - F(theta), for families without a formula.

All moments are inverted together; those that have arrived take no part in later steps (Boyd and Vandenberghe, 2004,
section 9.5).
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .arrays import Array
from .differentiation import gradient as differences
from .differentiation import hessian, natural_steps, slopes

Function = Callable[[Array], Array]

MAX_STEPS = 200
ACCURACY = 1e-11  # in Fisher norm: the distance to the answer in units of its standard deviation
ACCEPTABLE, MOST_ACCEPTABLE = 1e-6, 1e-4
# Relative rounding error of <theta, eta> - F(theta). Distances whose squares it hides are acceptable, within limits;
# once they are, a step that does not halve them is one of rounding.
ROUNDING = 4 * np.finfo(float).eps
# The share of what a quadratic would gain that a step must gain at least.
SUFFICIENT = 0.1
# Starts differ from a legal one by these factors in each coordinate, where there are few.
FACTORS = (1 / 256, 1 / 16, 1.0, 16.0, 256.0)
FEW_COORDINATES = 3
# Moments are inverted in blocks whose stencils have this many numbers.
BLOCK_NUMBERS = 1 << 20
# Of more than MANY_MOMENTS moments, SAMPLED_MOMENTS are inverted first: the others start from the closest of them.
MANY_MOMENTS, SAMPLED_MOMENTS = 1024, 256


def invert_gradient(log_normalizer: Function, moment: Array, start: Array, gradient: Function | None = None) -> Array:
    """The natural parameters (k, D) whose mean of t is `moment` (k, D), from a legal `start` (D,).

    Without `gradient` that of F is found by differences. Raises ValueError, naming the component, where no such
    parameter is found: the moment is then on or outside the boundary of the moment space.
    """
    moment = np.asarray(moment, dtype=float)
    starts = _starts(log_normalizer, start)
    if len(moment) > MANY_MOMENTS:
        sample = moment[:: len(moment) // SAMPLED_MOMENTS]
        reached, off = _Newton(log_normalizer, gradient, sample).run(_nearest(log_normalizer, sample, starts))
        starts = np.concatenate([starts, reached[~off]])
    size = max(1, BLOCK_NUMBERS // (8 * start.size**2))
    natural, lost = np.empty(moment.shape), np.empty(len(moment), dtype=bool)
    for first in range(0, len(moment), size):
        block = slice(first, first + size)
        newton = _Newton(log_normalizer, gradient, moment[block])
        natural[block], lost[block] = newton.run(_nearest(log_normalizer, moment[block], starts))
    if lost.any():
        component = int(np.argmax(lost))
        raise ValueError(
            f"component {component}: no natural parameter has the mean statistic {moment[component]}; "
            "it lies on or outside the boundary of the moment space (use more, or more varied, rows)"
        )
    return natural


def _starts(log_normalizer: Function, start: Array) -> Array:
    """Legal natural parameters (c, D) of different sizes and signs, the given one first."""
    if start.size <= FEW_COORDINATES:
        each = [
            np.concatenate([[value, 0.0], *(sign * np.array(FACTORS) * (abs(value) or 1.0) for sign in (-1, 1))])
            for value in start
        ]
        candidates = np.array(list(product(*each)))
    else:
        candidates = np.concatenate([start[None], np.array(FACTORS)[:, None] * start])
    with np.errstate(all="ignore"):
        legal = np.isfinite(log_normalizer(candidates))
    legal[0] = True
    return candidates[legal]


def _nearest(log_normalizer: Function, moment: Array, starts: Array) -> Array:
    """For each moment the start with the highest <theta, eta> - F(theta)."""
    with np.errstate(all="ignore"):
        normalizer = log_normalizer(starts)
        size = max(1, BLOCK_NUMBERS // len(starts))
        blocks = (moment[first : first + size] for first in range(0, len(moment), size))
        return starts[np.concatenate([np.argmax(block @ starts.T - normalizer, axis=1) for block in blocks])]


class _Climb(NamedTuple):
    """Points (k, D), the steps from there and their squared Fisher lengths; the objective there and its error."""

    natural: Array
    step: Array
    squared: Array
    value: Array
    error: Array


class _Newton:
    """Newton's method for several moments (k, D) at once."""

    def __init__(self, log_normalizer: Function, gradient: Function | None, moment: Array) -> None:
        self.log_normalizer = log_normalizer
        self.gradient = gradient
        self.moment = moment

    def run(self, natural: Array) -> tuple[Array, NDArray[np.bool_]]:
        """The natural parameters reached from these, and which are not the answers, up to rounding."""
        distance, acceptable = np.full(len(natural), np.inf), np.full(len(natural), ACCEPTABLE)
        moving: NDArray[np.intp] = np.arange(len(natural))
        for _ in range(MAX_STEPS):
            here, moment, before = natural[moving], self.moment[moving], distance[moving]
            direction, squared = self._direction(here, moment)
            current, size = self._objective(here, moment)
            after = distance[moving] = np.sqrt(squared)
            acceptable[moving] = np.clip(np.sqrt(ROUNDING * size), ACCEPTABLE, MOST_ACCEPTABLE)
            arrived = (after <= ACCURACY) | ((before <= acceptable[moving]) & (after >= 0.5 * before))
            going = np.flatnonzero(~arrived)
            moving = moving[going]
            if len(moving) == 0:
                break
            climb = _Climb(here[going], direction[going], squared[going], current[going], ROUNDING * size[going])
            natural[moving], gained = self._climbed(climb, moment[going])
            moving = moving[gained]
        return natural, ~(distance <= acceptable)

    def _direction(self, natural: Array, moment: Array) -> tuple[Array, Array]:
        """Newton's steps (k, D), and their squared Fisher lengths (k,)."""
        steps = natural_steps(self.log_normalizer, natural)
        if self.gradient is None:
            score = moment - differences(self.log_normalizer, natural, steps)
            information = hessian(self.log_normalizer, natural, steps)
        else:
            score = moment - self.gradient(natural)
            information = slopes(self.gradient, natural, steps)
        direction = np.linalg.solve(_made_definite(information), score[..., None])[..., 0]
        return direction, np.maximum((direction * score).sum(axis=-1), 0.0)

    def _climbed(self, climb: "_Climb", moment: Array) -> tuple[Array, NDArray[np.bool_]]:
        """natural + step, halved where that leaves the domain or gains too little; and which could climb at all."""
        following, share = climb.natural.copy(), np.ones(len(moment))
        left: NDArray[np.intp] = np.arange(len(moment))
        for _ in range(60):
            trial = climb.natural[left] + share[left, None] * climb.step[left]
            least = climb.value[left] + SUFFICIENT * share[left] * climb.squared[left] - climb.error[left]
            good = self._objective(trial, moment[left])[0] >= least
            following[left[good]] = trial[good]
            left = left[~good]
            if len(left) == 0:
                break
            share[left] *= 0.5
        return following, np.any(following != climb.natural, axis=1)

    def _objective(self, natural: Array, moment: Array) -> tuple[Array, Array]:
        """<theta, eta> - F(theta), -inf outside the domain, and the size of its terms."""
        with np.errstate(all="ignore"):
            products, normalizer = natural * moment, self.log_normalizer(natural)
            value = products.sum(axis=-1) - normalizer
            size = np.abs(products).sum(axis=-1) + np.abs(normalizer)
        return np.where(np.isfinite(value), value, -np.inf), size


def _made_definite(information: Array) -> Array:
    """The Hessian with its eigenvalues kept positive: differences at an awkward point may break convexity."""
    symmetric = 0.5 * (information + np.swapaxes(information, -1, -2))
    symmetric = np.where(np.isfinite(symmetric), symmetric, 0.0)
    if symmetric.shape[-1] == 1:
        return np.maximum(symmetric, 1e-300)
    values, vectors = np.linalg.eigh(symmetric)
    lifted = np.maximum(values, np.maximum(values[..., -1:], 1e-300) * 1e-12)
    return np.asarray((vectors * lifted[..., None, :]) @ np.swapaxes(vectors, -1, -2))
