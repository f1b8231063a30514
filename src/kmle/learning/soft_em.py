"""Soft EM (Bregman soft clustering), and sparse EM, which keeps the largest responsibilities of each row.

Plain EM can need thousands of steps where components overlap. Steps here have momentum: each starts from a point beyond
the last estimate, in the direction of the last change (Nesterov, 1983), in natural parameters. Momentum begins once
plain steps gain little, so that a fit goes where plain EM goes. A point is accepted only if it gains at least what the
plain step is certain to gain; otherwise the plain step is made and the momentum starts again from zero (function
restarts: O'Donoghue and Candes, 2015). So the objective never falls, and a step costs one pass over the data, two where
a point was refused.
"""

from dataclasses import dataclass, replace

import numpy as np

from ..assignment.problem import LearningProblem, Parameters
from ..numerics.arrays import Array
from .state import TOLERANCE_REACHED, HalfStep, Momentum, State

# A component with less than this share of the rows is gone: its weight could not come back in a float's lifetime.
VANISHED = 1e-14
# Momentum after s accepted steps is s / (s + DELAY), at most LARGEST.
DELAY = 1.5
LARGEST = 0.995
# A fall of the objective by more than this share of it is not that of a sum's last digits.
MUCH = 1e-11
# Momentum is for the tail: as long as a step gains more than this per row, in nats, plain steps are quick.
TAIL = 1e-3
# Kinds of steps in the history.
PLAIN, ACCELERATED = "responsibilities", "momentum"


@dataclass(frozen=True)
class SoftEM:
    """Responsibilities, then parameters and weights from them; the objective is the (incomplete) log-likelihood.

    With `n_kept` = L only the L largest responsibilities of a row count, rescaled to one, and the objective is the
    log of the L largest terms' sum: L = 1 is hard EM, L = k is EM, and it never falls for any L in between.
    `accelerated=False` makes plain steps only.
    """

    n_kept: int | None = None
    name: str = "em"
    monotone: bool = True
    accelerated: bool = True

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        return replace(self._expected(problem, parameters, PLAIN), momentum=Momentum(parameters, streak=-2))

    def step(self, problem: LearningProblem, state: State) -> State:
        plain = self.maximized(problem, state)
        streak = -2 if state.momentum is None else state.momentum.streak
        if self.accelerated and state.momentum is not None and streak > 0:
            following = self._beyond(problem, state, plain, state.momentum)
            if following is not None:
                return replace(following, momentum=Momentum(plain, streak + 1))
            streak = 0
        following = self._expected(problem, plain, PLAIN)
        # Exact arithmetic never lowers the objective. Where rounding does so by much, only what surely gains is
        # changed; if that does not help either, there is nothing left to gain.
        if state.objective - following.objective > MUCH * abs(state.objective):
            plain = self.maximized(problem, state, surely=True)
            following = self._expected(problem, plain, PLAIN)
        if following.objective < state.objective:
            return state.unmoved(TOLERANCE_REACHED)
        tail = following.objective - state.objective < TAIL * problem.total
        return replace(following, momentum=Momentum(plain, streak + 1 if tail else -2))

    def maximized(self, problem: LearningProblem, state: State, surely: bool = False) -> Parameters:
        """The parameters and weights that are best for the responsibilities of a state.

        `surely` leaves parameters alone whose gain rounding might have made.
        """
        statistics = state.statistics
        vanished = statistics.counts <= VANISHED * problem.total
        log_weights = problem.log_weights(np.where(vanished, 0.0, statistics.weights()))
        return Parameters(problem.updated_natural(state.parameters, statistics, surely=surely), log_weights)

    def _beyond(self, problem: LearningProblem, state: State, plain: Parameters, momentum: Momentum) -> State | None:
        """The state beyond the plain step, or None where there is no legal one that gains enough."""
        factor = min(momentum.streak / (momentum.streak + DELAY), LARGEST)
        trial = extrapolated(problem, plain, momentum.plain, factor)
        if trial is None:
            return None
        following = self._expected(problem, trial, ACCELERATED)
        return following if following.objective >= state.objective + sure_gain(problem, state, plain) else None

    def _expected(self, problem: LearningProblem, parameters: Parameters, kind: str) -> State:
        statistics = problem.soften(parameters, self.n_kept)
        objective = problem.incomplete_objective(parameters, statistics)
        trace = (HalfStep(kind, objective),)
        return State(parameters, objective, statistics, None, trace, n_kept=self.n_kept, softened=self.n_kept is None)


def extrapolated(problem: LearningProblem, plain: Parameters, before: Parameters, factor: float) -> Parameters | None:
    """`plain` moved on by a factor of its change since `before`; None where that is no legal mixture."""
    alive = plain.alive
    if not np.array_equal(alive, before.alive):
        return None
    natural, log_weights = plain.natural.copy(), plain.log_weights.copy()
    natural[alive] += factor * (natural[alive] - before.natural[alive])
    natural = problem.confined(natural, plain.natural)
    if problem.weights is None:
        log_weights[alive] += factor * (log_weights[alive] - before.log_weights[alive])
        highest = log_weights[alive].max()
        log_weights[alive] -= highest + np.log(np.exp(log_weights[alive] - highest).sum())
    return Parameters(natural, log_weights) if problem.legal(natural, alive) else None


def sure_gain(problem: LearningProblem, state: State, plain: Parameters) -> float:
    """A lower bound on the gain of the plain step: that of the expected complete log-likelihood (Dempster et al.)."""

    def expected(parameters: Parameters) -> Array:
        with np.errstate(invalid="ignore"):
            score = np.einsum("kd,kd->k", state.statistics.sums, parameters.natural)
            score += state.statistics.counts * problem.bias(parameters)
        return score[alive]

    alive = plain.alive & state.parameters.alive
    gain = float((expected(plain) - expected(state.parameters)).sum())
    return max(0.0, gain + problem.penalty(plain) - problem.penalty(state.parameters))
