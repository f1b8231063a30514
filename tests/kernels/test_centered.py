"""Scores by differences to means, in every version this machine can run, against extended precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmle._kernels import Centered, Clusters, PackedRows, use, versions

EPSILON = np.finfo(float).eps


def packed(x, features, weights=None, n_threads=1):
    rows = PackedRows(*x.shape, features, weights, x.dtype, n_threads)
    rows.load(0, x)
    return rows


def model(rng, k, d, features, offset=1.0, condition=1.0):
    """Natural parameters, biases and the same components by their means."""
    mean = offset * rng.normal(size=(k, d))
    turns = np.linalg.qr(rng.normal(size=(k, d, d)))[0]
    scales = np.exp(rng.uniform(-0.5, 0.5, (k, d)) * np.log(condition))
    if features == "identity":
        scales[:], turns[:] = scales[0], turns[0]
    if features != "quadratic":
        turns[:] = np.eye(d)
    precision = np.einsum("kab,kb,kcb->kac", turns, scales, turns)
    factor = np.linalg.cholesky(precision)
    log_weights = np.log(rng.dirichlet(np.ones(k)))
    linear = np.einsum("kab,kb->ka", precision, mean)
    products = {
        "identity": np.zeros((k, 0)),
        "diagonal": -0.5 * np.diagonal(precision, axis1=1, axis2=2),
        "quadratic": -np.where(np.eye(d, dtype=bool), 0.5, 1.0)[np.triu_indices(d)] * precision[:, *np.triu_indices(d)],
    }[features]
    bias = log_weights - 0.5 * np.einsum("ka,ka->k", mean, linear)
    form = factor if features == "quadratic" else np.diagonal(factor, axis1=1, axis2=2)
    return np.hstack([linear, products]), bias, Centered(mean, form, log_weights, features == "identity")


def extended_scores(x, centered):
    """Row by row in extended precision, and a bound on their rounding in double precision."""
    c = centered.mean.shape[1]
    x, mean = x.astype(np.longdouble), centered.mean.astype(np.longdouble)
    scores, bounds = np.empty((len(x), len(mean))), np.empty((len(x), len(mean)))
    for j in range(len(mean)):
        if centered.factor.shape[1] == c:
            lower = np.diag(centered.factor[j]).astype(np.longdouble)
        else:
            lower = np.zeros((c, c), np.longdouble)
            lower.T[np.triu_indices(c)] = centered.factor[j]
        difference = x - mean[j]
        whitened = difference @ lower
        scores[:, j] = centered.constant[j] - 0.5 * (whitened**2).sum(axis=1)
        size = np.abs(difference) @ np.abs(lower)
        terms = (np.abs(whitened) * size).sum(axis=1) + (c + 4) * EPSILON * (size**2).sum(axis=1)
        bounds[:, j] = 2 * (c + 4) * EPSILON * (terms + 0.5 * (whitened**2).sum(axis=1) + abs(centered.constant[j]))
    return scores, bounds


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("features", ["identity", "diagonal", "quadratic"])
@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 400), st.integers(1, 6), st.integers(1, 9))
def test_labels_are_those_of_centred_scores_to_the_last_bit(features, dtype, seed, n, d, k):
    rng = np.random.default_rng(seed)
    natural, bias, centered = model(rng, k, d, features, 10.0 ** rng.integers(0, 9), 10.0 ** rng.integers(0, 14))
    # Rows around the means, so that several components are close, and far out.
    x = centered.mean[rng.integers(k, size=n)] + rng.standard_cauchy((n, d))
    x[rng.integers(n), rng.integers(d)] = 10.0 ** rng.integers(0, 13)
    x = x.astype(dtype)
    expected = centered.scores(x).argmax(axis=1)
    rows = packed(x, features, n_threads=1 + seed % 2)
    clusters = Clusters.empty(n, k, rows.n_statistics)
    assert rows.hard_pass(natural, bias, clusters, centered=centered) == n
    np.testing.assert_array_equal(clusters.labels, expected)
    np.testing.assert_array_equal(clusters.sizes, np.bincount(expected, minlength=k))
    # From other labels on: what moves is booked.
    other = np.roll(centered.constant, 1)
    rows.hard_pass(natural, bias + other - centered.constant, clusters, centered=centered.with_constant(other))
    moved = centered.with_constant(other).scores(x).argmax(axis=1)
    np.testing.assert_array_equal(clusters.labels, moved)
    counts, sums = rows.label_sums(moved, k)
    np.testing.assert_allclose(clusters.counts, counts)
    np.testing.assert_allclose(clusters.sums, sums, atol=1e-12 * max(1.0, np.abs(rows.largest()).max()) * n)


@pytest.mark.parametrize("features", ["identity", "diagonal", "quadratic"])
@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 5), st.integers(1, 6))
def test_labels_are_right_where_double_precision_can_tell(features, seed, n, d, k):
    rng = np.random.default_rng(seed)
    natural, bias, centered = model(rng, k, d, features, 10.0 ** rng.integers(0, 10), 10.0 ** rng.integers(0, 15))
    x = centered.mean[rng.integers(k, size=n)] + rng.standard_cauchy((n, d))
    x[rng.integers(n), rng.integers(d)] = 10.0 ** rng.integers(0, 13)
    rows = packed(x, features)
    clusters = Clusters.empty(n, k, rows.n_statistics)
    rows.hard_pass(natural, bias, clusters, centered=centered)
    scores, bounds = extended_scores(x, centered)
    mine = scores[np.arange(n), clusters.labels] + bounds[np.arange(n), clusters.labels]
    assert (mine >= (scores - bounds).max(axis=1)).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("features", ["identity", "diagonal", "quadratic"])
@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 300), st.integers(1, 5), st.integers(1, 9))
def test_likelihoods_are_right_within_the_rounding_of_double_precision(features, dtype, seed, n, d, k):
    rng = np.random.default_rng(seed)
    natural, bias, centered = model(rng, k, d, features, 10.0 ** rng.integers(0, 8), 10.0 ** rng.integers(0, 12))
    x = centered.mean[rng.integers(k, size=n)] + rng.standard_cauchy((n, d))
    x[rng.integers(n), rng.integers(d)] = 10.0 ** rng.integers(0, 13)
    x = x.astype(dtype)
    weights = rng.random(n) if seed % 2 else None
    w = np.ones(n) if weights is None else weights
    rows = packed(x, features, weights)
    counts, sums, score = rows.soft_pass(natural, bias, centered=centered)
    log_likelihood, entropy = rows.log_likelihood(natural, bias, centered)
    scores, bounds = extended_scores(x, centered)
    top = scores.max(axis=1, keepdims=True)
    log_sum = top[:, 0] + np.log(np.exp(scores - top).sum(axis=1))
    lift = centered.half_squares(x) if centered.carried else np.zeros(n)
    # Good packed scores, of components that count, stay as they are: an error of SCORE_ERROR each at most, in terms.
    near = scores >= top - 60
    error = np.where(near, bounds, 0.0).max(axis=1) + 1e-6 * (natural.shape[1] + 5) + 8 * d * EPSILON * lift
    error = w @ (error + 4 * EPSILON * np.abs(log_sum))
    assert abs(score - w @ (log_sum + lift)) <= error + 64 * EPSILON * (w @ (np.abs(log_sum) + lift))
    assert log_likelihood == pytest.approx(score, rel=1e-10, abs=error)
    assert np.isfinite(sums).all()
    assert entropy >= -1e-9 * n
    np.testing.assert_allclose(counts.sum(), w.sum(), rtol=1e-12)
    clear = bounds[near].max() < 1e-4
    if clear:
        shares = np.exp(scores - log_sum[:, None])
        np.testing.assert_allclose(counts, w @ shares, rtol=1e-3, atol=1e-3 * w.sum())


def test_versions_agree_on_likelihoods():
    rng = np.random.default_rng(3)
    natural, bias, centered = model(rng, 7, 5, "quadratic", 1e5, 1e4)
    x = centered.mean[rng.integers(7, size=3001)] + rng.normal(size=(3001, 5))
    x[17, 2] = 1e9
    found = []
    for version in versions():
        use(version)
        found.append(packed(x, "quadratic").soft_pass(natural, bias, centered=centered)[2])
    np.testing.assert_allclose(found, found[0], rtol=1e-12)


def test_only_what_may_be_wrong_and_matters_is_computed_again():
    rng = np.random.default_rng(4)
    natural, bias, centered = model(rng, 4, 3, "quadratic")
    x = rng.normal(size=(100_000, 3))
    x[0, 0] = 1e7
    rows = packed(x, "quadratic")
    rows.soft_pass(natural, bias, centered=centered)
    scored, rescored = rows.work
    assert scored >= 400_000
    assert 0 < rescored <= 4 * 512 or type(rows.native).__module__.endswith("reference")


def test_inactive_components_never_win_and_may_be_anything():
    rng = np.random.default_rng(5)
    natural, bias, centered = model(rng, 3, 2, "diagonal", 1e6)
    natural[1], bias[1] = np.nan, -np.inf
    constant = np.where(np.arange(3) == 1, -np.inf, centered.constant)
    mean, factor = centered.mean.copy(), centered.factor.copy()
    mean[1], factor[1] = np.nan, np.nan
    centered = Centered(mean, factor, constant)
    x = mean[rng.choice([0, 2], 500)] + rng.normal(size=(500, 2))
    rows = packed(x, "diagonal")
    clusters = Clusters.empty(500, 3, rows.n_statistics)
    rows.hard_pass(natural, bias, clusters, centered=centered)
    assert 1 not in clusters.labels
    counts, sums, score = rows.soft_pass(natural, bias, centered=centered)
    assert counts[1] == 0
    assert np.isfinite(score)
    assert np.isfinite(sums).all()


def test_a_form_that_does_not_fit_is_refused():
    rows = packed(np.zeros((3, 2)), "diagonal")
    form = Centered(np.zeros((2, 2)), np.ones((2, 2)), np.zeros(2))
    with pytest.raises(ValueError, match="do not fit 3 components"):
        rows.soft_pass(np.zeros((3, 4)), np.zeros(3), centered=form)
    with pytest.raises(ValueError, match="do not fit means"):
        Centered(np.zeros((2, 3)), np.ones((2, 4)), np.zeros(2))
