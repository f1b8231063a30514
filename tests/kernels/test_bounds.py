"""Passes that score what may have changed, in every version this machine can run, against those over everything."""

import numpy as np
import pytest

from kmle import _kernels as kernels
from kmle._kernels import Clusters, PackedRows, summarize_columns
from kmle.engines.bounds.kernel import BoundsRows, Drift, margin_order

FEATURES = ["identity", "diagonal", "quadratic"]


def packed(x, features="identity", weights=None, n_threads=1):
    rows = PackedRows(*x.shape, features, weights, x.dtype, n_threads)
    rows.load(0, x)
    return rows


def check(x, features, components, weights=None, n_threads=1):
    """A few passes, one after the other, against those over everything; returns what the passes returned."""
    rows, all_rows = packed(x, features, weights, n_threads), packed(x, features, weights)
    natural, bias = components[0]
    clusters = Clusters.empty(len(x), len(bias), rows.n_statistics)
    expected = Clusters.empty(len(x), len(bias), rows.n_statistics)
    rows.hard_pass(natural, bias, clusters)
    skipping = BoundsRows(rows, np.empty(len(x), dtype=np.float32))
    message = []
    for natural, bias in components:
        before = clusters.labels.copy()
        message.append(skipping.hard_pass(natural, bias, clusters))
        all_rows.hard_pass(natural, bias, expected)
        np.testing.assert_array_equal(clusters.labels, expected.labels)
        np.testing.assert_array_equal(clusters.sizes, expected.sizes)
        assert message[-1][0] == np.count_nonzero(before != clusters.labels)
        t_size = np.abs(x).max() + (np.abs(x).max() ** 2 if features != "identity" else 0)
        np.testing.assert_allclose(clusters.counts, expected.counts, rtol=1e-11, atol=1e-9)
        np.testing.assert_allclose(clusters.sums, expected.sums, rtol=1e-9, atol=1e-12 * len(x) * t_size)
    return message


def wandering(rng, k, order, steps, size=0.3):
    """Components that make steps of all sizes, the smallest ones below rounding."""
    natural, bias = rng.normal(size=(k, order)), rng.normal(size=k)
    for step in range(steps):
        yield natural, bias
        reach = size * 10.0 ** -(step % 6) if step % 7 else 1e-16
        natural = natural + reach * rng.normal(size=natural.shape)
        bias = bias + reach * rng.normal(size=k)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize(("n", "k"), [(1, 1), (63, 2), (64, 5), (1001, 17), (700, 300)])
def test_labels_are_those_of_a_pass_over_everything(n, k, features, dtype):
    rng = np.random.default_rng(n + k)
    x = np.sort(rng.normal(size=(n, 3)), axis=0).astype(dtype)
    order = PackedRows(1, 3, features).n_statistics
    check(x, features, list(wandering(rng, k, order, 12)), rng.random(n), n_threads=2)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("spread", [0.3, 1.0, 3.0])
