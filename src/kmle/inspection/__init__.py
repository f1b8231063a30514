"""Examining a fitted mixture: how sure its parameters are, how well components are told apart, how well it fits."""

from .bootstrap import Bootstrap, bootstrap
from .diagnostics import Diagnostics, diagnose
from .distribution import cdf, quantiles
from .goodness import QuantilePairs, kolmogorov_smirnov, pit, quantile_pairs
from .outliers import OutlierScores, outlier_scores
from .overfitting import overfitting
from .separation import Separation, overlap, posterior_entropy, separation
from .uncertainty import StandardErrors, standard_errors

__all__ = [
    "Bootstrap",
    "Diagnostics",
    "OutlierScores",
    "QuantilePairs",
    "Separation",
    "StandardErrors",
    "bootstrap",
    "cdf",
    "diagnose",
    "kolmogorov_smirnov",
    "outlier_scores",
    "overfitting",
    "overlap",
    "pit",
    "posterior_entropy",
    "quantile_pairs",
    "quantiles",
    "separation",
    "standard_errors",
]
