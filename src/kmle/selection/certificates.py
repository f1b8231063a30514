"""What is certain: about a fit, and about seeds drawn by the family's own divergence.

Bregman k-means++ draws seeds whose expected loss is at most (8 / mu^2)(2 + log k) times the least loss of k seeds, the
loss being sum_i min_j B_F*(t(x_i) : c_j), all weights equal. Here mu is the similarity of F* to a quadratic form Q on
the convex hull of the t(x_i): mu M_Q <= B_F* <= M_Q with M_Q(p, q) = (p - q)^T Q (p - q). As B_F*(p : q) is half the
second derivative of F* along q - p somewhere between p and q, extremes of the Hessian give mu:

- F* a sum over coordinates, F* = sum_i f_i: Q has the largest f_i'' / 2 of each side of the box around the data, and mu
  is the least min f_i'' / max f_i''. In one coordinate no Q gives more, as close pairs reach both extremes.
- F* = -c log|eta| on matrices: along H it bends by c tr(eta^-1 H eta^-1 H), which lies between c |H|^2 / high^2 and
  c |H|^2 / low^2 when low and high bound the eigenvalues of all rows, after any change of basis.
- Blocks of independent columns: Q is block diagonal, and mu is the least of the blocks'.

The bound is for single draws at the rows themselves. `init="k-mle++"` keeps the best of a few draws each time and pulls
seeds 5 % towards the mean; it does no worse in practice, but no constant is proven for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import Certificate
from ..families import (
    Bernoulli,
    Binomial,
    Categorical,
    ChiSquare,
    ExponentialFamily,
    FixedCovarianceGaussian,
    FixedDegreesInverseWishart,
    FixedDegreesWishart,
    Geometric,
    Multinomial,
    NegativeBinomial,
    Poisson,
    Product,
    resolve,
)
from ..families.registry import FAMILIES
from ..families.scale_family import ScaleFamily
from ..families.sparse import check_sparse
from ..families.validation import issparse
from ..numerics.arrays import Array
from ..numerics.options import whole_number
from ..numerics.packing import unpack
from ..numerics.special import inverse_digamma, trigamma


@dataclass(frozen=True)
class SeedingCertificate:
    """What is sure about a start before any step is made.

    Attributes
    ----------
    mu : float or None
        How close the divergence is to a quadratic form on the data, from 0 to 1; None when unknown.
    bound : float or None
        The bound on expected loss / least loss; None when void or unknown.
    sentence : str
        The same as a sentence.
    """

    mu: float | None
    bound: float | None
    sentence: str

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class _Similarity:
    """mu, or why there is none."""

    mu: float | None
    reason: str = ""


def certify(model: Any, X: ArrayLike, sample_weight: ArrayLike | None = None) -> Certificate:
    """Checks what is certain about a fit on the rows it was fitted to.

    The result is "global optimum" for an exact fit, "Hartigan-stable" if no single row gains by moving, "Lloyd-stable"
    if no label changes, "EM fixpoint" if further steps gain next to nothing, and otherwise "not stable".

    Parameters
    ----------
    model : fitted estimator or Fit
        The fit.
    X : array (n, d)
        The rows of the fit.
    sample_weight : array (n,), default=None
        The weights given to `fit`.

    Returns
    -------
    Certificate
        The `kind`, one sentence, and `details` with the numbers.

    Examples
    --------
    >>> from kmle import KMLE
    >>> X = [[1], [2], [30], [28]]
    >>> certify(KMLE(2, family="poisson", algorithm="exact").fit(X), X).kind
    'global optimum'
    """
    if not hasattr(model, "certify"):
        raise TypeError(f"certify takes a fitted estimator or a Fit, not a {type(model).__name__}")
    found: Certificate = model.certify(X, sample_weight)
    return found


def seeding_certificate(family: str | ExponentialFamily, X: ArrayLike, n_components: int) -> SeedingCertificate:
    """Bounds the expected loss of seeds drawn by Bregman k-means++, relative to the least loss.

    Parameters
    ----------
    family : str or ExponentialFamily
        The family.
    X : array (n, d)
        The rows.
    n_components : int
        The number of seeds.

    Returns
    -------
    SeedingCertificate
        The constant mu and the bound, or the reason why there is none; `str` gives one sentence.

    Examples
    --------
    >>> print(seeding_certificate("poisson", [[2], [3], [4]], 1))
    mu = 0.5: the expected loss of 1 seed is at most 64 times the least.
    """
    whole_number("n_components", n_components, 1)
    known = resolve(family).for_data(X)
    rows = check_sparse(known, X) if issparse(X) else known.check(X)
    found = _similarity(known, rows)
    if found.mu is None:
        return SeedingCertificate(None, None, found.reason)
    if found.mu == 0:
        return SeedingCertificate(0.0, None, f"The bound is void (mu = 0): {found.reason}.")
    bound = 8 / found.mu**2 * (2 + float(np.log(n_components)))
    seeds = "1 seed" if n_components == 1 else f"{n_components} seeds"
    message = f"mu = {found.mu:.4g}: the expected loss of {seeds} is at most {bound:.4g} times the least."
    return SeedingCertificate(found.mu, bound, message)


def _similarity(family: ExponentialFamily, X: Any) -> _Similarity:
    if isinstance(family, Product):
        return _of_blocks(family, X)
    if isinstance(family, FixedCovarianceGaussian):
        return _Similarity(1.0)
    if isinstance(family, FixedDegreesWishart | FixedDegreesInverseWishart):
        return _of_matrices(family, X)
    if isinstance(family, Multinomial) and family.trials is None:
        return _Similarity(None, "No bound is known: these rows of counts have different totals, so B_F* has no box.")
    for kind, curvature in _CURVATURES.items():
        if isinstance(family, kind):
            return _of_box(family, *_box(family, X), curvature)
    if type(family) not in FAMILIES.values():
        return _Similarity(None, f"No bound is known for {family.name}: the Hessian of its F* is unknown.")
    reason = (
        f"t(x) of a single row lies on the boundary of the moments of {family.name} (one row has no spread), "
        "where F* is infinite"
    )
    return _Similarity(0.0, reason)


# The Hessian of F* for families whose F* is a sum over coordinates, each convex in eta or monotone: f''(eta), up to a
# constant factor. Both extremes over an interval are then at its ends or at the point nearest to the middle.
_Curvature = Callable[[Any, Array], Array]
_CURVATURES: dict[type, _Curvature] = {
    Poisson: lambda family, eta: 1 / eta,
    Categorical: lambda family, eta: 1 / eta,
    Multinomial: lambda family, eta: 1 / eta,
    Bernoulli: lambda family, eta: 1 / eta + 1 / (1 - eta),
    Binomial: lambda family, eta: 1 / eta + 1 / (family.trials - eta),
    Geometric: lambda family, eta: 1 / (eta * (1 + eta)),
    NegativeBinomial: lambda family, eta: 1 / (eta * (family.size + eta)),
    ScaleFamily: lambda family, eta: 1 / eta**2,
    ChiSquare: lambda family, eta: 1 / trigamma(inverse_digamma(eta - np.log(2))),
}


def _box(family: ExponentialFamily, X: Any) -> tuple[Array, Array]:
    """The least and the largest t(x) of each coordinate."""
    if issparse(X):
        return X.min(axis=0).toarray().ravel().astype(float), X.max(axis=0).toarray().ravel().astype(float)
    low, high = np.inf, -np.inf
    for rows in family.row_blocks(X):
        t = family.sufficient_statistic(X[rows].astype(float, copy=False))
        low, high = np.minimum(low, t.min(axis=0)), np.maximum(high, t.max(axis=0))
    return np.asarray(low), np.asarray(high)


def _of_box(family: ExponentialFamily, low: Array, high: Array, curvature: _Curvature) -> _Similarity:
    # Coordinates without any spread add nothing to any divergence.
    wide = np.flatnonzero(high > low)
    if len(wide) == 0:
        return _Similarity(1.0)
    a, b = low[wide], high[wide]
    middle = {Bernoulli: 0.5, Binomial: 0.5 * getattr(family, "trials", 1)}.get(type(family), -np.inf)
    with np.errstate(divide="ignore"):
        values = np.stack([curvature(family, a), curvature(family, b), curvature(family, np.clip(middle, a, b))])
    ratio = values.min(axis=0) / values.max(axis=0)
    worst = int(np.argmin(ratio))
    if ratio[worst] > 0:
        return _Similarity(float(ratio[worst]))
    end = a[worst] if not np.isfinite(values[0, worst]) else b[worst]
    reason = (
        f"the data touches the boundary of the moments of {family.name} (statistic {wide[worst]} is {end:.6g} in some "
        "row), where the Hessian of F* is infinite"
    )
    return _Similarity(0.0, reason)


def _of_matrices(family: ExponentialFamily, X: Array) -> _Similarity:
    """By the eigenvalues of all rows relative to their mean."""
    whitener = np.linalg.inv(np.linalg.cholesky(unpack(family.mean_statistic(X))))
    low, high = np.inf, -np.inf
    for rows in family.row_blocks(X):
        matrices = unpack(family.sufficient_statistic(X[rows].astype(float, copy=False)))
        values = np.linalg.eigvalsh(whitener @ matrices @ whitener.T)
        low, high = min(low, float(values.min())), max(high, float(values.max()))
    if low <= 0:
        return _Similarity(0.0, "a row is singular to rounding beside the others")
    return _Similarity((low / high) ** 2)


def _of_blocks(family: Product, X: Array) -> _Similarity:
    stops = np.cumsum(family.widths)
    found = [
        _similarity(block, X[:, stop - width : stop])
        for block, width, stop in zip(family.families, family.widths, stops, strict=True)
    ]
    unknown = [similarity for similarity in found if similarity.mu is None]
    return unknown[0] if unknown else min(found, key=lambda similarity: similarity.mu or 0.0)
