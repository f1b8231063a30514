"""Counts of events that happened at least once."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, log_poisson
from ..numerics.special import log_factorial
from .derived import ExponentialFamily
from .poisson import draw_counts
from .shapes import as_columns, over_columns
from .support import POSITIVE, Integers

# A mean of one (all counts one) stands for a rate of this: finite in every product.
SMALLEST_RATE = 1e-12
NEWTON_STEPS = 60
# Below this log-rate, log(1 - exp(-rate)) is log(rate) - rate / 2 to all digits, also where the rate underflows.
SMALL_LOG_RATE = -20.0


@dataclass(frozen=True)
class ZeroTruncatedPoisson(ExponentialFamily):
    """Positive counts: a Poisson distribution given that x > 0, with F(theta) = log(exp(exp theta) - 1).

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> ZeroTruncatedPoisson().mle([[1], [2], [3]])
    zero-truncated-poisson(rate=1.59362)
    """

    name: ClassVar = "zero-truncated-poisson"
    independent_columns: ClassVar = True
    support: ClassVar = Integers(1)
    parameters: ClassVar = {"rate": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        return -log_factorial(X).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        rate = np.exp(natural)
        return (rate + _log_chance(natural)).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        rate = np.exp(natural)
        small = natural < SMALL_LOG_RATE
        return np.where(small, 1 + rate / 2, rate / -np.expm1(-np.where(small, 1.0, rate)))

    def natural_from_moment(self, moment: Array) -> Array:
        return np.log(_rate(moment))

    def natural_from_source(self, *, rate: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        rate : array (k, d) or (k,)
            The mean count of each column before zeros are left out.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return np.log(as_columns(rate))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"rate": np.exp(natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        return self.integrate_log_carrier(natural)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, but for rows with counts so large that these would cancel.
        density = self.packed_log_density(X, natural)
        large = (X > LARGE).any(axis=-1)
        if large.any():
            rate = np.exp(natural.astype(np.longdouble))
            density[large] = over_columns(log_poisson, X[large], rate) - _log_chance(natural).sum(axis=-1)
        return density

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        # The first event of a Poisson process is drawn given that it happens in time, the others after it.
        rate = np.broadcast_to(np.exp(natural), (size, natural.size))
        first = -np.log1p(rng.random(rate.shape) * np.expm1(-rate))
        return 1.0 + draw_counts(np.maximum(rate - first, 0.0), rng)


def _log_chance(natural: Array) -> Array:
    """The log-probability of at least one event, log(1 - exp(-rate))."""
    small = natural < SMALL_LOG_RATE
    rate = np.exp(natural)
    return np.where(small, natural - rate / 2, np.log(-np.expm1(-np.where(small, 1.0, rate))))


def _rate(mean: Array) -> Array:
    """The root of rate / (1 - exp(-rate)) = mean: Newton's method on a convex increasing function, from above."""
    mean = np.maximum(mean, 1.0)
    # The root is below the mean, and below 2 (mean - 1).
    rate = np.maximum(np.minimum(mean, 2 * (mean - 1)), SMALLEST_RATE)
    for _ in range(NEWTON_STEPS):
        decay = np.exp(-rate)
        inside = -np.expm1(-rate)
        value = rate / inside - mean
        slope = (inside - rate * decay) / inside**2
        step = np.where(slope > 0, value / np.where(slope > 0, slope, 1.0), 0.0)
        following = np.maximum(rate - step, SMALLEST_RATE)
        if np.all(np.abs(following - rate) <= 1e-15 * rate):
            return following
        rate = following
    return rate
