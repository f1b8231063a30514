"""Bregman divergences of F and of F* are the Kullback-Leibler divergence, and entropies are what they should be."""

import numpy as np
import pytest

from cases import CASES, INTEGRABLE, case_id, for_all

LARGE = {"gaussian-3", "spherical-gaussian-3", "dirichlet-3"}
SAMPLED = [case for case in CASES if case not in INTEGRABLE]


def close(a, b, scale=1.0):
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-8 * scale)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_both_bregman_divergences_are_the_same(case):
    def equal(natural):
        p, q = natural[:4], natural[4:]
        moment = case.family.moment_from_natural(natural)
        kl = case.family.kl(p, q)
        np.testing.assert_array_equal(kl, case.family.bregman(q, p))
        close(case.family.dual_bregman(moment[:4], moment[4:]), kl, 1 + np.abs(case.family.log_normalizer(q)).max())
        assert np.all(kl >= 0)

    for_all(case.dists(), equal)


@pytest.mark.parametrize("case", INTEGRABLE, ids=case_id)
def test_divergence_by_quadrature(case):
    def divergence(points):
        p, q = case.naturals_at(points)
        rows, weights = case.nodes_at(points)
        log_p, log_q = case.family.log_density(rows, np.stack([p, q])).T
        expected = weights @ (np.exp(log_p) * (log_p - log_q))
        assert case.family.kl(p, q) == pytest.approx(expected, rel=1e-8, abs=1e-9)

    # Quadrature is thousands of densities an example, in three dimensions a hundred thousand.
    for_all(case.points(2), divergence, examples=4 if case.id in LARGE else 25)


@pytest.mark.parametrize("case", SAMPLED, ids=case_id)
def test_divergence_by_sampling(case):
    size = 4000
    for seed in range(3):
        p, q = case.naturals(2, seed)
        log_p, log_q = case.family.log_density(case.sample(p, size, seed), np.stack([p, q])).T
        ratio = log_p - log_q
        assert case.family.kl(p, q) == pytest.approx(ratio.mean(), abs=5 * ratio.std() / size**0.5)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_law_is_no_way_from_itself(case):
    def nothing(natural):
        scale = 1 + np.abs(case.family.log_normalizer(natural))
        moment = case.family.moment_from_natural(natural)
        assert np.all(case.family.kl(natural, natural) == 0)
        assert np.all(case.family.dual_bregman(moment, moment) <= 1e-12 * scale)

    for_all(case.dists(), nothing)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_cross_entropy_is_entropy_plus_divergence(case):
    def sum_of_two(natural):
        p, q = natural[:4], natural[4:]
        scale = 1 + np.abs(case.family.log_normalizer(natural)).max()
        close(case.family.cross_entropy(p, q), case.family.entropy(p) + case.family.kl(p, q), scale)

    # Some families integrate E[k(x)] law by law.
    for_all(case.dists(), sum_of_two, examples=10)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_entropy_is_that_of_scipy(case):
    def agrees(points):
        theirs = [twin.entropy() for twin in case.twins_at(points)]
        np.testing.assert_allclose(case.family.entropy(case.naturals_at(points)), theirs, rtol=1e-8, atol=1e-8)

    for_all(case.points(4), agrees, examples=10)


@pytest.mark.parametrize("case", INTEGRABLE, ids=case_id)
def test_entropy_by_quadrature(case):
    def agrees(points):
        natural = case.naturals_at(points)
        rows, weights = case.nodes_at(points)
        log_p = case.family.log_density(rows, natural)[:, 0]
        assert case.family.entropy(natural)[0] == pytest.approx(-weights @ (np.exp(log_p) * log_p), rel=1e-8, abs=1e-9)

    for_all(case.points(1), agrees, examples=4 if case.id in LARGE else 10)
