"""Sparse rows are learned as their dense copies are, without being filled in."""

import numpy as np
import pytest
from scipy import sparse

from kmle import KMLE, ExponentialFamilyMixture, families
from kmle.data.sparse import SparseRows
from kmle.data.table import Rows
from kmle.engines.dense import DenseEngine, SparseEngine
from kmle.families.registry import FAMILIES
from kmle.families.sparse import as_csr

TOPICS = np.random.default_rng(0).dirichlet(np.full(60, 0.2), 3)
WHICH = np.random.default_rng(0).integers(3, size=400)
DATA = {
    "multinomial": np.array(
        [np.random.default_rng(0).multinomial(np.random.default_rng(0).integers(5, 30), TOPICS[z]) for z in WHICH],
        dtype=float,
    ),
    "poisson": np.random.default_rng(0).poisson(20 * TOPICS[WHICH]).astype(float),
    "bernoulli": (np.random.default_rng(0).random((400, 60)) < 5 * TOPICS[WHICH]).astype(float),
}

COUNTS = DATA["poisson"]
DIRECTIONS = COUNTS / np.maximum(np.linalg.norm(COUNTS, axis=1, keepdims=True), 1e-300)
ROOT = np.random.default_rng(0).standard_normal((60, 60))
# Every family that takes sparse rows, with rows for it; a row of zeros wherever that is legal.
SPARSE = {
    "multinomial": (families.Multinomial(), DATA["multinomial"]),
    "poisson": (families.Poisson(), np.vstack([COUNTS, np.zeros(60)])),
    "bernoulli": (families.Bernoulli(), np.vstack([DATA["bernoulli"], np.zeros(60)])),
    "geometric": (families.Geometric(), np.vstack([COUNTS, np.zeros(60)])),
    "negative-binomial": (families.NegativeBinomial(2.5), np.vstack([COUNTS, np.zeros(60)])),
    "binomial": (families.Binomial(40), np.vstack([np.minimum(COUNTS, 40), np.zeros(60)])),
    "von-mises-fisher": (families.VonMisesFisher(), DIRECTIONS),
    "fixed-covariance-gaussian": (families.FixedCovarianceGaussian(), np.vstack([DIRECTIONS, np.zeros(60)])),
}
MORE_COVARIANCES = {
    "one variance": families.FixedCovarianceGaussian(0.01),
    "variances": families.FixedCovarianceGaussian(np.random.default_rng(0).uniform(0.5, 2.0, 60)),
    "matrix": families.FixedCovarianceGaussian(np.eye(60) + ROOT @ ROOT.T / 60),
}
CASES = {**SPARSE, **{name: (family, DIRECTIONS - 0.01) for name, family in MORE_COVARIANCES.items()}}


def model_of(family, table):
    """A family that knows its columns, three components for its rows, and weights."""
    known = family.for_data(table)
    natural = known.natural_from_moment(np.array([table[j::3].mean(axis=0) for j in range(3)]))
    return known, natural, np.random.default_rng(1).random(len(table))


def test_every_sparse_family_is_tried():
    assert {name for name, family in FAMILIES.items() if family.sparse} == set(SPARSE)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CASES)
