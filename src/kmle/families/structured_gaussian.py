"""Gaussians whose covariances share volume, shape or orientation (Celeux and Govaert, 1995; mclust's fourteen models).

`Gaussian(structure="VEV")` makes one. Components are ordinary Gaussians, full, diagonal or round; what they share lives
in the joint estimate alone.
"""

from abc import abstractmethod
from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np

from .._kernels import COVARIANCE_MODELS, MixtureStep, Progress
from ..numerics.arrays import Array
from ..numerics.linear_algebra import cholesky_or_nan, solve_lower
from . import diagonal_gaussian, spherical_gaussian
from .covariance_models import (
    axes_of,
    common_axes,
    determinant_root,
    equal_shapes,
    equal_up_to_volume,
    equal_volume_matrices,
    equal_volumes,
    geometric_mean,
    n_covariance_parameters,
    own_axes,
    pooled,
)
from .derived import ExponentialFamily
from .diagonal_gaussian import DiagonalGaussian
from .gaussian import Gaussian, legal_covariances, lifted_covariances, natural_of, precision_of
from .shapes import blocks
from .spherical_gaussian import SphericalGaussian


@dataclass(frozen=True)
class Structured(ExponentialFamily):
    """What the covariance models share: their names, how parameters are counted, and the frame of the estimate."""

    structure: ClassVar[str]
    joint: ClassVar = True

    def n_parameters_for(self, n_components: int) -> int:
        d = self.n_features or 1
        return n_components * d + n_covariance_parameters(self.structure, d, n_components)

    def mixture_step(self, *given: Any) -> MixtureStep | None:
        return None

    def mixture_steps(self, *given: Any) -> Progress | None:
        return None

    def joint_estimate(self, counts: Array, moments: Array, before: Array | None, spread: Array | None) -> Array:
        """Exact for EII, EEI and EEE. Elsewhere components that would be narrower than `spread` are widened: first
        their own covariances, then, where sharing undoes that, the volumes.
        """
        shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1e-300)
        mean, own = self.own_covariances(moments)
        absent = counts <= 0
        together = pooled(shares, own)
        if absent.any():
            own = np.where(absent[(..., *(None,) * (own.ndim - absent.ndim))], together, own)
        if self.structure[0] == self.structure[1] == "E" and self.structure[2] in "IE":
            return self.natural_at(mean, np.broadcast_to(self.widened(together, spread), own.shape))
        covariances = self.shared(shares, self.widened(own, spread), before)
        return self.natural_at(mean, self.resized(covariances, spread))

    def resized(self, covariances: Array, spread: Array | None) -> Array:
        """Covariances with volumes so large that no component is narrower than the spread."""
        if spread is None:
            return covariances
        factors = np.maximum(self.narrowness(covariances, spread), 1.0)
        if self.structure[0] == "E":
            factors = factors.max(axis=-1, keepdims=True)
        return covariances * factors[(..., *(None,) * (covariances.ndim - factors.ndim))]

    @abstractmethod
    def own_covariances(self, moments: Array) -> tuple[Array, Array]:
        """Means (..., k, d), and the covariances that components would have alone, as `shared` takes them."""

    @abstractmethod
    def widened(self, own: Array, spread: Array | None) -> Array:
        """Covariances that are no narrower than the spread, each alone."""

    @abstractmethod
    def shared(self, shares: Array, own: Array, before: Array | None) -> Array:
        """The covariances of the model, for those that components would have alone."""

    @abstractmethod
    def narrowness(self, covariances: Array, spread: Array) -> Array:
        """By which factor (..., k) volumes have to grow at least, or less than one where they need not."""

    @abstractmethod
    def natural_at(self, mean: Array, covariances: Array) -> Array:
        """Natural parameters."""


