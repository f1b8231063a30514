"""From settings to fits: one to a sample, at once, and one to all rows, which is the one that counts.

A fit to all rows that takes long is shown before it ends, too.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import Fit
from ..estimators.learn import learn
from ..estimators.plan import Plan
from ..estimators.selecting import fitted_estimator
from ..mixture import Mixture
from ..plotting.reading import Subject
from .settings import Settings
from .source import Chosen, Source
from .worker import Job

# The first fit is to SAMPLE_ROWS rows, from one start, with at most SAMPLE_STEPS steps: some 30 ms.
SAMPLE_ROWS, SAMPLE_STEPS = 4000, 30
# So few rows are fitted at once.
FEW_ROWS = 300
# All rows wait so long, in seconds, for a newer request: a slider that is dragged asks for samples only.
PATIENCE = 0.15
# A fit to all rows is shown after this many seconds, and again whenever twice the time has passed.
FIRST_LOOK = 0.3


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit, how it was made, and the rows; `number` says where the rows of a sample are among all."""

    settings: Settings
    source: Source
    chosen: Chosen
    plan: Plan
    fit: Fit
    number: NDArray[np.intp] | None = None
    is_complete: bool = True
    """Whether no better fit with these settings follows."""

    @property
    def mixture(self) -> Mixture:
        """The mixture."""
        return self.fit.mixture

    @property
    def is_sample(self) -> bool:
        """Whether it was fitted to some of the rows only."""
        return self.number is not None

    @cached_property
    def subject(self) -> Subject:
        """What is drawn: all rows, also of a fit to a sample."""
        chosen = self.chosen
        places = tuple(range(len(chosen.columns)))
        return Subject(self.mixture, chosen.rows, chosen.columns, places, intervals=chosen.intervals)

    @property
    def estimator(self) -> Any:
        """The estimator that would have found it."""
        return fitted_estimator(self.plan, self.fit, list(self.chosen.columns))

    def row_name(self, row: int) -> str:
        """What a row of the subject is called."""
        return self.source.row_name(self.chosen.number(row))


def fits(source: Source, settings: Settings, job: Job, show: Callable[[Fitted], None]) -> None:
    """Shows a fit to a sample where there are many rows, then the fit to all, early ones of it where it takes long."""
    chosen = settings.chosen(source)
    n = len(chosen.rows)
    if n > FEW_ROWS:
        number = sampled(n, SAMPLE_ROWS)
        plan = settings.plan(chosen, n_init=1, max_iter=SAMPLE_STEPS)
        fit = _learned(source, settings, chosen, plan, number)
        show(Fitted(settings, source, chosen, plan, fit, number, is_complete=False))
        job.pause(PATIENCE)
    plan = settings.plan(chosen)
    looks = Looks(lambda early: show(Fitted(settings, source, chosen, plan, early, is_complete=False)))
    show(Fitted(settings, source, chosen, plan, _learned(source, settings, chosen, plan, None, looks)))


class Looks:
    """Shows a fit while it is under way, at times that double: that costs little beside the fit."""

    def __init__(self, show: Callable[[Fit], None]) -> None:
        self._show = show
        self._began = time.monotonic()
        self._next = FIRST_LOOK

    def __call__(self, make: Callable[[], Fit]) -> None:
        """Shows the fit so far if it is time to."""
        if time.monotonic() - self._began < self._next:
            return
        self._show(make())
        self._next = 2 * (time.monotonic() - self._began)


def sampled(n: int, most: int) -> NDArray[np.intp]:
    """The numbers of some rows, the same ones every time; all where there are few."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, most, replace=False, shuffle=False))


def _learned(
    source: Source,
    settings: Settings,
    chosen: Chosen,
    plan: Plan,
    number: NDArray[np.intp] | None,
    looks: Looks | None = None,
) -> Fit:
    places: Any = slice(None) if number is None else number
    classes = known_classes(source, settings, chosen)
    return learn(
        chosen.data[places],
        plan,
        columns=chosen.columns,
        labels=None if classes is None else classes[places],
        preview=looks,
    )


def known_classes(source: Source, settings: Settings, chosen: Chosen) -> NDArray[Any] | None:
    """The known classes of the rows, where a column of them is chosen."""
    if settings.labels is None:
        return None
    classes = source.classes[settings.labels]
    return classes if chosen.kept is None else classes[chosen.kept]
