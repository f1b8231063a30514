"""The pass over wide rows, in every version this machine can run, against sums too plain to be wrong."""

import threading

import numpy as np
import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from kernels.remembering import remembered
from kmle.engines.panels.kernel import PanelsRows

INF = np.inf


@remembered
def plain_scores(y, factors, shifts, constants):
    """One term after another, rounded at every step: what the labels are defined by."""
    scores = np.full((len(y), len(constants)), -INF)
    for j in np.flatnonzero(np.isfinite(constants)):
        total = np.zeros(len(y))
        for r in range(y.shape[1]):
            residual = np.full(len(y), -shifts[j][r])
            for c in range(r + 1):
                residual = residual + factors[j][r, c] * y[:, c]
            total = total + residual * residual
        scores[:, j] = constants[j] - 0.5 * total
    return scores


def plain_labels(y, factors, shifts, constants):
    return plain_scores(y, factors, shifts, constants).argmax(axis=1)


def check_evidence(y, scores, factors, shifts, constants, labels, n_threads):
    rows = PanelsRows(*y.shape, n_threads)
    rows.load(0, y)
    log_likelihood, entropies = rows.log_likelihood(factors, shifts, constants, labels)
    expected = scipy.special.logsumexp(scores, axis=1)
    active = np.isfinite(constants)
    # Residuals are rounded like the products they are sums of, scores like their constants.
    products = np.abs(np.asarray(factors)[active]).max(initial=0.0) * np.abs(y).max(initial=0.0) * y.shape[1]
    rounding = 1e-9 + 1e-14 * products + 1e-15 * np.abs(np.asarray(constants)[active]).max(initial=0.0)
    np.testing.assert_allclose(log_likelihood, expected, rtol=1e-11, atol=rounding)
    shares = np.exp(scores - expected[:, None]) if np.isfinite(expected).all() else np.zeros_like(scores)
    np.testing.assert_allclose(entropies, scipy.special.entr(shares).sum(axis=1), rtol=1e-7, atol=10 * rounding)


def found_labels(y, factors, shifts, constants, start=None, n_threads=1):
    rows = PanelsRows(*y.shape, n_threads)
    rows.load(0, y)
    labels = np.full(len(y), -1, dtype=np.int32) if start is None else start.astype(np.int32)
    before = labels.copy()
    scores = plain_scores(y, factors, shifts, constants)
    check_evidence(y, scores, factors, shifts, constants, labels, n_threads)
    np.testing.assert_array_equal(labels, before)
    changed = rows.hard_pass(factors, shifts, constants, labels)
    assert changed == np.count_nonzero(labels != before)
    return labels


def check(y, factors, shifts, constants, starts=(None,), n_threads=1):
    expected = plain_labels(y, factors, shifts, constants)
    for start in (*starts, expected):
        np.testing.assert_array_equal(found_labels(y, factors, shifts, constants, start, n_threads), expected)
    return expected


def drawn(seed, n, d, k, apart=1.0, narrow=1.0):
    """Components and rows from them: factors of Wishart-like precisions, means `apart`."""
    rng = np.random.default_rng(seed)
    factors = np.tril(rng.normal(size=(k, d, d)) / np.sqrt(d)) + np.eye(d) * rng.uniform(0.5, 2, size=(k, 1, 1))
    factors *= narrow
    means = apart * rng.normal(size=(k, d))
    shifts = np.einsum("kij,kj->ki", factors, means)
    constants = rng.normal(size=k) + np.log(np.abs(np.diagonal(factors, axis1=1, axis2=2))).sum(axis=1)
    owners = rng.integers(0, k, n)
    noise = np.linalg.solve(factors[owners], rng.normal(size=(n, d))[..., None])[..., 0]
    return means[owners] + noise, factors, shifts, constants, rng


@given(st.integers(0, 10**6), st.integers(1, 150), st.integers(1, 40), st.integers(1, 9))
def test_random_rows(seed, n, d, k):
    y, factors, shifts, constants, rng = drawn(seed, n, d, k, apart=10.0 ** rng_exponent(seed))
    check(y, factors, shifts, constants, starts=(None, rng.integers(-1, k, n)))


def rng_exponent(seed):
    return seed % 5 - 3


@pytest.mark.parametrize("apart", [0.0, 0.1, 1.0, 30.0])
@pytest.mark.parametrize("d", [15, 16, 17, 33, 90])
def test_overlapping_and_separated_components(d, apart):
    y, factors, shifts, constants, rng = drawn(d, 500, d, 7, apart)
    check(y, factors, shifts, constants, starts=(None, rng.integers(0, 7, 500)))


