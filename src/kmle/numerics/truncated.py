"""Standard distributions on intervals: log-probabilities and the first moments given that a value lies inside.

Probabilities are never subtracted where they are small: Mills ratios by `erfcx`, Gauss-Legendre points on narrow
intervals, where the ratios cancel (Johnson, Kotz and Balakrishnan, 1994, sections 10.1 and 19.13).
"""

import numpy as np
import scipy

from .arrays import Array

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(12)
# An interval is narrow if the log-density changes by no more than about this in it.
_NARROW = 1.0
_ROOT_TWO = np.sqrt(2.0)
_RATIO = np.sqrt(2 / np.pi)
# Below this product of rate and width the series of the mean is exact.
_SHORT = 1e-3


def gaussian_interval(lower: Array, upper: Array) -> tuple[Array, Array, Array]:
    """log P(lower < Z < upper), E[Z | ...] and E[Z^2 | ...] of a standard Gaussian; bounds of any equal shapes.

    >>> [round(float(part), 6) for part in gaussian_interval(np.array(0.0), np.array(np.inf))]
    [-0.693147, 0.797885, 1.0]
    """
    # Seen from the side where the interval is: Mills ratios decay there.
    with np.errstate(all="ignore"):
        flipped = lower + upper < 0
        low, high = np.where(flipped, -upper, lower), np.where(flipped, -lower, upper)
        width = high - low
        narrow = width * (1 + np.maximum(np.abs(low), np.abs(high))) <= _NARROW
        log_p, mean, second = np.where(low >= 0, _gaussian_tail(low, high), _gaussian_around(low, high))
        if narrow.any():
            found = _gaussian_narrow(low[narrow], width[narrow])
            log_p[narrow], mean[narrow], second[narrow] = found
    return log_p, np.where(flipped, -mean, mean), second


def gaussian_statistics(lower: Array, upper: Array, natural: Array) -> tuple[Array, Array]:
    """log P (m, k) and E[(X, X^2) | ...] (m, k, 2) of Gaussians with natural parameters (k, 2) on intervals (m,)."""
    variance = -0.5 / natural[:, 1]
    mean, deviation = natural[:, 0] * variance, np.sqrt(variance)
    low, high = ((bound[:, None] - mean) / deviation for bound in (lower, upper))
    log_p, first, second = gaussian_interval(low, high)
    x = mean + deviation * first
    return log_p, np.stack([x, mean * (2 * x - mean) + variance * second], axis=-1)


def _gaussian_tail(low: Array, high: Array) -> Array:
    """The same for 0 <= low, by ratios to the density at `low`."""
    drop = np.exp(-0.5 * (high - low) * (high + low))
    ratio = scipy.special.erfcx(low / _ROOT_TWO) - drop * scipy.special.erfcx(high / _ROOT_TWO)
    end = np.where(np.isfinite(high), high * drop, 0.0)
    mean = _RATIO * (1 - drop) / ratio
    return np.stack([np.log(0.5 * ratio) - 0.5 * low**2, mean, 1 + _RATIO * (low - end) / ratio])


def _gaussian_around(low: Array, high: Array) -> Array:
    """The same for low < 0 < high."""
    mass = 1 - scipy.special.ndtr(low) - scipy.special.ndtr(-high)
    below, above = (np.exp(-0.5 * bound**2) / np.sqrt(2 * np.pi) for bound in (low, high))
    ends = np.where(np.isfinite(low), low * below, 0.0) - np.where(np.isfinite(high), high * above, 0.0)
    return np.stack([np.log(mass), (below - above) / mass, 1 + ends / mass])


def _gaussian_narrow(low: Array, width: Array) -> tuple[Array, Array, Array]:
    middle = low + 0.5 * width
    steps = 0.5 * width[..., None] * _POINTS
    mass = 0.5 * _WEIGHTS * np.exp(-steps * (middle[..., None] + 0.5 * steps))
    total = mass.sum(axis=-1)
    step, square = (mass * steps).sum(axis=-1) / total, (mass * steps**2).sum(axis=-1) / total
    log_p = np.log(width * total) - 0.5 * middle**2 - 0.5 * np.log(2 * np.pi)
    return log_p, middle + step, middle**2 + 2 * middle * step + square


def exponential_interval(lower: Array, upper: Array, rate: Array) -> tuple[Array, Array]:
    """log P(lower < T < upper) and E[T | ...] of exponential times with a rate; arguments broadcast, 0 <= lower.

    >>> [part.item() for part in exponential_interval(np.array([2.0]), np.array([np.inf]), np.array([0.5]))]
    [-1.0, 4.0]
    """
    with np.errstate(all="ignore"):
        width = upper - lower
        turn = rate * width
        log_p = -rate * lower + np.log(-np.expm1(-turn))
        rest = 1 / rate - np.where(np.isfinite(width), width / np.expm1(turn), 0.0)
        series = width * (0.5 - turn / 12 + turn**3 / 720)
        return log_p, lower + np.where(turn < _SHORT, series, rest)
