"""Hartigan's method: hard EM first, then single rows moved wherever the closed-form gain is positive (Hartigan, 1975).

Without a prior the likelihood of continuous data has no bound: a component on a single row gains as much as the floors
of its family allow. Such moves gain, and certificates count them, but they are not made: they lead to spikes.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..engines.partition import Labelled
from ..engines.statistics import ClusterStatistics
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters, at_hand
from .contract import Algorithm
from .hard_em import HardEM
from .single_moves import SMALLEST_GAIN, Clusters, Gains
from .state import NO_MOVE_GAINS, HalfStep, State

# Row-component pairs examined in one sweep where nothing bounds their gains; with more of them each row is tried with
# its best few components only.
ALL_PAIRS = 2_000_000
FEW_COMPONENTS = 3


@dataclass(frozen=True)
class Hartigan(Algorithm):
    """Never ends below the Lloyd optimum it starts from, because every move it makes gains.

    Parameters
    ----------
    reseed : bool, default=False
        Whether a component that loses all its rows starts again elsewhere instead of being removed.
    name : str, default="hartigan"
        The short name.
    monotone : bool, default=True
        Whether the objective never falls.
    """

    reseed: bool = False
    name: str = "hartigan"
    monotone: bool = True

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        return HardEM(self.reseed).init(problem, parameters)

    def step(self, problem: LearningProblem, state: State) -> State:
        following = HardEM(self.reseed).step(problem, state)
        if following.finished is None:
            return following
        swept = _Sweep(at_hand(problem, self.name), following).run()
        if swept is None:
            return following.ended(NO_MOVE_GAINS)
        return replace(swept, trace=(*following.trace, *swept.trace), finished=None)


class _Sweep(Clusters):
    """One visit to every row; moves are made one at a time, each checked against the statistics of that moment."""

    def run(self) -> State | None:
        """The state after the sweep, or None when no row gains by moving."""
        moves = 0
        for block, t in self.problem.rows.blocks():
            moves += self._visit(block.start, t)
        if moves == 0:
            return None
        problem = self.problem
        statistics, partition = ClusterStatistics(self.counts, self.sums, 0.0), Labelled(self.labels)
        weights = problem.log_weights(statistics.weights())
        natural = problem.updated_natural(replace(self.parameters, log_weights=weights), statistics, partition)
        parameters = Parameters(natural, weights)
        objective = problem.complete_objective(parameters, statistics, partition)
        return State(parameters, objective, statistics, partition, (HalfStep("moves", objective),))

    def _visit(self, start: int, t: Array) -> int:
        """Moves rows of one block; returns how many moved."""
        places = start + np.arange(len(t))
        best, target = np.full(len(t), SMALLEST_GAIN), np.zeros(len(t), dtype=np.intp)
        for rows, component, found in self.possible_moves(places, t, self.targets(), self._few(t)):
            gain = _sure(found)
            better = rows[gain > best[rows]]
            best[better], target[better] = gain[gain > best[rows]], component
        promising = np.flatnonzero(best > SMALLEST_GAIN)
        return sum(self._move(places[i : i + 1], t[i : i + 1], target[i : i + 1]) for i in promising)

    def _few(self, t: Array) -> NDArray[np.bool_] | None:
        """The few best components of each row, (m, targets), where it would take too long to try all."""
        targets = self.targets()
        if len(self.labels) * len(targets) <= ALL_PAIRS:
            return None
        scores = t @ self.parameters.natural[targets].T + self.problem.bias(self.parameters)[targets]
        few = min(FEW_COMPONENTS + 1, len(targets))
        chosen = np.zeros(scores.shape, dtype=bool)
        np.put_along_axis(chosen, np.argpartition(-scores, few - 1, axis=1)[:, :few], True, axis=1)
        return chosen

    def _move(self, place: NDArray[np.intp], t: Array, target: NDArray[np.intp]) -> int:
        """Moves one row if that still gains; 1 if it did."""
        if not _sure(self.moving(place, t, self.leaving(place, t), target))[0] > SMALLEST_GAIN:
            return 0
        weight = self.weights(place)
        source = self.labels[place].astype(np.intp)
        for component, change in ((source, -weight), (target, weight)):
            self.counts[component] += change
            self.sums[component] += change[:, None] * t
        if self.counts[source[0]] <= 1e-12 * weight[0]:  # the last row has left: no rounding may stay behind
            self.counts[source] = 0.0
            self.sums[source] = 0.0
        self.labels[place] = target
        return 1


def _sure(found: Gains) -> Array:
    """Gains that are made: less their rounding errors, and none by clusters of no bound."""
    return np.where(found.spikes, -np.inf, found.gains - found.errors)
