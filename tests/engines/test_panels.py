"""The wide engine against the direct and the dense one."""

import numpy as np
import pytest

from kmle import _kernels as kernels
from kmle.data.table import Rows
from kmle.engines.choose import fits_panels
from kmle.engines.dense import DenseEngine
from kmle.engines.direct import DirectEngine, score_error
from kmle.engines.panels import coordinates
from kmle.engines.panels.engine import PanelsEngine
from kmle.engines.statistics import PASSES
from kmle.families import DiagonalGaussian, Gaussian

EPSILON = np.finfo(float).eps


def log_weights(rows, natural, bias):
    """What a bias holds beside -F."""
    safe = np.where(np.isfinite(bias)[:, None], natural, natural[np.argmax(np.isfinite(bias))])
    return bias + rows.family.log_normalizer(safe)


def direct_scores(rows, natural, bias):
    return DirectEngine(rows)._joint(slice(None), natural, log_weights(rows, natural, bias))[0]


@pytest.fixture(params=kernels.versions(), autouse=True)
def version(request):
    """Each version in turn serves."""
    kernels.use(request.param)
    yield request.param
    kernels.use(None)


def drawn(seed, n, d, k, apart=1.0, dtype=np.float64):
    """Rows from components with random covariances, and those components seen from the rows' origin."""
    rng = np.random.default_rng(seed)
    means = apart * rng.normal(size=(k, d))
    roots = rng.normal(size=(k, d, d)) / np.sqrt(d) + 0.3 * np.eye(d)
    owners = rng.integers(0, k, n)
    X = (means[owners] + np.einsum("nij,nj->ni", roots[owners], rng.normal(size=(n, d)))).astype(dtype)
    covariances = roots @ np.swapaxes(roots, 1, 2) + 0.01 * np.eye(d)
    return X, means, covariances, rng


def components(rows, means, covariances, weights=None):
    natural = rows.family.natural_from_source(mean=means - rows.center, covariance=covariances)
    shares = np.full(len(means), 1 / len(means)) if weights is None else weights
    with np.errstate(divide="ignore"):
        return natural, np.log(shares) - rows.family.log_normalizer(natural)


def rounding(rows, natural, bias):
    """What two engines' scores may differ by: sums of d products, of precisions and of residuals."""
    return 8 * rows.X.shape[1] * score_error(rows.largest_statistic, natural, bias)


def check(rows, natural, bias, engine=None):
    """Labels of the direct and of the dense engine, but for rows nearer to a tie than rounding; exact statistics."""
    partition, statistics = (PanelsEngine(rows) if engine is None else engine).hard_pass(natural, bias)
    labels = partition.labels
    best_two = np.sort(direct_scores(rows, natural, bias), axis=1)[:, -2:]
    clear = best_two[:, -1] - best_two[:, 0] > rounding(rows, natural, bias) if len(natural) > 1 else labels == 0
    assert clear.mean() > 0.99
    direct = DirectEngine(rows).hard_pass(natural, log_weights(rows, natural, bias))[0]
    for other in (direct, DenseEngine(rows).hard_pass(natural, bias)[0]):
        np.testing.assert_array_equal(labels[clear], other.labels[clear])
    counts, sums = rows.packed.label_sums(labels, len(natural))
    scale = np.abs(sums).max()
    np.testing.assert_allclose(statistics.counts, counts, rtol=1e-11, atol=1e-11 * rows.total)
    np.testing.assert_allclose(statistics.sums, sums, rtol=1e-11, atol=1e-11 * scale)
    return labels


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("apart", [0.0, 0.2, 1.0, 20.0])
@pytest.mark.parametrize("d", [3, 20, 60])
def test_overlapping_and_separated_components(d, apart, dtype):
    X, means, covariances, _ = drawn(1, 1500 if d < 60 else 600, d, 6, apart, dtype)
    rows = Rows(Gaussian().for_data(X), X, n_threads=2)
    check(rows, *components(rows, means, covariances))


