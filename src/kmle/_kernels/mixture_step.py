"""What a step of several mixtures at once needs and leaves."""

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

Floats = NDArray[Any]


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
