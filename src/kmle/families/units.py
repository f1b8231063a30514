"""The smallest groups of columns that are independent given the component: a missing entry concerns one of them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array

if TYPE_CHECKING:
    from .derived import ExponentialFamily


@dataclass(frozen=True)
class Unit:
    """Some columns of a family with a family of their own."""

    family: "ExponentialFamily"
    columns: tuple[int, ...]
    statistics: tuple[int, ...]
    """The places of its statistics among all."""

    def moved(self, n_columns: int, n_statistics: int) -> "Unit":
        """The same behind the columns and statistics of others."""
        return Unit(
            self.family,
            tuple(column + n_columns for column in self.columns),
            tuple(place + n_statistics for place in self.statistics),
        )


def whole(family: "ExponentialFamily") -> tuple[Unit, ...]:
    """All columns as one unit."""
    return (Unit(family, tuple(range(family.n_features or 1)), tuple(range(family.n_statistics))),)


def by_column(family: "ExponentialFamily") -> tuple[Unit, ...]:
    """A unit for each column; statistics are stored block by block."""
    d, one = family.n_features or 1, replace(family, n_features=1)
    return tuple(Unit(one, (c,), tuple(range(c, family.n_statistics, d))) for c in range(d))


def unit_normalizers(units: tuple[Unit, ...], natural: Array) -> Array:
    """F of each unit (..., u), for natural parameters (..., D) of the whole family."""
    values = np.empty((*natural.shape[:-1], len(units)))
    for places in _alike(units):
        statistics = np.array([units[place].statistics for place in places])
        values[..., places] = units[places[0]].family.log_normalizer(natural[..., statistics])
    return values


def _alike(units: tuple[Unit, ...]) -> list[NDArray[np.intp]]:
    """The places of units with equal families: one call serves them all."""
    groups: dict[ExponentialFamily, list[int]] = {}
    for place, unit in enumerate(units):
        groups.setdefault(unit.family, []).append(place)
    return [np.array(places) for places in groups.values()]
