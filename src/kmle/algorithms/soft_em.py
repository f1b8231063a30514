"""Soft EM (Dempster, Laird and Rubin, 1977; Bregman soft clustering, Banerjee et al., 2005), and sparse EM, which keeps
the largest responsibilities of each row.

Plain EM can need thousands of steps where components overlap. Once plain steps gain little, each step first tries a
point beyond the plain estimate (see `acceleration`); so a fit goes where plain EM goes, but faster. A point is accepted
only if it gains at least what the plain step is certain to gain; otherwise the plain step is made. So the objective
never falls, and a step costs one pass over the data, two where a point was refused.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..problem.problem import LearningProblem, Parameters
from .acceleration import PLAIN_STEPS, Acceleration
from .contract import Algorithm
from .state import TOLERANCE_REACHED, HalfStep, State

# A component with less than this share of the rows is gone: its weight could not come back in a float's lifetime.
VANISHED = 1e-14
# A fall of the objective by more than this share of it is not that of a sum's last digits.
MUCH = 1e-11
# Points beyond are for the tail: as long as a step gains more than this per row, in nats, plain steps are quick; and
# where it gains less than this in all, they have arrived.
TAIL, NEGLIGIBLE = 1e-3, 1e-5
# Kinds of steps in the history.
PLAIN, ACCELERATED = "responsibilities", "accelerated"


@dataclass(frozen=True)
class SoftEM(Algorithm):
    """Responsibilities, then parameters and weights from them; the objective is the (incomplete) log-likelihood.

    With `n_responsibilities` = L the responsibilities that count are rescaled to one, and the objective is the log of
    the L largest terms' sum: L = 1 is hard EM, L = k is EM, and it never falls for any L in between.

    Parameters
    ----------
    n_responsibilities : int, default=None
        How many responsibilities of a row count, the largest ones; None is all.
    name : str, default="em"
        The short name.
    monotone : bool, default=True
        Whether the objective never falls.
    accelerated : bool, default=True
        Whether steps may go beyond the plain ones of EM where that gains.
    """

    n_responsibilities: int | None = None
    name: str = "em"
    monotone: bool = True
    accelerated: bool = True

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        return replace(self._expected(problem, parameters, PLAIN), acceleration=Acceleration(parameters))

    def step(self, problem: LearningProblem, state: State) -> State:
        plain = self.maximized(problem, state)
        acceleration = state.acceleration or Acceleration(state.parameters)
        if self.accelerated and acceleration.streak > 0:
            following, acceleration = self._beyond(problem, state, plain, acceleration)
            if following is not None:
                return replace(following, acceleration=acceleration)
        following = self._expected(problem, plain, PLAIN)
        # Exact arithmetic never lowers the objective. Where rounding does so by much, only what surely gains is
        # changed; if that does not help either, there is nothing left to gain.
        if state.objective - following.objective > MUCH * abs(state.objective):
            plain = self.maximized(problem, state, surely=True)
            following = self._expected(problem, plain, PLAIN)
        gain = following.objective - state.objective
        if gain < 0:
            return state.unmoved(TOLERANCE_REACHED)
        if NEGLIGIBLE < gain < TAIL * problem.total:
            acceleration = replace(acceleration, plain=plain, streak=acceleration.streak + 1)
        else:
            acceleration = replace(acceleration, plain=plain).restarted()
        return replace(following, acceleration=acceleration)

    def maximized(self, problem: LearningProblem, state: State, surely: bool = False) -> Parameters:
        """Returns the parameters and weights that are best for the responsibilities of a state.

        Parameters
        ----------
        problem : LearningProblem
            The data and the model.
        state : State
            The state.
        surely : bool, default=False
            Whether parameters stay as they are where rounding might have made the gain.

        Returns
        -------
        Parameters
            The parameters.
        """
        statistics = state.statistics
        vanished = statistics.counts <= VANISHED * problem.total
        log_weights = problem.log_weights(np.where(vanished, 0.0, statistics.weights()))
        return Parameters(problem.updated_natural(state.parameters, statistics, surely=surely), log_weights)

    def _beyond(
        self, problem: LearningProblem, state: State, plain: Parameters, acceleration: Acceleration
    ) -> tuple[State | None, Acceleration]:
        """The state beyond the plain step, None where there is no legal one that gains enough; and what to carry on."""
        acceleration = acceleration.observed(problem, state.parameters, plain)
        enough = state.objective + (sure := problem.sure_gain(state.statistics, state.parameters, plain))
        for shorter in (False, True):
            acceleration = acceleration.with_shorter_reach() if shorter else acceleration
            trial, promised = acceleration.anderson(problem, plain)
            if trial is None:
                break
            following = self._expected(problem, trial, ACCELERATED)
            if following.objective >= enough:
                left = max(promised, PLAIN_STEPS * sure)
                return following, acceleration.after(plain, left).with_longer_reach()
        else:
            return None, acceleration.without_residuals()
        trial = acceleration.momentum(problem, plain)
        if trial is None:
            return None, acceleration
        following = self._expected(problem, trial, ACCELERATED)
        return (
            (following, acceleration.after(plain, None))
            if following.objective >= enough
            else (None, acceleration.without_momentum())
        )

    def _expected(self, problem: LearningProblem, parameters: Parameters, kind: str) -> State:
        statistics = problem.soften(parameters, self.n_responsibilities)
        objective = problem.incomplete_objective(parameters, statistics)
        trace = (HalfStep(kind, objective),)
        return State(
            parameters,
            objective,
            statistics,
            None,
            trace,
            n_responsibilities=self.n_responsibilities,
            softened=self.n_responsibilities is None,
        )
