"""Failures before the first success."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .negative_binomial import SMALLEST_MEAN
from .shapes import as_columns
from .support import COUNTS, Interval


@dataclass(frozen=True)
class Geometric(ExponentialFamily):
    """Failures before the first success: each column x in {0, 1, 2, ...} has probability p (1 - p)^x.

    For the convention that counts tries (1, 2, ...), subtract one from the data.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Geometric().mle([[1], [3]]).source["probability"]
    array([[0.33333333]])
    """

    name: ClassVar = "geometric"
    independent_columns: ClassVar = True
    sparse: ClassVar = True
    support: ClassVar = COUNTS
    parameters: ClassVar = {"probability": Interval(0.0, 1.0, closed_lower=False)}

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_normalizer(self, natural: Array) -> Array:
        return -np.log(-np.expm1(natural)).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        return 1 / np.expm1(-natural)

    def natural_from_moment(self, moment: Array) -> Array:
        return -np.log1p(1 / np.maximum(moment, SMALLEST_MEAN))

    def natural_from_source(self, *, probability: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        probability : array (k, d) or (k,)
            The chance of success of each trial, by column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        probability = as_columns(probability)
        return np.log1p(-np.where(probability == 1, 1 - SMALLEST_MEAN, probability))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"probability": -np.expm1(natural)}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return rng.geometric(-np.expm1(natural), (size, natural.size)).astype(float) - 1
