"""Heavy-tailed errors around a known location."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from .scale_family import ScaleFamily
from .shapes import as_columns
from .support import POSITIVE, REALS


@dataclass(frozen=True)
class Laplace(ScaleFamily):
    """Errors around a known location: density exp(-|x - location| / scale) / (2 scale) in each column.

    With the location free the Laplace distributions are no exponential family; `location` is a fixed parameter of this
    one.

    >>> Laplace(location=1.0).mle([[0.0], [4.0]])
    laplace(scale=2)
    """

    location: float = 0.0

    name: ClassVar = "laplace"
    support: ClassVar = REALS
    parameters: ClassVar = {"scale": POSITIVE}
    fixed: ClassVar = {"location": REALS}

    @property
    def statistic_shape(self) -> float:
        return 1.0

    @property
    def log_constant(self) -> float:
        return -float(np.log(2.0))

    @property
    def edge(self) -> float:
        return self.location

    def sufficient_statistic(self, X: Array) -> Array:
        return np.abs(X - self.location)

    def natural_from_source(self, *, scale: Array) -> Array:
        return -1 / as_columns(scale)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": -1 / natural}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.location + rng.choice([-1.0, 1.0], (size, natural.size)) * self.sample_statistic(natural, size, rng)
