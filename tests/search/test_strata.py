"""A line in strata stands for all its rows, in memory and in chunks."""

import tracemalloc

import numpy as np
import pytest

from kmle import ExponentialFamilyMixture
from kmle.data.table import Rows
from kmle.families import Gaussian, Poisson
from kmle.problem.problem import Problem
from kmle.seeding.sample import representative, sample_rows
from kmle.seeding.strata import Strata, strata_of

LINE = Gaussian().for_data(np.zeros((1, 1)))


def overlapping(n, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(n) < 0.4, rng.normal(0, 1, n), rng.normal(1.5, 2, n))[:, np.newaxis]


def strata_for(X, weights=None, k=3, family=None):
    family = (Gaussian() if family is None else family).for_data(X)
    problem = Problem(family, X, weights, 1e-3)
    size = sample_rows(problem, k)
    return strata_of(problem, representative(problem, size, 7), size)


def test_strata_have_the_weight_and_the_mean_of_all_rows():
    X = overlapping(12_000) + 1e6
    strata = strata_for(X)
    assert len(strata.values) < 700
    assert strata.weights.sum() == pytest.approx(12_000)
    assert strata.weights @ strata.values / 12_000 == pytest.approx(X.mean(), abs=1e-8)
    variance = strata.weights @ (strata.values - X.mean()) ** 2 / 12_000
    assert variance == pytest.approx(X.var(), rel=1e-3)


def test_strata_of_chunks_add_up():
    X = overlapping(9000)
    strata = Strata(np.linspace(-2.0, 3.0, 40))
    whole = strata(Rows(LINE, X), 0)
    parts = strata(Rows(LINE, X[:2500]), 0) + strata(Rows(LINE, X[2500:]), 2500)
    np.testing.assert_array_equal(parts.weights, whole.weights)
    np.testing.assert_allclose(parts.excess, whole.excess, atol=1e-9)


def test_a_row_of_weight_two_is_the_row_twice():
    X = overlapping(5000)
    twice = np.arange(5000) % 3 == 0
    weighted = strata_for(X, np.where(twice, 2.0, 1.0))
    repeated = strata_for(np.concatenate([X, X[twice]]))
    np.testing.assert_allclose(weighted.values, repeated.values, rtol=1e-12)
    np.testing.assert_allclose(weighted.weights, repeated.weights)


def test_few_rows_counts_and_several_columns_have_no_strata():
    assert strata_for(overlapping(1500)) is None
    assert strata_for(np.floor(np.abs(overlapping(9000))), family=Poisson()) is None
    assert strata_for(np.tile(overlapping(9000), 2), family=Gaussian()) is None


def test_strata_take_little_memory():
    rows = Rows(LINE, overlapping(1_000_000))
    strata = Strata(np.linspace(-2.0, 3.0, 500))
    tracemalloc.start()
    strata(rows, 0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.X.nbytes / 2


def test_seeds_agree_on_a_flat_ridge():
    X = overlapping(30_000, seed=3)
    objectives = [ExponentialFamilyMixture(2, random_state=seed).fit(X).result_.objective for seed in range(3)]
    assert max(objectives) - min(objectives) < 0.1


def test_a_stream_is_learned_as_the_same_rows_in_memory():
    X = overlapping(6000, seed=5)
    given = ExponentialFamilyMixture(2, random_state=0).fit(X)
    streamed = ExponentialFamilyMixture(2, random_state=0).fit(lambda: iter(np.array_split(X, 7)))
    assert streamed.result_.objective == pytest.approx(given.result_.objective, rel=1e-9)
    np.testing.assert_allclose(streamed.mixture_.source["mean"], given.mixture_.source["mean"], rtol=1e-5, atol=1e-5)
