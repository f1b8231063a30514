"""The observed information of mixtures on intervals: minus the Hessian of the log-likelihood.

The gradient by a component's natural parameters is sum_i r_ij (E_j[t | A_i] - eta_j) (Fisher's identity), which a soft
pass gives; its differences are the Hessian. What the intervals do not tell is thereby lost, as it should be.
"""

import numpy as np

from ..data.intervals import Intervals, stand_ins, within_support
from ..data.partly_known import PartlyKnownRows
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
    k = mixture.n_components

    def gradient(point: Array) -> Array:
        log_weights = point[:k] - np.log(np.exp(point[:k]).sum())
        theta = point[k:].reshape(natural.shape)
        found = part.soft(Parameters(theta, log_weights), None).statistics
        moments = family.moment_from_natural(theta)
        own = found.sums - found.counts[:, None] * moments
        return np.concatenate([found.counts - total * np.exp(log_weights), own.ravel()])

    point = np.concatenate([np.log(mixture.weights), natural.ravel()])
    steps = np.concatenate([np.full(k, STEP), natural_steps(family.log_normalizer, natural).ravel()])
    hessian = np.empty((len(point), len(point)))
    for place, step in enumerate(steps):
        moved = [(factor, point + shift * step * (np.arange(len(point)) == place)) for shift, factor in DIFFERENCE]
        hessian[place] = sum(factor * gradient(other) for factor, other in moved) / step
    return natural, -0.5 * (hessian + hessian.T)
