"""Modes of components and of mixtures.

The mode of a mixture is climbed to from the mode of each component by modal EM (Li, Ray and Lindsay 2007). For an
exponential family its step is closed: the responsibilities r_j at x make sum_j r_j theta_j the natural parameter of the
distribution whose mode is the next x. No step lowers the density.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..families import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    ChiSquare,
    ComponentFamilies,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    ExponentialFamily,
    FixedCovarianceGaussian,
    FixedDegreesWishart,
    FixedShapeGamma,
    Gamma,
    Gaussian,
    GeneralizedGaussian,
    Geometric,
    HalfNormal,
    InverseGamma,
    InverseGaussian,
    Laplace,
    LogNormal,
    Maxwell,
    Multinomial,
    NegativeBinomial,
    Pareto,
    PointMass,
    Poisson,
    Product,
    Rayleigh,
    SphericalGaussian,
    StudentT,
    Uniform,
    VonMises,
    VonMisesFisher,
    Weibull,
    Wishart,
    ZeroTruncatedPoisson,
)
from ..families.numeric_divergences import NumericDivergences
from ..families.shaped import Shaped
from ..families.support import Integers
from ..numerics.arrays import Array
from ..numerics.ascent import ascend
from ..numerics.special import log_sum_exp
from .marginals import category_spans, product_parts
from .moments import covariances, means
from .twins import entry_for

# Climbs end when no start moves by more than this share of its size, or after a limit of steps.
CONVERGED, STEPS = 1e-12, 5000
# Steps of Newton's method by differences.
ASCENT = 60

_Source = dict[str, Array]


def _bounded(inside: Array, mode: Array, edge: Array | float, name: str) -> Array:
    """`mode` where `inside` is positive, the edge where it is zero; below, the density has no upper bound."""
    if np.any(inside < 0):
        raise ValueError(f"a {name} component has an unbounded density, so there is no mode")
    return np.where(inside > 0, mode, edge)


def _gamma(shape: Array, scale: Array, name: str) -> Array:
    return _bounded(shape - 1, (shape - 1) * scale, 0.0, name)


def _weibull(family: Any, s: _Source) -> Array:
    shape = float(family.shape)
    room = max(shape - 1, 0.0) / shape
    return _bounded(np.full(s["scale"].shape, shape - 1), s["scale"] * room ** (1 / shape), 0.0, family.name)


def _beta(family: Any, s: _Source) -> Array:
    alpha, beta = s["alpha"] - 1, s["beta"] - 1
    with np.errstate(invalid="ignore"):
        return _bounded(np.minimum(alpha, beta), alpha / (alpha + beta), np.where(alpha > 0, 1.0, 0.0), family.name)


def _inverse_gaussian(family: Any, s: _Source) -> Array:
    half = 1.5 * s["mean"] / s["shape"]
    # sqrt(1 + h^2) - h without cancellation.
    return s["mean"] / (np.sqrt(1 + half**2) + half)


# The mode of each column, from the family and its usual parameters.
_COLUMN_MODES: dict[type, Callable[[Any, _Source], Array]] = {
    DiagonalGaussian: lambda family, s: s["mean"],
    LogNormal: lambda family, s: np.exp(s["log_mean"] - s["log_std"] ** 2),
    Bernoulli: lambda family, s: np.where(s["probability"] > 0.5, 1.0, 0.0),
    Binomial: lambda family, s: np.minimum(np.floor((family.trials + 1) * s["probability"]), family.trials),
    Poisson: lambda family, s: np.floor(s["rate"]),
    ZeroTruncatedPoisson: lambda family, s: np.maximum(np.floor(s["rate"]), 1.0),
    Geometric: lambda family, s: np.zeros_like(s["probability"]),
    NegativeBinomial: lambda family, s: np.floor(max(family.size - 1, 0) * (1 - s["probability"]) / s["probability"]),
    Exponential: lambda family, s: np.zeros_like(s["rate"]),
    Rayleigh: lambda family, s: s["scale"],
    Weibull: _weibull,
    Laplace: lambda family, s: np.full_like(s["scale"], family.location),
    GeneralizedGaussian: lambda family, s: np.full_like(s["scale"], family.location),
    HalfNormal: lambda family, s: np.zeros_like(s["scale"]),
    Maxwell: lambda family, s: np.sqrt(2) * s["scale"],
    FixedShapeGamma: lambda family, s: _gamma(np.full_like(s["scale"], family.shape), s["scale"], family.name),
    Pareto: lambda family, s: np.full_like(s["shape"], family.minimum),
    Gamma: lambda family, s: _gamma(s["shape"], s["scale"], family.name),
    InverseGamma: lambda family, s: s["scale"] / (s["shape"] + 1),
    InverseGaussian: _inverse_gaussian,
    ChiSquare: lambda family, s: _gamma(0.5 * s["degrees"], np.full_like(s["degrees"], 2.0), family.name),
    Beta: _beta,
    VonMises: lambda family, s: s["mean"],
    VonMisesFisher: lambda family, s: s["direction"],
}


def component_modes(family: ExponentialFamily, natural: Array) -> Array:
    """The modes (k, d) of distributions (k, D)."""
    formula = entry_for(_COLUMN_MODES, family)
    if formula is not None:
        return np.asarray(formula(family, family.source_from_natural(natural)))
    if isinstance(family, Gaussian | SphericalGaussian | FixedCovarianceGaussian):
        return means(family, natural)
    if isinstance(family, Categorical):
        _, spans = category_spans(family, natural)
        return np.stack([natural[:, span].argmax(axis=1) for span in spans], axis=1).astype(float)
    if isinstance(family, Dirichlet):
        return _dirichlet(natural)
    if isinstance(family, Multinomial):
        return np.stack([_most_probable_counts(family, row) for row in family.moment_from_natural(natural)])
    if isinstance(family, ComponentFamilies):
        return np.concatenate([component_modes(own, theta[None]) for own, theta in family.members(natural)])
    if isinstance(family, Shaped):
        columns = [[component_modes(*own) for own in component] for component in family.members(natural)]
        return np.concatenate([np.concatenate(component, axis=1) for component in columns])
    if isinstance(family, StudentT):
        return family.locations(natural)
    if isinstance(family, Uniform):
        return means(family, natural)
    if isinstance(family, PointMass):
        return np.full((len(natural), family.n_features or 1), float(family.value))
    if isinstance(family, Product):
        parts = zip(family.families, product_parts(family, natural), strict=True)
        return np.concatenate([component_modes(own, part) for own, part in parts], axis=1)
    return _matrix_modes(family, natural)


def _dirichlet(natural: Array) -> Array:
    if np.any(natural <= 0):
        raise ValueError("a dirichlet component has concentrations of at most one, so there is no mode inside")
    return natural / natural.sum(axis=1, keepdims=True)


def _most_probable_counts(family: Multinomial, expected: Array) -> Array:
    """Each further trial goes where the probability gains most (Finucan 1964), from the whole parts of the means on."""
    if family.trials is None:
        raise ValueError("these rows had different totals: use a Multinomial with `trials` set to one total")
    counts = np.floor(expected)
    while counts.sum() < family.trials:
        counts[np.argmax(expected / (counts + 1))] += 1
    return counts


def _matrix_modes(family: ExponentialFamily, natural: Array) -> Array:
    source = family.source_from_natural(natural)
    if "scale" not in source or source["scale"].ndim != 3:
        raise ValueError(f"{family.name} has no mode in closed form")
    scale = source["scale"]
    degrees = np.asarray(source.get("degrees", getattr(family, "degrees", None)), dtype=float)
    size = scale.shape[-1]
    if isinstance(family, Wishart | FixedDegreesWishart):
        factor = degrees - size - 1
        if np.any(factor <= 0):
            raise ValueError(
                f"a {family.name} component has at most {size + 1} degrees of freedom, so there is no mode"
            )
    else:
        factor = 1 / (degrees + size + 1)
    return (np.broadcast_to(factor, len(scale))[:, None, None] * scale).reshape(len(scale), -1)


def log_densities(family: ExponentialFamily, natural: Array, X: Array) -> Array:
    """log p (n, k) at rows that need not be checked."""
    direct = family.direct_log_density(X, natural)
    return family.packed_log_density(X, natural) if direct is None else direct


def highest_mode(family: ExponentialFamily, weights: Array, natural: Array) -> Array:
    """The highest of the modes (d,) reached from the modes of the components."""
    active = weights > 0
    theta, log_weights = natural[active], np.log(weights[active])

    def joint(rows: Array) -> Array:
        with np.errstate(divide="ignore"):
            return log_densities(family, theta, rows) + log_weights

    places = component_modes(family, theta)
    # The mean of natural parameters is a distribution of the same family in exponential families only.
    if isinstance(family, NumericDivergences):
        places = _ascended(places, lambda rows: log_sum_exp(joint(rows)), covariances(family, theta), family)
    for _ in range(0 if isinstance(family, NumericDivergences) else STEPS):
        terms = joint(places)
        moved = component_modes(family, np.exp(terms - log_sum_exp(terms)[:, None]) @ theta)
        change = np.abs(moved - places).max()
        places = moved
        if change <= CONVERGED * max(1.0, float(np.abs(places).max())):
            break
    if isinstance(family.support, Integers):
        places = np.stack([_climbed(place, family.support, lambda rows: log_sum_exp(joint(rows))) for place in places])
    return places[int(np.argmax(log_sum_exp(joint(places))))]


def _ascended(places: Array, height: Callable[[Array], Array], spread: Array, family: ExponentialFamily) -> Array:
    """Places (k, d) moved uphill, columns in units of the narrowest component's deviation."""
    if isinstance(family.support, Integers):
        return places
    with np.errstate(invalid="ignore"):
        scale = np.sqrt(np.nanmin(np.where(np.isfinite(spread), spread, np.nan), axis=0).diagonal())
    scale = np.where(np.isfinite(scale) & (scale > 0), scale, 1.0)
    with np.errstate(all="ignore"):
        moved = ascend(lambda at: _known(height(at * scale)), places / scale, np.arange(len(scale)), ASCENT)
    return moved * scale


def _known(heights: Array) -> Array:
    return np.where(np.isnan(heights), -np.inf, heights)


def _climbed(place: Array, support: Integers, height: Callable[[Array], Array]) -> Array:
    """Whole numbers, moved by one in one column as long as that is higher: modal EM may stop a step below a top."""
    steps = np.concatenate([np.eye(place.size), -np.eye(place.size)])
    while True:
        near = np.clip(place + steps, support.lower, np.asarray(support.upper))
        heights = height(np.concatenate([place[None], near]))
        best = int(np.argmax(heights))
        if heights[best] <= heights[0]:
            return place
        place = near[best - 1]
