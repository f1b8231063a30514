"""Estimates that are no narrower than the resolution of the data."""

import numpy as np
import pytest

from algorithms.drawing import drawn_rows
from cases import CASES, case_id
from kmle.families.resolution import Resolution, resolution_of


def resolution_for(case, share):
    """Steps as large as a share of each column's standard deviation."""
    deviations = np.maximum(drawn_rows(case, 80).std(axis=0), 1e-12)
    return Resolution(share * deviations, deviations)


def estimates(case, share):
    rows = drawn_rows(case, 80)
    family = case.family
    center = family.data_center(rows)
    seen = rows if center is None else family.centered_rows(rows, center)
    spread = family.smallest_spread(resolution_for(case, share), center)
    moments = np.stack([family.sufficient_statistic(part).mean(axis=0) for part in np.array_split(seen, 4)])
    return spread, moments


EXACT = ("gaussian", "diagonal-gaussian", "spherical-gaussian", "log-normal", "laplace", "exponential", "rayleigh")
SCALED = [case for case in CASES if case.family.smallest_spread(resolution_for(case, 1.0), None) is not None]


def test_families_with_a_scale_are_many():
    assert len(SCALED) > 20


@pytest.mark.parametrize("share", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("case", SCALED, ids=case_id)
def test_estimates_have_the_spread_asked_for(case, share):
    spread, moments = estimates(case, share)
    natural = case.family.natural_with_spread(moments, spread)
    assert np.isfinite(case.family.log_normalizer(natural)).all()
    if case.family.name not in ("beta", "dirichlet"):  # proportions cannot be spread at will
        assert case.family.has_spread(natural, spread).all()


@pytest.mark.parametrize("case", SCALED, ids=case_id)
def test_wide_components_are_the_plain_estimates(case):
    spread, moments = estimates(case, 1e-3)
    natural, plain = case.family.natural_with_spread(moments, spread), case.family.natural_from_moment(moments)
    wide = case.family.has_spread(plain, 1.001 * spread)
    np.testing.assert_allclose(natural[wide], plain[wide], rtol=1e-12)


@pytest.mark.parametrize("case", SCALED, ids=case_id)
def test_no_distribution_with_the_spread_is_more_likely_but_by_little(case):
    """Others of the estimates, and mixtures of their natural parameters, where they have the spread."""
    spread, moments = estimates(case, 1.0)
    family = case.family
    natural = family.natural_with_spread(moments, spread)
    rng = np.random.default_rng(0)
    shares = rng.dirichlet(np.ones(len(natural)), 200)
    moved = natural * (1 + 0.1 * rng.standard_normal((200, *natural.shape)))
    others = np.concatenate([shares @ natural, moved.reshape(-1, natural.shape[1])])
    with np.errstate(all="ignore"):
        legal = np.isfinite(family.log_normalizer(others))
        others = others[legal][family.has_spread(others[legal], spread)]
    reached = np.einsum("kd,kd->k", moments, natural) - family.log_normalizer(natural)
    best = (moments @ others.T - family.log_normalizer(others)).max(axis=1)
    exact = family.name in EXACT
    assert np.all(best <= reached + (1e-9 if exact else 0.1) * (1 + np.abs(reached)))


def test_a_covariance_is_clipped_in_units_of_the_steps():
    """With one eigenvalue below the bound the most likely covariance has a closed form."""
    case = next(case for case in CASES if case.id == "gaussian-2")
    spread = np.array([0.4, 0.8])
    covariance = np.array([[4.0, 7.9], [7.9, 16.0]])
    moment = np.array([[0.0, 0.0, 4.0, 7.9, 16.0]])
    found = case.family.source_from_natural(case.family.natural_with_spread(moment, spread))["covariance"][0]
    values, vectors = np.linalg.eigh(covariance / np.outer(spread, spread))
    assert values[0] < 1 < values[1]
    expected = (vectors * np.maximum(values, 1.0)) @ vectors.T * np.outer(spread, spread)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    np.testing.assert_array_less(-1e-9, np.linalg.eigvalsh(found - np.diag(spread**2)))


def test_resolution_of_a_table():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.round(rng.normal(size=300), 1), rng.normal(size=300), np.full(300, 7.0)])
    found = resolution_of(X)
    assert found.steps[0] == 0.1
    assert found.steps[1] == 0.0
    assert 0 < found.steps[2] < 1e-3
    again = resolution_of(np.concatenate([X, X[:5]]))
    np.testing.assert_array_equal(again.steps, found.steps)
