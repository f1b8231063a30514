"""The exponential families: one file each, all with the same formulas in the same order.

See `contract` for what a family writes and `base` for what is derived from it.
"""

from .base import ExponentialFamily, Member
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .checks import CheckResult, FamilyReport, check_family
from .chi_square import ChiSquare
from .custom import CustomFamily, from_functions
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
from .registry import FAMILIES, resolve
from .spherical_gaussian import SphericalGaussian
from .von_mises import VonMises
from .von_mises_fisher import VonMisesFisher
from .weibull import Weibull
from .wishart import Wishart

__all__ = [
    "FAMILIES",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "CheckResult",
    "ChiSquare",
    "CustomFamily",
    "DiagonalGaussian",
    "Dirichlet",
    "Exponential",
    "ExponentialFamily",
    "FamilyReport",
    "FixedCovarianceGaussian",
    "FixedDegreesInverseWishart",
    "FixedDegreesWishart",
    "FixedShapeGamma",
    "Gamma",
    "Gaussian",
    "GeneralizedGaussian",
    "Geometric",
    "HalfNormal",
    "InverseGamma",
    "InverseGaussian",
    "InverseWishart",
    "Laplace",
    "LogNormal",
    "Maxwell",
    "Member",
    "Multinomial",
    "NegativeBinomial",
    "Pareto",
    "Poisson",
    "Product",
    "Rayleigh",
    "SphericalGaussian",
    "VonMises",
    "VonMisesFisher",
    "Weibull",
    "Wishart",
    "check_family",
    "from_functions",
    "resolve",
]
