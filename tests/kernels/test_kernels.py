"""The passes over packed rows, in every version this machine can run, against loops too plain to be wrong."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from kernels.remembering import remembered
from kmle._kernels import Clusters, PackedRows

INF = np.inf
FEATURES = ["identity", "diagonal", "quadratic"]


def packed(x, features="identity", weights=None, n_threads=1):
    rows = PackedRows(*x.shape, features, weights, x.dtype, n_threads)
    rows.load(0, x)
    return rows


@remembered
def plain_statistics(x, features):
    x = x.astype(float)
    d = x.shape[1]
    products = {
        "identity": [],
        "diagonal": [x[:, a] * x[:, a] for a in range(d)],
        "quadratic": [x[:, a] * x[:, b] for a in range(d) for b in range(a, d)],
    }[features]
    return np.column_stack([*x.T, *products])


@remembered
def plain_scores(t, natural, bias):
    """Summed one term after another, so that ties are ties."""
    scores = np.tile(np.asarray(bias, dtype=float), (len(t), 1))
    for j in np.flatnonzero(np.isfinite(bias)):
        for f in range(t.shape[1]):
            scores[:, j] += natural[j, f] * t[:, f]
    return scores


@remembered
def plain_sums(t, shares):
    return shares.sum(axis=0), np.array([(share[:, None] * t).sum(axis=0) for share in shares.T])


def check_hard(x, features, natural, bias, weights=None, clusters=None, n_threads=1):
    rows = packed(x, features, weights, n_threads)
    clusters = Clusters.empty(len(x), len(natural), rows.n_statistics) if clusters is None else clusters
    before = clusters.labels.copy()
    margins = np.empty(len(x), dtype=np.float32)
    changed = rows.hard_pass(natural, bias, clusters, margins)
    t = plain_statistics(x, features)
    scores = plain_scores(t, natural, bias)
    labels = scores.argmax(axis=1)
    np.testing.assert_array_equal(clusters.labels, labels)
    assert changed == np.count_nonzero(before != labels)
    w = np.ones(len(x)) if weights is None else weights
    counts, sums = plain_sums(t, w[:, None] * (labels[:, None] == np.arange(len(natural))))
    np.testing.assert_allclose(clusters.counts, counts, rtol=1e-12, atol=1e-12 * w.sum())
    np.testing.assert_allclose(clusters.sums, sums, rtol=1e-11, atol=1e-12 * np.abs(w[:, None] * t).sum())
    np.testing.assert_array_equal(clusters.sizes, np.bincount(labels, minlength=len(natural)))
    ordered = np.sort(scores, axis=1)
    gap = np.full(len(x), INF) if len(natural) == 1 else ordered[:, -1] - ordered[:, -2]
    scale = np.abs(scores[np.isfinite(scores)]).max(initial=1.0)
    finite = gap < 1e38  # margins are float32
    np.testing.assert_allclose(margins[finite], gap[finite], rtol=1e-4, atol=1e-3 * scale)
    # From nowhere, and without margins: whole blocks are labelled at once.
    again = Clusters.empty(len(x), len(natural), rows.n_statistics)
    assert rows.hard_pass(natural, bias, again) == len(x)
    np.testing.assert_array_equal(again.labels, labels)
    np.testing.assert_array_equal(again.sizes, clusters.sizes)
    np.testing.assert_allclose(again.counts, counts, rtol=1e-12)
    np.testing.assert_allclose(again.sums, sums, rtol=1e-11, atol=1e-12 * np.abs(w[:, None] * t).sum())
    return clusters


def check_soft(x, features, natural, bias, n_responsibilities=None, weights=None, n_threads=1):
    rows = packed(x, features, weights, n_threads)
    counts, sums, score = rows.soft_pass(natural, bias, n_responsibilities)
    t = plain_statistics(x, features)
    scores = plain_scores(t, natural, bias)
    if n_responsibilities is not None:
        scores = scores.copy()
        for row in scores:
            row[np.argsort(-row, kind="stable")[n_responsibilities:]] = -INF
    top = scores.max(axis=1, keepdims=True)
    shares = np.exp(scores - top)
    total = shares.sum(axis=1, keepdims=True)
    w = np.ones(len(x)) if weights is None else weights
    expected_counts, expected_sums = plain_sums(t, w[:, None] * shares / total)
    np.testing.assert_allclose(counts, expected_counts, rtol=1e-11, atol=1e-13 * w.sum())
    np.testing.assert_allclose(sums, expected_sums, rtol=1e-10, atol=1e-12 * np.abs(w[:, None] * t).sum())
    log_likelihood = w @ (top + np.log(total))[:, 0]
    assert score == pytest.approx(log_likelihood, rel=1e-11, abs=1e-9)
    if n_responsibilities is None:
        entropy = w @ scipy.special.entr(shares / total).sum(axis=1)
        assert rows.log_likelihood(natural, bias) == pytest.approx((log_likelihood, entropy), rel=1e-11, abs=1e-9)


def drawn(seed, n, d, k, features, dtype=np.float64):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(dtype)
    order = plain_statistics(x[:1], features).shape[1]
    return x, rng.normal(size=(k, order)), rng.normal(size=k), rng


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("features", FEATURES)
@given(st.integers(0, 10**6), st.integers(1, 150), st.integers(1, 6), st.integers(1, 11))
def test_random_rows(features, dtype, seed, n, d, k):
    x, natural, bias, rng = drawn(seed, n, d, k, features, dtype)
    weights = rng.random(n) if seed % 2 else None
    clusters = check_hard(x, features, natural, bias, weights)
    check_soft(x, features, natural, bias, None if seed % 3 else int(rng.integers(1, k + 1)), weights)
    # A second pass with other components changes some labels and must change the sums by just those rows.
    check_hard(x, features, natural + 0.2 * rng.normal(size=natural.shape), bias, weights, clusters)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_rows_and_threads_give_the_same(features, dtype):
    x, natural, bias, rng = drawn(1, 20_011, 3, 7, features, dtype)
    weights = rng.random(len(x))
    results = []
    for n_threads in (1, 2, 5):
        clusters = check_hard(x, features, natural, bias, weights, n_threads=n_threads)
        rows = packed(x, features, weights, n_threads)
        results.append((clusters.sums, *rows.soft_pass(natural, bias), rows.log_likelihood(natural, bias)))
    for result in results[1:]:
        for one, other in zip(results[0], result, strict=True):
            np.testing.assert_array_equal(one, other)  # to the last bit


def test_equal_components_go_to_the_lowest_index():
    x, natural, bias, _ = drawn(2, 500, 4, 3, "quadratic")
    natural, bias = np.repeat(natural, 3, axis=0), np.repeat(bias, 3)
    assert set(check_hard(x, "quadratic", natural, bias).labels) <= {0, 3, 6}


def test_near_ties_have_the_same_labels_in_every_version(version):
    """Components that differ in the last bits only: any other order of summation would label some rows otherwise."""
    x, natural, bias, rng = drawn(3, 4000, 5, 2, "quadratic")
    base = natural[0]
    natural = base + base * rng.integers(-3, 4, size=(12, base.size)) * 2.0**-52
    check_hard(x, "quadratic", natural, np.full(12, bias[0]))
    single = x.astype(np.float32)
    check_hard(single, "quadratic", natural, np.full(12, bias[0]))


@pytest.mark.parametrize("scale", [1e-42, 1e-20, 1.0, 1e6, 1e17, 1e30])
@pytest.mark.parametrize("offset", [0.0, 1e2, 1e5])
@pytest.mark.parametrize("features", FEATURES)
def test_labels_do_not_depend_on_what_single_precision_can_hold(features, offset, scale):
    """Rows in double precision are scored in single first, where that saves time: here there is work enough for it."""
    x, natural, bias, rng = drawn(5, 1500, 5, 30, features)
    x += offset
    degree = np.repeat([1, 2], [5, natural.shape[1] - 5])
    natural /= np.abs(plain_statistics(x, features)).max(axis=0)
    natural, x = 10 * natural / scale**degree, scale * x
    # Some components differ by rounding only, and some are dead.
    natural[20:25] = natural[:5] * (1 + 1e-9)
    bias[20:25] = bias[:5]
    bias[28:] = -INF
    clusters = check_hard(x, features, natural, bias)
    check_hard(x, features, natural, bias + 1e-3 * rng.normal(size=30), clusters=clusters)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("steepness", [1e2, 1e5, 1e9, 1e20, 1e34, 1e37])
def test_steep_components_are_told_from_gentle_ones(steepness, dtype):
    """Scores of steep components round to far more than gentle ones differ by; rows lie near both."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(2000, 3)).astype(dtype)
    means = np.vstack([x[:10], rng.normal(size=(20, 3))])
    precision = np.where(np.arange(30) < 10, steepness, 1 + rng.random(30))
    # Scores -precision |x - mean|^2 / 2, up to terms that all components share, from statistics x and x_a x_b.
    products = [-0.5 * precision * (a == b) for a in range(3) for b in range(a, 3)]
    natural = np.column_stack([precision[:, None] * means, *products])
    bias = -0.5 * precision * (means**2).sum(axis=1) + np.where(np.arange(30) < 10, 3.0, 0.0)
    clusters = check_hard(x, "quadratic", natural, bias)
    check_hard(x, "quadratic", natural * (1 + 1e-7), bias, clusters=clusters)


