"""`select`: which family, and how many components."""

import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.parallel import Parallel, delayed

from ..learning import Fit
from ..selection.candidates import Candidate, Selection, best_of
from ..selection.criteria import CRITERIA
from .arguments import entropy_of, seed_again, threads_of, whole_number
from .contestants import Contestant, Families, admitted, families_of, without_redundant_columns
from .scikit_learn import KMLE, ExponentialFamilyMixture

HARD, SOFT = ("k-mle", "hard-em", "hartigan", "swap"), ("em", "sparse-em")

Progress = Callable[[int, int, Candidate], Any]


def select(
    X: ArrayLike,
    families: Families | None = None,
    n_components: Iterable[int] | int = range(1, 11),
    criterion: str = "bic",
    *,
    algorithm: str | None = None,
    n_init: int | str = "auto",
    sample_weight: ArrayLike | None = None,
    prior_strength: float = 1e-3,
    resolution: str | float | ArrayLike | None = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: bool | Progress | None = None,
    verbose: int = 0,
) -> Selection:
    """The family and number of components with the lowest criterion.

    Every candidate is fitted as the estimator would fit it with the same arguments, so it does not depend on what
    else is compared. Columns that are constant or exact combinations of others take no part in the comparison, only in
    `best_estimator`.

    Parameters
    ----------
    X : array (n, d)
        The rows.
    families : names or ExponentialFamily objects, default=None
        The families to compare, whose likelihoods must compare; None takes the usual ones for data like this. One that
        cannot hold the data is left out with a note.
    n_components : int or iterable of int, default=range(1, 11)
        The numbers of components.
    criterion : "aic", "aicc", "bic" or "icl", default="bic"
        What decides; lower is better.
    algorithm : str or None, default=None
        None is "em" for aic, aicc and bic, which are of the mixture's likelihood, and "k-mle" for icl, which is of the
        complete one.
    n_init : int or "auto", default="auto"
        The starts of each candidate, as in the estimators: "auto" compares several kinds and makes moves that leave
        local optima, a number makes exactly that many starts and no moves.
    sample_weight : array (n,), default=None
        How often each row counts.
    prior_strength : float, default=1e-3
        Pseudo-observations that keep components regular.
    resolution : "auto", None, float or array (d,), default="auto"
        The steps that the columns were rounded to, as in the estimators.
    n_jobs : int or None, default=None
        Threads; None is as many as scikit-learn's OpenMP code would use, -1 is all cores. The answer does not depend on
        their number.
    random_state : int, RandomState, Generator or None, default=None
        The seed of all random draws.
    progress : bool or function, default=None
        True shows a line on stderr; a function is called with (steps done, steps in all, candidate).
    verbose : int, default=0
        Whether to print a line for every step.

    Returns
    -------
    Selection
        The candidates, the best one and its estimator, and notes: the best number of components at the edge of the
        range, fits that fell short of what is known to be reachable.

    Examples
    --------
    >>> from kmle import Mixture
    >>> X = Mixture.from_source("poisson", [0.4, 0.6], rate=[3.0, 40.0]).sample(500, random_state=0)
    >>> chosen = select(X, ("poisson", "geometric"), range(1, 4), random_state=0)
    >>> chosen.best.name, chosen.best.n_components
    ('poisson', 2)
    """
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
    kind = KMLE if settings["algorithm"] in HARD else ExponentialFamilyMixture
    sizes, threads = _sizes(n_components), threads_of(n_jobs)
    # Every candidate draws from the same seed, so that it is the same whatever else is compared.
    seed = np.random.default_rng(entropy_of(random_state)).bit_generator.seed_seq
    asked = families_of(families, X)
    admitted_to_all, refused = admitted(asked, X, sample_weight, kind, settings)
    contestants, left_out = without_redundant_columns(admitted_to_all)
    tried, untried = _within_rows(sizes, contestants)
    at_once = min(threads, len(contestants))
    report = Report(progress, verbose, criterion, len(contestants) * len(tried))
    fits = (
        delayed(_fitted)(contestant, tried, criterion, max(1, threads // at_once), seed, report)
        for contestant in contestants
    )
    fitted = [candidate for several in Parallel(n_jobs=at_once, require="sharedmem")(fits) for candidate in several]
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
    for size in sizes:
        began = time.perf_counter()
        model.n_components = size
        generators, _ = model._generators(np.random.default_rng(seed_again(seed)))
        fit = model._best_fit(prepared, generators)
        # Labels of many fits would take more room than the data; those of the winner are found again.
        fit = replace(fit, labels=fit.labels[:0].copy())
        candidates.append(contestant.candidate(fit, size, time.perf_counter() - began))
        report.step(candidates[-1])
    best = best_of(candidates, criterion)
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
    lock: Lock = field(default_factory=Lock)

    def step(self, candidate: Candidate) -> None:
        """One candidate more."""
        with self.lock:
            self.done += 1
            told = f"{self.done} of {self.total}: {candidate.name}, k = {candidate.n_components}, "
            told += f"{self.criterion} {candidate.value(self.criterion):.2f}"
            if callable(self.progress):
                self.progress(self.done, self.total, candidate)
            if self.verbose:
                print(told, file=sys.stderr, flush=True)
            elif self.progress is True:
                print(f"\r{told:<70}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Ends the line that was written over."""
        if self.progress is True and not self.verbose:
            print(file=sys.stderr, flush=True)
