"""Counts of rare events."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, log_poisson
from ..numerics.special import log_factorial
from .derived import ExponentialFamily
from .shapes import as_columns, over_columns
from .sparse import row_sums
from .support import COUNTS, NON_NEGATIVE

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# A rate of zero is legal (all counts zero) and stands for this: finite in every product, zero to twelve digits.
SMALLEST_RATE = 1e-12
# From this rate on the entropy is a series of a few terms.
LARGE_RATE = 1e3
LARGEST_DRAWN = 1e15


@dataclass(frozen=True)
class Poisson(ExponentialFamily):
    """Counts: each column x has log-density x log(rate) - rate - log x!.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Poisson().mle([[2], [4], [3]]).source
    {'rate': array([[3.]])}
    """

    name: ClassVar = "poisson"
    independent_columns: ClassVar = True
    support: ClassVar = COUNTS
    sparse: ClassVar = True
    parameters: ClassVar = {"rate": NON_NEGATIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        return -log_factorial(X).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        return np.exp(natural).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        return np.exp(natural)

    def natural_from_moment(self, moment: Array) -> Array:
        return np.log(np.maximum(moment, SMALLEST_RATE))

    def natural_from_source(self, *, rate: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        rate : array (k, d) or (k,)
            The mean count of each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        rate = as_columns(rate)
        return np.log(np.where(rate == 0, SMALLEST_RATE, rate))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"rate": np.exp(natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        rate = np.exp(natural)
        return np.asarray((rate * (1 - natural)).sum(axis=-1) - self.direct_entropy(natural))

    def direct_entropy(self, natural: Array) -> Array:
        rate = np.exp(natural)
        inverse = 1 / np.maximum(rate, LARGE_RATE)
        # Half of log(2 pi e rate), and terms in powers of 1 / rate.
        series = inverse * (1 / 12 + inverse * (1 / 24 + inverse * (19 / 360 + inverse * (9 / 80))))
        entropy = np.array(0.5 * (1 + np.log(2 * np.pi / inverse)) - series)
        small = rate < LARGE_RATE
        if small.any():
            entropy[small] = self.integrate_entropy(natural[small][:, None])
        return np.asarray(entropy.sum(axis=-1))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, but for rows with counts so large that these would cancel.
        density = self.packed_log_density(X, natural)
        large = (X > LARGE).any(axis=-1)
        if large.any():
            # In extended precision, where the machine has it: exp multiplies the rounding of its value by the rate.
            rate = np.exp(natural.astype(np.longdouble))
            density[large] = over_columns(log_poisson, X[large], rate)
        return density

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return draw_counts(np.broadcast_to(np.exp(natural), (size, natural.size)), rng)

    def sparse_log_carrier(self, X: "csr_array") -> Array:
        return -row_sums(X, log_factorial)


def draw_counts(rate: Array, rng: np.random.Generator) -> Array:
    """Poisson draws; above 1e15, where not every whole number is a float, rounded Gaussian ones."""
    counts = rng.poisson(np.minimum(rate, LARGEST_DRAWN)).astype(float)
    large = rate > LARGEST_DRAWN
    if large.any():
        counts[large] = np.round(rng.normal(rate[large], np.sqrt(rate[large])))
    return counts
