"""Gaussians beside heavy tails: what passes with Student t distributions add up also estimates Gaussians.

A Gaussian is the limit of a t distribution with infinite degrees of freedom, where all hidden scales are one. Sums of a
pass (see `hidden_scales.ScaleSums`) are then those of rows and of their products, seen from the component's own mean:
estimates are exact, not steps.
"""

import numpy as np

from .._kernels import Tailed
from ..numerics.arrays import Array
from ..numerics.linear_algebra import cholesky_or_nan
from .derived import ExponentialFamily
from .diagonal_gaussian import DiagonalGaussian
from .hidden_scales import Parts, Prior, ScaleSums, log_diagonal
from .shapes import join


def has_light_tails(family: ExponentialFamily) -> bool:
    """Whether distributions are Gaussians that are estimated one by one."""
    return isinstance(family, DiagonalGaussian) or (family.is_gaussian and not family.joint)


def gaussian_parts(family: ExponentialFamily, natural: Array) -> Parts:
    """Means (k, d) and Cholesky factors of the covariances (k, d, d)."""
    infinite = np.full(len(natural), np.inf)
    if isinstance(family, DiagonalGaussian):
        source = family.source_from_natural(natural)
        deviations = np.sqrt(source["variance"])
        return Parts(source["mean"], deviations[..., :, None] * np.eye(deviations.shape[-1]), infinite)
    form = family.gaussian_form(natural)
    assert form is not None  # the family has light tails
    return Parts(form[0], cholesky_or_nan(form[1]), infinite)


def light_tailed(parts: Parts, log_weights: Array) -> Tailed:
    """Gaussians as passes take them."""
    constant = log_weights - log_diagonal(parts.factor) - 0.5 * parts.location.shape[1] * np.log(2 * np.pi)
    return Tailed(parts.location, np.linalg.inv(parts.factor), parts.degrees, constant)


def gaussian_estimate(family: ExponentialFamily, sums: ScaleSums, prior: Prior | None, spread: Array | None) -> Array:
    """The most likely natural parameters (k, D) by what a pass added up."""
    (_, factor, _), d = sums.before, sums.first.shape[1]
    strength, middle, covariance = Prior(0.0, np.zeros(d), np.zeros((d, d))) if prior is None else prior
    moved = np.einsum("kij,kj->ki", factor, sums.first)
    products = factor @ sums.second @ np.swapaxes(factor, -1, -2)
    found = np.empty((len(moved), family.n_statistics))
    for j, center in enumerate(sums.before.location):
        gap, total = middle - center, sums.counts[j] + strength
        first = (moved[j] + strength * gap) / total
        second = (products[j] + strength * (covariance + np.outer(gap, gap))) / total
        found[j] = family.natural_from_centered(_statistic(family, first, second)[None], center, spread)[0]
    return found


def gaussian_gain(sums: ScaleSums, after: Parts) -> Array:
    """What the log-likelihood (k,) of the shares gains from these Gaussians to others."""
    narrower = sums.counts * (log_diagonal(sums.before.factor) - log_diagonal(after.factor))
    return np.asarray(narrower - 0.5 * (sums.squares(after) - np.trace(sums.second, axis1=1, axis2=2)))


def _statistic(family: ExponentialFamily, first: Array, second: Array) -> Array:
    if isinstance(family, DiagonalGaussian):
        return join(first, np.diagonal(second))
    return family.expected_statistic(first, second)
