"""Every engine gives the dense engine's labels and sums, on every kind of rows it serves."""

import numpy as np
import pytest

from kmle import KMLE
from kmle._kernels import backend
from kmle.data.distinct import compressed
from kmle.data.table import Rows
from kmle.engines.bounds import engine as skipping
from kmle.engines.choose import ENGINES, choose
from kmle.engines.dense import DenseEngine
from kmle.families import (
    Beta,
    Exponential,
    FixedCovarianceGaussian,
    Gamma,
    Gaussian,
    InverseGamma,
    InverseGaussian,
    Laplace,
    LogNormal,
    Poisson,
    Rayleigh,
    SphericalGaussian,
)

LINES = {
    "gaussian": (Gaussian(), np.random.default_rng(0).normal(5, 3, 3000)),
    "spherical-gaussian": (SphericalGaussian(), np.random.default_rng(0).standard_t(3, 3000)),
    "log-normal": (LogNormal(), np.random.default_rng(0).lognormal(1, 1, 3000)),
    "gamma": (Gamma(), np.random.default_rng(0).gamma(0.7, 2, 3000)),
    "inverse-gamma": (InverseGamma(), 1 / np.random.default_rng(0).gamma(2, 2, 3000)),
    "inverse-gaussian": (InverseGaussian(), np.random.default_rng(0).wald(2, 3, 3000)),
    "beta": (Beta(), np.random.default_rng(0).beta(0.5, 2, 3000)),
    "exponential": (Exponential(), np.random.default_rng(0).exponential(2, 3000)),
    "rayleigh": (Rayleigh(), np.random.default_rng(0).rayleigh(2, 3000)),
    "laplace": (Laplace(1.0), np.random.default_rng(0).laplace(1, 2, 3000)),
    "poisson": (Poisson(), np.random.default_rng(0).poisson(6, 3000).astype(float)),
}
CLOUDS = {
    "fixed-2": (FixedCovarianceGaussian(), np.random.default_rng(0).normal(size=(5003, 2))),
    "fixed-5": (FixedCovarianceGaussian(), np.random.default_rng(0).normal(size=(5003, 5))),
    "gaussian-2": (Gaussian(), np.random.default_rng(0).normal(size=(5003, 2)) @ [[3.0, 1.0], [0.0, 0.2]]),
    "poisson-3": (Poisson(), np.random.default_rng(0).poisson(4, size=(5003, 3)).astype(float)),
}


def components(rows, k, rng, shrinkage=0.1):
    """Natural parameters near rows, with weights of their own."""
    chosen = rng.choice(len(rows), k)
    moments = (1 - shrinkage) * rows.take(np.sort(chosen)) + shrinkage * rows.mean_statistic
    natural = rows.family.natural_from_moment(moments)
    return natural, rng.normal(0, 0.5, k) - rows.family.log_normalizer(natural)


def assert_same(rows, engine, natural, bias):
    expected, statistics = DenseEngine(rows).hard_pass(natural, bias)
    partition, found = engine.hard_pass(natural, bias)
    np.testing.assert_array_equal(partition.labels, expected.labels)
    np.testing.assert_allclose(found.counts, statistics.counts, rtol=1e-11, atol=1e-9)
    # Sums of centred statistics nearly cancel: rounding is that of what was added.
    scale = rows.total * rows.largest_statistic.max()
    np.testing.assert_allclose(found.sums, statistics.sums, rtol=1e-9, atol=1e-13 * scale)
    assert partition.same_as(expected)
    return partition


@pytest.fixture(params=[16, 1024])
def run_values(request, monkeypatch):
    """How many values runs have: with few values, most runs are never sorted."""
    monkeypatch.setattr("kmle.engines.sorted.kernel.BUCKET_VALUES", request.param)


@pytest.mark.usefixtures("run_values")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", LINES)
def test_sorted(case, weighted):
    family, x = LINES[case]
    rng = np.random.default_rng(1)
    weights = rng.random(len(x)) if weighted else None
    rows = Rows(family.for_data(x[:, None]), x[:, None], weights)
    engine = ENGINES["sorted"](rows)
    previous = None
    for k in (1, 2, 5, 12):
        natural, bias = components(rows, k, rng)
        partition = assert_same(rows, engine, natural, bias)
        assert previous is None or not partition.same_as(previous)
        previous = partition
    # Equal components, dead components, and components that differ in the last bits only.
    natural, bias = components(rows, 4, rng)
    assert_same(rows, engine, np.repeat(natural, 2, axis=0), np.repeat(bias, 2))
    assert_same(rows, engine, natural, np.where([1, 0, 1, 0], bias, -np.inf))
    assert_same(rows, engine, np.repeat(natural, 3, axis=0), np.repeat(bias, 3) + np.tile([0, 1e-15, -1e-15], 4))
    soft, expected = engine.soft_pass(natural, bias), DenseEngine(rows).soft_pass(natural, bias)
    assert soft.score == pytest.approx(expected.score, rel=1e-12)


