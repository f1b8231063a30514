"""Magnitudes of centered Gaussian errors."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from .scale_family import ScaleFamily
from .shapes import as_columns
from .support import NON_NEGATIVE, POSITIVE


@dataclass(frozen=True)
class HalfNormal(ScaleFamily):
    """Magnitudes |z| of centered Gaussian errors z of standard deviation `scale`, on x >= 0.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> HalfNormal().mle([[3.0], [4.0]])
    half-normal(scale=3.53553)
    """

    name: ClassVar = "half-normal"
    support: ClassVar = NON_NEGATIVE
    parameters: ClassVar = {"scale": POSITIVE}

    @property
    def statistic_shape(self) -> float:
        return 0.5

    @property
    def log_constant(self) -> float:
        return 0.5 * float(np.log(4 / np.pi))

    def sufficient_statistic(self, X: Array) -> Array:
        return X * X

    def natural_from_source(self, *, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        scale : array (k, d) or (k,)
            The standard deviation of the normal distribution before its sign is dropped, by column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return -0.5 / as_columns(scale) ** 2

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": np.sqrt(-0.5 / natural)}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return np.sqrt(self.sample_statistic(natural, size, rng))
