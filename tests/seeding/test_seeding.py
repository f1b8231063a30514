"""Where learning starts from: legal laws, at distinct rows, spread as the method says."""

import numpy as np
import pytest

from algorithms.drawing import drawn_rows, started
from cases import BY_ID, CASES, case_id
from each import for_each
from kmle import families as f
from kmle.problem import problem as problem_module
from kmle.problem import shrinking
from kmle.problem.problem import Problem
from kmle.seeding import SEEDINGS
from kmle.seeding.grid import weight_grid
from kmle.seeding.k_mle_plus_plus import spread_over


def islands(n=30, seed=0):
    """Five tight groups in the plane, in order."""
    rng = np.random.default_rng(seed)
    centers = np.array([[0, 0], [100, 0], [0, 100], [100, 100], [50, 50]])
    return np.repeat(centers, n, axis=0) + rng.standard_normal((5 * n, 2))


@for_each("init", SEEDINGS)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_seeds_are_legal_laws(case, init, monkeypatch):
    monkeypatch.setitem(weight_grid.__globals__, "COMBINATIONS", 10)
    X = drawn_rows(case, 45, seed=1)
    for prescribed in (None, np.array([0.2, 0.3, 0.5])):
        start = started(Problem(case.family, X, None, 1e-3, prescribed), 3, init=init)
        assert np.isfinite(start.natural).all()
        assert np.isfinite(case.family.log_normalizer(start.natural)).all()
        assert np.isfinite(case.family.moment_from_natural(start.natural)).all()
        weights = np.exp(start.log_weights)
        if prescribed is None:
            assert weights.sum() == pytest.approx(1.0, rel=1e-12)
        else:
            np.testing.assert_allclose(weights[weights > 0], prescribed[: len(weights)][weights > 0], rtol=1e-12)


@pytest.mark.parametrize("init", ["k-mle++", "random", "restricted", "agglomerative"])
def test_no_more_seeds_than_distinct_rows(init):
    X = np.repeat([[0.0, 1.0], [2.0, 3.0], [7.0, 1.0]], 5, axis=0)
    problem = Problem(f.FixedCovarianceGaussian(), X)
    for k, found in ((1, 1), (3, 3), (5, 3)):
        seeds = started(problem, k, init=init).natural
        assert len(seeds) == found
        assert len(np.unique(seeds.round(9), axis=0)) == found


@pytest.mark.parametrize("family", [f.Gaussian(), f.DiagonalGaussian(), f.FixedCovarianceGaussian()], ids=str)
def test_k_mle_plus_plus_finds_every_island(family):
    X = islands()
    problem = Problem(family.for_data(X), X, None, 1e-3)
    hits = {"k-mle++": 0, "random": 0}
    for init in hits:
        for seed in range(20):
            partition, _ = problem.assign(started(problem, 5, seed, init))
            hits[init] += len(set(partition.labels[::30])) == 5
    assert hits["k-mle++"] >= 19
    assert hits["random"] <= 5  # 5! / 5^5 = 4 % of them


@pytest.mark.parametrize("family", [f.Gaussian(), f.DiagonalGaussian(), f.FixedCovarianceGaussian()], ids=str)
def test_merging_finds_every_island_every_time(family):
    X = islands()
    problem = Problem(family.for_data(X), X, None, 1e-3)
    for seed in range(3):
        partition, _ = problem.assign(started(problem, 5, seed, "agglomerative"))
        assert len(set(zip(np.repeat(np.arange(5), 30), partition.labels, strict=True))) == 5


def test_merging_begins_with_a_sample_of_many_rows(monkeypatch):
    monkeypatch.setitem(SEEDINGS["agglomerative"].__globals__, "SAMPLE_ROWS", 60)
    X = islands(n=200)
    problem = Problem(f.Gaussian(n_features=2), X, None, 1e-3)
    partition, _ = problem.assign(started(problem, 5, init="agglomerative"))
    assert len(set(zip(np.repeat(np.arange(5), 200), partition.labels, strict=True))) == 5


def test_merging_counts_weights():
    X = islands(n=12)
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    starts = [
        started(Problem(f.Gaussian(n_features=2), rows, w, 1e-3), 5, init="agglomerative")
        for rows, w in ((X, weights.astype(float)), (np.repeat(X, weights, axis=0), None))
    ]
    np.testing.assert_allclose(starts[0].log_weights, starts[1].log_weights, rtol=1e-9)


