"""Where fits with intervals, labels or groups begin.

Labelled rows start their own components. Otherwise starts are sought among rows with stand-ins for what is not exact,
several times with other stand-ins, and the best after a few steps of the fit itself is kept.
"""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..algorithms import Starts
from ..algorithms.loop import after_steps
from ..data.intervals import Intervals, stand_ins
from ..data.table import Rows
from ..engines.statistics import ClusterStatistics
from ..families import ComponentFamilies
from ..families.parameterless import Parameterless
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..problem.composite import CompositeProblem
from ..problem.problem import Parameters, Problem
from ..search import SAME, Found, search
from ..seeding import SEEDINGS
from ..seeding.partitions import single_start
from .knowledge import Knowledge
from .plan import Plan
from .prepare import from_labels, start_of
from .prepare_parts import PreparedParts

# Tables of stand-ins, and random partitions of groups, that starts are sought in.
TABLES, PARTITIONS = 3, 8
# Starts from labels where components are of different families, and the share of the rows that noise begins with.
RANDOM, NOISE = 4, 0.1
# Steps of the fit after which starts are compared.
STEPS = 12
STAND_INS, GROUPS, LABELS = "filled-in rows", "random groups", "labels"


def start_of_parts(prepared: PreparedParts, plan: Plan, rng: np.random.Generator, restart: int = 0) -> Found:
    """Where to begin: what was given, what labels say, or the best of several starts."""
    problem = prepared.problem
    given = plan.init if plan.start is None else plan.start
    if isinstance(given, Mixture):
        return start_of(problem, plan, rng)
    if not isinstance(given, str):
        labels = from_labels(problem.all_rows, plan, np.asarray(given), prepared.used)
        return Found(labels, Starts({"given": 1}, agreeing=1))
    codes = component_codes(prepared.knowledge)
    if codes is not None and (codes >= 0).any():
        if isinstance(problem.family, ComponentFamilies):
            starts = [(LABELS, _by_place(problem, prepared.knowledge, codes, rng)) for _ in range(RANDOM)]
            return _best(problem, starts, plan, rng)
        return Found(_by_class(problem, prepared.knowledge, codes, plan, rng), Starts({LABELS: 1}, agreeing=1))
    return _best(problem, _candidates(prepared, plan, rng, restart), plan, rng)


def component_codes(knowledge: Knowledge) -> NDArray[np.intp] | None:
    """For each row the pattern that tells where it belongs, -1 where none does; None where nothing is known."""
    if knowledge.codes is None or knowledge.patterns is None:
        return None
    if knowledge.classes is not None:
        return knowledge.codes
    top = (knowledge.patterns == 0).sum(axis=1) == 1
    return np.where((knowledge.codes >= 0) & top[knowledge.codes], knowledge.codes, -1)


# From labels ----------------------------------------------------------------------------------------------------------


def _by_class(
    problem: CompositeProblem, knowledge: Knowledge, codes: NDArray[np.intp], plan: Plan, rng: np.random.Generator
) -> Parameters:
    """Components from the labelled rows of their classes; the others from rows without a label."""
    assert knowledge.patterns is not None
    k, all_rows = plan.n_components, problem.all_rows
    natural, weights = np.tile(problem.prior_natural, (k, 1)), np.zeros(k)
    placed = np.zeros(k, dtype=bool)
    for components, rows in _places_of_classes(knowledge.patterns, codes):
        part = all_rows.on_rows(rows)
        natural[components], shares = _mixture_of(part, len(components), plan, rng)
        weights[components] = part.total * shares
        placed[components] = True
    free = np.flatnonzero(~placed)
    if len(free):
        unlabelled = np.flatnonzero(codes < 0)
        part = all_rows.on_rows(unlabelled) if len(unlabelled) >= len(free) else all_rows
        natural[free], shares = _mixture_of(part, len(free), plan, rng)
        weights[free] = weights.sum() * len(free) / max(1, k - len(free)) * shares
    return problem.within_model(Parameters(natural, problem.log_weights(weights / weights.sum())))


def _by_place(
    problem: CompositeProblem, knowledge: Knowledge, codes: NDArray[np.intp], rng: np.random.Generator
) -> Parameters:
    """Components of different families, each from rows that may belong to it; noise begins with a small weight."""
    assert knowledge.patterns is not None
    assert isinstance(problem.family, ComponentFamilies)
    all_rows = problem.all_rows
    assert isinstance(all_rows.rows, Rows)  # sparse rows are refused
    known = allowed_components(knowledge.patterns, codes)
    bare = np.array([isinstance(own, Parameterless) for own in problem.family.families])
    known[~known[:, ~bare].any(axis=1)] = True
    labels = of_nearest(all_rows.rows.X.astype(float, copy=False), known & ~bare, rng)
    statistics = all_rows.gather(labels.astype(np.int32), len(bare))
    parameters, weights = all_rows.first_parameters(statistics), statistics.weights()
    weights[bare] = NOISE / max(1, bare.sum())
    return Parameters(parameters.natural, problem.log_weights(weights / weights.sum()))


