"""Bounds on the divergence of mixtures that always hold, and a close approximation that is none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy
from scipy.special import logsumexp, rel_entr

from ..mixture import Mixture
from ..numerics.arrays import Array
from .products import linear_carrier, log_products
from .shared import active_part, centered, check_one_family, exact_kl, over_pairs, pairwise_kl

# Steps of the bounds that are improved by iteration: more of them tighten, and any number of them is certified.
BOUND_STEPS = 200


@dataclass(frozen=True)
class Bounds:
    """Certain bounds on a value.

    Attributes
    ----------
    lower : float
        What the true value is never below.
    upper : float
        What it is never above.
    """

    lower: float
    upper: float


def kl_bounds(p: Mixture, q: Mixture) -> Bounds:
    """Returns guaranteed bounds on KL(p : q) for mixtures of one family, without samples.

    The upper bound is the best of Hershey and Olsen's variational bound (from all pairs, and from the best matching of
    components) and of a bound by the entropy of p through Bhattacharyya coefficients. The lower bound is the best of 0,
    of Donsker and Varadhan's bound over functions linear in t(x) and, if densities can be multiplied in closed form, of
    Jensen's bound on the cross entropy.

    Parameters
    ----------
    p, q : Mixture
        Two mixtures of one family.

    Returns
    -------
    Bounds
        The lower and the upper bound in nats.

    Examples
    --------
    >>> p = Mixture.from_source("poisson", [0.5, 0.5], rate=[1.0, 10.0])
    >>> q = Mixture.from_source("poisson", [0.4, 0.6], rate=[1.5, 12.0])
    >>> from kmle.divergences import kl
    >>> bounds = kl_bounds(p, q)
    >>> bounds.lower <= kl(p, q, random_state=0).value <= bounds.upper
    True
    """
    check_one_family(p, q)
    exact = exact_kl(p, q)
    if exact is not None:
        return Bounds(exact, exact)
    p, q = active_part(p), active_part(q)
    p, q = centered(p, q)
    across, within = pairwise_kl(p.family, p.natural, q.natural), pairwise_kl(p.family, p.natural, p.natural)
    upper = min(_variational_upper(p, q, across), _entropy_upper(p, q, across))
    lower = max(0.0, _linear_lower(p, q), _jensen_lower(p, q, within))
    # Bounds that meet may cross by rounding.
    return Bounds(min(lower, upper), max(lower, upper))


def kl_variational(p: Mixture, q: Mixture) -> float:
    """Returns Hershey and Olsen's variational approximation of KL(p : q): usually close, but not a bound.

    Parameters
    ----------
    p, q : Mixture
        Two mixtures of one family.

    Returns
    -------
    float
        The approximation in nats.

    Examples
    --------
    >>> p = Mixture.from_source("poisson", [0.5, 0.5], rate=[1.0, 10.0])
    >>> round(kl_variational(p, p), 12)
    0.0
    """
    check_one_family(p, q)
    p, q = centered(active_part(p), active_part(q))
    within, across = pairwise_kl(p.family, p.natural, p.natural), pairwise_kl(p.family, p.natural, q.natural)
    own = logsumexp(np.log(p.weights) - within, axis=1)
    other = logsumexp(np.log(q.weights) - across, axis=1)
    return float(p.weights @ (own - other))


def _variational_upper(p: Mixture, q: Mixture, across: Array) -> float:
    """min over flows of the log-sum inequality sum_ab flow_ab (log flow_ab / back_ab + KL(a : b))."""

    def improved(flow: Array) -> float:
        for _ in range(BOUND_STEPS):
            arriving = flow.sum(axis=0)
            back = q.weights * flow / np.where(arriving > 0, arriving, 1.0)
            # Measured from the nearest, so that no row of the exponentials is all zeros.
            used = back > 0
            nearest = np.where(used, across, np.inf).min(axis=1, keepdims=True)
            next_flow = back * np.exp(np.where(used, nearest - across, -np.inf))
            next_flow *= (p.weights / next_flow.sum(axis=1))[:, None]
            converged = np.abs(next_flow - flow).max() <= 1e-12
            flow = next_flow
            if converged:
                break
        arriving = flow.sum(axis=0)
        back = q.weights * flow / np.where(arriving > 0, arriving, 1.0)
        return float((rel_entr(flow, back) + flow * np.where(flow > 0, across, 0.0)).sum())

    bounds = [improved(np.outer(p.weights, q.weights))]
    if p.n_components == q.n_components:
        costs = across + np.log(p.weights)[:, None] - np.log(q.weights)
        a, b = scipy.optimize.linear_sum_assignment(p.weights[:, None] * costs)
        bounds.append(float(p.weights[a] @ costs[a, b]))
    return min(bounds)


def _entropy_upper(p: Mixture, q: Mixture, across: Array) -> float:
    """Cross entropy from above by Jensen, entropy of p from below by Bhattacharyya coefficients."""
    coefficients = over_pairs(p.family.bhattacharyya_coefficient, p.natural, p.natural)
    cross = logsumexp(np.log(q.weights) - across, axis=1)
    return float(p.weights @ (np.log(coefficients @ p.weights) - cross))


def _linear_lower(p: Mixture, q: Mixture) -> float:
    """max over u of E_p <u, t> - log E_q exp <u, t>: closed form for every family, and any u gives a bound."""
    family = q.family
    moment = p.weights @ family.moment_from_natural(p.natural)
    base = np.log(q.weights) - family.log_normalizer(q.natural)

    def loss(u: Array) -> tuple[float, Array]:
        with np.errstate(all="ignore"):
            terms = base + family.log_normalizer(q.natural + u)
            value = float(logsumexp(terms) - u @ moment)
            if not np.isfinite(value):
                return np.inf, np.zeros_like(u)
            slope = np.exp(terms - logsumexp(terms)) @ family.moment_from_natural(q.natural + u) - moment
        return value, np.where(np.isfinite(slope), slope, 0.0)

    starts = [np.zeros_like(moment)]
    starts.append(family.right_centroid(p.natural, p.weights) - family.right_centroid(q.natural, q.weights))
    # A step out of the parameter space is infinitely bad; halving brings the start inside, as zero is.
    while not np.isfinite(loss(starts[1])[0]):
        starts[1] = 0.5 * starts[1]
    start = min(starts, key=lambda u: loss(u)[0])
    with np.errstate(all="ignore"):
        found = scipy.optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": BOUND_STEPS}).x
    return -min(loss(u)[0] for u in (start, found))


def _jensen_lower(p: Mixture, q: Mixture, within: Array) -> float:
    """Cross entropy from below by -log of the integrals of products, entropy of p from above by divergences."""
    carrier = linear_carrier(p, q)
    if carrier is None:
        return -np.inf
    products = log_products(p, q, carrier)
    if not np.isfinite(products).all():
        return -np.inf
    cross = -logsumexp(np.log(q.weights) + products, axis=1)
    entropy = p.family.entropy(p.natural) - logsumexp(np.log(p.weights) - within, axis=1)
    return float(p.weights @ (cross - entropy))
