"""Mixtures that have some components of one optimum and the others of another one.

Optima often differ in several places that have little to do with each other, and each is better in some of them.
Genetic EM (Pernkopf and Bouchaffra, 2005) and HG-means (Gribel and Vidal, 2019) combine them: components are paired by
the rows they share, and each pair that differs comes from one of the two.
"""

from itertools import product

import numpy as np
import scipy
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..problem.problem import Parameters, Problem
from .batch import Batch, Learner
from .moves import kinds_of

# Two components are the same where the cosine of their responsibilities exceeds this.
ALIKE = 0.98


def crossed(
    learner: Learner, first: Parameters, second: Parameters, count: int, rng: np.random.Generator
) -> Batch | None:
    """At most `count` mixtures of components of both, after a pass; None where they differ in fewer than two pairs."""
    problem = learner.problem
    learner.work += 2 * learner.cost(len(first.natural))
    partners, alike = _paired(problem, first, second)
    apart = np.flatnonzero(alike < ALIKE)
    if len(apart) < 2:
        return None
    if 2 ** len(apart) - 2 <= count:
        chosen = np.array(list(product([False, True], repeat=len(apart))))
    else:
        chosen = rng.random((count, len(apart))) < 0.5
    chosen = chosen[chosen.any(axis=1) & ~chosen.all(axis=1)]
    taken = np.zeros((len(chosen), len(alike)), dtype=bool)
    taken[:, apart] = chosen
    natural = np.where(taken[:, :, None], second.natural[partners], first.natural)
    log_weights = np.where(taken, second.log_weights[partners], first.log_weights)
    mixtures = []
    for own, weights in zip(natural, np.exp(log_weights), strict=True):
        total = max(float(weights.sum()), 1e-300)
        mixtures.append(problem.within_model(Parameters(own, problem.log_weights(weights / total))))
    return learner.expected(
        np.stack([each.natural for each in mixtures]), np.stack([each.log_weights for each in mixtures])
    )


def _paired(problem: Problem, first: Parameters, second: Parameters) -> tuple[NDArray[np.intp], Array]:
    """For each component of the first mixture its partner in the second, and the cosine of their responsibilities."""
    ours, theirs = _responsibilities(problem, first), _responsibilities(problem, second)
    common = ours.T @ theirs
    of_one_kind = kinds_of(problem.family, first.natural)[:, None] == kinds_of(problem.family, second.natural)
    partners = scipy.optimize.linear_sum_assignment(np.where(of_one_kind, common, -problem.total), maximize=True)[1]
    lengths = np.linalg.norm(ours, axis=0) * np.linalg.norm(theirs, axis=0)[partners]
    return partners, common[np.arange(len(partners)), partners] / np.maximum(lengths, 1e-300)


def _responsibilities(problem: Problem, parameters: Parameters) -> Array:
    """Those of all rows (n, k), times the root of the weight of each."""
    scores = problem.scores(parameters)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    return shares if problem.rows.weights is None else shares * np.sqrt(problem.rows.weights)[:, None]
