"""Online k-MLE, after sequential k-means (MacQueen, 1967): each batch is assigned with the current components, added to
their statistics, and forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sparse import SparseRows
from ..data.table import Rows
from ..engines.statistics import ClusterStatistics
from ..problem.parts import PartedProblem
from ..problem.problem import LearningProblem, Parameters, Problem, at_hand
from .contract import Algorithm, Remembering
from .hard_em import HardEM
from .loop import after_steps
from .state import DATA_USED_UP, HalfStep, State

WARM_UP_STEPS = 20
# Seeds of the orders of rows in parts.
SEEDS = 1 << 62


@dataclass(frozen=True)
class Visit:
    """One part of the rows to learn from: in batches, in an order that the seed gives."""

    part: int
    seed: int
    left_out: NDArray[np.intp]
    """Rows of the part that were learned from before."""


@dataclass
class Online(Algorithm, Remembering):
    """One or several passes over batches in random order; the first batch is fitted by hard EM to start from.

    A step takes one batch, or all batches of one part where the rows lie in parts: parts come in random order, and so
    do the rows of each. A stochastic approximation: the objective is known only at the end, for all rows.

    Parameters
    ----------
    rng : numpy.random.Generator
        The source of randomness.
    batch_size : int, default=1024
        The number of rows of a batch.
    passes : int, default=1
        How often all rows are seen.
    name : str, default="online"
        The short name.
    monotone : bool, default=False
        Whether the objective never falls.
    """

    rng: np.random.Generator
    batch_size: int = 1024
    passes: int = 1
    name: str = "online"
    monotone: bool = False
    _coming: list[NDArray[np.intp]] | list[Visit] = field(default_factory=list, init=False)

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        self._before = self.rng.bit_generator.state
        first = self._plan(problem, len(parameters.natural))
        known = _held(problem, self.name)
        return warmed_up(known, known.rows.subset(first), parameters)

    def _plan(self, problem: LearningProblem, n_components: int) -> NDArray[np.intp]:
        """Plans what is learned from, the last first; returns the rows to begin with, of the sample where in parts."""
        n_first = max(self.batch_size, 10 * n_components)
        if isinstance(problem, PartedProblem):
            return self._plan_parts(problem, n_first)
        n = len(at_hand(problem, self.name).rows)
        order = self.rng.permutation(n)
        batches = [order[start : start + self.batch_size] for start in range(n_first, n, self.batch_size)]
        for _ in range(self.passes - 1):
            order_again = self.rng.permutation(n)
            batches += [order_again[start : start + self.batch_size] for start in range(0, n, self.batch_size)]
        self._coming = batches[::-1]
        return order[:n_first]

    def _plan_parts(self, problem: PartedProblem, n_first: int) -> NDArray[np.intp]:
        first = self.rng.permutation(len(problem.sample.rows))[:n_first]
        known, nothing = problem.places_in_parts(np.sort(first)), np.zeros(0, dtype=np.intp)
        visits: list[Visit] = []
        for turn in range(self.passes):
            for part in self.rng.permutation(problem.n_parts).tolist():
                seed = int(self.rng.integers(SEEDS))
                visits.append(Visit(part, seed, known[part] if turn == 0 else nothing))
        self._coming = visits[::-1]
        return first

    def memory(self) -> dict[str, Any]:
        return {"left": len(self._coming), "before": self._before}

    def restore(self, problem: LearningProblem, parameters: Parameters, memory: Mapping[str, Any]) -> None:
        self._before = self.rng.bit_generator.state = memory["before"]
        self._plan(problem, len(parameters.natural))
        del self._coming[memory["left"] :]

    def step(self, problem: LearningProblem, state: State) -> State:
        if not self._coming:
            partition, statistics = problem.assign(state.parameters)
            objective = problem.complete_objective(state.parameters, statistics, partition)
            return replace(state, objective=objective, trace=(HalfStep("all rows", objective),), finished=DATA_USED_UP)
        known, coming = _held(problem, self.name), self._coming.pop()
        if not isinstance(coming, Visit):
            return absorbed(known, known.rows.subset(coming), state)
        assert isinstance(problem, PartedProblem)  # only those are visited
        light = known.without_rows()
        visit = partial(visited, problem=light, state=state, visit=coming, batch_size=self.batch_size)
        return problem.over_part(coming.part, visit)


def _held(problem: LearningProblem, name: str) -> Problem:
    """The problem, or where its rows lie in parts the one of its sample."""
    return problem.sample if isinstance(problem, PartedProblem) else at_hand(problem, name)


def visited(
    rows: Rows | SparseRows, first: int, problem: Problem, state: State, visit: Visit, batch_size: int
) -> State:
    """The state after all batches of one part, wherever that part is; it does not matter where its rows begin."""
    order = np.random.default_rng(visit.seed).permutation(len(rows))
    order = order[~np.isin(order, visit.left_out)]
    for start in range(0, len(order), batch_size):
        state = absorbed(problem, rows.subset(order[start : start + batch_size]), state)
    return state


def warmed_up(problem: Problem, batch: Rows | SparseRows, parameters: Parameters) -> State:
    """A state from the first batch: hard EM on it alone, its statistics kept."""
    weights = problem.weights
    known = problem.resolution
    local = Problem(
        problem.family, batch.X, batch.weights, problem.prior_strength, weights, batch.center, resolution=known
    )
    lloyd = HardEM()
    state = lloyd.init(local, parameters)
    state = after_steps(lloyd, local, state, WARM_UP_STEPS)
    return replace(state, finished=None, trace=(), partition=None)


def absorbed(problem: Problem, batch: Rows | SparseRows, state: State) -> State:
    """The state after one more batch."""
    parameters = state.parameters
    _, statistics = problem.assign(parameters, batch)
    total: ClusterStatistics = state.statistics + statistics
    occupied = total.counts > 0
    natural = parameters.natural.copy()
    moments = total.moments(problem.prior_strength, problem.prior_moment)
    if problem.family.joint:
        counts = np.where(occupied, total.counts + problem.prior_strength, 0.0)
        natural = problem.estimates(counts, moments, natural)
    else:
        natural[occupied] = problem.estimate(moments[occupied])
    return replace(state, parameters=Parameters(natural, problem.log_weights(total.weights())), statistics=total)
