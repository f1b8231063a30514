"""First-passage times."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE
from .scaled_columns import ScaledColumns
from .shapes import as_columns, blocks, join, over_columns
from .support import POSITIVE

# Below this fraction of E[1/x] the gap E[1/x] - 1/E[x] is rounding, not data; it is lifted to it.
ROUNDING_GAP = 4 * np.finfo(float).eps
SMALLEST_MEAN = 1e-150


@dataclass(frozen=True)
class InverseGaussian(ScaledColumns):
    """First-passage times with a `mean` and a `shape`: the Wald distributions, t(x) = (x, 1/x) on x > 0.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> InverseGaussian().mle([[1.0], [2.0], [4.0]]).source["mean"].round(4)
    array([[2.3333]])
    """

    name: ClassVar = "inverse-gaussian"
    independent_columns: ClassVar = True
    ordered_cells: ClassVar = True
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"mean": POSITIVE, "shape": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return 2 * n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return join(X, 1 / X)

    def statistic_differences(self, X: Array, row: Array) -> Array:
        gap = X - row
        return join(gap, -gap / row / X)

    def log_carrier(self, X: Array) -> Array:
        return (-0.5 * np.log(2 * np.pi) - 1.5 * np.log(X)).sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        first, second = blocks(natural, 2)
        product = np.where(first <= 0, first * second, np.nan)
        return (-0.5 * np.log(-2 * second) - 2 * np.sqrt(product)).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        mean, shape = _mean_shape(natural)
        return join(mean, 1 / mean + 1 / shape)

    def natural_from_moment(self, moment: Array) -> Array:
        mean, mean_inverse = blocks(moment, 2)
        mean = np.maximum(mean, SMALLEST_MEAN)
        gap = np.maximum(mean_inverse - 1 / mean, ROUNDING_GAP * np.maximum(mean_inverse, 1 / mean))
        return _natural(mean, 1 / gap)

    def natural_from_source(self, *, mean: Array, shape: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        mean : array (k, d) or (k,)
            The mean of each column.
        shape : array (k, d) or (k,)
            The shape of each column; the variance is mean^3 / shape.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return _natural(as_columns(mean), as_columns(shape))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        mean, shape = _mean_shape(natural)
        return {"mean": mean, "shape": shape}

    def mean_log_carrier(self, natural: Array) -> Array:
        return np.asarray((-0.5 * np.log(2 * np.pi) - 1.5 * _mean_log(*_mean_shape(natural))).sum(axis=-1))

    def direct_entropy(self, natural: Array) -> Array:
        # shape (x - mean)^2 / (mean^2 x) is the square of a standard Gaussian.
        mean, shape = _mean_shape(natural)
        return np.asarray((0.5 * (1 + np.log(2 * np.pi / shape)) + 1.5 * _mean_log(mean, shape)).sum(axis=-1))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, unless a shape is so large for its mean that these would cancel.
        mean, shape = _mean_shape(natural)
        if (shape / mean).max() <= LARGE:
            return self.packed_log_density(X, natural)
        return over_columns(_log_density, X, mean, shape)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        mean, shape = _mean_shape(natural)
        return np.maximum(rng.wald(mean, shape, (size, mean.size)), SMALLEST_MEAN)

    def column_spread(self, natural: Array) -> Array:
        mean, shape = _mean_shape(natural)
        return np.sqrt(mean / shape) * mean

    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        mean, _ = _mean_shape(natural)
        return _natural(mean, mean * (mean / spread) ** 2)


def _log_density(x: Array, mean: Array, shape: Array) -> Array:
    return 0.5 * (np.log(shape / (2 * np.pi * x)) - shape / x * (x / mean - 1) ** 2) - np.log(x)


def _mean_log(mean: Array, shape: Array) -> Array:
    """E[log x]."""
    return np.asarray(np.log(mean) - _scaled_exponential_integral(2 * shape / mean))


def _mean_shape(natural: Array) -> tuple[Array, Array]:
    first, second = blocks(natural, 2)
    return np.sqrt(second / first), -2 * second


def _natural(mean: Array, shape: Array) -> Array:
    return join(-0.5 * shape / mean**2, -0.5 * shape)


def _scaled_exponential_integral(z: Array) -> Array:
    """e^z E_1(z), by its asymptotic series once e^z is large."""
    large = np.maximum(z, 100.0)
    series = np.ones_like(large)
    for n in range(12, 0, -1):
        series = 1 - n / large * series
    small = np.minimum(z, 100.0)
    return np.where(z > 100, series / large, np.exp(small) * scipy.special.exp1(small))
