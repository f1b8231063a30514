"""EM for Student t distributions: steps from rows with shares, and from what one pass over the rows adds up.

The expected hidden scales u = (degrees + d) / (degrees + q) weight the rows, q being squared Mahalanobis distances. In
the expanded model scales have a mean of their own, which no density depends on: steps there converge faster (PX-EM,
Liu, Rubin and Wu, 1998). The gain of the expected complete log-likelihood bounds that of the likelihood from below.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from .._kernels import Tailed
from ..numerics.arrays import Array
from ..numerics.linear_algebra import cholesky_or_nan
from ..numerics.packing import lower_triangle
from ..numerics.special import trigamma
from .gaussian import lifted_covariances
from .resolution import COLLINEAR

# Below the least degrees tails are so heavy that a component holds everything; above the most it is a Gaussian.
LEAST_DEGREES, MOST_DEGREES = 0.5, 1000.0
# Degrees from which a t distribution may be called a Gaussian, if its likelihood gains no more than this, in nats.
LIGHT_DEGREES, NO_GAIN = 30.0, 0.5
# Rows that are whitened at a time: they stay in the cache.
ROWS_AT_ONCE = 1 << 12
# The least scale of a column whose rows are all equal, as a share of their size.
SMALLEST = 1e-10


class Parts(NamedTuple):
    """Locations (k, d), lower Cholesky factors of the scale matrices (k, d, d) and degrees of freedom (k,)."""

    location: Array
    factor: Array
    degrees: Array


def bounds_of_degrees(degrees: Array, close: float) -> list[str]:
    """The bounds that degrees of freedom (k,) stand on, up to this difference of logarithms."""
    ends = {LEAST_DEGREES: "the heaviest tails", MOST_DEGREES: "in effect a Gaussian"}
    near = {end: bool((np.abs(np.log(degrees / end)) < close).any()) for end in ends}
    return [f"{end:g} degrees of freedom ({meaning})" for end, meaning in ends.items() if near[end]]


def nearly_gaussian(parts: Parts, n_rows: float, close: float) -> list[str]:
    """The degrees of freedom below the bound that this number of rows does not tell from a Gaussian.

    With many degrees a row tells them apart by d (d + 2) / (4 degrees^2) nats, the first term of an Edgeworth
    expansion of the divergence.
    """
    d, degrees = parts.location.shape[1], parts.degrees
    gain = n_rows * d * (d + 2) / (4 * degrees**2)
    light = (degrees >= LIGHT_DEGREES) & (gain < NO_GAIN) & (np.log(MOST_DEGREES / degrees) >= close)
    return [f"{own:.3g} degrees of freedom (in effect a Gaussian)" for own in degrees[light]]


def squared_distances(X: Array, parts: Parts) -> Array:
    """Squared Mahalanobis distances (n, k): all rows are whitened by all components in one product."""
    k, d = parts.location.shape
    whitening = np.linalg.inv(parts.factor)
    offsets = np.einsum("kij,kj->ik", whitening, parts.location)
    by_coordinate = np.swapaxes(whitening, 0, 1).reshape(d * k, d).T
    distance = np.empty((k, len(X))).T
    for start in range(0, len(X), ROWS_AT_ONCE):
        block = X[start : start + ROWS_AT_ONCE]
        gap = block @ by_coordinate
        gap -= offsets.ravel()
        gap *= gap
        total = gap[:, :k]
        for place in range(k, k * d, k):
            total += gap[:, place : place + k]
        distance[start : start + ROWS_AT_ONCE] = total
    return distance


def log_density(distance: Array, parts: Parts, n_columns: int | None = None) -> Array:
    """Log-densities (n, k) at squared distances, of rows that have that many of the columns: by default all.

    Of fewer columns the determinant is still that of all.
    """
    d, degrees = parts.location.shape[-1] if n_columns is None else n_columns, parts.degrees
    half = 0.5 * (degrees + d)
    constant = scipy.special.gammaln(half) - scipy.special.gammaln(0.5 * degrees)
    constant = constant - 0.5 * d * np.log(np.pi * degrees) - log_diagonal(parts.factor)
    return constant - half * np.log1p(distance / degrees)


def degree_slopes(distance: Array, shares: Array, degrees: Array, d: int) -> tuple[Array, Array]:
    """First and second derivatives (k,) of the log-likelihood by the logarithm of the degrees of freedom."""
    counts, half = shares.sum(axis=0), 0.5 * (degrees + d)
    ratio = distance / degrees
    inverse = 1 / (1 + ratio)
    share = ratio * inverse
    first = counts * (scipy.special.digamma(half) - scipy.special.digamma(0.5 * degrees) - d / degrees)
    first += np.einsum("nk,nk->k", shares, half / degrees * 2 * share - np.log1p(ratio))
    second = 0.5 * counts * (trigamma(half) - trigamma(0.5 * degrees))
    second += counts * d / degrees**2
    inner = share / degrees - d / degrees**2 * share - (degrees + d) / degrees**2 * share * inverse
    second += np.einsum("nk,nk->k", shares, inner)
    slope, bend = 0.5 * first * degrees, 0.5 * (first * degrees + second * degrees**2)
    return slope, bend


def log_diagonal(factor: Array) -> Array:
    return np.asarray(np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1))


def scatter_around(X: Array, weights: Array, center: Array) -> Array:
    """The weighted sum (d, d) of products of rows seen from a center, block by block."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for start in range(0, len(X), ROWS_AT_ONCE):
        gap = X[start : start + ROWS_AT_ONCE] - center
        total += (weights[start : start + ROWS_AT_ONCE, None] * gap).T @ gap
    return total


