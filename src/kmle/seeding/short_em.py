"""Short runs of EM from several seeds, the most promising kept (Biernacki, Celeux and Govaert, 2003)."""

import numpy as np

from ..algorithms.loop import steps
from ..algorithms.soft_em import SoftEM
from ..problem.problem import LearningProblem, Parameters
from .k_means import lloyd_steps
from .k_mle_plus_plus import Spread, spread_over

STEPS = 30
# A run whose step gains less than this a row has shown what it is worth.
CONVERGED = 1e-5


def short_em(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """A few EM steps from k-means and from k-MLE++ seeds; the parameters that then explain the rows best."""
    sample = problem.sample
    spread = spread_over(sample, n_components, rng)
    if n_components == 1:
        return spread.parameters(sample, 1, rng)
    return best_of(several_starts(sample, spread, n_components, rng), sample)


def several_starts(
    problem: LearningProblem, spread: Spread, n_components: int, rng: np.random.Generator
) -> list[Parameters]:
    """Hard clusters, which are good starts that EM cannot always leave; and plain rows, which are freer."""
    seeds = [spread.parameters(problem, n_components, rng) for _ in range(3)]
    return [lloyd_steps(problem, seeds[0]), *seeds[1:]]


def best_of(starts: list[Parameters], problem: LearningProblem) -> Parameters:
    """Where a few EM steps lead from each start: the first of those that explain the rows best.

    Starts on their way to one optimum differ by less than a step is worth; taking the first of them, rather than the
    one rounding favours, keeps the answer the same for the same rows in another layout.
    """
    ends = [em_steps(problem, start) for start in starts]
    enough = max(objective for _, objective in ends) - CONVERGED * problem.total
    return next(parameters for parameters, objective in ends if objective >= enough)


def em_steps(problem: LearningProblem, parameters: Parameters) -> tuple[Parameters, float]:
    """Parameters after a few EM steps, and their objective."""
    algorithm = SoftEM(accelerated=False)
    state = algorithm.init(problem, problem.with_prescribed(parameters))
    for following in steps(algorithm, problem, state, STEPS):
        gain, state = following.objective - state.objective, following
        if gain <= CONVERGED * problem.total:
            break
    return state.parameters, state.objective