@pytest.mark.usefixtures("run_values")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("digits", [0, 1, 2, 3])
@pytest.mark.parametrize("case", ["gaussian", "gamma", "log-normal", "exponential"])
def test_values_that_repeat_on_the_line(case, digits, weighted):
    family, x = LINES[case]
    x = np.maximum(np.round(x, digits), 10.0**-digits)
    rng = np.random.default_rng(digits)
    rows = Rows(family.for_data(x[:, None]), x[:, None], rng.random(len(x)) if weighted else None)
    engine = ENGINES["sorted"](rows)
    for k in (1, 2, 7, 30):
        natural, bias = components(rows, k, rng, shrinkage=0.5)
        assert_same(rows, engine, natural, bias)
        # Scores that cross, and have their extrema, on the very values that repeat.
        assert_same(rows, engine, np.repeat(natural, 2, axis=0), np.repeat(bias, 2) + np.tile([0, 1e-15], k))
        soft, expected = engine.soft_pass(natural, bias), DenseEngine(rows).soft_pass(natural, bias)
        np.testing.assert_allclose(soft.counts, expected.counts, rtol=1e-9)
        assert soft.score == pytest.approx(expected.score, rel=1e-12)


@pytest.mark.parametrize("structure", ["boxes", "ball-tree", "vp-tree"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CLOUDS)
def test_pruned(case, dtype, structure):
    family, X = CLOUDS[case]
    rng = np.random.default_rng(2)
    rows = Rows(family.for_data(X), X.astype(dtype), rng.random(len(X)), n_threads=2)
    engine = ENGINES[structure](rows)
    for k in (1, 7, 200):
        natural, bias = components(rows, k, rng)
        assert_same(rows, engine, natural, bias)
        assert_same(rows, engine, natural + 1e-3 * np.abs(natural) * rng.normal(size=natural.shape), bias)
    natural, bias = components(rows, 60, rng)
    assert_same(rows, engine, np.repeat(natural, 2, axis=0), np.repeat(bias, 2))
    inactive = rng.random(60) < 0.5
    assert_same(rows, engine, natural, np.where(inactive, -np.inf, bias))
    # Ties by construction: components a hair apart.
    near = np.repeat(natural, 2, axis=0) * (1 + np.tile([0, 2.0**-51], 60)[:, None])
    assert_same(rows, engine, near, np.repeat(bias, 2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("case", CLOUDS)
def test_skipping_stays_exact_while_components_move(case, dtype, monkeypatch):
    monkeypatch.setattr(skipping, "STRAYED", 2)  # put in order again now and then
    family, X = CLOUDS[case]
    rng = np.random.default_rng(10)
    rows = Rows(family.for_data(X), X.astype(dtype), rng.random(len(X)), n_threads=2)
    engine = ENGINES["bounds"](rows)
    natural, bias = components(rows, 12, rng)
    for step in range(25):
        # Large steps, small ones, none at all; a component dies, and another comes back.
        size = [1.0, 1e-2, 1e-4, 0.0, 1e-6][step % 5]
        natural = natural + size * np.abs(natural) * rng.normal(size=natural.shape)
        bias = bias + size * rng.normal(size=12)
        bias[3] = -np.inf if step in (7, 8, 9) else (0.0 if step == 10 else bias[3])
        assert_same(rows, engine, natural, bias)
    assert engine._ordered is not None
    # Fewer components, as when the dead are left out, and as many as before again.
    for k in (5, 12, 12, 5, 5, 12):
        assert_same(rows, engine, natural[:k] * 1.0001**k, bias[:k])
    soft, expected = engine.soft_pass(natural, bias), DenseEngine(rows).soft_pass(natural, bias)
    assert soft.score == pytest.approx(expected.score, rel=1e-12)
    np.testing.assert_allclose(soft.counts, expected.counts, rtol=1e-9)


@pytest.mark.parametrize("threads", [2, 5])
def test_skipping_does_not_depend_on_threads(threads):
    rng = np.random.default_rng(19)
    X = rng.normal(size=(40_000, 8))
    X[::50] = np.round(X[::50], 1)
    rows = [Rows(FixedCovarianceGaussian().for_data(X), X, n_threads=n) for n in (1, threads)]
    one, several = (ENGINES["bounds"](own) for own in rows)
    natural, bias = components(rows[0], 32, rng)
    natural[16:] = natural[:16] * (1 + 1e-7)  # many rows are in doubt in single precision
    for step in range(12):
        found, expected = several.hard_pass(natural, bias), one.hard_pass(natural, bias)
        np.testing.assert_array_equal(found[0].labels, expected[0].labels)
        np.testing.assert_array_equal(found[1].counts, expected[1].counts)
        np.testing.assert_array_equal(found[1].sums, expected[1].sums)
        natural = natural * (1 + 1e-4 * (step > 1) * rng.normal(size=natural.shape))


def test_partitions_of_rows_in_order_compare_by_their_labels():
    X = np.random.default_rng(20).normal(size=(9000, 4))
    rows = Rows(FixedCovarianceGaussian().for_data(X), X)
    engine, rng = ENGINES["bounds"](rows), np.random.default_rng(21)
    natural, bias = components(rows, 6, rng)
    first = [engine.hard_pass(natural, bias)[0] for _ in range(4)][-1]
    assert engine._ordered is not None
    assert engine.hard_pass(natural, bias)[0] is first
    moved = engine.hard_pass(natural + 0.1, bias * 1.1)[0]
    assert not moved.same_as(first)
    back = engine.hard_pass(natural, bias)[0]
    assert back.same_as(first)
    assert back.digest == first.digest
    np.testing.assert_array_equal(back.labels, first.labels)


@pytest.mark.skipif(backend() != "compiled", reason="the NumPy kernels look at everything")
def test_skipping_really_skips():
    X = np.repeat(np.eye(4) * 50, 2000, axis=0) + np.random.default_rng(11).normal(size=(8000, 4))
    rows = Rows(FixedCovarianceGaussian().for_data(X), X)
    engine = ENGINES["bounds"](rows)
    natural = np.eye(4) * 50
    bias = -rows.family.log_normalizer(natural)
    for _ in range(2):  # a sample tells that the second pass moves nothing, so it takes note of leads
        engine.hard_pass(natural, bias)
    _, scored, _ = engine._ordered.bounds.hard_pass(natural * 1.001, bias, engine._ordered._tally.opened(4))
    assert scored < 0.1 * len(rows)


def test_pruning_leaves_most_groups_unseen_and_few_rows_of_two_minds():
    X = np.random.default_rng(3).normal(size=(200_000, 2))
    rows = Rows(Gaussian().for_data(X), X)
    natural, bias = components(rows, 8, np.random.default_rng(4), 0.5)
    partition = assert_same(rows, ENGINES["boxes"](rows), natural, bias)
    assert np.mean(partition.key()[0] < 0) < 0.2


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_pruned_sums_do_not_depend_on_threads(threads):
    X = np.random.default_rng(12).normal(size=(70_001, 2))
    one, several = (Rows(Gaussian().for_data(X), X, n_threads=n) for n in (1, threads))
    natural, bias = components(one, 9, np.random.default_rng(13))
    expected, found = (ENGINES["boxes"](rows).hard_pass(natural, bias) for rows in (one, several))
    np.testing.assert_array_equal(found[0].labels, expected[0].labels)
    np.testing.assert_array_equal(found[1].counts, expected[1].counts)
    np.testing.assert_array_equal(found[1].sums, expected[1].sums)


def test_pruned_partitions_compare_by_their_labels():
    X = np.random.default_rng(14).normal(size=(9000, 2))
    rows = Rows(Gaussian().for_data(X), X)
    engine, rng = ENGINES["boxes"](rows), np.random.default_rng(15)
    here, there = components(rows, 5, rng), components(rows, 5, rng)
    first, _ = engine.hard_pass(*here)
    labels = first.labels
    other, _ = engine.hard_pass(*there)
    assert not other.same_as(first)
    back, _ = engine.hard_pass(*here)
    assert back.same_as(first)
    assert not back.same_as(other)
    for _ in range(3):  # what partitions held by no one leave behind is used again, what is held is not
        engine.hard_pass(*there)
        engine.hard_pass(*here)
    np.testing.assert_array_equal(first.labels, labels)
    assert engine.hard_pass(*here)[0] is engine.hard_pass(*here)[0]
    # Components that differ for a single row: one label changes, and that is seen.
    natural, bias = here
    gap = np.sort(rows.take(slice(None)) @ natural.T + bias, axis=1)
    closest = np.argmin(gap[:, -1] - gap[:, -2])
    scores = rows.take(np.array([closest])) @ natural.T + bias
    winner, second = np.argsort(-scores[0])[:2]
    raised = bias.copy()
    raised[second] += 1.0000001 * (scores[0, winner] - scores[0, second])
    moved, _ = engine.hard_pass(natural, raised)
    assert np.count_nonzero(moved.labels != labels) == 1
    assert not moved.same_as(first)


@pytest.mark.skipif(backend() != "compiled", reason="the NumPy kernels do not prune")
def test_pruning_waits_until_it_pays():
    X = np.random.default_rng(16).normal(size=(100_000, 2))
    rows = Rows(Gaussian().for_data(X), X)
    rng = np.random.default_rng(17)
    few, other, many = components(rows, 4, rng), components(rows, 4, rng), components(rows, 12, rng)
    # Four clusters far apart, and eight components without rows: labels stay.
    places = np.array([[0.0, 0.0], [0.0, 20.0], [20.0, 0.0], [20.0, 20.0]])
    apart = Rows(rows.family, X + places[np.arange(100_000) % 4])
    natural = np.concatenate([places - apart.center, np.tile([-0.5, 0.0, -0.5], (4, 1))], axis=1)
    bias = np.append(-rows.family.log_normalizer(natural), np.full(8, -np.inf))
    settled = np.concatenate([natural, np.zeros((8, 5))]), bias

    def names(rows, k, *passes):
        engine = choose(rows, k, "auto", hard=True)
        return [(assert_same(rows, engine, *given), engine.name)[1] for given in passes]

    assert names(rows, 4, few, other, few, other) == ["dense", "dense", "boxes", "boxes"]
    assert names(rows, 12, many) == ["boxes"]
    # A fit whose rows keep their labels is near its end, but for ever it does not wait.
    assert names(apart, 12, *[settled] * 10) == ["dense"] * 9 + ["boxes"]
    engine = choose(rows, 12, "auto")
    engine.soft_pass(*many)
    engine.hard_pass(*many)
    assert engine.name == "dense"  # the one hard pass at the end of a soft fit
    soft = engine.soft_pass(*many)
    engine = choose(rows, 12, "auto")
    engine.hard_pass(*many)
    assert engine.name == "boxes"
    ordered = engine.soft_pass(*many)
    np.testing.assert_allclose(ordered.sums, soft.sums, rtol=1e-9, atol=1e-9)
    assert ordered.score == pytest.approx(soft.score, rel=1e-12)


@pytest.mark.parametrize("structure", ["ball-tree", "vp-tree"])
def test_trees_keep_every_component_that_may_win(structure):
    from kmle.engines.trees.component_tree import TREES, survivors, winners

    rng = np.random.default_rng(5)
    natural, bias = rng.normal(size=(300, 3)), rng.normal(size=300)
    root = TREES[structure](natural, bias, np.arange(300))
    points = rng.normal(size=(500, 3))
    np.testing.assert_array_equal(winners(root, natural, bias, points), (points @ natural.T + bias).argmax(axis=1))
    centers, halves = rng.normal(size=(40, 3)), 0.2 * rng.random((40, 3))
    possible = survivors(root, natural, bias, centers, halves, np.zeros(40))
    inside = centers[:, None] + halves[:, None] * rng.uniform(-1, 1, size=(40, 200, 3))
    best = (inside @ natural.T + bias).argmax(axis=2)
    assert possible[np.arange(40)[:, None], best].all()
    assert possible.mean() < 0.5


def test_compression_finds_the_distinct_rows():
    rng = np.random.default_rng(6)
    for X in (
        rng.integers(0, 9, (5000, 1)),
        rng.integers(-3, 3, (5000, 3)),
        rng.integers(0, 2, (5000, 6)) * 10**9,
        rng.integers(0, 5, (5000, 2)) * 0.1,
        rng.normal(size=(5000, 1)).round(1),
        10.0 ** rng.integers(-30, 30, (5000, 1)),
    ):
        X, weights = X.astype(float), rng.random(5000)
        few = compressed(X, weights)
        distinct, inverse = np.unique(X, axis=0, return_inverse=True)
        assert few is not None
        assert len(few.X) == len(distinct)
        np.testing.assert_array_equal(few.X[few.spread(np.arange(len(few.X)))], X)
        np.testing.assert_array_equal(
            few.spread(np.arange(len(few.X), dtype=np.int32)), few.spread(np.arange(len(few.X)))
        )
        np.testing.assert_allclose(np.sort(few.weights), np.sort(np.bincount(inverse.ravel(), weights)), rtol=1e-12)
        np.testing.assert_array_equal(np.sort(compressed(X, None).weights), np.sort(np.bincount(inverse.ravel())))
        narrow = compressed(X.astype(np.float32), None)
        np.testing.assert_array_equal(narrow.X[narrow.spread(np.arange(len(narrow.X)))], X.astype(np.float32))
    assert compressed(rng.normal(size=(5000, 1)), None) is None
    assert compressed(np.array([[1.0], [2.0]]), None) is None


@pytest.mark.parametrize("algorithm", ["k-mle", "hard-em", "hartigan"])
def test_compressed_fits_are_the_same_fits(algorithm):
    rng = np.random.default_rng(7)
    X = rng.poisson(np.array([1.0, 9.0, 30.0])[rng.integers(3, size=3000)])[:, None].astype(float)
    few, all_rows = (
        KMLE(3, family="poisson", algorithm=algorithm, engine=engine, random_state=0).fit(X)
        for engine in ("compressed", "dense")
    )
    assert "distinct rows" in few.result_.engine
    np.testing.assert_array_equal(few.labels_, all_rows.labels_)
    np.testing.assert_allclose(few.mixture_.natural, all_rows.mixture_.natural, rtol=1e-10)
    assert few.objective_ == pytest.approx(all_rows.objective_, rel=1e-12)


@pytest.mark.parametrize("engine", ["auto", *(name for name in ENGINES if name != "panels")])
def test_every_engine_learns_the_same_mixture(engine):
    x = np.random.default_rng(8).gamma(np.repeat([2.0, 20.0], 1500), 1.0)[:, None]
    model = KMLE(2, family="gamma", engine=engine, random_state=0).fit(x)
    expected = KMLE(2, family="gamma", engine="dense", random_state=0).fit(x)
    np.testing.assert_array_equal(model.labels_, expected.labels_)
    np.testing.assert_allclose(model.mixture_.natural, expected.mixture_.natural, rtol=1e-9)
    assert engine in ("auto", model.result_.engine)


@pytest.mark.parametrize(
    ("family", "x", "exact"),
    [
        (Poisson(), np.random.default_rng(0).poisson(4, (3000, 30)), True),
        (Poisson(), np.random.default_rng(0).poisson(4, (3000, 30)) + 2**24, False),
        (Exponential(), np.random.default_rng(0).poisson(4, (3000, 30)) + 0.5, True),
        (Exponential(), np.random.default_rng(0).poisson(4, (3000, 30)) + 0.1, False),
        (Gaussian(), np.random.default_rng(0).poisson(4, (3000, 3)), True),
        (Gaussian(), np.random.default_rng(0).poisson(4, (3000, 3)) + 0.1, False),
    ],
)
def test_single_precision_is_used_where_it_rounds_nothing(family, x, exact):
    rows = Rows(family, x.astype(float))
    assert (rows.precision == np.float32) == exact
    natural, bias = components(rows, 8, np.random.default_rng(3))
    t = rows.take(slice(None))
    partition, statistics = DenseEngine(rows).hard_pass(natural, bias)
    np.testing.assert_array_equal(partition.labels, (t @ natural.T + bias).argmax(axis=1))
    expected = np.array([t[partition.labels == j].sum(axis=0) for j in range(8)])
    np.testing.assert_allclose(statistics.sums, expected, rtol=1e-12, atol=1e-9)
    log_likelihood = np.logaddexp.reduce(t @ natural.T + bias, axis=1).sum()
    assert DenseEngine(rows).log_likelihood(natural, bias)[0] == pytest.approx(log_likelihood, rel=1e-12)
