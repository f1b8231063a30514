"""Where a fit begins: what the user gave, a start of the kind asked for, or the best that a search finds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import Starts
from ..mixture import Mixture
from ..problem.problem import LearningProblem, Parameters, Problem
from ..search import Found, search, single_start
from ..seeding import SEEDINGS
from .plan import Plan
from .prepare import Used


def start_of(
    problem: LearningProblem, plan: Plan, rng: np.random.Generator, used: Used = slice(None), restart: int = 0
) -> Found:
    """Where to begin: what was given, a start of the kind asked for, or the best that a search finds."""
    given = plan.init if plan.start is None else plan.start
    if isinstance(given, Mixture):
        return _given(_from_mixture(problem, plan, given))
    if not isinstance(given, str):
        assert isinstance(problem, Problem)  # labels are refused for rows in chunks
        return _given(_from_labels(problem, plan, np.asarray(given), used))
    k, named = plan.n_components, None if given == "auto" else given
    if plan.searches:
        return search(problem, k, rng, hard=plan.hard, kind=named)
    if named is None:
        return single_start(problem, k, rng, restart, hard=plan.hard)
    return Found(SEEDINGS[named](problem, k, rng), Starts({named: 1}, agreeing=1))


def _given(parameters: Parameters) -> Found:
    return Found(parameters, Starts({"given": 1}, agreeing=1))


def _from_mixture(problem: LearningProblem, plan: Plan, mixture: Mixture) -> Parameters:
    if mixture.family.name != problem.family.name or mixture.natural.shape[1] != problem.n_statistics:
        raise ValueError(
            f"init is a mixture of {mixture.family.name} with {mixture.natural.shape[1]} natural coordinates; "
            f"this data and family need {problem.family.name} with {problem.n_statistics}"
        )
    if mixture.n_components > plan.n_components:
        raise ValueError(f"init has {mixture.n_components} components, n_components is {plan.n_components}")
    if problem.weights is not None and mixture.n_components != plan.n_components:
        raise ValueError("init must have as many components as prescribed weights")
    return problem.from_mixture(mixture)


def _from_labels(problem: Problem, plan: Plan, labels: NDArray[Any], used: Used) -> Parameters:
    n = len(problem.rows) if isinstance(used, slice) else len(used)
    if labels.shape != (n,) or not np.issubdtype(labels.dtype, np.integer):
        raise ValueError(f"labels as init must be one whole number per row, shape ({n},)")
    if labels.min() < 0 or labels.max() >= plan.n_components:
        raise ValueError(f"labels as init must be from 0 to {plan.n_components - 1}")
    return problem.first_parameters(problem.gather(labels[used].astype(np.int32), plan.n_components))
