"""What families of independent columns with a scale share: how narrow a component may be."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .resolution import Resolution

# A spread at its bound may miss it by this share: rounding of the conversions.
ROUNDING = 1e-6


@dataclass(frozen=True)
class ScaledColumns(ExponentialFamily):
    """Independent columns with a location and a scale each, or with parameters that act as such."""

    @abstractmethod
    def column_spread(self, natural: Array) -> Array:
        """Returns the standard deviation of each column, or what it is close to where it is small.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k, d)
            The spreads.
        """

    @abstractmethod
    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        """Returns the distributions around the same locations with other spreads.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.
        spread : array (k, d)
            The standard deviation of each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array | None:
        return resolution.shaped_spread

    @final
    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        natural = self.natural_from_moment(moment)
        own = self.column_spread(natural)
        if np.all(own >= spread):
            return natural
        wide = self.natural_at_spread(natural, np.maximum(own, spread))
        return np.where(np.tile(own < spread, 2), wide, natural)

    @final
    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        return np.asarray(np.all(self.column_spread(natural) >= (1 - ROUNDING) * spread, axis=-1))
