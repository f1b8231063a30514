"""From a mixture of k components to good starts for k + 1 and for k - 1."""

import numpy as np

from ..assignment.problem import Parameters, Problem
from ..numerics.arrays import Array
from ..seeding.k_mle_plus_plus import Spread
from ..statistics import ClusterStatistics


def grown(
    problem: Problem, parameters: Parameters, spread: Spread, n_components: int, rng: np.random.Generator
) -> Parameters:
    """As many components as asked for: further ones at rows drawn by their divergence to the mixture, as k-MLE++ does.

    Fewer when no row is left that the mixture does not already hold.
    """
    alive = parameters.alive
    natural, log_weights = parameters.natural[alive], parameters.log_weights[alive]
    nearest = spread.divergence_to(natural, problem.family.log_normalizer(natural)).min(axis=0)
    while len(natural) < n_components and nearest.sum() > 0:
        place, nearest = spread.next_seed(nearest, n_components, rng)
        nearest[place] = 0.0
        k = len(natural)
        natural = np.concatenate([natural, spread.natural[[place]]])
        log_weights = np.append(log_weights + np.log(k / (k + 1)), -np.log(k + 1))
    return Parameters(natural, log_weights)


def merged(problem: Problem, parameters: Parameters, n_components: int) -> Parameters:
    """As few components as asked for: each time the pair is merged that costs the complete likelihood least.

    The costs are closed forms of the components' statistics: one soft pass serves all merges.
    """
    statistics = problem.soften(parameters)
    living = statistics.counts > 0
    counts, sums = statistics.counts[living], statistics.sums[living]
    while len(counts) > n_components:
        kept, gone = cheapest_pair(problem, counts, sums)
        counts[kept] += counts[gone]
        sums[kept] += sums[gone]
        counts, sums = np.delete(counts, gone), np.delete(sums, gone, axis=0)
    return problem.first_parameters(ClusterStatistics(counts, sums, 0.0))


def cheapest_pair(problem: Problem, counts: Array, sums: Array) -> tuple[int, int]:
    """The two clusters that lose the least complete likelihood when they become one."""
    alone = complete_fit(problem, counts, sums)
    best, pair = np.inf, (0, 1)
    for i in range(len(counts) - 1):
        together = complete_fit(problem, counts[i] + counts[i + 1 :], sums[i] + sums[i + 1 :])
        costs = alone[i] + alone[i + 1 :] - together
        j = int(np.argmin(costs))
        if costs[j] < best:
            best, pair = float(costs[j]), (i, i + 1 + j)
    return pair


def complete_fit(problem: Problem, counts: Array, sums: Array) -> Array:
    """What each cluster adds to the complete likelihood at its best: (n + n0) F*(moment) + n log n, up to constants."""
    moments = ClusterStatistics(counts, sums, 0.0).moments(problem.prior_strength, problem.prior_moment)
    return (counts + problem.prior_strength) * problem.family.conjugate(moments) + counts * np.log(counts)
