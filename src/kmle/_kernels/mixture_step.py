"""Input and output of steps that several mixtures make together."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[Any]
# Why steps in one call ended: nothing is left to do, or the next one needs other formulas. Otherwise they go on in the
# next call: no call is long, so that signals are noticed.
DONE, NOT_SAFE = 0, 1


@dataclass(frozen=True)
class StepSetting:
    """What estimates depend on beside statistics, of which there are D for d columns."""

    prior_moment: Floats
    """(D,)"""
    prior_strength: float
    prior_top: float
    """How well each of the prior's observations fits, at best."""
    largest: Floats
    """Bounds on |t(x)|, (D,)."""
    spread: Floats
    """The smallest standard deviation of a component in each column (d,), zero where nothing bounds it."""
    center: Floats
    """What columns are measured from (d,)."""
    n_threads: int = 1
    log_weights: Floats = field(default_factory=lambda: np.zeros(0))
    """Prescribed log-weights (k,), or none."""


@dataclass(frozen=True)
class MixtureStep:
    """Estimates of S mixtures of k components, points beyond them, and what a pass with those needs."""

    natural: Floats
    """(S, k, D)"""
    log_weights: Floats
    """(S, k)"""
    beyond: Floats
    weights_beyond: Floats
    bias: Floats
    """Of the points beyond, (S, k): -inf for inactive components, NaN outside the natural parameter space."""
    penalty: Floats
    """How much worse than at best each of the prior's observations fits, added up over components (S,)."""
    size: Floats
    """A bound on the terms that scores are sums of, (S,)."""


@dataclass
class Mixtures:
    """S mixtures of k components and what a pass with them found; the state of their steps."""

    natural: Floats
    """(S, k, D)"""
    log_weights: Floats
    """(S, k); -inf for inactive components"""
    counts: Floats
    sums: Floats
    objective: Floats
    """(S,)"""
    before: Floats
    """The latest plain estimates of natural parameters, (S, k, D), which momentum is measured from."""
    weights_before: Floats
    streak: NDArray[np.intp]
    """Steps since momentum was last lost, (S,)."""
    gain: Floats
    """What the latest step gained, (S,)."""

    def compiled(self, module: Any) -> Any:
        """The same for compiled steps, which change it in place; arrays must be contiguous."""
        tables = (self.natural, self.log_weights, self.counts, self.sums, self.before, self.weights_before)
        flat = [table.reshape(-1, table.shape[-1]) for table in tables]
        return module.Mixtures(*flat, self.objective, self.gain, self.streak)


@dataclass(frozen=True)
class Pace:
    """How far several steps in one call go."""

    steps: int
    """The largest number of steps."""
    later: int
    """Steps that come after those: who gains too little to catch up by then waits."""
    kept: int
    """Responsibilities of a row that count."""
    cost: float
    """Products of one step of one mixture."""
    limit: float
    """Products that may be spent."""
    least: float
    """The objective that is worth something."""
    converged: float
    """Mixtures whose last step gained less have arrived."""
    patience: float
    """While the best mixture has not arrived, the limit is multiplied by this."""
    delay: float
    largest_factor: float
    """Momentum after s steps is s / (s + delay), at most the largest factor."""
    offset: float
    """What belongs to the objective beside scores and penalty."""
    most_rounding: float
    """Larger bounds on the rounding of scores, in nats, need other passes."""
    work_at_once: float
    """No call starts another step after this many products."""

    def compiled(self, module: Any) -> Any:
        """The same for compiled steps."""
        return module.Pace(*(getattr(self, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Progress:
    """What several steps in one call came to."""

    steps: int
    work: float
    """Products so far."""
    ended: int
    best: list[float]
    """The best objective after each step."""
