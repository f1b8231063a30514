"""Samples of mixtures: their moments, the shares of the components, and the same draw from the same seed."""

import numpy as np
import pytest
from scipy import stats

from cases import CASES, case_id
from kmle import Mixture
from mixture.drawing import typical

N = 4000
THREE = Mixture.from_source("poisson", [0.2, 0.3, 0.5], rate=[1.0, 10.0, 100.0])


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_mean_of_t_is_that_of_the_mixture(case):
    mixture, _ = typical(case)
    X = mixture.sample(N, random_state=2)
    assert X.shape == (N, case.family.n_features)
    t = case.family.sufficient_statistic(case.family.check(X))
    truth = mixture.weights @ mixture.moment
    error = t.std(axis=0) / np.sqrt(N)
    # Moments of heavy tails are no use here, but no statistic of these families has any.
    assert np.all(np.abs(t.mean(axis=0) - truth) < 5 * error + 1e-12)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_each_row_comes_from_the_component_its_label_names(case):
    mixture, _ = typical(case)
    X, labels = mixture.sample_joint(N, random_state=2)
    counts = np.bincount(labels, minlength=3)
    assert stats.chisquare(counts, N * mixture.weights).pvalue > 1e-6
    t = case.family.sufficient_statistic(X)
    for component in range(3):
        own = t[labels == component]
        error = own.std(axis=0) / np.sqrt(len(own))
        assert np.all(np.abs(own.mean(axis=0) - mixture.moment[component]) < 5.5 * error + 1e-12)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_same_seed_gives_the_same_rows(case):
    mixture, _ = typical(case)
    first = mixture.sample(20, random_state=3)
    np.testing.assert_array_equal(first, mixture.sample(20, random_state=3))
    assert not np.array_equal(first, mixture.sample(20, random_state=4))


def test_rows_come_in_no_order():
    labels = THREE.sample_joint(N, random_state=0)[1]
    # Neighbours agree as often as chance has it: sum of squared weights.
    agree = (labels[1:] == labels[:-1]).mean()
    assert agree == pytest.approx(0.04 + 0.09 + 0.25, abs=5 / np.sqrt(N))


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    assert not np.array_equal(THREE.sample(20, rng), THREE.sample(20, rng))


def test_a_component_of_weight_zero_is_never_drawn():
    X = Mixture.from_source("poisson", [0.0, 1.0], rate=[1000.0, 1.0]).sample(N, random_state=0)
    assert X.max() < 20


@pytest.mark.parametrize("n", [0, -3])
def test_no_rows_are_no_sample(n):
    with pytest.raises(ValueError, match=f"n is {n}: at least one row"):
        THREE.sample(n)
