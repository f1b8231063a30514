"""Divergences and entropies of distributions, derived from F and its gradient.

Banerjee et al. 2005 (Bregman divergences and exponential families), Nielsen 2013 (Chernoff information).
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

# A divergence below this fraction of the terms it is the difference of is integrated instead, at this many points.
CANCELLED, INTEGRAL_POINTS = 1e-5, 8


def _dot(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)


def normalised(weights: ArrayLike | None, count: int) -> Array:
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
        """Returns F*(eta) = <theta, eta> - F(theta) at theta = grad F*(eta).

        Parameters
        ----------
        moment : array (k, D)
            Moment parameters: the means of t(x).

        Returns
        -------
        array (k,)
            The values.
        """
        natural = self.natural_from_moment(moment)
        return np.asarray(_dot(natural, moment) - self.log_normalizer(natural))

    @final
    def center(self, natural: Array, weights: ArrayLike | None = None) -> Array | None:
        """Returns the weighted mean of the locations of distributions.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters of the distributions.
        weights : array (k,), default=None
            The weights of the distributions; equal by default.

        Returns
        -------
        array (d,) or None
            The mean; None for families without a location.
        """
        places = self.locations(natural)
        return None if places is None else normalised(weights, len(natural)) @ places

    @final
    def centered(self, center: Array | None, *natural: Array) -> tuple[Array, ...]:
        """Natural parameters of the same distributions in coordinates with `center` at zero.

        Far from zero F is many times larger than the differences of F that divergences are made of.

        Parameters
        ----------
        center : array (d,), default=None
            The point to measure from; None for none.
        *natural : arrays (..., D)
            Natural parameters.

        Returns
        -------
        tuple of arrays (..., D)
            Natural parameters.
        """
        return natural if center is None else tuple(self.shifted(part, -center) for part in natural)

    @final
    def bregman(self, natural: Array, other: Array) -> Array:
        """Returns the Bregman divergence B_F(theta : theta') = F(theta) - F(theta') - <theta - theta', grad F(theta')>.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters of p.
        other : array (..., D)
            Natural parameters of q.

        Returns
        -------
        array (...,)
            The divergences, in nats.
        """
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
        """Returns B_F*(eta : eta') = F*(eta) - F*(eta') - <eta - eta', grad F*(eta')>, which is B_F(theta' : theta).

        Parameters
        ----------
        moment : array (..., D)
            Moment parameters of p.
        other : array (..., D)
            Moment parameters of q.

        Returns
        -------
        array (...,)
            The divergences, in nats.
        """
        return self.bregman(self.natural_from_moment(other), self.natural_from_moment(moment))

    @final
    def kl(self, natural: Array, other: Array) -> Array:
        """Returns the Kullback-Leibler divergence of p from q, which is B_F with its arguments swapped.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters of p.
        other : array (..., D)
            Natural parameters of q.

        Returns
        -------
        array (...,)
            KL(p : q), in nats.
        """
        return self.bregman(other, natural)

    @final
    def cross_entropy(self, natural: Array, other: Array) -> Array:
        """Returns -E[log q(x)] for x drawn from p.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters of p.
        other : array (..., D)
            Natural parameters of q.

        Returns
        -------
        array (...,)
            The cross-entropies, in nats.
        """
        return np.asarray(self.entropy(natural) + self.kl(natural, other))

    @final
    def entropy(self, natural: Array) -> Array:
        """Returns -E[log p(x)]; for continuous data this is the differential entropy.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k,)
            The entropies, in nats.
        """
        direct = self.direct_entropy(natural)
        if direct is not None:
            return direct
        center = self.locations(natural)
        (natural,) = self.centered(center, natural)
        mean = _dot(self.moment_from_natural(natural), natural) - self.log_normalizer(natural)
        volume = 0.0 if center is None else self.log_volume(center)
        return np.asarray(volume - mean - self.mean_log_carrier(natural))

    def chernoff_coefficient(self, natural: Array, other: Array, alpha: float = 0.5) -> Array:
        """Returns the integral of p^alpha q^(1 - alpha).

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters of p.
        other : array (..., D)
            Natural parameters of q.
        alpha : float, default=0.5
            The exponent of p.

        Returns
        -------
        array (...,)
            The coefficients: one for equal distributions, zero for disjoint ones.
        """
        natural, other = self.centered(self.locations(other), natural, other)
        middle = alpha * natural + (1 - alpha) * other
        return np.exp(-alpha * self._bregman(natural, middle) - (1 - alpha) * self._bregman(other, middle))

    @final
    def bhattacharyya_coefficient(self, natural: Array, other: Array) -> Array:
        """Returns the integral of sqrt(p q).

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters of p.
        other : array (..., D)
            Natural parameters of q.

        Returns
        -------
        array (...,)
            The coefficients: one for equal distributions, zero for disjoint ones.
        """
        return self.chernoff_coefficient(natural, other, 0.5)

    def chernoff_information(self, natural: Array, other: Array) -> Array:
        """Returns -log of the smallest Chernoff coefficient over alpha: the best error exponent for telling p from q.

        Parameters
        ----------
        natural : array (..., D)
            Natural parameters of p.
        other : array (..., D)
            Natural parameters of q.

        Returns
        -------
        array (...,)
            The information, in nats.
        """
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
        """Returns the weighted mean of F over distributions minus F at their weighted mean.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters of the distributions.
        weights : array (k,), default=None
            The weights of the distributions; equal by default.

        Returns
        -------
        array ()
            J_F, in nats; computed as a mean of divergences.
        """
        w = normalised(weights, len(natural))
        return np.asarray(w @ self.bregman(natural, (w @ natural)[None]))

    @final
    def bregman_information(self, moment: Array, weights: ArrayLike | None = None) -> Array:
        """Returns the least weighted mean of B_F*(eta_i : c) over c, reached at the mean moment.

        Parameters
        ----------
        moment : array (k, D)
            Moment parameters of the distributions.
        weights : array (k,), default=None
            The weights of the distributions; equal by default.

        Returns
        -------
        array ()
            J_F*, in nats.
        """
        w = normalised(weights, len(moment))
        return np.asarray(w @ self.dual_bregman(moment, (w @ moment)[None]))

    @final
    def fisher_information(self, natural: Array) -> Array:
        """Returns the covariance of t(x), grad^2 F(theta), by differences of order eight of grad F.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k, D, D)
            The Fisher information of the natural parameters.
        """
        natural = np.atleast_2d(np.asarray(natural, dtype=float))
        steps = natural_steps(self.log_normalizer, natural)
        information = jacobian(self.moment_from_natural, natural, steps)
        return np.asarray(0.5 * (information + np.swapaxes(information, -1, -2)))
