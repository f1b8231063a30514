"""What passes report of each row, in every version this machine can run, against plain scores."""

import numpy as np
import pytest
from scipy.sparse import random_array
from scipy.special import logsumexp, softmax

from kmle._kernels import Centered, Clusters, CompressedRows, Meter, PackedRows, RowScores
from kmle._kernels.statistics import QUADRATIC, statistics_of
from kmle.engines.panels.kernel import PanelsRows

NAMES = ["log_sums", "tops", "shares", "scores"]


def check(out, scores, tolerance=1e-9):
    """All that was reported, against the scores it follows from."""
    np.testing.assert_allclose(out.scores, scores, rtol=1e-11, atol=tolerance)
    np.testing.assert_allclose(out.tops, scores.max(axis=1), rtol=1e-11, atol=tolerance)
    np.testing.assert_allclose(out.log_sums, logsumexp(scores, axis=1), rtol=1e-11, atol=tolerance)
    np.testing.assert_allclose(out.shares, softmax(scores, axis=1), rtol=0, atol=1e-9)
    np.testing.assert_allclose(out.shares.sum(axis=1), 1.0, rtol=1e-12)


def drawn(seed, n, d, k, offset=0.0):
    """Rows, and components by mean and factor with the natural parameters they have."""
    rng = np.random.default_rng(seed)
    x, mean = rng.normal(size=(n, d)) + offset, rng.normal(size=(k, d)) + offset
    factor = np.linalg.cholesky(np.eye(d) + 0.5 * np.einsum("kab,kcb->kac", *2 * [rng.normal(size=(k, d, d))]))
    precision = np.einsum("kab,kcb->kac", factor, factor)
    upper = np.triu_indices(d)
    products = -np.where(np.eye(d, dtype=bool), 0.5, 1.0)[upper] * precision[:, *upper]
    linear = np.einsum("kab,kb->ka", precision, mean)
    constant = rng.normal(size=k)
    bias = constant - 0.5 * np.einsum("ka,ka->k", mean, linear)
    return x, np.hstack([linear, products]), bias, Centered(mean, factor, constant)


