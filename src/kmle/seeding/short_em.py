"""Short runs of EM from several seeds, the most promising kept (Biernacki, Celeux and Govaert, 2003)."""

import numpy as np

from ..assignment.problem import Parameters, Problem
from .k_means import k_means
from .k_mle_plus_plus import k_mle_plus_plus
from .shrinking import SAMPLE_ROWS

STEPS = 30
# A run whose step gains less than this a row has shown what it is worth.
SETTLED = 1e-5
# Hard clusters are good seeds, but EM cannot always leave their basin; plain rows are worse, and freer.
STARTS = (k_means, k_mle_plus_plus, k_mle_plus_plus)


def short_em(problem: Problem, n_components: int, rng: np.random.Generator) -> Parameters:
    """A few EM steps from k-means and from k-MLE++ seeds; the parameters that then explain the rows best."""
    if n_components == 1:
        return k_mle_plus_plus(problem, 1, rng)
    sample = sampled(problem, rng)
    return best_of([start(sample, n_components, rng) for start in STARTS], sample)


def sampled(problem: Problem, rng: np.random.Generator) -> Problem:
    """The problem itself, or on a random sample of its rows when there are many."""
    n = len(problem.rows)
    return problem if n <= SAMPLE_ROWS else problem.on_rows(np.sort(rng.choice(n, SAMPLE_ROWS, replace=False)))


def best_of(starts: list[Parameters], problem: Problem) -> Parameters:
    """Where a few EM steps lead from each start: the first of those that explain the rows best.

    Starts on their way to one optimum differ by less than a step is worth; taking the first of them, rather than the
    one rounding favours, keeps the answer the same for the same rows in another layout.
    """
    ends = [em_steps(problem, start) for start in starts]
    enough = max(objective for _, objective in ends) - SETTLED * problem.total
    return next(parameters for parameters, objective in ends if objective >= enough)


def em_steps(problem: Problem, parameters: Parameters) -> tuple[Parameters, float]:
    """Parameters after a few EM steps, and their objective."""
    statistics = problem.soften(parameters)
    objective = problem.incomplete_objective(parameters, statistics)
    for _ in range(STEPS):
        log_weights = problem.log_weights(statistics.weights())
        parameters = Parameters(problem.updated_natural(parameters, statistics), log_weights)
        statistics = problem.soften(parameters)
        before, objective = objective, problem.incomplete_objective(parameters, statistics)
        if objective - before <= SETTLED * problem.total:
            break
    return parameters, objective
