"""Centroids of laws minimise what they say they minimise, and diversities are the minima."""

import numpy as np
import pytest
from hypothesis import strategies as st

from cases import CASES, case_id, for_all

WEIGHTS = np.array([0.5, 2.0, 1.0])


def right_loss(family, theta, dists):
    """The weighted mean of KL(p_i : theta)."""
    return WEIGHTS @ family.kl(dists, theta) / WEIGHTS.sum()


def left_loss(family, theta, dists):
    """The weighted mean of KL(theta : p_i)."""
    return WEIGHTS @ family.kl(theta, dists) / WEIGHTS.sum()


def symmetrised_loss(family, theta, dists):
    return right_loss(family, theta, dists) + left_loss(family, theta, dists)


LOSSES = {"right_centroid": right_loss, "left_centroid": left_loss, "symmetrised_centroid": symmetrised_loss}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_no_neighbour_has_a_lower_loss(case, name):
    family, loss = case.family, LOSSES[name]

    def lowest(draw):
        dists, seed = draw
        center = getattr(family, name)(dists, WEIGHTS)
        here = loss(family, center, dists)
        values, vectors = np.linalg.eigh(family.fisher_information(center)[0])
        directions = vectors / np.sqrt(np.maximum(values, 1e-8 * values[-1]))
        rng = np.random.default_rng(seed)
        rounding = 1e-13 * (1 + np.abs(family.log_normalizer(dists)).max())
        for size in (1e-3, 1e-2, 0.1):
            step = directions @ rng.normal(size=len(center))
            with np.errstate(invalid="ignore"):
                there = loss(family, center + size * step, dists)
            assert not there < here - rounding

    # The symmetrised centroid is a descent with a Fisher information at every step.
    examples = 3 if name == "symmetrised_centroid" else 8
    for_all(st.tuples(case.dists(3), st.integers(0, 2**32 - 1)), lowest, examples)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_sided_centroids_are_means(case):
    def means(dists):
        family, share = case.family, WEIGHTS / WEIGHTS.sum()
        moment = family.moment_from_natural(dists)
        right = family.right_centroid(dists, WEIGHTS)
        np.testing.assert_allclose(family.moment_from_natural(right), share @ moment, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(family.left_centroid(dists, WEIGHTS), share @ dists, rtol=1e-12)
        np.testing.assert_allclose(family.right_centroid(dists), family.right_centroid(dists, [2, 2, 2]), rtol=1e-9)

    for_all(case.dists(3), means)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_diversities_are_mean_divergences_to_the_centroid(case):
    def minima(dists):
        family = case.family
        rounding = 1e-9 * (1 + np.abs(family.log_normalizer(dists)).max())
        jensen = family.jensen_diversity(dists, WEIGHTS)
        information = family.bregman_information(family.moment_from_natural(dists), WEIGHTS)
        assert jensen >= 0
        assert information >= 0
        left, right = family.left_centroid(dists, WEIGHTS), family.right_centroid(dists, WEIGHTS)
        assert jensen == pytest.approx(left_loss(family, left, dists), rel=1e-8, abs=rounding)
        assert information == pytest.approx(right_loss(family, right, dists), rel=1e-8, abs=rounding)

    for_all(case.dists(3), minima)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_centroids_of_equal_laws_are_that_law(case):
    natural = case.naturals(1, seed=3)
    dists = np.repeat(natural, 3, axis=0)
    for name in LOSSES:
        np.testing.assert_allclose(getattr(case.family, name)(dists), natural[0], rtol=1e-8, atol=1e-8)
    assert case.family.jensen_diversity(dists) < 1e-12 * (1 + abs(case.family.log_normalizer(natural)[0]))
