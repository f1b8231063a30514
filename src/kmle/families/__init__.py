"""The exponential families: one file each, all with the same formulas in the same order.

See `contract` for what a family writes, `layout` for how its rows are packed and `derived` for what follows.
"""

from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .checks import CheckResult, FamilyReport, check_family
from .chi_square import ChiSquare
from .components import ComponentFamilies
from .custom import CustomFamily, from_functions
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
from .maxwell import Maxwell
from .member import Member
from .multinomial import Multinomial
from .negative_binomial import NegativeBinomial
from .pareto import Pareto
from .point_mass import PointMass
from .poisson import Poisson
from .product import Product
from .rayleigh import Rayleigh
from .registry import FAMILIES, PARAMETERLESS, SHORT_NAMES, resolve
from .spherical_gaussian import SphericalGaussian
from .student_t import StudentT
from .uniform import Uniform
from .von_mises import VonMises
from .von_mises_fisher import VonMisesFisher
from .weibull import Weibull
from .wishart import Wishart
from .zero_truncated_poisson import ZeroTruncatedPoisson

__all__ = [
    "FAMILIES",
    "PARAMETERLESS",
    "SHORT_NAMES",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "CheckResult",
    "ChiSquare",
    "ComponentFamilies",
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
    "PointMass",
    "Poisson",
    "Product",
    "Rayleigh",
    "SphericalGaussian",
    "StudentT",
    "Uniform",
    "VonMises",
    "VonMisesFisher",
    "Weibull",
    "Wishart",
    "ZeroTruncatedPoisson",
    "check_family",
    "from_functions",
    "resolve",
]
