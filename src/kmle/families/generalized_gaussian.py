"""Errors with tails of a known power."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from .scale_family import ScaleFamily
from .shapes import as_columns
from .support import POSITIVE, REALS


@dataclass(frozen=True)
class GeneralizedGaussian(ScaleFamily):
    """Errors with tails exp(-|(x - location) / scale|^shape): shape 2 is Gaussian, shape 1 is Laplace.

    Location and shape are fixed parameters; the scale is learned.

    >>> GeneralizedGaussian(shape=4.0).mle([[-1.0], [1.0]])
    generalized-gaussian(scale=1.41421)
    """

    shape: float
    location: float = 0.0

    name: ClassVar = "generalized-gaussian"
    support: ClassVar = REALS
    parameters: ClassVar = {"scale": POSITIVE}
    fixed: ClassVar = {"shape": POSITIVE, "location": REALS}

    @property
    def statistic_shape(self) -> float:
        return 1 / self.shape

    @property
    def log_constant(self) -> float:
        return -float(np.log(2.0) + scipy.special.gammaln(1 + 1 / self.shape))

    @property
    def edge(self) -> float:
        return self.location

    def sufficient_statistic(self, X: Array) -> Array:
        return np.abs(X - self.location) ** self.shape

    def natural_from_source(self, *, scale: Array) -> Array:
        return -(as_columns(scale) ** -self.shape)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": (-natural) ** (-1 / self.shape)}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.location + rng.choice([-1.0, 1.0], (size, natural.size)) * self.sample_statistic(
            natural, size, rng
        ) ** (1 / self.shape)
