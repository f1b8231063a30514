"""Kernel density estimates as mixtures: one component per row."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..families import ExponentialFamily, resolve
from ..families.validation import check_sample_weight
from ..mixture import Mixture
from ..numerics.arrays import Array

RULES = ("silverman", "scott")
KERNELS = ("gaussian", "diagonal-gaussian", "spherical-gaussian", "log-normal")


def kernel_density(
    X: ArrayLike,
    bandwidth: float | str | ArrayLike | None = None,
    family: str | ExponentialFamily = "gaussian",
    *,
    sample_weight: ArrayLike | None = None,
) -> Mixture:
    """Returns a Gaussian or log-normal kernel density estimate as a mixture with one component per row.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    bandwidth : float, array (d,), "silverman", "scott" or None, default=None
        The standard deviation of a kernel, one number or one per column. "silverman" (None) is (4 / ((d + 2) n))^(1 /
        (d + 4)) standard deviations of each column, "scott" is n^(-1 / (d + 4)) of them. A spherical kernel uses the
        root mean square over the columns. A log-normal kernel has its bandwidth on the logarithms.
    family : str or ExponentialFamily, default="gaussian"
        A Gaussian (full, diagonal or spherical) or log-normal family.
    sample_weight : array (n,), default=None
        The weights of the rows.

    Returns
    -------
    Mixture
        The density estimate; `simplify` reduces it to few components.

    Examples
    --------
    >>> kernel_density([[0.0], [1.0], [5.0]], bandwidth=0.5, family="diagonal-gaussian")
    Mixture of 3 diagonal-gaussian: weights=[0.3333 0.3333 0.3333], mean=[[0.0], [1.0], [5.0]], variance=[[0.25], ...
    """
    kind = resolve(family)
    if kind.name not in KERNELS:
        raise ValueError(f"kernel_density has no kernel of family {kind.name}: use one of {', '.join(KERNELS)}")
    kind = kind.for_data(X)
    rows = kind.check(X).astype(float, copy=False)
    given = check_sample_weight(sample_weight, len(rows))
    weights = np.full(len(rows), 1 / len(rows)) if given is None else given / given.sum()
    centers = np.log(rows) if kind.name == "log-normal" else rows
    width = _bandwidths(centers, weights, "silverman" if bandwidth is None else bandwidth)
    n = len(rows)
    if kind.name == "log-normal":
        return Mixture.from_source(kind, weights, log_mean=centers, log_std=np.tile(width, (n, 1)))
    if kind.name == "gaussian":
        return Mixture.from_source(kind, weights, mean=rows, covariance=np.tile(np.diag(width**2), (n, 1, 1)))
    if kind.name == "diagonal-gaussian":
        return Mixture.from_source(kind, weights, mean=rows, variance=np.tile(width**2, (n, 1)))
    return Mixture.from_source(kind, weights, mean=rows, variance=np.full((n, 1), np.mean(width**2)))


def _bandwidths(columns: Array, weights: Array, bandwidth: float | str | ArrayLike) -> Array:
    """One positive number a column."""
    d = columns.shape[1]
    if isinstance(bandwidth, str):
        return _by_rule(columns, weights, bandwidth)
    widths = np.asarray(bandwidth, dtype=float)
    if widths.shape not in ((), (1,), (d,)) or not (np.isfinite(widths).all() and (widths > 0).all()):
        raise ValueError(f"bandwidth is {bandwidth!r}: it must be positive, one number or one for each of {d} columns")
    return np.broadcast_to(widths, d)


def _by_rule(columns: Array, weights: Array, rule: str) -> Array:
    if rule not in RULES:
        raise ValueError(f"bandwidth is {rule!r}: it must be a number, {', '.join(map(repr, RULES))} or None")
    d = columns.shape[1]
    # Rows of unequal weight count as the number of equal ones that would estimate a mean as well.
    n = 1 / float(np.sum(weights**2))
    spread = np.sqrt(weights @ (columns - weights @ columns) ** 2 * (n / max(n - 1, 1.0)))
    if not (spread > 0).all():
        raise ValueError(f"column {int(np.argmin(spread))} is constant and has no default bandwidth: give bandwidth")
    factor = n ** (-1 / (d + 4)) if rule == "scott" else (n * (d + 2) / 4) ** (-1 / (d + 4))
    return np.asarray(factor * spread)
