"""Moves that leave a local optimum: one component is removed, another one cut in two or a new one put elsewhere.

Split-and-merge EM (Ueda, Nakano, Ghahramani and Hinton, 2000), with all trials of a round learned together. What a
removal costs and what a cut gains is estimated without learning, and the most promising pairs are tried first.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..assignment.partition import Labels
from ..assignment.problem import Parameters
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .batch import Batch, Learner
from .partitions import Table

# Ways to cut each component: at the median of its longest axis, and at other places of other axes.
CUTS = 3
# Neighbourhoods of badly explained rows that are tried as new components.
NEIGHBOURHOODS = 3


@dataclass(frozen=True)
class Insertion:
    """A component more: those that take the place of an old one (or none), with their weights, and what that gains."""

    replaced: int | None
    natural: Array
    weights: Array
    gain: float


class Moves:
    """The moves from one mixture."""

    def __init__(self, learner: Learner, table: Table, parameters: Parameters, rng: np.random.Generator) -> None:
        self._learner = learner
        self._problem = learner.problem
        self._table = table
        self._parameters = parameters
        self._rng = rng
        joint = self._problem.scores(parameters)
        highest = joint.max(axis=1)
        exponentials = np.exp(joint - highest[:, None])
        total = exponentials.sum(axis=1)
        self._evidence = highest + np.log(total)
        self._responsibilities = exponentials / total[:, None]
        self._labels: Labels = joint.argmax(axis=1).astype(np.int32)
        learner.work += learner.cost(joint.shape[1])

    def best(self, count: int) -> Batch:
        """The most promising trials, after a pass with each."""
        promising = sorted(self._trials(), key=lambda trial: -trial[0])[:count]
        trials = [self._moved(removed, insertion) for _, removed, insertion in promising]
        natural = np.stack([parameters.natural for parameters in trials])
        log_weights = np.stack([parameters.log_weights for parameters in trials])
        return self._learner.expected(natural, log_weights)

    def _trials(self) -> Iterator[tuple[float, int, Insertion]]:
        """Pairs of a removal and an insertion, with the expected gain of each."""
        costs = self._removal_costs()
        inactive = np.flatnonzero(~self._parameters.alive)
        removals = [int(inactive[0])] if len(inactive) else [int(j) for j in np.argsort(costs)]
        for insertion in self._insertions():
            for removed in removals:
                if removed != insertion.replaced:
                    yield insertion.gain - costs[removed], removed, insertion

    def _removal_costs(self) -> Array:
        """What the log-likelihood loses without each component, all else unchanged (k,)."""
        if self._learner.hard:
            own = np.arange(len(self._labels)), self._labels
            others = self._responsibilities.copy()
            others[own] = 0.0
            lead = np.log(self._responsibilities[own]) - np.log(np.maximum(others.max(axis=1), 1e-12))
            return np.bincount(self._labels, self._table.weights * lead, len(self._parameters.natural))
        return -self._table.weights @ np.log(np.maximum(1 - self._responsibilities, 1e-12))

    def _insertions(self) -> Iterator[Insertion]:
        for j in np.flatnonzero(self._parameters.alive):
            yield from self._cuts(int(j))
        yield from self._neighbourhoods()

    def _cuts(self, j: int) -> Iterator[Insertion]:
        """Component j in two: its rows are cut along an axis."""
        members = np.flatnonzero(self._labels == j)
        if len(members) < 4:
            return
        columns = self._table.columns[members]
        weights = self._table.weights[members]
        centred = columns - weights @ columns / weights.sum()
        for number in range(CUTS):
            line = centred @ self._axis(centred, number)
            share = 0.5 if number == 0 else self._rng.uniform(0.2, 0.8)
            upper = line > _quantile(line, weights, share)
            if upper.all() or not upper.any():
                continue
            labels = np.full(len(self._labels), -1, dtype=np.int32)
            labels[members] = upper
            statistics = self._problem.gather(labels, 2)
            natural, gain = self._value_of(statistics)
            weight = np.exp(self._parameters.log_weights[j]) * statistics.counts / statistics.counts.sum()
            yield Insertion(j, natural, weight, gain)

    def _axis(self, centred: Array, number: int) -> Array:
        """The longest axis of some rows, roughly, by a few steps of the power method; then random ones."""
        axis = self._rng.standard_normal(centred.shape[1])
        if number == 0:
            for _ in range(4):
                axis = centred.T @ (centred @ axis)
                axis /= max(float(np.linalg.norm(axis)), 1e-300)
        return axis

    def _value_of(self, statistics: ClusterStatistics) -> tuple[Array, float]:
        """The estimates of two halves, and what they gain over the whole."""
        problem = self._problem
        whole = ClusterStatistics(statistics.counts.sum(keepdims=True), statistics.sums.sum(axis=0, keepdims=True), 0.0)
        natural, value = _estimated(self._learner, statistics)
        _, together = _estimated(self._learner, whole)
        counts = statistics.counts
        entropy = float(-(counts * np.log(counts / counts.sum())).sum()) if problem.weights is None else 0.0
        return natural, float(value.sum() - together.sum()) - entropy

    def _neighbourhoods(self) -> Iterator[Insertion]:
        """New components on the rows near one that the mixture explains badly."""
        size = max(4, len(self._labels) // (2 * int(self._parameters.alive.sum())))
        if size >= len(self._labels):
            return
        density = self._evidence + self._problem.rows.log_carrier(slice(None))
        doubt = self._table.weights * np.exp(np.clip(density.max() - density, 0.0, 8.0))
        for _ in range(NEIGHBOURHOODS):
            drawn = int(np.searchsorted(np.cumsum(doubt), self._rng.random() * doubt.sum()))
            centre = self._table.columns[[min(drawn, len(doubt) - 1)]]
            near = np.argpartition(self._table.distances(centre)[0], size)[:size]
            labels = np.full(len(self._labels), -1, dtype=np.int32)
            labels[near] = 0
            statistics = self._problem.gather(labels, 1)
            natural, value = _estimated(self._learner, statistics)
            weight = statistics.counts / self._problem.total
            gain = (
                value[0] + statistics.counts[0] * np.log(weight[0]) - self._table.weights[near] @ self._evidence[near]
            )
            yield Insertion(None, natural, weight, float(gain))

    def _moved(self, removed: int, insertion: Insertion) -> Parameters:
        natural, log_weights = self._parameters.natural.copy(), self._parameters.log_weights.copy()
        natural[removed] = insertion.natural[-1]
        weights = np.exp(log_weights)
        weights[removed] = insertion.weights[-1]
        if insertion.replaced is not None:
            natural[insertion.replaced] = insertion.natural[0]
            weights[insertion.replaced] = insertion.weights[0]
        return Parameters(natural, self._problem.log_weights(weights / weights.sum()))


def _estimated(learner: Learner, statistics: ClusterStatistics) -> tuple[Array, Array]:
    """Estimates of clusters, and the log-likelihood of their rows at them, without k(x)."""
    problem = learner.problem
    natural = problem.estimate(statistics.moments(problem.prior_strength, problem.prior_moment))
    value = np.einsum("kd,kd->k", statistics.sums, natural) - statistics.counts * problem.family.log_normalizer(natural)
    return natural, value


def _quantile(line: Array, weights: Array, share: float) -> float:
    order = np.argsort(line, kind="stable")
    cumulative = np.cumsum(weights[order])
    return float(line[order[min(np.searchsorted(cumulative, share * cumulative[-1]), len(line) - 1)]])
