"""Seeds at rows drawn at random, no two alike (Forgy, 1965)."""

import numpy as np

from ..problem.problem import LearningProblem, Parameters
from ..problem.shrinking import parameters_at, seed_candidates


def random_rows(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """As many distinct rows as components, fewer when there are no more; a row that weighs more is drawn sooner."""
    candidates = seed_candidates(problem, n_components, rng)
    size = min(n_components, len(candidates))
    chosen = rng.choice(len(candidates), size, replace=False, p=candidates.weights / candidates.weights.sum())
    return parameters_at(problem, candidates.moments[chosen])
