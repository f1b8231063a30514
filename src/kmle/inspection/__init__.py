"""Examining a fitted mixture: how sure its parameters are, how well components are told apart, how well it fits."""

from .bootstrap import Bootstrap, bootstrap
from .diagnostics import Diagnostics, diagnose
from .distribution import cdf, quantiles
from .goodness import QuantilePairs, kolmogorov_smirnov, pit, quantile_pairs
from .likelihood_ratio import LikelihoodRatios, bootstrap_lrt
from .outliers import OutlierScores, outlier_scores
from .overfitting import overfitting
from .separation import Separation, overlap, posterior_entropy, separation
from .survival import ProductLimit, Survival, product_limit, survival
from .uncertainty import StandardErrors, standard_errors

__all__ = [
    "Bootstrap",
    "Diagnostics",
    "LikelihoodRatios",
    "OutlierScores",
    "ProductLimit",
    "QuantilePairs",
    "Separation",
    "StandardErrors",
    "Survival",
    "bootstrap",
    "bootstrap_lrt",
    "cdf",
    "diagnose",
    "kolmogorov_smirnov",
    "outlier_scores",
    "overfitting",
    "overlap",
    "pit",
    "posterior_entropy",
    "product_limit",
    "quantile_pairs",
    "quantiles",
    "separation",
    "standard_errors",
    "survival",
]
