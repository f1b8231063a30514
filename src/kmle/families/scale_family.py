"""What the one-parameter scale families share: t(x) follows a gamma distribution of known shape c and rate -theta.

Exponential, Rayleigh, Weibull, Laplace, half-normal, Maxwell, Pareto and their kin differ only in t, k, the constant c
and the name of the parameter; their dual divergence is c times the Itakura-Saito divergence.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
import scipy
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .base import ExponentialFamily
from .resolution import Resolution
from .scaled_columns import ROUNDING

# A mean statistic of zero (all rows at the center) stands for this: finite in every product.
SMALLEST_MOMENT = 1e-150


@dataclass(frozen=True)
class ScaleFamily(ExponentialFamily):
    """F(theta) = -c log(-theta) - log_constant on theta < 0, in each column."""

    independent_columns: ClassVar = True

    @property
    @abstractmethod
    def statistic_shape(self) -> float:
        """c, the shape of the gamma distribution of t(x)."""

    @property
    @abstractmethod
    def log_constant(self) -> float:
        """What F has beside -c log(-theta), with its sign turned."""

    @final
    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    @final
    def log_normalizer(self, natural: Array) -> Array:
        return (-self.statistic_shape * np.log(-natural) - self.log_constant).sum(axis=-1)

    @final
    def moment_from_natural(self, natural: Array) -> Array:
        return -self.statistic_shape / natural

    @final
    def natural_from_moment(self, moment: Array) -> Array:
        return -self.statistic_shape / np.maximum(moment, SMALLEST_MOMENT)

    @property
    def edge(self) -> float:
        """Where t(x) is zero."""
        return 0.0

    @final
    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        return resolution.spread

    @final
    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        """Exactly the most likely ones: the mean statistic is at least that of a row one spread from the edge."""
        return self.natural_from_moment(np.maximum(moment, self._statistic_at(spread)))

    @final
    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        smallest = (1 - ROUNDING) * self._statistic_at(spread)
        return np.asarray(np.all(self.moment_from_natural(natural) >= smallest, axis=-1))

    def _statistic_at(self, spread: Array) -> Array:
        return self.sufficient_statistic((self.edge + spread)[None])[0]

    @final
    def mean_log_statistic(self, natural: Array) -> Array:
        """E[log t(x)] of each column."""
        return scipy.special.digamma(self.statistic_shape) - np.log(-natural)

    @final
    def sample_statistic(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        """Draws of t(x), kept off zero, where some of these densities have no logarithm."""
        draws = rng.gamma(self.statistic_shape, -1 / natural, (size, natural.size))
        return np.maximum(draws, SMALLEST_MOMENT)
