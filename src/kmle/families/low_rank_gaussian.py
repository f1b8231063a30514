"""Gaussians whose covariances vary in a few directions, and equally in all others (Tipping and Bishop, 1999).

Mixtures of probabilistic principal component analysers: Sigma_j = U_j (Lambda_j - s_j I) U_j' + s_j I with q
orthonormal columns U_j. The estimate keeps the q largest eigenvalues of the covariance that a component would have
alone; the others become their mean. `engines/low_rank` scores a row with d q products.
"""

from dataclasses import InitVar, dataclass
from typing import ClassVar

import numpy as np

from ..numerics.arrays import Array
from ..numerics.linear_algebra import LARGE, largest_eigenpairs, low_rank_difference
from ..numerics.packing import doubled, pack
from .covariance_models import pooled
from .gaussian import Gaussian, dimension, legal_covariances, lifted_covariances, precision_of
from .structured_gaussian import StructuredGaussian
from .support import Integers


@dataclass(frozen=True)
class LowRankGaussian(StructuredGaussian):
    """Gaussians with `rank` directions of their own and the same variance in all others; `Gaussian(rank=q)` makes one.

    Of d columns each component has d mean and d q - q (q - 1) / 2 + 1 covariance parameters. The variance beside the
    directions is one for all columns, so these should have the same units.

    >>> LowRankGaussian(rank=2, n_features=5).n_parameters
    15
    """

    rank: int = 1

    name: ClassVar = "low-rank-gaussian"
    structure: InitVar[str] = "VVV"
    fixed: ClassVar = {"rank": Integers(1)}

    def __post_init__(self, structure: str) -> None:
        Gaussian.__post_init__(self, structure, None)
        if self.n_features is not None and self.rank >= self.n_features:
            raise ValueError(
                f"rank is {self.rank} for {self.n_features} columns: it must be below their number; "
                "the family gaussian has full covariances"
            )

    @property
    def redundancy(self) -> int:
        d, q = self.n_features or self.rank + 1, self.rank
        return self.n_statistics_for(d) - (d + d * q - q * (q - 1) // 2 + 1)

    def n_parameters_for(self, n_components: int) -> int:
        return n_components * self.n_parameters

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        """The most likely ones of their own, or close to them where the spread bounds them."""
        return self.joint_estimate(np.ones(moment.shape[:-1]), moment, None, spread if spread.any() else None)

    def joint_estimate(self, counts: Array, moments: Array, before: Array | None, spread: Array | None) -> Array:
        """Each component by itself: the most likely covariance of this rank, or close to it where the spread bounds."""
        mean, own = legal_covariances(moments)
        absent = counts <= 0
        if absent.any():
            shares = counts / max(float(counts.sum()), 1e-300)
            own = np.where(absent[..., None, None], pooled(shares, own) if counts.any() else own, own)
        if spread is not None:
            own = lifted_covariances(own, spread)
        values, vectors, rest = low_rank_parts(own, self.rank)
        if spread is not None and (rest < spread.max() ** 2).any():
            factors = np.maximum(narrowness_of_parts(values, vectors, rest, spread), 1.0)
            values, rest = values * factors[..., None], rest * factors
        return natural_of_parts(mean, values, vectors, rest)


def low_rank_parts(covariances: Array, rank: int) -> tuple[Array, Array, Array]:
    """The largest eigenvalues (..., q) of covariances (..., d, d), their vectors (..., d, q), the mean of the others.

    >>> values, _, rest = low_rank_parts(np.diag([9.0, 1.0, 3.0]), 1)
    >>> values, float(rest)
    (array([9.]), 2.0)
    """
    d = covariances.shape[-1]
    values, vectors = largest_eigenpairs(covariances, rank)
    rest = (np.trace(covariances, axis1=-2, axis2=-1) - values.sum(axis=-1)) / (d - rank)
    # Rounding may leave less than nothing beside the largest ones.
    rest = np.clip(rest, 1e-14 * values[..., -1], values[..., -1])
    return values, vectors, np.maximum(rest, 1e-150)


def composed(values: Array, vectors: Array, rest: Array) -> Array:
    """The covariances of their parts."""
    scaled = vectors * (values - rest[..., None])[..., None, :]
    return scaled @ np.swapaxes(vectors, -1, -2) + rest[..., None, None] * np.eye(vectors.shape[-2])


def narrowness_of_parts(values: Array, vectors: Array, rest: Array, spread: Array) -> Array:
    """The largest eigenvalue (...,) of diag(spread) P diag(spread): columns without a spread play no part in it.

    >>> float(narrowness_of_parts(np.array([4.0]), np.array([[1.0], [0.0]]), np.array(0.25), np.array([1.0, 1.0])))
    4.0
    """
    some = np.flatnonzero(spread > 0)
    scaled = vectors[..., some, :] * spread[some, None]
    matrices = np.diag(spread[some] ** 2) / rest[..., None, None]
    matrices = matrices - (scaled * (1 / rest[..., None] - 1 / values)[..., None, :]) @ np.swapaxes(scaled, -1, -2)
    return np.asarray(np.linalg.eigvalsh(matrices)[..., -1])


def natural_of_parts(mean: Array, values: Array, vectors: Array, rest: Array) -> Array:
    """Natural parameters of means and covariances given by their parts: precisions need no inverse."""
    precision = composed(1 / values, vectors, 1 / rest)
    linear = np.einsum("...ij,...j->...i", precision, mean)
    return np.concatenate([linear, -0.5 * doubled(pack(precision))], axis=-1)


def precision_parts(natural: Array, rank: int) -> tuple[Array, Array]:
    """B (..., d, q) and the precision s (...,) beside the directions: P = s I - B B'."""
    d = dimension(natural)
    precision = precision_of(natural)
    exact = low_rank_difference(precision, rank) if d >= LARGE else None
    if exact is not None:
        return exact
    values, vectors = largest_eigenpairs(-precision, rank)
    rest = (np.trace(precision, axis1=-2, axis2=-1) + values.sum(axis=-1)) / (d - rank)
    return vectors * np.sqrt(np.maximum(rest[..., None] + values, 0.0))[..., None, :], rest
