"""Integrals of products of densities, in closed form, and the divergence made of them."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp

from ..families.custom import CustomFamily
from ..families.numeric_divergences import NumericDivergences
from ..mixture import Mixture
from ..numerics.arrays import Array
from .shared import active_part, centered, check_one_family, over_pairs

# Distributions whose samples show the carrier.
SAMPLED_ROWS = 64
# How far, relatively, a carrier may be from linear in t(x) and be taken as rounding.
LINEAR = 1e-9


def cauchy_schwarz(p: Mixture, q: Mixture) -> float:
    """Returns the Cauchy-Schwarz divergence, -log of the integral of p q over the root of those of p^2 and q^2.

    The closed form needs a carrier k(x) that is constant or linear in t(x): Gaussians, gamma, beta, Dirichlet,
    exponential, log-normal, von Mises-Fisher, Wishart and others.

    Parameters
    ----------
    p, q : Mixture
        Two mixtures of one family.

    Returns
    -------
    float
        The divergence in nats; zero for equal mixtures.

    Examples
    --------
    >>> p = Mixture.from_source("gaussian", [1.0], mean=[[0.0]], covariance=[[[1.0]]])
    >>> q = Mixture.from_source("gaussian", [1.0], mean=[[2.0]], covariance=[[[1.0]]])
    >>> round(cauchy_schwarz(p, q), 6)  # 2^2 / 4
    1.0
    """
    check_one_family(p, q)
    p, q = centered(active_part(p), active_part(q))
    numeric = isinstance(p.family, NumericDivergences)
    carrier = None if numeric else linear_carrier(p, q)
    if carrier is None:
        raise ValueError(
            f"cauchy_schwarz has no closed form for {p.family.name}: its carrier k(x) is not known to be linear in "
            "t(x), so products of densities are outside the family; use jensen_shannon"
        )

    def log_integral(a: Mixture, b: Mixture) -> float:
        log_weights = np.log(a.weights)[:, None] + np.log(b.weights)
        return float(logsumexp(log_weights + log_products(a, b, carrier)))

    cross, own_p, own_q = log_integral(p, q), log_integral(p, p), log_integral(q, q)
    if not np.isfinite([cross, own_p, own_q]).all():
        raise ValueError("cauchy_schwarz is undefined here: the square of a density has an infinite integral")
    return max(0.0, 0.5 * (own_p + own_q) - cross)


def log_products(p: Mixture, q: Mixture, carrier: tuple[Array, float]) -> Array:
    """log of the integral of f_a g_b for all pairs of components: F(a + b + c) + c0 - F(a) - F(b), inf where none."""
    family, (slope, constant) = p.family, carrier

    def log_product(a: Array, b: Array) -> Array:
        with np.errstate(all="ignore"):
            total = family.log_normalizer(a + b + slope)
        joint = np.where(np.isfinite(total), total, np.inf)
        return np.asarray(joint + constant - family.log_normalizer(a) - family.log_normalizer(b))

    return over_pairs(log_product, p.natural, q.natural)


def linear_carrier(p: Mixture, q: Mixture) -> tuple[Array, float] | None:
    """c and c0 with k(x) = <c, t(x)> + c0, or None: fitted to samples, then held against E[k] of every component."""
    family = p.family
    if isinstance(family, CustomFamily) and family.n_features != 1:  # it neither samples nor integrates
        return None
    rng = np.random.default_rng(0)
    natural = np.concatenate([p.natural, q.natural])
    shown = natural[np.unique(np.linspace(0, len(natural) - 1, SAMPLED_ROWS).astype(int))]
    rows = np.concatenate([family.sample(natural, 4 + 4 * family.n_statistics // len(shown), rng) for natural in shown])
    carrier = family.log_carrier(rows)
    design = np.column_stack([family.sufficient_statistic(rows), np.ones(len(rows))])
    scale = np.maximum(np.abs(design).max(axis=0), np.finfo(float).tiny)
    solution = np.linalg.lstsq(design / scale, carrier, rcond=None)[0] / scale
    size = 1 + np.abs(carrier).max()
    slope, constant = solution[:-1], float(solution[-1])
    if np.abs(design @ solution - carrier).max() > LINEAR * size:
        return None
    # Samples may miss what a mean does not, such as counts above one.
    means = family.moment_from_natural(natural) @ slope + constant
    return (slope, constant) if np.abs(means - family.mean_log_carrier(natural)).max() <= LINEAR * size else None
