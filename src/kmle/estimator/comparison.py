"""What `select` does, with estimators of scikit-learn or without: fits every candidate and compares them."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..learning import Fit
from ..selection.candidates import Candidate, Selection, best_of
from ..selection.criteria import CRITERIA
from .arguments import entropy_of, seed_again, threads_of, whole_number
from .contestants import Contestant, Families, admitted, families_of, without_redundant_columns

HARD, SOFT = ("k-mle", "hard-em", "hartigan", "swap"), ("em", "sparse-em")

Progress = Callable[[int, int, Candidate], Any]
Kinds = tuple[type[Any], type[Any]]
"""The estimators to use: the hard one and the soft one."""


def compared(
    kinds: Kinds,
    X: ArrayLike,
    families: Families | None,
    n_components: Iterable[int] | int,
    criterion: str,
    *,
    algorithm: str | None,
    n_init: int | str,
    sample_weight: ArrayLike | None,
    prior_strength: float,
    resolution: str | float | ArrayLike | None,
    n_jobs: int | None,
    random_state: Any,
    progress: bool | Progress | None,
    verbose: int = 0,
    columns: Sequence[str] | None = None,
) -> Selection:
    """The selection that `select` returns; its arguments, and names of columns where the rows have none."""
    if criterion not in CRITERIA:
        raise ValueError(f"criterion is {criterion!r}: it must be one of {', '.join(CRITERIA)}")
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise ValueError(f"progress is {progress!r}: it must be True, False, or a function of (done, total, candidate)")
    if n_init != "auto":
        whole_number("n_init", n_init, 1, " or 'auto'")
    settings = {
        "algorithm": _algorithm(algorithm, criterion),
        "n_init": n_init,
        "resolution": resolution,
        "prior_strength": prior_strength,
        "n_jobs": n_jobs,
        "random_state": random_state,
    }
    kind = kinds[0] if settings["algorithm"] in HARD else kinds[1]
    sizes, threads = _sizes(n_components), threads_of(n_jobs)
    # Every candidate draws from the same seed, so that it is the same whatever else is compared.
    seed = np.random.default_rng(entropy_of(random_state)).bit_generator.seed_seq
    asked = families_of(families, X)
    admitted_to_all, refused = admitted(asked, X, sample_weight, kind, settings, columns)
    contestants, left_out = without_redundant_columns(admitted_to_all)
    tried, untried = _within_rows(sizes, contestants)
    at_once = min(threads, len(contestants))
    report = Report(progress, verbose, criterion, len(contestants) * len(tried))
    fitted = _all_fitted(contestants, tried, criterion, at_once, max(1, threads // at_once), seed, report)
    report.end()
    best = best_of(fitted, criterion)
    if not np.isfinite(best.value(criterion)):
        raise ValueError(f"{criterion} is infinite for every candidate: there are too few rows for it, use 'bic'")
    winner = next(contestant for contestant in admitted_to_all if contestant.name == best.name)
    model: Any = winner.model
    model.n_components = best.n_components
    model._take(_refitted(winner, threads, seed) if left_out else best.fit)
    places = {name: place for place, name in enumerate(asked)}
    everyone = sorted([*fitted, *untried, *refused], key=lambda candidate: places[candidate.name])
    selection = Selection(tuple(everyone), best, model, criterion, left_out)
    model.notes_.extend(selection.notes)
    return selection


def _all_fitted(
    contestants: list[Contestant],
    sizes: list[int],
    criterion: str,
    at_once: int,
    n_threads: int,
    seed: Any,
    report: "Report",
) -> list[Candidate]:
    """The candidates of all families, of several at once where there are threads for it."""
    if at_once == 1:
        several = [_fitted(contestant, sizes, criterion, n_threads, seed, report) for contestant in contestants]
        return [candidate for candidates in several for candidate in candidates]
    with ThreadPoolExecutor(at_once, "kmle-select") as pool:
        # Each in a context of its own, with what the caller's holds: who watches the fits.
        futures = [
            pool.submit(copy_context().run, _fitted, contestant, sizes, criterion, n_threads, seed, report)
            for contestant in contestants
        ]
        try:
            return [candidate for future in futures for candidate in future.result()]
        except BaseException:
            report.stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _refitted(winner: Contestant, n_threads: int, seed: Any) -> Fit:
    """The winner on all columns."""
    model = winner.model
    generators, sampling = model._generators(np.random.default_rng(seed_again(seed)))
    prepared = winner.prepared(model.n_components, n_threads, sampling)
    return prepared.completed(model._best_fit(prepared, generators))


def _within_rows(sizes: list[int], contestants: list[Contestant]) -> tuple[list[int], list[Candidate]]:
    """The numbers of components there are rows for, and what is said of the others."""
    n_rows = contestants[0].rows.shape[0]
    tried = [size for size in sizes if size <= n_rows]
    if not tried:
        raise ValueError(f"n_components starts at {sizes[0]} but there are only {n_rows} rows: ask for fewer")
    note = f"more components than the {n_rows} rows"
    return tried, [
        Candidate(contestant.name, contestant.model.family_, size, note=note)
        for contestant in contestants
        for size in sizes[len(tried) :]
    ]


def _fitted(
    contestant: Contestant, sizes: list[int], criterion: str, n_threads: int, seed: Any, report: "Report"
) -> list[Candidate]:
    """The candidates of one family, each as the estimator would fit it; the best one has labels.

    The problem they are learned from is made once.
    """
    model = contestant.model
    _, sampling = model._generators(np.random.default_rng(seed_again(seed)))
    prepared = contestant.prepared(sizes[-1], n_threads, sampling)
    candidates = []
    for size in report.until_stopped(sizes):
        began = time.perf_counter()
        model.n_components = size
        generators, _ = model._generators(np.random.default_rng(seed_again(seed)))
        fit = model._best_fit(prepared, generators)
        # Labels of many fits would take more room than the data; those of the winner are found again.
        fit = replace(fit, labels=fit.labels[:0].copy())
        candidates.append(contestant.candidate(fit, size, time.perf_counter() - began))
        report.step(candidates[-1])
    best = best_of(candidates, criterion) if candidates else None
    return [replace(c, fit=prepared.relabelled(c.fit)) if c is best and c.fit else c for c in candidates]


def _algorithm(algorithm: str | None, criterion: str) -> str:
    if algorithm is None:
        return "k-mle" if criterion == "icl" else "em"
    if algorithm not in (*HARD, *SOFT):
        raise ValueError(f"algorithm is {algorithm!r}: select has {', '.join((*HARD, *SOFT))}")
    return algorithm


def _sizes(n_components: Iterable[int] | int) -> list[int]:
    """Numbers of components, each once, from few to many."""
    try:
        sizes = list(n_components)  # type: ignore[arg-type]
    except TypeError:
        sizes = [n_components]  # type: ignore[list-item]
    if not sizes:
        raise ValueError("n_components is empty: give at least one number of components")
    for size in sizes:
        whole_number("n_components", size, 1)
    return sorted({int(size) for size in sizes})


@dataclass
class Report:
    """Tells how far the work is, from whichever thread."""

    progress: bool | Progress | None
    verbose: int
    criterion: str
    total: int
    done: int = 0
    stopped: bool = False
    """Whether the caller wants no further candidate."""
    lock: Lock = field(default_factory=Lock)

    def until_stopped(self, sizes: list[int]) -> Iterator[int]:
        """The sizes to fit; the very first candidate is fitted whatever the caller wants, so there is always one."""
        for size in sizes:
            if self.stopped and self.done:
                return
            yield size

    def step(self, candidate: Candidate) -> None:
        """One candidate more."""
        with self.lock:
            self.done += 1
            told = f"{self.done} of {self.total}: {candidate.name}, k = {candidate.n_components}, "
            told += f"{self.criterion} {candidate.value(self.criterion):.2f}"
            if callable(self.progress):
                self.stopped |= self.progress(self.done, self.total, candidate) is False
            if self.verbose:
                print(told, file=sys.stderr, flush=True)
            elif self.progress is True:
                print(f"\r{told:<70}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Ends the line that was written over."""
        if self.progress is True and not self.verbose:
            print(file=sys.stderr, flush=True)
