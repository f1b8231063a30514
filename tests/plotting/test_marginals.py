"""The distributions of single columns, their means and quantiles."""

import numpy as np
import pytest
from scipy import stats

from cases import BY_ID, UNIVARIATE, case_id
from kmle import ExponentialFamilyMixture, Mixture
from kmle.families import FixedCovarianceGaussian
from kmle.plotting.marginals import marginal, means
from kmle.plotting.quantiles import mixture_quantiles
from mixture.drawing import typical


@pytest.mark.parametrize(
    "name", ["gamma-2", "poisson-2", "bernoulli-3", "diagonal-gaussian-2", "categorical-two-columns"]
)
def test_independent_columns_multiply_to_the_whole(name):
    mixture, _ = typical(BY_ID[name], k=1)
    X = mixture.sample(20, 0)
    parts = [marginal(mixture, [column]).log_density(X[:, [column]]) for column in range(X.shape[1])]
    np.testing.assert_allclose(np.sum(parts, axis=0), mixture.log_density(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("family", "spread", "deviation"),
    [
        ("gaussian", {"covariance": [[[2.0, 0.6], [0.6, 4.0]]]}, 2.0),
        ("diagonal-gaussian", {"variance": [[2.0, 9.0]]}, 3.0),
        ("spherical-gaussian", {"variance": [16.0]}, 4.0),
        (FixedCovarianceGaussian(((2.0, 0.6), (0.6, 0.25))), {}, 0.5),
        (FixedCovarianceGaussian(2.25, n_features=2), {}, 1.5),
    ],
)
def test_gaussian_columns_are_those_of_scipy(family, spread, deviation):
    mixture = Mixture.from_source(family, [1.0], mean=[[1.0, -3.0]], **spread)
    x = np.linspace(-6, 4, 9)
    np.testing.assert_allclose(marginal(mixture, [1]).log_density(x), stats.norm(-3, deviation).logpdf(x), rtol=1e-9)


def test_a_share_of_a_dirichlet_is_beta():
    mixture = Mixture.from_source("dirichlet", [1.0], concentration=[[2.0, 3.0, 4.0]])
    x = np.linspace(0.1, 0.9, 5)
    np.testing.assert_allclose(marginal(mixture, [2]).log_density(x), stats.beta(4, 5).logpdf(x))


def test_blocks_of_a_product_are_found():
    mixture, _ = typical(BY_ID["product"], k=2)
    X = mixture.sample(30, 0)
    assert marginal(mixture, [1]).family.name == "gamma"
    assert marginal(mixture, [3, 2]).family.name == "gaussian"
    assert [block.name for block in marginal(mixture, [3, 0]).family.families] == ["gaussian", "poisson"]
    assert marginal(mixture, [2, 0, 3]) is None
    joint = marginal(mixture, [0, 2]).log_joint(X[:, [0, 2]]) + np.log(mixture.weights)
    parts = marginal(mixture, [0]).log_joint(X[:, [0]]) + marginal(mixture, [2]).log_joint(X[:, [2]])
    np.testing.assert_allclose(joint, parts, rtol=1e-9)


@pytest.mark.parametrize("case", [c for c in UNIVARIATE if c.id != "von-mises"], ids=case_id)
def test_means_and_quantiles_are_those_of_scipy(case):
    mixture, points = typical(case, k=1)
    (twin,) = case.twins_at(points)
    mean = float(np.squeeze(twin.frozen.mean()))
    if np.isfinite(mean):
        np.testing.assert_allclose(means(mixture), mean, rtol=1e-6, atol=1e-9)
    shares = np.array([0.01, 0.2, 0.5, 0.83, 0.99])
    expected = np.squeeze(twin.frozen.ppf(shares[:, None]))
    np.testing.assert_allclose(mixture_quantiles(mixture, shares), expected, rtol=1e-3, atol=1e-3)


def test_quantiles_of_a_mixture_invert_its_distribution():
    mixture = Mixture.from_source("gaussian", [0.3, 0.7], mean=[[0.0], [4.0]], covariance=[[[1.0]], [[4.0]]])
    shares = np.linspace(0.005, 0.995, 41)
    x = mixture_quantiles(mixture, shares)
    np.testing.assert_allclose(0.3 * stats.norm(0, 1).cdf(x) + 0.7 * stats.norm(4, 2).cdf(x), shares, atol=1e-4)


@pytest.mark.parametrize("family", ["student-t", ["student-t", "gaussian"]])
def test_columns_of_student_t_and_of_mixed_components_have_densities(family):
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 2, 3]
    mixture = ExponentialFamilyMixture(2, family=family, random_state=0).fit(X).mixture_
    column = marginal(mixture, [1])
    np.testing.assert_allclose(column.log_density(X[:, [1]]), mixture.marginal([1]).log_density(X[:, [1]]))
    assert means(mixture).shape == (2, 3)
