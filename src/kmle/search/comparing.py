"""Which of several mixtures are better, which have reached the same optimum, and which lie on one ridge."""

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .batch import Batch, Learner

# A component of fewer than FEW_ROWS rows costs FEW_ROWS_PENALTY nats: a regular mixture almost as good is preferred.
FEW_ROWS, FEW_ROWS_PENALTY = 5.0, 0.5
# Values are compared to this many decimal places: the last digits depend on the order of sums.
DIGITS = 6
# Two mixtures whose objectives differ by less, in nats, have reached the same optimum.
SAME = 0.5
# Mixtures that lie on one ridge are as clear as agreeing starts where there are this many of them.
FEWEST_ALIKE = 3


def value(batch: Batch) -> Array:
    """What mixtures are compared by (S,): their objectives, less a penalty for components of very few rows."""
    few = np.isfinite(batch.log_weights) & (batch.counts < FEW_ROWS)
    return batch.objective - FEW_ROWS_PENALTY * few.sum(axis=1)


def ordered(batch: Batch, weights: NDArray[np.intp]) -> tuple[Batch, NDArray[np.intp]]:
    """The mixtures in order of their values, each once, with their weights; the first ones first among equals."""
    order = np.argsort(-np.round(value(batch), DIGITS), kind="stable")
    return _merged(batch.take(order), weights[order])


def _merged(batch: Batch, weights: NDArray[np.intp]) -> tuple[Batch, NDArray[np.intp]]:
    """Mixtures in order of their objectives; of those that are the same only the first, with the weights of all."""
    twins = _twins(batch)
    kept: list[int] = []
    totals: list[int] = []
    for place, weight in enumerate(weights.tolist()):
        first = next((i for i, other in enumerate(kept) if twins[other][place]), None)
        if first is None:
            kept.append(place)
            totals.append(weight)
        else:
            totals[first] += weight
    return (batch if len(kept) == len(batch) else batch.take(np.array(kept))), np.array(totals)


def _twins(batch: Batch) -> list[list[bool]]:
    """Which mixtures are as good and have the same counts, (S, S): they differ at most in the order of components."""
    counts = np.sort(batch.counts, axis=1)
    with np.errstate(invalid="ignore"):
        as_good = np.abs(batch.objective[:, None] - batch.objective) <= SAME
    apart = np.abs(counts[:, None] - counts).max(axis=2)
    return (as_good & (apart <= 0.01 * counts.sum(axis=1)[:, None])).tolist()


def same(first: Batch, second: Batch) -> bool:
    """Whether the only mixtures of two batches are the same."""
    if abs(first.objective[0] - second.objective[0]) > SAME:
        return False
    counts, others = np.sort(first.counts[0]), np.sort(second.counts[0])
    return bool(np.abs(counts - others).max() <= 0.01 * counts.sum())


def alike_on(learner: Learner, mixtures: Batch) -> bool:
    """Whether several mixtures give the rows of a learner nearly the same density, with components that may differ."""
    problem = learner.problem
    if len(mixtures) < FEWEST_ALIKE or learner.hard or np.ptp(mixtures.objective) > SAME:
        return False
    scores = [problem.scores(mixtures.parameters(place)) for place in range(len(mixtures))]
    densities = np.array([np.logaddexp.reduce(own, axis=1) for own in scores])
    weights = np.ones(len(densities.T)) if problem.rows.weights is None else problem.rows.weights
    apart = 0.5 * (densities[1:] - densities[0]) ** 2
    return bool((apart @ weights).max() < SAME)