def allowed_components(patterns: Array, codes: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which components (n, k) each row may begin in: unlabelled rows in those that no label names, if there are any."""
    allowed = np.where((codes >= 0)[:, None], patterns[codes] == 0, False)
    named = allowed.any(axis=0)
    allowed[codes < 0] = ~named if not named.all() else True
    return allowed


def of_nearest(X: Array, allowed: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.intp]:
    """For each row (n, d) the component among those allowed (n, k) whose random row is closest."""
    places = [rng.choice(np.flatnonzero(own)) if own.any() else rng.integers(len(X)) for own in allowed.T]
    return np.asarray(np.where(allowed, distances(X, X[np.array(places)]), np.inf).argmin(axis=1))


def distances(X: Array, seeds: Array) -> Array:
    """Squared distances (n, m), columns in units of their deviation."""
    scale = np.maximum(X.std(axis=0), 1e-300)
    return np.stack([(((X - seed) / scale) ** 2).sum(axis=1) for seed in seeds], axis=1)


def _places_of_classes(patterns: Array, codes: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """The components and the rows of each class that has rows; patterns of the same components are one class."""
    rows_of: dict[tuple[int, ...], list[NDArray[np.intp]]] = {}
    for code in np.unique(codes[codes >= 0]):
        components = tuple(np.flatnonzero(patterns[code] == 0).tolist())
        rows_of.setdefault(components, []).append(np.flatnonzero(codes == code))
    return [(np.array(components), np.concatenate(rows)) for components, rows in rows_of.items()]


def _mixture_of(part: Problem, k: int, plan: Plan, rng: np.random.Generator) -> tuple[Array, Array]:
    """Natural parameters (k, D) and weights (k,) of a mixture of some rows; fewer rows than components share them."""
    if k == 1:
        return _one_component(part), np.ones(1)
    distinct = len(np.unique(part.rows.X, axis=0))
    found = search(_without_weights(part), min(k, distinct), rng, hard=plan.hard).parameters
    share = np.exp(found.log_weights)
    places = np.arange(k) % len(share)
    natural = np.where(np.isfinite(found.log_weights)[:, None], found.natural, part.prior_natural)
    weights = np.maximum(share, 1e-3 / k)[places]
    return natural[places], weights / weights.sum()


def _one_component(part: Problem) -> Array:
    """Natural parameters (1, D) of one component for all rows."""
    sums = (part.rows.total * part.rows.mean_statistic)[None]
    one = ClusterStatistics(np.array([part.rows.total]), sums, 0.0)
    moments = one.moments(part.prior_strength, part.prior_moment)
    # A class without a single entry in some columns begins there as all rows.
    unseen = np.zeros(0, dtype=bool)
    if isinstance(part.rows, Rows):
        unseen = np.asarray(np.isnan(part.rows.X).all(axis=0))
    for unit in part.family.units() if unseen.any() else ():
        if unseen[list(unit.columns)].any():
            moments[:, list(unit.statistics)] = part.prior_moment[list(unit.statistics)]
    natural = part.estimate(moments)
    if np.isfinite(natural).all():
        return natural
    # Alone, a component of a joint family may have a singular covariance: it begins with one more row, the prior.
    return part.estimate((moments * part.rows.total + part.prior_moment) / (part.rows.total + 1))


def _without_weights(part: Problem) -> Problem:
    """The problem without prescribed weights: they are those of all components."""
    if part.weights is None:
        return part
    free = part.on_rows(np.arange(len(part.rows)))
    free.weights = None
    return free


# Without labels -------------------------------------------------------------------------------------------------------


def _candidates(
    prepared: PreparedParts, plan: Plan, rng: np.random.Generator, restart: int
) -> list[tuple[str, Parameters]]:
    """Starts of several kinds."""
    problem = prepared.problem
    if not plan.searches:
        rows = problem.all_rows if restart == 0 else _table(prepared, rng)
        named = None if plan.init == "auto" else str(plan.init)
        if named is not None:
            return [(named, SEEDINGS[named](rows, plan.n_components, rng))]
        return [single_start(rows, plan.n_components, rng, restart)]
    exact = prepared.is_exact
    tables = [problem.all_rows] + ([] if exact else [_table(prepared, rng) for _ in range(TABLES - 1)])
    kind = None if plan.init == "auto" else str(plan.init)
    found = [
        (STAND_INS, search(table, plan.n_components, rng, hard=plan.hard, kind=kind).parameters) for table in tables
    ]
    if prepared.knowledge.groups is not None:
        groups = prepared.knowledge.groups
        for _ in range(PARTITIONS):
            labels = rng.integers(plan.n_components, size=int(groups.max()) + 1)[groups].astype(np.int32)
            statistics = problem.all_rows.gather(labels, plan.n_components)
            found.append((GROUPS, problem.first_parameters(statistics)))
    return found


def _table(prepared: PreparedParts, rng: np.random.Generator) -> Problem:
    """The problem of all rows with stand-ins that are drawn."""
    all_rows = prepared.problem.all_rows
    assert isinstance(all_rows.rows, Rows)  # sparse rows are refused
    if not isinstance(prepared.intervals, Intervals):
        return all_rows
    own = prepared.intervals if isinstance(prepared.used, slice) else prepared.intervals[prepared.used]
    X = stand_ins(all_rows.family, own, rng)
    return Problem.like(
        all_rows, Rows(all_rows.family, X, all_rows.rows.weights, all_rows.center, all_rows.rows.n_threads)
    )


def _best(
    problem: CompositeProblem, candidates: list[tuple[str, Parameters]], plan: Plan, rng: np.random.Generator
) -> Found:
    """The start that is best after a few steps."""
    kinds = dict(Counter(kind for kind, _ in candidates))
    if len(candidates) == 1:
        return Found(candidates[0][1], Starts(kinds, agreeing=1))
    objectives, ends = [], []
    for _, parameters in candidates:
        algorithm = plan.make_algorithm(rng)
        state = algorithm.init(problem, problem.with_prescribed(parameters))
        state = after_steps(algorithm, problem, state, STEPS)
        objectives.append(state.objective)
        ends.append(state.parameters)
    best = int(np.argmax(objectives))
    agreeing = int(np.sum(np.array(objectives) > objectives[best] - SAME))
    return Found(ends[best], Starts(kinds, agreeing))
