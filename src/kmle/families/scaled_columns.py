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
        """The standard deviation of each column (k, d), or what it is close to where it is small."""

    @abstractmethod
    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        """The distributions around the same location with these spreads (k, d)."""

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
