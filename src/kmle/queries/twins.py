"""The same distributions as SciPy has them, and back.

A frozen distribution of d independent columns has arrays (d,) of parameters: its log-density of a row is the sum of
`logpdf` (or `logpmf`) over the columns.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from ..families import (
    Bernoulli,
    Beta,
    Binomial,
    ChiSquare,
    DiagonalGaussian,
    Dirichlet,
    Exponential,
    ExponentialFamily,
    FixedCovarianceGaussian,
    FixedDegreesInverseWishart,
    FixedDegreesWishart,
    FixedShapeGamma,
    Gamma,
    Gaussian,
    GeneralizedGaussian,
    Geometric,
    HalfNormal,
    InverseGamma,
    InverseGaussian,
    InverseWishart,
    Laplace,
    LogNormal,
    Maxwell,
    Multinomial,
    NegativeBinomial,
    Pareto,
    Poisson,
    Rayleigh,
    SphericalGaussian,
    StudentT,
    VonMises,
    VonMisesFisher,
    Weibull,
    Wishart,
)
from ..families.shaped import Shaped
from ..numerics.arrays import Array

_Source = Mapping[str, Array]
Entry = TypeVar("Entry")

# From scipy.stats, the family and its usual parameters: a frozen distribution over all leading axes.
_COLUMN_TWINS: dict[type, Callable[[Any, Any, _Source], Any]] = {
    DiagonalGaussian: lambda stats, family, s: stats.norm(s["mean"], np.sqrt(s["variance"])),
    LogNormal: lambda stats, family, s: stats.lognorm(s["log_std"], 0, np.exp(s["log_mean"])),
    Bernoulli: lambda stats, family, s: stats.bernoulli(s["probability"]),
    Binomial: lambda stats, family, s: stats.binom(family.trials, s["probability"]),
    Poisson: lambda stats, family, s: stats.poisson(s["rate"]),
    Geometric: lambda stats, family, s: stats.geom(s["probability"], -1),
    NegativeBinomial: lambda stats, family, s: stats.nbinom(family.size, s["probability"]),
    Exponential: lambda stats, family, s: stats.expon(0, 1 / s["rate"]),
    Rayleigh: lambda stats, family, s: stats.rayleigh(0, s["scale"]),
    Weibull: lambda stats, family, s: stats.weibull_min(family.shape, 0, s["scale"]),
    Laplace: lambda stats, family, s: stats.laplace(family.location, s["scale"]),
    GeneralizedGaussian: lambda stats, family, s: stats.gennorm(family.shape, family.location, s["scale"]),
    HalfNormal: lambda stats, family, s: stats.halfnorm(0, s["scale"]),
    Maxwell: lambda stats, family, s: stats.maxwell(0, s["scale"]),
    FixedShapeGamma: lambda stats, family, s: stats.gamma(family.shape, 0, s["scale"]),
    Pareto: lambda stats, family, s: stats.pareto(s["shape"], 0, family.minimum),
    Gamma: lambda stats, family, s: stats.gamma(s["shape"], 0, s["scale"]),
    InverseGamma: lambda stats, family, s: stats.invgamma(s["shape"], 0, s["scale"]),
    InverseGaussian: lambda stats, family, s: stats.invgauss(s["mean"] / s["shape"], 0, s["shape"]),
    ChiSquare: lambda stats, family, s: stats.chi2(s["degrees"]),
    Beta: lambda stats, family, s: stats.beta(s["alpha"], s["beta"]),
    VonMises: lambda stats, family, s: stats.vonmises(s["concentration"], s["mean"]),
}

# Of one distribution on several columns, from its usual parameters without a leading axis.
_ROW_TWINS: dict[type, Callable[[Any, Any, _Source], Any]] = {
    Gaussian: lambda stats, family, s: stats.multivariate_normal(s["mean"], s["covariance"]),
    SphericalGaussian: lambda stats, family, s: stats.multivariate_normal(s["mean"], s["variance"]),
    FixedCovarianceGaussian: lambda stats, family, s: stats.multivariate_normal(s["mean"], family.covariance),
    Dirichlet: lambda stats, family, s: stats.dirichlet(s["concentration"]),
    Multinomial: lambda stats, family, s: stats.multinomial(family.trials, s["probabilities"]),
    StudentT: lambda stats, family, s: stats.multivariate_t(s["location"], s["scale"], s["degrees"]),
    VonMisesFisher: lambda stats, family, s: stats.vonmises_fisher(s["direction"], s["concentration"]),
    Wishart: lambda stats, family, s: stats.wishart(s["degrees"], s["scale"]),
    FixedDegreesWishart: lambda stats, family, s: stats.wishart(family.degrees, s["scale"]),
    InverseWishart: lambda stats, family, s: stats.invwishart(s["degrees"], s["scale"]),
    FixedDegreesInverseWishart: lambda stats, family, s: stats.invwishart(family.degrees, s["scale"]),
}


def entry_for(table: Mapping[type, Entry], family: ExponentialFamily) -> Entry | None:
    """What a table holds for the family's class or the nearest class that it extends."""
    return next((table[kind] for kind in type(family).__mro__ if kind in table), None)


