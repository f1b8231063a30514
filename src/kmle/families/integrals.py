"""Integrals over a density of one column, with what rounding may have done to them."""

import numpy as np

from ..numerics.arrays import Array
from .base import ExponentialFamily
from .support import Integers

# How many times the known effects of rounding an integral may be off by, and the most that is put down to it.
SLACK, MOST_SLACK = 4.0, 0.1


def total_and_mean(family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
    """The integrals (1 + D,) of the density and of t times it at one natural parameter (D,), and their slack."""
    x, weight = family.nodes(natural)
    here, rounding = _at(family, natural, x, weight)
    # Next to a finite end numbers are sparse: what the neighbour of a node would give instead tells how much is lost.
    nearby = x if isinstance(family.support, Integers) else np.nextafter(x, x[np.argmax(here[:, 0])])
    there, _ = _at(family, natural, nearby, weight)
    slack = SLACK * (np.abs(here - there) + rounding[:, None] * np.abs(here)).sum(axis=0)
    return here.sum(axis=0), np.nan_to_num(np.minimum(slack, MOST_SLACK * np.abs(here).sum(axis=0)))


def _at(family: ExponentialFamily, natural: Array, x: Array, weight: Array) -> tuple[Array, Array]:
    """The integrands (m, 1 + D) at numbers x (m,), and the rounding of the log-density (m,)."""
    statistic, carrier = family.sufficient_statistic(x[:, None]), family.log_carrier(x[:, None])
    normalizer = family.log_normalizer(natural)
    density = weight * np.exp(statistic @ natural - normalizer + carrier)
    terms = np.abs(statistic) @ np.abs(natural) + np.abs(normalizer) + np.abs(carrier)
    return density[:, None] * np.column_stack([np.ones(len(x)), statistic]), np.finfo(float).eps * terms
