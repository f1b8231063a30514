"""Densities of mixtures, held against sums of SciPy's densities; posteriors; labels."""

import numpy as np
import pytest
from scipy.special import logsumexp

from cases import CASES, case_id
from kmle import Mixture
from mixture.drawing import typical


def rows_of(case, weighted, n=40):
    """Rows from every component."""
    dists = enumerate(weighted.natural)
    return np.concatenate([case.sample(dist, n // len(weighted.natural), seed) for seed, dist in dists])


def scipy_joint(case, weighted, points, X):
    """log(w_j p_j(x_i)), every p_j by SciPy."""
    return np.log(weighted.weights) + np.stack([twin.log_density(X) for twin in case.twins_at(points)], axis=1)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_density_is_the_weighted_sum_of_scipys(case):
    weighted, points = typical(case)
    X = rows_of(case, weighted)
    joint = scipy_joint(case, weighted, points, X)
    truth = logsumexp(joint, axis=1)
    np.testing.assert_allclose(weighted.log_joint(X), joint, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(weighted.log_density(X), truth, rtol=1e-8, atol=1e-8)
    assert weighted.complete_log_likelihood(X) == pytest.approx(joint.max(axis=1).sum(), rel=1e-8, abs=1e-8)
    np.testing.assert_allclose(weighted.posterior(X), np.exp(joint - truth[:, None]), rtol=0, atol=1e-8)
    clear = np.diff(np.sort(joint, axis=1)[:, -2:], axis=1)[:, 0] > 1e-6
    np.testing.assert_array_equal(weighted.predict(X)[clear], joint.argmax(axis=1)[clear])


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_posteriors_are_probabilities(case):
    weighted, _ = typical(case, k=5, seed=1)
    posterior = weighted.posterior(rows_of(case, weighted))
    assert posterior.min() >= 0
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-12)


def test_far_out_a_density_underflows_but_its_logarithm_does_not():
    narrow = Mixture.from_source("diagonal-gaussian", [0.5, 0.5], mean=[0.0, 1.0], variance=[1.0, 1.0])
    far = [[-1000.0], [1001.0]]
    np.testing.assert_allclose(narrow.log_density(far), -0.5 * 1000.0**2 - np.log(2 * np.sqrt(2 * np.pi)), rtol=1e-14)
    np.testing.assert_allclose(narrow.posterior(far), np.eye(2), atol=1e-200)


def test_a_component_of_weight_zero_is_never_chosen():
    weighted = Mixture.from_source("poisson", [0.0, 1.0], rate=[3.0, 30.0])
    assert weighted.predict([[3], [4]]).tolist() == [1, 1]
    assert weighted.posterior([[3]]).tolist() == [[0.0, 1.0]]


def test_equal_components_tie_and_the_first_one_wins():
    twice = Mixture.from_source("poisson", [0.5, 0.5], rate=[3.0, 3.0])
    assert twice.predict([[0], [3], [9]]).tolist() == [0, 0, 0]
    np.testing.assert_allclose(twice.posterior([[0], [9]]), 0.5, rtol=1e-14)


@pytest.mark.parametrize("method", ["log_density", "posterior", "predict", "complete_log_likelihood"])
def test_rows_outside_the_support_are_named(method):
    weighted = Mixture.from_source("poisson", [0.25, 0.75], rate=[1.0, 8.0])
    with pytest.raises(ValueError, match=r"row 1, column 0 holds 2\.5"):
        getattr(weighted, method)([[1], [2.5]])
