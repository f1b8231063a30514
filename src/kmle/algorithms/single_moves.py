"""Clusters known by their labels, counts and sums, and what moving single rows between them would gain.

What a cluster is worth follows from its count and sum alone (`LearningProblem.cluster_values`): moving a row from a to
b gains value(a without it) + value(b with it) - value(a) - value(b), and no pass over the data is needed to know it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..problem.model import Values
from ..problem.problem import LearningProblem, Problem
from .screening import Screen
from .state import State

# Gains below this many nats are rounding.
SMALLEST_GAIN = 1e-9
# An estimate whose own moment misses the target by this much, relatively, sits on a floor, and one whose likelihood is
# rounded by this much, in nats per row, is concentrated without end.
DEGENERATE = 1e-6
# Moments this close to those of all rows, and closer by a thousand: if that gains, the likelihood has no bound.
NEAR, NEARER, UNBOUNDED = 1e-6, 1e-9, 0.1


@dataclass(frozen=True)
class Gains:
    """What rows would gain by moving (m,), the rounding errors of that, and whether a cluster of no bound is made."""

    gains: Array
    errors: Array
    spikes: NDArray[np.bool_]

    def __getitem__(self, chosen: NDArray[np.intp]) -> "Gains":
        return Gains(self.gains[chosen], self.errors[chosen], self.spikes[chosen])


class Clusters:
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
        return np.flatnonzero(self.counts > 0 if free else self.parameters.active)

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

    def possible_moves(
        self,
        places: NDArray[np.intp],
        t: Array,
        targets: NDArray[np.intp],
        otherwise: NDArray[np.bool_] | None = None,
    ) -> Iterator[tuple[NDArray[np.intp], int, Gains]]:
        """For each target the rows (of those given) that may gain by moving there, and what they would gain.

        Where the family bounds gains, only pairs whose bound is positive are computed: all others are losses for sure.
        Elsewhere all pairs are, or those chosen `otherwise` (m, targets).
        """
        possible = self._screened(places, t, targets)
        if possible is None:
            possible = np.ones((len(t), len(targets)), dtype=bool) if otherwise is None else otherwise
        every = np.flatnonzero(possible.any(axis=1))
        leaving = self.leaving(places[every], t[every])
        for column, target in enumerate(targets):
            chosen = np.flatnonzero(possible[every, column])
            rows = every[chosen]
            if len(rows):
                moved = self.moving(places[rows], t[rows], leaving[chosen], np.full(len(rows), target))
                yield rows, int(target), moved

    def _screened(self, places: NDArray[np.intp], t: Array, targets: NDArray[np.intp]) -> NDArray[np.bool_] | None:
        """Which rows may gain by moving to which targets, (m, targets); None where the family has no bound."""
        held = None if self.problem.weights is None else self.parameters.log_weights
        screen = Screen.of(self.problem, self.counts, self.values(np.arange(len(self.counts))), held)
        if screen is None:
            return None
        labels, weights = self.labels[places].astype(np.intp), self.weights(places)
        possible = screen.largest_gains(t, labels, weights, targets) > SMALLEST_GAIN
        return np.asarray(possible & (labels[:, None] != targets) & (weights > 0)[:, None])


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
