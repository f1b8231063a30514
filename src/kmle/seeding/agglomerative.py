"""Seeds by merging: every row of a sample begins as a cluster, and the cheapest pairs merge until k are left."""

import numpy as np

from ..assignment.problem import Parameters, Problem
from ..merging import Likelihood, agglomerate
from .shrinking import seed_candidates

# Merging looks at pairs, so fewer rows than other seedings take are sampled.
SAMPLE_ROWS = 1000


def agglomerative(problem: Problem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Up to a thousand distinct rows, merged by the loss of likelihood; then every row goes where it belongs.

    Clusters of a few rows are no legal laws for most families: the rows are shrunk towards their mean, as all seeds are.
    """
    candidates = seed_candidates(problem, n_components, rng)
    size = min(len(candidates), max(SAMPLE_ROWS, 2 * n_components))
    chosen = np.sort(rng.choice(len(candidates), size, replace=False, p=candidates.weights / candidates.weights.sum()))
    # A sample drawn by weight has the weight in it already.
    weights = candidates.weights[chosen] if size == len(candidates) else np.ones(size)
    k = min(n_components, size)
    merges, _ = agglomerate(Likelihood(problem.family), weights, weights[:, None] * candidates.moments[chosen], k)
    labels = merges.labels(k)
    counts = np.bincount(labels, weights, k)
    moments = np.zeros((k, candidates.moments.shape[1]))
    np.add.at(moments, labels, weights[:, None] * candidates.moments[chosen] / counts[labels, None])
    natural = problem.family.natural_from_moment(moments)
    parameters = Parameters(natural, problem.log_weights(counts / counts.sum()))
    return problem.first_parameters(problem.assign(parameters)[1])
