"""Complete rows through the code for rows with holes: the same numbers."""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture
from kmle.algorithms import SoftEM
from kmle.families import (
    Binomial,
    FixedCovarianceGaussian,
    Gaussian,
    GeneralizedGaussian,
    NegativeBinomial,
    Poisson,
    Product,
    resolve,
)

N = 120


def tables():
    """Rows of two clusters (N, d) of each kind, and the families for them."""
    rng = np.random.default_rng(5)
    first = (np.arange(N) % 5 < 2)[:, None]
    counts = np.where(first, rng.poisson(3, (N, 2)), rng.poisson(11, (N, 2))).astype(float)
    positive = np.where(first, rng.gamma(3, 1, (N, 2)), rng.gamma(8, 3, (N, 2))) + 0.1
    real = np.where(first, rng.normal(0, 1, (N, 3)), rng.normal(3, 2, (N, 3))) @ [[1, 0.3, 0], [0, 1, 0.5], [0, 0, 1]]
    angles = np.where(first, rng.vonmises(0, 3, (N, 2)), rng.vonmises(2, 5, (N, 2)))
    both = np.column_stack([counts[:, 0], real])
    for name in ("poisson", "geometric", "negative-binomial"):
        yield name, counts
    yield Binomial(40), counts
    yield "zero-truncated-poisson", counts + 1
    yield "bernoulli", (counts > 6).astype(float)
    yield "beta", 1 / (1 + np.exp(-real))
    yield "von-mises", angles
    for name in ("gamma", "exponential", "log-normal", "inverse-gamma", "inverse-gaussian", "rayleigh", "weibull"):
        yield name, positive
    for name in ("gaussian", "diagonal-gaussian", "spherical-gaussian", "gaussian-eee", "gaussian-vvi", "gaussian-eve"):
        yield name, real
    for name in ("student-t", "laplace"):
        yield name, real
    yield FixedCovarianceGaussian(np.eye(3)), real
    yield Product((Poisson(), Gaussian(n_features=3))), both
    yield Product((NegativeBinomial(), Gaussian(n_features=3))), both


TABLES = [pytest.param(family, X, id=f"{place}-{resolve(family).name}") for place, (family, X) in enumerate(tables())]


@pytest.mark.filterwarnings("ignore:The fit reached max_iter")
@pytest.mark.parametrize(("family", "X"), TABLES)
def test_complete_rows_beside_one_with_a_hole_have_the_same_fit(family, X):
    labels = (np.arange(N) % 3 > 0).astype(int)
    hole = np.full((1, X.shape[1]), np.nan)
    hole[0, 0] = X[3, 0]
    # The row with a hole has next to no weight. Weights are shares of all rows, so that they sum to N + 1.
    H, own_weights, weights = np.vstack([X, hole]), np.full(N, (N + 1) / N), np.append(np.ones(N), 1e-14)
    start = ExponentialFamilyMixture(2, family=family, init=labels, max_iter=1).fit(X).mixture_
    for estimator, algorithm in ((ExponentialFamilyMixture, SoftEM(accelerated=False)), (KMLE, "hard-em")):
        model = estimator(2, family=family, algorithm=algorithm, init=start, tol=0, max_iter=3)
        complete = model.fit(X, sample_weight=own_weights)
        density, posterior, found = complete.score_samples(X), complete.predict_proba(X), complete.mixture_.natural
        objective = complete.result_.objective
        holed = model.fit(H, sample_weight=weights)
        np.testing.assert_allclose(holed.mixture_.natural, found, rtol=1e-10, atol=1e-10 * np.abs(found).max())
        np.testing.assert_allclose(holed.result_.objective, objective, rtol=1e-10)
        np.testing.assert_allclose(holed.score_samples(H)[:N], density, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(holed.predict_proba(H)[:N], posterior, rtol=0, atol=1e-10)


def test_hard_fits_of_generalized_gaussians_end_where_a_further_fit_gains_nothing():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.laplace(0, 1, 100), rng.normal(4, 1, 80)])[:, None]
    model = KMLE(2, family=GeneralizedGaussian(), init=(np.arange(180) >= 100).astype(int), algorithm="hard-em").fit(X)
    again = KMLE(2, family=GeneralizedGaussian(), init=model.mixture_, algorithm="hard-em").fit(X)
    assert again.result_.objective - model.result_.objective < 1e-7
