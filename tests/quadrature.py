"""Sums and integrals over the laws under test, written for the tests alone.

Each function gives rows X (m, d) and weights (m,) such that weights @ g(X) is the sum, or integral, of g wherever the
given laws have mass that a float can see.
"""

from itertools import product

import numpy as np
from scipy import stats
from scipy.special import expit, log_expit, logit

PANELS, POINTS = 160, 14


def line(*dists):
    """One variable: SciPy's own support and quantiles say where the mass is."""
    if hasattr(dists[0].dist, "logpmf"):
        low = min(float(dist.support()[0].item()) for dist in dists)
        high = max(float((dist.mean() + 60 * dist.std()).item()) for dist in dists) + 60
        end = max(float(dist.support()[1].item()) for dist in dists)
        x = np.arange(low, min(high, end) + 1)
        return x[:, None], np.ones_like(x)
    if dists[0].dist.name == "vonmises":
        x, weights = circle()
        return np.arctan2(x[:, 1], x[:, 0])[:, None], weights
    lower, upper = (float(np.asarray(end).item()) for end in dists[0].support())
    if np.isfinite(upper):
        # The last float below one is 1e-16 away from it.
        to_line, to_support, ends = logit, expit, (-700.0, 36.0)
        log_slope = lambda w: log_expit(w) + log_expit(-w)  # noqa: E731
    elif np.isfinite(lower):
        to_line, to_support, ends = (lambda x: np.log(x - lower)), (lambda w: lower + np.exp(w)), (-700.0, 700.0)
        log_slope = lambda w: w  # noqa: E731
    else:
        to_line = to_support = lambda x: x
        log_slope, ends = np.zeros_like, (-1e4, 1e4)
    edges = []
    for dist in dists:
        first, last = visible(lambda w, dist=dist: dist.logpdf(to_support(w)) + log_slope(w), *ends)
        middle = float(to_line(dist.median()).item())
        edges += [np.linspace(first, middle, PANELS // 2), np.linspace(middle, last, PANELS // 2)]
    w, weights = panels(np.unique(np.concatenate(edges)))
    return to_support(w)[:, None], weights * np.exp(log_slope(w))


def visible(height, low, high):
    """The part of the line where a log-density is within e^-45 of its peak."""
    grid = np.sinh(np.linspace(np.arcsinh(low), np.arcsinh(high), 4001))
    for _ in range(3):
        with np.errstate(all="ignore"):
            values = height(grid)
        inside = np.flatnonzero(values > np.nanmax(values) - 45)
        low, high = grid[max(inside[0] - 1, 0)], grid[min(inside[-1] + 1, len(grid) - 1)]
        grid = np.linspace(low, high, 4001)
    return low, high


def panels(edges):
    """Gauss-Legendre points on each panel between neighbouring edges."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (points + 1)).ravel(), (half * weights).ravel()


def all_rows(*levels):
    """Every row of whole numbers below the given levels."""
    X = np.array(list(product(*map(range, levels))), dtype=float)
    return X, np.ones(len(X))


def all_counts(total, width):
    """Every row of counts with this total."""
    X, _ = all_rows(*[total + 1] * width)
    X = X[X.sum(axis=1) == total]
    return X, np.ones(len(X))


def around(mean, covariance):
    """The trapezoidal rule on a grid along the axes of a Gaussian: exact to rounding for anything as smooth."""
    d = len(mean)
    factor = np.linalg.cholesky(np.reshape(covariance, (d, d)))
    steps = np.arange(-9, 9.1, 0.4)
    z = np.stack(np.meshgrid(*[steps] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return mean + z @ factor.T, np.full(len(z), 0.4**d * np.prod(np.diagonal(factor)))


def circle(size=2000):
    angles = np.arange(size) * 2 * np.pi / size - np.pi
    return np.stack([np.cos(angles), np.sin(angles)], axis=1), np.full(size, 2 * np.pi / size)


def sphere():
    """The unit sphere in three dimensions: heights times longitudes."""
    heights, weights = np.polynomial.legendre.leggauss(120)
    plane, longitude_weights = circle(120)
    z, across = np.repeat(heights, 120), np.sqrt(1 - np.repeat(heights, 120) ** 2)
    return np.column_stack([across[:, None] * np.tile(plane, (120, 1)), z]), np.outer(
        weights, longitude_weights
    ).ravel()


def simplex(concentration):
    """Rows of two or three proportions: a stick broken once or twice, each break in logits."""
    first, first_weights = _break(concentration[0], concentration[1:].sum())
    if len(concentration) == 2:
        return np.exp(np.column_stack([log_expit(first), log_expit(-first)])), first_weights
    second, second_weights = _break(*concentration[1:])
    w, v = np.repeat(first, len(second)), np.tile(second, len(first))
    X = np.exp(np.column_stack([log_expit(w), log_expit(-w) + log_expit(v), log_expit(-w) + log_expit(-v)]))
    return X, np.outer(first_weights, second_weights).ravel() * expit(-w)


def _break(a, b):
    """Logits of a proportion with a beta law, and weights that integrate over the proportion."""
    low, high = visible(lambda w: a * log_expit(w) + b * log_expit(-w), -700.0, 700.0)
    middle = np.log(a / b)
    w, weights = panels(np.concatenate([np.linspace(low, middle, 14), np.linspace(middle, high, 14)[1:]]))
    return w, weights * expit(w) * expit(-w)


def chi_square(degrees, scale):
    """Wishart matrices of size one: `scale` times a chi-square."""
    X, weights = line(stats.chi2(np.array([degrees]), 0, np.reshape(scale, 1)))
    return X, weights
