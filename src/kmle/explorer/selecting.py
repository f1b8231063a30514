"""Which family and how many components: the criterion of every candidate, shown while the comparison runs."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from ..estimators import select
from ..report.choice import candidates_section, criterion_panel
from ..selection.candidates import Candidate, Selection, best_of
from .fitting import sampled
from .settings import CRITERIA, Settings, one_of, whole
from .source import Source
from .views import colours, panel
from .worker import Job

# Rows that are compared at most, components, and seconds between two drawings.
MOST_ROWS, MOST_COMPONENTS, BETWEEN = 20_000, 30, 0.25
FAMILIES = ("this", "usual", "gaussians")

Send = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Question:
    """What is compared."""

    families: str
    most: int
    criterion: str

    @classmethod
    def read(cls, given: Any) -> Self:
        """From what a page sent."""
        asked = given if isinstance(given, Mapping) else {}
        return cls(
            one_of("families", asked.get("families", "this"), FAMILIES),
            whole("the largest k", asked.get("most", 10), 1, MOST_COMPONENTS),
            one_of("criterion", asked.get("criterion", "bic"), CRITERIA),
        )


def compare(source: Source, settings: Settings, question: Question, job: Job, send: Send) -> None:
    """Runs `select` and sends the criterion as it fills in."""
    chosen = settings.chosen(source)
    rows = chosen.rows
    number = sampled(len(rows), MOST_ROWS)
    shown = Shown(question.criterion, len(rows), len(number), send)

    def progress(done: int, total: int, candidate: Candidate) -> None:
        job.check()
        shown.add(done, total, candidate)

    found = select(
        chosen.data[number],
        _families(settings, question, source),
        range(1, question.most + 1),
        question.criterion,
        algorithm=settings.algorithm,
        prior_strength=settings.prior_strength,
        random_state=settings.seed,
        progress=progress,
    )
    shown.end(found)


def _families(settings: Settings, question: Question, source: Source) -> Any:
    if question.families != "this":
        return None if question.families == "usual" else ["gaussians"]
    return [settings.family_of(settings.chosen(source))]


class Shown:
    """Sends what is known of the candidates, not too often."""

    def __init__(self, criterion: str, n_rows: int, n_used: int, send: Send) -> None:
        self._criterion = criterion
        self._rows = (n_rows, n_used)
        self._send = send
        self._candidates: list[Candidate] = []
        self._sent = 0.0

    def add(self, done: int, total: int, candidate: Candidate) -> None:
        """One candidate more."""
        self._candidates.append(candidate)
        if time.monotonic() - self._sent < BETWEEN or candidate.fit is None:
            return
        self._sent = time.monotonic()
        best = best_of(self._candidates, self._criterion)
        self._send(self._content(Selection(tuple(self._candidates), best, None, self._criterion), done, total))

    def end(self, found: Selection) -> None:
        """All candidates."""
        total = len(found.candidates)
        self._send(self._content(found, total, total) | {"table": candidates_section(found), "ended": True})

    def _content(self, selection: Selection, done: int, total: int) -> dict[str, Any]:
        n_rows, used = self._rows
        rows = "" if used == n_rows else f" Compared on {used} of {n_rows} rows."
        drawn = panel(criterion_panel(selection))
        best = {"family": selection.best.name, "n_components": selection.best.n_components}
        caption = drawn["caption"] + rows
        return {"done": done, "total": total, **drawn, "caption": caption, "best": best, "colours": colours(1)}
