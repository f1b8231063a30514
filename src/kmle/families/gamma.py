"""Positive, skewed numbers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, gamma_entropy, log_poisson
from ..numerics.solvers import gamma_shape
from .scaled_columns import ScaledColumns
from .shapes import as_columns, blocks, join, over_columns
from .support import POSITIVE

# A mean of zero stands for this: finite in every product.
SMALLEST_MEAN = 1e-150


@dataclass(frozen=True)
class Gamma(ScaledColumns):
    """Positive columns with a `shape` and a `scale`: density x^(shape-1) exp(-x/scale) / (Gamma(shape) scale^shape).

    The shape solves log(shape) - psi(shape) = log(mean x) - mean(log x); identical rows would send it to infinity and
    it stops at 1e12.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Gamma().mle([[1.0], [2.0], [4.0]]).source["shape"].round(4)
    array([[3.4012]])
    """

    name: ClassVar = "gamma"
    independent_columns: ClassVar = True
    ordered_cells: ClassVar = True
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"shape": POSITIVE, "scale": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return 2 * n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return join(np.log(X), X)

    def statistic_differences(self, X: Array, row: Array) -> Array:
        gap = X - row
        return join(np.log1p(gap / row), gap)

    def log_normalizer(self, natural: Array) -> Array:
        shape, rate = _shape_rate(natural)
        return np.where(shape > 0, scipy.special.gammaln(shape) - shape * np.log(rate), np.inf).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        shape, rate = _shape_rate(natural)
        return join(scipy.special.digamma(shape) - np.log(rate), shape / rate)

    def natural_from_moment(self, moment: Array) -> Array:
        mean_log, mean = blocks(moment, 2)
        mean = np.maximum(mean, SMALLEST_MEAN)
        shape = gamma_shape(np.log(mean) - mean_log)
        return join(shape - 1, -shape / mean)

    def natural_from_source(self, *, shape: Array, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        shape : array (k, d) or (k,)
            The shape of each column.
        scale : array (k, d) or (k,)
            The scale of each column; the mean is shape times scale.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return join(as_columns(shape) - 1, -1 / as_columns(scale))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        shape, rate = _shape_rate(natural)
        return {"shape": shape, "scale": 1 / rate}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        shape, rate = _shape_rate(natural)
        return np.maximum(rng.gamma(shape, 1 / rate, (size, shape.size)), SMALLEST_MEAN)

    def column_spread(self, natural: Array) -> Array:
        shape, rate = _shape_rate(natural)
        return np.sqrt(shape) / rate

    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        shape, rate = _shape_rate(natural)
        mean = shape / rate
        return join((mean / spread) ** 2 - 1, -mean / spread**2)

    def direct_entropy(self, natural: Array) -> Array:
        shape, rate = _shape_rate(natural)
        return np.asarray((gamma_entropy(shape) - np.log(rate)).sum(axis=-1))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, unless a shape is so large that these would cancel.
        shape, rate = _shape_rate(natural)
        if shape.max() <= LARGE:
            return self.packed_log_density(X, natural)
        return over_columns(_log_density, X, shape, rate)


def _log_density(x: Array, shape: Array, rate: Array) -> Array:
    """A Poisson probability of `shape` events until x, and one more right then."""
    return log_poisson(shape, rate * x) + np.log(shape) - np.log(x)


def _shape_rate(natural: Array) -> tuple[Array, Array]:
    shape_minus_one, minus_rate = blocks(natural, 2)
    return shape_minus_one + 1, -minus_rate
