"""The numerical inverses of grad F, each safe on its whole domain.

Every solver is vectorised over components, takes a bounded number of steps, and never returns NaN. A moment on the
boundary of its space (identical rows, say) has no finite answer; it gives the documented cap instead, which is the
exact maximum-likelihood answer under that cap. A moment clearly outside its space is an error that says so.
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from .arrays import Array
from .special import (
    digamma_minus_total,
    inverse_digamma,
    log_minus_digamma,
    multivariate_digamma_gap,
    multivariate_trigamma,
    scaled_bessel,
    trigamma,
)

MAX_SHAPE = 1e12  # gamma shapes, Dirichlet totals and Wishart half degrees stop here
SMALLEST_SHAPE = 1e-152  # a Dirichlet concentration below this has an infinite trigamma
MAX_CONCENTRATION = 1e10  # von Mises-Fisher concentrations stop here
MAX_STEPS = 100
# The digits of Newton's iterates double with every step: after one of this relative size the next changes nothing.
DIGITS_DOUBLE_BELOW = 1e-9
# A moment may miss its space by this much through rounding alone; further out it is a mistake worth an error.
ROUNDING = 1e-6


def _reject(outside: NDArray[np.bool_], values: Array, sentence: str) -> None:
    bad = np.atleast_1d(outside | np.isnan(values))
    if bad.any():
        component = int(np.argmax(bad.any(axis=tuple(range(1, bad.ndim))))) if bad.ndim > 1 else int(np.argmax(bad))
        raise ValueError(f"component {component}: {sentence} (got {np.atleast_1d(values)[bad].flat[0]:.6g})")


def gamma_shape(gap: Array) -> Array:
    """The shape a of a gamma distribution with log(a) - psi(a) = gap, where gap = log E[x] - E[log x] >= 0.

    Newton on 1/a from Minka's closed-form start (2002), which is already within 1.3 %.

    >>> round(float(gamma_shape(np.array(np.log(2.5) - scipy.special.digamma(2.5)))), 12)
    2.5
    """
    gap = np.asarray(gap, dtype=float)
    _reject(gap < -ROUNDING, gap, "log of the mean minus mean of the log cannot be negative")
    gap = np.clip(gap, 0.5 / MAX_SHAPE, 1e150)
    # The start (3 - g + sqrt((g-3)^2 + 24 g)) / (12 g), written without the cancellation at large g.
    root = np.sqrt((gap - 3) ** 2 + 24 * gap)
    inverse = np.where(gap <= 3, 12 * gap / np.where(gap <= 3, 3 - gap + root, 1.0), 0.5 * (gap - 3 + root))
    for _ in range(12):
        a = 1 / inverse
        slope = 1 - a * trigamma(a)  # a times the derivative of log a - psi(a): always negative
        step = (log_minus_digamma(a) - gap) / (a * slope)
        inverse = np.minimum(np.maximum(inverse + step, inverse / 4), inverse * 4)
        if np.all(np.abs(step) <= DIGITS_DOUBLE_BELOW * inverse):
            break
    return np.minimum(1 / inverse, MAX_SHAPE)


def dirichlet_concentration(mean_log: Array) -> Array:
    """The alpha (..., K) with psi(alpha_i) - psi(sum alpha) = mean_log_i; the moment space is sum exp(mean_log) < 1.

    A bracketed search for the total, then Newton with Minka's diagonal plus rank-one Hessian, O(K) a step; where a
    step would leave the domain or lower the likelihood, his fixed point takes over.

    >>> alpha = np.array([[0.5, 2.0, 30.0]])
    >>> eta = scipy.special.digamma(alpha) - scipy.special.digamma(alpha.sum())
    >>> np.allclose(dirichlet_concentration(eta), alpha, rtol=1e-10)
    True
    """
    eta = np.asarray(mean_log, dtype=float)
    size = eta.shape[-1]
    mass = np.exp(np.minimum(eta, 700.0)).sum(axis=-1, keepdims=True)
    _reject(
        np.atleast_1d(mass > 1 + ROUNDING),
        mass,
        "the geometric means of proportions cannot sum to more than one",
    )
    eta = np.maximum(eta, -1e150)
    # 1 - mass is (K - 1) / (2 alpha0) near the boundary: this keeps alpha0 below the cap.
    room = np.maximum(1 - mass, 0.5 * (size - 1) / MAX_SHAPE)
    start = (size - 1 + room) / (2 * room)
    total = _dirichlet_total(eta, start)
    searched = np.maximum(inverse_digamma(scipy.special.digamma(total) + eta), SMALLEST_SHAPE)
    # Near the boundary rounding may lead the search astray, and the closed form of large concentrations is close.
    closed = np.maximum(0.5 + np.exp(eta) * (start - 0.5), SMALLEST_SHAPE)

    def objective(candidate: Array) -> Array:
        normalizer = scipy.special.gammaln(candidate).sum(-1, keepdims=True) - scipy.special.gammaln(
            candidate.sum(-1, keepdims=True)
        )
        return np.asarray(((candidate - 1) * eta).sum(-1, keepdims=True) - normalizer)

    alpha = np.where(objective(searched) >= objective(closed), searched, closed)
    value = objective(alpha)
    for _ in range(MAX_STEPS):
        alpha0 = alpha.sum(axis=-1, keepdims=True)
        gradient = eta - digamma_minus_total(alpha)
        curvature = -trigamma(alpha)
        whole = 1 / trigamma(alpha0)
        # 1 / psi' of a sum exceeds the sum of them, though not always by a digit a float can see.
        rank_one = np.maximum(whole + (1 / curvature).sum(-1, keepdims=True), 1e-17 * whole)
        shift = (gradient / curvature).sum(-1, keepdims=True) / rank_one
        newton = alpha - (gradient - shift) / curvature
        legal = np.all(newton > 0, axis=-1, keepdims=True) & (newton.sum(-1, keepdims=True) <= 4 * MAX_SHAPE)
        newton = np.where(legal, newton, alpha)
        new_value = objective(newton)
        # Near the optimum the objective is flat to rounding, so "not lower" must allow for that of its largest term.
        accept = legal & (new_value >= value - 1e-14 * (np.abs(value) + np.abs(scipy.special.gammaln(alpha0))))
        following = newton
        if not accept.all():
            following = np.where(accept, newton, inverse_digamma(scipy.special.digamma(alpha0) + eta))
        following = following * np.minimum(1.0, MAX_SHAPE / following.sum(-1, keepdims=True))
        step = np.max(np.abs(following - alpha) / alpha, axis=-1, keepdims=True)
        # The boundary is (K - 1) / (2 alpha0) away: its rounding moves large totals by more than their own.
        smallest = np.where(accept, np.maximum(DIGITS_DOUBLE_BELOW, 16 * np.finfo(float).eps * alpha0), 1e-13)
        alpha, value = following, np.where(accept, new_value, objective(following))
        if np.all(step <= smallest):
            break
    return alpha


def _dirichlet_total(eta: Array, start: Array) -> Array:
    """The total alpha0 to about 0.1 %: the root of sum_i psi^-1(psi(s) + eta_i) = s, by Newton within a bracket."""
    low, high = np.full(start.shape, np.log(SMALLEST_SHAPE)), np.full(start.shape, np.log(MAX_SHAPE))
    u = np.clip(np.log(start), low, high)
    for _ in range(60):
        s = np.exp(u)
        alpha = np.maximum(inverse_digamma(scipy.special.digamma(s) + eta), SMALLEST_SHAPE)
        excess = np.log(alpha.sum(axis=-1, keepdims=True) / s)
        slope = s * trigamma(s) * (1 / trigamma(alpha)).sum(-1, keepdims=True) / alpha.sum(-1, keepdims=True) - 1
        low, high = np.where(excess > 0, u, low), np.where(excess > 0, high, u)
        newton = u - excess / np.where(slope < 0, slope, -1.0)
        following = np.where((newton > low) & (newton < high), newton, 0.5 * (low + high))
        step = np.max(np.abs(following - u))
        u = following
        if step <= 1e-3:
            break
    return np.exp(u)


def sphere_concentration(length: Array, dimension: int) -> Array:
    """The kappa with A_d(kappa) = length, A_d the mean resultant length of a von Mises-Fisher distribution in d
    dimensions.

    Newton (Sra 2012) from the start of Banerjee et al. (2005); near length one it works on the gap 1 - length,
    so that the only digits lost are those the argument itself does not carry.

    >>> round(float(sphere_concentration(np.array(1 / np.tanh(3.0) - 1 / 3), 3)), 10)
    3.0
    """
    r = np.asarray(length, dtype=float)
    _reject((r > 1 + ROUNDING) | (r < 0), r, "the mean of unit vectors has a length between zero and one")
    gap = np.clip(1 - r, 0.5 * (dimension - 1) / MAX_CONCENTRATION, 1.0)
    r = np.where(r > 0.5, 1 - gap, r)
    kappa = r * (dimension - r * r) / (gap * (1 + r))
    order = dimension / 2 - 1
    for _ in range(20):
        bessel = scaled_bessel(order, kappa)
        ratio = kappa * bessel.quotient
        excess = np.where(r > 0.5, gap - bessel.ratio_gap, ratio - r)
        # A'(kappa) = 1 - A^2 - (d-1) A / kappa, with A / kappa the quotient: no division by a zero kappa.
        slope = bessel.ratio_gap * (1 + ratio) - (dimension - 1) * bessel.quotient
        # At huge kappa the slope cancels; its leading term (d-1) / (2 kappa^2) then serves.
        leading = 0.5 * (dimension - 1) / np.maximum(kappa, 1.0) ** 2
        slope = np.where(kappa > 1e6 * dimension, leading, slope)
        step = excess / slope
        kappa = np.clip(kappa - step, kappa / 4, np.minimum(4 * kappa, MAX_CONCENTRATION))
        if np.all(np.abs(step) <= DIGITS_DOUBLE_BELOW * kappa):
            break
    return kappa


def wishart_half_degrees(gap: Array, size: int) -> Array:
    """The a = n/2 with sum_i psi(a + (1-i)/2) - p log a = gap < 0, for p x p matrices: half the degrees of freedom.

    Newton on log(a - (p-1)/2), which keeps every step inside the domain.

    >>> round(float(wishart_half_degrees(multivariate_digamma_gap(np.array(4.5), 3), 3)), 10)
    4.5
    """
    gap = np.asarray(gap, dtype=float)
    _reject(gap > ROUNDING, gap, "mean log-determinant minus log-determinant of the mean cannot be positive")
    lowest = (size - 1) / 2
    gap = np.clip(gap, -1e150, -size * (size + 1) / (4 * MAX_SHAPE))
    smallest = lowest + 1e-10 * max(lowest, 1.0)  # closer to the edge a float cannot tell a from it
    a = np.maximum(size * (size + 1) / (-4 * gap), np.maximum(lowest + 1 / (1 - gap), smallest))
    for _ in range(60):
        slope = multivariate_trigamma(a, size) - size / a
        error = multivariate_digamma_gap(a, size) - gap
        # A Newton step in log(a - lowest), at most a factor of e^2: error shrinks monotonically from either side.
        room = a - lowest
        step = np.clip(error / (slope * room), -2.0, 2.0)
        a = np.clip(lowest + room * np.exp(-step), smallest, MAX_SHAPE)
        if np.all(np.abs(step) <= 1e-14):
            break
    return a
