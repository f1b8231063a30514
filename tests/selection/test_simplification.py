"""Simplified mixtures: nothing changes where nothing must, losses fall with k, moments stay, and it is quick."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.cluster.hierarchy import is_valid_linkage

from cases import BY_ID, CASES, case_id
from kmle import Mixture, kernel_density, simplify
from kmle import families as f
from kmle.divergences import kl
from mixture.drawing import typical

SIDES = ("right", "left", "symmetric")
METHODS = ("hierarchical", "clustering")


def loss_of(mixture, simplification, centroid):
    """The loss from its definition."""
    family, new = mixture.family, simplification.mixture.natural[simplification.assignment]
    right = mixture.weights @ family.kl(mixture.natural, new)
    left = mixture.weights @ family.kl(new, mixture.natural)
    return {"right": right, "left": left, "symmetric": 0.5 * (left + right)}[centroid]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_as_many_components_change_nothing(case, method):
    mixture, _ = typical(case, k=4)
    for options in ({"n_components": 4}, {"n_components": 9}, {"tolerance": 0.0}):
        simpler = simplify(mixture, method=method, **options)
        assert simpler.mixture == mixture
        assert simpler.assignment.tolist() == [0, 1, 2, 3]
        assert simpler.loss == 0


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_right_centroids_keep_the_moments(case):
    mixture, _ = typical(case, k=6)
    moment = mixture.weights @ mixture.moment
    scale = np.abs(mixture.weights @ np.abs(mixture.moment)).max()
    for method in METHODS:
        for k in (1, 2, 4):
            simpler = simplify(mixture, k, method=method, random_state=0).mixture
            np.testing.assert_allclose(simpler.weights @ simpler.moment, moment, rtol=0, atol=1e-12 * scale)
            assert simpler.weights.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("centroid", ["right", "left"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_loss_is_its_definition_and_falls_with_k(case, centroid):
    mixture, _ = typical(case, k=7, seed=1)
    for method in METHODS:
        before = np.inf
        for k in range(1, 8):
            simpler = simplify(mixture, k, method=method, centroid=centroid, random_state=0)
            assert simpler.mixture.n_components == k
            assert set(simpler.assignment) == set(range(k))
            assert simpler.loss == pytest.approx(loss_of(mixture, simpler, centroid), rel=1e-6, abs=1e-9)
            assert simpler.loss <= before + 1e-9
            before = simpler.loss


@pytest.mark.parametrize("case", ["gaussian-2", "poisson-1", "gamma-1", "bernoulli-3"])
def test_the_symmetric_loss_falls_with_k_as_well(case):
    mixture, _ = typical(BY_ID[case], k=6, seed=2)
    for method in METHODS:
        simpler = [simplify(mixture, k, method=method, centroid="symmetric") for k in range(1, 7)]
        for found in simpler:
            assert found.loss == pytest.approx(loss_of(mixture, found, "symmetric"), rel=1e-6, abs=1e-9)
        assert (np.diff([found.loss for found in simpler]) <= 1e-9).all()


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_mixtures_are_no_further_apart_than_the_loss(case):
    mixture, _ = typical(case, k=5, seed=4)
    right, left = (simplify(mixture, 2, centroid=centroid, random_state=0) for centroid in ("right", "left"))
    for first, second, loss in ((mixture, right.mixture, right.loss), (left.mixture, mixture, left.loss)):
        estimate = kl(first, second, 1000, random_state=0)
        assert estimate.value <= loss + 5 * estimate.standard_error


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from(SIDES), st.integers(1, 5))
def test_clustering_is_no_worse_than_merging_and_each_centre_is_the_best(seed, centroid, k):
    rng = np.random.default_rng(seed)
    mixture = Mixture.from_source("poisson", rng.dirichlet(np.ones(8)), rate=rng.gamma(1.0, 20.0, 8) + 0.1)
    merged = simplify(mixture, k, method="hierarchical", centroid=centroid)
    found = simplify(mixture, k, centroid=centroid, random_state=seed)
    assert found.loss <= merged.loss + 1e-9
    # Any other laws in the place of the centres cost more.
    moved = Mixture(found.mixture.family, found.mixture.weights, found.mixture.natural + rng.normal(0, 0.05, (k, 1)))
    other = type(found)(moved, found.assignment, 0.0, None)
    assert loss_of(mixture, other, centroid) >= found.loss - 1e-9


@pytest.mark.parametrize("centroid", SIDES)
@pytest.mark.parametrize("method", METHODS)
def test_tolerance_is_kept_by_as_few_components_as_can_be(method, centroid):
    mixture, _ = typical(BY_ID["gaussian-1"], k=9, seed=3)
    losses = [simplify(mixture, k, method=method, centroid=centroid, random_state=0).loss for k in range(1, 10)]
    for tolerance in (0.02, 0.2, 1.0, 1e6):
        simpler = simplify(mixture, tolerance=tolerance, method=method, centroid=centroid, random_state=0)
        assert simpler.loss <= tolerance
        if not (method == "clustering" and centroid == "symmetric"):
            assert simpler.mixture.n_components == 1 + next(k for k, loss in enumerate(losses) if loss <= tolerance)


@pytest.mark.parametrize("method", METHODS)
def test_a_single_component_is_as_simple_as_can_be(method):
    mixture = Mixture.from_source("poisson", [1.0], rate=[3.0])
    for options in ({"n_components": 1}, {"tolerance": 0.1}):
        assert simplify(mixture, method=method, **options).mixture == mixture


def test_equal_components_cost_nothing():
    mixture = Mixture.from_source("exponential", [0.1, 0.2, 0.3, 0.4], rate=[1.0, 5.0, 1.0, 5.0])
    for method in METHODS:
        simpler = simplify(mixture, tolerance=1e-12, method=method)
        assert simpler.assignment.tolist() == [0, 1, 0, 1]
        np.testing.assert_allclose(simpler.mixture.weights, [0.4, 0.6], rtol=1e-12)


def test_the_one_right_component_is_the_gaussian_of_the_whole():
    mixture, _ = typical(BY_ID["gaussian-2"], k=5)
    source, weights = mixture.source, mixture.weights
    mean = weights @ source["mean"]
    gap = source["mean"] - mean
    covariance = np.einsum("k,kij->ij", weights, source["covariance"] + gap[:, :, None] * gap[:, None, :])
    simpler = simplify(mixture, 1).mixture.source
    np.testing.assert_allclose(simpler["mean"][0], mean, rtol=1e-9)
    np.testing.assert_allclose(simpler["covariance"][0], covariance, rtol=1e-9)


def test_components_that_stand_for_themselves_are_as_they_were():
    mixture = Mixture.from_source(
        "gaussian", [0.3, 0.3, 0.4], mean=[[1e6], [1e6 + 9], [1e6 + 9.1]], covariance=np.ones((3, 1, 1))
    )
    simpler = simplify(mixture, 2)
    assert simpler.assignment.tolist() == [0, 1, 1]
    assert np.array_equal(simpler.mixture.natural[0], mixture.natural[0])
    np.testing.assert_allclose(simpler.mixture.source["covariance"][1], 1 + 0.1**2 * 12 / 49, rtol=1e-3)


@pytest.mark.parametrize("method", METHODS)
def test_components_without_weight_have_no_say(method):
    mixture = Mixture.from_source("poisson", [0.5, 0.0, 0.5, 0.0], rate=[1.0, 1.3, 20.0, 400.0])
    simpler = simplify(mixture, 2, method=method)
    assert simpler.assignment.tolist() == [0, 0, 1, 1]
    np.testing.assert_allclose(simpler.mixture.source["rate"].ravel(), [1.0, 20.0], rtol=1e-12)
    assert simpler.loss == 0


@pytest.mark.parametrize("centroid", SIDES)
def test_the_dendrogram_is_one_of_scipys(centroid):
    mixture, _ = typical(BY_ID["gaussian-2"], k=6)
    linkage = simplify(mixture, 3, method="hierarchical", centroid=centroid).linkage
    assert is_valid_linkage(linkage)
    assert len(linkage) == 5
    assert simplify(mixture, 3, centroid=centroid, random_state=0).linkage is None


# Kernel density estimates ---------------------------------------------------------------------------------------------


def test_one_column_is_scipys_estimate():
    X = np.random.default_rng(0).gamma(2.0, 1.5, (80, 1))
    weights = np.random.default_rng(1).uniform(0.2, 1.0, 80)
    grid = np.linspace(-1, 12, 50)
    for rule in ("scott", "silverman"):
        for w in (None, weights):
            expected = stats.gaussian_kde(X[:, 0], bw_method=rule, weights=w).logpdf(grid)
            for family in ("gaussian", "diagonal-gaussian", "spherical-gaussian"):
                density = kernel_density(X, rule, family, sample_weight=w).log_density(grid[:, None])
                np.testing.assert_allclose(density, expected, rtol=1e-9)
    assert kernel_density(X) == kernel_density(X, "silverman")


def test_each_column_has_its_own_bandwidth():
    X = np.random.default_rng(0).standard_normal((50, 2)) * [1.0, 100.0]
    covariance = kernel_density(X).source["covariance"][0]
    np.testing.assert_allclose(np.sqrt(np.diag(covariance)), X.std(axis=0, ddof=1) * 50 ** (-1 / 6), rtol=1e-9)
    assert covariance[0, 1] == 0
    np.testing.assert_allclose(kernel_density(X, [0.5, 3.0]).source["covariance"][7], np.diag([0.25, 9.0]), rtol=1e-9)
    np.testing.assert_allclose(kernel_density(X, [3.0, 4.0], "spherical-gaussian").source["variance"], 12.5, rtol=1e-9)


def test_log_normal_kernels_stay_positive():
    X = np.random.default_rng(0).lognormal(0.0, 1.0, (40, 1))
    density = kernel_density(X, family="log-normal")
    assert density.sample(200, random_state=0).min() > 0
    np.testing.assert_allclose(density.source["log_mean"], np.log(X), rtol=1e-9, atol=1e-12)


def test_a_kernel_density_is_simplified():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(-4, 1, (600, 1)), rng.normal(4, 0.5, (400, 1))])
    simpler = simplify(kernel_density(X), 2, random_state=0).mixture
    np.testing.assert_allclose(simpler.weights, [0.6, 0.4], atol=1e-9)
    np.testing.assert_allclose(simpler.source["mean"].ravel(), [X[:600].mean(), X[600:].mean()], rtol=1e-9)


@pytest.mark.parametrize(
    ("X", "options", "words"),
    [
        ([[1.0], [1.0]], {}, "column 0 is constant"),
        ([[1.0], [2.0]], {"bandwidth": -1.0}, "bandwidth is -1.0"),
        ([[1.0], [2.0]], {"bandwidth": [1.0, 2.0]}, "one for each of 1 columns"),
        ([[1.0], [2.0]], {"bandwidth": "wide"}, "bandwidth is 'wide'"),
        ([[1.0], [2.0]], {"family": "poisson"}, "no kernel of family poisson"),
        ([[1.0], [-2.0]], {"family": "log-normal"}, "above 0"),
    ],
)
def test_bad_kernels_get_one_sentence(X, options, words):
    with pytest.raises(ValueError, match=words):
        kernel_density(X, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "n_components or tolerance"),
        ({"n_components": 2, "tolerance": 1.0}, "not both"),
        ({"n_components": 0}, "n_components is 0"),
        ({"tolerance": -1.0}, "tolerance is -1.0"),
        ({"n_components": 1, "method": "k-means"}, "method is 'k-means'"),
        ({"n_components": 1, "centroid": "middle"}, "centroid is 'middle'"),
        ({"n_components": 1, "n_init": -1}, "n_init is -1"),
    ],
)
def test_bad_input_gets_one_sentence(options, words):
    with pytest.raises(ValueError, match=words):
        simplify(Mixture(f.Poisson(n_features=1), [0.5, 0.5], [[0.0], [1.0]]), **options)
