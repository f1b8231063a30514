"""The k-means optima of the irises, proven by O. du Merle, P. Hansen, B. Jaumard and N. Mladenovic (2000), "An interior
point algorithm for minimum sum-of-squares clustering", SIAM Journal on Scientific Computing 21, 1485-1505.

With covariance one and equal weights, k-MLE is k-means: CLL = -WSS / 2 - n d / 2 log 2 pi - n log k.
"""

import numpy as np
import pytest

from kmle import KMLE, Mixture
from kmle.families import FixedCovarianceGaussian
from published.datasets import IRIS

OPTIMA = {2: 152.347952, 3: 78.851441, 4: 57.228473, 5: 46.446182, 6: 39.039987}
N, D = IRIS.shape


def sum_of_squares(objective, k):
    return -2 * (objective + N * D / 2 * np.log(2 * np.pi) + N * np.log(k))


def direct_sum_of_squares(model):
    return sum(((own - own.mean(axis=0)) ** 2).sum() for own in (IRIS[model.labels_ == j] for j in set(model.labels_)))


@pytest.mark.parametrize("algorithm", ["k-mle", "hartigan", "swap"])
@pytest.mark.parametrize("k", OPTIMA)
def test_restarts_reach_the_proven_optimum(k, algorithm):
    n_init = {"k-mle": 100, "hartigan": 30, "swap": 10}[algorithm]
    options = {"weights": "uniform", "prior_strength": 0, "n_init": n_init, "random_state": 0}
    model = KMLE(k, family=FixedCovarianceGaussian(), algorithm=algorithm, **options).fit(IRIS)
    assert sum_of_squares(model.objective_, k) == pytest.approx(OPTIMA[k], abs=1e-6)
    assert direct_sum_of_squares(model) == pytest.approx(OPTIMA[k], abs=1e-6)


def test_nothing_goes_below_the_proven_optimum():
    for k, optimum in OPTIMA.items():
        for seed in range(10):
            model = KMLE(k, family=FixedCovarianceGaussian(), weights="uniform", prior_strength=0, random_state=seed)
            assert sum_of_squares(model.fit(IRIS).objective_, k) >= optimum - 1e-6


def test_lloyd_as_r_runs_it():
    """R: kmeans(iris[, 1:4], iris[c(1, 51, 101), 1:4], algorithm = "Lloyd")."""
    start = Mixture.from_source(FixedCovarianceGaussian(), np.full(3, 1 / 3), mean=IRIS[[0, 50, 100]])
    model = KMLE(3, family=FixedCovarianceGaussian(), weights="uniform", prior_strength=0, init=start).fit(IRIS)
    assert sum_of_squares(model.objective_, 3) == pytest.approx(78.8514414261, abs=1e-9)
    assert np.bincount(model.labels_).tolist() == [50, 62, 38]
