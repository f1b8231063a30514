"""Hard fits of overlapping components are biased, soft ones are not (Bryant and Williamson, Biometrika 1978)."""

import numpy as np
import pytest
from scipy import stats

from kmle import KMLE, ExponentialFamilyMixture, Mixture, families

N = 400_000
FAMILY = families.FixedCovarianceGaussian(1.0, n_features=1)
TRUTH = Mixture.from_source(FAMILY, [0.5, 0.5], mean=[-1.0, 1.0])
START = Mixture.from_source(FAMILY, [0.5, 0.5], mean=[-0.5, 2.5])
X = TRUTH.sample(N, random_state=0)


def fitted_means(model):
    return np.sort(model.fit(X).mixture_.source["mean"].ravel())


def test_the_means_of_a_hard_fit_are_pulled_apart():
    # With equal weights the border is 0, so each mean is that of one half: E|x| for x ~ N(1, 1), a folded normal.
    limit = np.sqrt(2 / np.pi) * np.exp(-0.5) + 1 - 2 * stats.norm.cdf(-1)
    assert limit == pytest.approx(1.16663, abs=1e-5)
    means = fitted_means(KMLE(2, family=FAMILY, weights="uniform", prior_strength=0, init=START))
    # Var |x| = E x^2 - limit^2 of N / 2 rows; the fitted border moves with the sample, which about doubles the error.
    error = np.sqrt((2 - limit**2) / (N / 2))
    assert np.abs(means - [-limit, limit]).max() < 8 * error
    assert np.abs(means).min() > 1.16


def test_the_means_of_em_are_not():
    model = ExponentialFamilyMixture(2, family=FAMILY, weights="uniform", prior_strength=0, init=START, tol=1e-11)
    means = fitted_means(model)
    # The information in a row about the two means, by quadrature, bounds what N rows can tell.
    x, width = np.linspace(-9, 9, 20001, retstep=True)
    left, right = 0.5 * stats.norm(-1).pdf(x), 0.5 * stats.norm(1).pdf(x)
    scores = np.stack([left * (x + 1), right * (x - 1)]) / (left + right)
    information = width * (scores * (left + right)) @ scores.T
    error = np.sqrt(np.diag(np.linalg.inv(information)) / N)
    assert np.abs((means - [-1.0, 1.0]) / error).max() < 4
    assert error.max() < 0.005


def test_well_separated_components_show_no_bias():
    truth = Mixture.from_source(FAMILY, [0.5, 0.5], mean=[-5.0, 5.0])
    rows = truth.sample(20_000, random_state=1)
    means = KMLE(2, family=FAMILY, prior_strength=0, init=truth).fit(rows).mixture_.source["mean"].ravel()
    np.testing.assert_allclose(means, [-5.0, 5.0], atol=5 / np.sqrt(10_000))
