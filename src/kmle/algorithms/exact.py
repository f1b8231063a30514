"""The global optimum of the complete likelihood for families with one statistic, by dynamic programming (Bellman, 1973;
Nielsen and Nock, 2014).

Scores are lines in t(x), so the best clusters are intervals of sorted t whatever the weights. A cluster from the i-th
to before the j-th distinct value is worth n F*(S/n) + n log w, read off prefix sums. With the weights held these worths
obey the quadrangle inequality, so the best first cut moves monotonically with j and each layer costs O(m log m). With
weights profiled the entropy term n log(n/N) breaks that, and all pairs are tried, O(k m^2). Of many values only those
are tried that the optimum may be cut at (`interval_search`).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engines.partition import Labelled
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters, Problem, at_hand
from .contract import Algorithm
from .interval_search import Intervals, best_cuts
from .monotone import monotone_maxima
from .state import GLOBAL_OPTIMUM, HalfStep, State, near_optimum

# Distinct values up to which all cuts are tried: with prescribed weights, and with free ones (seconds).
FEW_VALUES = 2048
FEW_PROFILED = 8192
# Elementary steps up to which unequal prescribed weights are solved exactly, over all orders of the components.
MAX_PRESCRIBED = 3e8

Indices = NDArray[np.intp]
Worth = Callable[[Indices, Indices], Array]


@dataclass(frozen=True)
class Exact(Algorithm):
    """The best partition of one column, for families with one statistic; plain maximum likelihood, without the prior.

    With free weights fewer components than asked for are often better, as every extra one costs entropy.

    Parameters
    ----------
    exactly : bool, default=False
        Whether to insist on all components.
    name : str, default="exact"
        The short name.
    monotone : bool, default=True
        Whether the objective never falls.
    """

    exactly: bool = False
    name: str = "exact"
    monotone: bool = True

    def init(self, problem: LearningProblem, parameters: Parameters) -> State:
        problem = at_hand(problem, self.name)
        line = _Line(problem)
        k = min(len(parameters.natural), line.size)
        owners, gap = None, 0.0
        if problem.weights is None:
            cuts, gap = _profiled(line, k, self.exactly)
        elif np.ptp(problem.weights) == 0:
            cuts = _equal_weights(line, k)
        else:
            cuts, owners = _prescribed(line, problem.weights)
        owners = np.arange(len(cuts) - 1) if owners is None else owners
        labels = owners[np.searchsorted(cuts[1:], line.place, side="right")].astype(np.int32)
        statistics = problem.gather(labels, len(parameters.natural))
        occupied = statistics.counts > 0
        natural = parameters.natural.copy()
        natural[occupied] = problem.estimate(statistics.moments()[occupied])
        found = Parameters(natural, problem.log_weights(statistics.weights()))
        objective = problem.complete_objective(found, statistics, Labelled(labels))
        reason = GLOBAL_OPTIMUM if gap == 0 else near_optimum(gap)
        return State(found, objective, statistics, Labelled(labels), (HalfStep("optimum", objective),), reason)

    def step(self, problem: LearningProblem, state: State) -> State:
        return state


class _Line:
    """Distinct values of t in order, with prefix sums of weight and of weighted t."""

    def __init__(self, problem: Problem) -> None:
        if problem.rows.n_statistics != 1:
            raise ValueError(
                f"algorithm='exact' needs a family with one statistic on one column; {problem.family.name} here has "
                f"{problem.rows.n_statistics}: use 'hartigan' or 'swap' instead"
            )
        self.family = problem.family
        self.total = problem.total
        t = np.concatenate([block[:, 0] for _, block in problem.rows.blocks()])
        values, self.place = np.unique(t, return_inverse=True)
        weights = np.bincount(self.place.ravel(), problem.rows.weights, len(values))
        self.size = len(values)
        self.count = np.concatenate([[0.0], np.cumsum(weights)])
        self.sum = np.concatenate([[0.0], np.cumsum(weights * values)])

    def intervals(self, free: bool) -> Intervals:
        """The line for a search; its weights free or prescribed."""
        every = np.arange(self.size)
        single = np.concatenate([[0.0], np.cumsum(self.worth(every, every + 1))])
        return Intervals(self.worth, self.count, single, free)

    def worth(self, i: Indices, j: Indices) -> Array:
        """n F*(S/n) of the distinct values i..j-1; zero for values that carry no weight."""
        count, total = self.count[j] - self.count[i], self.sum[j] - self.sum[i]
        weighty = np.where(count > 0, count, 1.0)
        return np.where(count > 0, weighty * self.family.conjugate((total / weighty)[..., None]), 0.0)


def _backtracked(arguments: list[Indices], last: int) -> Indices:
    cuts = [last]
    for argument in reversed(arguments):
        cuts.append(int(argument[cuts[-1]]))
    return np.array(cuts[::-1])


def _equal_weights(line: _Line, k: int) -> Indices:
    """Cuts 0 = c_0 < ... < c_k = m that maximise the sum of worths."""
    if line.size > FEW_VALUES:
        found = best_cuts(line.intervals(free=False), k)
        if found.highest <= found.objective:
            return found.places
    return monotone_cuts(line, k)


def monotone_cuts(line: _Line, k: int) -> Indices:
    """The same by one monotone layer for each component."""
    every = np.arange(line.size + 1)
    best = np.where(every > 0, line.worth(np.zeros_like(every), every), -np.inf)
    arguments: list[Indices] = [np.zeros(line.size + 1, dtype=np.intp)]
    for layer in range(2, k + 1):
        # The last layer is only asked for its last cell.
        first = line.size if layer == k else layer
        best, argument = monotone_layer(best, line.worth, first, line.size, arguments[-1])
        arguments.append(argument)
    return _backtracked(arguments, line.size)


def monotone_layer(previous: Array, worth: Worth, first: int, last: int, floor: Indices) -> tuple[Array, Indices]:
    """max_i previous[i] + worth(i, j) for j = first..last and the lowest best i, when that i grows with j.

    `floor` holds the best i of the layer before, below which the best of this one cannot lie.
    """
    best, argument = np.full(last + 1, -np.inf), np.zeros(last + 1, dtype=np.intp)
    reach = np.arange(first - 1, last)
    best[first:], argument[first:] = monotone_maxima(
        previous, lambda i, j: worth(i, j + first), reach, floor[first : last + 1]
    )
    return best, argument


def _profiled(line: _Line, k: int, exactly: bool) -> tuple[Indices, float]:
    """The best cuts into at most (or exactly) k clusters with weights n/N, and how much better others may be."""
    if line.size <= FEW_PROFILED:
        return profiled_cuts(line, k, exactly), 0.0
    intervals = line.intervals(free=True)
    places, known, highest = np.zeros(0, dtype=np.intp), -np.inf, -np.inf
    for used in range(k if exactly else 1, k + 1):
        found = best_cuts(intervals, used, known)
        highest = max(highest, found.highest)
        if len(found.places):
            places, known = found.places, found.objective
    return places, max(highest - known, 0.0)


def profiled_cuts(line: _Line, k: int, exactly: bool) -> Indices:
    """The same with every pair of cuts tried."""
    m = line.size
    best = np.full((k + 1, m + 1), -np.inf)
    best[0, 0] = 0.0
    argument = np.zeros((k + 1, m + 1), dtype=np.intp)
    for j in range(1, m + 1):
        i = np.arange(j)
        count = line.count[j] - line.count[i]
        share = np.where(count > 0, count, 1.0) / line.total
        values = best[:k, :j] + (line.worth(i, np.full(j, j)) + count * np.log(share))
        argument[1:, j] = values.argmax(axis=1)
        best[1:, j] = values[np.arange(k), argument[1:, j]]
    used = k if exactly else int(np.argmax(best[1:, m])) + 1
    return _backtracked([argument[layer] for layer in range(1, used + 1)], m)


def _prescribed(line: _Line, weights: Array) -> tuple[Indices, Indices]:
    """The best cuts and the component that owns each interval, over all orders of unequal prescribed weights."""
    k, m = len(weights), line.size
    cost = 2.0**k * k * m * max(1.0, np.log2(m))
    if cost > MAX_PRESCRIBED:
        raise ValueError(
            f"algorithm='exact' with unequal prescribed weights tries every order of {k} components on {m} "
            "distinct values, which is too many here: prescribe equal weights, or use 'hartigan' or 'swap'"
        )
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    start = np.full(m + 1, -np.inf)
    start[0] = 0.0
    best: dict[int, Array] = {0: start}
    came: dict[int, tuple[Indices, Indices]] = {}
    no_floor = np.zeros(m + 1, dtype=np.intp)
    for subset in range(1, 1 << k):
        value, argument = np.full(m + 1, -np.inf), np.zeros(m + 1, dtype=np.intp)
        owner = np.zeros(m + 1, dtype=np.intp)
        for j in (j for j in range(k) if subset >> j & 1 and np.isfinite(log_weights[j])):
            # n log w splits into the two ends of the interval, so the layer stays monotone.
            shifted = best[subset ^ (1 << j)] - line.count * log_weights[j]
            layer, from_i = _reachable_layer(shifted, line, no_floor)
            layer = layer + line.count * log_weights[j]
            better = layer > value
            value, argument = np.where(better, layer, value), np.where(better, from_i, argument)
            owner = np.where(better, j, owner)
        best[subset], came[subset] = value, (argument, owner)
    subset = max(range(1, 1 << k), key=lambda s: (best[s][m], -s))
    cuts, owners = [m], []
    while subset:
        argument, owner = came[subset]
        owners.append(int(owner[cuts[-1]]))
        cuts.append(int(argument[cuts[-1]]))
        subset ^= 1 << owners[-1]
    return np.array(cuts[::-1]), np.array(owners[::-1])


def _reachable_layer(previous: Array, line: _Line, floor: Indices) -> tuple[Array, Indices]:
    """`monotone_layer` from the first cut that can be reached at all: impossible starts would break monotony."""
    reachable = np.flatnonzero(np.isfinite(previous))
    if len(reachable) == 0 or reachable[0] >= line.size:
        return np.full(line.size + 1, -np.inf), np.zeros(line.size + 1, dtype=np.intp)
    lowest = np.maximum(floor, reachable[0])
    return monotone_layer(previous, line.worth, int(reachable[0]) + 1, line.size, lowest)
