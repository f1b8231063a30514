"""F and its gradient far from where they are usually tried: along rays out to large natural parameters.

F is convex, so between two points of a ray it rises by no less than the slope at the first and no more than the slope
at the second says: a check without steps of differentiation, at any distance. Where F ends it must rise without bound;
a formula with a term that overflows, or vanishes under a logarithm, ends it in mid-air.
"""

import numpy as np

from ..numerics.arrays import Array
from .derived import ExponentialFamily

# How far out, in units of the size of the parameter: each point is twice as far as the one before. None is a power of
# two, which would meet the ends of domains, such as zero, where a moment may be infinite.
DISTANCES = 1.0625 * 2.0 ** np.arange(-3, 14)
# Rises and slopes may differ by this, relative to their sizes.
TOLERANCE = 1e-6
# Towards the end of its domain F gets this many times steeper from a hundredth of the way before to a millionth.
STEEPER = 10.0
# Ends nearer than this may be those of a domain that F reaches with a finite slope.
MOST_NEAR = 100.0


def fault_on_rays(family: ExponentialFamily, points: Array) -> str | None:
    """What is wrong with F or the moment along rays from `points` (k, D), or None."""
    for point in points:
        for direction in _directions(point):
            fault = _fault(family, point, direction)
            if fault is not None:
                return fault
    return None


def _directions(point: Array) -> Array:
    axes = np.eye(len(point))
    size = max(float(np.abs(point).max()), 1.0)
    along = [point / np.abs(point).max()] if point.any() else []
    return size * np.concatenate([[*along, *axes], [*(-part for part in along), *-axes]])


def _fault(family: ExponentialFamily, point: Array, direction: Array) -> str | None:
    ray = point + np.concatenate([[0.0], DISTANCES])[:, None] * direction
    value = family.log_normalizer(ray)
    reached = len(ray) if np.isfinite(value).all() else int(np.argmin(np.isfinite(value)))
    ray, value = ray[:reached], value[:reached]
    moment = family.moment_from_natural(ray)
    if not np.isfinite(moment).all():
        return f"at natural {_shown(ray[np.argmin(np.isfinite(moment).all(axis=1))])} the moment is not finite"
    rise, step = np.diff(value), np.diff(ray, axis=0)
    slopes = np.stack([(step * end).sum(axis=1) for end in (moment[:-1], moment[1:])])
    size = np.abs(value[:-1]) + np.abs(value[1:]) + np.abs(slopes).sum(axis=0)
    gap = np.maximum(slopes[0] - rise, rise - slopes[1]) / np.maximum(size, 1.0)
    if (gap > TOLERANCE).any():
        worst = int(np.argmax(gap))
        ends = f"{_shown(ray[worst])} and {_shown(ray[worst + 1])}"
        said = " to ".join(f"{slope:.6g}" for slope in slopes[:, worst])
        return f"between natural {ends} F rises by {rise[worst]:.6g} but by the moments it rises by {said}"
    return None if reached > len(DISTANCES) else _torn(family, point, direction, DISTANCES[reached - 1])


def _torn(family: ExponentialFamily, point: Array, direction: Array, beyond: float) -> str | None:
    """A sentence if F ends before `beyond` although it is not getting steep."""
    low, high = 0.0, float(beyond)
    for _ in range(60):
        middle = 0.5 * (low + high)
        inside = np.isfinite(family.log_normalizer((point + middle * direction)[None])[0])
        low, high = (middle, high) if inside else (low, middle)
    end = point + low * direction
    back = low * np.array([0.0, 1e-6, 1e-2, 1e-2 + 1e-6])
    near, far = np.diff(family.log_normalizer(end - back[:, None] * direction)[::-1])[[2, 0]]
    if np.abs(end).max() < MOST_NEAR or np.abs(near) > STEEPER * np.abs(far):
        return None
    return f"F ends at natural {_shown(end)} without becoming steep there: a term overflows or vanishes"


def _shown(natural: Array) -> str:
    return "[" + ", ".join(f"{value:.6g}" for value in natural) + "]"
