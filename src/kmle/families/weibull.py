"""Lifetimes with a known shape."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from .scale_family import ScaleFamily
from .shapes import as_columns
from .support import POSITIVE


@dataclass(frozen=True)
class Weibull(ScaleFamily):
    """Lifetimes whose shape c is known: density (c/s) (x/s)^(c-1) exp(-(x/s)^c), s being the scale, on x > 0.

    With the shape free the Weibull distributions are no exponential family; `shape` is a fixed parameter of this one.

    >>> Weibull(shape=2.0).mle([[1.0], [2.0], [3.0]])
    weibull(scale=2.16025)
    """

    shape: float

    name: ClassVar = "weibull"
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"scale": POSITIVE}
    fixed: ClassVar = {"shape": POSITIVE}

    @property
    def statistic_shape(self) -> float:
        return 1.0

    @property
    def log_constant(self) -> float:
        return 0.0

    def sufficient_statistic(self, X: Array) -> Array:
        return X**self.shape

    def log_carrier(self, X: Array) -> Array:
        return (np.log(self.shape) + (self.shape - 1) * np.log(X)).sum(axis=-1)

    def natural_from_source(self, *, scale: Array) -> Array:
        return -(as_columns(scale) ** -self.shape)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": (-natural) ** (-1 / self.shape)}

    def mean_log_carrier(self, natural: Array) -> Array:
        return (np.log(self.shape) + (1 - 1 / self.shape) * self.mean_log_statistic(natural)).sum(axis=-1)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.sample_statistic(natural, size, rng) ** (1 / self.shape)