def test_stretches_settle_and_are_disturbed_again(spread, dtype):
    rng = np.random.default_rng(12)
    k, n = 9, 64 * 40 + 17
    centers = 6 * rng.normal(size=(k, 3))
    own = np.sort(rng.integers(0, k, n))
    x = (centers[own] + spread * rng.normal(size=(n, 3))).astype(dtype)
    natural, moves = centers.copy(), []
    for step in range(40):
        moves.append((natural, -0.5 * (natural**2).sum(axis=1)))
        # Mostly small steps of a few components; now and then all of them jump.
        moving = rng.random(k) < (1.0 if step % 13 == 12 else 0.3)
        reach = 3.0 if step % 13 == 12 else 10.0 ** -rng.integers(1, 8)
        natural = natural + moving[:, None] * reach * rng.normal(size=natural.shape)
    check(x, "identity", moves, n_threads=2)


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_evidence_is_that_of_all_components(features, dtype):
    rng = np.random.default_rng(13)
    x = np.sort(3 * rng.normal(size=(700, 2)), axis=0).astype(dtype)
    weights = rng.random(700) if features == "identity" else None
    rows = packed(x, features, weights, n_threads=2)
    for size in (0.1, 3.0, 100.0):  # from components that all count to one that does
        moves = list(wandering(rng, 7, rows.n_statistics, 5))
        clusters = Clusters.empty(len(x), 7, rows.n_statistics)
        rows.hard_pass(size * moves[0][0], moves[0][1], clusters)
        skipping = BoundsRows(rows, np.empty(len(x), dtype=np.float32))
        for natural, bias in moves:
            # Before a pass with these components nothing is known, and all are scored.
            expected = rows.log_likelihood(size * natural, bias)
            assert skipping.log_likelihood(size * natural, bias) == expected
            skipping.hard_pass(size * natural, bias, clusters)
            np.testing.assert_allclose(skipping.log_likelihood(size * natural, bias), expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ties_stay_with_the_lowest(dtype):
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=(500, 2)), 1).astype(dtype)
    moves = []
    for natural, bias in wandering(rng, 6, 2, 9):
        doubled, twice = np.repeat(natural, 2, axis=0), np.repeat(bias, 2)
        moves.append((doubled, twice))
        moves.append((doubled * (1 + np.tile([0, 2.0**-51], 6)[:, None]), twice))  # a hair apart, either way
        moves.append((doubled * (1 - np.tile([0, 2.0**-51], 6)[:, None]), twice))
    check(x, "identity", moves)


def test_components_die_and_come_back():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(900, 3))
    natural, bias = rng.normal(size=(9, 3)), rng.normal(size=9)
    moves = []
    for step in range(8):
        inactive = np.zeros(9, dtype=bool)
        inactive[[step, (2 * step) % 9]] = step % 3 > 0
        moves.append((np.where(inactive[:, None], np.nan, natural), np.where(inactive, -np.inf, bias)))
        natural = natural + 1e-3 * rng.normal(size=natural.shape)
    check(x, "identity", moves)


@pytest.mark.parametrize("scale", [1e-25, 1e15, 1e25])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_of_any_size(scale, dtype):
    rng = np.random.default_rng(5)
    x = (scale * rng.normal(size=(300, 2))).astype(dtype)
    x[7] *= 100
    check(x, "identity", [(natural / scale, bias) for natural, bias in wandering(rng, 5, 2, 6)])


def test_what_is_certain_is_not_scored(version):
    rng = np.random.default_rng(6)
    centers = 40 * np.eye(8)
    x = np.repeat(centers, 256, axis=0) + rng.normal(size=(2048, 8))
    moves = [(centers * (1 + 1e-3 * step), -0.5 * (centers**2).sum(axis=1)) for step in range(5)]
    message = check(x, "identity", moves)
    assert message[0][1] == 2048 * 8
    if version != "numpy":
        assert [scored for _, scored, _ in message[1:]] == [0] * 4


@pytest.mark.parametrize("features", FEATURES)
def test_balls_hold_their_rows(features):
    rng = np.random.default_rng(7)
    x = rng.normal(size=(517, 3)) * [1.0, 10.0, 0.1]
    rows = packed(x, features)
    t = kernels.statistics.statistics_of(x, kernels.statistics.FEATURES[features])
    centers = t[:3].copy()
    for rows_each in (64, 192):
        starts = range(0, len(x), rows_each)
        balls = rows.balls(rows_each, centers, rng.integers(0, 3, len(starts)).astype(np.int32))
        for anchor, radius, start in zip(balls.anchors, balls.radii, starts, strict=True):
            distances = np.linalg.norm((t[start : start + rows_each] - centers[anchor]) / balls.scale, axis=1)
            assert distances.max() <= radius <= 1.00001 * distances.max()


