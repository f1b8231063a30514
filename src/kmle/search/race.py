"""Which covariance models may still win, where only the best candidate is wanted: the others are left early.

Models with 1, 2, 3, ... components race on the rows that are searched, which may be a sample (races: Maron and Moore,
1997). A model whose latest gains, made again with every further component, would not bring it up to the best one
is left. In the end only the leaders are searched further and learned with all rows.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, log

import numpy as np

BIC = "bic"
# The latest gains of a model count this many times, and as many of them are seen.
HOPE, RECENT = 1.5, 2
# The best few candidates are learned to their end.
LEADERS = 10


@dataclass
class Race:
    """The candidates so far, by what they are worth with all rows (lower is better)."""

    n_parameters: Callable[[str, int], int]
    """By model and number of components."""
    each: float
    """What the criterion asks for a parameter."""
    last: int
    """The largest number of components."""
    scale: float = 1.0
    """All rows for each row that is searched."""
    values: dict[tuple[str, int], float] = field(default_factory=dict)

    def enter(self, model: str, k: int, objective: float) -> None:
        """A candidate with what it reached; a sample follows its mixtures more closely than all rows would."""
        p = self.n_parameters(model, k)
        value = (self.each + self.scale - 1) * p - 2 * self.scale * objective
        self.values[model, k] = value if np.isfinite(value) else inf

    def remaining(self, models: Iterable[str], k: int) -> list[str]:
        """The models that go on with k + 1 components."""
        best = min(self.values.values(), default=inf)
        return [model for model in models if not self._reached(model, k) > best]

    def _reached(self, model: str, k: int) -> float:
        """What a model could be worth at best with more components."""
        own = [self.values.get((model, size), inf) for size in range(1, k + 1)]
        known = [value for value in own if value < inf]
        if len(known) <= RECENT:
            return -inf
        gains = [before - after for before, after in pairwise(known)][-RECENT:]
        return known[-1] - HOPE * max(0.0, *gains) * (self.last - k)

    def leaders(self) -> set[tuple[str, int]]:
        """The candidates that are searched further."""
        ranked = sorted(self.values, key=lambda candidate: self.values[candidate])
        return set(ranked[:LEADERS])


def race_for(
    criterion: str, n_rows: float, sizes: Iterable[int], n_parameters: Callable[[str, int], int]
) -> Race | None:
    """The race by BIC; None for other criteria: AIC has too many candidates of nearly the same value."""
    sizes = list(sizes)
    if criterion != BIC or sizes != list(range(1, len(sizes) + 1)):
        return None
    return Race(n_parameters, log(n_rows), sizes[-1])
