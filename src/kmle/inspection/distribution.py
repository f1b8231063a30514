"""Distribution functions of univariate mixtures: the one table of closed forms, and quadrature for the rest."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .. import families as f
from ..families.scale_family import ScaleFamily
from ..families.support import Angles, Integers, Interval
from ..mixture import Mixture
from ..numerics.arrays import Array
from .rows import mixture_of


def is_discrete(mixture: Mixture) -> bool:
    """Whether the data is whole numbers."""
    return isinstance(mixture.family.support, Integers)


def cdf(model: Any, x: ArrayLike) -> Array:
    """Returns P(X <= x) under a mixture of one column.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.
    x : array (n,)
        The numbers.

    Returns
    -------
    array (n,)
        The probabilities.

    Examples
    --------
    >>> cdf(Mixture.from_source("exponential", [0.5, 0.5], rate=[1.0, 2.0]), [0.0, np.log(2)])
    array([0.   , 0.625])
    """
    mixture = mixture_of(model)
    points = np.asarray(x, dtype=float).reshape(-1)
    return component_cdf(mixture, points) @ mixture.weights


def component_cdf(mixture: Mixture, x: Array) -> Array:
    """P(X <= x) under each component, (n, k)."""
    family = mixture.family
    if family.n_features != 1:
        raise ValueError(f"a distribution function needs data of one column; this mixture has {family.n_features}")
    support = family.support
    low, high = (support.lower, support.upper) if isinstance(support, Interval | Integers) else (0.0, np.inf)
    if isinstance(support, Angles):
        x = np.mod(x + np.pi, 2 * np.pi) - np.pi
    column = np.clip(np.floor(x) if isinstance(support, Integers) else x, low, high)[:, None]
    with np.errstate(all="ignore"):
        values = _closed_or_summed(mixture, column)
    below, above = (x < low)[:, None], (x >= high)[:, None]
    return np.where(below, 0.0, np.where(above, 1.0, np.clip(values, 0.0, 1.0)))


def quantiles(model: Any, probabilities: ArrayLike, around: ArrayLike) -> Array:
    """Returns the quantiles of a mixture of one column.

    Parameters
    ----------
    model : fitted estimator or Mixture
        The mixture.
    probabilities : array (m,)
        The probabilities.
    around : array
        Numbers near which the quantiles are searched, such as the data.

    Returns
    -------
    array (m,)
        The quantiles.

    Examples
    --------
    >>> quantiles(Mixture.from_source("exponential", [1.0], rate=[1.0]), [0.5], [0.1, 3.0]).round(6)
    array([0.693147])
    """
    mixture = mixture_of(model)
    p = np.asarray(probabilities, dtype=float)
    support = mixture.family.support
    least, most = (support.lower, support.upper) if isinstance(support, Interval | Integers) else (0.0, np.inf)
    low, high = float(np.min(around)) - 1.0, float(np.max(around)) + 1.0
    while low > least and cdf(mixture, [low])[0] >= p.min():
        low -= 2 * (high - low)
    while high < float(np.max(most)) and cdf(mixture, [high])[0] < p.max():
        high += 2 * (high - low)
    if isinstance(support, Interval):
        # An angle of half a turn upwards is one of half a turn downwards, so the upper end itself is left out.
        low, high = max(low, support.lower), min(high, float(np.nextafter(support.upper, support.lower)))
    lows, highs = np.full(p.shape, low), np.full(p.shape, high)
    for _ in range(100):
        middle = 0.5 * (lows + highs)
        reached = cdf(mixture, middle) >= p
        lows, highs = np.where(reached, lows, middle), np.where(reached, middle, highs)
    return np.round(highs) if is_discrete(mixture) else highs


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


_FORMULAS: dict[type, _Formula] = {
    f.Gaussian: lambda family, s, natural, x: _normal(s["mean"], np.sqrt(s["covariance"]), x),
    f.DiagonalGaussian: lambda family, s, natural, x: _normal(s["mean"], np.sqrt(s["variance"]), x),
    f.SphericalGaussian: lambda family, s, natural, x: _normal(s["mean"], np.sqrt(s["variance"]), x),
    f.FixedCovarianceGaussian: lambda family, s, natural, x: _normal(s["mean"], _known_deviation(family), x),
    f.LogNormal: lambda family, s, natural, x: _normal(s["log_mean"], s["log_std"], np.log(x)),
    f.Bernoulli: lambda family, s, natural, x: scipy.special.bdtr(x, 1, s["probability"]),
    f.Binomial: lambda family, s, natural, x: scipy.special.bdtr(x, family.trials, s["probability"]),
    f.Categorical: _categorical,
    f.Poisson: lambda family, s, natural, x: scipy.special.pdtr(x, s["rate"]),
    f.Geometric: lambda family, s, natural, x: -np.expm1((x + 1) * natural[:, 0]),
    f.NegativeBinomial: lambda family, s, natural, x: scipy.special.betainc(family.successes, x + 1, s["probability"]),
    f.Laplace: _symmetric,
    f.GeneralizedGaussian: _symmetric,
    ScaleFamily: _scale,
    f.Gamma: lambda family, s, natural, x: scipy.special.gammainc(s["shape"], x / s["scale"]),
    f.InverseGamma: lambda family, s, natural, x: scipy.special.gammaincc(s["shape"], s["scale"] / x),
    f.InverseGaussian: _inverse_gaussian,
    f.ChiSquare: lambda family, s, natural, x: scipy.special.gammainc(0.5 * s["degrees"], 0.5 * x),
    f.Beta: lambda family, s, natural, x: scipy.special.betainc(s["alpha"], s["beta"], x),
    f.VonMises: _von_mises,
    f.Wishart: lambda family, s, natural, x: scipy.special.gammainc(0.5 * s["degrees"], 0.5 * x / s["scale"]),
    f.FixedDegreesWishart: lambda family, s, natural, x: scipy.special.gammainc(
        0.5 * family.degrees, 0.5 * x / s["scale"]
    ),
    f.InverseWishart: lambda family, s, natural, x: scipy.special.gammaincc(0.5 * s["degrees"], 0.5 * s["scale"] / x),
    f.FixedDegreesInverseWishart: lambda family, s, natural, x: scipy.special.gammaincc(
        0.5 * family.degrees, 0.5 * s["scale"] / x
    ),
}


def _known_deviation(family: f.FixedCovarianceGaussian) -> float:
    return float(np.sqrt(np.asarray(family.covariance, dtype=float).reshape(-1)[0]))


def _closed_or_summed(mixture: Mixture, column: Array) -> Array:
    family, natural = mixture.family, mixture.natural
    for kind, formula in _FORMULAS.items():
        if isinstance(family, kind):
            flat = {name: value.reshape(len(natural), -1)[:, 0] for name, value in mixture.source.items()}
            return np.asarray(formula(family, flat, natural, column))
    return np.stack([_summed(mixture, distribution, column[:, 0]) for distribution in natural], axis=1)


def _summed(mixture: Mixture, natural: Array, x: Array) -> Array:
    """By quadrature: a sum over whole numbers, or the integral of a smooth curve through the density at its nodes."""
    family = mixture.family
    nodes = np.unique(family.nodes(natural)[0])
    log_density = family.sufficient_statistic(nodes[:, None]) @ natural + family.log_carrier(nodes[:, None])
    density = np.exp(log_density - family.log_normalizer(natural[None])[0])
    if is_discrete(mixture):
        return np.concatenate([[0.0], np.cumsum(density)])[np.searchsorted(nodes, x, side="right")]
    from scipy.interpolate import PchipInterpolator  # slow to import, and only families without a formula need it

    integral = PchipInterpolator(nodes, density).antiderivative()
    return np.asarray(integral(np.clip(x, nodes[0], nodes[-1])))
