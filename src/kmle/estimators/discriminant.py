"""One component per class, estimated from labelled rows in one step: discriminant analysis.

With structured Gaussians this is eigenvalue decomposition discriminant analysis, EDDA (Bensmail and Celeux 1996): the
classes share what their covariance model shares. With EEE it is linear, with VVV quadratic discriminant analysis.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.criteria import Criteria
from ..families import resolve
from ..mixture import Mixture
from .arguments import entropy_of
from .family_candidates import Families, families_of
from .plan import Plan
from .prepare import check_rows, prepare_rows

# Estimates of covariance models without a closed form are repeated until they gain less than this in nats, or so often.
GAIN, REPEATS = 1e-9, 500


def discriminant(
    X: ArrayLike,
    labels: NDArray[np.intp],
    families: Families,
    plan: Plan,
    sample_weight: ArrayLike | None = None,
    columns: Sequence[str] | None = None,
) -> Mixture:
    """The maximum-likelihood mixture whose components are the classes 0, 1, ...; of several families that with the
    lowest BIC.
    """
    found = [
        labelled_estimate(X, labels, replace(plan, family=family), sample_weight, columns)
        for family in families_of(families, X).values()
    ]
    return min(found, key=lambda pair: pair[1])[0]


def labelled_estimate(
    X: ArrayLike,
    labels: NDArray[np.intp],
    plan: Plan,
    sample_weight: ArrayLike | None = None,
    columns: Sequence[str] | None = None,
) -> tuple[Mixture, float]:
    """The mixture of one component per label, and its BIC."""
    k = int(labels.max()) + 1
    own = replace(plan, n_components=k, init=labels, prior_strength=0.0)
    checked = check_rows(X, resolve(own.family), sample_weight, columns, own.n_threads)
    rng = np.random.default_rng(entropy_of(own.random_state))
    problem = prepare_rows(checked, own, rng, own.n_threads).problem
    statistics = problem.gather(labels.astype(np.int32), k)
    parameters = problem.first_parameters(statistics)
    reached = problem.complete_objective(parameters, statistics)
    for _ in range(REPEATS if problem.family.joint else 0):
        parameters = replace(parameters, natural=problem.updated_natural(parameters, statistics))
        before, reached = reached, problem.complete_objective(parameters, statistics)
        if reached - before <= GAIN:
            break
    mixture = problem.to_mixture(parameters).with_columns(columns)
    total = float(statistics.counts.sum())
    return mixture, Criteria(reached, reached, mixture.n_parameters, total).bic
