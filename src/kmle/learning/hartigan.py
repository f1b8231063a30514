"""Hartigan's method: hard EM first, then single rows moved wherever the closed-form gain is positive.

What a cluster is worth follows from its count and sum alone (`LearningProblem.cluster_values`): moving a row from a to
b gains value(a without it) + value(b with it) - value(a) - value(b), and no pass over the data is needed to know it.

Without a prior the likelihood of continuous data has no bound: a component on a single row gains as much as the floors
of its family allow. Such moves gain, and certificates count them, but they are not made: they lead to spikes.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..assignment.direct import direct_fits
from ..assignment.objective import Values
from ..assignment.partition import Labelled
from ..assignment.problem import LearningProblem, Parameters, Problem, at_hand
from ..assignment.rows import Rows
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
# rounded by this much, in nats per row, is concentrated without end.
DEGENERATE = 1e-6
# Moments this close to those of all rows, and closer by a thousand: if that gains, the likelihood has no bound.
NEAR, NEARER, UNBOUNDED = 1e-6, 1e-9, 0.1
# Gains that rounding hides by more than this are computed from the rows, where at most so many have to be looked at.
HIDDEN = 1e-7
MOST_LOOKS = 5_000_000
MOST_PAIRS = 2_000


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


@dataclass(frozen=True)
class Moves:
    """What single rows would gain by moving alone."""

    gaining: int
    """Rows that gain, by more than rounding."""
    largest: float
    """The largest gain in nats."""
    spikes: int
    """Those of them whose largest gain is that of a cluster whose likelihood has no bound."""
    hidden: int
    """Rows whose gains rounding hides."""
    bound: float
    """No other row gains more than this many nats."""


def single_moves(problem: Problem, state: State) -> Moves:
    """What single rows would gain, every component tried; nothing moves."""
    return _Judge(problem, state).moves()


@dataclass(frozen=True)
class Gains:
    """What rows would gain by moving (m,), the rounding errors of that, and whether a cluster of no bound is made."""

    gains: Array
    errors: Array
    spikes: NDArray[np.bool_]


class _Clusters:
    """Labels and statistics of clusters, and what moves of single rows between them would gain."""

    def __init__(self, problem: Problem, state: State) -> None:
        assert state.partition is not None
        self.problem = problem
        self.parameters = state.parameters
        self.labels = state.partition.labels.copy()
        self.counts = state.statistics.counts.copy()
        self.sums = state.statistics.sums.copy()

    def targets(self) -> NDArray[np.intp]:
        """The components that rows may move to: those with rows, and all where their weights are prescribed."""
        free = self.problem.weights is None
        return np.flatnonzero(self.counts > 0 if free else self.parameters.alive)

    def weights(self, places: NDArray[np.intp]) -> Array:
        """The weights of rows."""
        weights = self.problem.rows.weights
        return np.ones(len(places)) if weights is None else weights[places]

    def values(self, components: NDArray[np.intp], change: Array | None = None, t: Array | None = None) -> Values:
        """What components are worth as they are, or after adding `change` times t to each."""
        counts, sums = self.counts[components], self.sums[components]
        if change is not None and t is not None:
            counts, sums = counts + change, sums + change[:, None] * t
        held = None if self.problem.weights is None else self.parameters.log_weights[components]
        return self.problem.cluster_values(counts, sums, held)

    def leaving(self, places: NDArray[np.intp], t: Array) -> Gains:
        """What each row's component would gain without it."""
        source = self.labels[places].astype(np.intp)
        return self._gains(source, self.values(source, -self.weights(places), t))

    def joining(self, places: NDArray[np.intp], t: Array, target: NDArray[np.intp]) -> Gains:
        """What each row's target would gain with it."""
        return self._gains(target, self.values(target, self.weights(places), t))

    def _gains(self, components: NDArray[np.intp], after: Values) -> Gains:
        present, inverse = np.unique(components, return_inverse=True)
        before = self.values(present)
        gains = after.values - before.values[inverse]
        return Gains(gains, after.errors + before.errors[inverse], unbounded(self.problem, after))

    def moving(self, places: NDArray[np.intp], t: Array, leaving: Gains, target: NDArray[np.intp]) -> Gains:
        """What rows would gain by moving to their targets."""
        joining = self.joining(places, t, target)
        legal = (target != self.labels[places]) & (self.weights(places) > 0)
        gains = np.where(legal, leaving.gains + joining.gains, -np.inf)
        return Gains(gains, leaving.errors + joining.errors, leaving.spikes | joining.spikes)


def unbounded(problem: LearningProblem, values: Values) -> NDArray[np.bool_]:
    """Clusters whose likelihood has no bound: their estimates stand on a floor, and a lower one would gain."""
    found = np.zeros(len(values.values), dtype=bool)
    if problem.prior_strength > 0:
        return found
    moments, natural, family = values.moments, values.natural, problem.family
    missed = np.abs(family.moment_from_natural(natural) - moments) > DEGENERATE * np.maximum(np.abs(moments), 1e-12)
    size = np.einsum("nd,nd->n", np.abs(natural), np.abs(moments)) * np.finfo(float).eps
    flagged = np.flatnonzero(missed.any(axis=1) | (size > DEGENERATE))
    if len(flagged):
        near, nearer = (
            family.conjugate((1 - share) * moments[flagged] + share * problem.prior_moment) for share in (NEAR, NEARER)
        )
        found[flagged] = nearer - near > UNBOUNDED
    return found


