"""What can be said for sure about a mixture on given rows: global optimum, stable, fixpoint, or none of these."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._kernels import has_missing
from ..data.holes import family_with_holes, holes_of
from ..engines.statistics import ClusterStatistics
from ..families import ComponentFamilies
from ..families.resolution import Asked, resolution_of
from ..families.sparse import check_sparse
from ..families.validation import check_sample_weight, issparse
from ..mixture import Mixture
from ..numerics.arrays import Labels
from ..problem.observed import ObservedRows
from ..problem.problem import Parameters, Problem
from ..problem.shaped import ShapedProblem
from .judging import Moves, single_moves
from .loop import LEFT, left, steps
from .soft_em import SoftEM
from .state import State

GLOBAL = "global optimum"
HARTIGAN_STABLE = "Hartigan-stable"
LLOYD_STABLE = "Lloyd-stable"
FIXPOINT = "EM fixpoint"
NOT_STABLE = "not stable"

SOFT_ALGORITHMS = ("em", "sparse-em")
# Differences of objectives below this share of them are rounding, and so are those of single rows' scores.
ROUNDING = 1e-11
ROW_ROUNDING = 1e-9
# Solvers of estimating equations, as for beta distributions, leave less than this, in nats.
SOLVED_GAIN = 1e-7
# Estimates of shapes end where they gain less than this, in nats.
SHAPED_GAIN = 1e-6
# Relative rounding error of a sum of a few products.
UNIT_ROUNDING = 4 * np.finfo(float).eps
# Plain EM steps whose gains tell how much is left.
STEPS = 3


@dataclass(frozen=True)
class Certificate:
    """What is sure about the outcome of a fit.

    Attributes
    ----------
    kind : str
        The kind of optimum.
    sentence : str
        What can be said, as a sentence.
    details : dict of float
        The numbers behind it.
    """

    kind: str
    sentence: str
    details: dict[str, float]

    @property
    def stable(self) -> bool:
        """Whether the algorithm itself would change nothing more."""
        return self.kind != NOT_STABLE

    def __str__(self) -> str:
        return self.sentence


def certificate(
    mixture: Mixture,
    X: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    algorithm: str = "k-mle",
    prior_strength: float = 0.0,
    resolution: Asked = None,
    weights_held: bool = False,
    n_responsibilities: int | None = None,
    optimum: float | None = None,
) -> Certificate:
    """Checks a mixture on the rows it was learned from, as its algorithm would judge it.

    A soft fit is a fixpoint if plain EM steps would gain less than 0.1 nats from there, for all rows together, by
    Aitken's estimate.

    Parameters
    ----------
    mixture : Mixture
        What was learned.
    X : array (n, d) or sparse
        The rows it was learned from.
    sample_weight : array (n,), default=None
        Their weights.
    algorithm : str, default='k-mle'
        The name of the algorithm, as in `KMLE`, or 'em'.
    prior_strength : float, default=0.0
        That of the fit.
    resolution : float, array or None, default=None
        That of the fit: the steps to which the values are rounded.
    weights_held : bool, default=False
        Whether the weights of components were prescribed.
    n_responsibilities : int, default=None
        How many components a row may have in truncated EM.
    optimum : float, default=None
        The objective of an exact fit: if these rows give it again, it is theirs.

    Returns
    -------
    Certificate
        The kind of optimum and a sentence about it.

    Examples
    --------
    >>> certificate(Mixture.from_source("poisson", [0.5, 0.5], rate=[1.5, 30.0]), [[1], [2], [29], [31]]).kind
    'Hartigan-stable'
    """
    family = mixture.family
    rows = check_sparse(family, X) if issparse(X) else family.check(X, missing=True)
    weights = check_sample_weight(sample_weight, rows.shape[0])
    seen: slice | NDArray[np.bool_] = slice(None) if weights is None or weights.all() else weights > 0
    if not issparse(X) and has_missing(rows):
        has_entries = np.asarray(~np.isnan(rows).all(axis=1))
        seen = has_entries if weights is None else np.asarray(has_entries & (weights > 0))
        family = family_with_holes(family, holes_of(rows[seen]))
    own, held = None if weights is None else weights[seen], mixture.weights if weights_held else None
    problem: Problem | ShapedProblem
    by_shares = isinstance(family, ComponentFamilies) and not issparse(X) and has_missing(rows[seen])
    if mixture.family.exponential and not by_shares:
        k = mixture.n_components
        problem = Problem(family, rows[seen], own, prior_strength, held, n_components=k, resolution=resolution)
    else:
        known = ObservedRows.of(rows[seen].astype(float, copy=False))
        steps_of_grid = resolution_of(rows[seen], resolution)
        problem = ShapedProblem(mixture.family, known, own, prior_strength, held, steps_of_grid)
    parameters = problem.from_mixture(mixture)
    if algorithm in SOFT_ALGORITHMS:
        return _fixpoint(problem, parameters, n_responsibilities)
    return _stability(problem, parameters, optimum)


def _fixpoint(problem: Problem | ShapedProblem, parameters: Parameters, n_responsibilities: int | None) -> Certificate:
    algorithm = SoftEM(n_responsibilities, accelerated=False)
    first_state = algorithm.init(problem, parameters)
    states = [first_state, *steps(algorithm, problem, first_state, STEPS)]
    gains = np.maximum(np.diff([state.objective for state in states]), 0.0)
    first, ahead = float(gains[0]), float(gains.sum())
    ahead += left(gains) if len(gains) == STEPS else 0.0
    details = {"gain": first, "gain_per_row": first / problem.total, "left": ahead, "objective": states[0].objective}
    if ahead < LEFT:
        message = (
            f"EM fixpoint: the next step gains {first:.1e} nats, all steps together about {ahead:.1e}, below {LEFT:g}."
        )
        return Certificate(FIXPOINT, message, details)
    message = f"Not stable: EM would gain {first:.1e} nats in a step, {ahead:.1e} in all: lower tol or raise max_iter."
    return Certificate(NOT_STABLE, message, details)


def _stability(problem: Problem | ShapedProblem, parameters: Parameters, optimum: float | None) -> Certificate:
    partition, statistics = problem.assign(parameters)
    objective = problem.complete_objective(parameters, statistics, partition)
    if optimum is not None and abs(objective - optimum) <= 1e-9 * max(1.0, abs(optimum)):
        message = "Global optimum: no mixture of this family and size has a higher complete likelihood on these rows."
        return Certificate(GLOBAL, message, {"objective": objective})
    natural = problem.updated_natural(parameters, statistics, partition)
    updated = problem.as_handed_back(Parameters(natural, problem.log_weights(statistics.weights())))
    gain = problem.complete_objective(updated, statistics, partition) - objective
    again, after = problem.assign(updated)
    moving = _moving(problem, updated, partition.labels, again.labels)
    details = {"rows_moving": float(moving), "parameter_gain": max(0.0, gain), "objective": objective}
    noise = max(SOLVED_GAIN, ROUNDING * abs(objective), _error_bound(problem, updated, statistics))
    if moving or gain > noise:
        message = (
            f"Not stable: {_rows(moving)} would change component and the parameters gain {max(0.0, gain):.1e} nats."
        )
        return Certificate(NOT_STABLE, message, details)
    if problem.family.joint or isinstance(problem, ShapedProblem):
        return Certificate(
            LLOYD_STABLE,
            "Lloyd-stable: no label changes and the parameters are the best for their labels; moves of single rows are "
            f"not examined, as components of {problem.family.name} are not estimated one by one from sums.",
            details,
        )
    if problem.expects:
        return Certificate(
            LLOYD_STABLE,
            "Lloyd-stable: no label changes and a step does not raise the likelihood of the entries that are there; "
            "moves of single rows are not examined, as statistics of missing entries are expectations.",
            details,
        )
    return _single_rows(single_moves(problem, State(updated, objective, after, again)), details)


def _error_bound(problem: Problem | ShapedProblem, parameters: Parameters, statistics: ClusterStatistics) -> float:
    """How far rounding of the statistics may keep the objective below its best for these labels, in nats."""
    if isinstance(problem, ShapedProblem):
        return SHAPED_GAIN
    if problem.family.joint:
        occupied = statistics.counts > 0
        natural, counts = parameters.natural[occupied], statistics.counts[occupied]
        sizes = np.einsum("kd,kd->", np.abs(statistics.sums[occupied]), np.abs(natural))
        return float(2 * UNIT_ROUNDING * (sizes + counts @ np.abs(problem.family.log_normalizer(natural))))
    held = None if problem.weights is None else parameters.log_weights
    return float(problem.cluster_values(statistics.counts, statistics.sums, held).errors.sum())


def _single_rows(moves: Moves, details: dict[str, float]) -> Certificate:
    """What is said of labels that no longer change, by what single rows would gain."""
    details = details | {"rows_gaining_alone": float(moves.gaining), "largest_gain": moves.largest}
    stable = "Lloyd-stable: no label changes and the parameters are the best for their labels"
    if moves.gaining:
        message = f"{stable}; {_rows(moves.gaining)} would gain by moving alone, up to {moves.largest:.1e} nats"
        return Certificate(LLOYD_STABLE, f"{message} ({_why(moves)}).", details)
    if moves.hidden:
        message = f"{stable}; whether {_rows(moves.hidden)} would gain by moving alone is lost in rounding."
        return Certificate(LLOYD_STABLE, message, details)
    message = (
        "Hartigan-stable: the parameters are the best for their labels and no row gains by moving to any component "
        f"(more than {moves.bound:.0e} nats)."
    )
    return Certificate(HARTIGAN_STABLE, message, details | {"bound": moves.bound})


def _why(moves: Moves) -> str:
    if moves.spikes == moves.gaining:
        return "only if a component keeps too few rows for a bounded likelihood; a prior bounds it"
    return "algorithm='hartigan' makes such moves"


def _rows(n: int) -> str:
    return "1 row" if n == 1 else f"{n} rows"


def _moving(problem: Problem | ShapedProblem, updated: Parameters, before: Labels, after: Labels) -> int:
    """How many rows have another label by more than rounding."""
    changed = np.flatnonzero(before != after)
    if len(changed) == 0:
        return 0
    scores = np.full((len(changed), len(updated.natural)), -np.inf)
    scores[:, updated.active] = problem.to_mixture(updated).log_joint(problem.rows.raw(changed))
    each = np.arange(len(changed))
    old, new = scores[each, before[changed]], scores[each, after[changed]]
    return int(np.count_nonzero(new - old > ROW_ROUNDING * np.maximum(1.0, np.abs(new))))
