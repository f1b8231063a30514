"""The moment is the gradient of F, and the mean of t."""

import numpy as np
import pytest
from scipy import stats

from cases import CASES, case_id, for_all


def slope(function, point):
    """Central differences of order four, as simple as they come."""
    step = 1e-4 * np.maximum(np.abs(point), 0.02)
    moves = np.diag(step)
    near = function(point + moves) - function(point - moves)
    far = function(point + 2 * moves) - function(point - 2 * moves)
    return (8 * near - far) / (12 * step)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_moment_is_the_slope_of_f(case):
    def gradient(natural):
        numerical = [slope(case.family.log_normalizer, theta) for theta in natural]
        np.testing.assert_allclose(numerical, case.family.moment_from_natural(natural), rtol=1e-6, atol=1e-6)

    for_all(case.dists(), gradient)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_natural_parameter_is_the_slope_of_the_conjugate_along_laws(case):
    """Along the line of moments between two laws; F* has no slope across it for families with redundant coordinates."""

    def gradient(natural):
        here, there = case.family.moment_from_natural(natural)
        middle, along = 0.5 * (here + there), 0.5 * (there - here)
        numerical = slope(lambda s: case.family.conjugate(middle + s * along), np.zeros(1))[0]
        exact = case.family.natural_from_moment(middle[None])[0] @ along
        assert numerical == pytest.approx(exact, rel=1e-5, abs=1e-5)

    for_all(case.dists(2), gradient)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_moment_is_the_mean_of_samples(case):
    """In units of its standard error the sample mean of t is off by the length of a Gaussian vector."""
    size = 4000
    for dist, natural in enumerate(case.naturals(3, seed=1)):
        rows = case.family.check(case.sample(natural, size, seed=dist))
        gap = case.family.sufficient_statistic(rows).mean(axis=0) - case.family.moment_from_natural(natural)
        information = case.family.fisher_information(natural)[0]
        distance = size * gap @ np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ gap
        assert distance < stats.chi2.isf(1e-7, case.family.n_parameters)
