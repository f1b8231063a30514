"""What single rows of a finished fit would gain by moving alone: what certificates of hard fits rest on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.table import Rows
from ..engines.direct import direct_fits
from ..numerics.arrays import Array
from ..problem.problem import Parameters, Problem
from .single_moves import SMALLEST_GAIN, Clusters
from .state import State

# Gains that rounding hides by more than this are computed from the rows, where at most this many have to be examined.
HIDDEN = 1e-7
MOST_SCORED = 5_000_000
MOST_PAIRS = 2_000


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


class _Judge(Clusters):
    """What single moves would gain; nothing moves. Gains that rounding hides are computed from the rows."""

    def moves(self) -> Moves:
        """The gains of all rows, to any component."""
        self._scored = self._pairs = 0
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
        largest, bound = np.zeros(len(t)), np.zeros(len(t))
        spikes, hidden = np.zeros(len(t), dtype=bool), np.zeros(len(t), dtype=bool)
        for rows, target, found in self.possible_moves(places, t, self.targets()):
            gains, errors = found.gains, found.errors.copy()
            for i in np.flatnonzero((errors > HIDDEN) & (gains + errors > SMALLEST_GAIN)):
                precise = self._precise(int(places[rows[i]]), t[rows[i] : rows[i] + 1], target)
                if precise is not None:
                    gains[i], errors[i] = precise, HIDDEN
            sure = gains - errors > SMALLEST_GAIN
            best = sure & (gains > largest[rows])
            largest[rows] = np.where(best, gains, largest[rows])
            spikes[rows] = np.where(best, found.spikes, spikes[rows])
            hidden[rows] |= ~sure & (errors > HIDDEN) & (gains + errors > SMALLEST_GAIN)
            bound[rows] = np.maximum(bound[rows], np.where(sure | hidden[rows], 0.0, gains + errors))
        return largest, spikes, hidden, bound

    def _precise(self, place: int, t: Array, target: int) -> float | None:
        """The gain of one move by direct densities of the rows of both clusters; None where that is too much work."""
        problem, rows = self.problem, self.problem.rows
        a = int(self.labels[place])
        mine = np.flatnonzero((self.labels == a) | (self.labels == target))
        self._scored, self._pairs = self._scored + len(mine), self._pairs + 1
        spent = self._scored > MOST_SCORED or self._pairs > MOST_PAIRS
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
