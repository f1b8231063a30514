"""Sparse rows are learned as their dense copies are, without being filled in."""

import numpy as np
import pytest
from scipy import sparse

from kmle import KMLE, ExponentialFamilyMixture, families

RNG = np.random.default_rng(0)
TOPICS = RNG.dirichlet(np.full(60, 0.2), 3)
WHICH = RNG.integers(3, size=400)
DATA = {
    "multinomial": np.array([RNG.multinomial(RNG.integers(5, 30), TOPICS[z]) for z in WHICH], dtype=float),
    "poisson": RNG.poisson(20 * TOPICS[WHICH]).astype(float),
    "bernoulli": (RNG.random((400, 60)) < 5 * TOPICS[WHICH]).astype(float),
}


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
@pytest.mark.parametrize("family", DATA)
def test_the_same_mixture_as_dense(family, kind):
    dense = DATA[family]
    weights = np.random.default_rng(1).random(len(dense))
    for estimator in (
        KMLE(3, family=family, algorithm="hard-em", init="k-mle++", n_init=1, random_state=0, assignment="dense"),
        ExponentialFamilyMixture(
            3, family=family, init="k-mle++", n_init=1, random_state=0, assignment="dense", tol=1e-10
        ),
        ExponentialFamilyMixture(
            3, family=family, algorithm="sparse-em", init="k-mle++", n_init=1, random_state=0, assignment="dense"
        ),
    ):
        expected = estimator.fit(dense, sample_weight=weights).mixture_
        found = estimator.fit(kind(dense), sample_weight=weights)
        assert found.fit_.engine == "sparse"
        # Sums differ in their last digits; log-odds of 14 still move in their seventh where EM stops.
        np.testing.assert_allclose(found.mixture_.natural, expected.natural, rtol=2e-6, atol=1e-9)
        np.testing.assert_array_equal(found.predict(kind(dense)), found.predict(dense))
        np.testing.assert_allclose(found.score_samples(kind(dense)), found.score_samples(dense), rtol=1e-10)
        np.testing.assert_array_equal(found.labels_, found.predict(dense))


def test_nothing_is_filled_in():
    """A table of 20 000 x 100 000 would take 16 GB."""
    rng = np.random.default_rng(2)
    rows, columns = np.repeat(np.arange(20_000), 20), rng.integers(0, 100_000, 400_000)
    X = sparse.csr_array((np.ones(400_000), (rows, columns)), shape=(20_000, 100_000))
    model = KMLE(4, family="multinomial", algorithm="hard-em", max_iter=3, random_state=0).fit(X)
    assert len(model.labels_) == 20_000
    assert np.isfinite(model.fit_.log_likelihood)


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
