"""Cluster statistics: they add, and means and shares follow from them."""

import numpy as np
import pytest

from cases import CASES, case_id
from kmle._kernels import PackedRows
from kmle.engines.statistics import ClusterStatistics


def of_rows(t, labels, weights):
    rows = PackedRows(*t.shape, weights=weights)
    rows.load(0, t)
    counts, sums = rows.label_sums(labels, 3)
    return ClusterStatistics(counts, sums, float(weights.sum()))


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_those_of_the_whole_are_the_sum_of_those_of_the_parts(case):
    rng = np.random.default_rng(0)
    t = case.family.sufficient_statistic(case.sample(case.naturals(1, 0)[0], 30))
    labels, weights = rng.integers(0, 3, 30), rng.random(30)
    whole = of_rows(t, labels, weights)
    parts = [of_rows(t[part], labels[part], weights[part]) for part in np.split(np.arange(30), [7, 19])]
    added = parts[0] + parts[1] + parts[2]
    np.testing.assert_allclose(added.counts, whole.counts, rtol=1e-13)
    np.testing.assert_allclose(added.sums, whole.sums, rtol=1e-12, atol=1e-12)
    assert added.score == pytest.approx(whole.score, rel=1e-13)
    means = [np.average(t[labels == j], axis=0, weights=weights[labels == j]) for j in range(3)]
    np.testing.assert_allclose(whole.moments(), means, rtol=1e-12, atol=1e-12)
    shares = [weights[labels == j].sum() / weights.sum() for j in range(3)]
    np.testing.assert_allclose(whole.weights(), shares, rtol=1e-13)


def test_nothing_is_the_zero_of_the_sum():
    some = ClusterStatistics(np.array([2.0, 0.0]), np.array([[6.0], [0.0]]), -1.5)
    same = some + ClusterStatistics.zeros(2, 1)
    assert same.counts.tolist() == [2.0, 0.0]
    assert same.sums.tolist() == [[6.0], [0.0]]
    assert same.score == -1.5


def test_a_prior_is_so_many_rows_more():
    some = ClusterStatistics(np.array([2.0, 0.0]), np.array([[6.0], [0.0]]), 0.0)
    assert some.moments(1.0, np.array([9.0])).tolist() == [[5.0], [9.0]]


def test_an_empty_component_has_no_mean_and_breaks_nothing():
    some = ClusterStatistics(np.array([2.0, 0.0]), np.array([[6.0], [0.0]]), 0.0)
    assert some.moments().tolist() == [[3.0], [0.0]]
    assert some.weights().tolist() == [1.0, 0.0]


def test_adding_changes_neither_term():
    some = ClusterStatistics(np.array([2.0]), np.array([[6.0]]), 1.0)
    _ = some + some
    assert some.counts.tolist() == [2.0]