def test_dead_components_never_win_and_may_be_nan():
    x, natural, bias, _ = drawn(4, 200, 2, 6, "diagonal")
    bias[[0, 3]] = -INF
    natural[[0, 3]] = np.nan
    clusters = check_hard(x, "diagonal", np.where(np.isnan(natural), 0, natural), bias)
    again = Clusters.empty(len(x), 6, 4)
    packed(x, "diagonal").hard_pass(natural, bias, again)
    np.testing.assert_array_equal(again.labels, clusters.labels)
    assert not set(again.labels) & {0, 3}
    counts, sums, score = packed(x, "diagonal").soft_pass(natural, bias)
    assert counts[[0, 3]].tolist() == [0, 0]
    assert np.isfinite(sums).all()
    assert np.isfinite(score)
    counts, sums, score = packed(x, "diagonal").soft_pass(natural, np.full(6, -INF))
    assert not counts.any()
    assert not sums.any()
    assert score == -INF
    assert packed(x, "diagonal").log_likelihood(natural, np.full(6, -INF)) == (-INF, 0.0)
    check_soft(x, "diagonal", np.where(np.isnan(natural), 0, natural), bias)


@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
def test_components_far_below_the_best_add_nothing(spread):
    """Most rows have one component that counts, some have several."""
    x, natural, bias, rng = drawn(6, 3001, 3, 21, "identity")
    check_soft(x, "identity", spread * natural, bias)
    check_soft(x, "identity", spread * natural, bias, weights=rng.random(len(x)))


