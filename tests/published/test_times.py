"""Deaths of women over eighty in the London Times, a mixture of Poisson laws.

V. Hasselblad (1969), "Estimation of finite mixtures of distributions from the exponential family", Journal of the
American Statistical Association 64, 1459-1471. The estimates are those in the tests of the R package SQUAREM
(Hasselblad1969.R), the log-likelihood that of the worked example of the R package BB.
"""

import numpy as np
import pytest
from scipy import stats

from kmle import KMLE, ExponentialFamilyMixture
from kmle.algorithms import Exact

DEATHS = np.arange(10.0)[:, None]
DAYS = np.array([162, 267, 271, 185, 111, 61, 27, 8, 3, 1], dtype=float)


def exact(k, **options):
    """The exact optimum of the complete likelihood with exactly k components."""
    model = KMLE(k, family="poisson", algorithm=Exact(exactly=True), **options).fit(DEATHS, sample_weight=DAYS)
    order = np.argsort(model.mixture_.source["rate"].ravel())
    rates = model.mixture_.source["rate"].ravel()[order]
    # The second-best number of components is no fixed point: the labels of its mixture are not those behind it.
    shares = (
        np.array([DAYS[model.labels_ == j].sum() for j in order]) / DAYS.sum() if options else model.weights_[order]
    )
    return model.objective_, rates, np.round(shares * DAYS.sum(), 6)


def test_one_component():
    model = ExponentialFamilyMixture(1, family="poisson").fit(DEATHS, sample_weight=DAYS)
    assert model.mixture_.source["rate"].item() == pytest.approx(2.156934, abs=1e-6)
    assert model.result_.log_likelihood == pytest.approx(-2001.397847, abs=1e-6)
    assert model.result_.log_likelihood == pytest.approx(
        DAYS @ stats.poisson(2.15693431).logpmf(DEATHS[:, 0]), abs=1e-6
    )


def test_hasselblads_two_components():
    # The likelihood is flat: plain EM takes thousands of steps.
    model = ExponentialFamilyMixture(
        2, family="poisson", prior_strength=0, tol=1e-15, max_iter=20_000, random_state=0
    ).fit(DEATHS, sample_weight=DAYS)
    order = np.argsort(-model.mixture_.source["rate"].ravel())
    assert model.result_.log_likelihood == pytest.approx(-1989.946, abs=5e-4)
    assert model.result_.log_likelihood == pytest.approx(-1989.945860, abs=1e-6)
    np.testing.assert_allclose(model.weights_[order], [0.6401146029910, 1 - 0.6401146029910], atol=1e-4)
    rates = model.mixture_.source["rate"].ravel()[order]
    np.testing.assert_allclose(rates, [2.6634043566619, 1.2560951012662], atol=2e-4)


def test_the_exact_complete_likelihood_with_learned_weights():
    one, two, three = exact(1), exact(2), exact(3)
    assert one[0] == pytest.approx(-2001.397847, abs=1e-6)
    assert two[0] == pytest.approx(-2003.373126, abs=1e-6)
    assert three[0] == pytest.approx(-2010.0232, abs=1e-4)
    np.testing.assert_allclose(two[1], [2.150685, 9.0], atol=1e-6)
    assert two[2].tolist() == [1095, 1]


def test_fewer_components_explain_more_when_labels_count():
    # Every extra component costs entropy: asked for three at most, the optimum has one.
    model = KMLE(3, family="poisson", algorithm="exact").fit(DEATHS, sample_weight=DAYS)
    assert model.mixture_.n_components == 1
    assert model.objective_ == pytest.approx(-2001.397847, abs=1e-6)


def test_the_exact_complete_likelihood_with_equal_weights():
    objective, rates, days = exact(2, weights="uniform")
    assert objective == pytest.approx(-2302.822135, abs=1e-6)
    np.testing.assert_allclose(rates, [0.622378, 3.143928], atol=1e-6)
    assert days.tolist() == [429, 667]  # the cut is at x <= 1
    objective, rates, days = exact(3, weights="uniform")
    assert objective == pytest.approx(-2565.676555, abs=1e-6)
    np.testing.assert_allclose(rates, [0.0, 1.503717, 3.926768], atol=1e-6)
    assert days.tolist() == [162, 538, 396]


def test_rows_and_counts_are_the_same_data():
    rows = np.repeat(DEATHS, DAYS.astype(int), axis=0)
    model = KMLE(2, family="poisson", algorithm="exact", weights="uniform").fit(rows)
    assert model.objective_ == pytest.approx(-2302.822135, abs=1e-6)
