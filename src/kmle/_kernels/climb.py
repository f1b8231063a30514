"""EM of many mixtures of Gaussians at once, each under a covariance model, compiled from start to end.

`search/climbing.py` makes the same steps in NumPy, and those that this leaves to it.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .packed import PackedRows

Floats = NDArray[Any]
# What a mixture has reached: nothing yet, its end, or a bound, where the next step is left to the caller.
NOTHING, END, BOUND = 0, 1, 2


@dataclass(frozen=True)
class ClimbSetting:
    """What all steps depend on, of d columns and D statistics."""

    prior_moment: Floats
    """(D,)"""
    largest: Floats
    """Bounds on |t(x)|, (D,)."""
    spread: Floats
    """The smallest standard deviation of a component in each column (d,), zero where nothing bounds it."""
    prior_strength: float
    prior_top: float
    """How well each of the prior's observations fits, at best."""
    smallest: float
    rounding: float
    """Covariances are close to singular as in `gaussian_natural`."""
    sum_log_carrier: float
    score_error: float
    """Scores whose rounding may exceed this, in nats, are left to the caller."""
    arrived: float
    recent: int
    """A mixture ends when its last `recent` steps gained less than `arrived`, in nats."""
    delay: float
    largest_factor: float
    """Momentum after s steps is s / (s + delay), at most the largest factor."""
    hard: bool

    def compiled(self, module: Any) -> Any:
        """The same for compiled steps."""
        return module.ClimbSetting(*(getattr(self, field.name) for field in fields(self)))


@dataclass(frozen=True)
class ClimbState:
    """S mixtures of k components, changed in place: where they are, and what passes with them found."""

    models: NDArray[np.int32]
    natural: Floats
    """(S k, D)"""
    log_weights: Floats
    counts: Floats
    """(S, k)"""
    sums: Floats
    objective: Floats
    """(S,)"""
    counts_before: Floats
    sums_before: Floats
    """Those of the step before, which momentum is measured from."""
    streak: Floats
    """Steps since momentum was last lost, (S,)."""

    def compiled(self, module: Any) -> Any:
        """The same for compiled steps."""
        return module.ClimbState(*(getattr(self, field.name) for field in fields(self)))


def can_climb(rows: PackedRows) -> bool:
    """Whether there are compiled steps on such rows."""
    return rows.module is not None and rows.features == "quadratic"


def climb(
    rows: PackedRows, setting: ClimbSetting, state: ClimbState, steps: int
) -> tuple[Floats, NDArray[np.int32], NDArray[np.uint8]]:
    """Makes steps of every mixture: objectives (S, steps), the numbers of steps made (S,), why each ended (S,)."""
    mixtures = len(state.models)
    history, made, reached = np.empty((mixtures, steps)), np.zeros(mixtures, np.int32), np.zeros(mixtures, np.uint8)
    rows.native.climb(setting.compiled(rows.module), state.compiled(rows.module), history, made, reached)
    rows.count(passes=int(made.sum()))
    return history, made, reached


__all__ = ["BOUND", "END", "NOTHING", "ClimbSetting", "ClimbState", "can_climb", "climb"]
