"""Passes over rows in the order of their places in space, in every version this machine can run."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmle._kernels import Clusters, PackedRows
from kmle.engines.boxes.kernel import BoxesRows, Candidates, GroupLabels, spatial_order, spread_labels

FEATURES = ["identity", "diagonal", "quadratic"]


def packed(x, features, weights=None, n_threads=1):
    rows = PackedRows(*x.shape, features, weights, x.dtype, n_threads)
    rows.load(0, x)
    return rows


def check(x, features, components, weights=None, n_threads=1):
    """A few passes, one after the other, against those over all rows."""
    ordered = x.copy()
    places = spatial_order(ordered, n_threads)
    np.testing.assert_array_equal(ordered, x[places])
    rows = packed(x, features, weights, n_threads)
    pruned = BoxesRows(packed(ordered, features, None if weights is None else weights[places], n_threads))
    before, labels_before = None, np.full(len(x), -1)
    for natural, bias in components:
        clusters = Clusters.empty(len(x), len(natural), rows.n_statistics)
        rows.hard_pass(natural, bias, clusters)
        after = GroupLabels.empty(len(x))
        changed, counts, sums = pruned.hard_pass(natural, bias, before, after)
        labels = spread_labels(after, places, n_threads)
        np.testing.assert_array_equal(labels, clusters.labels)
        assert changed == np.count_nonzero(labels != labels_before)
        np.testing.assert_allclose(counts, clusters.counts, rtol=1e-12)
        scale = np.abs(rows.largest()).max() * (len(x) if weights is None else weights.sum())
        np.testing.assert_allclose(sums, clusters.sums, rtol=1e-12, atol=1e-14 * scale)
        # A group has an owner exactly if all its rows have that label.
        for group, owner in enumerate(after.owners):
            own = set(labels[places[64 * group : 64 * group + 64]].tolist())
            assert own == {owner} if owner >= 0 else len(own) > 1
        assert before is None or after.same_as(before) == (changed == 0)
        before, labels_before = after, labels


def drawn(rng, x, k, features):
    order = packed(x[:1], features).n_statistics
    return rng.normal(size=(k, order)), rng.normal(size=k)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("features", FEATURES)
@given(st.integers(0, 10**6), st.integers(1, 700), st.integers(1, 6), st.integers(1, 11))
def test_random_rows(features, dtype, seed, n, d, k):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(dtype)
    weights = rng.random(n) if seed % 2 else None
    natural, bias = drawn(rng, x, k, features)
    near = natural + 1e-3 * rng.normal(size=natural.shape)
    check(x, features, [(natural, bias), (near, bias), (near, bias), (natural, bias)], weights)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("offset", [0.0, 1e3])
def test_several_levels_and_threads(features, offset):
    rng = np.random.default_rng(0)
    x = rng.standard_t(3, size=(20_000, 2)) + offset
    natural, bias = drawn(rng, x, 40, features)
    inactive = np.where(rng.random(40) < 0.3, -np.inf, bias)
    check(x, features, [(natural, bias), (natural, inactive), (1.01 * natural, bias)], rng.random(len(x)), n_threads=3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("features", ["identity", "quadratic"])
def test_many_components(features, dtype):
    """Enough components to be ruled out by several others; some are nearly or exactly the same."""
    rng = np.random.default_rng(5)
    d = 5 if features == "identity" else 2
    x = rng.normal(size=(9_001, d)).astype(dtype)
    means, widths = rng.normal(size=(200, d)), rng.uniform(0.1, 0.3, 200)
    means[100:120], widths[100:120] = means[:20], widths[:20]
    means[120:140], widths[120:140] = means[20:40] * (1 + 1e-9), widths[20:40]
    widths[140:145] *= 1e-3
    natural, bias = _round_bells(means, np.full(200, 0.2) if features == "identity" else widths, features)
    inactive = np.where(rng.random(200) < 0.3, -np.inf, bias)
    check(x, features, [(natural, bias), (natural, inactive), (natural * (1 + 1e-6), bias)], rng.random(len(x)))


def _round_bells(means, widths, features):
    """Spherical Gaussians; of equal width where the squares are no statistics."""
    d, precision = means.shape[1], widths[:, None] ** -2.0
    bias = -0.5 * (means**2).sum(axis=1) / widths**2
    if features == "identity":
        return means * precision, bias
    packed_precision = -0.5 * precision * np.eye(d)[np.triu_indices(d)]
    return np.hstack([means * precision, packed_precision]), bias - d * np.log(widths)


def test_one_candidate_of_another_size():
    """Scores of a needle are so large beside those of the others that single precision tells none of them apart."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(5_000, 2))
    means = np.vstack([rng.normal(size=(30, 2)), x[:3]])
    widths = np.concatenate([np.full(30, 0.3), np.full(3, 1e-5)])
    check(x, "quadratic", [_round_bells(means, widths, "quadratic")])