def gaussian_fit(moments: tuple[Array, ...], parts: Parts) -> Array:
    """The mean log-densities (k,), under Gaussians, of rows with this mean (d,) and covariance (d, d)."""
    (mean, covariance), d = moments, parts.location.shape[1]
    whitening = np.linalg.inv(parts.factor)
    gap = np.einsum("kij,kj->ki", whitening, mean - parts.location)
    distance = (gap**2).sum(axis=1) + np.einsum("kij,jl,kil->k", whitening, covariance, whitening)
    return np.asarray(-0.5 * distance - log_diagonal(parts.factor) - 0.5 * d * np.log(2 * np.pi))


def weighted_moments(X: Array, weights: Array) -> tuple[Array, Array]:
    """Mean (d,) and covariance (d, d)."""
    total = float(weights.sum())
    mean = weights @ X / total
    gap = X - mean
    return mean, (weights[:, None] * gap).T @ gap / total


def largest_of(X: Array) -> Array:
    """The largest |x| (d,) of each column."""
    return np.abs(X).max(axis=0)


def factors_of(scale: Array, spread: Array | None, sizes: Array) -> Array:
    """Factors of scale matrices (k, d, d), lifted where they are narrower than the spread or nearly singular.

    `sizes` (d,) are the largest |x| of the columns.
    """
    # Rounding may leave variances below zero.
    deviations = np.sqrt(np.maximum(np.diagonal(scale, axis1=-2, axis2=-1), 0.0))
    least = SMALLEST * np.maximum(sizes, 1e-100)
    floor = np.maximum(COLLINEAR * deviations, least) if spread is None else np.maximum(spread, least)
    lifted = scale
    if spread is not None or not np.isfinite(cholesky_or_nan(scale)).all() or (deviations < least).any():
        lifted = lifted_covariances(scale, np.broadcast_to(floor, deviations.shape))
    return cholesky_or_nan(lifted)


# Steps from what a pass adds up ---------------------------------------------------------------------------------------


class Prior(NamedTuple):
    """Pseudo-observations without hidden scales: how many there are, their mean (d,) and covariance (d, d)."""

    strength: float
    mean: Array
    covariance: Array


