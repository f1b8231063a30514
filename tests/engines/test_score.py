"""Scores of rows on the compiled passes, against the families' own densities in NumPy."""

import numpy as np
import pytest
import scipy
from scipy.special import logsumexp, softmax

from cases import CASES, case_id
from kmle import Mixture
from kmle.engines import packed_scorer, score, scorer
from kmle.engines.panels import coordinates
from kmle.families import FixedCovarianceGaussian, Gamma, Gaussian, Multinomial, Poisson, Product
from kmle.mixture.densities import of_rows
from mixture.drawing import typical

GAUSSIANS = ["gaussian", "diagonal-gaussian", "spherical-gaussian"]


def check(mixture, X, tolerance=1e-9):
    """All that a mixture says of rows, against the twin in NumPy."""
    with np.errstate(divide="ignore"):
        joint = mixture.family.log_density(X, mixture.natural) + np.log(mixture.weights)
    total = logsumexp(joint, axis=1)
    np.testing.assert_allclose(mixture.log_joint(X), joint, rtol=1e-10, atol=tolerance)
    np.testing.assert_allclose(mixture.log_density(X), total, rtol=1e-10, atol=tolerance)
    np.testing.assert_allclose(mixture.posterior(X), softmax(joint, axis=1), rtol=0, atol=10 * tolerance)
    complete = joint.max(axis=1).sum()
    assert mixture.complete_log_likelihood(X) == pytest.approx(complete, rel=1e-10, abs=tolerance)
    assert mixture.log_likelihoods(X) == pytest.approx((total.sum(), complete), rel=1e-10, abs=tolerance)
    top = np.sort(joint, axis=1)
    clear = np.ones(len(joint), bool) if top.shape[1] == 1 else top[:, -1] - top[:, -2] > 10 * tolerance
    np.testing.assert_array_equal(mixture.predict(X)[clear], joint.argmax(axis=1)[clear])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_block_by_block(case, dtype, monkeypatch):
    for name in ("FEWEST_ROWS", "FEWEST_LABELS", "MOST_LABELS", "BLOCK_BYTES", "LABEL_BYTES", "ROWS_A_PIECE"):
        monkeypatch.setattr(packed_scorer, name, 64)
    monkeypatch.setattr(scorer, "ROWS_A_PIECE", 64)
    mixture, _ = typical(case, k=3, seed=4)
    X = mixture.sample(150, random_state=0).astype(dtype)
    try:
        mixture.family.check(X)
    except ValueError:
        pytest.skip("rounded to single precision these rows leave the support")
    check(mixture, X, tolerance=1e-8)


def gaussians(family, k, d, seed, offset=0.0, spread=1.0):
    rng = np.random.default_rng(seed)
    mean, scale = offset + rng.normal(size=(k, d)), spread**2 * rng.uniform(0.5, 2.0, (k, d))
    source = {
        "gaussian": {"covariance": np.einsum("ka,ab->kab", scale, np.eye(d)) + 0.1 * spread**2},
        "diagonal-gaussian": {"variance": scale},
        "spherical-gaussian": {"variance": scale[:, 0]},
    }[family]
    return Mixture.from_source(family, rng.dirichlet(np.ones(k)), mean=mean, **source)


@pytest.mark.parametrize("family", GAUSSIANS)
@pytest.mark.parametrize(
    ("offset", "spread", "outlier"), [(0, 1, 1e12), (1e7, 1, 1e9), (1e3, 1e-4, 1e3), (-1e9, 10, 0)]
)
def test_outliers_offsets_and_narrow_components(family, offset, spread, outlier):
    mixture = gaussians(family, 4, 3, 5, offset, spread)
    X = mixture.sample(500, random_state=1)
    X[3, 1] += outlier
    check(mixture, X, tolerance=1e-6)


@pytest.mark.parametrize("covariance", [2.0, [1.0, 4.0], [[2.0, 1.0], [1.0, 3.0]]])
def test_known_covariances_keep_their_digits_beside_an_outlier(covariance):
    family = FixedCovarianceGaussian(covariance=np.array(covariance).tolist(), n_features=2)
    rng = np.random.default_rng(6)
    mean = 1e4 + rng.normal(size=(3, 2))
    mixture = Mixture.from_source(family, [0.2, 0.3, 0.5], mean=mean)
    X = 1e4 + rng.normal(size=(300, 2))
    X[5] = 1e11
    check(mixture, X, tolerance=1e-6)


def mixed(means):
    """A block of known covariance, one of counts and one that is Gaussian."""
    family = Product((FixedCovarianceGaussian(n_features=2), Poisson(), Gaussian(n_features=2)))
    k = len(means)
    return Mixture.from_source(
        family,
        np.full(k, 1 / k),
        fixed_covariance_gaussian_mean=means,
        poisson_rate=np.linspace(2.0, 9.0, k),
        gaussian_mean=means[::-1],
        gaussian_covariance=np.tile(np.eye(2), (k, 1, 1)),
    )