def test_passes_are_those_of_the_filled_in_rows(case, dtype):
    family, table = CASES[case]
    table = table.astype(dtype)
    known, natural, weights = model_of(family, table.astype(float))
    bias = np.log([0.2, 0.5, 0.3]) - known.log_normalizer(natural)
    X = sparse.csr_array(table)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    given, filled = SparseRows(known, X, weights, n_threads=2), Rows(known, table, weights, np.zeros(60))
    one, other = SparseEngine(given), DenseEngine(filled)
    found, expected = one.hard_pass(natural, bias), other.hard_pass(natural, bias)
    np.testing.assert_array_equal(found[0].labels, expected[0].labels)
    np.testing.assert_allclose(found[1].sums, expected[1].sums, rtol=1e-11, atol=1e-11)
    for n_responsibilities in (None, 2, 1):
        soft, reference = (
            one.soft_pass(natural, bias, n_responsibilities),
            other.soft_pass(natural, bias, n_responsibilities),
        )
        np.testing.assert_allclose(soft.sums, reference.sums, rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(soft.score, reference.score, rtol=1e-11)
    np.testing.assert_allclose(one.log_likelihood(natural, bias), other.log_likelihood(natural, bias), rtol=1e-8)
    np.testing.assert_allclose(given.mean_statistic, filled.mean_statistic, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(given.sum_log_carrier(), filled.sum_log_carrier(), rtol=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_densities_are_those_of_the_filled_in_rows(case):
    family, table = CASES[case]
    known, natural, _ = model_of(family, table)
    expected = known.log_density(table, natural)
    np.testing.assert_allclose(known.log_density(sparse.csr_array(table), natural), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_a_default_fit(case):
    family, table = CASES[case]
    for estimator in (
        KMLE(3, family=family, random_state=0),
        ExponentialFamilyMixture(3, family=family, random_state=0),
    ):
        model = estimator.fit(sparse.csr_array(table))
        assert np.isfinite(model.result_.log_likelihood)
        np.testing.assert_array_equal(model.labels_, model.predict(table))


def test_k_means_of_sparse_rows():
    """Known and equal covariances, equal weights: the inertia of scikit-learn from the same start."""
    from sklearn.cluster import KMeans

    family = families.FixedCovarianceGaussian()
    model = KMLE(3, family=family, weights="uniform", init=WHICH, prior_strength=0.0).fit(sparse.csr_array(DIRECTIONS))
    peer = KMeans(3, init=np.array([DIRECTIONS[j == WHICH].mean(axis=0) for j in range(3)]), n_init=1, tol=0)
    peer.fit(sparse.csr_array(DIRECTIONS))
    np.testing.assert_array_equal(model.labels_, peer.labels_)
    np.testing.assert_allclose(model.mixture_.source["mean"], peer.cluster_centers_, atol=1e-12)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
@pytest.mark.parametrize("family", DATA)
def test_the_same_mixture_as_dense(family, kind):
    dense = DATA[family]
    weights = np.random.default_rng(1).random(len(dense))
    for estimator in (
        KMLE(3, family=family, algorithm="hard-em", init="k-mle++", n_init=1, random_state=0, engine="dense"),
        ExponentialFamilyMixture(3, family=family, init="k-mle++", n_init=1, random_state=0, engine="dense", tol=1e-10),
        ExponentialFamilyMixture(
            3, family=family, algorithm="sparse-em", init="k-mle++", n_init=1, random_state=0, engine="dense"
        ),
    ):
        expected = estimator.fit(dense, sample_weight=weights).mixture_
        found = estimator.fit(kind(dense), sample_weight=weights)
        assert found.result_.engine == "sparse"
        # Sums differ in their last digits; log-odds of 14 still move in their seventh where EM stops.
        np.testing.assert_allclose(found.mixture_.natural, expected.natural, rtol=2e-5, atol=1e-9)
        np.testing.assert_array_equal(found.predict(kind(dense)), found.predict(dense))
        np.testing.assert_allclose(found.score_samples(kind(dense)), found.score_samples(dense), rtol=1e-10)
        np.testing.assert_array_equal(found.labels_, found.predict(dense))


def test_a_wide_search_keeps_the_best_start():
    """Enough columns for starts to be compared one by one; the topics are far apart."""
    rng = np.random.default_rng(5)
    which = rng.integers(3, size=3000)
    columns = 20_000 * which[:, None] + 100 * rng.integers(0, 60, (3000, 30))
    X = sparse.csr_array((np.ones(90_000), (np.repeat(np.arange(3000), 30), columns.ravel())), shape=(3000, 60_000))
    model = KMLE(3, family="von-mises-fisher", random_state=0).fit(
        X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))[:, None])
    )
    assert sum(model.result_.starts.kinds.values()) >= 4
    assert all(len(np.unique(which[model.labels_ == j])) == 1 for j in np.unique(model.labels_))


def test_unordered_entries_are_put_in_order():
    X = sparse.csr_array((np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), np.array([0, 3, 3])), shape=(2, 3))
    rows = as_csr(X)
    np.testing.assert_array_equal(rows.indices, [0, 2])
    np.testing.assert_array_equal(rows.toarray(), [[2.0, 0.0, 5.0], [0.0, 0.0, 0.0]])
    assert len(X.data) == 3  # the caller's rows are as they were


