"""Sums of squares with unknown degrees of freedom."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, gamma_entropy, log_poisson
from ..numerics.special import inverse_digamma
from .derived import ExponentialFamily
from .shapes import as_columns, over_columns
from .support import POSITIVE


@dataclass(frozen=True)
class ChiSquare(ExponentialFamily):
    """Sums of squares of `degrees` standard Gaussians, degrees being any positive number: t(x) = log x.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> ChiSquare().mle([[1.0], [2.0], [4.0]]).source["degrees"].round(4)
    array([[2.9233]])
    """

    name: ClassVar = "chi-square"
    independent_columns: ClassVar = True
    support: ClassVar = POSITIVE
    parameters: ClassVar = {"degrees": POSITIVE}

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return np.log(X)

    def log_carrier(self, X: Array) -> Array:
        return -0.5 * X.sum(axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        half = natural + 1
        return np.where(half > 0, half * np.log(2) + scipy.special.gammaln(half), np.inf).sum(axis=-1)

    def moment_from_natural(self, natural: Array) -> Array:
        return np.log(2) + scipy.special.digamma(natural + 1)

    def natural_from_moment(self, moment: Array) -> Array:
        return inverse_digamma(moment - np.log(2)) - 1

    def natural_from_source(self, *, degrees: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        degrees : array (k, d) or (k,)
            The degrees of freedom of each column.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return 0.5 * as_columns(degrees) - 1

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"degrees": 2 * (natural + 1)}

    def mean_log_carrier(self, natural: Array) -> Array:
        return -(natural + 1).sum(axis=-1)

    def direct_entropy(self, natural: Array) -> Array:
        return np.asarray((gamma_entropy(natural + 1) + np.log(2)).sum(axis=-1))

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, unless these would cancel, as they do for many degrees.
        if natural.max() <= LARGE:
            return self.packed_log_density(X, natural)
        return over_columns(lambda x, a: log_poisson(a, 0.5 * x) + np.log(a) - np.log(x), X, natural + 1)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        return np.maximum(rng.chisquare(2 * (natural + 1), (size, natural.size)), 1e-300)
