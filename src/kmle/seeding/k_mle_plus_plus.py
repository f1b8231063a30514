"""k-MLE++: Bregman k-means++ on shrunk points, with greedy candidates.

The first seed is any row; each next one a row drawn with probability proportional to its divergence B_F* to the seeds
so far. Of several candidates the one that lowers the total divergence most is kept (Arthur and Vassilvitskii's greedy
variant). Shrinking makes the divergences finite for every family.
"""

import numpy as np
from numpy.typing import NDArray

from ..assignment.problem import Parameters, Problem
from ..numerics.arrays import Array
from .shrinking import Candidates, drawn, parameters_at, seed_candidates

# Relative rounding error of a sum of a few products.
ROUNDING = 8 * np.finfo(float).eps


def k_mle_plus_plus(problem: Problem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Seeds spread by the divergence of the family itself; fewer than asked when there are no more distinct rows."""
    candidates = seed_candidates(problem, n_components, rng)
    return parameters_at(problem, candidates.moments[spread_seeds(problem, candidates, n_components, rng)])


def spread_seeds(problem: Problem, candidates: Candidates, n_components: int, rng: np.random.Generator) -> list[int]:
    """Places of the seeds among the candidates."""
    moments, weights = candidates.moments, candidates.weights
    natural = problem.family.natural_from_moment(moments)
    # B_F*(y : c) = F*(y) - F*(c) - <y - c, theta_c> = F*(y) + F(theta_c) - <y, theta_c>.
    normalizer = problem.family.log_normalizer(natural)
    conjugate = np.einsum("nd,nd->n", natural, moments) - normalizer
    # What rounding may do to the total divergence from a seed: little, unless the law of all rows is degenerate.
    doubt = ROUNDING * weights.sum() * (np.abs(natural) @ np.abs(moments).max(axis=0) + np.abs(normalizer))

    def divergence_to(centres: NDArray[np.intp]) -> Array:
        """(centres, n) divergences of all candidates, weighted."""
        values = conjugate + normalizer[centres, None] - natural[centres] @ moments.T
        return np.maximum(values, 0.0) * weights

    seeds = [int(drawn(weights, rng)[0])]
    nearest = divergence_to(np.array(seeds))[0]
    nearest[seeds] = 0.0
    n_trials = 2 + int(np.log(n_components))
    while len(seeds) < n_components and nearest.sum() > 0:
        trials = drawn(nearest, rng, n_trials)
        remaining = np.minimum(nearest, divergence_to(trials))
        totals = remaining.sum(axis=1)
        # Of totals that rounding cannot tell apart the first one drawn is the best.
        best = int(np.argmax(totals <= totals.min() + doubt[trials].max()))
        seeds.append(int(trials[best]))
        nearest = remaining[best]
        nearest[seeds] = 0.0
    return seeds
