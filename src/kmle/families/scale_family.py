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
from ..numerics.truncated import exponential_interval
from .derived import ExponentialFamily
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
        # Exactly the most likely ones: the mean statistic is at least that of a row one spread from the edge.
        return self.natural_from_moment(np.maximum(moment, self._statistic_at(spread)))

    @final
    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        smallest = (1 - ROUNDING) * self._statistic_at(spread)
        return np.asarray(np.all(self.moment_from_natural(natural) >= smallest, axis=-1))

    @final
    def interval_formula(self, lower: Array, upper: Array, natural: Array) -> tuple[Array, Array] | None:
        # By the exponential distribution of t(x), where it has one; on both sides of the edge if t is symmetric.
        if self.statistic_shape != 1:
            return None
        rate = -natural[:, 0]
        if np.isfinite(getattr(self.support, "lower", 0.0)):
            return _exponential(self._along(lower), self._along(upper), rate)
        above = _exponential(self._along(np.maximum(lower, self.edge)), self._along(upper), rate)
        below = _exponential(self._along(np.minimum(upper, self.edge)), self._along(lower), rate)
        has_above, has_below = (upper > self.edge)[:, None], (lower < self.edge)[:, None]
        parts = np.where(has_above, above[0], -np.inf), np.where(has_below, below[0], -np.inf)
        total = np.logaddexp(*parts)
        shares = [np.exp(part - total)[..., None] for part in parts]
        means = [np.where(has[..., None], m, 0.0) for has, m in ((has_above, above[1]), (has_below, below[1]))]
        return total - np.log(2.0), shares[0] * means[0] + shares[1] * means[1]

    def _along(self, x: Array) -> Array:
        """t at numbers (m,), those below the edge taken to be on it."""
        with np.errstate(all="ignore"):
            return np.nan_to_num(self.sufficient_statistic(x[:, None])[:, 0], nan=0.0, posinf=np.inf)

    def _statistic_at(self, spread: Array) -> Array:
        return self.sufficient_statistic((self.edge + spread)[None])[0]

    @final
    def mean_log_statistic(self, natural: Array) -> Array:
        """Returns E[log t(x)] of each column.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k, d)
            The means.
        """
        return scipy.special.digamma(self.statistic_shape) - np.log(-natural)

    @final
    def sample_statistic(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        """Draws t(x), kept off zero, where some of these densities have no logarithm.

        Parameters
        ----------
        natural : array (D,)
            The natural parameters of the distribution.
        size : int
            The number of rows.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        array (size, d)
            The draws.
        """
        draws = rng.gamma(self.statistic_shape, -1 / natural, (size, natural.size))
        return np.maximum(draws, SMALLEST_MOMENT)


def _exponential(low: Array, high: Array, rate: Array) -> tuple[Array, Array]:
    log_p, means = exponential_interval(low[:, None], high[:, None], rate)
    return log_p, means[..., None]
