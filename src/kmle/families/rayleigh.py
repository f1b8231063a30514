"""Amplitudes of two-dimensional noise."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from .scale_family import ScaleFamily
from .shapes import as_columns
from .support import POSITIVE


@dataclass(frozen=True)
class Rayleigh(ScaleFamily):
    """Amplitudes, as in ultrasound: each column x > 0 has density x / scale^2 exp(-x^2 / (2 scale^2)).

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Rayleigh().mle([[1.0], [2.0], [3.0]])
    rayleigh(scale=1.52753)
    """

    name: ClassVar = "rayleigh"
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"scale": POSITIVE}

    @property
    def statistic_shape(self) -> float:
        return 1.0

    @property
    def log_constant(self) -> float:
        return float(np.log(2.0))

    def sufficient_statistic(self, X: Array) -> Array:
        return X * X

    def log_carrier(self, X: Array) -> Array:
        return np.log(X).sum(axis=-1)

    def natural_from_source(self, *, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        scale : array (k, d) or (k,)
            The scale of each column, where the density is highest.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return -0.5 / as_columns(scale) ** 2

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": np.sqrt(-0.5 / natural)}

    def mean_log_carrier(self, natural: Array) -> Array:
        return 0.5 * self.mean_log_statistic(natural).sum(axis=-1)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return np.sqrt(self.sample_statistic(natural, size, rng))
