"""Bregman k-means (Banerjee et al., 2005) on the statistics: k-MLE++ seeds, then Lloyd steps with equal weights."""

import numpy as np

from ..algorithms.lloyd import WEIGHTS, KMLELloyd
from ..algorithms.loop import steps
from ..problem.problem import LearningProblem, Parameters
from .k_mle_plus_plus import k_mle_plus_plus

STEPS = 50


def k_means(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Seeds improved by a few assign-and-update steps; weights are the shares of the clusters found."""
    return lloyd_steps(problem, k_mle_plus_plus(problem, n_components, rng))


def lloyd_steps(problem: LearningProblem, parameters: Parameters) -> Parameters:
    """A few assign-and-update steps with the weights held, then the shares of the clusters as weights."""
    algorithm = KMLELloyd()
    state = algorithm.init(problem, problem.with_prescribed(parameters))
    for following in steps(algorithm, problem, state, STEPS):
        state = following
        if state.trace[-1].kind == WEIGHTS:  # no label changed
            break
    return problem.first_parameters(state.statistics)
