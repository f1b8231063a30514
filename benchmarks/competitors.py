"""What a contestant is: something that can be prepared for a task and then run, by a uniform call."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from kmle import Mixture

Array = NDArray[np.float64]

# The floor scikit-learn puts under variances by default; all who have one get the same.
VARIANCE_FLOOR = 1e-6


@dataclass(frozen=True)
class Task:
    """The data, the start, and how many threads may work on them."""

    X: Array
    start: Mixture
    n_threads: int
    k_means: bool = False

    def first_rows(self, n: int) -> "Task":
        """The same task on fewer rows."""
        return Task(self.X[:n], self.start, self.n_threads, self.k_means)


@dataclass(frozen=True)
class Outcome:
    """One run: how long, how many iterations, and what was learned (built when asked, outside the clock)."""

    seconds: float
    iterations: int
    mixture: Callable[[], Mixture | None] = lambda: None
    stamps: tuple[float, ...] = ()
    """Seconds since the start of the run, before the first iteration and after each, where a contestant tells."""
    note: str = ""


Run = Callable[[int, float], Outcome]
"""run(max_iter, tol): a fit from the task's start."""


@dataclass(frozen=True)
class Competitor:
    """A name and how to get ready; `prepare` converts data and builds what need not be timed."""

    name: str
    prepare: Callable[[Task], Run]
    modules: tuple[str, ...] = field(default=())
    """What must be installed."""
    same_model: bool = True
    """Whether its likelihood can be compared."""
    stops_by_itself: bool = True
    is_peer: bool = True

    def missing(self) -> str | None:
        """Why it cannot run here, or None."""
        absent = [module for module in self.modules if find_spec(module) is None]
        return f"not installed: {', '.join(absent)}" if absent else None