@pytest.mark.parametrize("n", [1, 31, 32, 33, 1023, 1024, 1025, 2500])
def test_any_number_of_rows(n):
    y, factors, shifts, constants, rng = drawn(n, n, 20, 4, 0.3)
    check(y, factors, shifts, constants, starts=(None, rng.integers(-1, 4, n)), n_threads=2)


def test_one_component_takes_all():
    y, factors, shifts, constants, _ = drawn(1, 100, 18, 1)
    assert not check(y, factors, shifts, constants).any()


def test_equal_components_go_to_the_lowest_index():
    y, factors, shifts, constants, rng = drawn(2, 400, 24, 3, 0.2)
    thrice = np.repeat(factors, 3, axis=0), np.repeat(shifts, 3, axis=0), np.repeat(constants, 3)
    starts = (None, rng.integers(0, 9, 400), np.full(400, 8))
    assert set(check(y, *thrice, starts=starts)) <= {0, 3, 6}


@pytest.mark.parametrize("narrow", [1.0, 1e6])
def test_near_ties_have_the_same_labels_in_every_version(narrow):
    """Components that differ in the last bits only: any other order of summation would label some rows otherwise."""
    y, factors, shifts, constants, rng = drawn(3, 600, 20, 1, narrow=narrow)
    bits = 2.0**-52 * rng.integers(-3, 4, size=(10, 20, 20))
    factors = factors * (1 + bits)
    shifts = shifts * (1 + bits[:, :, 0])
    labels = check(y, factors, shifts, np.repeat(constants, 10), starts=(None, rng.integers(0, 10, 600)))
    assert len(set(labels)) > 2


def test_dead_components_never_win_and_may_be_nan():
    y, factors, shifts, constants, _ = drawn(4, 200, 19, 6, 0.3)
    constants[[0, 3]] = -INF
    factors[[0, 3]], shifts[[0, 3]] = np.nan, np.nan
    assert not set(check(y, factors, shifts, constants, starts=(None, np.full(200, 3)))) & {0, 3}
    assert not found_labels(y, factors, shifts, np.full(6, -INF)).any()


def test_above_the_diagonal_nothing_is_read():
    y, factors, shifts, constants, _ = drawn(5, 100, 21, 4)
    spoilt = factors + np.triu(np.full((21, 21), 7.0), 1)
    np.testing.assert_array_equal(found_labels(y, spoilt, shifts, constants), check(y, factors, shifts, constants))


def test_extreme_values_stay_exact():
    y, factors, shifts, constants, _ = drawn(6, 300, 20, 5, 0.2)
    check(1e100 * y, 1e-100 * factors, shifts, constants)
    check(y + 1e7, factors, shifts + 1e7 * factors.sum(axis=2), constants)
    check(y, factors, shifts, 1e12 + constants)


def test_rows_may_come_in_pieces_and_with_any_strides():
    y, factors, shifts, constants, _ = drawn(7, 301, 18, 4, 0.3)
    rows = PanelsRows(301, 18)
    for start, stop in ((0, 17), (17, 200), (200, 301)):
        rows.load(start, np.asfortranarray(y[start:stop]))
    labels = np.full(301, -1, dtype=np.int32)
    rows.hard_pass(np.asfortranarray(factors), np.asfortranarray(shifts), np.repeat(constants, 2)[::2], labels)
    np.testing.assert_array_equal(labels, plain_labels(y, factors, shifts, constants))


def test_wrong_arguments_are_refused():
    rows = PanelsRows(4, 2)
    labels = np.zeros(4, dtype=np.int32)
    with pytest.raises(ValueError, match="do not fit"):
        rows.load(3, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="must have shapes"):
        rows.hard_pass(np.zeros((3, 2, 2)), np.zeros((3, 2)), np.zeros(2), labels)
    with pytest.raises(ValueError, match="contiguous int32"):
        rows.hard_pass(np.zeros((3, 2, 2)), np.zeros((3, 2)), np.zeros(3), labels.astype(np.int64))
    with pytest.raises(ValueError, match="labels must lie below"):
        rows.hard_pass(np.zeros((3, 2, 2)), np.zeros((3, 2)), np.zeros(3), labels + np.int32(3))
    with pytest.raises(ValueError, match="at least one column"):
        PanelsRows(4, 0)