def test_seeds_are_drawn_by_weight():
    X = np.arange(1.0, 11.0)[:, None]
    weights = np.where(X[:, 0] <= 2, 50.0, 0.01)
    problem = Problem(f.Poisson(n_features=1), X, weights)
    for init in ("random", "k-mle++"):
        firsts = [
            problem.family.moment_from_natural(started(problem, 1, seed, init).natural)[0, 0] for seed in range(30)
        ]
        assert max(firsts) < 3


def test_rounding_chooses_no_seed():
    # Fewer rows than columns: divergences are good to a nat or so, and which of two seeds is better may be chance.
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, weights = rng.random((12, 30)), rng.integers(1, 5, 12)
        chosen = []
        for rows, w in ((X[::-1], weights[::-1].astype(float)), (np.repeat(X, weights, axis=0), None)):
            problem = Problem(f.Gaussian(n_features=30), np.ascontiguousarray(rows), w, 1e-3)
            draws = np.random.default_rng(5)
            chosen.append(spread_over(problem, 8, draws).seeds(8, draws))
        assert chosen[0] == chosen[1]


def test_the_shrunk_point_lies_between_the_row_and_the_mean():
    shrunk = shrinking.shrunk(np.array([[0.0], [4.0], [8.0]]), np.array([4.0]))
    np.testing.assert_allclose(shrunk[:, 0], [0.2, 4.0, 7.8], rtol=1e-12)


def test_restricted_moves_the_law_of_all_rows():
    case = BY_ID["gaussian-3"]
    X = drawn_rows(case, 90, seed=2)
    problem = Problem(case.family, X)
    source = problem.to_mixture(started(problem, 4, init="restricted")).source
    np.testing.assert_allclose(source["covariance"], np.tile(np.cov(X.T, bias=True), (4, 1, 1)), rtol=1e-8, atol=1e-9)
    distances = np.abs(X[None] - source["mean"][:, None]).max(axis=2).min(axis=1)
    assert distances.max() < 1e-9


def test_quantile_cuts_a_column_into_equal_groups():
    X = np.random.default_rng(0).permutation(np.arange(1.0, 91.0))[:, None]
    problem = Problem(f.Exponential(n_features=1), X)
    source = problem.to_mixture(started(problem, 3, init="quantile")).source
    np.testing.assert_allclose(1 / source["rate"].ravel(), [15.5, 45.5, 75.5], rtol=1e-12)


def test_quantile_counts_weights():
    X = np.arange(1.0, 5.0)[:, None]
    problem = Problem(f.Exponential(n_features=1), X, np.array([3.0, 1.0, 1.0, 1.0]))
    source = problem.to_mixture(started(problem, 2, init="quantile")).source
    np.testing.assert_allclose(1 / source["rate"].ravel(), [1.0, 3.0], rtol=1e-12)


def test_quantile_follows_the_longest_axis():
    rng = np.random.default_rng(0)
    along = rng.permutation(np.linspace(-10.0, 10.0, 120))
    X = along[:, None] * [1.0, 2.0, -1.0] + 0.01 * rng.standard_normal((120, 3))
    problem = Problem(f.Gaussian(n_features=3), X, None, 1e-3)
    means = problem.to_mixture(started(problem, 4, init="quantile")).source["mean"]
    quarters = np.sort(along).reshape(4, 30).mean(axis=1)
    np.testing.assert_allclose(means[np.argsort(means[:, 0])], quarters[:, None] * [1.0, 2.0, -1.0], atol=0.02)


@pytest.mark.parametrize("case", ["poisson-1", "gaussian-2", "gamma-1"])
def test_better_starts_are_better(case):
    case = BY_ID[case]
    problem = Problem(case.family, drawn_rows(case, 90, seed=3), None, 1e-3)

    def objective(init):
        start = started(problem, 3, seed=4, init=init)
        return problem.complete_objective(start, problem.assign(start)[1])

    assert objective("k-means") > objective("k-mle++")
    assert objective("grid") > objective("k-mle++")


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
def test_the_weights_of_a_grid(k):
    grid = weight_grid(k)
    assert grid.shape[1] == k
    assert 1 <= len(grid) <= 200
    assert (grid > 0).all()
    np.testing.assert_allclose(grid.sum(axis=1), 1.0, rtol=1e-12)
    assert len(np.unique(grid.round(12), axis=0)) == len(grid)


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(problem_module, "SAMPLE_ROWS", 50)
    X = np.random.default_rng(0).standard_normal((1000, 2))
    candidates = shrinking.seed_candidates(Problem(f.Gaussian(n_features=2), X), 2, np.random.default_rng(0))
    assert len(candidates) == 50
    assert len(set(candidates.indices)) == 50
