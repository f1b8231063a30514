"""Positive numbers whose reciprocal follows a gamma distribution."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, gamma_entropy, log_poisson
from ..numerics.solvers import gamma_shape
from .gamma import SMALLEST_MEAN
from .scaled_columns import ScaledColumns
from .shapes import as_columns, blocks, join, over_columns
from .support import POSITIVE


@dataclass(frozen=True)
class InverseGamma(ScaledColumns):
    """Positive columns with a `shape` and a `scale`: density scale^shape / Gamma(shape) x^(-shape-1) exp(-scale/x).

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> InverseGamma().mle([[1.0], [2.0], [4.0]]).source["shape"].round(4)
    array([[3.4012]])
    """

    name: ClassVar = "inverse-gamma"
    independent_columns: ClassVar = True
    ordered_cells: ClassVar = True
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"shape": POSITIVE, "scale": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return 2 * n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return join(np.log(X), 1 / X)

    def statistic_differences(self, X: Array, row: Array) -> Array:
        gap = X - row
        return join(np.log1p(gap / row), -gap / row / X)

    def log_normalizer(self, natural: Array) -> Array:
        shape, scale = _shape_scale(natural)
        return np.where(shape > 0, scipy.special.gammaln(shape) - shape * np.log(scale), np.inf).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        shape, scale = _shape_scale(natural)
        return join(np.log(scale) - scipy.special.digamma(shape), shape / scale)

    def natural_from_moment(self, moment: Array) -> Array:
        mean_log, mean_inverse = blocks(moment, 2)
        mean_inverse = np.maximum(mean_inverse, SMALLEST_MEAN)
        shape = gamma_shape(np.log(mean_inverse) + mean_log)
        return join(-shape - 1, -shape / mean_inverse)

    def natural_from_source(self, *, shape: Array, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        shape : array (k, d) or (k,)
            The shape of each column.
        scale : array (k, d) or (k,)
            The scale of each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return join(-as_columns(shape) - 1, -as_columns(scale))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        shape, scale = _shape_scale(natural)
        return {"shape": shape, "scale": scale}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        shape, scale = _shape_scale(natural)
        return scale / np.maximum(rng.gamma(shape, 1.0, (size, shape.size)), SMALLEST_MEAN)

    def column_spread(self, natural: Array) -> Array:
        shape, scale = _shape_scale(natural)
        return scale / shape**1.5

    def natural_at_spread(self, natural: Array, spread: Array) -> Array:
        shape, scale = _shape_scale(natural)
        harmonic_mean = scale / shape
        shape = (harmonic_mean / spread) ** 2
        return join(-shape - 1, -shape * harmonic_mean)

    def direct_entropy(self, natural: Array) -> Array:
        shape, scale = _shape_scale(natural)
        return np.asarray((gamma_entropy(shape) + np.log(scale) - 2 * scipy.special.digamma(shape)).sum(axis=-1))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, unless a shape is so large that these would cancel.
        shape, scale = _shape_scale(natural)
        if shape.max() <= LARGE:
            return self.packed_log_density(X, natural)
        return over_columns(lambda x, a, b: log_poisson(a, b / x) + np.log(a) - np.log(x), X, shape, scale)


def _shape_scale(natural: Array) -> tuple[Array, Array]:
    minus_shape_minus_one, minus_scale = blocks(natural, 2)
    return -minus_shape_minus_one - 1, -minus_scale
