"""What can be said for sure about a mixture on given rows: global optimum, stable, fixpoint, or none of these."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..assignment.partition import Labels
from ..assignment.problem import Parameters, Problem
from ..families.checking import check_sample_weight
from ..families.resolution import Asked
from ..families.sparse import check_sparse, issparse
from ..mixture import Mixture
from .hartigan import gaining_moves
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


@dataclass(frozen=True)
class Certificate:
    """What was found: its kind, one sentence that says it, and the numbers behind it."""

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
    n_kept: int | None = None,
    optimum: float | None = None,
    tol: float = 1e-6,
) -> Certificate:
    """Checks a mixture on the rows it was learned from, as its algorithm would judge it.

    `optimum` is the objective of an exact fit: if these rows give it again, it is theirs. `tol` is the gain of a
    further EM step, in nats a row, up to which a soft fit counts as a fixpoint.

    >>> certificate(Mixture.from_source("poisson", [0.5, 0.5], rate=[1.5, 30.0]), [[1], [2], [29], [31]]).kind
    'Hartigan-stable'
    """
    rows = check_sparse(mixture.family, X) if issparse(X) else mixture.family.check(X)
    weights = check_sample_weight(sample_weight, rows.shape[0])
    seen = slice(None) if weights is None or weights.all() else weights > 0
    problem = Problem(
        mixture.family,
        rows[seen],
        None if weights is None else weights[seen],
        prior_strength,
        mixture.weights if weights_held else None,
        n_components=mixture.n_components,
        resolution=resolution,
    )
    parameters = problem.from_mixture(mixture)
    if algorithm in SOFT_ALGORITHMS:
        return _fixpoint(problem, parameters, n_kept, tol)
    return _stability(problem, parameters, optimum)


def _fixpoint(problem: Problem, parameters: Parameters, n_kept: int | None, tol: float) -> Certificate:
    algorithm = SoftEM(n_kept)
    before = algorithm.init(problem, parameters)
    gain = max(0.0, algorithm.step(problem, before).objective - before.objective) / problem.total
    details = {"gain_per_row": gain, "objective": before.objective}
    if gain <= tol:
        return Certificate(FIXPOINT, f"EM fixpoint to {gain:.1e} nats a row: another step gains no more.", details)
    told = f"Not stable: another EM step would gain {gain:.1e} nats a row; lower tol or raise max_iter."
    return Certificate(NOT_STABLE, told, details)


def _stability(problem: Problem, parameters: Parameters, optimum: float | None) -> Certificate:
    partition, statistics = problem.assign(parameters)
    objective = problem.complete_objective(parameters, statistics)
    rounding = ROUNDING * max(1.0, abs(objective))
    if optimum is not None and abs(objective - optimum) <= 1e-9 * max(1.0, abs(optimum)):
        told = "Global optimum: no mixture of this family and size has a higher complete likelihood on these rows."
        return Certificate(GLOBAL, told, {"objective": objective})
    updated = Parameters(problem.updated_natural(parameters, statistics), problem.log_weights(statistics.weights()))
    gain = problem.complete_objective(updated, statistics) - objective
    again, after = problem.assign(updated)
    moving = _moving(problem, updated, partition.labels, again.labels)
    details = {"rows_moving": float(moving), "parameter_gain": max(0.0, gain), "objective": objective}
    if moving or gain > rounding:
        rows = "1 row" if moving == 1 else f"{moving} rows"
        told = f"Not stable: {rows} would change component and the parameters gain {max(0.0, gain):.1e} nats."
        return Certificate(NOT_STABLE, told, details)
    state = State(updated, objective, after, again)
    singles, largest = gaining_moves(problem, state)
    details |= {"rows_gaining_alone": float(singles), "largest_gain": largest}
    if singles:
        rows = "1 row" if singles == 1 else f"{singles} rows"
        told = (
            f"Lloyd-stable: no label changes and the parameters are the best for their labels; {rows} would gain by "
            f"moving alone, up to {largest:.1e} nats (algorithm='hartigan' makes such moves)."
        )
        return Certificate(LLOYD_STABLE, told, details)
    told = "Hartigan-stable: the parameters are the best for their labels and no row gains by moving to any component."
    return Certificate(HARTIGAN_STABLE, told, details)


def _moving(problem: Problem, updated: Parameters, before: Labels, after: Labels) -> int:
    """How many rows have another label by more than rounding."""
    changed = np.flatnonzero(before != after)
    if len(changed) == 0:
        return 0
    scores = np.full((len(changed), len(updated.natural)), -np.inf)
    scores[:, updated.alive] = problem.to_mixture(updated).log_joint(problem.rows.raw(changed))
    each = np.arange(len(changed))
    old, new = scores[each, before[changed]], scores[each, after[changed]]
    return int(np.count_nonzero(new - old > ROW_ROUNDING * np.maximum(1.0, np.abs(new))))
