"""Component swaps around Lloyd, after Kanungo et al. (2004): remove one component, seed one elsewhere, keep it if that
gains.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters
from ..problem.shrinking import drawn, seed_candidates
from .contract import Algorithm, Remembering
from .hard_em import HardEM
from .loop import after_steps
from .single_moves import unbounded
from .state import TRIALS_USED_UP, State

LLOYD_STEPS = 20


@dataclass
class Swap(Algorithm, Remembering):
    """Hard EM to its optimum, then at most `trials` swaps, each followed by a few Lloyd steps and kept if it gains.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of randomness.
    trials : int, default=20
        How many swaps are tried at most.
    reseed : bool, default=False
        Whether a component that loses all its rows starts again elsewhere instead of being removed.
    name : str, default="swap"
        The short name.
    monotone : bool, default=True
        Whether the objective never falls.
    """

    rng: np.random.Generator
    trials: int = 20
    reseed: bool = False
    name: str = "swap"
    monotone: bool = True

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        self._left = self.trials
        self._before = self.rng.bit_generator.state
        self._gather_candidates(problem, len(parameters.natural))
        return HardEM(self.reseed).init(problem, parameters)

    def _gather_candidates(self, problem: LearningProblem, n_components: int) -> None:
        self._candidates = seed_candidates(problem, n_components, self.rng)
        moments = self._candidates.moments
        natural = problem.estimate(moments)
        self._conjugate = np.einsum("nd,nd->n", natural, moments) - problem.family.log_normalizer(natural)

    def memory(self) -> dict[str, Any]:
        return {"left": self._left, "before": self._before}

    def restore(self, problem: LearningProblem, parameters: Parameters, memory: Mapping[str, Any]) -> None:
        self._left, self._before = memory["left"], memory["before"]
        self.rng.bit_generator.state = self._before
        self._gather_candidates(problem, len(parameters.natural))

    def step(self, problem: LearningProblem, state: State) -> State:
        lloyd = HardEM(self.reseed)
        following = lloyd.step(problem, state)
        if following.finished is None:
            return following
        # At a Lloyd optimum: try swaps until one gains.
        while self._left > 0:
            self._left -= 1
            trial = lloyd.init(problem, self._swapped(problem, following.parameters))
            trial = after_steps(lloyd, problem, trial, LLOYD_STEPS)
            better = trial.objective > following.objective + 1e-10 * abs(following.objective)
            if better and _spikes(problem, trial) <= _spikes(problem, following):
                # The descent inside a trial is not part of the history: the objective there starts below.
                return replace(trial, trace=(*following.trace, trial.trace[-1]), finished=None)
        return following.ended(TRIALS_USED_UP)

    def _swapped(self, problem: LearningProblem, parameters: Parameters) -> Parameters:
        """One component, inactive ones first, moved to a row drawn by its divergence to the others."""
        inactive = np.flatnonzero(~parameters.active)
        moved = int(inactive[0]) if len(inactive) else int(self.rng.integers(len(parameters.natural)))
        loss = self._loss(problem, parameters, moved)
        place = drawn((loss * self._candidates.weights + 1e-300)[np.newaxis], self.rng)[0]
        natural, log_weights = parameters.natural.copy(), parameters.log_weights.copy()
        natural[moved] = problem.estimate(self._candidates.moments[place])[0]
        log_weights[moved] = -np.log(len(log_weights))
        weights = np.exp(log_weights)
        return Parameters(natural, problem.log_weights(weights / weights.sum()))

    def _loss(self, problem: LearningProblem, parameters: Parameters, without: int) -> Array:
        """B_F* of the candidates to the nearest of the other components."""
        kept = parameters.active & (np.arange(len(parameters.natural)) != without)
        if not kept.any():
            return np.ones(len(self._candidates))
        natural = parameters.natural[kept]
        scores = self._candidates.moments @ natural.T - problem.family.log_normalizer(natural)
        return np.maximum(self._conjugate - scores.max(axis=1), 0.0)


def _spikes(problem: LearningProblem, state: State) -> int:
    """How many components have a likelihood without a bound: swaps that gain by one more of them are not kept."""
    statistics = state.statistics
    return int(unbounded(problem, problem.cluster_values(statistics.counts, statistics.sums)).sum())
