"""Chernoff coefficients are integrals of p^a q^(1-a), and Chernoff information the best of their exponents."""

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from cases import CASES, UNIVARIATE, case_id, for_all


@pytest.mark.parametrize("case", UNIVARIATE, ids=case_id)
def test_the_coefficient_is_an_integral(case):
    def integral(draw):
        points, alpha = draw
        p, q = case.naturals_at(points)
        rows, weights = case.nodes_at(points)
        log_p, log_q = case.family.log_density(rows, np.stack([p, q])).T
        expected = weights @ np.exp(alpha * log_p + (1 - alpha) * log_q)
        assert case.family.chernoff_coefficient(p, q, alpha) == pytest.approx(expected, rel=1e-8, abs=1e-12)

    for_all(st.tuples(case.points(2), st.floats(0.0, 1.0)), integral)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_coefficient_lies_between_zero_and_one(case):
    def between(draw):
        natural, alpha = draw
        p, q = natural[:4], natural[4:]
        coefficient = case.family.chernoff_coefficient(p, q, alpha)
        assert np.all((coefficient > 0) & (coefficient <= 1))
        np.testing.assert_allclose(case.family.chernoff_coefficient(q, p, 1 - alpha), coefficient, rtol=1e-9)
        np.testing.assert_array_equal(case.family.chernoff_coefficient(p, p, alpha) > 1 - 1e-12, True)
        half = case.family.bhattacharyya_coefficient(p, q)
        np.testing.assert_allclose(case.family.bhattacharyya_coefficient(q, p), half, rtol=1e-12)
        np.testing.assert_allclose(half, case.family.chernoff_coefficient(p, q, 0.5), rtol=1e-12)

    for_all(st.tuples(case.dists(), st.floats(0.0, 1.0)), between)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_information_is_the_largest_exponent(case):
    def largest(natural):
        p, q = natural
        information = case.family.chernoff_information(p, q)
        scale = 1e-9 * (1 + np.abs(case.family.log_normalizer(natural)).max())

        def log_coefficient(alpha):
            return float(np.log(case.family.chernoff_coefficient(p, q, alpha)))

        grid = [-log_coefficient(alpha) for alpha in np.linspace(0.0, 1.0, 41)]
        assert max(grid) <= information + scale
        best = -minimize_scalar(log_coefficient, bounds=(0, 1), method="bounded", options={"xatol": 1e-6}).fun
        assert information == pytest.approx(best, rel=1e-6, abs=scale)

    # Each example walks alpha through sixty halvings and two searches.
    for_all(case.dists(2), largest, examples=4)
