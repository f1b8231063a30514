"""Where learning starts: k-means on a part of the points, in the units the picture was scaled to."""

from typing import Any

import numpy as np

from .. import KMLE, ExponentialFamilyMixture, Mixture
from ..families import FixedCovarianceGaussian
from ..learning import Fit
from ..numerics.arrays import Array

START_POINTS = 2**14
START_NUMBERS = 2**22
STARTS = 6
POLISH_POINTS = 2**16
POLISH_TOLERANCE = 2e-4
POINTS_A_COMPONENT = 20
"""At least this many points for each component, or the start knows too little of their covariances."""
SOFT_COLUMNS = 16
"""Up to this many columns EM follows k-means, and the best of several starts is polished on more points."""
K_MEANS_VARIANCE = 1e-2
"""Any variance gives the same k-means; this one has densities of about one."""


def starting_mixture(
    table: Array, n_components: int, family: str, rng: np.random.Generator, n_jobs: int | None
) -> Mixture:
    """The best of a few mixtures learned from a part of the points.

    k-means spreads the components evenly over picture and colours. From there learning ends higher, and sooner, than
    from seeds that follow the density, which crowd into the parts of one colour.
    """
    most = max(POINTS_A_COMPONENT * n_components, min(START_POINTS, START_NUMBERS // table.shape[1]))
    few = _part(table, most, rng)
    if table.shape[1] > SOFT_COLUMNS:
        return _one_start(few, n_components, family, False, rng, n_jobs).mixture
    starts = [_one_start(few, n_components, family, True, rng, n_jobs) for _ in range(STARTS)]
    best = max(starts, key=lambda fit: fit.objective).mixture
    polisher = ExponentialFamilyMixture(n_components, family=family, init=best, tol=POLISH_TOLERANCE, n_jobs=n_jobs)
    return polisher.fit(_part(table, max(most, POLISH_POINTS), rng)).mixture_


def _part(table: Array, most: int, rng: np.random.Generator) -> Array:
    return table[np.sort(rng.choice(len(table), most, replace=False))] if len(table) > most else table


def _one_start(
    few: Array, n_components: int, family: str, soft: bool, rng: np.random.Generator, n_jobs: int | None
) -> Fit:
    shared: dict[str, Any] = {"random_state": int(rng.integers(2**31)), "n_jobs": n_jobs, "tol": 1e-3}
    plain = KMLE(n_components, family=FixedCovarianceGaussian(K_MEANS_VARIANCE), weights="uniform", **shared).fit(few)
    if soft:
        return ExponentialFamilyMixture(n_components, family=family, init=plain.labels_, **shared).fit(few).fit_
    return KMLE(n_components, family=family, init=plain.labels_, **shared | {"tol": 1.0}).fit(few).fit_
