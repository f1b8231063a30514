"""Densities of huge counts and shapes without cancellation: saddle-point forms (Loader, 2000).

x log(rate) - rate - log x! is a difference of numbers a thousand billion times larger than itself at counts of 1e15. In
terms of the deviance and of Stirling's remainder nothing cancels, and the densities of many families are products of
Poisson probabilities, with x any positive number.
"""

import numpy as np
import scipy

from .arrays import Array
from .special import log_minus_digamma

# B_2n / (2n (2n - 1)): log Gamma(x + 1) = (x + 1/2) log x - x + log(2 pi) / 2 + the sum of these over x^(2n - 1).
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
_SERIES_FROM = 16.0
# log1p by its series in v / (2 + v) up to _SMALL; _TERMS terms are full precision.
_SMALL, _TERMS = 0.3, 12
# Counts and shapes up to here lose no digits that matter in the plain formulas.
LARGE = 1e5


def log1p_gap(v: Array) -> Array:
    """v - log(1 + v), which is v^2 / 2 near zero, to full relative precision.

    >>> round(float(log1p_gap(np.array(1e-9))) * 1e18, 9)
    0.5
    """
    near = np.where(np.abs(v) < _SMALL, v, 0.0)
    ratio = near / (2 + near)
    square = ratio * ratio
    series = np.zeros_like(ratio)
    for n in range(_TERMS, 0, -1):
        series = square * (1 / (2 * n + 1) + series)
    return np.where(np.abs(v) < _SMALL, ratio * (near - 2 * series), v - np.log1p(v))


def stirling_remainder(x: Array) -> Array:
    """log Gamma(x + 1) - (x + 1/2) log x + x - log(2 pi) / 2 for x of at least 16."""
    inverse = (1 / x) ** 2
    series = np.zeros_like(inverse)
    for coefficient in reversed(_STIRLING):
        series = series * inverse + coefficient
    return np.asarray(series / x)


def log_poisson(x: Array, rate: Array) -> Array:
    """x log(rate) - rate - log Gamma(x + 1) for any x >= 0 and rate > 0, to full precision at any size.

    A rate in extended precision is used as it is: the difference to x decides.

    >>> bool(abs(log_poisson(np.array(1e15), np.array(1e15)) + 0.5 * np.log(2e15 * np.pi)) < 1e-13)
    True
    """
    x, exact_rate = np.broadcast_arrays(np.asarray(x, dtype=float), rate)
    rate = exact_rate.astype(float)
    small, large = np.minimum(x, _SERIES_FROM), np.maximum(x, _SERIES_FROM)
    plain = scipy.special.xlogy(small, rate) - rate - scipy.special.gammaln(small + 1)
    relative = ((exact_rate - large) / large).astype(float)
    with np.errstate(divide="ignore"):
        # Of a rate far below x its quotient by x keeps the digits, the relative difference does not.
        far = relative - np.log(rate / large)
    deviance = large * np.where(np.abs(relative) < _SMALL, log1p_gap(np.clip(relative, -_SMALL, _SMALL)), far)
    smooth = -deviance - 0.5 * np.log(2 * np.pi * large) - stirling_remainder(large)
    return np.where(x < _SERIES_FROM, plain, smooth)


def gamma_entropy(shape: Array) -> Array:
    """The entropy of a gamma distribution of scale one, to full precision at any shape.

    >>> bool(abs(gamma_entropy(np.array(1e15)) - 0.5 * np.log(2e15 * np.pi * np.e)) < 1e-12)
    True
    """
    shape = np.asarray(shape, dtype=float)
    small, large = np.minimum(shape, _SERIES_FROM), np.maximum(shape, _SERIES_FROM)
    plain = small + scipy.special.gammaln(small) + (1 - small) * scipy.special.digamma(small)
    smooth = 0.5 * np.log(2 * np.pi * large) + stirling_remainder(large) + (large - 1) * log_minus_digamma(large)
    return np.where(shape < _SERIES_FROM, plain, smooth)


def dirichlet_entropy(concentration: Array) -> Array:
    """The entropy of Dirichlet distributions with concentrations (..., K), to full precision at any size."""
    total = concentration.sum(axis=-1)
    parts = gamma_entropy(concentration).sum(axis=-1) - gamma_entropy(total)
    return np.asarray(parts - (concentration.shape[-1] - 1) * scipy.special.digamma(total))
