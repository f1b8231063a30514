"""Passes over sparse rows, in every version this machine can run, against sums too plain to be wrong."""

import platform

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from kmle._kernels import Clusters, CompressedRows, PackedRows

INF = np.inf
INDEX_TYPES = [np.int32, np.int64]
VALUE_TYPES = [np.float64, np.float32]


def rows_of(n, d, seed=0, dtype=np.float64, index=np.int32, density=0.1):
    """Sparse rows, some of them empty."""
    rng = np.random.default_rng(seed)
    table = np.where(rng.random((n, d)) < density, rng.standard_normal((n, d)), 0.0).astype(dtype)
    table[:: max(2, n // 4)] = 0.0
    X = sparse.csr_array(table)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    return X


def model_of(k, d, seed=0):
    rng = np.random.default_rng(seed)
    bias = rng.standard_normal(k)
    if k > 2:
        bias[1] = -INF
    natural = rng.standard_normal((k, d))
    natural[np.isneginf(bias)] = np.nan
    return natural, bias


def plain_scores(X, natural, bias):
    """The bias and one product after another in the order of the columns, rounded at every step."""
    table = X.toarray().astype(float)
    scores = np.tile(bias, (len(table), 1))
    for j in np.flatnonzero(np.isfinite(bias)):
        for column, parameter in zip(table.T, natural[j], strict=True):
            scores[:, j] = scores[:, j] + column * parameter
    return scores


@pytest.mark.parametrize("dtype", VALUE_TYPES)
@pytest.mark.parametrize("index", INDEX_TYPES)
@pytest.mark.parametrize("k", [1, 3, 8, 20, 70, 133])
def test_labels_and_sums(k, dtype, index, version):
    X = rows_of(700, 40, k, dtype, index)
    natural, bias = model_of(k, 40, k)
    weights = np.random.default_rng(1).random(700)
    rows = CompressedRows(X, weights, n_threads=2)
    clusters = Clusters.empty(700, k, 40)
    expected = plain_scores(X, natural, bias)
    assert rows.hard_pass(natural, bias, clusters) == 700
    np.testing.assert_array_equal(clusters.labels, expected.argmax(axis=1))
    # SciPy's product, which NumPy's version stands on, rounds once per product and sum on ARM.
    rounding = 1e-13 if version == "numpy" and platform.machine() in ("aarch64", "arm64") else 0.0
    np.testing.assert_allclose(rows.scores(natural, bias), expected, rtol=rounding, atol=rounding)
    one_hot = (clusters.labels[:, None] == np.arange(k)) * weights[:, None]
    np.testing.assert_array_equal(clusters.sizes, np.bincount(clusters.labels, minlength=k))
    np.testing.assert_allclose(clusters.counts, one_hot.sum(axis=0), rtol=1e-13)
    np.testing.assert_allclose(clusters.sums, one_hot.T @ X.toarray().astype(float), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3, 20, 70])
@pytest.mark.parametrize("n_responsibilities", [None, 1, 2, 5])
def test_responsibilities(k, n_responsibilities):
    X = rows_of(900, 60, k)
    natural, bias = model_of(k, 60, k)
    weights = np.random.default_rng(1).random(900)
    scores = plain_scores(X, natural, bias)
    if n_responsibilities is not None and n_responsibilities < k:
        np.put_along_axis(scores, np.argsort(-scores, axis=1, kind="stable")[:, n_responsibilities:], -INF, axis=1)
    shares = scipy.special.softmax(scores, axis=1) * weights[:, None]
    counts, sums, score = CompressedRows(X, weights, n_threads=2).soft_pass(natural, bias, n_responsibilities)
    np.testing.assert_allclose(counts, shares.sum(axis=0), rtol=1e-12, atol=1e-28)
    np.testing.assert_allclose(sums, shares.T @ X.toarray(), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(score, weights @ scipy.special.logsumexp(scores, axis=1), rtol=1e-13)


def test_evidence():
    X, (natural, bias) = rows_of(900, 60), model_of(20, 60)
    weights = np.random.default_rng(1).random(900)
    scores = plain_scores(X, natural, bias)
    score, entropy = CompressedRows(X, weights).log_likelihood(natural, bias)
    np.testing.assert_allclose(score, weights @ scipy.special.logsumexp(scores, axis=1), rtol=1e-13)
    shares = scipy.special.softmax(scores, axis=1)
    np.testing.assert_allclose(entropy, weights @ scipy.special.entr(shares).sum(axis=1), rtol=1e-12)


def test_wide_rows_in_several_blocks():
    """More rows than responsibilities are held at a time, and more components than stand in registers."""
    X = rows_of(6000, 30, density=0.3)
    natural, bias = model_of(200, 30)
    scores = plain_scores(X, natural, bias)
    counts, sums, _ = CompressedRows(X, n_threads=2).soft_pass(natural, bias)
    shares = scipy.special.softmax(scores, axis=1)
    np.testing.assert_allclose(counts, shares.sum(axis=0), rtol=1e-11)
    np.testing.assert_allclose(sums, shares.T @ X.toarray(), rtol=1e-10, atol=1e-10)


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 20), st.integers(0, 2**31))
def test_labels_of_the_filled_in_rows(n, d, k, seed):
    """Whole numbers make ties: the lowest index wins, as with packed rows."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, 2, (n, d)).astype(float)
    natural, bias = rng.integers(-1, 2, (k, d)).astype(float), rng.integers(-1, 2, k).astype(float)
    natural += rng.integers(0, 2) * 0.1
    packed = PackedRows(n, d)
    packed.load(0, table)
    expected, found = Clusters.empty(n, k, d), Clusters.empty(n, k, d)
    packed.hard_pass(natural, bias, expected)
    CompressedRows(sparse.csr_array(table)).hard_pass(natural, bias, found)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_allclose(found.sums, expected.sums, atol=1e-12)


def test_rows_that_move_change_the_sums():
    X = rows_of(3000, 50, density=0.2)
    rng = np.random.default_rng(3)
    natural, bias = rng.standard_normal((6, 50)), np.zeros(6)
    rows, clusters = CompressedRows(X, n_threads=2), Clusters.empty(3000, 6, 50)
    for _ in range(8):
        rows.hard_pass(natural, bias, clusters)
        counts, sums = rows.label_sums(clusters.labels, 6)
        np.testing.assert_array_equal(clusters.sizes, counts)
        np.testing.assert_allclose(clusters.counts, counts, rtol=1e-12)
        np.testing.assert_allclose(clusters.sums, sums, rtol=1e-10, atol=1e-10)
        natural = natural + 0.05 * rng.standard_normal((6, 50))


def test_nothing_depends_on_threads():
    X, (natural, bias) = rows_of(20_000, 100, density=0.2), model_of(20, 100)
    found = [CompressedRows(X, n_threads=threads) for threads in (1, 2, 5)]
    for one, other in zip(found[0].soft_pass(natural, bias), found[2].soft_pass(natural, bias), strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[0].log_likelihood(natural, bias) == found[1].log_likelihood(natural, bias)
    clusters = [Clusters.empty(20_000, 20, 100) for _ in found]
    for rows, own in zip(found, clusters, strict=True):
        rows.hard_pass(natural, bias, own)
    np.testing.assert_array_equal(clusters[0].sums, clusters[2].sums)


def test_rows_labelled_as_no_ones():
    X = rows_of(50, 8, density=0.5)
    labels = np.arange(50) % 3 - 1
    counts, sums = CompressedRows(X).label_sums(labels, 2)
    np.testing.assert_array_equal(counts, [np.sum(labels == 0), np.sum(labels == 1)])
    np.testing.assert_allclose(sums, [X.toarray()[labels == j].sum(axis=0) for j in range(2)], atol=1e-14)


def test_repeated_and_unordered_entries_add():
    X = sparse.csr_array((np.array([1.0, 2.0, 4.0, 0.0]), np.array([2, 0, 2, 1]), np.array([0, 3, 4])), shape=(2, 3))
    natural, bias = np.array([[1.0, 10.0, 100.0]]), np.array([0.5])
    rows = CompressedRows(X)
    np.testing.assert_array_equal(rows.scores(natural, bias), [[502.5], [0.5]])
    np.testing.assert_array_equal(rows.label_sums([0, 0], 1)[1], [[2.0, 0.0, 5.0]])


def test_inactive_components():
    X = rows_of(20, 5, density=0.5)
    natural, bias = np.full((2, 5), np.nan), np.full(2, -INF)
    rows = CompressedRows(X)
    counts, sums, score = rows.soft_pass(natural, bias)
    np.testing.assert_array_equal(counts, 0.0)
    np.testing.assert_array_equal(sums, 0.0)
    assert score == -INF
    assert rows.log_likelihood(natural, bias) == (-INF, 0.0)


def broken(**arrays):
    """Rows whose arrays do not fit; SciPy looks at them when they are given, not when they are replaced."""
    X = sparse.csr_array(np.eye(3))
    for name, values in arrays.items():
        setattr(X, name, values)
    return X


@pytest.mark.parametrize("index", INDEX_TYPES)
@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"indices": [0, 3, 2]}, "indices must lie below"),
        ({"indices": [0, -1, 2]}, "none may be negative"),
        ({"indices": [0, 1]}, "end with the number of stored entries"),
        ({"indptr": [0, 2, 1, 3]}, "never decrease"),
        ({"indptr": [0, 1, 2, 4]}, "end with the number of stored entries"),
        ({"indptr": [1, 1, 2, 3]}, "begin with 0"),
        ({"indptr": [0, -5, 2, 3]}, "never decrease"),
        ({"indptr": [0, 1, 3]}, "indptr must have 4 entries"),
    ],
)
def test_broken_rows_are_refused(arrays, sentence, index):
    given = {name: np.array(values, dtype=index) for name, values in arrays.items()}
    with pytest.raises(ValueError, match=sentence):
        CompressedRows(broken(**given))


def test_what_does_not_fit_is_refused():
    rows = CompressedRows(sparse.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="natural must have shape"):
        rows.soft_pass(np.ones((2, 4)), np.zeros(2))
    with pytest.raises(ValueError, match="labels must lie in"):
        rows.label_sums([0, 1, 5], 2)
    with pytest.raises(ValueError, match="weights must have shape"):
        CompressedRows(sparse.csr_array(np.eye(3)), np.ones(2))
    with pytest.raises(TypeError, match="float32 or float64"):
        CompressedRows(sparse.csr_array(np.eye(3, dtype=int)))
    clusters = Clusters.empty(3, 2, 3)
    clusters.labels[0] = 7
    with pytest.raises(ValueError, match="labels must lie below"):
        rows.hard_pass(np.ones((2, 3)), np.zeros(2), clusters)


def test_arrays_are_not_copied(version):
    if version == "numpy":
        pytest.skip("SciPy copies blocks of rows")
    X = rows_of(20, 5, density=0.5)
    rows = CompressedRows(X)
    before = rows.label_sums(np.zeros(20, dtype=int), 1)[1]
    X.data *= 2
    np.testing.assert_allclose(rows.label_sums(np.zeros(20, dtype=int), 1)[1], 2 * before)
