"""The observed information of mixtures on intervals and rows with missing entries: minus the Hessian.

The gradient by a component's natural parameters is sum_i r_ij (E_j[t | A_i] - eta_j) (Fisher's identity), which a soft
pass gives; its differences are the Hessian. What intervals and missing entries do not tell is thereby lost, as it
should be.
"""

from collections.abc import Callable

import numpy as np

from ..data.intervals import Intervals, stand_ins, within_support
from ..data.partly_known import PartlyKnownRows
from ..data.table import Rows
from ..engines.patterns.engine import PatternsEngine
from ..engines.statistics import ClusterStatistics
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.differentiation import natural_steps
from ..problem.problem import Parameters
from ..problem.row_kinds import ScoredRows, Units

# The step of the logarithms of weights, and the points and factors of a difference of order four.
STEP = 1e-3
DIFFERENCE = ((-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12))


def interval_information(mixture: Mixture, X: Intervals, weights: Array | None) -> tuple[Array, Array]:
    """Natural parameters as seen from the center of the rows, and the information on k logits and them."""
    family = mixture.family
    cut = within_support(family, X)
    center = family.data_center(stand_ins(family, cut), weights)
    (natural,) = family.centered(center, mixture.natural)
    rows = PartlyKnownRows(family, cut.lower, cut.upper, center)
    part = ScoredRows(rows, Units(None, weights, None, None), np.arange(len(cut)))
    total = float(len(cut) if weights is None else weights.sum())
    return natural, _information(mixture, natural, total, lambda given: part.soft(given, None).statistics)


def incomplete_information(mixture: Mixture, X: Array, weights: Array | None) -> tuple[Array, Array]:
    """The same for rows with missing entries; those without any entry say nothing."""
    seen = ~np.isnan(X).all(axis=1)
    own = None if weights is None else weights[seen]
    rows = Rows(mixture.family, X[seen], own)
    engine = PatternsEngine(rows)
    (natural,) = mixture.family.centered(rows.center, mixture.natural)

    def soften(given: Parameters) -> ClusterStatistics:
        return engine.soft_pass(given.natural, given.log_weights - mixture.family.log_normalizer(given.natural))

    return natural, _information(mixture, natural, rows.total, soften)


def _information(
    mixture: Mixture, natural: Array, total: float, soften: Callable[[Parameters], ClusterStatistics]
) -> Array:
    """Minus the differences of the gradient that soft passes give."""
    k, family = mixture.n_components, mixture.family

    def gradient(point: Array) -> Array:
        log_weights = point[:k] - np.log(np.exp(point[:k]).sum())
        theta = point[k:].reshape(natural.shape)
        found = soften(Parameters(theta, log_weights))
        moments = family.moment_from_natural(theta)
        own = found.sums - found.counts[:, None] * moments
        return np.concatenate([found.counts - total * np.exp(log_weights), own.ravel()])

    point = np.concatenate([np.log(mixture.weights), natural.ravel()])
    steps = np.concatenate([np.full(k, STEP), natural_steps(family.log_normalizer, natural).ravel()])
    hessian = np.empty((len(point), len(point)))
    for place, step in enumerate(steps):
        moved = [(factor, point + shift * step * (np.arange(len(point)) == place)) for shift, factor in DIFFERENCE]
        hessian[place] = sum(factor * gradient(other) for factor, other in moved) / step
    return np.asarray(-0.5 * (hessian + hessian.T))
