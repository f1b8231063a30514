"""Distribution functions and quantiles: the one table of closed forms, and quadrature for the rest.

Several columns have a distribution function where they are independent, blocks of a product, or Gaussian (by the
integration of Genz 1992, as SciPy has it).
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ..families import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    ChiSquare,
    ComponentFamilies,
    DiagonalGaussian,
    ExponentialFamily,
    FixedCovarianceGaussian,
    FixedDegreesInverseWishart,
    FixedDegreesWishart,
    Gamma,
    Gaussian,
    GeneralizedGaussian,
    Geometric,
    InverseGamma,
    InverseGaussian,
    InverseWishart,
    Laplace,
    LogNormal,
    NegativeBinomial,
    PointMass,
    Poisson,
    Product,
    SphericalGaussian,
    StudentT,
    Uniform,
    VonMises,
    Wishart,
)
from ..families.parameterless import Parameterless
from ..families.scale_family import ScaleFamily
from ..families.shaped import Shaped
from ..families.support import Angles, Integers, Interval
from ..numerics.arrays import Array
from .marginals import marginal, product_parts

# Bisections of a bracket by `halfway`: the bits of a float.
BISECTIONS = 64


def is_discrete(family: ExponentialFamily) -> bool:
    """Whether the data is whole numbers."""
    return isinstance(family.support, Integers)


def joint_cdf(family: ExponentialFamily, natural: Array, X: Array) -> Array:
    """P(X_1 <= x_1, ..., X_d <= x_d) under each component, (n, k), for rows (n, d)."""
    width = X.shape[1]
    if width == 1:
        return component_cdf(family, natural, X[:, 0])
    if isinstance(family, Product):
        ends = np.cumsum(family.widths)[:-1]
        parts = zip(family.families, product_parts(family, natural), np.split(X, ends, axis=1), strict=True)
        return np.prod([joint_cdf(own, theta, rows) for own, theta, rows in parts], axis=0)
    if family.independent_columns or isinstance(family, SphericalGaussian | Categorical):
        columns = (component_cdf(*marginal(family, natural, [at]), X[:, at]) for at in range(width))
        return np.prod(list(columns), axis=0)
    if isinstance(family, Gaussian | FixedCovarianceGaussian):
        return np.stack([_orthant(family, theta, X) for theta in natural], axis=1)
    raise ValueError(f"{family.name} has no distribution function in closed form: use expectation(f)")


def _orthant(family: ExponentialFamily, natural: Array, X: Array) -> Array:
    from scipy.stats import multivariate_normal  # slow to import, and only Gaussians of several columns need it

    from .moments import covariances, means

    mean, covariance = means(family, natural[None])[0], covariances(family, natural[None])[0]
    return np.atleast_1d(multivariate_normal(mean, covariance, seed=0).cdf(X))


def component_cdf(family: ExponentialFamily, natural: Array, x: Array) -> Array:
    """P(X <= x) under each component of one column, (n, k), for x (n,)."""
    if family.n_features != 1:
        raise ValueError(f"a distribution function needs data of one column; this mixture has {family.n_features}")
    if isinstance(family, ComponentFamilies):
        return np.concatenate([component_cdf(own, theta[None], x) for own, theta in family.members(natural)], axis=1)
    if isinstance(family, StudentT):
        location, factor, degrees = family.parts(natural)
        return np.asarray(scipy.special.stdtr(degrees, (x[:, None] - location[:, 0]) / factor[:, 0, 0]))
    if isinstance(family, Shaped):
        columns = [component_cdf(*component[0], x) for component in family.members(natural)]
        return np.concatenate(columns, axis=1)
    low, high = bounds(family)
    if isinstance(family.support, Angles):
        x = np.mod(x + np.pi, 2 * np.pi) - np.pi
    column = np.clip(np.floor(x) if is_discrete(family) else x, low, high)[:, None]
    with np.errstate(all="ignore"):
        values = _closed_or_summed(family, natural, column)
    below, above = (x < low)[:, None], (x >= high)[:, None]
    return np.where(below, 0.0, np.where(above, 1.0, np.clip(values, 0.0, 1.0)))


def log_probabilities(family: ExponentialFamily, lower: Array, upper: Array, natural: Array) -> Array:
    """log P(lower < X < upper) (m, k) under each component of one column."""
    if isinstance(family, ComponentFamilies):
        members = family.members(natural)
        return np.concatenate([log_probabilities(own, lower, upper, theta[None]) for own, theta in members], axis=1)
    if isinstance(family, Shaped):
        return family.column_log_probability(lower, upper, family.column_values(natural, 0))
    if isinstance(family, Parameterless) or not family.exponential:
        below = np.nextafter(lower, -np.inf) if is_discrete(family) else lower
        with np.errstate(divide="ignore"):
            return np.log(component_cdf(family, natural, upper) - component_cdf(family, natural, below))
    return family.interval_expectations(lower, upper, natural)[0]


def bounds(family: ExponentialFamily) -> tuple[float, float]:
    """The least and the largest value of one column."""
    support = family.support
    if isinstance(support, Interval | Integers):
        return support.lower, float(np.max(support.upper))
    return 0.0, np.inf


def quantile(family: ExponentialFamily, weights: Array, natural: Array, p: Array, around: tuple[float, float]) -> Array:
    """The least x with P(X <= x) >= p, for p (m,) in [0, 1]; the search starts `around` two numbers."""
    least, most = bounds(family)

    def reached(x: Array) -> Array:
        return component_cdf(family, natural, x) @ weights

    inner = p[(p > 0) & (p < 1)]
    low, high = around[0] - 1.0, around[1] + 1.0
    while inner.size and low > least and reached(np.array([low]))[0] >= inner.min():
        low -= 2 * (high - low)
    while inner.size and high < most and reached(np.array([high]))[0] < inner.max():
        high += 2 * (high - low)
    if isinstance(family.support, Interval):
        # An angle of half a turn upwards is one of half a turn downwards, so the upper end itself is left out.
        low, high = max(low, least), min(high, float(np.nextafter(most, least)))
    if is_discrete(family):
        low, high = np.floor(low), np.ceil(high)
    lows, highs = np.full(p.shape, low), np.full(p.shape, high)
    for _ in range(BISECTIONS):
        middle = halfway(lows, highs)
        enough = reached(middle) >= p
        lows, highs = np.where(enough, lows, middle), np.where(enough, middle, highs)
    return np.where(p <= 0, least, np.where(p >= 1, most, highs)) + 0.0  # of two zeros the usual one


def halfway(low: Array, high: Array) -> Array:
    """Floats with as many floats below them, down to `low`, as above them: bisections reach any scale.

    >>> halfway(np.array([1.0, 1e-300]), np.array([4.0, 1e300])).round(4)
    array([2.    , 0.9582])
    """
    # The bits of a float, those of negative ones reversed, are in the order of the numbers.
    below, above = (_reversed_if_negative(np.ascontiguousarray(x, dtype=float).view(np.int64)) for x in (low, high))
    middle = (below >> 1) + (above >> 1) + (below & above & 1)
    return _reversed_if_negative(middle).view(float)


def _reversed_if_negative(bits: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)


# Closed forms: from the family, its usual parameters (k,), the natural ones (k, D) and a column of x (n, 1). ----------

_Formula = Callable[[Any, dict[str, Array], Array, Array], Array]


def _normal(mean: Array, std: Array | float, x: Array) -> Array:
    return np.asarray(scipy.special.ndtr((x - mean) / std))


def _scale(family: ScaleFamily, source: dict[str, Array], natural: Array, x: Array) -> Array:
    return np.asarray(scipy.special.gammainc(family.statistic_shape, family.sufficient_statistic(x) * -natural[:, 0]))


def _symmetric(family: Any, source: dict[str, Array], natural: Array, x: Array) -> Array:
    return 0.5 + 0.5 * np.sign(x - family.location) * _scale(family, source, natural, x)


def _inverse_gaussian(family: Any, source: dict[str, Array], natural: Array, x: Array) -> Array:
    mean, shape = source["mean"], source["shape"]
    root = np.sqrt(shape / x)
    return np.asarray(
        scipy.special.ndtr(root * (x / mean - 1))
        + np.exp(2 * shape / mean + scipy.special.log_ndtr(-root * (x / mean + 1)))
    )


def _von_mises(family: Any, source: dict[str, Array], natural: Array, x: Array) -> Array:
    from scipy.stats import vonmises  # slow to import, and only angles need it

    distribution = vonmises(source["concentration"])
    return np.asarray(distribution.cdf(x - source["mean"]) - distribution.cdf(-np.pi - source["mean"]))


def _categorical(family: Any, source: dict[str, Array], natural: Array, x: Array) -> Array:
    cumulative = np.cumsum(family.source_from_natural(natural)["probabilities"], axis=-1)
    return np.asarray(cumulative[:, x[:, 0].astype(int)].T)


def _box(family: Any, source: dict[str, Array], natural: Array, x: Array) -> Array:
    low, high = family.low[0], family.high[0]
    return np.broadcast_to((x - low) / (high - low), (len(x), len(natural)))


_FORMULAS: dict[type, _Formula] = {
    Uniform: _box,
    PointMass: lambda family, s, natural, x: np.broadcast_to(1.0 * (x >= family.value), (len(x), len(natural))),
    Gaussian: lambda family, s, natural, x: _normal(s["mean"], np.sqrt(s["covariance"]), x),
    DiagonalGaussian: lambda family, s, natural, x: _normal(s["mean"], np.sqrt(s["variance"]), x),
    SphericalGaussian: lambda family, s, natural, x: _normal(s["mean"], np.sqrt(s["variance"]), x),
    FixedCovarianceGaussian: lambda family, s, natural, x: _normal(s["mean"], _known_deviation(family), x),
    LogNormal: lambda family, s, natural, x: _normal(s["log_mean"], s["log_std"], np.log(x)),
    Bernoulli: lambda family, s, natural, x: scipy.special.bdtr(x, 1, s["probability"]),
    Binomial: lambda family, s, natural, x: scipy.special.bdtr(x, family.trials, s["probability"]),
    Categorical: _categorical,
    Poisson: lambda family, s, natural, x: scipy.special.pdtr(x, s["rate"]),
    Geometric: lambda family, s, natural, x: -np.expm1((x + 1) * natural[:, 0]),
    NegativeBinomial: lambda family, s, natural, x: scipy.special.betainc(family.size, x + 1, s["probability"]),
    Laplace: _symmetric,
    GeneralizedGaussian: _symmetric,
    ScaleFamily: _scale,
    Gamma: lambda family, s, natural, x: scipy.special.gammainc(s["shape"], x / s["scale"]),
    InverseGamma: lambda family, s, natural, x: scipy.special.gammaincc(s["shape"], s["scale"] / x),
    InverseGaussian: _inverse_gaussian,
    ChiSquare: lambda family, s, natural, x: scipy.special.gammainc(0.5 * s["degrees"], 0.5 * x),
    Beta: lambda family, s, natural, x: scipy.special.betainc(s["alpha"], s["beta"], x),
    VonMises: _von_mises,
    Wishart: lambda family, s, natural, x: scipy.special.gammainc(0.5 * s["degrees"], 0.5 * x / s["scale"]),
    FixedDegreesWishart: lambda family, s, natural, x: scipy.special.gammainc(
        0.5 * family.degrees, 0.5 * x / s["scale"]
    ),
    InverseWishart: lambda family, s, natural, x: scipy.special.gammaincc(0.5 * s["degrees"], 0.5 * s["scale"] / x),
    FixedDegreesInverseWishart: lambda family, s, natural, x: scipy.special.gammaincc(
        0.5 * family.degrees, 0.5 * s["scale"] / x
    ),
}


def _known_deviation(family: FixedCovarianceGaussian) -> float:
    return float(np.sqrt(np.asarray(family.covariance, dtype=float).reshape(-1)[0]))


def _closed_or_summed(family: ExponentialFamily, natural: Array, column: Array) -> Array:
    for kind, formula in _FORMULAS.items():
        if isinstance(family, kind):
            source = family.source_from_natural(natural)
            flat = {name: value.reshape(len(natural), -1)[:, 0] for name, value in source.items()}
            return np.asarray(formula(family, flat, natural, column))
    return np.stack([_summed(family, distribution, column[:, 0]) for distribution in natural], axis=1)


def _summed(family: ExponentialFamily, natural: Array, x: Array) -> Array:
    """By quadrature: a sum over whole numbers, or the integral of a smooth curve through the density at its nodes."""
    nodes = np.unique(family.nodes(natural)[0])
    log_density = family.sufficient_statistic(nodes[:, None]) @ natural + family.log_carrier(nodes[:, None])
    density = np.exp(log_density - family.log_normalizer(natural[None])[0])
    if is_discrete(family):
        return np.concatenate([[0.0], np.cumsum(density)])[np.searchsorted(nodes, x, side="right")]
    from scipy.interpolate import PchipInterpolator  # slow to import, and only families without a formula need it

    integral = PchipInterpolator(nodes, density).antiderivative()
    return np.asarray(integral(np.clip(x, nodes[0], nodes[-1])))