@dataclass(frozen=True)
class StructuredGaussian(Structured, Gaussian):
    """Gaussians with full covariances that share volume, shape or orientation."""

    def joint_estimate(self, counts: Array, moments: Array, before: Array | None, spread: Array | None) -> Array:
        """Compiled where no component is close to a bound; the formulas of `Structured` serve the others."""
        shape = moments.shape
        counts, stacked = counts.reshape(-1, shape[-2]), moments.reshape(-1, *shape[-2:])
        start = None if before is None else before.reshape(stacked.shape)
        models = np.full(len(counts), COVARIANCE_MODELS.index(self.structure), dtype=np.int32)
        from .model_estimates import estimates_of_models  # they are made of these families

        found = estimates_of_models(models, counts, stacked, start, spread)
        if start is not None and not np.isfinite(found).all():
            # A likelihood without a bound leaves double precision: the mixture keeps what it has.
            lost = (~np.isfinite(found).all(axis=-1) & (counts > 0)).any(axis=-1) & np.isfinite(start).all(
                axis=(-2, -1)
            )
            found[lost] = start[lost]
        return found.reshape(shape)

    def own_covariances(self, moments: Array) -> tuple[Array, Array]:
        return legal_covariances(moments)

    def widened(self, own: Array, spread: Array | None) -> Array:
        return own if spread is None else lifted_covariances(own, spread)

    def shared(self, shares: Array, own: Array, before: Array | None) -> Array:
        match self.structure:
            case "VEE":
                return equal_up_to_volume(shares, own, self._volumes(own, before))
            case "EVE" | "VVE":
                axes = axes_of(shares, own if before is None else precision_of(before))
                return common_axes(shares, own, axes, self.structure == "EVE")
            case "EEV":
                return own_axes(shares, own, None)
            case "VEV":
                return own_axes(shares, own, self._volumes(own, before))
            case _:
                return equal_volume_matrices(shares, own)

    def _volumes(self, own: Array, before: Array | None) -> Array:
        """The volumes (..., k) to begin with."""
        if before is None:
            return np.trace(own, axis1=-2, axis2=-1) / own.shape[-1]
        return 1 / determinant_root(precision_of(before))

    def narrowness(self, covariances: Array, spread: Array) -> Array:
        factors = cholesky_or_nan(covariances)
        whitened = np.stack([solve_lower(factors, column) for column in _columns(factors, spread)], axis=-1)
        # A matrix beyond double precision has no factor and is not resized: its component is NaN, and drops out.
        return np.linalg.norm(np.nan_to_num(whitened), ord=2, axis=(-2, -1)) ** 2

    def natural_at(self, mean: Array, covariances: Array) -> Array:
        return natural_of(mean, cholesky_or_nan(covariances))


def _columns(factors: Array, spread: Array) -> Array:
    """The columns of diag(spread), each (..., d)."""
    return np.broadcast_to(
        np.diag(spread)[(slice(None), *(None,) * (factors.ndim - 2))], (len(spread), *factors.shape[:-1])
    )


@dataclass(frozen=True)
class StructuredDiagonalGaussian(Structured, DiagonalGaussian):
    """Gaussians with independent columns whose variances share volume or shape."""

    def own_covariances(self, moments: Array) -> tuple[Array, Array]:
        return diagonal_gaussian.mean_variance_of(moments)

    def widened(self, own: Array, spread: Array | None) -> Array:
        return own if spread is None else np.maximum(own, spread**2)

    def shared(self, shares: Array, own: Array, before: Array | None) -> Array:
        if self.structure == "EVI":
            return equal_volumes(shares, own)
        volumes = own.mean(axis=-1) if before is None else geometric_mean(-0.5 / blocks(before, 2)[1])
        return equal_shapes(shares, own, volumes)

    def narrowness(self, covariances: Array, spread: Array) -> Array:
        return np.asarray((spread**2 / covariances).max(axis=-1))

    def natural_at(self, mean: Array, covariances: Array) -> Array:
        return diagonal_gaussian.natural_of(mean, covariances)


@dataclass(frozen=True)
class GaussianEII(Structured, SphericalGaussian):
    """Round Gaussians of one variance.

    >>> GaussianEII(n_features=4).n_parameters_for(3)
    13
    """

    name: ClassVar = "gaussian-eii"
    structure: ClassVar = "EII"

    def own_covariances(self, moments: Array) -> tuple[Array, Array]:
        return spherical_gaussian.mean_variance_of(moments)

    def widened(self, own: Array, spread: Array | None) -> Array:
        return own if spread is None else np.maximum(own, spread.max() ** 2)

    def shared(self, shares: Array, own: Array, before: Array | None) -> Array:
        return np.broadcast_to(pooled(shares, own), own.shape)

    def narrowness(self, covariances: Array, spread: Array) -> Array:
        return spread.max() ** 2 / covariances

    def natural_at(self, mean: Array, covariances: Array) -> Array:
        return spherical_gaussian.natural_of(mean, covariances)


