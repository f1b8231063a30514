"""Families by their short names: the one place where a new family is listed."""

from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any

from .base import ExponentialFamily
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .chi_square import ChiSquare
from .diagonal_gaussian import DiagonalGaussian
from .dirichlet import Dirichlet
from .exponential import Exponential
from .fixed_covariance_gaussian import FixedCovarianceGaussian
from .fixed_degrees_inverse_wishart import FixedDegreesInverseWishart
from .fixed_degrees_wishart import FixedDegreesWishart
from .fixed_shape_gamma import FixedShapeGamma
from .gamma import Gamma
from .gaussian import Gaussian
from .generalized_gaussian import GeneralizedGaussian
from .geometric import Geometric
from .half_normal import HalfNormal
from .inverse_gamma import InverseGamma
from .inverse_gaussian import InverseGaussian
from .inverse_wishart import InverseWishart
from .laplace import Laplace
from .log_normal import LogNormal
from .maxwell import Maxwell
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .pareto import Pareto
from .poisson import Poisson
from .product import Product
from .rayleigh import Rayleigh
from .spherical_gaussian import SphericalGaussian
from .von_mises import VonMises
from .von_mises_fisher import VonMisesFisher
from .weibull import Weibull
from .wishart import Wishart

FAMILIES: dict[str, type[ExponentialFamily]] = {
    str(family.name): family
    for family in (
        Bernoulli,
        Beta,
        Binomial,
        Categorical,
        ChiSquare,
        DiagonalGaussian,
        Dirichlet,
        Exponential,
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
        Product,
        Rayleigh,
        SphericalGaussian,
        VonMises,
        VonMisesFisher,
        Weibull,
        Wishart,
    )
}


def resolve(family: str | ExponentialFamily, **fixed: Any) -> ExponentialFamily:
    """Returns a family by its short name.

    Parameters
    ----------
    family : str or ExponentialFamily
        A short name such as "gaussian"; an object is returned as it is.
    **fixed
        Fixed parameters, such as `trials=10`.

    Returns
    -------
    ExponentialFamily
        The family.

    Examples
    --------
    >>> resolve("poisson")
    Poisson(n_features=None)
    """
    if isinstance(family, ExponentialFamily):
        return family
    if not isinstance(family, str):
        raise TypeError(
            f"family is a {type(family).__name__}: give a short name such as 'gaussian', or a family object"
        )
    if family not in FAMILIES:
        near = get_close_matches(family.lower().replace("_", "-").replace(" ", "-"), FAMILIES, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"unknown family {family!r}; {hint}the names are {', '.join(FAMILIES)}")
    kind = FAMILIES[family]
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.name not in fixed]
    if needed:
        raise ValueError(f"the family {family!r} needs its {', '.join(needed)}: use {kind.__name__}({needed[0]}=...)")
    return kind(**fixed)
