"""Hard EM (classification EM, Celeux and Govaert, 1992), Algorithm 2 of the paper: labels, then parameters and weights
together, in every pass.
"""

from dataclasses import dataclass

from ..problem.problem import LearningProblem, Parameters
from .contract import Algorithm
from .lloyd import PLAIN_STEPS, assigned, beyond, settled
from .state import NO_LABEL_CHANGED, HalfStep, State


@dataclass(frozen=True)
class HardEM(Algorithm):
    """Classification EM: both updates follow each assignment.

    Parameters
    ----------
    reseed : bool, default=False
        Whether a component that loses all its rows starts again elsewhere instead of being removed.
    name : str, default="hard-em"
        The short name.
    monotone : bool, default=True
        Whether the objective never falls.
    plain_steps : int, default=40
        How many steps are made before momentum begins.
    """

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
        following, acceleration = beyond(problem, state, parameters, self.reseed, trace, self.plain_steps)
        following = following or assigned(problem, parameters, self.reseed, trace, state, acceleration)
        return following.ended(NO_LABEL_CHANGED) if settled(problem, state, following) else following