def test_equal_rows_equal_components_and_no_component():
    rng = np.random.default_rng(1)
    x = np.repeat(rng.normal(size=(7, 2)), 300, axis=0)
    natural, bias = drawn(rng, x, 6, "quadratic")
    twice = np.concatenate([natural, natural]), np.concatenate([bias, bias])
    check(x, "quadratic", [(natural, bias), twice, (natural, np.full(6, -np.inf))][:2])
    check(np.zeros((1000, 3)), "identity", [(rng.normal(size=(3, 3)), np.zeros(3))])
    labels = GroupLabels.empty(len(x))
    ordered = x.copy()
    spatial_order(ordered)
    BoxesRows(packed(ordered, "quadratic")).hard_pass(natural, np.full(6, -np.inf), None, labels)
    assert (labels.owners == 0).all()


def test_lists_of_candidates_are_kept_to():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 2))
    spatial_order(x)
    pruned = BoxesRows(packed(x, "identity"))
    natural, bias = drawn(rng, x, 8, "identity")
    everywhere = np.arange(len(pruned.levels[0].centers) + 1, dtype=np.int64) * 8
    names = np.tile(np.arange(8, dtype=np.int32), len(everywhere) - 1)
    found, expected = GroupLabels.empty(3000), GroupLabels.empty(3000)
    listed = pruned.hard_pass(natural, bias, None, found, Candidates(everywhere, names))
    plain = pruned.hard_pass(natural, bias, None, expected)
    assert found.same_as(expected)
    np.testing.assert_array_equal(listed[2], plain[2])


@pytest.mark.parametrize("shape", ["normal", "outliers", "whole", "line", "huge"])
def test_the_order_is_one_of_small_boxes(shape):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20_000, 2))
    if shape == "outliers":
        x = rng.standard_cauchy(size=x.shape)
    if shape == "whole":
        x = rng.integers(0, 5, size=x.shape).astype(float)
    if shape == "line":
        x[:, 1] = 0.0
    if shape == "huge":
        x *= 1e300
    ordered = x.copy()
    places = spatial_order(ordered)
    np.testing.assert_array_equal(np.sort(places), np.arange(len(x)))
    np.testing.assert_array_equal(ordered, x[places])
    scale = np.subtract(*np.quantile(x, [0.75, 0.25], axis=0)).max()
    widths = np.array([np.ptp(ordered[start : start + 64], axis=0).max() for start in range(0, len(x), 64)])
    assert np.median(widths) < 0.5 * scale


def test_boxes_are_as_narrow_in_every_column():
    x = np.random.default_rng(7).random((64 * 4**5, 5))
    spatial_order(x)
    widths = np.ptp(x.reshape(-1, 64, 5), axis=1).mean(axis=0)
    assert (widths < 0.3).all()  # each column is cut in four


def test_boxes_and_totals_of_all_levels():
    rng = np.random.default_rng(4)
    x, weights = rng.normal(size=(9000, 2)), rng.random(9000)
    levels = BoxesRows(packed(x, "diagonal", weights)).levels
    assert [level.rows_each for level in levels] == [256, 64]
    t = np.hstack([x, x**2])
    for level in levels:
        for place, start in enumerate(range(0, len(x), level.rows_each)):
            rows = slice(start, start + level.rows_each)
            assert (np.abs(x[rows] - level.centers[place]) <= level.halves[place]).all()
            assert level.totals[place, 0] == pytest.approx(weights[rows].sum(), rel=1e-12)
            np.testing.assert_allclose(level.totals[place, 1:], weights[rows] @ t[rows], rtol=1e-9, atol=1e-12)
