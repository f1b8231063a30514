"""Families by their short names: the one place where a new family is listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Any, TypeAlias

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .chi_square import ChiSquare
from .component_lists import component_families, with_components
from .components import ComponentFamilies
from .derived import ExponentialFamily
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
from .low_rank_gaussian import LowRankGaussian
from .maxwell import Maxwell
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .parameterless import Parameterless
from .pareto import Pareto
from .point_mass import PointMass
from .poisson import Poisson
from .product import Product
from .rayleigh import Rayleigh
from .spherical_gaussian import SphericalGaussian
from .structured_gaussian import MODELS, structured
from .student_t import StudentT
from .uniform import Uniform
from .von_mises import VonMises
from .von_mises_fisher import VonMisesFisher
from .weibull import Weibull
from .wishart import Wishart
from .zero_truncated_poisson import ZeroTruncatedPoisson

FamilyLike: TypeAlias = str | ExponentialFamily | Sequence[str | ExponentialFamily]
# More components than this are a mistake in a text.
MOST_COMPONENTS = 1_000_000

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
        StudentT,
        VonMises,
        VonMisesFisher,
        Weibull,
        Wishart,
        ZeroTruncatedPoisson,
    )
}

# The covariance models of Gaussians, by their short names.
STRUCTURED: dict[str, str] = {f"gaussian-{structure.lower()}": structure for structure in MODELS}
# Gaussians with a fixed number of directions.
LOW_RANK: dict[str, type[ExponentialFamily]] = {str(LowRankGaussian.name): LowRankGaussian}
# Families without parameters, which serve as components beside others.
PARAMETERLESS: dict[str, type[Parameterless]] = {str(family.name): family for family in (PointMass, Uniform)}
# Short names of mixtures of two families.
SHORT_NAMES: dict[str, tuple[str, ...]] = {
    "zero-inflated-negative-binomial": ("point-mass", "negative-binomial"),
    "zero-inflated-poisson": ("point-mass", "poisson"),
}


def kind_of(name: str) -> type[ExponentialFamily] | None:
    """The class of a short name; None where there is none.

    >>> kind_of("gaussian-vvi").__name__
    'DiagonalGaussian'
    """
    if name in STRUCTURED:
        return MODELS[STRUCTURED[name]]
    return FAMILIES.get(name) or LOW_RANK.get(name) or PARAMETERLESS.get(name)


def short_names() -> list[str]:
    """All names that `resolve` knows."""
    return [*FAMILIES, *STRUCTURED, *LOW_RANK, *PARAMETERLESS, *SHORT_NAMES]


def resolve(family: FamilyLike, **fixed: Any) -> ExponentialFamily:
    """Returns a family by its short name, or the families of components by theirs.

    Parameters
    ----------
    family : str, ExponentialFamily or sequence of them
        A short name such as "gaussian"; an object is returned as it is. A sequence names the family of each component,
        and so does a text such as "gaussian*2,uniform".
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
    >>> resolve(["gaussian", "uniform"]).name
    'gaussian,uniform'
    """
    if isinstance(family, ExponentialFamily):
        return family
    if isinstance(family, Sequence) and not isinstance(family, str):
        return component_families(_single(each) for each in family)
    if not isinstance(family, str):
        raise TypeError(
            f"family is a {type(family).__name__}: give a short name such as 'gaussian', or a family object"
        )
    if family in SHORT_NAMES:
        return component_families(_named(name, {}) for name in SHORT_NAMES[family])
    if "," in family or "*" in family:
        return component_families(_named(name, {}) for name in repeated(family))
    return _named(family, fixed)


def families_of_components(family: FamilyLike, n_components: int, noise: bool = False) -> tuple[ExponentialFamily, int]:
    """The family of a mixture, and how many components it has in all.

    A list of families, or a text such as "gaussian*2,uniform", sets the number of components. Other families have
    `n_components`, beside those without parameters. `noise` adds a uniform component after them.
    """
    if isinstance(family, ComponentFamilies):
        listed: tuple[ExponentialFamily, ...] = family.families
    elif isinstance(family, str) and (family in SHORT_NAMES or family in PARAMETERLESS):
        found = resolve(family)
        of_set = found.families if isinstance(found, ComponentFamilies) else (found,)
        listed = with_components(of_set, n_components)
    elif isinstance(family, str) and ("," in family or "*" in family):
        listed = tuple(_named(name, {}) for name in repeated(family))
    elif isinstance(family, Sequence) and not isinstance(family, str):
        listed = tuple(_single(each) for each in family)
    elif noise:
        listed = (resolve(family),) * n_components
    else:
        return resolve(family), n_components
    if noise:
        listed = (*listed, Uniform(everywhere=True))
    return component_families(listed), len(listed)


def repeated(words: str) -> list[str]:
    """The names in a text such as "gaussian*2,uniform", each as often as it is meant.

    >>> repeated("gaussian*2,uniform")
    ['gaussian', 'gaussian', 'uniform']
    """
    names: list[str] = []
    for each in words.split(","):
        name, star, count = each.strip().partition("*")
        if star and not (count.strip().isdecimal() and 1 <= int(count) <= MOST_COMPONENTS):
            raise ValueError(f"family is {words!r}: {count!r} is not a number of components; write gaussian*2,uniform")
        names += [name.strip()] * (int(count) if star else 1)
    return names


def _single(family: str | ExponentialFamily) -> ExponentialFamily:
    """One of several families."""
    if isinstance(family, str | ExponentialFamily):
        return _named(family, {}) if isinstance(family, str) else family
    raise TypeError(f"a family of the list is a {type(family).__name__}: give short names or family objects")


def _named(name: str, fixed: Mapping[str, Any]) -> ExponentialFamily:
    if name in STRUCTURED:
        return structured(STRUCTURED[name], **fixed)
    kind = kind_of(name)
    if kind is None:
        names = short_names()
        near = get_close_matches(name.lower().replace("_", "-").replace(" ", "-"), names, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"unknown family {name!r}; {hint}the names are {', '.join(names)}")
    needed = [f.name for f in fields(kind) if f.default is MISSING and f.name not in fixed]
    if needed:
        raise ValueError(f"the family {name!r} needs its {', '.join(needed)}: use {kind.__name__}({needed[0]}=...)")
    return kind(**fixed)
