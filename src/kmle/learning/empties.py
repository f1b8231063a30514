"""Components that lost all their rows: they leave, or are tried once more elsewhere."""

import numpy as np

from ..assignment.partition import Partition
from ..assignment.problem import LearningProblem, Parameters
from ..seeding.shrinking import shrunk
from ..statistics import ClusterStatistics


def bury(parameters: Parameters, statistics: ClusterStatistics) -> Parameters:
    """Empty components get weight zero, for good."""
    return Parameters(parameters.natural, np.where(statistics.counts > 0, parameters.log_weights, -np.inf))


def settle(
    problem: LearningProblem, parameters: Parameters, partition: Partition, statistics: ClusterStatistics, reseed: bool
) -> tuple[Parameters, Partition, ClusterStatistics]:
    """After an assignment: bury the empty components, or reseed one of them where that raises the objective.

    A reseeded component starts at the row the mixture explains worst, with the share one of k would have. It is kept
    only if the objective, after assigning and updating once, is higher than without it.
    """
    newly_empty = np.flatnonzero((statistics.counts == 0) & parameters.alive)
    buried = bury(parameters, statistics)
    if not reseed or len(newly_empty) == 0:
        return buried, partition, statistics
    objective = problem.complete_objective(buried, statistics)
    natural, log_weights = buried.natural.copy(), buried.log_weights.copy()
    revived = int(newly_empty[0])
    seed = shrunk(problem.worst_statistic(buried)[None], problem.prior_moment)
    natural[revived] = problem.estimate(seed)[0]
    log_weights[revived] = parameters.log_weights[revived]
    trial = Parameters(natural, log_weights)
    trial_partition, trial_statistics = problem.assign(trial)
    trial = bury(Parameters(problem.updated_natural(trial, trial_statistics), log_weights), trial_statistics)
    if trial_statistics.counts[revived] > 0 and problem.complete_objective(trial, trial_statistics) > objective:
        return trial, trial_partition, trial_statistics
    return buried, partition, statistics
