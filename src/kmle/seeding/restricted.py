"""The paper's start for Gaussians: the distribution of all rows, moved to rows.

Where the family has a location (Gaussians, log-normal) each seed is the distribution of all the data with its mean
moved to a row; elsewhere the whole statistic is location, and seeds are shrunk rows.
"""

import numpy as np

from ..problem.problem import LearningProblem, Parameters
from ..problem.shrinking import seed_candidates
from .random_rows import random_rows


def restricted(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Distinct random rows as locations, everything else from the distribution of all the data."""
    if problem.center is None:
        return random_rows(problem, n_components, rng)
    family = problem.family
    candidates = seed_candidates(problem, n_components, rng)
    size = min(n_components, len(candidates))
    places_drawn = rng.choice(len(candidates), size, replace=False, p=candidates.weights / candidates.weights.sum())
    chosen = candidates.indices[places_drawn]
    # The rows are measured from their mean, so the distribution of all rows sits at the center; each row is then its
    # new place.
    rows = problem.sample.rows
    places = np.array([family.data_center(rows.centered_rows(np.array([row])), None) for row in chosen])
    natural = np.concatenate([family.natural_at_center(problem.prior_natural[None], place) for place in places])
    return Parameters(natural, problem.log_weights(np.full(size, 1 / size)))
