"""Means and covariances of components.

`means` and `covariances` dispatch on the family; a family of independent columns that SciPy does not know is
integrated numerically.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import singledispatch

import numpy as np

from ..families import (
    Categorical,
    ComponentFamilies,
    Dirichlet,
    ExponentialFamily,
    FixedCovarianceGaussian,
    FixedDegreesInverseWishart,
    FixedDegreesWishart,
    Gaussian,
    InverseWishart,
    Multinomial,
    PointMass,
    Product,
    SphericalGaussian,
    StudentT,
    Uniform,
    VonMises,
    VonMisesFisher,
    Wishart,
)
from ..families.shaped import Shaped
from ..numerics.arrays import Array
from .marginals import product_parts
from .twins import column_twin


@singledispatch
def means(family: ExponentialFamily, natural: Array) -> Array:
    """E[x], (..., d); infinite or NaN where there is none."""
    if family.independent_columns:
        return _column_moments(family, natural)[0]
    raise ValueError(f"{family.name} has no mean in closed form: use expectation(f)")


@singledispatch
def covariances(family: ExponentialFamily, natural: Array) -> Array:
    """The covariance of x, (..., d, d); infinite or NaN where there is none."""
    if family.independent_columns:
        return _diagonal(_column_moments(family, natural)[1])
    raise ValueError(f"{family.name} has no covariance in closed form: use expectation(f)")


def _diagonal(variances: Array) -> Array:
    whole = np.zeros((*variances.shape, variances.shape[-1]))
    places = np.arange(variances.shape[-1])
    whole[..., places, places] = variances
    return whole


def _column_moments(family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
    """Means and variances (..., d) of independent columns."""
    twin = column_twin(family, natural)
    if twin is not None:
        return np.asarray(twin.mean(), dtype=float), np.asarray(twin.var(), dtype=float)
    if isinstance(family, Shaped):
        # Each distribution is one of an exponential family, which may have formulas.
        members = family.members(natural.reshape(-1, natural.shape[-1]))
        each = np.array([[_column_moments(own, theta) for own, theta in columns] for columns in members])
        mean, variance = np.moveaxis(each.reshape(*natural.shape[:-1], -1, 2), -1, 0)
        return mean, variance
    thetas = np.moveaxis(natural.reshape(*natural.shape[:-1], family.n_statistics_for(1), -1), -1, -2)
    found = np.empty((2, *thetas.shape[:-1]))
    for index in np.ndindex(thetas.shape[:-1]):
        x, mass = weighted_nodes(family, thetas[index])
        mean = mass @ x
        found[(0, *index)], found[(1, *index)] = mean, mass @ (x - mean) ** 2
    return found[0], found[1]


def weighted_nodes(family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
    """Points (m,) and masses that sum to one, of one distribution (D,) on one column: sum(mass * g(x)) is E[g(x)]."""
    if isinstance(family, Categorical):
        return np.arange(len(natural), dtype=float), family.source_from_natural(natural[None])["probabilities"][0]
    if isinstance(family, Uniform):
        x = family.midpoints()
        return x, np.full(len(x), 1 / len(x))
    x, weights = family.nodes(natural)
    one = replace(family, n_features=1)
    direct = one.direct_log_density(x[:, None], natural[None])
    height = (
        one.sufficient_statistic(x[:, None]) @ natural + one.log_carrier(x[:, None]) if direct is None else direct[:, 0]
    )
    mass = weights * np.exp(height - height.max())
    return x, mass / mass.sum()


@means.register(Gaussian)
@means.register(SphericalGaussian)
@means.register(FixedCovarianceGaussian)
def _(family: ExponentialFamily, natural: Array) -> Array:
    return family.source_from_natural(natural)["mean"]


@covariances.register
def _(family: Gaussian, natural: Array) -> Array:
    return family.source_from_natural(natural)["covariance"]


@covariances.register
def _(family: SphericalGaussian, natural: Array) -> Array:
    variance = family.source_from_natural(natural)["variance"]
    return _diagonal(np.broadcast_to(variance[..., None], (*variance.shape, natural.shape[-1] - 1)))


@covariances.register
def _(family: FixedCovarianceGaussian, natural: Array) -> Array:
    table = np.asarray(family.covariance, dtype=float)
    whole = table if table.ndim == 2 else np.diag(np.broadcast_to(table, natural.shape[-1]))
    return np.broadcast_to(whole, (*natural.shape[:-1], *whole.shape))


@means.register
def _(family: Dirichlet, natural: Array) -> Array:
    concentration = family.source_from_natural(natural)["concentration"]
    return concentration / concentration.sum(axis=-1, keepdims=True)


@covariances.register
def _(family: Dirichlet, natural: Array) -> Array:
    total = family.source_from_natural(natural)["concentration"].sum(axis=-1)
    return _of_proportions(means(family, natural)) / (total + 1)[..., None, None]


def _of_proportions(mean: Array) -> Array:
    """diag(p) - p p^T."""
    return _diagonal(mean) - mean[..., :, None] * mean[..., None, :]


@means.register
def _(family: Multinomial, natural: Array) -> Array:
    return _trials(family) * family.source_from_natural(natural)["probabilities"]


@covariances.register
def _(family: Multinomial, natural: Array) -> Array:
    return _trials(family) * _of_proportions(family.source_from_natural(natural)["probabilities"])


def _trials(family: Multinomial) -> int:
    if family.trials is None:
        raise ValueError("these rows had different totals: use a Multinomial with `trials` set to one total")
    return family.trials


@means.register(Categorical)
@covariances.register(Categorical)
def _(family: Categorical, natural: Array) -> Array:
    raise ValueError(
        "categories have no mean and no covariance: use source['probabilities'], or marginal of other columns"
    )


@means.register(VonMises)
@covariances.register(VonMises)
def _(family: VonMises, natural: Array) -> Array:
    raise ValueError("angles have no mean and no covariance on the line: use expectation of their cosine and sine")


@means.register
def _(family: VonMisesFisher, natural: Array) -> Array:
    return family.moment_from_natural(natural)


@covariances.register
def _(family: VonMisesFisher, natural: Array) -> Array:
    """grad^2 F, which is radial: A' along the direction and A / kappa across it (Mardia and Jupp 2000, 9.3.2)."""
    source, mean = family.source_from_natural(natural), family.moment_from_natural(natural)
    direction, kappa, d = source["direction"], source["concentration"], natural.shape[-1]
    length = np.linalg.norm(mean, axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        across = np.where(kappa > 0, length / kappa, 1 / d)
    along = 1 - length**2 - (d - 1) * across
    outer = direction[..., :, None] * direction[..., None, :]
    return across[..., None, None] * (np.eye(d) - outer) + along[..., None, None] * outer


@means.register
def _(family: ComponentFamilies, natural: Array) -> Array:
    return np.concatenate([means(own, theta[None]) for own, theta in family.members(natural)])


@covariances.register
def _(family: ComponentFamilies, natural: Array) -> Array:
    return np.concatenate([covariances(own, theta[None]) for own, theta in family.members(natural)])


@means.register
def _(family: StudentT, natural: Array) -> Array:
    location, _, degrees = family.parts(natural)
    return np.where(degrees[..., None] > 1, location, np.nan)


@covariances.register
def _(family: StudentT, natural: Array) -> Array:
    """Infinite up to two degrees of freedom."""
    scale, degrees = family.source_from_natural(natural)["scale"], family.parts(natural).degrees[..., None, None]
    with np.errstate(divide="ignore"):
        return np.where(degrees > 2, degrees / np.maximum(degrees - 2, 0.0) * scale, np.inf)


@means.register
def _(family: Uniform, natural: Array) -> Array:
    low, high = _box(family)
    return np.broadcast_to(0.5 * (low + high), (*natural.shape[:-1], low.size))


@covariances.register
def _(family: Uniform, natural: Array) -> Array:
    low, high = _box(family)
    return _diagonal(np.broadcast_to((high - low) ** 2 / 12, (*natural.shape[:-1], low.size)))


def _box(family: Uniform) -> tuple[Array, Array]:
    if family.everywhere:
        raise ValueError("noise over all rows has no moments: use the components other than the noise")
    return np.asarray(family.low, dtype=float), np.asarray(family.high, dtype=float)


@means.register
def _(family: PointMass, natural: Array) -> Array:
    return np.full((*natural.shape[:-1], family.n_features or 1), float(family.value))


@covariances.register
def _(family: PointMass, natural: Array) -> Array:
    return np.zeros((*natural.shape[:-1], family.n_features or 1, family.n_features or 1))


@means.register
def _(family: Product, natural: Array) -> Array:
    return np.concatenate(
        [means(own, part) for own, part in zip(family.families, product_parts(family, natural), strict=True)], axis=-1
    )


@covariances.register
def _(family: Product, natural: Array) -> Array:
    pairs = zip(family.families, product_parts(family, natural), strict=True)
    return block_diagonal([covariances(own, part) for own, part in pairs])


@means.register(Wishart)
@means.register(FixedDegreesWishart)
def _(family: ExponentialFamily, natural: Array) -> Array:
    degrees, scale = _degrees_scale(family, natural)
    return (degrees[..., None, None] * scale).reshape(*natural.shape[:-1], -1)


@covariances.register(Wishart)
@covariances.register(FixedDegreesWishart)
def _(family: ExponentialFamily, natural: Array) -> Array:
    """Cov(x_ij, x_kl) = degrees (s_ik s_jl + s_il s_jk)."""
    degrees, scale = _degrees_scale(family, natural)
    products = _pairs(scale, "ik,jl") + _pairs(scale, "il,jk")
    return degrees[..., None, None] * products


@means.register(InverseWishart)
@means.register(FixedDegreesInverseWishart)
def _(family: ExponentialFamily, natural: Array) -> Array:
    degrees, scale = _degrees_scale(family, natural)
    room = degrees - scale.shape[-1] - 1
    with np.errstate(divide="ignore"):
        factor = np.where(room > 0, 1 / room, np.nan)
    return (factor[..., None, None] * scale).reshape(*natural.shape[:-1], -1)


@covariances.register(InverseWishart)
@covariances.register(FixedDegreesInverseWishart)
def _(family: ExponentialFamily, natural: Array) -> Array:
    """Press (1972), section 5.2: finite for degrees above p + 3."""
    degrees, scale = _degrees_scale(family, natural)
    room = degrees - scale.shape[-1]
    top = 2 * _pairs(scale, "ij,kl") + (room - 1)[..., None, None] * (_pairs(scale, "ik,jl") + _pairs(scale, "il,kj"))
    bottom = room * (room - 1) ** 2 * (room - 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((room > 3)[..., None, None], top / bottom[..., None, None], np.nan)


def _degrees_scale(family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
    source = family.source_from_natural(natural)
    degrees = source["degrees"] if "degrees" in source else getattr(family, "degrees", None)
    return np.broadcast_to(np.asarray(degrees, dtype=float), natural.shape[:-1]), source["scale"]


def _pairs(scale: Array, places: str) -> Array:
    """Products of two entries of each matrix, (..., p * p, p * p), for x_ij by row and x_kl by column."""
    left, right = places.split(",")
    size = scale.shape[-1]
    table = np.einsum(f"...{left},...{right}->...ijkl", scale, scale)
    return table.reshape(*scale.shape[:-2], size * size, size * size)


def block_diagonal(parts: Sequence[Array]) -> Array:
    """Matrices (..., p, p) along a diagonal, zeros elsewhere."""
    size = sum(part.shape[-1] for part in parts)
    whole = np.zeros((*parts[0].shape[:-2], size, size))
    end = 0
    for part in parts:
        start, end = end, end + part.shape[-1]
        whole[..., start:end, start:end] = part
    return whole
