"""A point mass: the zeros of zero-inflated counts (Lambert, 1992)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from .parameterless import Parameterless
from .support import COUNTS, OUTSIDE
from .units import Unit, by_column


@dataclass(frozen=True)
class PointMass(Parameterless):
    """Rows of counts that all equal `value`, zero unless given.

    Parameters
    ----------
    value : float, default=0
        The value that has all the mass.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> PointMass().log_density([[0.0]], np.zeros((1, 0)))
    array([[0.]])
    """

    value: int = 0

    name: ClassVar = "point-mass"
    support: ClassVar = COUNTS
    fixed: ClassVar = {"value": COUNTS}

    @property
    def takes_missing(self) -> bool:
        return True

    def units(self) -> tuple[Unit, ...]:
        return by_column(self)

    def log_carrier(self, X: Array) -> Array:
        return np.where(np.all(self.value == X, axis=-1), 0.0, OUTSIDE)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return np.full((size, self.n_features or 1), float(self.value))
