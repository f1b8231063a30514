"""Online k-MLE: each batch is assigned with the current components, added to their statistics, and forgotten."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..assignment.problem import LearningProblem, Parameters, Problem, at_hand
from ..assignment.rows import Rows
from ..assignment.sparse import SparseRows
from ..statistics import ClusterStatistics
from .hard_em import HardEM
from .state import DATA_USED_UP, HalfStep, State

WARM_UP_STEPS = 20


@dataclass
class Online:
    """One or several passes over batches in random order; the first batch is fitted by hard EM to start from.

    A stochastic approximation: what the objective was on the way is not known, only that of all rows at the end.
    """

    rng: np.random.Generator
    batch_size: int = 1024
    passes: int = 1
    name: str = "online"
    monotone: bool = False
    _batches: list[NDArray[np.intp]] = field(default_factory=list)

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        problem = at_hand(problem, self.name)
        self._before = self.rng.bit_generator.state
        first = self._shuffle(len(problem.rows), len(parameters.natural))
        return warmed_up(problem, problem.rows.subset(first), parameters)

    def _shuffle(self, n: int, n_components: int) -> NDArray[np.intp]:
        """Puts the batches in order, the last first, and returns the rows to begin with."""
        first = max(self.batch_size, 10 * n_components)
        order = self.rng.permutation(n)
        self._batches = [order[start : start + self.batch_size] for start in range(first, n, self.batch_size)]
        for _ in range(self.passes - 1):
            order_again = self.rng.permutation(n)
            self._batches += [order_again[start : start + self.batch_size] for start in range(0, n, self.batch_size)]
        self._batches.reverse()
        return order[:first]

    def memory(self) -> dict[str, Any]:
        return {"left": len(self._batches), "before": self._before}

    def recall(self, problem: LearningProblem, parameters: Parameters, memory: Mapping[str, Any]) -> None:
        self._before = self.rng.bit_generator.state = memory["before"]
        self._shuffle(len(at_hand(problem, self.name).rows), len(parameters.natural))
        del self._batches[memory["left"] :]

    def step(self, problem: LearningProblem, state: State) -> State:
        problem = at_hand(problem, self.name)
        if not self._batches:
            partition, statistics = problem.assign(state.parameters)
            objective = problem.complete_objective(state.parameters, statistics, partition)
            return replace(state, objective=objective, trace=(HalfStep("all rows", objective),), finished=DATA_USED_UP)
        return absorbed(problem, problem.rows.subset(self._batches.pop()), state)


def warmed_up(problem: Problem, batch: Rows | SparseRows, parameters: Parameters) -> State:
    """A state from the first batch: hard EM on it alone, its statistics kept."""
    weights = problem.weights
    known = problem.resolution
    local = Problem(
        problem.family, batch.X, batch.weights, problem.prior_strength, weights, batch.origin, resolution=known
    )
    lloyd = HardEM()
    state = lloyd.init(local, parameters)
    for _ in range(WARM_UP_STEPS):
        state = lloyd.step(local, state)
        if state.finished is not None:
            break
    return replace(state, finished=None, trace=(), partition=None)


def absorbed(problem: Problem, batch: Rows | SparseRows, state: State) -> State:
    """The state after one more batch."""
    parameters = state.parameters
    _, statistics = problem.assign(parameters, batch)
    total: ClusterStatistics = state.statistics + statistics
    living = total.counts > 0
    natural = parameters.natural.copy()
    moments = total.moments(problem.prior_strength, problem.prior_moment)
    natural[living] = problem.estimate(moments[living])
    return replace(state, parameters=Parameters(natural, problem.log_weights(total.weights())), statistics=total)
