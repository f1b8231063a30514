"""Divergences as means over samples, with their standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.options import whole_number
from .shared import check_spaces, exact_kl, tails_too_heavy


@dataclass(frozen=True)
class Estimate:
    """A mean over samples.

    Attributes
    ----------
    value : float
        The mean.
    standard_error : float
        Its standard error; zero where the value is exact.
    """

    value: float
    standard_error: float


def kl(p: Mixture, q: Mixture, n_samples: int = 100_000, random_state: Any = None) -> Estimate:
    """Estimates the Kullback-Leibler divergence KL(p : q): the mean of log p - log q over samples of p.

    It is exact for equal mixtures and for single distributions of one family. The families may differ if their rows are
    of the same kind, for example both whole numbers or both positive reals. It is infinite where p has tails so heavy
    that q rules out rows of p all but completely: Student t with 2 degrees of freedom or fewer against Gaussians.

    Parameters
    ----------
    p, q : Mixture
        Two mixtures.
    n_samples : int, default=100000
        The number of samples.
    random_state : int, Generator or None, default=None
        The seed of the samples.

    Returns
    -------
    Estimate
        The value in nats and its standard error.

    Examples
    --------
    >>> p = Mixture.from_source("poisson", [1.0], rate=[3.0])
    >>> q = Mixture.from_source("poisson", [1.0], rate=[5.0])
    >>> round(kl(p, q).value, 6)  # 3 log(3/5) + 2
    0.467523
    """
    check_spaces(p, q)
    exact = exact_kl(p, q)
    if exact is not None:
        return Estimate(exact, 0.0)
    if tails_too_heavy(p, q):
        return Estimate(np.inf, 0.0)
    return _mean(_log_ratio(p, q, _drawn(p, n_samples, np.random.default_rng(random_state))))


def jeffreys(p: Mixture, q: Mixture, n_samples: int = 100_000, random_state: Any = None) -> Estimate:
    """Estimates KL(p : q) + KL(q : p) from samples of both.

    Parameters
    ----------
    p, q : Mixture
        Two mixtures.
    n_samples : int, default=100000
        The number of samples.
    random_state : int, Generator or None, default=None
        The seed of the samples.

    Returns
    -------
    Estimate
        The value in nats and its standard error.

    Examples
    --------
    >>> p = Mixture.from_source("poisson", [1.0], rate=[3.0])
    >>> q = Mixture.from_source("poisson", [1.0], rate=[5.0])
    >>> round(jeffreys(p, q).value, 6)  # (5 - 3) log(5/3)
    1.021651
    """
    rng = np.random.default_rng(random_state)
    there, back = kl(p, q, n_samples, rng), kl(q, p, n_samples, rng)
    return Estimate(there.value + back.value, float(np.hypot(there.standard_error, back.standard_error)))


def jensen_shannon(p: Mixture, q: Mixture, n_samples: int = 100_000, random_state: Any = None) -> Estimate:
    """Estimates the mean divergence of p and q from their even mixture, between 0 and log 2.

    Parameters
    ----------
    p, q : Mixture
        Two mixtures.
    n_samples : int, default=100000
        The number of samples, half from each mixture.
    random_state : int, Generator or None, default=None
        The seed of the samples.

    Returns
    -------
    Estimate
        The value in nats and its standard error.

    Examples
    --------
    >>> p = Mixture.from_source("poisson", [1.0], rate=[1.0])
    >>> jensen_shannon(p, p)
    Estimate(value=0.0, standard_error=0.0)
    """
    check_spaces(p, q)
    if p == q:
        return Estimate(0.0, 0.0)
    rng = np.random.default_rng(random_state)
    halves = []
    for own, other in ((p, q), (q, p)):
        ratio = _log_ratio(own, other, _drawn(own, (n_samples + 1) // 2, rng))
        halves.append(_mean(np.log(2) - np.logaddexp(0.0, -ratio)))
    value = 0.5 * (halves[0].value + halves[1].value)
    error = 0.5 * np.hypot(halves[0].standard_error, halves[1].standard_error)
    return Estimate(float(np.clip(value, 0.0, np.log(2))), float(error))


def _drawn(mixture: Mixture, n: int, rng: np.random.Generator) -> Array:
    whole_number("n_samples", n, 2)
    return mixture.sample(n, rng)


def _log_ratio(p: Mixture, q: Mixture, rows: Array) -> Array:
    log_p = p.log_density(rows)
    if p.family.support != q.family.support and np.any(q.family.support.outside(rows)):
        # Where q is zero the ratio is infinite, and so is the mean.
        return np.full(len(rows), np.inf)
    return log_p - q.log_density(rows)


def _mean(values: Array) -> Estimate:
    if np.isinf(values).any():
        return Estimate(float(values.mean()), 0.0)
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))
