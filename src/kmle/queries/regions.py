"""Confidence regions of Gaussian and Student t components, and sets of highest density of a mixture (Hyndman 1996)."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import scipy

from ..families import ExponentialFamily, PointMass, StudentT, Uniform
from ..numerics.arrays import Array
from .moments import covariances, means, weighted_nodes

# Halvings of an interval: those of a threshold, and those of a place where the density crosses it.
HALVINGS = 60


@dataclass(frozen=True)
class Ellipsoid:
    """The points x with (x - center)^T covariance^-1 (x - center) <= radius^2: `level` of one component.

    Of a Student t the scale matrix stands for the covariance.
    """

    level: float
    center: Array
    covariance: Array
    radius: float

    def contains(self, X: Array) -> Array:
        """Which rows (n, d) lie inside."""
        offset = np.atleast_2d(np.asarray(X, dtype=float)) - self.center
        distance = np.einsum("ni,ni->n", offset, np.linalg.solve(self.covariance, offset.T).T)
        return np.asarray(distance <= self.radius**2)


@dataclass(frozen=True)
class HighestDensitySet:
    """The smallest set of rows that has probability `level`: where the log-density is at least `log_threshold`.

    `intervals` (m, 2) are its parts, for one column; whole numbers from the first to the second of each, for counts.
    """

    level: float
    log_threshold: float
    probability: float
    """The probability of the set: `level`, or a little more for counts; estimated from draws for several columns."""
    intervals: Array | None
    _log_density: Callable[[Array], Array] = field(repr=False)

    def contains(self, X: Array) -> Array:
        """Which rows (n, d) lie inside."""
        return np.asarray(self._log_density(X) >= self.log_threshold)


def ellipsoids(family: ExponentialFamily, natural: Array, level: float) -> list[Ellipsoid]:
    """The confidence regions of Gaussians or Student t distributions with natural parameters (k, D)."""
    if isinstance(family, StudentT):
        source = family.source_from_natural(natural)
        center, spread, d = source["location"], source["scale"], source["location"].shape[1]
        squared = d * scipy.special.fdtri(d, source["degrees"], level)
    else:
        center, spread = means(family, natural), covariances(family, natural)
        squared = np.full(len(center), 2 * scipy.special.gammaincinv(0.5 * center.shape[1], level))
    return [Ellipsoid(level, *own) for own in zip(center, spread, np.sqrt(squared).tolist(), strict=True)]


def check_level(level: float) -> None:
    """Refuses anything but a probability between zero and one."""
    if isinstance(level, str) or not 0 < level < 1:
        raise ValueError(f"level is {level!r}: it must be a number between 0 and 1")


def line_nodes(family: ExponentialFamily, natural: Array) -> Array:
    """Points (m,) that cover the components of one column, ascending."""
    if isinstance(family, Uniform | PointMass):
        middle = means(family, natural)[0, 0]
        return middle + np.array([-1.0, 1.0])
    return np.unique(np.concatenate([weighted_nodes(family, theta)[0] for theta in natural]))


def discrete_set(points: Array, mass: Array, level: float) -> tuple[float, float, Array]:
    """Threshold, probability and intervals of the most probable whole numbers."""
    order = np.argsort(-mass, kind="stable")
    reached = np.cumsum(mass[order])
    last = min(int(np.searchsorted(reached, level * (1 - 1e-12))), len(points) - 1)
    # Equally probable numbers belong together.
    inside = mass >= mass[order[last]] * (1 - 1e-12)
    chosen = points[inside]
    breaks = np.flatnonzero(np.diff(chosen) > 1)
    starts, ends = np.concatenate([[0], breaks + 1]), np.concatenate([breaks, [len(chosen) - 1]])
    intervals = np.stack([chosen[starts], chosen[ends]], axis=1)
    return float(np.log(mass[order[last]]) - 1e-12), float(mass[inside].sum()), intervals


def continuous_set(
    points: Array,
    log_density: Callable[[Array], Array],
    cdf: Callable[[Array], Array],
    ends: tuple[float, float],
    level: float,
) -> tuple[float, float, Array]:
    """Threshold, probability and intervals of one column, by bisection of the threshold."""
    heights = log_density(points)
    finite = np.isfinite(heights)
    points, heights = points[finite], heights[finite]
    low, high = float(heights.min()), float(heights.max())
    for _ in range(HALVINGS):
        threshold = 0.5 * (low + high)
        enough = _mass(_above(points, heights, log_density, threshold, ends), cdf) >= level
        low, high = (threshold, high) if enough else (low, threshold)
    found = _above(points, heights, log_density, low, ends)
    return low, _mass(found, cdf), found


def _mass(intervals: Array, cdf: Callable[[Array], Array]) -> float:
    return float((cdf(intervals[:, 1]) - cdf(intervals[:, 0])).sum())


def _above(
    points: Array, heights: Array, log_density: Callable[[Array], Array], threshold: float, ends: tuple[float, float]
) -> Array:
    """The intervals where the density is at least the threshold; its crossings lie between neighbouring points."""
    inside = heights >= threshold
    changes = np.flatnonzero(inside[1:] != inside[:-1])
    low, high = points[changes], points[changes + 1]
    rises = inside[changes + 1]
    for _ in range(HALVINGS if changes.size else 0):
        middle = 0.5 * (low + high)
        beyond = (log_density(middle) >= threshold) == rises
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    crossings = list(0.5 * (low + high))
    if inside[0]:
        crossings.insert(0, ends[0])
    if inside[-1]:
        crossings.append(ends[1])
    return np.array(crossings, dtype=float).reshape(-1, 2)