@dataclass(frozen=True)
class ScaleSums:
    """What a pass with components `before` added up, in their own coordinates y = L^-1 (x - location).

    Sums of shares (k,), of shares times hidden scales u (k,), times log(u) (k,), times u y (k, d), times u y y'
    (k, d, d).
    """

    before: Parts
    counts: Array
    hidden: Array
    log_hidden: Array
    first: Array
    second: Array

    @classmethod
    def of(cls, before: Parts, cells: Array) -> "ScaleSums":
        """Those of a pass (k, cells); see `TailedRows`."""
        d, degrees = before.location.shape[1], before.degrees
        rows, columns = lower_triangle(d)
        second = np.empty((len(cells), d, d))
        second[:, rows, columns] = second[:, columns, rows] = cells[:, 3 + d :]
        counts = cells[:, 0]
        heavy = np.isfinite(degrees)
        finite = np.where(heavy, degrees, 1.0)
        log_hidden = counts * np.where(heavy, np.log1p(d / finite), 0.0) - cells[:, 2]
        return cls(before, counts, cells[:, 1], log_hidden, cells[:, 3 : 3 + d], second)

    def scatter(self, location: Array) -> Array:
        """Sums of shares times u (x - location) (x - location)', (k, d, d)."""
        factor, delta = self.before.factor, location - self.before.location
        cross = np.einsum("kij,kj,kl->kil", factor, self.first, delta)
        own = factor @ self.second @ np.swapaxes(factor, -1, -2)
        around = own - cross - np.swapaxes(cross, -1, -2)
        return np.asarray(around + self.hidden[:, None, None] * delta[:, :, None] * delta[:, None, :])

    def step(self, prior: Prior | None, spread: Array | None, sizes: Array, expanded: bool) -> Parts:
        """Locations and scale matrices of one step of EM, in the expanded model or not."""
        d = len(sizes)
        strength, middle, covariance = (0.0, np.zeros(d), np.zeros((d, d))) if prior is None else prior
        moved = np.einsum("kij,kj->ki", self.before.factor, self.first)
        total = self.hidden + strength
        location = (self.hidden[:, None] * self.before.location + moved + strength * middle) / total[:, None]
        gap = middle - location
        scatter = self.scatter(location) + strength * (covariance + gap[:, :, None] * gap[:, None, :])
        scale = scatter / (total if expanded else self.counts + strength)[:, None, None]
        return Parts(location, factors_of(scale, spread, sizes), self.before.degrees)

    def mean_excess(self, expanded: bool) -> Array:
        """The mean (k,) of log(u) - u, in the expanded model of scales whose mean is one."""
        mean = self.hidden / self.counts
        return self.log_hidden / self.counts - (np.log(mean) + 1.0 if expanded else mean)

    def gain(self, after: Parts) -> Array:
        """A lower bound (k,) on what the log-likelihood of the shares gains from these components to others."""
        d, before = self.first.shape[1], self.before
        half = 0.5 * (before.degrees + d)
        log_scales = self.counts * (scipy.special.digamma(half) - np.log(half)) + self.log_hidden
        squares = self.squares(after)
        mean = (after.degrees * self.hidden + squares) / (self.counts * (after.degrees + d))
        there = self._expected(after, squares, mean, log_scales)
        here = self._expected(before, np.trace(self.second, axis1=1, axis2=2), np.ones(len(mean)), log_scales)
        return np.asarray(there - here)

    def squares(self, after: Parts) -> Array:
        """Sums (k,) of shares times hidden scales times squared distances to other components."""
        whitening = np.linalg.inv(after.factor)
        turned = whitening @ self.before.factor
        gap = np.einsum("kij,kj->ki", whitening, after.location - self.before.location)
        squares = np.einsum("kij,kjl,kil->k", turned, self.second, turned)
        return np.asarray(
            squares + self.hidden * (gap**2).sum(axis=1) - 2 * np.einsum("ki,kij,kj->k", gap, turned, self.first)
        )

    def _expected(self, parts: Parts, squares: Array, mean: Array, log_scales: Array) -> Array:
        """The expected complete log-likelihood (k,) of components in the expanded model, up to a constant."""
        d, half = self.first.shape[1], 0.5 * parts.degrees
        each = half * np.log(half / mean) - scipy.special.gammaln(half)
        each -= log_diagonal(parts.factor) + 0.5 * d * np.log(mean)
        rest = (parts.degrees * self.hidden + squares) / (2 * mean)
        return np.asarray(self.counts * each + half * log_scales - rest)


def tailed(parts: Parts, log_weights: Array) -> Tailed:
    """Components as passes take them."""
    constant = log_density(np.zeros((1, len(log_weights))), parts)[0] + log_weights
    return Tailed(parts.location, np.linalg.inv(parts.factor), parts.degrees, constant)