def column_twin(family: ExponentialFamily, natural: Array) -> Any | None:
    """Independent columns as one frozen distribution with arrays (..., d) of parameters; None where SciPy has none."""
    make = entry_for(_COLUMN_TWINS, family)
    if make is None:
        return None
    from scipy import stats  # slow to import, and few questions need it

    return make(stats, family, family.source_from_natural(natural))


def to_scipy(family: ExponentialFamily, natural: Array) -> Any:
    """The distribution with natural parameter (D,) as a frozen SciPy distribution."""
    if isinstance(family, Shaped):
        return _side_by_side([column_twin(own, theta) for own, theta in family.members(natural[None])[0]])
    columns = column_twin(family, natural[None])
    if columns is not None:
        return _squeezed(columns)
    if family.n_features == 1 and isinstance(family, _GAUSSIANS):
        return _bell(family, natural)
    if family.n_features == 1 and isinstance(family, StudentT):
        from scipy import stats

        location, factor, degrees = family.parts(natural[None])
        return stats.t(degrees.item(), location.item(), factor.item())
    make = entry_for(_ROW_TWINS, family)
    if make is None or (isinstance(family, Multinomial) and family.trials is None):
        raise ValueError(f"SciPy has no distribution like this {family.name}: use the mixture's own methods")
    from scipy import stats

    return make(stats, family, {name: value[0] for name, value in family.source_from_natural(natural[None]).items()})


_GAUSSIANS = (Gaussian, SphericalGaussian, FixedCovarianceGaussian)


def _bell(family: ExponentialFamily, natural: Array) -> Any:
    """A Gaussian of one column."""
    from scipy import stats

    source = family.source_from_natural(natural[None])
    variance: Any = source.get("variance", source.get("covariance", getattr(family, "covariance", None)))
    return stats.norm(source["mean"].item(), float(np.sqrt(np.ravel(variance)[0])))


def _side_by_side(columns: list[Any]) -> Any:
    """Frozen distributions of one column each as one of all."""
    each = zip(*(frozen.args for frozen in columns), strict=True)
    return _squeezed(columns[0].dist(*(np.concatenate([np.ravel(value) for value in values]) for values in each)))


def _squeezed(frozen: Any) -> Any:
    """Parameters (d,) instead of (1, d), numbers instead of (1, 1)."""
    args = [np.squeeze(value) for value in frozen.args]
    return frozen.dist(*(float(value) if np.ndim(value) == 0 else value for value in args))


# Back: from shapes, location and scale of a univariate distribution, by the name SciPy gives it. ----------------------

_Parameters = tuple[ExponentialFamily, dict[str, Any]]
_Back = Callable[[tuple[Any, ...], Any, Any], _Parameters]

_FREE: dict[str, _Back] = {
    "norm": lambda a, loc, scale: (DiagonalGaussian(), {"mean": loc, "variance": np.square(scale)}),
    "laplace": lambda a, loc, scale: _laplace(loc, scale),
    "gennorm": lambda a, loc, scale: _generalized_gaussian(a[0], loc, scale),
}
_SCALED: dict[str, Callable[[tuple[Any, ...], Any], _Parameters]] = {
    "lognorm": lambda a, scale: (LogNormal(), {"log_mean": np.log(scale), "log_std": a[0]}),
    "expon": lambda a, scale: (Exponential(), {"rate": 1 / np.asarray(scale)}),
    "rayleigh": lambda a, scale: (Rayleigh(), {"scale": scale}),
    "weibull_min": lambda a, scale: _weibull(a[0], scale),
    "halfnorm": lambda a, scale: (HalfNormal(), {"scale": scale}),
    "maxwell": lambda a, scale: (Maxwell(), {"scale": scale}),
    "pareto": lambda a, scale: (Pareto(_same("scale", scale)), {"shape": a[0]}),
    "gamma": lambda a, scale: (Gamma(), {"shape": a[0], "scale": scale}),
    "invgamma": lambda a, scale: (InverseGamma(), {"shape": a[0], "scale": scale}),
    "invgauss": lambda a, scale: (InverseGaussian(), {"mean": np.asarray(a[0]) * scale, "shape": scale}),
}
_PLAIN: dict[str, Callable[[tuple[Any, ...]], _Parameters]] = {
    "bernoulli": lambda a: (Bernoulli(), {"probability": a[0]}),
    "binom": lambda a: (Binomial(int(_same("n", a[0]))), {"probability": a[1]}),
    "poisson": lambda a: (Poisson(), {"rate": a[0]}),
    "nbinom": lambda a: _negative_binomial(a[0], a[1]),
    "chi2": lambda a: (ChiSquare(), {"degrees": a[0]}),
    "beta": lambda a: (Beta(), {"alpha": a[0], "beta": a[1]}),
}


