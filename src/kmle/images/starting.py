"""Where learning starts: k-means on a part of the points, in the units the picture was scaled to."""

from typing import Any

import numpy as np

from .. import KMLE, ExponentialFamilyMixture, Mixture
from ..families import FixedCovarianceGaussian
from ..numerics.arrays import Array

START_POINTS = 2**15
START_NUMBERS = 2**22
STARTS = 5
SOFT_COLUMNS = 16
"""Up to this many columns the start is polished by EM, and the best of several is taken."""
K_MEANS_VARIANCE = 1e-2
"""Any variance gives the same k-means; this one has densities of about one."""


def starting_mixture(
    table: Array, n_components: int, family: str, rng: np.random.Generator, n_jobs: int | None
) -> Mixture:
    """The best of a few mixtures learned from a part of the points.

    k-means spreads the components evenly over picture and colours. From there learning ends higher, and sooner, than
    from seeds that follow the density, which crowd into the parts of one colour.
    """
    most = max(2 * n_components, min(START_POINTS, START_NUMBERS // table.shape[1]))
    few = table[np.sort(rng.choice(len(table), most, replace=False))] if len(table) > most else table
    soft = table.shape[1] <= SOFT_COLUMNS
    mixtures = [_one_start(few, n_components, family, soft, rng, n_jobs) for _ in range(STARTS if soft else 1)]
    return max(mixtures, key=lambda mixture: float(mixture.log_density(few).mean())) if soft else mixtures[0]


def _one_start(
    few: Array, n_components: int, family: str, soft: bool, rng: np.random.Generator, n_jobs: int | None
) -> Mixture:
    shared: dict[str, Any] = {"random_state": int(rng.integers(2**31)), "n_jobs": n_jobs, "tol": 1e-3}
    plain = KMLE(n_components, family=FixedCovarianceGaussian(K_MEANS_VARIANCE), weights="uniform", **shared).fit(few)
    if soft:
        return ExponentialFamilyMixture(n_components, family=family, init=plain.labels_, **shared).fit(few).mixture_
    return KMLE(n_components, family=family, init=plain.labels_, **shared | {"tol": 1.0}).fit(few).mixture_