def test_small_responsibilities_are_right_to_the_last_digits():
    """One row, whose second component lies below the first by as much as a number can tell."""
    row = packed(np.zeros((1, 1)), "identity")
    below = np.concatenate([np.linspace(0.0, 707.9, 1771), np.log(2) * np.arange(1, 1021) / 32])
    shares = np.array([row.soft_pass(np.zeros((2, 1)), np.array([0.0, -b]))[0][1] for b in below])
    np.testing.assert_allclose(shares, scipy.special.expit(-below), rtol=1e-15)
    for nothing in (709.0, 1e5, INF):
        assert row.soft_pass(np.zeros((2, 1)), np.array([0.0, -nothing]))[0][1] < 1e-307


def test_extreme_values_stay_finite():
    x = np.array([[1e150, -1e150], [0.0, 1e-300], [1e8, 1e8 + 1]])
    natural = np.array([[1e-150, 0.0], [0.0, 1e-150], [1.0, -1.0]])
    check_hard(x, "identity", natural, np.zeros(3))
    check_soft(x, "identity", natural[:2], np.zeros(2))
    # In float32 these scores overflow: the labels must be right all the same.
    check_hard(np.array([[1e30, 1.0], [1.0, 1e30]], dtype=np.float32), "quadratic", np.eye(5)[:3] * 1e20, np.zeros(3))


def test_a_cluster_that_loses_all_its_rows_is_exactly_empty():
    rng = np.random.default_rng(5)
    x, weights = rng.normal(size=(1000, 2)), rng.random(1000)
    rows = packed(x, weights=weights)
    clusters = Clusters.empty(1000, 3, 2)
    rows.hard_pass(rng.normal(size=(3, 2)), np.zeros(3), clusters)
    rows.hard_pass(np.zeros((3, 2)), np.array([0.0, -1.0, -1.0]), clusters)
    assert clusters.counts[1:].tolist() == [0, 0]
    assert not clusters.sums[1:].any()


def test_rows_may_come_in_pieces_and_with_any_strides():
    x, natural, bias, _ = drawn(6, 1001, 3, 4, "quadratic")
    rows = PackedRows(1001, 3, "quadratic")
    for start in (0, 17, 500, 801):
        stop = {0: 17, 17: 500, 500: 801, 801: 1001}[start]
        rows.load(start, np.asfortranarray(x[start:stop]))
    clusters, expected = (Clusters.empty(1001, 4, rows.n_statistics) for _ in range(2))
    rows.hard_pass(np.asfortranarray(natural), bias, clusters)
    packed(x, "quadratic").hard_pass(natural, bias, expected)
    np.testing.assert_array_equal(clusters.labels, expected.labels)
    np.testing.assert_allclose(clusters.sums, expected.sums, rtol=1e-12)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("n", [1, 32, 5003])
