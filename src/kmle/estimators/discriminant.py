"""One component per class, estimated from labelled rows in one step: discriminant analysis.

With structured Gaussians this is eigenvalue decomposition discriminant analysis, EDDA (Bensmail and Celeux 1996): the
classes share what their covariance model shares. With EEE it is linear, with VVV quadratic discriminant analysis.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..algorithms.criteria import Criteria
from ..data.holes import with_entries
from ..families import resolve
from ..families.validation import issparse
from ..mixture import Mixture
from .arguments import entropy_of
from .family_candidates import Families, families_of
from .learn import learn
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
    """The mixture of one component per label, and its BIC; rows without any entry say nothing."""
    if not issparse(X):
        X = np.asarray(X)
        seen = with_entries(X)
        X, labels = X[seen], labels[seen]
        sample_weight = None if sample_weight is None else np.asarray(sample_weight)[seen]
    k = int(labels.max()) + 1
    own = replace(plan, n_components=k, init=labels, prior_strength=0.0)
    if not resolve(own.family).exponential:
        return _class_by_class(X, labels, own, sample_weight, columns)
    checked = check_rows(X, resolve(own.family), sample_weight, columns, own.n_threads)
    rng = np.random.default_rng(entropy_of(own.random_state))
    problem = prepare_rows(checked, own, rng, own.n_threads).problem
    if problem.expects:
        return _by_expectation(X, labels, own, sample_weight, columns)
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


def _by_expectation(
    X: ArrayLike,
    labels: NDArray[np.intp],
    plan: Plan,
    sample_weight: ArrayLike | None,
    columns: Sequence[str] | None,
) -> tuple[Mixture, float]:
    """The same where others predict missing entries: EM with known labels."""
    own = replace(plan, init="auto", tol=GAIN, max_iter=REPEATS)
    fit = learn(X, own, sample_weight=sample_weight, columns=columns, labels=labels)
    total = float(len(labels) if sample_weight is None else np.sum(sample_weight))
    return fit.mixture, Criteria(fit.objective, fit.objective, fit.mixture.n_parameters, total).bic


def _class_by_class(
    X: ArrayLike,
    labels: NDArray[np.intp],
    plan: Plan,
    sample_weight: ArrayLike | None,
    columns: Sequence[str] | None,
) -> tuple[Mixture, float]:
    """The same for families without sufficient statistics, whose components share nothing."""
    table = np.asarray(X)
    weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    fits = [
        learn(
            table[labels == label],
            replace(plan, n_components=1, init="auto"),
            sample_weight=weights[labels == label],
            columns=columns,
        )
        for label in range(plan.n_components)
    ]
    counts = np.bincount(labels, weights)
    shares = counts / counts.sum()
    mixture = Mixture.combine([fit.mixture for fit in fits], shares)
    reached = sum(fit.objective for fit in fits) + float(counts @ np.log(shares))
    return mixture, Criteria(reached, reached, mixture.n_parameters, float(counts.sum())).bic