@dataclass(frozen=True)
class GaussianEEI(StructuredDiagonalGaussian):
    """Gaussians with independent columns and the same variances."""

    name: ClassVar = "gaussian-eei"
    structure: ClassVar = "EEI"


@dataclass(frozen=True)
class GaussianVEI(StructuredDiagonalGaussian):
    """Gaussians with independent columns: variances of one shape, volumes of their own."""

    name: ClassVar = "gaussian-vei"
    structure: ClassVar = "VEI"


@dataclass(frozen=True)
class GaussianEVI(StructuredDiagonalGaussian):
    """Gaussians with independent columns: variances of one volume, shapes of their own."""

    name: ClassVar = "gaussian-evi"
    structure: ClassVar = "EVI"


@dataclass(frozen=True)
class GaussianEEE(StructuredGaussian):
    """Gaussians with the same covariance."""

    name: ClassVar = "gaussian-eee"
    structure: InitVar[str] = "EEE"


@dataclass(frozen=True)
class GaussianVEE(StructuredGaussian):
    """Gaussians with one covariance but for its volume."""

    name: ClassVar = "gaussian-vee"
    structure: InitVar[str] = "VEE"


@dataclass(frozen=True)
class GaussianEVE(StructuredGaussian):
    """Gaussians with the same axes and volume, and shapes of their own."""

    name: ClassVar = "gaussian-eve"
    structure: InitVar[str] = "EVE"


@dataclass(frozen=True)
class GaussianVVE(StructuredGaussian):
    """Gaussians with the same axes; volumes and shapes are their own."""

    name: ClassVar = "gaussian-vve"
    structure: InitVar[str] = "VVE"


@dataclass(frozen=True)
class GaussianEEV(StructuredGaussian):
    """Gaussians with the same volume and shape, each turned in its own way."""

    name: ClassVar = "gaussian-eev"
    structure: InitVar[str] = "EEV"


@dataclass(frozen=True)
class GaussianVEV(StructuredGaussian):
    """Gaussians with the same shape; volumes and axes are their own."""

    name: ClassVar = "gaussian-vev"
    structure: InitVar[str] = "VEV"


@dataclass(frozen=True)
class GaussianEVV(StructuredGaussian):
    """Gaussians with the same volume; shapes and axes are their own."""

    name: ClassVar = "gaussian-evv"
    structure: InitVar[str] = "EVV"


# By mclust's names; those that share nothing are the plain families.
MODELS: dict[str, type[ExponentialFamily]] = {
    "EII": GaussianEII,
    "VII": SphericalGaussian,
    "EEI": GaussianEEI,
    "VEI": GaussianVEI,
    "EVI": GaussianEVI,
    "VVI": DiagonalGaussian,
    "EEE": GaussianEEE,
    "VEE": GaussianVEE,
    "EVE": GaussianEVE,
    "VVE": GaussianVVE,
    "EEV": GaussianEEV,
    "VEV": GaussianVEV,
    "EVV": GaussianEVV,
    "VVV": Gaussian,
}
# Of one column.
MODELS_OF_ONE_COLUMN = {"E": "EII", "V": "VII"}


def structured(structure: str, n_features: int | None = None) -> ExponentialFamily:
    """The family of one of the fourteen models; "E" and "V" are those of one column.

    >>> structured("VEV")
    GaussianVEV(n_features=None)
    """
    name = MODELS_OF_ONE_COLUMN.get(structure, structure)
    if name not in MODELS:
        raise ValueError(f"structure is {structure!r}: it must be one of {', '.join(MODELS)}, or E or V for one column")
    return MODELS[name](n_features=n_features)


def structure_of(family: ExponentialFamily) -> str | None:
    """The model that a family is, by mclust's name; None where it is none.

    >>> structure_of(DiagonalGaussian())
    'VVI'
    """
    return next((name for name, kind in MODELS.items() if type(family) is kind), None)
