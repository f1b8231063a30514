"""How far packed scores may be off, and scores by differences to means for where that is too far."""

import numpy as np

from .._kernels import Centered
from ..families import ExponentialFamily
from ..families.support import without_outside
from ..numerics.arrays import Array

# Packed scores whose rounding error may exceed this many nats are computed otherwise, where the family can.
SCORE_ERROR = 1e-6


def score_errors(largest: Array, natural: Array, bias: Array) -> Array:
    """Bounds on the rounding errors of the packed scores of components (k,), in nats; zero for inactive ones.

    `largest` bounds the size of each statistic (D,). The bounds hold for rows in float32 too: where their scores are
    too close to tell, the kernels compute them in float64.
    """
    active = np.isfinite(bias)
    with np.errstate(invalid="ignore"):
        size = np.abs(natural) @ without_outside(largest) + np.abs(bias)
    return np.asarray(np.finfo(float).eps * np.where(active, size, 0.0))


def score_error(largest: Array, natural: Array, bias: Array) -> float:
    """The largest of these bounds."""
    return float(score_errors(largest, natural, bias).max(initial=0.0))


def centered_form(family: ExponentialFamily, natural: Array, log_weights: Array) -> Centered | None:
    """Components (k, D) with log-weights (k,) by their means; None where the family has no such form."""
    active = np.flatnonzero(np.isfinite(log_weights))
    with np.errstate(all="ignore"):
        form = family.centered_form(natural[active])
    if form is None:
        return None
    return form.with_constant(form.constant + log_weights[active]).spread_over(active, len(natural))


def finite(form: Centered | None) -> Centered | None:
    """The form, unless a precision is so close to singular that it has no factor: packed scores are all there is."""
    return form if form is not None and form.is_finite else None