def test_passes_from_several_threads_at_once():
    y, factors, shifts, constants, _ = drawn(8, 3000, 20, 5, 0.3)
    rows = PanelsRows(3000, 20, 2)
    rows.load(0, y)
    labels = [np.full(3000, -1, dtype=np.int32) for _ in range(4)]
    threads = [threading.Thread(target=rows.hard_pass, args=(factors, shifts, constants, each)) for each in labels]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = plain_labels(y, factors, shifts, constants)
    for each in labels:
        np.testing.assert_array_equal(each, expected)


@remembered
def plain_statistics(scores, x, weights, n_responsibilities):
    """Statistics by responsibility, from all scores (n, k), in long doubles."""
    scores = scores.copy()
    for row in scores:
        row[np.argsort(-row, kind="stable")[n_responsibilities:]] = -INF
    log_likelihood = scipy.special.logsumexp(scores, axis=1)
    shares = weights[:, None] * np.exp(scores - log_likelihood[:, None])
    upper = np.triu_indices(x.shape[1])
    products = (x[:, :, None] * x[:, None, :])[:, upper[0], upper[1]]
    statistics = np.hstack([x, products]).astype(np.longdouble)
    return shares.sum(axis=0), shares.T.astype(np.longdouble) @ statistics, weights @ log_likelihood


def check_soft(y, x, center, model, n_responsibilities=None, weights=None, n_threads=1, start=None):
    rows = PanelsRows(*y.shape, n_threads)
    rows.load(0, y)
    labels = np.full(len(y), -1, dtype=np.int32) if start is None else start.astype(np.int32)
    counts, sums, score = rows.soft_pass(*model, labels, x, center, weights, n_responsibilities)
    scores = plain_scores(y, *model)
    own = np.ones(len(y)) if weights is None else weights
    seen = (x - center).astype(x.dtype).astype(float)
    expected = plain_statistics(scores, seen, own, len(scores.T) if n_responsibilities is None else n_responsibilities)
    np.testing.assert_allclose(counts, expected[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(sums, expected[1].astype(float), rtol=1e-10, atol=1e-10 * np.abs(seen).max() ** 2)
    np.testing.assert_allclose(score, expected[2], rtol=1e-12)
    np.testing.assert_array_equal(labels, scores.argmax(axis=1))
    return counts, sums, score


@pytest.mark.parametrize("apart", [0.0, 0.1, 30.0])
@pytest.mark.parametrize("d", [1, 7, 8, 15, 24, 33, 90])
def test_soft_passes_add_up_statistics_by_responsibility(d, apart):
    y, *model, rng = drawn(d, 400, d, 5, apart)
    center = rng.normal(size=d)
    check_soft(y, rng.normal(size=(400, d)), center, model)
    check_soft(y, y.astype(np.float32), center, model, weights=rng.random(400) * (rng.random(400) < 0.8))
    check_soft(y, np.asfortranarray(y), center, model, n_responsibilities=2, start=rng.integers(-1, 5, 400))


@pytest.mark.parametrize("n", [1, 1024, 1025, 40_000])
def test_soft_passes_do_not_depend_on_the_threads(n):
    y, *model, _ = drawn(n, n, 9, 4, 0.3)
    counts, sums, score = check_soft(y, y, np.zeros(9), model)
    for n_threads in (2, 5):
        rows = PanelsRows(*y.shape, n_threads)
        rows.load(0, y)
        found = rows.soft_pass(*model, np.full(n, -1, dtype=np.int32), y, np.zeros(9))
        np.testing.assert_array_equal(found[0], counts)
        np.testing.assert_array_equal(found[1], sums)
        assert found[2] == score


def test_inactive_components_have_no_share():
    y, factors, shifts, constants, _ = drawn(4, 200, 19, 6, 0.3)
    constants[[0, 3]] = -INF
    factors[[0, 3]], shifts[[0, 3]] = np.nan, np.nan
    counts, sums, _ = check_soft(y, y, np.zeros(19), (factors, shifts, constants))
    assert counts[[0, 3]].tolist() == [0, 0]
    assert not sums[[0, 3]].any()
    rows = PanelsRows(*y.shape)
    rows.load(0, y)
    labels = np.zeros(200, dtype=np.int32)
    counts, sums, score = rows.soft_pass(factors, shifts, np.full(6, -INF), labels, y, np.zeros(19))
    assert score == -INF
    assert not counts.any()
    assert not sums.any()


def test_rows_that_do_not_fit_a_soft_pass_are_refused():
    rows = PanelsRows(4, 2)
    model = np.zeros((1, 2, 2)), np.zeros((1, 2)), np.zeros(1)
    with pytest.raises(ValueError, match="rows and center"):
        rows.soft_pass(*model, np.zeros(4, dtype=np.int32), np.zeros((4, 3)), np.zeros(3))
