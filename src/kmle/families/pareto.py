"""Sizes with a power-law tail."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from .scale_family import ScaleFamily
from .shapes import as_columns
from .support import POSITIVE, Interval, Support


@dataclass(frozen=True)
class Pareto(ScaleFamily):
    """Sizes above a known minimum: density shape minimum^shape / x^(shape + 1) in each column.

    Parameters
    ----------
    minimum : float, default=1.0
        The smallest possible value.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Pareto(minimum=1.0).mle([[1.0], [np.e]])
    pareto(shape=2)
    """

    minimum: float = 1.0

    name: ClassVar = "pareto"
    parameters: ClassVar = {"shape": POSITIVE}
    fixed: ClassVar = {"minimum": POSITIVE}

    @property
    def support(self) -> Support:
        return Interval(self.minimum)

    @property
    def statistic_shape(self) -> float:
        return 1.0

    @property
    def log_constant(self) -> float:
        return 0.0

    @property
    def edge(self) -> float:
        return self.minimum

    def sufficient_statistic(self, X: Array) -> Array:
        return np.log(X / self.minimum)

    def log_carrier(self, X: Array) -> Array:
        return -np.log(X).sum(axis=-1)

    def natural_from_source(self, *, shape: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        shape : array (k, d) or (k,)
            The shape of each column, the power with which its tail falls.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return -as_columns(shape)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"shape": -natural}

    def mean_log_carrier(self, natural: Array) -> Array:
        return -(self.moment_from_natural(natural) + np.log(self.minimum)).sum(axis=-1)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return self.minimum * np.exp(np.minimum(self.sample_statistic(natural, size, rng), 700.0))
