"""Likelihood-ratio tests for the number of components by the parametric bootstrap."""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.families import Gaussian
from kmle.inspection import bootstrap_lrt
from kmle.inspection.likelihood_ratio import LikelihoodRatios


@pytest.fixture(scope="module")
def tests():
    mixture = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[0.0], [6.0]], covariance=[[[1.0]]] * 2)
    X = mixture.sample(80, random_state=0)
    estimator = ExponentialFamilyMixture(family=Gaussian(structure="E"))
    return X, bootstrap_lrt(estimator, X, 4, n_resamples=19, level=0.1, random_state=0)


def test_two_components_are_found(tests):
    _, found = tests
    assert found.best == 2
    assert found.n_components == (1, 2)
    assert found.p_values[0] == 1 / 20
    assert found.p_values[1] > 0.1


def test_statistics_are_gains_in_likelihood(tests):
    X, found = tests
    own = [ExponentialFamilyMixture(k, family="gaussian-eii", random_state=0).fit(X).score(X) for k in (1, 2)]
    assert found.statistics[0] == pytest.approx(2 * len(X) * (own[1] - own[0]), rel=1e-4)
    assert all((values >= 0).all() for values in found.simulated)


def test_the_seed_decides(tests):
    X, found = tests
    again = bootstrap_lrt(
        ExponentialFamilyMixture(family=Gaussian(structure="E")), X, [1], n_resamples=19, random_state=0
    )
    np.testing.assert_array_equal(found.simulated[0], again.simulated[0])


def test_p_values_count_the_data_as_a_sample():
    found = LikelihoodRatios((1, 2), np.array([5.0, 1.0]), (np.arange(9.0), np.arange(9.0)), 0.05)
    assert found.p_values.tolist() == [0.5, 0.9]
    assert found.best == 1
    rejected = LikelihoodRatios((1, 2), np.array([50.0, 50.0]), (np.zeros(99), np.zeros(99)), 0.05)
    assert rejected.best == 3
    assert "test larger numbers" in str(rejected)


@pytest.mark.slow
def test_p_values_are_uniform_under_the_null():
    """One Gaussian: about a tenth of the samples is rejected at 0.1."""
    p = []
    for seed in range(16):
        X = np.random.default_rng(seed).standard_normal((60, 1))
        found = bootstrap_lrt(
            ExponentialFamilyMixture(family="gaussian-eii"), X, [1], n_resamples=19, random_state=seed
        )
        p.append(found.p_values[0])
    assert 0.3 < np.mean(p) < 0.7
    assert np.mean(np.array(p) <= 0.1) <= 0.35


def test_it_is_printed_and_plotted(tests):
    _, found = tests
    assert str(found).splitlines()[0].split() == ["components", "2", "x", "gain", "p-value"]
    assert "2 is the first number that is not rejected at 0.1." in str(found)
    assert found.plot().get_title(loc="left") == "Likelihood-ratio tests: 2 at level 0.1"


def test_hard_fits_are_tested_too():
    X = np.concatenate([np.random.default_rng(0).poisson(3, 60), np.random.default_rng(1).poisson(40, 60)])[:, None]
    found = bootstrap_lrt(KMLE(family="poisson"), X, [1], n_resamples=9, random_state=0)
    assert found.p_values[0] == 0.1


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"n_components": [2, 1]}, "growing whole numbers"),
        ({"n_components": 0}, "growing whole numbers"),
        ({"n_resamples": 0}, "n_resamples is 0"),
        ({"level": 1.0}, "level is 1.0"),
    ],
)
def test_wrong_settings_are_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        bootstrap_lrt(ExponentialFamilyMixture(), np.zeros((5, 1)), **wrong)
