"""The Fisher information: closed forms where they are known, the covariance of t everywhere."""

import numpy as np
import pytest
from scipy.special import polygamma

from cases import BY_ID, CASES, case_id, for_all
from kmle import families as f


def poisson(rate):
    return [[rate[0]]]


def bernoulli(probability):
    return np.diag(probability * (1 - probability))


def exponential(rate):
    return [[rate[0] ** -2]]


def gamma(shape, scale):
    """Of (log x, x): psi'(a), scale, a scale^2."""
    return [[polygamma(1, shape[0]), scale[0]], [scale[0], shape[0] * scale[0] ** 2]]


def gaussian(mean, covariance):
    """Of (x, x^2)."""
    m, v = mean[0], covariance[0, 0]
    return [[v, 2 * m * v], [2 * m * v, 2 * v**2 + 4 * m**2 * v]]


def dirichlet(concentration):
    return np.diag(polygamma(1, concentration)) - polygamma(1, concentration.sum())


def fixed_covariance_gaussian(mean):
    return [[2.0, 0.6], [0.6, 0.5]]


def categorical(probabilities):
    return np.diag(probabilities) - np.outer(probabilities, probabilities)


KNOWN = {
    "poisson-1": poisson,
    "bernoulli-3": bernoulli,
    "exponential": exponential,
    "gamma-1": gamma,
    "gaussian-1": gaussian,
    "dirichlet-3": dirichlet,
    "fixed-covariance-gaussian-matrix": fixed_covariance_gaussian,
    "categorical-one-column": categorical,
}


@pytest.mark.parametrize("name", KNOWN)
def test_closed_forms(name):
    case = BY_ID[name]

    def agrees(points):
        source = case.sources_at(points)
        information = case.family.fisher_information(case.naturals_at(points))
        for dist, matrix in enumerate(information):
            expected = np.array(KNOWN[name](**{key: value[dist] for key, value in source.items()}))
            np.testing.assert_allclose(matrix, expected, rtol=1e-8, atol=1e-9 * np.abs(expected).max())

    for_all(case.points(), agrees)


@pytest.mark.parametrize("rate", [1e-12, 1e-9, 1e-6, 1e-4, 1e-2, 1.0, 1e4, 1e8])
def test_far_out_in_the_tail(rate):
    """Nearly empty cells are common in mixtures; differences must not step over them."""
    family = f.Poisson(n_features=1)
    assert family.fisher_information(np.log([[rate]])).item() == pytest.approx(rate, rel=1e-8)


@pytest.mark.parametrize("probability", [1e-12, 1e-9, 1e-6, 1e-3])
def test_rare_answers(probability):
    family = f.Bernoulli(n_features=1)
    natural = family.natural_from_source(probability=np.array([probability]))
    assert family.fisher_information(natural).item() == pytest.approx(probability * (1 - probability), rel=1e-8)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_it_is_the_covariance_of_the_statistic(case):
    """Entry by entry within six standard errors, once the statistic is given unit covariance."""
    size = 4000
    for dist, natural in enumerate(case.naturals(3, seed=2)):
        information = case.family.fisher_information(natural)[0]
        values, vectors = np.linalg.eigh(information)
        kept = values > 1e-10 * values[-1]
        assert kept.sum() == case.family.n_parameters
        statistic = case.family.sufficient_statistic(case.sample(natural, size, seed=dist))
        white = (statistic - statistic.mean(axis=0)) @ vectors[:, kept] / np.sqrt(values[kept])
        products = np.einsum("ni,nj->nij", white, white)
        error = products.std(axis=0) / size**0.5
        assert np.all(np.abs(products.mean(axis=0) - np.eye(kept.sum())) < 6 * error + 1e-12)
