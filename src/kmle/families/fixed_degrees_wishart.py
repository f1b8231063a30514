"""Random covariance matrices from a known number of rows."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.linear_algebra import inverse_from_cholesky
from ..numerics.packing import pack, pack_dual, packed_length
from ..numerics.special import multivariate_digamma_gap
from .derived import ExponentialFamily
from .matrices import (
    as_degrees,
    as_square,
    fixed_of_squares,
    legal_mean,
    log_determinants,
    natural_matrix,
    packed_inverse,
    square_size,
    wishart_draws,
)
from .support import POSITIVE, PositiveDefinite


@dataclass(frozen=True)
class FixedDegreesWishart(ExponentialFamily):
    """Positive definite matrices of known `degrees`, such as scatter matrices of as many rows; learns the `scale`.

    t(X) = X and the divergence is degrees / 2 times Burg's (log-det). Data is (n, p, p) or rows of p * p numbers.

    Parameters
    ----------
    degrees : float
        The degrees of freedom.
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> FixedDegreesWishart(degrees=4.0).mle([[[1.0]], [[3.0]]])
    fixed-degrees-wishart(scale=0.5)
    """

    degrees: float

    name: ClassVar = "fixed-degrees-wishart"
    support: ClassVar = PositiveDefinite()
    parameters: ClassVar = {"scale": PositiveDefinite()}
    fixed: ClassVar = {"degrees": POSITIVE}

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        size = square_size(X.shape[1])
        as_degrees(np.array(self.degrees), np.eye(size), self.name)
        return fixed_of_squares(super().fixed_from_data(X), X)

    def n_statistics_for(self, n_features: int) -> int:
        return packed_length(square_size(n_features))

    def sufficient_statistic(self, X: Array) -> Array:
        return pack(as_square(X))

    def log_carrier(self, X: Array) -> Array:
        size = square_size(X.shape[-1])
        return self._power(size) * log_determinants(X) - scipy.special.multigammaln(self.degrees / 2, size)

    def _power(self, size: int) -> float:
        """The exponent of |X| in the density."""
        return (self.degrees - size - 1) / 2

    def log_normalizer(self, natural: Array) -> Array:
        return -0.5 * self.degrees * natural_matrix(natural)[1]

    def moment_from_natural(self, natural: Array) -> Array:
        return pack(0.5 * self.degrees * inverse_from_cholesky(natural_matrix(natural)[0]))

    def natural_from_moment(self, moment: Array) -> Array:
        return pack_dual(-0.5 * self.degrees * legal_mean(moment)[0])

    def natural_from_source(self, *, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        scale : array (k, p, p)
            The scale matrices.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        as_degrees(np.array(self.degrees), scale, self.name)
        return packed_inverse(scale, -0.5)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"scale": 0.5 * inverse_from_cholesky(natural_matrix(natural)[0])}

    def mean_log_carrier(self, natural: Array) -> Array:
        factors, log_det = natural_matrix(natural)
        size, half = factors.shape[-1], np.array(self.degrees / 2)
        mean_log_det = multivariate_digamma_gap(half, size) + size * np.log(half) - log_det
        return self._power(size) * mean_log_det - scipy.special.multigammaln(self.degrees / 2, size)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        scale = self.source_from_natural(natural)["scale"]
        return wishart_draws(self.degrees, scale, size, rng).reshape(size, -1)
