"""Divergences, entropies and centroids of distributions, derived from F and its gradient.

Banerjee et al. 2005 (Bregman divergences and exponential families), Nielsen and Nock 2009 (centroids), Nielsen 2013
(Chernoff information).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array
from ..numerics.differentiation import jacobian, natural_steps
from .expectations import Expectations
from .validation import check_sample_weight

DESCENT_STEPS = 200
# A divergence below this fraction of the terms it is the difference of is integrated instead, at this many points.
CANCELLED, INTEGRAL_POINTS = 1e-5, 8


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)


def _normalised(weights: ArrayLike | None, count: int) -> Array:
    if weights is None:
        return np.full(count, 1 / count)
    w = check_sample_weight(weights, count)
    assert w is not None
    return w / w.sum()


@dataclass(frozen=True)
class Divergences(Expectations):
    """What compares the distributions of a family; functions of two parameters broadcast over the leading axes."""

    @final
    def conjugate(self, moment: Array) -> Array:
        """F*(eta) = <theta, eta> - F(theta) at theta = grad F*(eta)."""
        natural = self.natural_from_moment(moment)
        return np.asarray(_dot(natural, moment) - self.log_normalizer(natural))

    @final
    def center(self, natural: Array, weights: ArrayLike | None = None) -> Array | None:
        """The weighted mean (d,) of the locations of distributions (k, D); None for families without a location."""
        places = self.locations(natural)
        return None if places is None else _normalised(weights, len(natural)) @ places

    @final
    def centered(self, center: Array | None, *natural: Array) -> tuple[Array, ...]:
        """Natural parameters of the same distributions in coordinates with `center` at zero.

        Far from zero F is many times larger than the differences of F that divergences are made of.
        """
        return natural if center is None else tuple(self.shifted(part, -center) for part in natural)

    @final
    def bregman(self, natural: Array, other: Array) -> Array:
        """B_F(theta : theta') = F(theta) - F(theta') - <theta - theta', grad F(theta')>."""
        return self._bregman(*self.centered(self.locations(other), natural, other))

    def _bregman(self, natural: Array, other: Array) -> Array:
        here, there = self.log_normalizer(natural), self.log_normalizer(other)
        slope = _dot(natural - other, self.moment_from_natural(other))
        value = np.maximum(here - there - slope, 0.0)
        # What is small beside the terms of the difference is rounding: an integral of the gradient has no such terms.
        small = value < CANCELLED * (np.abs(here) + np.abs(there) + np.abs(slope))
        if not small.any():
            return value
        natural, other = (np.broadcast_to(part, (*small.shape, part.shape[-1]))[small] for part in (natural, other))
        value = np.array(value)
        value[small] = self._integrated_bregman(natural, other)
        return value

    def _integrated_bregman(self, natural: Array, other: Array) -> Array:
        """The integral of <grad F(theta' + s (theta - theta')) - grad F(theta'), theta - theta'> over s."""
        step, start = natural - other, self.moment_from_natural(other)
        points, weights = np.polynomial.legendre.leggauss(INTEGRAL_POINTS)
        value = np.zeros(len(step))
        for point, weight in zip(0.5 + 0.5 * points, 0.5 * weights, strict=True):
            value += weight * _dot(self.moment_from_natural(other + point * step) - start, step)
        return np.maximum(value, 0.0)

    @final
    def dual_bregman(self, moment: Array, other: Array) -> Array:
        """B_F*(eta : eta') = F*(eta) - F*(eta') - <eta - eta', grad F*(eta')>, which is B_F(theta' : theta)."""
        return self.bregman(self.natural_from_moment(other), self.natural_from_moment(moment))

    @final
    def kl(self, natural: Array, other: Array) -> Array:
        """Kullback-Leibler divergence of `natural` from `other`: B_F with its arguments swapped."""
        return self.bregman(other, natural)

    @final
    def cross_entropy(self, natural: Array, other: Array) -> Array:
        """-E[log p(x; other)] for x drawn from `natural`, in nats."""
        return np.asarray(self.entropy(natural) + self.kl(natural, other))

    @final
    def entropy(self, natural: Array) -> Array:
        """-E[log p(x)], in nats; for continuous data the differential entropy."""
        direct = self.direct_entropy(natural)
        if direct is not None:
            return direct
        center = self.locations(natural)
        (natural,) = self.centered(center, natural)
        mean = _dot(self.moment_from_natural(natural), natural) - self.log_normalizer(natural)
        volume = 0.0 if center is None else self.log_volume(center)
        return np.asarray(volume - mean - self.mean_log_carrier(natural))

    def chernoff_coefficient(self, natural: Array, other: Array, alpha: float = 0.5) -> Array:
        """The integral of p^alpha q^(1 - alpha): one for equal distributions, zero for disjoint ones."""
        natural, other = self.centered(self.locations(other), natural, other)
        middle = alpha * natural + (1 - alpha) * other
        return np.exp(-alpha * self._bregman(natural, middle) - (1 - alpha) * self._bregman(other, middle))

    @final
    def bhattacharyya_coefficient(self, natural: Array, other: Array) -> Array:
        """The integral of sqrt(p q)."""
        return self.chernoff_coefficient(natural, other, 0.5)

    def chernoff_information(self, natural: Array, other: Array) -> Array:
        """-log of the smallest Chernoff coefficient over alpha: the best error exponent for telling p from q."""
        natural, other = self.centered(self.locations(other), natural, other)
        shape = np.broadcast_shapes(natural.shape, other.shape)[:-1]
        low, high = np.zeros(shape), np.ones(shape)
        # The optimal alpha is where the geodesic distribution is as far from p as from q; the difference is monotone in
        # alpha.
        for _ in range(60):
            alpha = 0.5 * (low + high)
            between = alpha[..., None] * natural + (1 - alpha[..., None]) * other
            nearer_p = self._bregman(natural, between) < self._bregman(other, between)
            low, high = np.where(nearer_p, low, alpha), np.where(nearer_p, alpha, high)
        return self._bregman(natural, between)

    @final
    def jensen_diversity(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """J_F: the weighted mean of F over distributions (k, D) minus F at their weighted mean, as a mean of
        divergences.
        """
        w = _normalised(weights, len(natural))
        return np.asarray(w @ self.bregman(natural, (w @ natural)[None]))

    @final
    def bregman_information(self, moment: Array, weights: ArrayLike | None = None) -> Array:
        """J_F*: the least weighted mean of B_F*(eta_i : c), reached at the mean moment."""
        w = _normalised(weights, len(moment))
        return np.asarray(w @ self.dual_bregman(moment, (w @ moment)[None]))

    @final
    def fisher_information(self, natural: Array) -> Array:
        """The covariance of t(x), grad^2 F(theta), (k, D, D): differences of order eight of grad F."""
        natural = np.atleast_2d(np.asarray(natural, dtype=float))
        steps = natural_steps(self.log_normalizer, natural)
        information = jacobian(self.moment_from_natural, natural, steps)
        return np.asarray(0.5 * (information + np.swapaxes(information, -1, -2)))

    # Centroids of distributions (k, D) --------------------------------------------------------------------------------

    @final
    def right_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """The theta that minimises the mean of KL(p_i : p_theta): the distribution with the mean moment."""
        center = self.center(natural, weights)
        return self._moved_back(self._right_centroid(self.centered(center, natural)[0], weights), center)

    def _right_centroid(self, natural: Array, weights: ArrayLike | None) -> Array:
        moment = _normalised(weights, len(natural)) @ self.moment_from_natural(natural)
        return self.natural_from_moment(moment[None])[0]

    def _moved_back(self, natural: Array, center: Array | None) -> Array:
        return natural if center is None else self.shifted(natural, center)

    @final
    def left_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """The theta that minimises the mean of KL(p_theta : p_i): the mean natural parameter."""
        return np.asarray(_normalised(weights, len(natural)) @ natural)

    @final
    def symmetrised_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """The theta that minimises the mean of KL(p_i : p_theta) + KL(p_theta : p_i).

        Up to a constant that mean is B_F(left : theta) + B_F(theta : right), left and right being the one-sided
        centroids: a descent with twice the Fisher information as its metric, halving any step that does not pay.
        """
        center = self.center(natural, weights)
        return self._moved_back(self._symmetrised_centroid(self.centered(center, natural)[0], weights), center)

    def _symmetrised_centroid(self, natural: Array, weights: ArrayLike | None) -> Array:
        right, left = self._right_centroid(natural, weights), self.left_centroid(natural, weights)
        right_moment = self.moment_from_natural(right[None])[0]

        def loss(theta: Array) -> float:
            with np.errstate(all="ignore"):
                value = float(self.bregman(left, theta) + self.bregman(theta, right))
            return value if np.isfinite(value) else np.inf

        # Both ends are legal; the better of them and their middle starts.
        center = min((right, left, 0.5 * (left + right)), key=loss)
        current = loss(center)
        for _ in range(DESCENT_STEPS):
            information = self.fisher_information(center)[0]
            slope = self.moment_from_natural(center[None])[0] - right_moment - information @ (left - center)
            step = np.linalg.lstsq(2 * information, -slope, rcond=1e-12)[0]
            while loss(center + step) > current and step @ information @ step > 1e-24:
                step = 0.5 * step
            if step @ information @ step <= 1e-24:
                break
            center = center + step
            current = loss(center)
        # Through the moment and back, so that redundant coordinates come out in their normal form.
        return self.natural_from_moment(self.moment_from_natural(center[None]))[0]
