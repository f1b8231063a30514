"""Hartigan's method: hard EM first, then single rows moved wherever the closed-form gain is positive.

With profiled weights a cluster of n rows (weights included) and sum of t equal to S is worth

    g(n, S) = (n + n0) F*((S + n0 eta0) / (n + n0)) + n log(n / N),

n0 pseudo-observations at eta0 being the prior; prescribed weights replace log(n / N) by log w. Moving a row from a to
b gains g(a without it) + g(b with it) - g(a) - g(b), and no pass over the data is needed to know it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..assignment.partition import Labelled
from ..assignment.problem import LearningProblem, Parameters, Problem, at_hand
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .hard_em import HardEM
from .state import NO_MOVE_GAINS, HalfStep, State

# Gains below this many nats are rounding.
SMALLEST_GAIN = 1e-9
# Row-component pairs looked at in one sweep; with more of them each row is tried with its best few components only.
ALL_PAIRS = 2_000_000
FEW_COMPONENTS = 3
# An estimate whose own moment misses the target by this much, relatively, sits on a floor, and one whose likelihood is
# rounded by this much, in nats a row, is concentrated without end: the cluster is degenerate.
DEGENERATE = 1e-6
# Relative rounding error of a sum of a few products.
ROUNDING = 8 * np.finfo(float).eps


@dataclass(frozen=True)
class Hartigan:
    """Never ends below the Lloyd optimum it starts from, because every move it makes gains."""

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


def gaining_moves(problem: Problem, state: State) -> tuple[int, float]:
    """How many rows would gain if they alone moved to another component, and the largest gain in nats."""
    return _Sweep(problem, state).gaining()


class _Sweep:
    """One visit to every row; moves are made one at a time, each checked against the statistics of that moment."""

    def __init__(self, problem: Problem, state: State) -> None:
        assert state.partition is not None
        self.problem = problem
        self.parameters = state.parameters
        self.labels = state.partition.labels.copy()
        self.counts = state.statistics.counts.copy()
        self.sums = state.statistics.sums.copy()
        theta = problem.prior_natural
        self._prior_fit = float(theta @ problem.prior_moment - problem.family.log_normalizer(theta[None])[0])

    def run(self) -> State | None:
        """The state after the sweep, or None when no row gains by moving."""
        moves = 0
        for block, t in self.problem.rows.blocks():
            moves += self._visit(block.start, t)
        if moves == 0:
            return None
        problem = self.problem
        statistics = ClusterStatistics(self.counts, self.sums, 0.0)
        weights = problem.log_weights(statistics.weights())
        natural = problem.updated_natural(replace(self.parameters, log_weights=weights), statistics)
        parameters = Parameters(natural, weights)
        objective = problem.complete_objective(parameters, statistics)
        return State(parameters, objective, statistics, Labelled(self.labels), (HalfStep("moves", objective),))

    def gaining(self) -> tuple[int, float]:
        """How many rows would gain by moving alone, every component tried, and the largest gain; nothing moves."""
        gains: list[Array] = []
        for block, t in self.problem.rows.blocks():
            best, _, promising = self._best_moves(block.start + np.arange(len(t)), t, self._everywhere(t))
            gains.append(best[promising])
        together = np.concatenate(gains)
        return len(together), float(together.max(initial=0.0))

    def _visit(self, start: int, t: Array) -> int:
        """Moves rows of one block; returns how many moved."""
        places = start + np.arange(len(t))
        weights = self._weights(places)
        _, target, promising = self._best_moves(places, t, self._candidates(t))
        return sum(self._move(places[i], t[i], weights[i], int(target[i])) for i in np.flatnonzero(promising))

    def _best_moves(
        self, places: NDArray[np.intp], t: Array, candidate_lists: list[NDArray[np.intp]]
    ) -> tuple[Array, NDArray[np.intp], NDArray[np.bool_]]:
        """The largest gain of each row, where it would move for it, and whether that is a gain at all."""
        weights = self._weights(places)
        promising = np.zeros(len(t), dtype=bool)
        target = np.zeros(len(t), dtype=np.intp)
        best = np.full(len(t), SMALLEST_GAIN)
        source = self.labels[places].astype(np.intp)
        leaving = self._worth(source, -weights, t) - self._worth(source)
        for candidates in candidate_lists:
            gain = np.where(
                (candidates != source) & (weights > 0),
                leaving + self._worth(candidates, weights, t) - self._worth(candidates),
                -np.inf,
            )
            better = gain > best
            best, target = np.where(better, gain, best), np.where(better, candidates, target)
            promising |= better
        return best, target, promising

    def _everywhere(self, t: Array) -> list[NDArray[np.intp]]:
        """Every living component, one for all rows at a time."""
        return [np.full(len(t), j) for j in np.flatnonzero(self.counts > 0)]

    def _candidates(self, t: Array) -> list[NDArray[np.intp]]:
        """The components to try, one for each row at a time: all that live, or each row's best few."""
        n_alive = int(np.count_nonzero(self.counts > 0))
        if len(self.labels) * n_alive <= ALL_PAIRS:
            return self._everywhere(t)
        problem = self.problem
        scores = t @ self.parameters.natural.T + problem.bias(self.parameters)
        few = min(FEW_COMPONENTS + 1, n_alive)
        return list(np.argpartition(-scores, few - 1, axis=1)[:, :few].T)

    def _move(self, place: int, t: Array, weight: float, b: int) -> int:
        """Moves one row to component b if that still gains; 1 if it did."""
        a = int(self.labels[place])
        pair, change = np.array([a, b]), np.array([-weight, weight])
        after = self._worth(pair, change, np.stack([t, t])).sum()
        if not after - self._worth(pair).sum() > SMALLEST_GAIN:
            return 0
        self.counts[pair] += change
        self.sums[pair] += change[:, None] * t
        if self.counts[a] <= 1e-12 * weight:  # the last row has left: no rounding may stay behind
            self.counts[a] = 0.0
            self.sums[a] = 0.0
        self.labels[place] = b
        return 1

    def _weights(self, places: NDArray[np.intp]) -> Array:
        weights = self.problem.rows.weights
        return np.ones(len(places)) if weights is None else weights[places]

    def _worth(self, components: NDArray[np.intp], change: Array | None = None, t: Array | None = None) -> Array:
        """g of the components as they are, or after adding `change` times t to each; -inf for a degenerate cluster.

        What is is rated high and what might be low by the rounding error of g, so that no move gains by rounding.
        """
        problem = self.problem
        counts, sums, doubt = self.counts[components], self.sums[components], 1.0
        if change is not None and t is not None:
            counts, sums, doubt = counts + change, sums + change[:, None] * t, -1.0
        n0, eta0 = problem.prior_strength, problem.prior_moment
        empty = counts <= 1e-12 * problem.total / len(problem.rows)
        counts = np.where(empty, 1.0, counts)
        moments = np.where(empty[:, None], eta0, (sums + n0 * eta0) / (counts + n0)[:, None])
        natural = problem.estimate(moments)
        normalizer = problem.family.log_normalizer(natural)
        fit = np.einsum("nd,nd->n", natural, moments) - normalizer
        rounding = ROUNDING * (np.abs(natural * moments).sum(axis=1) + np.abs(normalizer))
        # The prior's own share at its best, n0 F*(eta0), is the same for every living component and left out.
        worth = (counts + n0) * (fit + doubt * rounding) - n0 * self._prior_fit
        log_weights = (
            np.log(counts / problem.total) if problem.weights is None else self.parameters.log_weights[components]
        )
        if n0 == 0:
            missed = np.abs(problem.family.moment_from_natural(natural) - moments)
            degenerate = (missed > DEGENERATE * np.maximum(np.abs(moments), 1e-12)).any(axis=1)
            degenerate |= rounding > DEGENERATE
            worth = np.where(degenerate & (doubt < 0), -np.inf, worth)
        return np.where(empty, 0.0, worth + counts * log_weights)
