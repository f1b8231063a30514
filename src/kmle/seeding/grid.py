"""The paper's discretised weights: the same seeds under every weight combination of a grid, the best one kept."""

from itertools import combinations
from math import comb

import numpy as np

from ..assignment.problem import LearningProblem, Parameters
from ..numerics.arrays import Array
from .k_mle_plus_plus import k_mle_plus_plus

# The grid is as fine as this many combinations allow.
COMBINATIONS = 200
STEPS = 5


def grid(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """k-MLE++ seeds; for each combination of weights a few steps with those weights held, and the best kept."""
    seeds = k_mle_plus_plus(problem, n_components, rng)
    if problem.weights is not None:
        return seeds
    best, best_objective = seeds, -np.inf
    for weights in weight_grid(len(seeds.natural)):
        parameters = Parameters(seeds.natural, np.log(weights))
        for _ in range(STEPS):
            _, statistics = problem.assign(parameters)
            parameters = Parameters(problem.updated_natural(parameters, statistics), parameters.log_weights)
        objective = problem.complete_objective(parameters, problem.assign(parameters)[1])
        if objective > best_objective:
            best, best_objective = parameters, objective
    return best


def weight_grid(n_components: int) -> Array:
    """All positive weights that are multiples of 1/m, for the largest m that keeps them few.

    >>> weight_grid(2)[:2]
    array([[0.00497512, 0.99502488],
           [0.00995025, 0.99004975]])
    """
    if n_components == 1:
        return np.ones((1, 1))
    m = n_components
    while comb(m, n_components - 1) <= COMBINATIONS:
        m += 1
    cuts = np.array(list(combinations(range(1, m), n_components - 1)))
    edges = np.hstack([np.zeros((len(cuts), 1)), cuts, np.full((len(cuts), 1), m)])
    return np.diff(edges, axis=1) / m
