"""What `select` does: fits every candidate and compares them."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms import Fit
from ..data.intervals import Intervals
from ..families import ExponentialFamily, Poisson, Product, resolve
from ..families.structured_gaussian import structure_of
from ..numerics.options import whole_number
from ..selection.candidates import Candidate, Selection, best_of
from ..selection.criteria import CRITERIA
from .arguments import distinct_names, entropy_of, seed_again
from .family_candidates import Families, FamilyCandidate, admitted, families_of, without_redundant_columns
from .learn import best_fit
from .model_table import fitted_models, shares_starts
from .notes import notes_on
from .plan import Plan
from .prepare import generators_of

NEGATIVE_BINOMIAL = "negative-binomial"
HARD, SOFT = ("k-mle", "hard-em", "hartigan", "swap"), ("em", "sparse-em")

# After this many sizes in a row that are worse than the best one, a search that ends early tries no larger ones: for
# families of counts that vary more than Poisson counts do, and for values known to lie in intervals.
RISES, RISES_OF_INTERVALS = 2, 3

Progress = Callable[[int, int, Candidate], Any]


@dataclass(frozen=True)
class Comparison:
    """The candidates of a selection, and the plan and the fit of the best one on all columns."""

    selection: Selection
    """Without an estimator."""
    plan: Plan
    fit: Fit


def compared(
    X: ArrayLike,
    families: Families | None,
    n_components: Iterable[int] | int,
    criterion: str,
    plan: Plan,
    *,
    sample_weight: ArrayLike | None = None,
    progress: bool | Progress | None = None,
    columns: Sequence[str] | None = None,
    only_best: bool = False,
) -> Comparison:
    """Fits every candidate and compares them; the plan lacks the family and the number of components.

    Where `only_best` matters, candidates that cannot win are left early.
    """
    if criterion not in CRITERIA:
        raise ValueError(f"criterion is {criterion!r}: it must be one of {', '.join(CRITERIA)}")
    if not (progress is None or isinstance(progress, bool) or callable(progress)):
        raise ValueError(f"progress is {progress!r}: it must be True, False, or a function of (done, total, candidate)")
    if plan.n_init != "auto":
        whole_number("n_init", plan.n_init, 1, " or 'auto'")
    if plan.algorithm not in (*HARD, *SOFT):
        raise ValueError(f"algorithm is {plan.algorithm!r}: it must be one of {', '.join((*HARD, *SOFT))}")
    sizes, threads = _sizes(n_components), plan.n_threads
    # Every candidate draws from the same seed, so that it is the same whatever else is compared.
    seed = np.random.default_rng(entropy_of(plan.random_state)).bit_generator.seed_seq
    asked = families_of(families, X)
    # What `verbose` prints is one line per candidate, not every iteration.
    admitted_to_all, refused = admitted(asked, X, sample_weight, replace(plan, verbose=0), columns)
    family_candidates, left_out = without_redundant_columns(admitted_to_all)
    tried, untried = _within_rows(sizes, family_candidates)
    report = Report(progress, plan.verbose, criterion, len(family_candidates) * len(tried))
    fitted = _all_fitted(family_candidates, tried, criterion, threads, seed, report, only_best)
    report.end()
    best = best_of(fitted, criterion)
    if not np.isfinite(best.value(criterion)):
        raise ValueError(f"{criterion} is infinite for every candidate, because there are too few rows: use 'bic'")
    places = {name: place for place, name in enumerate(asked)}
    everyone = sorted([*fitted, *untried, *refused], key=lambda candidate: places[candidate.name])
    other = _overdispersed(best, asked, family_candidates, criterion, threads, seed)
    selection = Selection(tuple(everyone), best, None, criterion, left_out, other)
    winner = next(family_candidate for family_candidate in admitted_to_all if family_candidate.name == best.name)
    assert best.n_components is not None  # the best has been fitted
    won = winner.plan_for(best.n_components)
    fit = _refitted(winner, won, best.n_components, threads, seed) if left_out else best.fit
    assert fit is not None  # the best has been fitted
    notes = (*notes_on(fit, won, columns, winner.checked.weight_factor, winner.checked.holes), *selection.notes)
    return Comparison(selection, won, replace(fit, notes=notes))


def _overdispersed(
    best: Candidate,
    asked: Mapping[str, ExponentialFamily],
    family_candidates: list[FamilyCandidate],
    criterion: str,
    n_threads: int,
    seed: Any,
) -> Candidate | None:
    """One negative binomial component, where it is better than the best candidate, which is Poisson, and not asked for.

    Poisson components follow any counts that vary more than they should, given enough of them.
    """
    family = resolve(NEGATIVE_BINOMIAL)
    if not isinstance(best.family, Poisson) or any(isinstance(other, type(family)) for other in asked.values()):
        return None
    own = next(candidate for candidate in family_candidates if candidate.name == best.name)
    if not isinstance(own.checked.X, np.ndarray):
        return None
    report = Report(None, 0, criterion, 1)
    checked = replace(own.checked, family=family.for_data(own.checked.X))
    alternative = replace(own, name=family.name, plan=replace(own.plan, family=family), checked=checked)
    (found,) = _fitted(alternative, [1], criterion, n_threads, seed, report)
    return found if found.value(criterion) < best.value(criterion) else None


def _all_fitted(
    family_candidates: list[FamilyCandidate],
    sizes: list[int],
    criterion: str,
    threads: int,
    seed: Any,
    report: "Report",
    only_best: bool = False,
) -> list[Candidate]:
    """The candidates of all families: covariance models together, others several at once where threads are free.

    Where only the best matters, families of counts that vary more than Poisson counts do come after the others, with
    no more components than were best there: they need fewer. Steps on intervals are dear, so they end early, too.
    """
    models = [candidate for candidate in family_candidates if structure_of(candidate.family) is not None]
    if models and shares_starts(models):
        together = fitted_models(models, sizes, criterion, threads, seed, report, only_best)
        others = [candidate for candidate in family_candidates if candidate not in models]
        return together + (_all_fitted(others, sizes, criterion, threads, seed, report) if others else [])
    wider = [candidate for candidate in family_candidates if only_best and _overdisperses(candidate.family)]
    if 0 < len(wider) < len(family_candidates):
        narrow = [candidate for candidate in family_candidates if candidate not in wider]
        found = _all_fitted(narrow, sizes, criterion, threads, seed, report)
        most = best_of(found, criterion).n_components
        few = [size for size in sizes if most is None or size <= most]
        report.total -= len(wider) * (len(sizes) - len(few))
        return found + [own for other in wider for own in _fitted(other, few, criterion, threads, seed, report, True)]
    at_once = min(threads, len(family_candidates))
    n_threads = max(1, threads // at_once)
    if at_once == 1:
        rises = RISES_OF_INTERVALS if only_best and isinstance(family_candidates[0].checked.X, Intervals) else 0
        several = [
            _fitted(family_candidate, sizes, criterion, n_threads, seed, report, rises)
            for family_candidate in family_candidates
        ]
        return [candidate for candidates in several for candidate in candidates]
    with ThreadPoolExecutor(at_once, "kmle-select") as pool:
        # Each in a context of its own, with what the caller's holds: who watches the fits.
        futures = [
            pool.submit(copy_context().run, _fitted, family_candidate, sizes, criterion, n_threads, seed, report)
            for family_candidate in family_candidates
        ]
        try:
            return [candidate for future in futures for candidate in future.result()]
        except BaseException:
            report.stopped = True
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _overdisperses(family: ExponentialFamily) -> bool:
    """Whether some columns are counts that vary more than Poisson counts do."""
    blocks = family.families if isinstance(family, Product) else (family,)
    return any(isinstance(block, type(resolve(NEGATIVE_BINOMIAL))) for block in blocks)


def _refitted(winner: FamilyCandidate, plan: Plan, n_components: int, n_threads: int, seed: Any) -> Fit:
    """The winner on all columns."""
    generators, sampling = generators_of(plan, np.random.default_rng(seed_again(seed)))
    prepared = winner.prepared(n_components, n_threads, sampling)
    fit = prepared.completed(best_fit(prepared, plan, generators))
    return replace(fit, mixture=fit.mixture.with_columns(distinct_names(winner.columns)))


def _within_rows(sizes: list[int], family_candidates: list[FamilyCandidate]) -> tuple[list[int], list[Candidate]]:
    """The numbers of components there are rows for, and what is said of the others."""
    n_rows = family_candidates[0].checked.X.shape[0]
    tried = [size for size in sizes if size <= n_rows]
    if not tried:
        raise ValueError(f"n_components starts at {sizes[0]} but there are only {n_rows} rows: use fewer")
    note = f"more components than the {n_rows} rows"
    return tried, [
        Candidate(family_candidate.name, family_candidate.family, size, note=note)
        for family_candidate in family_candidates
        for size in sizes[len(tried) :]
    ]


def _fitted(
    family_candidate: FamilyCandidate,
    sizes: list[int],
    criterion: str,
    n_threads: int,
    seed: Any,
    report: "Report",
    rises: int = 0,
) -> list[Candidate]:
    """The candidates of one family, each as the estimator would fit it; the best one has labels.

    The problem they are learned from is made once. There are no further ones after `rises` in a row that are
    worse than the best, unless it is zero.
    """
    plan = family_candidate.plan
    _, sampling = generators_of(plan, np.random.default_rng(seed_again(seed)))
    prepared = family_candidate.prepared(sizes[-1], n_threads, sampling)
    candidates = []
    for size in report.until_stopped(sizes):
        began = time.perf_counter()
        own = family_candidate.plan_for(size)
        if family_candidate.families:
            prepared = family_candidate.prepared(size, n_threads, sampling)
        generators, _ = generators_of(own, np.random.default_rng(seed_again(seed)))
        fit = best_fit(prepared, own, generators)
        # Labels of many fits would take more room than the data; those of the winner are found again.
        fit = replace(fit, labels=fit.labels[:0].copy())
        candidates.append(family_candidate.candidate(fit, size, time.perf_counter() - began))
        report.step(candidates[-1])
        if rises and best_of(candidates, criterion) not in candidates[-rises:]:
            report.total -= len(sizes) - len(candidates)
            break
    best = best_of(candidates, criterion) if candidates else None
    if best is not None and best.n_components is not None and family_candidate.families:
        prepared = family_candidate.prepared(best.n_components, n_threads, sampling)
    return [replace(c, fit=prepared.relabelled(c.fit)) if c is best and c.fit else c for c in candidates]


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
    """Reports how far the work is, from whichever thread."""

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
            message = f"{self.done} of {self.total}: {candidate.name}, k = {candidate.n_components}, "
            message += f"{self.criterion} {candidate.value(self.criterion):.2f}"
            if callable(self.progress):
                self.stopped |= self.progress(self.done, self.total, candidate) is False
            if self.verbose:
                print(message, file=sys.stderr, flush=True)
            elif self.progress is True:
                print(f"\r{message:<70}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Ends the line that was written over."""
        if self.progress is True and not self.verbose:
            print(file=sys.stderr, flush=True)
