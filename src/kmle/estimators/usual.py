"""The families that are tried on data when none are named."""

import numpy as np
from numpy.typing import ArrayLike

from ..data.intervals import as_intervals
from ..families.sparse import as_csr
from ..families.support import COUNTS, POSITIVE, UNIT_OPEN, Integers, Simplex, UnitSphere
from ..families.validation import issparse, unmasked, without_na
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
    known = as_intervals(X)
    if known is not None:
        X = np.where(np.isfinite(known.lower), known.lower, np.where(np.isfinite(known.upper), known.upper, np.nan))
    if issparse(X):
        whole = as_csr(X).data
        return ("bernoulli", "poisson") if np.isin(whole, (0, 1)).all() else ("poisson",)
    if np.ndim(X) == 3:
        return ("wishart", "inverse-wishart")
    try:
        rows = np.asarray(unmasked(X))
        rows = rows if rows.dtype.kind in "fiu" else without_na(rows).astype(float)
    except (TypeError, ValueError):
        return ("gaussian",)  # whose own check says which entry is no number
    if rows.ndim != 2 or rows.size == 0 or np.isinf(rows).any() or np.isnan(rows).all(axis=0).any():
        return ("gaussian",)  # as above
    hole = np.isnan(rows)
    if not hole.any():
        return _names(rows, complete=known is None)
    first = rows[np.argmax(~hole, axis=0), np.arange(rows.shape[1])]
    return _names(np.where(hole, first, rows), complete=False)


def _names(rows: Array, complete: bool) -> tuple[str, ...]:
    """The same for legal rows; families of whole rows need them complete."""
    several = rows.shape[1] > 1
    if not COUNTS.outside(rows).any():
        binary = () if Integers(0, 1).outside(rows).any() else ("bernoulli",)
        totals = rows.sum(axis=1)
        shared_total = several and complete and totals[0] > 0 and np.ptp(totals) == 0
        return (*binary, "poisson", "geometric", "negative-binomial", *(("multinomial",) if shared_total else ()))
    if several and complete and not Simplex().outside(rows).any():
        return ("dirichlet",)
    if several and complete and not UnitSphere().outside(rows).any():
        return ("von-mises-fisher",)
    gaussian = ("gaussian", "diagonal-gaussian", "spherical-gaussian") if several else ("gaussian",)
    positive = () if POSITIVE.outside(rows).any() else POSITIVE_FAMILIES
    beta = () if UNIT_OPEN.outside(rows).any() else ("beta",)
    return (*gaussian, *positive, *beta)