def test_a_column_written_and_sorted_in_place_is_a_column_loaded(features, n):
    x, natural, bias, _ = drawn(4, n, 1, 5, features)
    loaded, written = packed(np.sort(x, axis=0), features), PackedRows(n, 1, features, n_threads=2)
    column = written.column()
    column[:] = x[:, 0]
    column.sort()
    written.measure()
    assert np.shares_memory(column, written.column())
    np.testing.assert_array_equal(written.largest(), loaded.largest())
    results = []
    for rows in (loaded, written):
        clusters = Clusters.empty(n, 5, rows.n_statistics)
        rows.hard_pass(natural, bias, clusters)
        results.append((clusters.labels, clusters.sums, *rows.soft_pass(natural, bias)))
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    del written, rows
    np.testing.assert_array_equal(column, np.sort(x[:, 0]))  # the column keeps the rows


def test_several_columns_do_not_lie_as_one():
    with pytest.raises(ValueError, match="rows of 2 columns do not lie as one"):
        PackedRows(3, 2).column()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize(
    ("features", "d", "k"), [("identity", 3, 6), ("identity", 70, 40), ("diagonal", 4, 6), ("quadratic", 3, 90)]
)
def test_sums_of_given_labels(features, d, k, in_order, weighted, dtype):
    x, _, _, rng = drawn(7, 3001, d, 1, features)
    x = x.astype(dtype)
    labels, weights = rng.integers(0, k - 1, 3001), rng.random(3001) if weighted else None
    labels[rng.integers(3001, size=20)] = labels[500:700] = -1  # no one's: single rows, and whole blocks
    labels = np.sort(labels) if in_order else labels
    rows = packed(x, features, weights, 2)
    counts, sums = rows.label_sums(np.repeat(labels, 2)[::2], k)  # not one after the other
    t, w = plain_statistics(x, features), np.ones(3001) if weights is None else weights
    expected = plain_sums(t, w[:, None] * (labels[:, None] == np.arange(k)))
    np.testing.assert_allclose(counts, expected[0], rtol=1e-12)
    np.testing.assert_allclose(sums, expected[1], rtol=1e-11, atol=1e-10)
    total, totals = rows.totals()
    assert total == pytest.approx(w.sum(), rel=1e-12)
    np.testing.assert_allclose(totals, w @ t, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_of_labels_in_order(dtype):
    x, _, _, rng = drawn(8, 3001, 3, 1, "identity")
    x = x.astype(dtype)
    labels = np.sort(rng.integers(0, 5, 3001)).astype(np.int32)
    labels[[70, 1500]] = 4, 0  # but for a few
    found = [packed(x, n_threads=threads).label_sums(labels, 6) for threads in (1, 2)]
    expected = plain_sums(x.astype(float), (labels[:, None] == np.arange(6)).astype(float))
    np.testing.assert_array_equal(found[0][0], expected[0])
    np.testing.assert_allclose(found[0][1], expected[1], rtol=1e-11, atol=1e-10)
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_wrong_arguments_are_refused():
    rows = packed(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="natural must have shape"):
        rows.soft_pass(np.zeros((3, 5)), np.zeros(3))
    with pytest.raises(ValueError, match="bias must have shape"):
        rows.soft_pass(np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="do not fit"):
        rows.load(3, np.zeros((2, 2)))
    for wrong in (3, -2):
        with pytest.raises(ValueError, match="labels must lie in"):
            rows.label_sums(np.array([0, 1, 2, wrong]), 3)
    with pytest.raises(ValueError, match="weights must have shape"):
        PackedRows(4, 2, weights=np.ones(3))
    with pytest.raises(TypeError, match="float32 or float64"):
        PackedRows(4, 2, dtype=np.int64)
    clusters = Clusters.empty(4, 3, 2)
    clusters.labels[:] = 7
    with pytest.raises(ValueError, match="labels must lie below"):
        rows.hard_pass(np.zeros((3, 2)), np.zeros(3), clusters)


def test_passes_from_several_threads_at_once():
    x, natural, bias, _ = drawn(8, 30_000, 3, 5, "quadratic")
    rows = packed(x, "quadratic", n_threads=2)
    expected = rows.soft_pass(natural, bias)
    found = []
    threads = [threading.Thread(target=lambda: found.append(rows.soft_pass(natural, bias))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found:
        np.testing.assert_array_equal(result[1], expected[1])


def test_a_forked_child_can_pass_too(version):
    code = """
import os, numpy as np
from kmle import _kernels as kernels
kernels.use({version!r})
rows = kernels.PackedRows(20000, 2, n_threads=2)
rows.load(0, np.ones((20000, 2)))
rows.soft_pass(np.ones((3, 2)), np.zeros(3))
child = os.fork()
if child == 0:
    rows.soft_pass(np.ones((3, 2)), np.zeros(3))
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code.replace("{version!r}", repr(version))], check=True, timeout=60
    )
