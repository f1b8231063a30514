"""When to stop: how much going on would still gain, estimated from the gains so far (Aitken, 1926; Boehning et al., 1994).

Gains of plain steps shrink by a nearly constant rate r near an optimum, so after a gain g about g r / (1 - r) is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array
from .lloyd import LABELS
from .soft_em import ACCELERATED, PLAIN
from .state import HalfStep

# "auto" stops where less than this is left to gain, in nats, for all rows together.
LEFT = 0.1
# Rates creep towards one as fast modes die out, so more is left than the last rate says: by about this factor.
CAUTION = 5.0
# Gains of accelerated and of hard steps are uneven: they are added up over so many steps before they are compared.
BLOCK = {ACCELERATED: 8, LABELS: 10}
# Hard algorithms end by themselves when no label changes; only longer tails than this are cut.
HARD_STEPS = 50
# No rate is believed to be faster or slower than this.
FASTEST, SLOWEST = 0.2, 0.995


@dataclass(frozen=True)
class Tolerance:
    """`tol` is "auto", or the gain of a step per row at which to stop; `total` is the number of rows.

    >>> halving = [HalfStep(PLAIN, -(2.0 ** -i)) for i in range(6)]
    >>> Tolerance("auto", 100).reached(halving), Tolerance("auto", 100).reached(halving[:4])
    (True, False)
    """

    tol: float | str
    total: float

    def reached(self, history: Sequence[HalfStep], gain: float = 0.0) -> bool:
        """Whether to stop after these steps, the last of which gained so much."""
        if not isinstance(self.tol, str):
            return self.tol > 0 and gain <= self.tol * self.total
        recent = history[-4:]
        if recent[-1].kind in (PLAIN, ACCELERATED):
            plain = len(recent) == 4 and all(step.kind == PLAIN for step in recent[1:])
            return plain and CAUTION * left(_gains(recent)) < LEFT
        return sum(step.kind == LABELS for step in history) >= HARD_STEPS and _few_left(history, LABELS)

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


def _few_left(history: Sequence[HalfStep], kind: str) -> bool:
    """Whether two blocks of steps leave little to gain; between steps of a kind there may be others."""
    size = BLOCK[kind]
    kinds = (LABELS,) if kind == LABELS else (PLAIN, ACCELERATED)
    recent = [step for step in history[-3 * (2 * size + 1) :] if step.kind in kinds][-2 * size - 1 :]
    if len(recent) <= 2 * size:
        return False
    gains = _gains(recent)
    return CAUTION * left(np.array([gains[:size].sum(), gains[size:].sum()])) < LEFT


def _gains(history: Sequence[HalfStep]) -> Array:
    return np.diff([step.objective for step in history])
