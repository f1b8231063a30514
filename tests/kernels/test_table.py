"""Rows scored where they lie, in every version this machine can run, against packed rows and plain scores."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from kmle import KMLE, Mixture
from kmle._kernels import PackedRows, RowScores, backend, score_table, summarize_columns

NAMES = ["log_sums", "tops", "shares", "scores"]


def packed_labels(x, shift, natural, bias, features="identity"):
    rows = PackedRows(*x.shape, features)
    rows.load_shifted(x, shift)
    labels = np.empty(len(x), np.int32)
    rows.label_rows(natural, bias, labels)
    return labels


def skip_without_compiler():
    if backend() != "compiled":
        pytest.skip("rows are packed where there is no compiler")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (5, 7, 3), (31, 16, 9), (2003, 37, 5), (700, 130, 20)])
def test_labels_and_scores_are_those_of_packed_rows(dtype, n, d, k):
    skip_without_compiler()
    rng = np.random.default_rng(n + d)
    x, shift = (rng.normal(size=(n, d)) + 3).astype(dtype), rng.normal(size=d)
    natural, bias = rng.normal(size=(k, d)), rng.normal(size=k)
    bias[k // 2] = -np.inf if k > 2 else bias[k // 2]
    scores = (x.astype(float) - shift) @ natural.T + bias
    for n_threads in (1, 2):
        labels, out = np.empty(n, np.int32), RowScores.wanting(NAMES, n, k)
        seen = score_table(x, shift, natural, bias, labels, out, n_threads)
        assert labels.tolist() == packed_labels(x, shift, natural, bias).tolist()
        np.testing.assert_allclose(out.scores, scores, rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(out.tops, scores.max(axis=1), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(out.log_sums, logsumexp(scores, axis=1), rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(out.shares, softmax(scores, axis=1), rtol=1e-9, atol=1e-12)
        plain = summarize_columns(x)
        assert seen.lowest.tolist() == plain.lowest.tolist()
        assert seen.highest.tolist() == plain.highest.tolist()
        assert (seen.finite, seen.whole) == (plain.finite, plain.whole) == (True, False)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", ["rows", "columns", "strided"])
@pytest.mark.parametrize("features", ["identity", "diagonal", "quadratic"])
def test_labels_of_a_table_that_passes_through_packed_rows(dtype, layout, features):
    rng = np.random.default_rng(3)
    for d in range(1, 12):
        x, shift = (rng.normal(size=(333, d)) + 3).astype(dtype), rng.normal(size=d) + 3
        x[5, 0] = 40.0
        x = {"rows": x, "columns": np.asfortranarray(x), "strided": np.repeat(x, 2, axis=0)[::2]}[layout]
        room = PackedRows(96, d, features)
        natural, bias = rng.normal(size=(5, room.n_statistics)), rng.normal(size=5)
        bias[2] = -np.inf
        labels = np.empty(333, np.int32)
        seen, plain = room.label_table(x, shift, natural, bias, labels), summarize_columns(x)
        assert labels.tolist() == packed_labels(x, shift, natural, bias, features).tolist()
        assert seen.lowest.tolist() == plain.lowest.tolist()
        assert seen.highest.tolist() == plain.highest.tolist()
        assert (seen.finite, seen.whole) == (True, False)
        x = np.floor(x)
        assert room.label_table(x, shift, natural, bias, labels).whole
        x[200, d - 1] = np.nan
        assert not room.label_table(x, shift, natural, bias, labels).finite


def test_labels_of_a_table_are_those_of_means_where_rounding_spoils_others():
    from kmle.engines.precision import centered_form
    from kmle.families import resolve

    rng = np.random.default_rng(4)
    family = resolve("gaussian").for_data(np.zeros((1, 2)))
    mean, covariance = np.array([[1e7, 0.0], [1e7 + 1e-3, 0.0], [0.0, 0.0]]), np.array([1e-8, 1e-8, 1.0])
    natural = family.natural_from_source(mean=mean, covariance=covariance[:, None, None] * np.eye(2))
    x = np.concatenate([mean[rng.integers(2, size=200)] + 1e-4 * rng.normal(size=(200, 2)), rng.normal(size=(200, 2))])
    form, bias = centered_form(family, natural, np.zeros(3)), -family.log_normalizer(natural)
    labels, room = np.empty(400, np.int32), PackedRows(64, 2, "quadratic")
    room.label_table(x, np.zeros(2), natural, bias, labels, form)
    differences = ((x[:, None] - mean) ** 2).sum(axis=2)
    assert labels.tolist() == (-0.5 * differences / covariance - np.log(covariance)).argmax(axis=1).tolist()


@pytest.mark.parametrize("scale", [1.0, 2.0**-40, 1e8, 1e30, 1e200])
def test_ties_and_near_ties_have_the_label_of_a_hard_pass(scale):
    skip_without_compiler()
    rng = np.random.default_rng(0)
    x = rng.integers(-2, 3, (500, 33)).astype(float) * scale
    natural = rng.integers(-1, 2, (6, 33)) / 8
    natural[3] = natural[1]
    natural[5] = natural[0] * (1 + np.finfo(float).eps)
    labels = np.empty(500, np.int32)
    assert score_table(x, np.zeros(33), natural, np.zeros(6), labels).finite
    assert labels.tolist() == packed_labels(x, np.zeros(33), natural, np.zeros(6)).tolist()


def test_rows_are_looked_at():
    skip_without_compiler()
    rng = np.random.default_rng(1)
    x = rng.integers(0, 5, (300, 41)).astype(float)
    natural, labels = rng.normal(size=(2, 41)), np.empty(300, np.int32)

    def seen(row, column, value):
        table = x.copy()
        table[row, column] = value
        return score_table(table, np.zeros(41), natural, np.zeros(2), labels)

    assert seen(0, 0, 1.0).whole
    for row, column in ((0, 0), (299, 40), (150, 37)):
        assert not seen(row, column, 0.5).whole
        assert not seen(row, column, 2.0**52 + 1).whole
        assert seen(row, column, -7.0).lowest[column] == -7.0
        assert seen(row, column, 9.0).highest[column] == 9.0
        for value in (np.nan, np.inf, -np.inf):
            assert not seen(row, column, value).finite


def test_rows_that_do_not_lie_together_are_left_to_others():
    x, labels = np.ones((6, 40)), np.empty(6, np.int32)
    assert score_table(x.T.copy().T, np.zeros(40), np.ones((1, 40)), np.zeros(1), labels) is None
    assert score_table(x.astype(int), np.zeros(40), np.ones((1, 40)), np.zeros(1), labels) is None


def test_lengths_of_rows_are_seen():
    skip_without_compiler()
    x = np.random.default_rng(2).normal(size=(301, 41))
    seen = score_table(x, np.zeros(41), np.ones((2, 41)), np.zeros(2), np.empty(301, np.int32))
    lengths = (x**2).sum(axis=1)
    np.testing.assert_allclose(seen.square_lengths, [lengths.min(), lengths.max()], rtol=1e-14)


@pytest.mark.parametrize("method", ["predict", "score_samples"])
def test_rows_of_another_length_are_refused(method):
    mixture = Mixture.from_source("von-mises-fisher", [1.0], direction=np.eye(40)[:1], concentration=[3.0])
    model = KMLE(1, family=mixture.family, init=mixture).fit(np.eye(40))
    X = np.repeat(np.eye(40), 2, axis=0)
    getattr(model, method)(X)
    for row, factor in ((7, 1 + 3e-6), (79, 1 - 3e-6)):
        far = X.copy()
        far[row] *= factor
        with pytest.raises(ValueError, match=f"row {row} "):
            getattr(model, method)(far)