class _Sweep(_Clusters):
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
        leaving = self.leaving(places, t)
        best, target = np.full(len(t), SMALLEST_GAIN), np.zeros(len(t), dtype=np.intp)
        for candidates in self._candidates(t):
            gain = _sure(self.moving(places, t, leaving, candidates))
            better = gain > best
            best, target = np.where(better, gain, best), np.where(better, candidates, target)
        promising = np.flatnonzero(best > SMALLEST_GAIN)
        return sum(self._move(places[i : i + 1], t[i : i + 1], target[i : i + 1]) for i in promising)

    def _candidates(self, t: Array) -> list[NDArray[np.intp]]:
        """The components to try, one for each row at a time: all that rows may move to, or each row's best few."""
        targets = self.targets()
        if len(self.labels) * len(targets) <= ALL_PAIRS:
            return [np.full(len(t), j) for j in targets]
        problem = self.problem
        scores = t @ self.parameters.natural.T + problem.bias(self.parameters)
        few = min(FEW_COMPONENTS + 1, len(targets))
        return list(np.argpartition(-scores, few - 1, axis=1)[:, :few].T)

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


class _Judge(_Clusters):
    """What single moves would gain; nothing moves. Gains that rounding hides are computed from the rows."""

    def moves(self) -> Moves:
        """The gains of all rows, to any component."""
        self._looks = self._pairs = 0
        parts = [self._of_block(block.start + np.arange(len(t)), t) for block, t in self.problem.rows.blocks()]
        largest, spikes, hidden, bound = (np.concatenate(part) for part in zip(*parts, strict=True))
        gaining = largest > 0
        return Moves(
            int(gaining.sum()),
            float(largest.max(initial=0.0)),
            int((spikes & gaining).sum()),
            int((hidden & ~gaining).sum()),
            float(bound.max(initial=SMALLEST_GAIN)),
        )

    def _of_block(
        self, places: NDArray[np.intp], t: Array
    ) -> tuple[Array, NDArray[np.bool_], NDArray[np.bool_], Array]:
        """Of each row: the largest gain or zero, whether that is a spike's, whether one is hidden, and a bound."""
        leaving = self.leaving(places, t)
        largest, bound = np.zeros(len(t)), np.zeros(len(t))
        spikes, hidden = np.zeros(len(t), dtype=bool), np.zeros(len(t), dtype=bool)
        for j in self.targets():
            found = self.moving(places, t, leaving, np.full(len(t), j))
            gains, errors = found.gains, found.errors.copy()
            for i in np.flatnonzero((errors > HIDDEN) & (gains + errors > SMALLEST_GAIN)):
                precise = self._precise(int(places[i]), t[i : i + 1], int(j))
                if precise is not None:
                    gains[i], errors[i] = precise, HIDDEN
            sure = gains - errors > SMALLEST_GAIN
            best = sure & (gains > largest)
            largest, spikes = np.where(best, gains, largest), np.where(best, found.spikes, spikes)
            hidden |= ~sure & (errors > HIDDEN) & (gains + errors > SMALLEST_GAIN)
            bound = np.maximum(bound, np.where(sure | hidden, 0.0, gains + errors))
        return largest, spikes, hidden, bound

    def _precise(self, place: int, t: Array, target: int) -> float | None:
        """The gain of one move by direct densities of the rows of both clusters; None where that is too much work."""
        problem, rows = self.problem, self.problem.rows
        a = int(self.labels[place])
        mine = np.flatnonzero((self.labels == a) | (self.labels == target))
        self._looks, self._pairs = self._looks + len(mine), self._pairs + 1
        spent = self._looks > MOST_LOOKS or self._pairs > MOST_PAIRS
        if spent or a == target or not problem.has_direct or not isinstance(rows, Rows):
            return None
        pair, weight = np.array([a, target]), self.weights(np.array([place]))[0]
        after = self.values(pair, np.array([-weight, weight]), np.concatenate([t, t]))
        before = self.parameters.natural[pair]
        own = rows.subset(mine)
        old = (self.labels[mine] == target).astype(np.int32)
        new = np.where(mine == place, 1, old).astype(np.int32)
        fits = direct_fits(own, after.natural, new).sum() - direct_fits(own, before, old).sum()
        return float(
            fits + self._shares(pair, np.array([-weight, weight])) + self._penalties(after.natural, before, pair)
        )

    def _shares(self, pair: NDArray[np.intp], change: Array) -> float:
        """What the weights gain by a move."""
        problem, counts = self.problem, self.counts[pair]
        if problem.weights is not None:
            return float(change @ self.parameters.log_weights[pair])
        after = np.where(counts + change > 1e-12 * np.abs(change), counts + change, 0.0)
        return float(_n_log_n(after / problem.total) - _n_log_n(counts / problem.total)) * problem.total

    def _penalties(self, after: Array, before: Array, pair: NDArray[np.intp]) -> float:
        """What the prior gains by a move."""
        problem = self.problem
        if problem.prior_strength == 0:
            return 0.0
        weights = np.zeros(len(pair))
        return problem.penalty(Parameters(after, weights)) - problem.penalty(Parameters(before, weights))


def _n_log_n(shares: Array) -> float:
    return float((shares * np.log(np.maximum(shares, 1e-300))).sum())
