"""Seeds by agglomeration (Ward, 1963; Banfield and Raftery, 1993): every row of a sample begins as a cluster, and the
cheapest pairs merge until k are left.
"""

import numpy as np

from ..merging import Likelihood, agglomerate
from ..problem.model import Model
from ..problem.problem import LearningProblem, Parameters
from ..problem.shrinking import seed_candidates

# Merging tries many pairs of every cluster, so fewer rows than other seedings take are sampled.
SAMPLE_ROWS = 1000
# Batched Cholesky factors of wide families cost D^1.5 each; this bounds the rows further.
SAMPLE_COST = 1e7


def agglomerative(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Up to a thousand distinct rows, merged by the loss of likelihood; then every row goes where it belongs.

    A few rows are no legal distribution of most families: they are shrunk towards the mean of all, as all seeds are.
    """
    candidates = seed_candidates(problem, n_components, rng)
    affordable = int(SAMPLE_COST / problem.n_statistics**1.5)
    size = min(len(candidates), max(min(SAMPLE_ROWS, affordable), 2 * n_components))
    chosen = np.sort(rng.choice(len(candidates), size, replace=False, p=candidates.weights / candidates.weights.sum()))
    # A sample drawn by weight has the weight in it already.
    weights = candidates.weights[chosen] if size == len(candidates) else np.ones(size)
    k = min(n_components, size)
    # Moments of shrunk rows hold the pull of the mean already, so there is no further prior.
    model = Model(problem.family, weights.sum(), problem.prior_moment, problem.center, resolution=problem.resolution)
    merges, _ = agglomerate(Likelihood(model), weights, weights[:, None] * candidates.moments[chosen], k)
    labels = merges.labels(k)
    counts = np.bincount(labels, weights, k).astype(float)
    moments = np.zeros((k, candidates.moments.shape[1]))
    np.add.at(moments, labels, weights[:, None] * candidates.moments[chosen] / counts[labels, None])
    natural = problem.estimates(counts, moments)
    parameters = Parameters(natural, problem.log_weights(counts / counts.sum()))
    return problem.first_parameters(problem.assign(parameters)[1])
