"""The families that are tried on data when none are named."""

import numpy as np
from numpy.typing import ArrayLike

from ..families.sparse import as_csr
from ..families.support import COUNTS, POSITIVE, UNIT_OPEN, Integers, Simplex, UnitSphere
from ..families.validation import issparse
from ..numerics.arrays import Array

POSITIVE_FAMILIES = (
    "gamma",
    "weibull",
    "log-normal",
    "inverse-gaussian",
    "inverse-gamma",
    "exponential",
    "rayleigh",
    "maxwell",
    "half-normal",
    "chi-square",
)


def usual_families(X: ArrayLike) -> tuple[str, ...]:
    """Names of the families that hold data like this, have no fixed parameters that must be given, and whose
    likelihoods compare.

    >>> usual_families([[3], [0], [7]])
    ('poisson', 'geometric', 'negative-binomial')
    >>> usual_families([[0.2], [-1.5]])
    ('gaussian',)
    """
    if issparse(X):
        whole = as_csr(X).data
        return ("bernoulli", "poisson") if np.isin(whole, (0, 1)).all() else ("poisson",)
    if np.ndim(X) == 3:
        return ("wishart", "inverse-wishart")
    try:
        rows = np.asarray(X)
        rows = rows if rows.dtype.kind in "fiu" else rows.astype(float)
    except (TypeError, ValueError):
        return ("gaussian",)  # whose own check says which entry is no number
    if rows.ndim != 2 or rows.size == 0 or not np.isfinite(rows).all():
        return ("gaussian",)  # as above
    return _names(rows)


def _names(rows: Array) -> tuple[str, ...]:
    several = rows.shape[1] > 1
    if not COUNTS.outside(rows).any():
        binary = () if Integers(0, 1).outside(rows).any() else ("bernoulli",)
        totals = rows.sum(axis=1)
        shared_total = several and totals[0] > 0 and np.ptp(totals) == 0
        return (*binary, "poisson", "geometric", "negative-binomial", *(("multinomial",) if shared_total else ()))
    if several and not Simplex().outside(rows).any():
        return ("dirichlet",)
    if several and not UnitSphere().outside(rows).any():
        return ("von-mises-fisher",)
    gaussian = ("gaussian", "diagonal-gaussian", "spherical-gaussian") if several else ("gaussian",)
    positive = () if POSITIVE.outside(rows).any() else POSITIVE_FAMILIES
    beta = () if UNIT_OPEN.outside(rows).any() else ("beta",)
    return (*gaussian, *positive, *beta)
