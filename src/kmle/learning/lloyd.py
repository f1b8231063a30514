"""k-MLE, Algorithm 1 of the paper: assign and update to convergence with the weights held, then update the weights."""

from dataclasses import dataclass

import numpy as np

from ..assignment.problem import LearningProblem, Parameters
from .empties import settle
from .state import NO_LABEL_CHANGED, HalfStep, State

# The kind of half-step that an assignment is.
LABELS = "labels"


@dataclass(frozen=True)
class KMLELloyd:
    """The inner loop changes parameters, the outer one weights; with prescribed weights only the inner loop runs."""

    reseed: bool = False
    name: str = "k-mle"
    monotone: bool = True

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        return assigned(problem, parameters, self.reseed)

    def step(self, problem: LearningProblem, state: State) -> State:
        natural = problem.updated_natural(state.parameters, state.statistics, state.partition)
        parameters = Parameters(natural, state.parameters.log_weights)
        objective = problem.complete_objective(parameters, state.statistics, state.partition)
        updated = HalfStep("parameters", objective)
        following = assigned(problem, parameters, self.reseed, (updated,), state)
        if not following.has_labels_of(state):
            return following
        # The inner loop has converged: now the weights.
        weights = problem.log_weights(following.statistics.weights())
        if np.allclose(weights, following.parameters.log_weights, rtol=0, atol=1e-15, equal_nan=True):
            return following.ended(NO_LABEL_CHANGED)
        reweighted = Parameters(following.parameters.natural, weights)
        objective = problem.complete_objective(reweighted, following.statistics, following.partition)
        return State(
            reweighted,
            objective,
            following.statistics,
            following.partition,
            (*following.trace, HalfStep("weights", objective)),
        )


def assigned(
    problem: LearningProblem,
    parameters: Parameters,
    reseed: bool,
    trace: tuple[HalfStep, ...] = (),
    before: State | None = None,
) -> State:
    """The state after an assignment, with empty components settled.

    Exact arithmetic never makes an assignment worse than the labels of the state `before`; where rounding does (scores
    of nearly degenerate components), those labels stay.
    """
    partition, statistics = problem.assign(parameters)
    settled, partition, statistics = settle(problem, parameters, partition, statistics, reseed)
    objective = problem.complete_objective(settled, statistics, partition)
    if before is not None and before.partition is not None and objective < trace[-1].objective:
        settled, partition, statistics, objective = parameters, before.partition, before.statistics, trace[-1].objective
    return State(settled, objective, statistics, partition, (*trace, HalfStep(LABELS, objective)))
