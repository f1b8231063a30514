"""The covariance models of Gaussians in a selection: all of them learned together, from shared starts."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms import Fit, Starts, run
from ..algorithms.loop import finish
from ..algorithms.soft_em import PLAIN
from ..algorithms.state import TOLERANCE_REACHED, HalfStep, Run
from ..data.table import Rows
from ..families.model_estimates import narrow_natural
from ..families.structured_gaussian import structure_of, structured
from ..problem.problem import Parameters
from ..search.models import TAIL, ModelFit, search_models, unsettled_gain
from ..search.race import race_for
from ..selection.candidates import BEHIND, Candidate, best_of
from .arguments import seed_again
from .family_candidates import FamilyCandidate
from .plan import Plan
from .prepare import Prepared

if TYPE_CHECKING:
    from .comparison import Report

# Up to this many models are fitted each alone, and with more columns all are.
FEW_MODELS, MOST_COLUMNS = 3, 24
# Candidates this close to the best, by the criterion, are learned to their end; of many rows those, too, that may be as
# close at their end.
CLOSE = 1.0
STARTS = "shared by the covariance models"
NO_FIT = "every start led to a singular covariance: give a prior or a resolution"


def shares_starts(family_candidates: list[FamilyCandidate]) -> bool:
    """Whether these are covariance models of dense rows that can be learned together."""
    first = family_candidates[0]
    return (
        len(family_candidates) > (FEW_MODELS if first.checked.X.shape[1] > 1 else 1)
        and all(structure_of(candidate.family) is not None for candidate in family_candidates)
        and first.plan.algorithm in ("em", "k-mle", "hard-em")
        and first.plan.n_init == "auto"
        and isinstance(first.checked.X, np.ndarray)
        and first.checked.X.shape[1] <= MOST_COLUMNS
        and bool(np.isfinite(first.checked.X).all())
    )


def fitted_models(
    family_candidates: list[FamilyCandidate],
    sizes: list[int],
    criterion: str,
    n_threads: int,
    seed: Any,
    report: "Report",
    only_best: bool = False,
) -> list[Candidate]:
    """The candidates of all models; the best one of each has labels, those close to the best of all are polished.

    Where only the best one matters, those that cannot become it are left before their end.
    """
    began = time.perf_counter()
    rng = np.random.default_rng(seed_again(seed))
    full = _full(family_candidates[0]).prepared(sizes[-1], n_threads, rng)
    assert isinstance(full, Prepared)  # Gaussians are an exponential family
    structures = {structure_of(one.family) or "": one for one in family_candidates}
    hard = family_candidates[0].plan.hard
    race = None
    if only_best:
        race = race_for(criterion, float(full.problem.total), sizes, _parameters_of(structures))
    found = search_models(full.problem, list(structures), sizes, rng, hard=hard, race=race)
    each = (time.perf_counter() - began) / (len(structures) * len(sizes))
    candidates, prepared = [], {}
    for structure, own in structures.items():
        prepared[own.name] = _like(own, full)
        for size in report.until_stopped(sizes):
            reached = found.get((structure, size))
            candidates.append(
                _candidate(own, prepared[own.name], reached, size, each, NO_FIT if race is None else BEHIND)
            )
            report.step(candidates[-1])
    close = CLOSE + 2 * TAIL * unsettled_gain(full.problem, race is not None)
    return list(_finished(candidates, prepared, structures, criterion, close))


def _full(candidate: FamilyCandidate) -> FamilyCandidate:
    """The candidate with the family that has all models in it."""
    family = structured("VVV", candidate.checked.X.shape[1])
    return replace(
        candidate, plan=replace(candidate.plan, family=family), checked=replace(candidate.checked, family=family)
    )


def _like(own: FamilyCandidate, full: Prepared) -> Prepared:
    """The problem of a model on the same rows, seen from the same center."""
    rows = full.problem.rows
    assert isinstance(rows, Rows)  # no sparse ones are admitted
    problem = type(full.problem)(
        own.family,
        rows.X,
        rows.weights,
        own.plan.strength,
        None,
        rows.center,
        rows.n_threads,
        own.plan.n_components,
        resolution=full.problem.resolution,
    )
    return replace(full, problem=problem)


def _parameters_of(structures: dict[str, FamilyCandidate]) -> Callable[[str, int], int]:
    """Free parameters by model and number of components."""
    return lambda structure, size: structures[structure].family.n_parameters_for(size) + size - 1


def _candidate(
    own: FamilyCandidate, prepared: Prepared, found: ModelFit | None, size: int, seconds: float, missing: str
) -> Candidate:
    if found is None:
        return Candidate(own.name, own.family, size, note=missing)
    fit = _fit(own.plan, prepared, found, seconds)
    return own.candidate(replace(fit, labels=fit.labels[:0].copy()), size, seconds)


def _fit(plan: Plan, prepared: Prepared, found: ModelFit, seconds: float) -> Fit:
    """The outcome of a climb as a fit."""
    problem = prepared.problem
    structure = structure_of(problem.family) or ""
    start = Parameters(narrow_natural(structure, found.parameters.natural), found.parameters.log_weights)
    algorithm = plan.make_algorithm(np.random.default_rng(0))
    state = algorithm.init(problem, start)
    before = tuple(HalfStep(PLAIN, value) for value in found.history[:-1] if value <= state.objective)
    reached = Run(state, (*before, *state.trace), len(found.history) - 1, seconds=seconds)
    fit = finish(algorithm, problem, reached, TOLERANCE_REACHED, by_weight=True)
    return replace(fit, starts=Starts({STARTS: 1}, agreeing=1))


def _finished(
    candidates: list[Candidate],
    prepared: dict[str, Prepared],
    structures: dict[str, FamilyCandidate],
    criterion: str,
    close: float,
) -> Iterator[Candidate]:
    """The candidates, those close to the best one learned to their end, and the best one of each model with labels."""
    plans = {own.name: own.plan for own in structures.values()}
    lowest = min(candidate.value(criterion) for candidate in candidates)
    polished = [
        _polished(candidate, plans[candidate.name], prepared[candidate.name])
        if candidate.value(criterion) <= lowest + close
        else candidate
        for candidate in candidates
    ]
    for name in prepared:
        own = [candidate for candidate in polished if candidate.name == name]
        best = best_of(own, criterion) if own else None
        for candidate in own:
            if candidate is best and candidate.fit is not None:
                yield replace(candidate, fit=prepared[name].relabelled(candidate.fit))
            else:
                yield candidate


def _polished(candidate: Candidate, plan: Plan, prepared: Prepared) -> Candidate:
    """The candidate after further steps, where these gain."""
    fit = candidate.fit
    assert fit is not None  # its criterion is finite
    problem = prepared.problem
    algorithm = plan.make_algorithm(np.random.default_rng(0))
    start = problem.from_mixture(fit.mixture)
    further = run(algorithm, problem, start, max_iter=plan.iteration_limit, tol=plan.tol, by_weight=True)
    if not further.objective > fit.objective:
        return candidate
    earlier = tuple(step for step in fit.history if step.objective <= further.history[0].objective)
    history, labels = (*earlier, *further.history), further.labels[:0].copy()
    further = replace(further, history=history, labels=labels, starts=fit.starts, n_iter=fit.n_iter + further.n_iter)
    return replace(candidate, fit=further, criteria=further.criteria)
