"""Components that lost all their rows: they leave, or are tried once more elsewhere."""

import numpy as np

from ..assignment.partition import Partition
from ..assignment.problem import LearningProblem, Parameters
from ..seeding.shrinking import shrunk
from ..statistics import ClusterStatistics


def bury(problem: LearningProblem, parameters: Parameters, statistics: ClusterStatistics) -> Parameters:
    """Empty components get weight zero, for good, and the others share it; prescribed weights stay as they are."""
    if problem.weights is not None or np.all((statistics.counts > 0) == parameters.alive):
        return parameters
    log_weights = np.where(statistics.counts > 0, parameters.log_weights, -np.inf)
    return Parameters(parameters.natural, log_weights - np.log(np.exp(log_weights).sum()))


def settle(
    problem: LearningProblem, parameters: Parameters, partition: Partition, statistics: ClusterStatistics, reseed: bool
) -> tuple[Parameters, Partition, ClusterStatistics]:
    """After an assignment: bury the empty components, or reseed one of them where that raises the objective.

    A reseeded component starts at the row the mixture explains worst, with the share one of k would have. It is kept
    only if the objective, after assigning and updating once, is higher than without it.
    """
    newly_empty = np.flatnonzero((statistics.counts == 0) & parameters.alive)
    buried = bury(problem, parameters, statistics)
    if not reseed or len(newly_empty) == 0:
        return buried, partition, statistics
    objective = problem.complete_objective(buried, statistics, partition)
    revived = int(newly_empty[0])
    trial = _revived(problem, parameters, buried, revived)
    trial_partition, trial_statistics = problem.assign(trial)
    natural = problem.updated_natural(trial, trial_statistics, trial_partition)
    trial = Parameters(natural, problem.log_weights(trial_statistics.weights()))
    gained = problem.complete_objective(trial, trial_statistics, trial_partition) > objective
    if trial_statistics.counts[revived] > 0 and gained:
        return trial, trial_partition, trial_statistics
    return buried, partition, statistics


def _revived(problem: LearningProblem, parameters: Parameters, buried: Parameters, revived: int) -> Parameters:
    """One empty component, moved to the row that the others explain worst, beside them."""
    natural, weights = buried.natural.copy(), np.exp(buried.log_weights)
    seed = shrunk(problem.worst_statistic(buried)[None], problem.prior_moment)
    natural[revived] = problem.estimate(seed)[0]
    weights[revived] = np.exp(parameters.log_weights[revived])
    return Parameters(natural, problem.log_weights(weights / weights.sum()))
