"""What families without parameters share: one distribution, no statistics, and a log-density that is all carrier."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from ..numerics.arrays import Array
from .derived import ExponentialFamily


@dataclass(frozen=True)
class Parameterless(ExponentialFamily):
    """A family with a single distribution: t(x) is empty, F is zero and k(x) the log-density.

    It serves as a component beside others, and is counted by none of the criteria.
    """

    parameters: ClassVar = {}

    @final
    def n_statistics_for(self, n_features: int) -> int:
        return 0

    @final
    def sufficient_statistic(self, X: Array) -> Array:
        return np.zeros((*X.shape[:-1], 0))

    @final
    def log_normalizer(self, natural: Array) -> Array:
        return np.zeros(natural.shape[:-1])

    @final
    def moment_from_natural(self, natural: Array) -> Array:
        return natural

    @final
    def natural_from_moment(self, moment: Array) -> Array:
        return moment

    @final
    def natural_from_source(self, *args: Any, **source: Any) -> Array:
        return np.zeros((1, 0))

    @final
    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {}
