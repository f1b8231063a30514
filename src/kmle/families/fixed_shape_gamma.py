"""Sums of a known number of waiting times."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from .scale_family import ScaleFamily
from .shapes import as_columns
from .support import POSITIVE


@dataclass(frozen=True)
class FixedShapeGamma(ScaleFamily):
    """Positive numbers with a gamma distribution of known shape a: density x^(a-1) exp(-x/scale) / (Gamma(a) scale^a).

    Parameters
    ----------
    shape : float
        The shape.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> FixedShapeGamma(shape=2.0).mle([[1.0], [3.0]])
    fixed-shape-gamma(scale=1)
    """

    shape: float

    name: ClassVar = "fixed-shape-gamma"
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"scale": POSITIVE}
    fixed: ClassVar = {"shape": POSITIVE}

    @property
    def statistic_shape(self) -> float:
        return self.shape

    @property
    def log_constant(self) -> float:
        return 0.0

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_carrier(self, X: Array) -> Array:
        return ((self.shape - 1) * np.log(X) - scipy.special.gammaln(self.shape)).sum(axis=-1)

    def natural_from_source(self, *, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        scale : array (k, d) or (k,)
            The scale of each column; the mean is shape times scale.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return -1 / as_columns(scale)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": -1 / natural}

    def mean_log_carrier(self, natural: Array) -> Array:
        return ((self.shape - 1) * self.mean_log_statistic(natural) - scipy.special.gammaln(self.shape)).sum(axis=-1)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.sample_statistic(natural, size, rng)
