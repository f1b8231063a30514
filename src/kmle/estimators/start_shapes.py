"""Where fits with estimated shapes begin.

Starts come from mixtures of exponential families that are like the ones wanted, from quantiles, from shells around the
middle and from random rows. They are compared on a sample by a few steps of the fit itself, and the best one goes on to
larger samples.
"""

from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..algorithms import SoftEM, Starts
from ..algorithms.loop import after_steps
from ..families import ComponentFamilies, ExponentialFamily
from ..families.component_lists import component_families
from ..families.coordinates import CoordinateFamily
from ..families.parameterless import Parameterless
from ..families.support import Integers
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..problem.problem import Parameters, Problem
from ..problem.shaped import ShapedProblem
from ..search import SAME, Found, search
from ..search.comparing import FEW_ROWS, FEW_ROWS_PENALTY
from .plan import Plan
from .prepare import checked_labels, from_mixture
from .prepare_shapes import PreparedShapes
from .shape_moves import moved
from .start_parts import (
    GROUPS,
    LABELS,
    NOISE,
    RANDOM,
    allowed_components,
    component_codes,
    distances,
    of_nearest,
)

# Rows of the sample in which starts are compared, and by how much it grows until it is everything.
SAMPLE_ROWS, GROWTH = 2000, 10
# Orders of clusters among different families, and steps: of all starts, of the best, of refining.
ORDERS = 4
STEPS, MORE_STEPS, REFINING_STEPS = 8, 30, 60
BEST = 3
# Steps end where all those left would gain less than this, in nats, if each gained what the last one did.
NOTHING = 0.01 * SAME
# Moves from the best start that are tried at once, at most how often, and numbers of the sample times components up to
# which there are any: beyond, steps cost more than other optima gain.
MOVES, MOST_ROUNDS, FEW_NUMBERS = 6, 2, 5_000
STAND_IN, QUANTILES, SHELLS, ROWS = "similar families", "quantiles", "shells", "random rows"


def start_of_shapes(prepared: PreparedShapes, plan: Plan, rng: np.random.Generator) -> Found:
    """Where to begin: what was given, or the best of several starts."""
    problem = prepared.problem
    given = plan.init if plan.start is None else plan.start
    if isinstance(given, Mixture):
        return Found(from_mixture(problem, plan, given), Starts({"given": 1}, agreeing=1))
    if not isinstance(given, str):
        n = len(prepared.order) if isinstance(prepared.used, slice) else len(prepared.used)
        labels = checked_labels(np.asarray(given), n, plan.n_components)[prepared.used][prepared.order]
        return Found(problem.first_parameters(problem.gather(labels, plan.n_components)), Starts({"given": 1}, 1))
    k = plan.n_components
    if k == 1:
        shares = problem.row_weights[:, None]
        return Found(problem.first_parameters(problem.of_shares(shares)), Starts({"all rows": 1}, agreeing=1))
    if problem.units is not None:
        return _best(problem, _informed(prepared, k, plan, rng), plan, rng)
    sample = _smaller(problem, SAMPLE_ROWS, rng)
    if not plan.searches:
        return Found(_random_start(sample, k, rng), Starts({ROWS: 1}, agreeing=1))
    found = _best(sample, _candidates(sample, k, plan, rng), plan, rng)
    size = SAMPLE_ROWS * GROWTH
    while 2 * size <= len(problem.rows):
        parameters = _after(_smaller(problem, size, rng), found.parameters, plan, rng, REFINING_STEPS).parameters
        found, size = Found(parameters, found.starts), size * GROWTH
        if problem.rows.X.shape[1] == 1:
            break  # neighbours that are taken together say nearly as much as all rows
    return found