def packed(x, features, n_threads=2, weights=None, meter=None):
    rows = PackedRows(*x.shape, features, weights, x.dtype, n_threads, meter)
    rows.load(0, x)
    return rows


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("n", "k"), [(1, 1), (33, 3), (700, 9)])
def test_rows_are_reported_one_by_one(dtype, n, k):
    x, natural, bias, _ = drawn(0, n, 3, k)
    x = x.astype(dtype)
    rows = packed(x, "quadratic", weights=np.full(n, 3.0))
    bias[k // 2] = -np.inf if k > 2 else bias[k // 2]
    scores = statistics_of(x, QUADRATIC) @ natural.T + bias
    out = RowScores.wanting(NAMES, n, k)
    rows.row_scores(natural, bias, out)
    check(out, scores)
    alone = RowScores.wanting(["log_sums"], n, k)
    rows.row_scores(natural, bias, alone)
    np.testing.assert_allclose(alone.log_sums, out.log_sums, rtol=1e-14)
    labels = np.empty(n, dtype=np.int32)
    rows.label_rows(natural, bias, labels)
    clusters = Clusters.empty(n, k, rows.n_statistics)
    rows.hard_pass(natural, bias, clusters)
    np.testing.assert_array_equal(labels, clusters.labels)


@pytest.mark.parametrize("outlier", [1.0, 1e12])
def test_scores_that_rounding_would_spoil_are_those_of_differences(outlier):
    x, natural, bias, centered = drawn(1, 600, 3, 5, offset=1e7)
    x[17, 1] = outlier * 1e7
    truth = centered.scores(x)
    out = RowScores.wanting(NAMES, len(x), 5)
    rows = packed(x, "quadratic")
    rows.row_scores(natural, bias, out, centered)
    check(out, truth, tolerance=1e-6)
    labels = np.empty(len(x), dtype=np.int32)
    rows.label_rows(natural, bias, labels, centered)
    np.testing.assert_array_equal(labels, truth.argmax(axis=1))


def test_scores_by_differences_leave_out_what_is_carried():
    rng = np.random.default_rng(2)
    x, mean = rng.normal(size=(100, 3)), rng.normal(size=(4, 3))
    centered = Centered(mean, np.ones((4, 3)), np.zeros(4), carried=True)
    rows, out = packed(x, "identity"), RowScores.wanting(NAMES, 100, 4)
    rows.row_scores(mean, -0.5 * (mean**2).sum(axis=1), out, centered, by_differences=True)
    check(out, -0.5 * ((x[:, None] - mean) ** 2).sum(axis=2))


@pytest.mark.parametrize("carried", [False, True, (True, False, True)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_own_scores_are_sums_over_the_rows_of_a_label(carried, dtype):
    rng = np.random.default_rng(3)
    x, k = rng.normal(size=(500, 3)).astype(dtype), 6
    factor = np.broadcast_to(rng.uniform(1, 2, 3), (k, 3))
    centered = Centered(rng.normal(size=(k, 3)), factor, rng.normal(size=k), carried)
    labels, weights = rng.integers(-1, k, 500).astype(np.int32), rng.uniform(size=500)
    rows = packed(x, "identity", weights=weights)
    scores = centered.scores(x) + centered.half_squares(x)[:, None] * centered.is_carried
    truth = [weights[labels == j] @ scores[labels == j, j] for j in range(k)]
    np.testing.assert_allclose(rows.own_scores(labels, centered), truth, rtol=1e-12)
    chosen = np.array(centered.carried)
    np.testing.assert_allclose(centered.half_squares(x), 0.5 * ((x * factor[0])[:, chosen] ** 2).sum(axis=1), rtol=1e-6)


def test_sparse_rows_are_reported_one_by_one():
    rng = np.random.default_rng(4)
    X = random_array((300, 40), density=0.1, rng=rng, format="csr")
    natural, bias = rng.normal(size=(11, 40)), rng.normal(size=11)
    bias[3] = -np.inf
    rows, out = CompressedRows(X, n_threads=2), RowScores.wanting(NAMES, 300, 11)
    rows.row_scores(natural, bias, out)
    scores = X @ natural.T + bias
    check(out, scores)
    labels = np.empty(300, dtype=np.int32)
    rows.label_rows(natural, bias, labels)
    np.testing.assert_array_equal(labels, scores.argmax(axis=1))


@pytest.mark.parametrize("names", [NAMES, NAMES[:3]])
def test_wide_rows_are_reported_one_by_one(names):
    rng = np.random.default_rng(5)
    n, d, k = 1100, 40, 5
    rows, y = PanelsRows(n, d, 2), rng.normal(size=(n, d))
    rows.load(0, y)
    factors, shifts, constants = np.tril(rng.normal(size=(k, d, d))), rng.normal(size=(k, d)), rng.normal(size=k)
    constants[2] = -np.inf
    out = RowScores.wanting(names, n, k)
    rows.row_scores(factors, shifts, constants, np.full(n, -1, dtype=np.int32), out)
    scores = constants - 0.5 * ((np.einsum("kab,nb->nka", factors, y) - shifts) ** 2).sum(axis=2)
    check(out if out.scores is not None else RowScores(out.log_sums, out.tops, out.shares, scores), scores)


def test_room_of_another_shape_is_refused():
    rows = packed(np.zeros((3, 1)), "identity")
    with pytest.raises(ValueError, match="log_sums must be contiguous float64"):
        rows.row_scores(np.zeros((2, 1)), np.zeros(2), RowScores.wanting(["log_sums"], 4, 2))
    with pytest.raises(ValueError, match="labels must be 3 contiguous int32"):
        rows.label_rows(np.zeros((2, 1)), np.zeros(2), np.zeros(3, dtype=np.int64))


def test_a_meter_counts_passes_and_pairs(version):
    meter = Meter()
    x, natural, bias, _ = drawn(6, 640, 2, 3)
    rows = packed(x, "quadratic", meter=meter)
    rows.soft_pass(natural, bias)
    rows.log_likelihood(natural, bias)
    rows.hard_pass(natural, bias, Clusters.empty(640, 3, rows.n_statistics))
    assert (meter.work.passes, meter.work.scored) == (3, 3 * 640 * 3)
    assert meter.work.in_numpy == (meter.work.scored if version == "numpy" else 0)