@pytest.mark.parametrize("outlier", [0.0, 1e9])
def test_products_with_a_block_of_known_covariance(outlier):
    mixture = mixed(100 + np.random.default_rng(7).normal(size=(3, 2)))
    X = mixture.sample(400, random_state=2)
    X[9, 1] += outlier
    X[11, 4] += outlier
    check(mixture, X, tolerance=1e-6)


def test_huge_counts_and_narrow_gammas_are_left_to_their_own_densities():
    check(Mixture.from_source("poisson", [0.5, 0.5], rate=[1e10, 1.01e10]), [[1e10], [1.005e10], [3.0]], 1e-3)
    narrow = Mixture.from_source(Gamma(), [0.5, 0.5], shape=[1e9, 2e9], scale=[1e-9, 1e-9])
    check(narrow, [[1.0], [1.5], [2.0]], 1e-6)


@pytest.mark.parametrize("rows_a_column", [0, 10**9])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_wide_rows(offset, rows_a_column, monkeypatch):
    monkeypatch.setattr(coordinates, "TURN_FROM_ROWS", rows_a_column)
    monkeypatch.setattr(score, "PANELS_ROWS", 256)
    mixture = gaussians("gaussian", 3, 40, 8, offset)
    X = mixture.sample(700, random_state=3)
    X[7, 3] += 1e5
    check(mixture, X, tolerance=1e-7)


def test_sparse_rows_are_scored_as_filled_in_ones():
    rng = np.random.default_rng(9)
    mixture = Mixture.from_source("poisson", [0.4, 0.6], rate=rng.uniform(0.01, 0.5, (2, 30)))
    X = mixture.sample(200, random_state=4)
    sparse = scipy.sparse.csr_array(X)
    np.testing.assert_allclose(mixture.log_density(sparse), mixture.log_density(X), rtol=1e-12)
    np.testing.assert_allclose(mixture.posterior(sparse), mixture.posterior(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(mixture.predict(sparse), mixture.predict(X))


def test_a_row_says_the_same_alone_and_among_others():
    mixture = gaussians("gaussian", 5, 4, 10)
    X = mixture.sample(20_000, random_state=5)
    alone = np.concatenate([mixture.log_density(X[i : i + 1]) for i in range(0, 20_000, 997)])
    np.testing.assert_allclose(mixture.log_density(X)[::997], alone, rtol=1e-12)
    one, two = (mixture.log_density(X, n_threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_strided_and_transposed_tables():
    mixture = gaussians("diagonal-gaussian", 3, 4, 11)
    X = mixture.sample(300, random_state=6)
    wide = np.empty((300, 9))
    wide[:, 1::2] = X
    for table in (np.asfortranarray(X), wide[:, 1::2], X[::-1][::-1]):
        np.testing.assert_array_equal(mixture.log_density(table), mixture.log_density(X))


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "multinomial", "exponential"])
def test_wide_rows_are_scored_where_they_lie(family, monkeypatch):
    rng = np.random.default_rng(3)
    d, weights = 45, rng.dirichlet(np.ones(4))
    source = {
        "bernoulli": {"probability": rng.uniform(0.05, 0.6, (4, d))},
        "poisson": {"rate": rng.gamma(2.0, 2.0, (4, d))},
        "multinomial": {"probabilities": rng.dirichlet(np.ones(d), 4)},
        "exponential": {"rate": rng.gamma(2.0, 2.0, (4, d))},
    }[family]
    kind = Multinomial(trials=30) if family == "multinomial" else family
    mixture = Mixture.from_source(kind, weights, **source)
    X = mixture.sample(600, random_state=0)
    check(mixture, X)
    in_place = mixture.predict(X), mixture.log_density(X)
    monkeypatch.setattr(packed_scorer, "TABLE_FROM_COLUMNS", 1000)
    assert np.array_equal(mixture.predict(X), in_place[0])
    np.testing.assert_allclose(mixture.log_density(X), in_place[1], rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("value", [np.inf, -1.0, 0.5])
def test_rows_in_place_are_refused_by_name(value):
    mixture = Mixture.from_source("bernoulli", [0.5, 0.5], probability=[[0.2] * 40, [0.7] * 40])
    X = mixture.sample(50, random_state=0)
    X[7, 3] = value
    columns = ["zeroth", "first", "second", "third", *map(str, range(4, 40))]
    for name in ("labels", "log_sums", "shares"):
        with pytest.raises(ValueError, match="row 7, column 'third'"):
            of_rows(mixture, name, X, columns=columns)
