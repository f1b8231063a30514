"""The paper's discretised weights: the same seeds under every weight combination of a grid, the best one kept.

One pass over the rows serves all combinations, so their steps are made here together; `algorithms.loop` takes one
mixture at a time.
"""

from itertools import combinations
from math import comb

import numpy as np

from ..data.table import Rows
from ..engines.panels.engine import PanelsEngine
from ..engines.statistics import ClusterStatistics
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters, Problem
from .k_mle_plus_plus import k_mle_plus_plus

# The grid is as fine as this many combinations allow.
COMBINATIONS = 200
# Steps of all combinations, the divisor of how many go on, and steps of those (Jamieson and Talwalkar, 2016).
ROUNDS = ((1, 4), (2, 4), (2, 50))
# Combinations are compared on this many rows, and at least on this many per component.
ROWS, ROWS_EACH = 1024, 50


def grid(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """k-MLE++ seeds; for each combination of weights a few steps with those weights held, and the best kept.

    All combinations take their steps together, on a part of the sample.
    """
    seeds = k_mle_plus_plus(problem, n_components, rng)
    if problem.weights is not None:
        return seeds
    part = _part(problem.sample, max(ROWS, ROWS_EACH * n_components), rng)
    log_weights = np.log(weight_grid(len(seeds.natural)))
    natural = np.repeat(seeds.natural[None], len(log_weights), axis=0)
    for steps, share in ROUNDS:
        for _ in range(steps):
            natural = _estimates(part, natural, *_hard_passes(part, natural, log_weights)[:2])
        best = np.argsort(-_objectives(part, natural, log_weights), kind="stable")[: -(-len(natural) // share)]
        natural, log_weights = natural[best], log_weights[best]
    return Parameters(natural[0], log_weights[0])


def _objectives(problem: Problem, natural: Array, log_weights: Array) -> Array:
    """The complete objectives (m,) of m mixtures, but for a constant."""
    mixtures = (Parameters(theta, own) for theta, own in zip(natural, log_weights, strict=True))
    return _hard_passes(problem, natural, log_weights)[2] + [problem.penalty(mixture) for mixture in mixtures]


def _part(sample: Problem, size: int, rng: np.random.Generator) -> Problem:
    """The problem on some of its rows."""
    n = len(sample.rows)
    return sample if n <= size else sample.on_rows(np.sort(rng.choice(n, size, replace=False)))


def _hard_passes(problem: Problem, natural: Array, log_weights: Array) -> tuple[Array, Array, Array]:
    """Counts (m, k), sums (m, k, D) and scores (m,) of hard passes with m mixtures."""
    shape = natural.shape
    bias = log_weights - problem.family.log_normalizer(natural.reshape(-1, shape[-1])).reshape(shape[:2])
    if isinstance(problem.rows, Rows) and not isinstance(problem.engine, PanelsEngine):
        return problem.rows.packed.soft_passes(natural, bias, 1)
    found = [problem.engine.soft_pass(theta, b, 1) for theta, b in zip(natural, bias, strict=True)]
    return (
        np.stack([one.counts for one in found]),
        np.stack([one.sums for one in found]),
        np.array([one.score for one in found]),
    )


def _estimates(problem: Problem, natural: Array, counts: Array, sums: Array) -> Array:
    """The best natural parameters for these statistics; empty components keep theirs."""
    statistics = ClusterStatistics(counts.reshape(-1), sums.reshape(-1, problem.n_statistics), 0.0)
    moments = statistics.moments(problem.prior_strength, problem.prior_moment).reshape(natural.shape)
    estimates = problem.estimates(np.where(counts > 0, counts + problem.prior_strength, 0.0), moments, natural)
    return np.where((counts > 0)[:, :, None], estimates, natural)


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
