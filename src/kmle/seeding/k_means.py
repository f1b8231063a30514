"""Bregman k-means (Banerjee et al., 2005) on the statistics: k-MLE++ seeds, then Lloyd steps with equal weights."""

import numpy as np

from ..problem.problem import LearningProblem, Parameters
from .k_mle_plus_plus import k_mle_plus_plus

STEPS = 50


def k_means(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Seeds improved by a few assign-and-update steps; weights are the shares of the clusters found."""
    return lloyd_steps(problem, k_mle_plus_plus(problem, n_components, rng))


def lloyd_steps(problem: LearningProblem, parameters: Parameters) -> Parameters:
    """A few assign-and-update steps with the weights held, then the shares of the clusters as weights."""
    previous = None
    for _ in range(STEPS):
        partition, statistics = problem.assign(parameters)
        if previous is not None and partition.same_as(previous):
            break
        previous = partition
        parameters = Parameters(problem.updated_natural(parameters, statistics), parameters.log_weights)
    return problem.first_parameters(problem.assign(parameters)[1])
