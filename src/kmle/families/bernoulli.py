"""Yes-or-no answers."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .shapes import as_columns
from .support import UNIT_CLOSED, Integers

# Probabilities are kept this far from zero and one, so a constant column is legal and finite in every product.
SMALLEST_PROBABILITY = 1e-12


@dataclass(frozen=True)
class Bernoulli(ExponentialFamily):
    """Binary columns: each x in {0, 1} has log-density x log(p) + (1 - x) log(1 - p), p being the `probability`.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Bernoulli().mle([[1, 0], [1, 1]]).source["probability"].round(6)
    array([[1. , 0.5]])
    """

    name: ClassVar = "bernoulli"
    independent_columns: ClassVar = True
    support: ClassVar = Integers(0, 1)
    sparse: ClassVar = True
    parameters: ClassVar = {"probability": UNIT_CLOSED}

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return X

    def log_normalizer(self, natural: Array) -> Array:
        return np.logaddexp(0, natural).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        return scipy.special.expit(natural)

    def natural_from_moment(self, moment: Array) -> Array:
        return scipy.special.logit(np.clip(moment, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))

    def natural_from_source(self, *, probability: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        probability : array (k, d) or (k,)
            The chance of a one in each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return logit(as_columns(probability))

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"probability": scipy.special.expit(natural)}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return (rng.random((size, natural.size)) < scipy.special.expit(natural)).astype(float)


def logit(probability: Array) -> Array:
    """log(p / (1 - p)); zero and one stand for the smallest and largest probability."""
    outside = np.clip(probability, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY)
    return np.asarray(scipy.special.logit(np.where((probability == 0) | (probability == 1), outside, probability)))