def test_weighted_rows():
    X, means, covariances, rng = drawn(2, 700, 25, 5, 0.3)
    rows = Rows(Gaussian().for_data(X), X, rng.random(700))
    check(rows, *components(rows, means, covariances, rng.dirichlet(np.ones(5))))


def test_one_component():
    X, means, covariances, _ = drawn(3, 100, 18, 1)
    rows = Rows(Gaussian().for_data(X), X)
    assert not check(rows, *components(rows, means, covariances)).any()


def test_equal_components_go_to_the_lowest_index():
    X, means, covariances, _ = drawn(4, 400, 30, 3, 0.2)
    rows = Rows(Gaussian().for_data(X), X)
    natural, bias = components(rows, np.repeat(means, 2, axis=0), np.repeat(covariances, 2, axis=0))
    partition, _ = PanelsEngine(rows).hard_pass(natural, bias)
    assert set(partition.labels) <= {0, 2, 4}
    np.testing.assert_array_equal(partition.labels, DenseEngine(rows).hard_pass(natural, bias)[0].labels)


def test_dead_components_never_win():
    X, means, covariances, _ = drawn(5, 300, 20, 5, 0.2)
    rows = Rows(Gaussian().for_data(X), X)
    natural, bias = components(rows, means, covariances, np.array([0, 0.5, 0, 0.25, 0.25]))
    natural[0] = np.nan
    partition, statistics = PanelsEngine(rows).hard_pass(natural, bias)
    assert not set(partition.labels) & {0, 2}
    assert not statistics.sums[[0, 2]].any()
    natural[0] = natural[1]
    check(rows, natural, bias)


def test_columns_of_any_units_and_collinear_ones():
    X, means, covariances, _ = drawn(6, 800, 20, 4, 0.5)
    units = 10.0 ** np.linspace(-6, 6, 20)
    rows = Rows(Gaussian().for_data(X), X * units)
    plain = Rows(Gaussian().for_data(X), X)
    scaled = check(rows, *components(rows, means * units, covariances * np.outer(units, units)))
    np.testing.assert_array_equal(scaled, check(plain, *components(plain, means, covariances)))
    X[:, 3], X[:, 7] = X[:, 4], 2.5
    rows = Rows(Gaussian().for_data(X), X)
    check(rows, *components(rows, means, covariances))


def test_narrow_components_far_from_the_origin():
    """Where packed scores lose digits, labels are the direct engine's."""
    X, means, covariances, _ = drawn(7, 1000, 20, 2, 0.02)
    X, means, covariances = 1e-6 * X, 1e-6 * means, 1e-12 * covariances
    X[:500] += 10.0
    means, covariances = np.concatenate([means + 10, means]), np.concatenate([covariances, covariances])
    rows = Rows(Gaussian().for_data(X), X)
    natural, bias = components(rows, means, covariances)
    labels = PanelsEngine(rows).hard_pass(natural, bias)[0].labels
    scores = np.sort(direct_scores(rows, natural, bias), axis=1)
    clear = scores[:, -1] - scores[:, -2] > 0.05
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(
        labels[clear], DirectEngine(rows).hard_pass(natural, log_weights(rows, natural, bias))[0].labels[clear]
    )


def test_state_from_pass_to_pass():
    """Sums change by the rows that move; nothing moves twice; the number of components may change."""
    X, means, covariances, rng = drawn(8, 600, 18, 5, 0.3)
    rows = Rows(Gaussian().for_data(X), X, rng.random(600))
    engine = PanelsEngine(rows)
    for step in range(2 * PASSES + 3):
        shaken = components(rows, means + 0.1 * rng.normal(size=means.shape), covariances)
        if step % 17 == 0 or step > 2 * PASSES:
            check(rows, *shaken, engine)
        else:
            engine.hard_pass(*shaken)
    first, _ = engine.hard_pass(*shaken)
    assert engine.hard_pass(*shaken)[0] is first
    natural, bias = shaken
    check(rows, natural[:3], bias[:3], engine)
    check(rows, natural, bias, engine)


