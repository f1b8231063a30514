"""Nodes and weights that integrate, or sum, a density of one variable over its support."""

from collections.abc import Callable

import numpy as np
import scipy

from .arrays import Array

# Integers up to this many are summed one by one; a longer sum is an integral to ten digits.
EXACT_TERMS = 1 << 20
_LARGEST_INTEGER = 1e15  # beyond, floats are no longer all the integers
_PANELS, _POINTS = 240, 16
# A log-density this far below its peak adds nothing a float can see.
_NEGLIGIBLE = 60.0


def interval_nodes(log_density: Callable[[Array], Array], lower: float, upper: float) -> tuple[Array, Array]:
    """Points x and weights with sum(weights * g(x)) = integral of g, placed where `log_density` has its mass.

    >>> x, weight = interval_nodes(lambda x: -x, 0.0, np.inf)
    >>> round(float(weight @ np.exp(-x)), 12)
    1.0
    """

    def from_line(w: Array) -> tuple[Array, Array]:
        """x and log(dx/dw): the whole line mapped onto the support."""
        if np.isfinite(lower) and np.isfinite(upper):
            log_slope = np.log(upper - lower) - np.logaddexp(0, w) - np.logaddexp(0, -w)
            x = np.clip(
                lower + (upper - lower) * scipy.special.expit(w), np.nextafter(lower, upper), np.nextafter(upper, lower)
            )
            return x, log_slope
        if np.isfinite(lower):
            return np.maximum(lower + np.exp(w), np.nextafter(lower, np.inf)), w
        if np.isfinite(upper):
            return np.minimum(upper - np.exp(w), np.nextafter(upper, -np.inf)), w
        return w, np.zeros_like(w)

    def height(w: Array) -> Array:
        x, log_slope = from_line(w)
        with np.errstate(all="ignore"):
            value = np.where((x > lower) & (x < upper), log_density(x) + log_slope, -np.inf)
        return np.where(np.isnan(value), -np.inf, value)

    low, mode, high = _mass_range(height, 700.0 if np.isfinite(lower) or np.isfinite(upper) else 1e12)
    # A break at the mode: the only place where these densities may have a kink (Laplace and its kin), or even a cusp.
    below, above = np.linspace(low, mode, _PANELS // 2 + 1), np.linspace(mode, high, _PANELS // 2 + 1)
    closer = 2.0 ** -np.arange(1, 41)
    edges = np.unique(np.concatenate([below, above, mode + (low - mode) * closer, mode + (high - mode) * closer]))
    points, weights = np.polynomial.legendre.leggauss(_POINTS)
    half = 0.5 * np.diff(edges)[:, None]
    w = (edges[:-1, None] + half * (points + 1)).ravel()
    x, log_slope = from_line(w)
    return x, (half * weights).ravel() * np.exp(log_slope)


def _mass_range(height: Callable[[Array], Array], reach: float) -> tuple[float, float, float]:
    """Where on the line between -reach and reach a log-density is not negligible: lowest point, mode, highest point."""
    grid = np.sinh(np.linspace(-np.arcsinh(reach), np.arcsinh(reach), 20001))
    for _ in range(6):
        values = height(grid)
        peak = int(np.argmax(values))
        if not values[peak] - _NEGLIGIBLE < values[peak]:  # so low everywhere that differences are lost
            raise ValueError("the density is too narrow for quadrature")
        inside = np.flatnonzero(values > values[peak] - _NEGLIGIBLE)
        low, high = grid[max(inside[0] - 1, 0)], grid[min(inside[-1] + 1, len(grid) - 1)]
        mode, around = grid[peak], (grid[max(peak - 1, 0)], grid[min(peak + 1, len(grid) - 1)])
        grid = np.unique(np.concatenate([np.linspace(low, mode, 5001), np.linspace(mode, high, 5001)]))
    for _ in range(5):
        close = np.linspace(*around, 201)
        peak = int(np.argmax(height(close)))
        mode, around = close[peak], (close[max(peak - 1, 0)], close[min(peak + 1, 200)])
    return float(low), float(mode), float(high)


def integer_nodes(log_density: Callable[[Array], Array], lower: float, upper: float) -> tuple[Array, Array]:
    """Points and weights with sum(weights * g(x)) = sum of g over the integers from `lower` to `upper`.

    >>> x, weight = integer_nodes(lambda x: -x, 0.0, np.inf)
    >>> bool(abs(weight @ np.exp(-x) - 1 / (1 - np.exp(-1))) < 1e-12)
    True
    """
    if upper < lower + EXACT_TERMS:
        x = np.arange(lower, upper + 1)
        return x, np.ones_like(x)

    def height(w: Array) -> Array:
        x = lower + np.round(np.expm1(w))
        with np.errstate(all="ignore"):
            value = np.where((x >= lower) & (x <= upper), log_density(np.minimum(x, upper)), -np.inf)
        return np.where(np.isnan(value), -np.inf, value)

    low, _, high = _mass_range(height, np.log(_LARGEST_INTEGER))
    first = max(lower, lower + np.floor(np.expm1(low)))
    last = min(upper, lower + np.ceil(np.expm1(high)))
    if last - first < EXACT_TERMS:
        x = np.arange(first, last + 1)
        return x, np.ones_like(x)
    # A sum this long is smooth: after its first terms, where a density may be steep, the midpoint rule serves.
    x = np.arange(first, first + EXACT_TERMS)
    far_x, far_weights = interval_nodes(log_density, x[-1] + 0.5, upper + 0.5)
    return np.concatenate([x, far_x]), np.concatenate([np.ones_like(x), far_weights])
