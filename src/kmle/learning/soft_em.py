"""Soft EM (Bregman soft clustering), and sparse EM, which keeps the largest responsibilities of each row."""

from dataclasses import dataclass

import numpy as np

from ..assignment.problem import LearningProblem, Parameters
from .state import TOLERANCE_REACHED, HalfStep, State

# A component with less than this share of the rows is gone: its weight could not come back in a float's lifetime.
VANISHED = 1e-14


@dataclass(frozen=True)
class SoftEM:
    """Responsibilities, then parameters and weights from them; the objective is the (incomplete) log-likelihood.

    With `n_kept` = L only the L largest responsibilities of a row count, rescaled to one, and the objective is the
    log of the L largest terms' sum: L = 1 is hard EM, L = k is EM, and it never falls for any L in between.
    """

    n_kept: int | None = None
    name: str = "em"
    monotone: bool = True

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        return self._expected(problem, parameters)

    def step(self, problem: LearningProblem, state: State) -> State:
        statistics = state.statistics
        vanished = statistics.counts <= VANISHED * problem.total
        log_weights = problem.log_weights(np.where(vanished, 0.0, statistics.weights()))
        parameters = Parameters(problem.updated_natural(state.parameters, statistics), log_weights)
        following = self._expected(problem, parameters)
        # Exact arithmetic never lowers the objective; once rounding does, there is nothing left to gain.
        return state.unmoved(TOLERANCE_REACHED) if following.objective < state.objective else following

    def _expected(self, problem: LearningProblem, parameters: Parameters) -> State:
        statistics = problem.soften(parameters, self.n_kept)
        objective = problem.incomplete_objective(parameters, statistics)
        trace = (HalfStep("responsibilities", objective),)
        return State(parameters, objective, statistics, None, trace, n_kept=self.n_kept, softened=self.n_kept is None)
