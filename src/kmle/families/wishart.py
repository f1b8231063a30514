"""Random covariance matrices."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from ..numerics.arrays import Array
from ..numerics.linear_algebra import inverse_from_cholesky
from ..numerics.packing import pack, pack_dual, packed_length
from ..numerics.solvers import wishart_half_degrees
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
from .shapes import as_matrices
from .support import POSITIVE, PositiveDefinite


@dataclass(frozen=True)
class Wishart(ExponentialFamily):
    """Positive definite matrices such as covariances, with `degrees` of freedom and a `scale` matrix, both learned.

    t(X) = (log|X|, X); data is (n, p, p) or rows of p * p numbers. Identical matrices would send the degrees to
    infinity; they stop at 2e12.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Wishart().mle([[[1.0]], [[2.0]], [[4.0]]]).source["degrees"].round(4)
    array([6.8024])
    """

    name: ClassVar = "wishart"
    support: ClassVar = PositiveDefinite()
    parameters: ClassVar = {"degrees": POSITIVE, "scale": PositiveDefinite()}

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        return fixed_of_squares(super().fixed_from_data(X), X)

    def n_statistics_for(self, n_features: int) -> int:
        return 1 + packed_length(square_size(n_features))

    def sufficient_statistic(self, X: Array) -> Array:
        return np.concatenate([log_determinants(X)[..., None], pack(as_square(X))], axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        factors, log_det = natural_matrix(natural[..., 1:])
        size = factors.shape[-1]
        half = natural[..., 0] + (size + 1) / 2
        return -half * log_det + log_multigamma(half, size)

    def moment_from_natural(self, natural: Array) -> Array:
        factors, log_det = natural_matrix(natural[..., 1:])
        size = factors.shape[-1]
        half = natural[..., 0] + (size + 1) / 2
        mean_log_det = multivariate_digamma_gap(half, size) + size * np.log(half) - log_det
        mean = half[..., None, None] * inverse_from_cholesky(factors)
        return np.concatenate([mean_log_det[..., None], pack(mean)], axis=-1)

    def natural_from_moment(self, moment: Array) -> Array:
        inverse, log_det = legal_mean(moment[..., 1:])
        size = inverse.shape[-1]
        half = wishart_half_degrees(moment[..., 0] - log_det, size)
        matrix = pack_dual(-half[..., None, None] * inverse)
        return np.concatenate([(half - (size + 1) / 2)[..., None], matrix], axis=-1)

    def natural_from_source(self, *, degrees: Array, scale: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        degrees : array (k,)
            The degrees of freedom.
        scale : array (k, p, p)
            The scale matrices.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        degrees = as_degrees(degrees, scale, self.name)
        size = as_matrices(scale).shape[-1]
        return np.concatenate([((degrees - size - 1) / 2)[:, None], packed_inverse(scale, -0.5)], axis=-1)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        factors, _ = natural_matrix(natural[..., 1:])
        degrees = 2 * natural[..., 0] + factors.shape[-1] + 1
        return {"degrees": degrees, "scale": 0.5 * inverse_from_cholesky(factors)}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        source = self.source_from_natural(natural)
        return wishart_draws(float(source["degrees"]), source["scale"], size, rng).reshape(size, -1)


def log_multigamma(half: Array, size: int) -> Array:
    """The multivariate log-gamma function, infinite outside its domain."""
    legal = half > (size - 1) / 2
    return np.where(legal, scipy.special.multigammaln(np.where(legal, half, size), size), np.inf)
