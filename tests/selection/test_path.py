"""The merge path is what a recount from the rows gives, at every number of components."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import dendrogram, is_valid_linkage
from scipy.sparse import csr_array

from algorithms.drawing import drawn_rows
from cases import BY_ID, CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, merging
from kmle import families as f
from kmle.algorithms import HardEM
from kmle.engines.statistics import ClusterStatistics
from kmle.problem.problem import Problem
from kmle.selection import merge_path, merge_path_from_fit, merge_path_from_labels, refit_path


def grouped(case, groups=6, n=120, seed=0):
    """Rows and labels: the rows of three laws cut into groups that are large enough to be regular."""
    X = drawn_rows(case, n, seed)
    order = np.argsort(X.sum(axis=1), kind="stable")
    labels = np.empty(len(X), dtype=int)
    labels[order] = np.arange(len(X)) * groups // len(X)
    return X, labels


def recount(family, X, labels, k, weights="free"):
    """The complete log-likelihood from the rows: every cluster at its own maximum."""
    total = 0.0
    for j in range(k):
        own = X[labels == j]
        share = len(own) / len(X) if weights == "free" else 1 / k
        total += family.mle(own).log_density(own).sum() + len(own) * np.log(share)
    return total


@pytest.mark.parametrize("weights", ["free", "fixed"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_objective_is_that_of_the_rows(case, weights):
    X, labels = grouped(case)
    path = merge_path_from_labels(X, labels, case.family, weights=weights)
    assert path.n_components.tolist() == list(range(len(path.leaves), 0, -1))
    for k, objective in zip(path.n_components, path.objectives, strict=True):
        expected = recount(case.family, X, path.labels_at(k, labels), k, weights)
        assert objective == pytest.approx(expected, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("case", ["gaussian-2", "poisson-1", "gamma-1", "dirichlet-3", "product"])
def test_with_a_prior_it_is_the_penalised_objective(case):
    case = BY_ID[case]
    X, labels = grouped(case)
    sample_weight = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    path = merge_path_from_labels(X, labels, case.family, sample_weight=sample_weight, prior_strength=0.5)
    seen = sample_weight > 0
    problem = Problem(case.family, X[seen], sample_weight[seen], 0.5)
    for k, objective in zip(path.n_components, path.objectives, strict=True):
        statistics = problem.gather(path.labels_at(k, labels)[seen].astype(np.int32), k)
        parameters = problem.first_parameters(statistics)
        assert objective == pytest.approx(problem.complete_objective(parameters, statistics), rel=1e-9)
        np.testing.assert_allclose(path.at(k).mixture.natural, problem.to_mixture(parameters).natural, rtol=1e-7)


@pytest.mark.parametrize("case", ["gaussian-2", "poisson-1", "von-mises-fisher-3"])
def test_each_merge_is_the_cheapest(case):
    case = BY_ID[case]
    X, labels = grouped(case)
    path = merge_path_from_labels(X, labels, case.family)
    for k in path.n_components[:-1]:
        now = path.labels_at(k, labels)
        merged = [
            recount(case.family, X, np.where(now == b, a, now - (now > b)), k - 1) for b in range(k) for a in range(b)
        ]
        assert path.objective_at(int(k) - 1) == pytest.approx(max(merged), rel=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 30))
def test_levels_are_nested_and_statistics_add(seed, K):
    rng = np.random.default_rng(seed)
    statistics = ClusterStatistics(rng.uniform(0.5, 9, K), rng.uniform(0.1, 50, (K, 2)), 0.0)
    path = merge_path(statistics, f.Poisson(n_features=2))
    finer = path.at(K).labels
    assert finer.tolist() == list(range(K))
    for k in range(K - 1, 0, -1):
        level = path.at(k)
        assert set(level.labels) == set(range(k))
        assert len(set(zip(finer, level.labels, strict=True))) == k + 1
        assert level.statistics.sums.sum(axis=0) == pytest.approx(statistics.sums.sum(axis=0), rel=1e-12)
        finer = level.labels
    if K > 1:
        assert is_valid_linkage(path.linkage())
        assert len(dendrogram(path.linkage(), no_plot=True)["leaves"]) == K


def test_equal_weights_merge_by_divergence_alone():
    rng = np.random.default_rng(0)
    counts = rng.uniform(1, 5, 12)
    statistics = ClusterStatistics(counts, counts[:, None] * rng.uniform(1, 50, (12, 1)), 0.0)
    path = merge_path(statistics, f.Poisson(n_features=1), weights="fixed")
    # Without the shares merging never gains, but for the n log k that equal weights of fewer components give back.
    assert (path.losses + counts.sum() * np.log(np.arange(12, 1, -1) / np.arange(11, 0, -1)) >= -1e-9).all()


def test_far_from_the_origin_nothing_changes():
    X, labels = grouped(BY_ID["gaussian-2"])
    near = merge_path_from_labels(X, labels, "gaussian")
    far = merge_path_from_labels(X + 1e7, labels, "gaussian")
    np.testing.assert_allclose(far.objectives, near.objectives, rtol=1e-6)
    np.testing.assert_array_equal(far.merges.pairs, near.merges.pairs)
    np.testing.assert_allclose(far.at(2).mixture.source["mean"], near.at(2).mixture.source["mean"] + 1e7, rtol=1e-12)


@pytest.mark.parametrize("weights", ["free", "fixed"])
def test_neighbours_are_enough(weights, monkeypatch):
    rng = np.random.default_rng(1)
    counts = rng.uniform(0.5, 2.0, 400)
    statistics = ClusterStatistics(counts, counts[:, None] * rng.gamma(2.0, 20.0, (400, 2)), 0.0)

    def lost():
        return np.cumsum(merge_path(statistics, f.Poisson(n_features=2), weights=weights).merges.losses)

    every_pair = lost()
    monkeypatch.setattr(merging, "COMPLETE_NUMBERS", 5000)
    neighbours = lost()
    # Greedy merges need not end where other greedy merges end, but they lose about as much.
    assert (neighbours - every_pair).max() <= 0.02 * (every_pair.max() - every_pair.min())


@pytest.mark.parametrize("batch", [1e-9, 0.2])
def test_the_path_ends_even_where_neighbours_run_out(batch, monkeypatch):
    for name, value in (("COMPLETE_NUMBERS", 1), ("NEIGHBOURS", 1), ("PARTNERS", 1), ("BATCH", batch)):
        monkeypatch.setattr(merging, name, value)
    case = BY_ID["poisson-1"]
    X, labels = grouped(case, groups=25, n=150)
    path = merge_path_from_labels(X, labels, case.family)
    for k in (20, 7, 2, 1):
        expected = recount(case.family, X, path.labels_at(k, labels), k)
        assert path.objective_at(k) == pytest.approx(expected, rel=1e-9)


def test_thousands_of_components_by_neighbours_find_the_islands():
    rng = np.random.default_rng(2)
    centers = rng.integers(0, 3, 2000)
    means = centers * 20.0 + rng.standard_normal(2000)
    statistics = ClusterStatistics(np.ones(2000), np.column_stack([means, means**2 + 0.1]), 0.0)
    path = merge_path(statistics, f.DiagonalGaussian(n_features=1))
    labels = path.at(3).labels
    assert len(set(zip(centers, labels, strict=True))) == 3


def test_a_fitted_model_starts_a_path():
    X = np.random.default_rng(0).poisson([[2], [2], [20], [60]], (4, 100)).reshape(-1, 1).astype(float)
    model = KMLE(n_components=8, family="poisson", random_state=0).fit(X)
    path = merge_path_from_fit(model, X)
    assert path.objectives[0] >= model.result_.objective - 1e-9 * abs(model.result_.objective)
    assert merge_path_from_fit(model.result_, X, prior_strength=1e-3).objectives == pytest.approx(path.objectives)
    soft = ExponentialFamilyMixture(n_components=5, family="poisson", random_state=0).fit(X)
    assert merge_path_from_fit(soft, X).at(1).mixture.source["rate"].item() == pytest.approx(X.mean(), rel=1e-5)


@pytest.mark.parametrize("weights", ["free", "fixed"])
def test_learning_again_never_loses(weights):
    case = BY_ID["gaussian-2"]
    X, labels = grouped(case, groups=8)
    path = merge_path_from_labels(X, labels, case.family, weights=weights, prior_strength=1e-3)
    for algorithm in (None, HardEM()):
        fits = refit_path(X, path, [2, 4, 8], algorithm=algorithm)
        assert list(fits) == [2, 4, 8]
        for k, fit in fits.items():
            before = path.objective_at(k)
            assert fit.objective >= before - 1e-9 * abs(before)


def test_sparse_rows_have_the_path_of_dense_ones():
    X = np.random.default_rng(0).poisson(0.5, (60, 5)).astype(float)
    labels, sample_weight = np.arange(60) % 6, np.arange(60) % 4
    options = {"family": "poisson", "sample_weight": sample_weight, "prior_strength": 0.1}
    dense = merge_path_from_labels(X, labels, **options)
    sparse = merge_path_from_labels(csr_array(X), labels, **options)
    np.testing.assert_allclose(sparse.objectives, dense.objectives, rtol=1e-12)
    fits = [refit_path(rows, dense, [3], sample_weight=sample_weight)[3] for rows in (X, csr_array(X))]
    np.testing.assert_array_equal(fits[0].labels, fits[1].labels)
    assert len(fits[0].labels) == 60


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"weights": "equal"}, "weights is 'equal'"),
        ({"prior_strength": 1.0}, "prior_moment"),
        ({"counts": [1.0, 0.0]}, "component 1 has no rows"),
        ({"sums": [[1.0, 2.0], [3.0, 4.0]]}, "sums of shape"),
    ],
)
def test_bad_input_gets_one_sentence(change, words):
    numbers = {"counts": [1.0, 2.0], "sums": [[3.0], [9.0]]} | change
    statistics = ClusterStatistics(np.array(numbers.pop("counts")), np.array(numbers.pop("sums")), 0.0)
    with pytest.raises(ValueError, match=words):
        merge_path(statistics, f.Poisson(n_features=1), **numbers)


def test_a_level_off_the_path_is_refused():
    path = merge_path_from_labels([[1], [2], [9]], [4, 4, 7], "poisson")
    assert path.leaves.tolist() == [4, 7]
    for k in (0, 3, 1.5):
        with pytest.raises(ValueError, match="from 2 components to 1"):
            path.at(k)
    with pytest.raises(ValueError, match="labels must be one whole number per row"):
        merge_path_from_labels([[1], [2]], [0], "poisson")
    with pytest.raises(ValueError, match="give a fitted estimator"):
        merge_path_from_fit(KMLE(), [[1]])


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian"])
def test_a_path_begins_at_the_objective_of_the_fit(family):
    # Rounded so coarsely that components stand on the floor of the resolution.
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(0.0, 0.05, (120, 2)) + rng.integers(0, 4, (120, 1)), 0)
    model = KMLE(4, family=family, random_state=0, prior_strength=0.5).fit(X)
    path = merge_path_from_fit(model, X)
    assert path.objectives[0] == pytest.approx(model.objective_, rel=1e-9)
