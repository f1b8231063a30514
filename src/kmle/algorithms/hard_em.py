"""Hard EM (classification EM, Celeux and Govaert, 1992), Algorithm 2 of the paper: labels, then parameters and weights
together, in every pass.
"""

from dataclasses import dataclass

from ..problem.problem import LearningProblem, Parameters
from .lloyd import PLAIN_STEPS, advanced, assigned, settled
from .state import NO_LABEL_CHANGED, HalfStep, State


@dataclass(frozen=True)
class HardEM:
    """Classification EM: both updates follow each assignment; `plain_steps` are made before momentum begins."""

    reseed: bool = False
    name: str = "hard-em"
    monotone: bool = True
    plain_steps: int = PLAIN_STEPS

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        return assigned(problem, parameters, self.reseed)

    def step(self, problem: LearningProblem, state: State) -> State:
        statistics, partition = state.statistics, state.partition
        natural = problem.updated_natural(state.parameters, statistics, partition)
        parameters = Parameters(natural, state.parameters.log_weights)
        updated = HalfStep("parameters", problem.complete_objective(parameters, statistics, partition))
        parameters = Parameters(natural, problem.log_weights(statistics.weights()))
        reweighted = HalfStep("weights", problem.complete_objective(parameters, statistics, partition))
        trace = updated, reweighted
        following = advanced(problem, state, parameters, self.reseed, trace, self.plain_steps)
        return following.ended(NO_LABEL_CHANGED) if settled(problem, state, following) else following
