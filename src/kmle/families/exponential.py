"""Waiting times without memory."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from .scale_family import ScaleFamily
from .shapes import as_columns
from .support import NON_NEGATIVE, POSITIVE


@dataclass(frozen=True)
class Exponential(ScaleFamily):
    """Waiting times: each column x >= 0 has log-density log(rate) - rate x; its dual divergence is Itakura-Saito.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Exponential().mle([[1.0], [3.0]])
    exponential(rate=0.5)
    """

    name: ClassVar = "exponential"
    support: ClassVar = NON_NEGATIVE
    parameters: ClassVar = {"rate": POSITIVE}

    @property
    def statistic_shape(self) -> float:
        return 1.0

    @property
    def log_constant(self) -> float:
        return 0.0

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def natural_from_source(self, *, rate: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        rate : array (k, d) or (k,)
            The rate of each column, one over its mean.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return -as_columns(rate)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"rate": -natural}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.sample_statistic(natural, size, rng)