def _smaller(problem: ShapedProblem, size: int, rng: np.random.Generator) -> ShapedProblem:
    """The problem of about that many rows: of one column neighbours are taken together, of several some are drawn."""
    n, rows = len(problem.rows), problem.rows
    if n <= 2 * size:
        return problem
    if rows.X.shape[1] > 1 or not rows.all_exact:
        return problem.on_rows(np.sort(rng.choice(n, size, replace=False)))
    # Rows are in order. The outermost ones, which are far apart, stay alone; then more and more are taken together.
    tail = np.unique(np.geomspace(1, n / 2, size // 4).astype(np.intp))
    firsts = np.unique(np.concatenate([[0], tail, np.linspace(0, n - 1, size // 2).astype(np.intp), n - tail]))
    weights = np.add.reduceat(problem.row_weights, firsts)
    X = np.add.reduceat(problem.row_weights * rows.X[:, 0], firsts)[:, None] / weights[:, None]
    if isinstance(problem.family.support, Integers):
        X = np.round(X)
    return problem.on_values(X, weights)


def _best(
    problem: ShapedProblem, candidates: list[tuple[str, Parameters]], plan: Plan, rng: np.random.Generator
) -> Found:
    """The start that leads furthest: all make a few steps, the best of them more."""
    kinds = dict(Counter(kind for kind, _ in candidates))
    ends = [_after(problem, parameters, plan, rng, STEPS) for _, parameters in candidates]
    ends.sort(key=lambda end: -end.objective)
    finals: list[End] = []
    for end in ends[:BEST]:
        # Steps gain less and less, so that a start far behind cannot catch up.
        if not finals or end.objective + MORE_STEPS * end.gain > max(own.objective for own in finals):
            finals.append(_after(problem, end.parameters, plan, rng, MORE_STEPS))
    best = max(finals, key=lambda end: end.objective)
    agreeing = sum(end.objective > best.objective - SAME for end in [*finals, *ends[BEST:]])
    if problem.units is not None or problem.rows.X.size * plan.n_components > FEW_NUMBERS:
        return Found(best.parameters, Starts(kinds, agreeing))
    best, tried, improved = _improved(problem, best, plan, rng)
    return Found(best.parameters, Starts(kinds, agreeing, tried, improved))


def _improved(problem: ShapedProblem, best: "End", plan: Plan, rng: np.random.Generator) -> tuple["End", int, int]:
    """Where moves lead, how many were tried, and how many rounds led higher."""
    tried = improved = 0
    for _ in range(MOST_ROUNDS):
        trials = [_after(problem, each, plan, rng, STEPS) for each in moved(problem, best.parameters, MOVES)]
        if not trials:
            break
        tried += len(trials)
        top = max(trials, key=lambda trial: trial.objective)
        fewer = top.parameters.active.sum() < best.parameters.active.sum()
        if fewer or top.objective + MORE_STEPS * top.gain <= best.objective:
            break
        top = _after(problem, top.parameters, plan, rng, MORE_STEPS)
        fewer = top.parameters.active.sum() < best.parameters.active.sum()
        if fewer or not top.objective > best.objective + 0.1 * SAME:
            break
        best, improved = top, improved + 1
    return best, tried, improved


class End(NamedTuple):
    """Where some steps lead: the objective, what the last step gained, and the parameters."""

    objective: float
    gain: float
    parameters: Parameters


def _after(problem: ShapedProblem, parameters: Parameters, plan: Plan, rng: np.random.Generator, steps: int) -> End:
    """Where some steps lead; hard fits begin with soft steps."""
    parameters = problem.with_prescribed(parameters)
    if plan.hard:
        soft = SoftEM()
        parameters = after_steps(soft, problem, soft.init(problem, parameters), steps // 2).parameters
    algorithm = plan.make_algorithm(rng)
    earlier = state = algorithm.init(problem, parameters)
    for left in range(steps - 1, -1, -1):
        earlier, state = state, after_steps(algorithm, problem, state, 1)
        if left * (state.objective - earlier.objective) < NOTHING:
            break
    # Components of very few rows fit noise, as in other searches.
    few = state.parameters.active & (state.statistics.counts < FEW_ROWS)
    objective = state.objective - FEW_ROWS_PENALTY * int(few.sum())
    return End(objective, max(0.0, state.objective - earlier.objective), state.parameters)


# Candidates -----------------------------------------------------------------------------------------------------------


def _candidates(problem: ShapedProblem, k: int, plan: Plan, rng: np.random.Generator) -> list[tuple[str, Parameters]]:
    """Starts of several kinds."""
    X, found = problem.rows.X, []
    for shares, in_order in _similar(problem, k, plan, rng):
        found += [(STAND_IN, each) for each in _ordered(problem, shares, rng, 1 if in_order else ORDERS)]
    n_free = k - _n_parameterless(problem.family)
    if X.shape[1] == 1:
        ranks = np.cumsum(problem.row_weights[np.argsort(X[:, 0], kind="stable")])[_ranks(X[:, 0])]
        found += [(QUANTILES, each) for each in _from_labels(problem, _cut(ranks, n_free), k, rng)]
    away = distances(X, np.median(X, axis=0)[None])[:, 0]
    found += [(SHELLS, each) for each in _from_labels(problem, _cut(_ranks(away) + 1.0, n_free), k, rng)]
    return found + [(ROWS, _random_start(problem, k, rng)) for _ in range(RANDOM)]


def _random_start(problem: ShapedProblem, k: int, rng: np.random.Generator) -> Parameters:
    """Components from the rows that are closest to random ones."""
    X, n_free = problem.rows.X, k - _n_parameterless(problem.family)
    seeds = X[rng.choice(len(X), n_free, replace=len(X) < n_free, p=problem.row_weights / problem.row_weights.sum())]
    return _from_labels(problem, distances(X, seeds).argmin(axis=1), k, rng)[0]


def _n_parameterless(family: ExponentialFamily) -> int:
    listed = family.families if isinstance(family, ComponentFamilies) else ()
    return sum(isinstance(own, Parameterless) for own in listed)


def _ranks(values: Array) -> NDArray[np.intp]:
    ranks = np.empty(len(values), dtype=np.intp)
    ranks[np.argsort(values, kind="stable")] = np.arange(len(values))
    return ranks


def _cut(ranks: Array, k: int) -> NDArray[np.intp]:
    """Labels of k groups of about the same size."""
    return np.minimum((k * (ranks - 0.5 * ranks.min()) / ranks.max()).astype(np.intp), k - 1)


def _from_labels(
    problem: ShapedProblem, labels: NDArray[np.intp], k: int, rng: np.random.Generator
) -> list[Parameters]:
    """Starts from labels of the components that have parameters."""
    n_free = k - _n_parameterless(problem.family)
    shares = np.zeros((n_free, len(labels))).T
    shares[np.arange(len(labels)), labels] = problem.row_weights
    if n_free == k:
        return _ordered(problem, shares, rng, 1)
    assert isinstance(problem.family, ComponentFamilies)
    free = [not isinstance(own, Parameterless) for own in problem.family.families]
    whole = np.tile(NOISE / (k - n_free) * problem.row_weights, (k, 1)).T
    whole[:, free] = (1 - NOISE) * shares
    return _ordered(problem, whole, rng, 1)


def _ordered(problem: ShapedProblem, shares: Array, rng: np.random.Generator, n_orders: int) -> list[Parameters]:
    """Parameters from shares (n, k); clusters come in several orders where components differ."""
    places = isinstance(problem.family, ComponentFamilies)
    orders = [np.arange(shares.shape[1])]
    if places:
        orders += [rng.permutation(shares.shape[1]) for _ in range(n_orders - 1)]
    return [problem.first_parameters(problem.of_shares(shares[:, order])) for order in orders]


# Labels and groups ----------------------------------------------------------------------------------------------------


def _informed(prepared: PreparedShapes, k: int, plan: Plan, rng: np.random.Generator) -> list[tuple[str, Parameters]]:
    """Starts from labelled rows; without labels those of rows alone, and of random partitions of the groups."""
    problem, knowledge = prepared.problem, prepared.knowledge
    codes = component_codes(knowledge)
    if codes is not None and (codes >= 0).any() and knowledge.patterns is not None:
        allowed = allowed_components(knowledge.patterns, codes)
        return [(LABELS, _of_labels(problem, allowed, rng)) for _ in range(RANDOM)]
    sample = _smaller(problem.without_knowledge(), SAMPLE_ROWS, rng)
    found = _candidates(sample, k, plan, rng)
    if knowledge.groups is not None:
        for _ in range(RANDOM):
            labels = rng.integers(k, size=len(problem.rows), dtype=np.int32)
            found.append((GROUPS, problem.first_parameters(problem.gather(labels, k))))
    return found


def _of_labels(problem: ShapedProblem, allowed: NDArray[np.bool_], rng: np.random.Generator) -> Parameters:
    """Components from the rows that may belong to them (n, k), each row in the one whose random row is closest."""
    X, k = problem.rows.X, allowed.shape[1]
    labels = of_nearest(X, allowed, rng)
    shares = np.zeros((k, len(X))).T
    shares[np.arange(len(X)), labels] = problem.row_weights
    return problem.first_parameters(problem.of_shares(shares))


# Similar families -----------------------------------------------------------------------------------------------------


def _similar(problem: ShapedProblem, k: int, plan: Plan, rng: np.random.Generator) -> list[tuple[Array, bool]]:
    """Shares of a mixture of similar exponential families, and whether its components are in the right order."""
    family, X = similar_family(problem.family, problem.rows.X), problem.rows.X
    plain = Problem(
        family, X, problem.row_weights, max(1e-3, plan.strength), n_components=k, resolution=problem.resolution
    )
    found = search(plain, k, rng, hard=False).parameters
    mixture = plain.to_mixture(found)
    shares = np.zeros((k, len(X))).T
    shares[:, : mixture.n_components] = mixture.posterior(X) * problem.row_weights[:, None]
    return [(shares, isinstance(family, ComponentFamilies) or not isinstance(problem.family, ComponentFamilies))]


def similar_family(family: ExponentialFamily, X: Array) -> ExponentialFamily:
    """The exponential family that starts are sought with."""

    def similar(own: ExponentialFamily) -> ExponentialFamily:
        return own.stand_in.for_data(X) if isinstance(own, CoordinateFamily) else own

    if not isinstance(family, ComponentFamilies):
        return similar(family)
    return component_families(similar(own) for own in family.families)
