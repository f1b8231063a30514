"""When to stop: what going on would still gain, estimated from the gains so far (Aitken, 1926; Boehning et al., 1994).

Gains of plain steps shrink by a nearly constant rate r near an optimum, so after a gain g about g r / (1 - r) is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array
from .lloyd import LABELS
from .soft_em import ACCELERATED, NEGLIGIBLE, PLAIN
from .state import HalfStep

# "auto" stops where less than this is left to gain, in nats, for all rows together.
LEFT = 0.1
# Rates creep towards one as fast modes die out, so more is left than the last rate says: by about this factor.
CAUTION = 20.0
# Gains of accelerated and of hard steps are uneven: they are added up over so many steps before they are compared.
BLOCK = {ACCELERATED: 12, LABELS: 10}
# Hard algorithms end by themselves when no label changes; only longer tails than this are cut.
HARD_STEPS = 50
# Plain steps in a slow direction gain next to nothing: only gains below NEGLIGIBLE are believed before acceleration
# was tried.
# Steps that together gain less than this, in nats, have arrived, whatever their kinds and rates: the rest is rounding.
CONVERGED, CONVERGED_STEPS = 1e-6, 4
# No rate is believed to be faster or slower than this.
FASTEST, SLOWEST = 0.2, 0.995


@dataclass(frozen=True)
class Tolerance:
    """`tol` is "auto", or the gain of a step per row at which to stop; `total` is the number of rows.

    >>> halving = [HalfStep(PLAIN, -(2.0**-i)) for i in range(20)]
    >>> Tolerance("auto", 100).reached(halving), Tolerance("auto", 100).reached(halving[:4])
    (True, False)
    """

    tol: float | str
    total: float

    def reached(self, history: Sequence[HalfStep], gain: float = 0.0, expected: float = np.inf) -> bool:
        """Whether to stop after these steps, the last of which gained so much.

        `expected` is what accelerated steps estimate to be left to gain.
        """
        if not isinstance(self.tol, str):
            return self.tol > 0 and gain <= self.tol * self.total
        if history[-1].kind in (PLAIN, ACCELERATED):
            return CAUTION * expected < LEFT or self._arrived(history[-5:]) or _converged(history)
        return sum(step.kind == LABELS for step in history) >= HARD_STEPS and _few_left(history, LABELS)

    @staticmethod
    def _arrived(recent: Sequence[HalfStep]) -> bool:
        """Whether three plain steps, after accelerated steps or of next to no gain, leave little to gain."""
        if len(recent) < 4 or any(step.kind != PLAIN for step in recent[-3:]):
            return False
        gains = _gains(recent)
        tried = any(step.kind == ACCELERATED for step in recent)
        return CAUTION * left(gains) < LEFT and (tried or bool(gains[-1] < NEGLIGIBLE))

    def pauses(self, history: Sequence[HalfStep]) -> bool:
        """Whether accelerated steps seem to have arrived, so that plain ones are to tell."""
        block = history[-BLOCK[ACCELERATED] :]
        return (
            isinstance(self.tol, str) and all(s.kind == ACCELERATED for s in block) and _few_left(history, ACCELERATED)
        )


def left(gains: Array) -> float:
    """What is left to gain after the last two of some gains in a row, by Aitken's rule.

    >>> round(left(np.array([1.0, 0.5])), 6)
    0.5
    """
    before, last = float(gains[-2]), float(gains[-1])
    if last <= 0:
        return 0.0
    rate = min(max(last / before if before > 0 else SLOWEST, FASTEST), SLOWEST)
    return last * rate / (1 - rate)


def _converged(history: Sequence[HalfStep]) -> bool:
    """Whether the last few steps gained nothing worth a number."""
    recent = history[-1 - CONVERGED_STEPS :]
    return len(recent) > CONVERGED_STEPS and bool(recent[-1].objective - recent[0].objective < CONVERGED)


def _few_left(history: Sequence[HalfStep], kind: str) -> bool:
    """Whether two blocks of steps leave little to gain; between steps of a kind there may be others."""
    size = BLOCK[kind]
    kinds = (LABELS,) if kind == LABELS else (PLAIN, ACCELERATED)
    recent = [step for step in history[-3 * (2 * size + 1) :] if step.kind in kinds][-2 * size - 1 :]
    if len(recent) <= 2 * size:
        return False
    gains = _gains(recent).reshape(4, -1).sum(axis=1)
    # Fast directions may just have come to their end: the halves of the last block tell of the slow ones.
    return CAUTION * max(left(gains.reshape(2, 2).sum(axis=1)), left(gains[2:])) < LEFT


def _gains(history: Sequence[HalfStep]) -> Array:
    return np.diff([step.objective for step in history])
