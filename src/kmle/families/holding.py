"""Whether natural parameters in double precision hold the usual ones they were made from.

A shape of 1e-20 is held as shape - 1, which is -1: the shape is lost. The variance of a mean of 1e200 overflows.
"""

from collections.abc import Mapping

import numpy as np

from ..numerics.arrays import Array
from .contract import FamilyContract
from .support import Interval, PositiveDefinite, Support

# Magnitudes between these are held by every family; others must come back to this many digits.
ORDINARY, HELD = (1e-6, 1e6), 1e-5


def check_held(family: FamilyContract, source: Mapping[str, Array], natural: Array) -> None:
    """One sentence about usual parameters (first axis: components) that are lost in `natural` (k, D), if any are."""
    with np.errstate(all="ignore"):
        terms = [natural, family.moment_from_natural(natural), family.log_normalizer(natural)[:, None]]
        finite = np.isfinite(np.concatenate(terms, axis=1)).all(axis=1)
        if not finite.all():
            raise ValueError(_sentence(family, *_most_extreme(source, int(np.argmin(finite)))))
        back = family.source_from_natural(natural)
    for name, given in source.items():
        if (lost := _first_lost(family.parameters[name], given, back[name])) is not None:
            raise ValueError(_sentence(family, name, *lost))


def _sentence(family: FamilyContract, name: str, component: int, value: float) -> str:
    return (
        f"component {component} of {name} is {value:.6g}: {family.name} cannot represent it together with its other "
        "parameters in double precision; give a less extreme value"
    )


def _most_extreme(source: Mapping[str, Array], component: int) -> tuple[str, int, float]:
    """Name, component and value of the parameter furthest from one in magnitude."""

    def own(given: Array) -> Array:
        values = given[min(component, len(given) - 1)].reshape(-1)
        return values[np.argmax(np.abs(_log_size(values)))]

    name = max(source, key=lambda name: abs(float(_log_size(own(source[name])))))
    return name, component, float(own(source[name]))


def _log_size(values: Array) -> Array:
    return np.log(np.where(values == 0, 1.0, np.abs(values)))


def _first_lost(domain: Support, given: Array, back: Array) -> tuple[int, float] | None:
    """Component and value of the first magnitude that did not come back; a zero stands for what is next to it."""
    if not isinstance(domain, PositiveDefinite) and not (isinstance(domain, Interval) and domain.lower == 0):
        return None
    given, back = (part.reshape(len(part), -1) for part in (given, back))
    if isinstance(domain, PositiveDefinite):
        given, back = (np.abs(part).max(axis=1, keepdims=True) for part in (given, back))
    try:
        given, back = np.broadcast_arrays(given, back)
    except ValueError:  # one number for several columns: it is held as often
        return None
    ordinary = (given >= ORDINARY[0]) & (given <= ORDINARY[1]) | (given == 0)
    lost = ~ordinary & (np.abs(back - given) > HELD * given)
    if not lost.any():
        return None
    place = tuple(np.argwhere(lost)[0])
    return int(place[0]), float(given[place])
