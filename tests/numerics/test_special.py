"""Digamma and its relatives, against mpmath in forty digits."""

import mpmath as mp
import numpy as np
import pytest

from kmle.numerics.special import (
    digamma_minus_total,
    inverse_digamma,
    log_minus_digamma,
    multivariate_digamma_gap,
    multivariate_trigamma,
    trigamma,
)

SHAPES = np.unique(np.concatenate([np.geomspace(1e-8, 1e14, 90), [0.5, 1.0, 15.9, 16.0, 16.1]]))


def exact(function, arguments):
    """`function` in forty digits at each of these floats, rounded once."""
    with mp.workdps(40):
        return np.array([float(function(mp.mpf(float(x)))) for x in arguments])


def test_log_minus_digamma():
    found = log_minus_digamma(SHAPES)
    np.testing.assert_allclose(found, exact(lambda a: mp.log(a) - mp.digamma(a), SHAPES), rtol=2e-14)
    assert log_minus_digamma(np.array(2.0)).shape == ()


def test_trigamma():
    expected = exact(lambda a: mp.psi(1, a), SHAPES)
    np.testing.assert_allclose(trigamma(SHAPES), expected, rtol=1e-14)
    # Of many numbers by a series of our own.
    np.testing.assert_allclose(trigamma(np.tile(SHAPES, (4, 1))), np.tile(expected, (4, 1)), rtol=1e-14)
    assert trigamma(np.array(2.0)).shape == ()


def test_inverse_digamma():
    shapes = np.geomspace(1e-8, 1e12, 81)
    found = inverse_digamma(exact(mp.digamma, shapes))
    # One rounding of y moves a by u |y| / (a psi'(a)) of itself: at most 30 u for large a, none for small.
    np.testing.assert_allclose(found, shapes, rtol=1e-14)


def test_inverse_digamma_at_the_ends():
    ends = inverse_digamma(np.array([-np.inf, -1e300, 689.0, 1e4, np.inf]))
    assert np.all(np.isfinite(ends))
    assert np.all(ends > 0)
    assert np.all(np.diff(ends) >= 0)
    assert np.isnan(inverse_digamma(np.array(np.nan)))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 50])
def test_multivariate_digamma_gap(size):
    half_degrees = (size - 1) / 2 + np.geomspace(1e-3, 1e9, 40)

    def gap(a):
        return mp.fsum([mp.digamma(a - mp.mpf(i) / 2) for i in range(size)]) - size * mp.log(a)

    np.testing.assert_allclose(multivariate_digamma_gap(half_degrees, size), exact(gap, half_degrees), rtol=1e-13)

    def slope(a):
        return mp.fsum([mp.psi(1, a - mp.mpf(i) / 2) for i in range(size)])

    np.testing.assert_allclose(multivariate_trigamma(half_degrees, size), exact(slope, half_degrees), rtol=1e-13)


@pytest.mark.parametrize(
    "alpha",
    [
        [1.0, 1.0],
        [1e-2, 1e5],
        [1e5, 1e-2, 1.0],
        [1e-6, 1e-6],
        [1e8, 1e8, 1e8],
        [3.0, 1e12],
        np.geomspace(1e-2, 1e5, 100),
    ],
)
def test_digamma_minus_total(alpha):
    with mp.workdps(40):
        parts = [mp.mpf(float(a)) for a in alpha]
        expected = [float(mp.digamma(a) - mp.digamma(mp.fsum(parts))) for a in parts]
    np.testing.assert_allclose(digamma_minus_total(np.array(alpha)), expected, rtol=2e-14)
    np.testing.assert_allclose(digamma_minus_total(np.array([alpha, alpha]))[1], expected, rtol=2e-14)