def test_no_lead_shrinks_by_more_than_what_is_used_up():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(300, 4))
    rows, natural, bias = packed(x), rng.normal(size=(6, 4)), rng.normal(size=6)
    anchors = rng.integers(0, 6, 5).astype(np.int32)
    balls = rows.balls(64, rng.normal(size=(6, 4)), anchors)
    used = Drift(natural, bias, balls, rows.largest(), 16, 2)
    scores = before = x @ natural.T + bias
    for size in (1.0, 1e-3, 1e-9, 1.0):
        natural, bias = natural + size * rng.normal(size=natural.shape), bias + size * rng.normal(size=6)
        step = used.step(natural, bias)
        last, scores = scores, x @ natural.T + bias
        for s, (z, radius) in enumerate(zip(anchors, balls.radii, strict=True)):
            own = slice(64 * s, 64 * s + 64)
            gains = (scores - before - (scores - before)[:, [z]])[own].max(axis=0)
            bound = step.gained[z, :6].astype(float) + radius * step.reached[z, :6].astype(float)
            others = np.arange(6) != z
            assert (gains[others] <= bound[others]).all()
            assert gains.max() <= step.most_gained[z] + radius * step.most_apart[z]
            gains = (scores - last - (scores - last)[:, [z]])[own].max(axis=0)
            change = step.change[z, :6].astype(float)
            bound = change - change[z] + radius * step.apart[z, :6] + step.rounding + 1e-6 * np.abs(change).sum()
            assert (gains[others] <= bound[others]).all()


@pytest.mark.parametrize("k", [1, 7, 100_000])
def test_order_is_by_label_and_margin(k):
    rng = np.random.default_rng(9)
    labels = rng.integers(0, min(k, 500), 70_000).astype(np.int32)
    margins = rng.exponential(size=len(labels)).astype(np.float32)
    margins[[5, 6]] = np.inf, np.nan
    found = margin_order(labels, margins, k, n_threads=2)
    assert np.array_equal(np.sort(found), np.arange(len(labels)))
    kernels.use("numpy")
    assert np.array_equal(found, margin_order(labels, margins, k))
    if k < 100:
        assert (np.diff(labels[found]) >= 0).all()
        for label in range(k):
            own = found[labels[found] == label]
            first, last = own[: len(own) // 10], own[-len(own) // 10 :]
            assert margins[first].max() <= np.nanmin(margins[last])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("given", [np.float64, np.float32])
@pytest.mark.parametrize("d", [3, 64, 150])
def test_rows_are_taken_less_a_shift_in_any_order(d, given, dtype):
    rng = np.random.default_rng(10)
    shift, places = rng.normal(size=d), rng.permutation(1001).astype(np.int32)
    rows_given = rng.normal(size=(1001, d)).astype(given)
    for table in (rows_given, np.asfortranarray(rows_given)):
        expected = packed((table - shift).astype(dtype)[places])
        rows = PackedRows(*table.shape, dtype=dtype, n_threads=2)
        labels = rng.integers(0, 2, len(table))
        for order in (None, places):  # the second time over what was there before
            rows.load_shifted(table, shift, order)
        np.testing.assert_array_equal(rows.largest(), expected.largest())
        np.testing.assert_array_equal(rows.label_sums(labels, 2)[1], expected.label_sums(labels, 2)[1])
        np.testing.assert_array_equal(rows.totals()[1], expected.totals()[1])


@pytest.mark.parametrize("given", [np.float64, np.float32])
@pytest.mark.parametrize("d", [1, 2, 5, 19])
def test_rows_are_examined_as_they_are_taken(d, given):
    rng = np.random.default_rng(11)
    whole = rng.integers(-9, 9, size=(333, d)).astype(given)
    shift = rng.normal(size=d)
    row, column = rng.integers(333), rng.integers(d)
    for value in (0.0, -0.0, -17.0, 0.5, 2.0**60, np.nan, np.inf, -np.inf):
        table = whole.copy()
        table[row, column] = value
        for lies in (table, np.asfortranarray(table)):
            rows = PackedRows(*table.shape)
            seen, plain = rows.load_and_summarize(lies, shift), summarize_columns(table)
            assert (seen.finite, seen.finite and seen.whole) == (plain.finite, plain.finite and plain.whole)
            if np.isfinite(value):
                np.testing.assert_array_equal(seen.lowest, plain.lowest)
                np.testing.assert_array_equal(seen.highest, plain.highest)
                np.testing.assert_array_equal(rows.largest(), packed(table - shift).largest())