def test_nothing_is_filled_in():
    """A table of 20 000 x 100 000 would take 16 GB."""
    rng = np.random.default_rng(2)
    rows, columns = np.repeat(np.arange(20_000), 20), rng.integers(0, 100_000, 400_000)
    X = sparse.csr_array((np.ones(400_000), (rows, columns)), shape=(20_000, 100_000))
    model = KMLE(4, family="multinomial", algorithm="hard-em", max_iter=3, random_state=0).fit(X)
    assert len(model.labels_) == 20_000
    assert np.isfinite(model.result_.log_likelihood)


def test_partial_fit_and_online():
    X = sparse.csr_array(DATA["multinomial"])
    model = KMLE(3, family="multinomial", random_state=0)
    for start in range(0, 400, 100):
        model.partial_fit(X[start : start + 100])
    batch = KMLE(3, family="multinomial", algorithm="online", batch_size=100, random_state=0).fit(X)
    for fitted in (model, batch):
        agree = [np.bincount(fitted.predict(X)[z == WHICH]).max() / np.sum(z == WHICH) for z in range(3)]
        assert min(agree) > 0.8


def test_stored_zeros_and_repeated_entries_change_nothing():
    X = sparse.coo_array(([1.0, 0.0, 2.0, 1.0], ([0, 0, 1, 1], [0, 1, 1, 1])), shape=(2, 2))
    family = families.Poisson(n_features=2)
    natural = np.log([[1.0, 2.0]])
    np.testing.assert_allclose(family.log_density(X, natural), family.log_density(X.toarray(), natural))


@pytest.mark.parametrize(
    ("family", "X", "sentence"),
    [
        ("poisson", [[1.0, 0.0], [0.0, -2.0]], "row 1, column 1 holds -2; poisson accepts"),
        ("poisson", [[1.0, np.nan]], "row 0, column 1 holds nan"),
        ("bernoulli", [[1.0, 0.0], [3.0, 1.0]], "row 1, column 0 holds 3; bernoulli accepts"),
        ("multinomial", [[1.0, 2.0], [0.0, 0.0]], "row 1 sums to 0; multinomial accepts"),
        ("multinomial", [[1.0, 2.5]], "row 0, column 1 holds 2.5"),
        (
            "von-mises-fisher",
            [[0.6, 0.8], [1.0, 1.0]],
            "row 1 has length 1.41421; von-mises-fisher accepts rows of length",
        ),
        ("von-mises-fisher", [[0.6, 0.8], [0.0, 0.0]], "row 1 has length 0"),
        ("fixed-covariance-gaussian", [[0.6, np.inf]], "row 0, column 1 holds inf"),
    ],
)
def test_illegal_rows_are_named(family, X, sentence):
    with pytest.raises(ValueError, match=sentence):
        KMLE(1, family=family).fit(sparse.csr_array(X))


def test_other_families_refuse_sparse_rows():
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        KMLE(1, family="gaussian").fit(sparse.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="gamma does not take sparse rows"):
        families.Gamma(n_features=3).log_density(sparse.csr_array(np.eye(3)), np.ones((1, 6)))
    with pytest.raises(ValueError, match="init='quantile' does not take sparse rows"):
        KMLE(2, family="poisson", init="quantile", n_init=1).fit(sparse.csr_array(np.eye(3)))


def test_covariances_of_very_many_columns_are_not_formed():
    X = sparse.csr_array(sparse.random(60, 12_000, 0.002, random_state=0, data_rvs=np.ones))
    model = KMLE(2, family="poisson", random_state=0, n_init=1).fit(X)
    assert "covariances_" not in dir(model)
    with pytest.raises(AttributeError, match=r"matrices of 12000 x 12000 numbers take 2\.3 GB"):
        _ = model.covariances_
