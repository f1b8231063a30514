"""Where learning starts: a mixture of a part of the points, widened and narrowed again until it is a good one."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import Mixture, simplify
from ..algorithms import Fit
from ..estimators.learn import learn
from ..estimators.plan import Plan
from ..families import FixedCovarianceGaussian
from ..numerics.arrays import Array

Labels: TypeAlias = NDArray[np.integer[Any]]

SOFT_COLUMNS = 16
"""Up to this many columns components overlap; among more, hardly a point is uncertain and hard steps do as well."""
COARSE_POINTS, FINE_POINTS, POLISH_POINTS = 2**13, 2**15, 2**16
POINTS_A_COMPONENT = 40
"""At least this many points for each component, or the start knows too little of their covariances."""
HARD_POINTS, HARD_NUMBERS, HARD_POINTS_A_COMPONENT = 2**14, 2**22, 20
FEWEST_ROUNDS, MOST_ROUNDS, ROUND_COMPONENTS = 3, 12, 48
"""Rounds of widening and narrowing: more of them for few components, of which each takes less time."""
COARSE_STEPS, WIDENED_STEPS, POLISH_STEPS = 5, 8, 60
FINE_TOLERANCE, POLISH_TOLERANCE = 1e-3, 1e-4
K_MEANS_VARIANCE = 1e-2
"""Any variance gives the same k-means; this one has densities of about one."""


def starting_mixture(
    table: Array, n_components: int, family: str, rng: np.random.Generator, n_jobs: int | None
) -> Mixture:
    """A mixture of a part of the points, near a good one of all.

    EM does not take components from where there are too many to where there are too few. So twice as many are learned
    and the least different merged; then, in a few rounds, those of a new k-means join them and as many are merged
    away, and what explains the points best is kept.
    """
    if table.shape[1] > SOFT_COLUMNS or n_components == 1 or len(table) < 2 * n_components:
        return _hard_start(table, n_components, family, rng, n_jobs)
    coarse, fine, more = (
        _part(table, max(points, POINTS_A_COMPONENT * n_components), rng)
        for points in (COARSE_POINTS, FINE_POINTS, POLISH_POINTS)
    )

    def em(X: Array, k: int, start: Mixture | Labels, tol: float = FINE_TOLERANCE, max_iter: int = 1000) -> Fit:
        return learn(X, Plan(k, family=family, init=start, tol=tol, max_iter=max_iter, n_jobs=n_jobs))

    def fresh(k: int) -> Mixture:
        """From k-means, which spreads components evenly over image and colours."""
        return em(coarse, k, _k_means(coarse, k, rng, n_jobs), max_iter=COARSE_STEPS).mixture

    def narrowed(wide: Mixture) -> Fit:
        learned = em(fine, wide.n_components, wide, max_iter=WIDENED_STEPS).mixture
        return em(fine, n_components, simplify(learned, n_components, method="hierarchical").mixture)

    best = narrowed(fresh(2 * n_components))
    for _ in range(min(MOST_ROUNDS, max(FEWEST_ROUNDS, ROUND_COMPONENTS // n_components))):
        tried = narrowed(_joined(best.mixture, fresh(n_components)))
        best = max(best, tried, key=lambda fit: fit.objective)
    return em(more, n_components, best.mixture, POLISH_TOLERANCE, POLISH_STEPS).mixture


def _hard_start(table: Array, n_components: int, family: str, rng: np.random.Generator, n_jobs: int | None) -> Mixture:
    """One k-means and a few hard steps."""
    most = max(HARD_POINTS_A_COMPONENT * n_components, min(HARD_POINTS, HARD_NUMBERS // table.shape[1]))
    few = _part(table, most, rng)
    labels = _k_means(few, n_components, rng, n_jobs)
    plan = Plan(n_components, family=family, algorithm="k-mle", init=labels, tol=1.0, n_jobs=n_jobs)
    return learn(few, plan).mixture


def _k_means(X: Array, k: int, rng: np.random.Generator, n_jobs: int | None) -> Labels:
    plain = FixedCovarianceGaussian(K_MEANS_VARIANCE)
    seed = int(rng.integers(2**31))
    settings: dict[str, Any] = {"weights": "uniform", "tol": 1e-3, "random_state": seed, "n_jobs": n_jobs}
    return learn(X, Plan(k, family=plain, algorithm="k-mle", **settings)).labels


def _joined(first: Mixture, second: Mixture) -> Mixture:
    """Half of each."""
    weights = np.concatenate([first.weights, second.weights]) / 2
    return Mixture(first.family, weights, np.concatenate([first.natural, second.natural]))


def _part(table: Array, most: int, rng: np.random.Generator) -> Array:
    return table[np.sort(rng.choice(len(table), most, replace=False))] if len(table) > most else table
