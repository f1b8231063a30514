"""Gaussians with few directions of their own: their closed form, scores with d q products, and refusals."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from kmle import KMLE, ExponentialFamilyMixture, Mixture, select
from kmle.engines.low_rank.engine import LowRankEngine
from kmle.engines.panels.engine import PanelsEngine
from kmle.families import Gaussian, resolve
from kmle.families.low_rank_gaussian import LowRankGaussian
from kmle.problem.problem import Problem


def rows(n=600, d=6, q=2, k=3, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    axes, means = rng.standard_normal((k, d, q)), 4 * rng.standard_normal((k, d))
    which = rng.integers(k, size=n)
    inside = np.einsum("nij,nj->ni", axes[which], rng.standard_normal((n, q)))
    return means[which] + inside + noise * rng.standard_normal((n, d)), which


def test_one_component_is_principal_component_analysis():
    """Tipping and Bishop: the q largest eigenvalues, and the mean of the others."""
    X, _ = rows(k=1)
    found = Gaussian(rank=2).mle(X).source["covariance"][0]
    expected, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    values = np.linalg.eigvalsh(found)
    np.testing.assert_allclose(values[-2:], expected[-2:], rtol=1e-10)
    np.testing.assert_allclose(values[:-2], expected[:-2].mean(), rtol=1e-10)
    np.testing.assert_allclose(found @ vectors[:, -1], expected[-1] * vectors[:, -1], atol=1e-10)


def test_no_covariance_of_this_rank_is_more_likely():
    X, _ = rows(k=1)
    best = Gaussian(rank=2).mle(X)
    mean, covariance = best.source["mean"][0], best.source["covariance"][0]
    value = multivariate_normal(mean, covariance).logpdf(X).sum()
    rng = np.random.default_rng(1)
    values, vectors = np.linalg.eigh(covariance)
    for _ in range(20):
        turned = np.linalg.qr(vectors + 0.05 * rng.standard_normal(vectors.shape))[0]
        other = values * np.exp(0.05 * rng.standard_normal(len(values)))
        other[:-2] = other[0]
        assert multivariate_normal(mean, (turned * other) @ turned.T).logpdf(X).sum() < value


def test_parameters_are_counted():
    family = Gaussian(rank=3, n_features=10)
    assert family.n_parameters_for(4) == 4 * (10 + 30 - 3 + 1)
    full, almost = Gaussian(n_features=4).n_parameters, Gaussian(rank=3, n_features=4).n_parameters
    assert full == almost


@pytest.mark.parametrize("algorithm", ["em", "hard-em", "k-mle"])
def test_the_objective_never_falls_and_fits_are_in_the_model(algorithm):
    X, _ = rows()
    estimator = ExponentialFamilyMixture if algorithm == "em" else KMLE
    weights = np.random.default_rng(2).uniform(0.5, 2.0, len(X))
    model = estimator(3, family=Gaussian(rank=2), algorithm=algorithm, random_state=0).fit(X, sample_weight=weights)
    assert np.all(np.diff(model.result_.objectives) >= -1e-8)
    values = np.linalg.eigvalsh(model.mixture_.source["covariance"])
    np.testing.assert_allclose(values[:, :-2], np.repeat(values[:, :1], 4, axis=1), rtol=1e-6)


def test_the_rank_is_chosen():
    X, _ = rows(n=1500)
    found = select(X, [Gaussian(rank=q) for q in (1, 2, 3)] + ["gaussian", "spherical-gaussian"], (2, 3, 4))
    assert isinstance(found.best.family, LowRankGaussian)
    assert (found.best.family.rank, found.best.n_components) == (2, 3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"rank": 0}, "rank is 0"),
        ({"rank": 1.5}, "rank is 1.5"),
        ({"rank": 6, "n_features": 6}, "rank is 6 for 6 columns"),
        ({"rank": 2, "structure": "VEV"}, "one or the other"),
    ],
)
def test_wrong_ranks_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        Gaussian(**wrong)


def test_a_rank_of_all_columns_is_refused_by_a_fit():
    with pytest.raises(ValueError, match="must be below their number"):
        KMLE(2, family=resolve("low-rank-gaussian", rank=6)).fit(rows()[0])


def test_model_files_keep_the_rank(tmp_path):
    X, _ = rows()
    mixture = KMLE(2, family=Gaussian(rank=2), random_state=0).fit(X).mixture_
    mixture.save(tmp_path / "model.json")
    again = Mixture.load(tmp_path / "model.json")
    assert again.family == mixture.family
    np.testing.assert_array_equal(again.log_density(X), mixture.log_density(X))


# Many columns: the engine ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def wide():
    X, which = rows(n=900, d=40, q=3, k=4, seed=3)
    weights = np.random.default_rng(4).uniform(0.5, 2.0, len(X))
    problem = Problem(LowRankGaussian(rank=3, n_features=40), X, weights)
    statistics = problem.gather(which.astype(np.int32), 4)
    parameters = problem.first_parameters(statistics)
    return problem, parameters.natural, problem.bias(parameters)


def test_passes_are_those_of_full_gaussians(wide):
    problem, natural, bias = wide
    fast, plain = LowRankEngine(problem.rows), PanelsEngine(problem.rows)
    assert problem.engine.name == "low-rank"
    np.testing.assert_array_equal(fast.hard_pass(natural, bias)[0].labels, plain.hard_pass(natural, bias)[0].labels)
    for kept in (None, 2):
        ours, theirs = fast.soft_pass(natural, bias, kept), plain.soft_pass(natural, bias, kept)
        np.testing.assert_allclose(ours.counts, theirs.counts, rtol=1e-9)
        np.testing.assert_allclose(ours.sums, theirs.sums, rtol=1e-8, atol=1e-8)
        assert ours.score == pytest.approx(theirs.score, rel=1e-10)
    np.testing.assert_allclose(fast.log_likelihood(natural, bias), plain.log_likelihood(natural, bias), rtol=1e-9)
    np.testing.assert_allclose(fast.scores(natural, bias), plain.scores(natural, bias), rtol=1e-9)


def test_inactive_components_get_no_rows(wide):
    problem, natural, bias = wide
    without = np.where(np.arange(4) == 2, -np.inf, bias)
    found = LowRankEngine(problem.rows).soft_pass(natural, without)
    assert found.counts[2] == 0
    assert found.score == pytest.approx(PanelsEngine(problem.rows).soft_pass(natural, without).score, rel=1e-10)


def test_narrow_components_are_scored_by_panels(wide):
    """Far from the center in units of their width, products of matrices would round too much."""
    problem, natural, bias = wide
    narrow = natural * 1e10
    parameters_bias = bias - problem.family.log_normalizer(narrow) + problem.family.log_normalizer(natural)
    ours = LowRankEngine(problem.rows).hard_pass(narrow, parameters_bias)[0].labels
    theirs = PanelsEngine(problem.rows).hard_pass(narrow, parameters_bias)[0].labels
    np.testing.assert_array_equal(ours, theirs)


def test_densities_of_wide_rows():
    X, _ = rows(n=300, d=40, q=3, k=2, seed=5)
    mixture = KMLE(2, family=Gaussian(rank=3), random_state=0).fit(X).mixture_
    source = mixture.source
    each = [multivariate_normal(m, c).logpdf(X) for m, c in zip(source["mean"], source["covariance"], strict=True)]
    joint = np.log(mixture.weights) + np.array(each).T
    np.testing.assert_allclose(mixture.log_density(X), np.logaddexp.reduce(joint, axis=1), rtol=1e-8)
    np.testing.assert_array_equal(mixture.predict(X), joint.argmax(axis=1))
    np.testing.assert_allclose(
        mixture.posterior(X), np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None]), atol=1e-8
    )