def from_scipy(frozen: Any) -> tuple[ExponentialFamily, Array]:
    """The family and natural parameters (1, D) of a frozen SciPy distribution."""
    family, source = _univariate(frozen) if hasattr(frozen, "dist") else _multivariate(frozen)
    # The first axis counts distributions; a number, or one for each independent column, gets it here.
    members = family.member(**{name: np.asarray(value, dtype=float)[None] for name, value in source.items()})
    return members.family, members.natural


def _univariate(frozen: Any) -> _Parameters:
    name = frozen.dist.name
    shapes, loc, scale = frozen.dist._parse_args(*frozen.args, **frozen.kwds)
    if name in _FREE:
        family, source = _FREE[name](shapes, loc, scale)
    elif name == "t":
        degrees, location, scale = (_same(key, v) for key, v in (("df", shapes[0]), ("loc", loc), ("scale", scale)))
        return StudentT(), {"location": [location], "scale": [[scale**2]], "degrees": degrees}
    elif name == "vonmises":
        _only("scale", scale, 1.0, name)
        family, source = VonMises(), {"mean": loc, "concentration": shapes[0]}
    elif name == "geom":
        _only("loc", loc, -1.0, name)
        family, source = Geometric(), {"probability": shapes[0]}
    elif name in _SCALED:
        _only("loc", loc, 0.0, name)
        family, source = _SCALED[name](shapes, scale)
    elif name in _PLAIN:
        _only("loc", loc, 0.0, name)
        _only("scale", scale, 1.0, name)
        family, source = _PLAIN[name](shapes)
    else:
        raise ValueError(f"no family of kmle is scipy.stats.{name}")
    return family, dict(zip(source, np.broadcast_arrays(*(np.atleast_1d(v) for v in source.values())), strict=True))


def _multivariate(frozen: Any) -> _Parameters:
    name = type(frozen).__name__.removesuffix("_frozen")
    if name == "multivariate_normal":
        return Gaussian(), {"mean": frozen.mean, "covariance": frozen.cov_object.covariance}
    if name == "multivariate_t":
        return StudentT(), {"location": frozen.loc, "scale": frozen.shape, "degrees": frozen.df}
    if name == "dirichlet":
        return Dirichlet(), {"concentration": frozen.alpha}
    if name == "multinomial":
        return Multinomial(int(frozen.n)), {"probabilities": frozen.p}
    if name == "vonmises_fisher":
        return VonMisesFisher(), {"direction": frozen.mu, "concentration": frozen.kappa}
    if name in ("wishart", "invwishart"):
        family = Wishart() if name == "wishart" else InverseWishart()
        return family, {"degrees": frozen.df, "scale": frozen.scale}
    raise ValueError(f"no family of kmle is scipy.stats.{name}: give a frozen distribution, such as stats.norm(0, 1)")


# Families with one shape for all columns, and where columns differ with one each.


def _laplace(location: Any, scale: Any) -> _Parameters:
    if _alike(location):
        return Laplace(_same("loc", location)), {"scale": scale}
    return Laplace(), {"location": location, "scale": scale}


def _generalized_gaussian(shape: Any, location: Any, scale: Any) -> _Parameters:
    if _alike(shape, location):
        return GeneralizedGaussian(_same("beta", shape), _same("loc", location)), {"scale": scale}
    return GeneralizedGaussian(), {"shape": shape, "location": location, "scale": scale}


def _weibull(shape: Any, scale: Any) -> _Parameters:
    if _alike(shape):
        return Weibull(_same("c", shape)), {"scale": scale}
    return Weibull(), {"shape": shape, "scale": scale}


def _negative_binomial(size: Any, probability: Any) -> _Parameters:
    if _alike(size):
        return NegativeBinomial(_same("n", size)), {"probability": probability}
    return NegativeBinomial(), {"size": size, "mean": np.asarray(size) * (1 - np.asarray(probability)) / probability}


def _alike(*values: Any) -> bool:
    """Whether all columns share each parameter."""
    return all(np.ptp(np.asarray(value, dtype=float)) == 0 for value in values)


def _only(parameter: str, value: Any, needed: float, name: str) -> None:
    if not np.all(np.asarray(value) == needed):
        raise ValueError(f"{parameter} of scipy.stats.{name} is {value}: kmle has this family only with {needed:g}")


def _same(parameter: str, value: Any) -> float:
    """A parameter that all columns share."""
    values = np.unique(np.asarray(value, dtype=float))
    if len(values) != 1:
        raise ValueError(
            f"the columns have different values of {parameter}: this family of kmle has one for all columns"
        )
    return float(values[0])
