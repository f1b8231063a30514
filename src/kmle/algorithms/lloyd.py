"""k-MLE (Nielsen, 2012), Algorithm 1 of the paper.

Rows are assigned and parameters updated to convergence with the weights held (Lloyd, 1982), then weights are updated.
Where that takes many steps they get momentum (Nesterov, 1983): rows are assigned at a point beyond the estimate, and
the point is kept if the objective is no lower there than at the estimate with the labels before.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..engines.partition import Partition
from ..engines.statistics import ClusterStatistics
from ..problem.problem import LearningProblem, Parameters
from ..problem.shrinking import shrunk
from .acceleration import FIRST_MOMENTUM, Acceleration
from .contract import Algorithm
from .state import NO_LABEL_CHANGED, HalfStep, State

# The kinds of half-steps: assignments, and the weights that follow once no label changes.
LABELS, WEIGHTS = "labels", "weights"
# A gain below this share of the objective is none.
NOTHING = 1e-13
# Plain steps before momentum begins. Most fits end sooner, and k-means ends where Lloyd's algorithm does. A search has
# passed by the poor optima already: after it momentum begins soon.
PLAIN_STEPS, PLAIN_STEPS_AFTER_SEARCH = 40, 3


@dataclass(frozen=True)
class KMLELloyd(Algorithm):
    """The inner loop changes parameters, the outer one weights; with prescribed weights only the inner loop runs.

    Parameters
    ----------
    reseed : bool, default=False
        Whether a component that loses all its rows starts again elsewhere instead of being removed.
    name : str, default="k-mle"
        The short name.
    monotone : bool, default=True
        Whether the objective never falls.
    plain_steps : int, default=40
        How many steps are made before momentum begins.
    """

    reseed: bool = False
    name: str = "k-mle"
    monotone: bool = True
    plain_steps: int = PLAIN_STEPS

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        return assigned(problem, parameters, self.reseed)

    def step(self, problem: LearningProblem, state: State) -> State:
        natural = problem.updated_natural(state.parameters, state.statistics, state.partition)
        parameters = Parameters(natural, state.parameters.log_weights)
        objective = problem.complete_objective(parameters, state.statistics, state.partition)
        trace = (HalfStep("parameters", objective),)
        following, acceleration = beyond(problem, state, parameters, self.reseed, trace, self.plain_steps)
        following = following or assigned(problem, parameters, self.reseed, trace, state, acceleration)
        if not settled(problem, state, following):
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
            (*following.trace, HalfStep(WEIGHTS, objective)),
        )


def settled(problem: LearningProblem, before: State, after: State) -> bool:
    """Whether a step changed no label, and gained nothing either where one update does not find the best parameters."""
    if not after.has_labels_of(before):
        return False
    return problem.updates_fully or after.objective - before.objective <= NOTHING * abs(before.objective)


def beyond(
    problem: LearningProblem,
    state: State,
    plain: Parameters,
    reseed: bool,
    trace: tuple[HalfStep, ...],
    plain_steps: int = PLAIN_STEPS,
) -> tuple[State | None, Acceleration]:
    """The state after an assignment at a point beyond the plain estimate, if any, and what steps carry on.

    The point is kept if it gains at least what the estimate does, and changes labels: only plain steps tell that there
    is nothing left to change.
    """
    acceleration = state.acceleration or Acceleration(plain, streak=FIRST_MOMENTUM - plain_steps)
    early = acceleration.streak < FIRST_MOMENTUM or problem.expects
    trial = None if early else acceleration.momentum(problem, plain)
    if trial is not None:
        acceleration_there = acceleration.after(plain, None)
        found = assigned(problem, trial, reseed, trace, acceleration=acceleration_there)
        whole = np.array_equal(found.parameters.active, plain.active)
        if whole and found.objective >= trace[-1].objective and not found.has_labels_of(state):
            return found, acceleration_there
        acceleration = replace(acceleration, streak=FIRST_MOMENTUM - 1)
    return None, replace(acceleration, plain=plain, streak=acceleration.streak + 1)


def assigned(
    problem: LearningProblem,
    parameters: Parameters,
    reseed: bool,
    trace: tuple[HalfStep, ...] = (),
    before: State | None = None,
    acceleration: Acceleration | None = None,
) -> State:
    """The state after an assignment, with empty components handled.

    Exact arithmetic never makes an assignment worse than the labels of the state `before`; where rounding does (scores
    of nearly degenerate components), those labels stay. Expected statistics are those of the parameters before, so
    labels that are worse in a sum's last digits only do not stay for that.
    """
    partition, statistics = problem.assign(parameters)
    kept, partition, statistics = handle_empty(problem, parameters, partition, statistics, reseed)
    objective = problem.complete_objective(kept, statistics, partition)
    if before is not None and problem.expects and abs(objective - trace[-1].objective) <= NOTHING * abs(objective):
        objective = max(objective, trace[-1].objective)
    if before is not None and before.partition is not None and objective < trace[-1].objective:
        kept, partition, statistics, objective = parameters, before.partition, before.statistics, trace[-1].objective
    return State(
        kept, objective, statistics, partition, (*trace, HalfStep(LABELS, objective)), acceleration=acceleration
    )


# Empty components -----------------------------------------------------------------------------------------------------


def deactivate(problem: LearningProblem, parameters: Parameters, statistics: ClusterStatistics) -> Parameters:
    """Empty components get weight zero, for good, and the others share it; prescribed weights stay as they are."""
    if problem.weights is not None or np.all((statistics.counts > 0) == parameters.active):
        return parameters
    log_weights = np.where(statistics.counts > 0, parameters.log_weights, -np.inf)
    return Parameters(parameters.natural, problem.normalized(log_weights))


def handle_empty(
    problem: LearningProblem, parameters: Parameters, partition: Partition, statistics: ClusterStatistics, reseed: bool
) -> tuple[Parameters, Partition, ClusterStatistics]:
    """After an assignment: deactivate the empty components, or reseed one of them where that raises the objective.

    A reseeded component starts at the row the mixture explains worst, with the share one of k would have. It is kept
    only if the objective, after assigning and updating once, is higher than without it.
    """
    newly_empty = np.flatnonzero((statistics.counts == 0) & parameters.active)
    deactivated = deactivate(problem, parameters, statistics)
    if not reseed or len(newly_empty) == 0:
        return deactivated, partition, statistics
    objective = problem.complete_objective(deactivated, statistics, partition)
    revived = int(newly_empty[0])
    trial = _revived(problem, parameters, deactivated, revived)
    trial_partition, trial_statistics = problem.assign(trial)
    natural = problem.updated_natural(trial, trial_statistics, trial_partition)
    trial = Parameters(natural, problem.log_weights(trial_statistics.weights()))
    gained = problem.complete_objective(trial, trial_statistics, trial_partition) > objective
    if trial_statistics.counts[revived] > 0 and gained:
        return trial, trial_partition, trial_statistics
    return deactivated, partition, statistics


def _revived(problem: LearningProblem, parameters: Parameters, deactivated: Parameters, revived: int) -> Parameters:
    """One empty component, moved to the row that the others explain worst, beside them."""
    natural, weights = deactivated.natural.copy(), np.exp(deactivated.log_weights)
    seed = shrunk(problem.worst_statistic(deactivated)[None], problem.prior_moment)
    natural[revived] = problem.estimates(np.ones(1), seed, natural[[revived]])[0]
    weights[revived] = np.exp(parameters.log_weights[revived])
    return problem.within_model(Parameters(natural, problem.log_weights(weights / weights.sum())))
