"""Random covariance matrices, seen from the prior side."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..numerics.arrays import Array
from ..numerics.linear_algebra import inverse_from_cholesky
from ..numerics.packing import pack, pack_dual, packed_length, unpack_dual
from ..numerics.solvers import wishart_half_degrees
from ..numerics.special import multivariate_digamma_gap
from .derived import ExponentialFamily
from .matrices import (
    as_degrees,
    fixed_of_squares,
    inverse_rows,
    inverse_wishart_draws,
    legal_mean,
    log_determinants,
    natural_matrix,
    square_size,
)
from .shapes import as_matrices
from .support import POSITIVE, PositiveDefinite
from .wishart import log_multigamma


@dataclass(frozen=True)
class InverseWishart(ExponentialFamily):
    """Positive definite matrices whose inverse follows a Wishart distribution; `degrees` and `scale` matrix are both
    learned.

    t(X) = (log|X|, X^-1); data is (n, p, p) or rows of p * p numbers. Degrees stop at 2e12.

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> InverseWishart().mle([[[1.0]], [[2.0]], [[4.0]]]).source["degrees"].round(4)
    array([6.8024])
    """

    name: ClassVar = "inverse-wishart"
    support: ClassVar = PositiveDefinite()
    parameters: ClassVar = {"degrees": POSITIVE, "scale": PositiveDefinite()}

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        return fixed_of_squares(super().fixed_from_data(X), X)

    def n_statistics_for(self, n_features: int) -> int:
        return 1 + packed_length(square_size(n_features))

    def sufficient_statistic(self, X: Array) -> Array:
        return np.concatenate([log_determinants(X)[..., None], pack(inverse_rows(X))], axis=-1)

    def log_normalizer(self, natural: Array) -> Array:
        factors, log_det = natural_matrix(natural[..., 1:])
        size = factors.shape[-1]
        half = -natural[..., 0] - (size + 1) / 2
        return -half * log_det + log_multigamma(half, size)

    def moment_from_natural(self, natural: Array) -> Array:
        factors, log_det = natural_matrix(natural[..., 1:])
        size = factors.shape[-1]
        half = -natural[..., 0] - (size + 1) / 2
        mean_log_det = log_det - multivariate_digamma_gap(half, size) - size * np.log(half)
        mean = half[..., None, None] * inverse_from_cholesky(factors)
        return np.concatenate([mean_log_det[..., None], pack(mean)], axis=-1)

    def natural_from_moment(self, moment: Array) -> Array:
        inverse, log_det = legal_mean(moment[..., 1:])
        size = inverse.shape[-1]
        half = wishart_half_degrees(-moment[..., 0] - log_det, size)
        matrix = pack_dual(-half[..., None, None] * inverse)
        return np.concatenate([-(half + (size + 1) / 2)[..., None], matrix], axis=-1)

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
        degrees, matrices = as_degrees(degrees, scale, self.name), as_matrices(scale)
        first = -(degrees + matrices.shape[-1] + 1) / 2
        return np.concatenate([first[:, None], pack_dual(-0.5 * matrices)], axis=-1)

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        scale = -2 * unpack_dual(natural[..., 1:])
        return {"degrees": -2 * natural[..., 0] - scale.shape[-1] - 1, "scale": scale}

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        source = self.source_from_natural(natural)
        return inverse_wishart_draws(float(source["degrees"]), source["scale"], size, rng).reshape(size, -1)