def test_a_cluster_that_loses_all_its_rows_is_exactly_empty():
    X, means, covariances, rng = drawn(9, 300, 16, 3, 0.3)
    rows = Rows(Gaussian().for_data(X), X, rng.random(300))
    engine = PanelsEngine(rows)
    engine.hard_pass(*components(rows, means, covariances))
    _, statistics = engine.hard_pass(*components(rows, means, covariances, np.array([1.0, 0.0, 0.0])))
    assert statistics.counts[1:].tolist() == [0, 0]
    assert not statistics.sums[1:].any()


def check_soft(rows, natural, bias, n_responsibilities=None):
    """Statistics by responsibility are those of packed scores and of direct densities."""
    engine = PanelsEngine(rows)
    direct = DirectEngine(rows).soft_pass(natural, log_weights(rows, natural, bias), n_responsibilities)
    for expected in (direct, DenseEngine(rows).soft_pass(natural, bias, n_responsibilities)):
        for _ in range(2):  # the second pass begins where the first one ended
            found = engine.soft_pass(natural, bias, n_responsibilities)
            scale = np.abs(expected.sums).max()
            np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-9, atol=1e-9 * rows.total)
            np.testing.assert_allclose(found.sums, expected.sums, rtol=1e-9, atol=1e-9 * scale)
            np.testing.assert_allclose(found.score, expected.score, rtol=1e-11)


@pytest.mark.parametrize("turned", [True, False])
@pytest.mark.parametrize("apart", [0.0, 0.3, 20.0])
def test_soft_passes_are_those_of_other_engines(apart, turned, monkeypatch):
    monkeypatch.setattr(coordinates, "TURN_FROM_ROWS", 0 if turned else np.inf)
    X, means, covariances, rng = drawn(10, 400, 17, 3, apart)
    rows = Rows(Gaussian().for_data(X), X, n_threads=2)
    check_soft(rows, *components(rows, means, covariances))
    check_soft(rows, *components(rows, means, covariances), n_responsibilities=2)
    weighted = Rows(Gaussian().for_data(X), X.astype(np.float32), rng.random(400))
    natural, bias = components(weighted, means, covariances, np.array([0.5, 0.0, 0.5]))
    check_soft(weighted, natural, bias)


@pytest.mark.parametrize("turned", [True, False])
def test_a_constant_column_hides_no_other(turned, monkeypatch):
    """Its variance is next to nothing; scores of the other columns keep their digits."""
    monkeypatch.setattr(coordinates, "TURN_FROM_ROWS", 0 if turned else np.inf)
    X, means, covariances, _ = drawn(11, 500, 12, 3, 0.3)
    plain = Rows(Gaussian().for_data(X), X)
    expected = PanelsEngine(plain).soft_pass(*components(plain, means, covariances))
    X = np.insert(X, 4, 7.0, axis=1)
    rows = Rows(Gaussian().for_data(X), X)
    covariances = np.insert(np.insert(covariances, 4, 0.0, axis=1), 4, 0.0, axis=2)
    covariances[:, 4, 4] = 1e-150
    natural, bias = components(rows, np.insert(means, 4, 7.0, axis=1), covariances)
    found = PanelsEngine(rows).soft_pass(natural, bias)
    np.testing.assert_allclose(found.counts, expected.counts, rtol=1e-9)
    added = 500 * 0.5 * (150 * np.log(10) - np.log(2 * np.pi))
    np.testing.assert_allclose(found.score, expected.score + added, rtol=1e-11)
    assert not found.sums[:, 4].any()


def test_sums_of_labels():
    X, _, _, rng = drawn(12, 300, 15, 2)
    rows = Rows(Gaussian().for_data(X), X, rng.random(300))
    labels = rng.integers(-1, 4, 300).astype(np.int32)
    for found, expected in zip(PanelsEngine(rows).gather(labels, 5), rows.packed.label_sums(labels, 5), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-9)


def test_other_families_are_refused():
    X = np.random.default_rng(0).normal(size=(10, 4))
    rows = Rows(DiagonalGaussian().for_data(X), X)
    assert not fits_panels(rows)
    with pytest.raises(ValueError, match="full covariances"):
        PanelsEngine(rows)
