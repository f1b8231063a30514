"""Von Mises-Fisher concentrations and the Bessel functions behind them, against series summed in many digits.

mpmath's own `besseli` gives up for large orders and arguments, so the references are the two textbook series: the
power series of I_v(x) / x^v (all terms positive) and, for large x, Hankel's asymptotic one (DLMF 10.25.2, 10.40.1).
"""

from functools import cache

import mpmath as mp
import numpy as np
import pytest

from kmle.numerics.solvers import MAX_CONCENTRATION, sphere_concentration
from kmle.numerics.special import scaled_bessel

U = np.finfo(float).eps / 2
DIMENSIONS = [2, 3, 4, 10, 63, 64, 65, 100, 1000, 10_000]
MODERATE = [1e-3, 0.1, 1.0, 10.0, 100.0, 1e3, 5e3]
LARGE = [1e5, 1e6, 1e8]
PLACES = [(d, kappa) for d in DIMENSIONS for kappa in MODERATE + LARGE]


def power_series(v, x):
    """I_v(x) / x^v."""
    term = total = 1 / (mp.mpf(2) ** v * mp.gamma(v + 1))
    quarter, k = mp.mpf(x) ** 2 / 4, 0
    while term > total * mp.mpf(10) ** -45:
        k += 1
        term *= quarter / (k * (v + k))
        total += term
    return total


def hankel_series(v, x):
    """I_v(x) sqrt(2 pi x) e^-x."""
    term, total, k = mp.mpf(1), mp.mpf(1), 0
    while abs(term) > mp.mpf(10) ** -45 * abs(total):
        k += 1
        term *= -(4 * v * v - (2 * k - 1) ** 2) / (8 * k * mp.mpf(x))
        total += term
    return total


@cache
def reference(d, kappa):
    """log(I_v / x^v), I_{v+1} / (x I_v) and 1 - I_{v+1} / I_v as floats, for v = d/2 - 1."""
    # Hankel's terms grow to e^(v^2 / 2x) before they fall, and cancel: hence the many digits.
    with mp.workdps(50 if kappa < 1e5 else 200):
        v, x = mp.mpf(d) / 2 - 1, mp.mpf(kappa)
        if kappa < 1e5:
            here, above = power_series(v, kappa), power_series(v + 1, kappa)
            return float(mp.log(here)), float(above / here), float(1 - x * above / here)
        here, above = hankel_series(v, kappa), hankel_series(v + 1, kappa)
        log_value = mp.log(here) + x - mp.log(2 * mp.pi * x) / 2 - v * mp.log(x)
        return float(log_value), float(above / here / x), float(1 - above / here)


def test_the_two_series_agree_where_both_converge():
    with mp.workdps(60):
        v, x = mp.mpf(4), mp.mpf(400)
        other = hankel_series(v, x) * mp.exp(x) / mp.sqrt(2 * mp.pi * x)
        assert abs(power_series(v, x) * x**v / other - 1) < 1e-30
        assert abs(power_series(v, x) * x**v / mp.besseli(v, x) - 1) < 1e-30


@pytest.mark.parametrize(("d", "kappa"), PLACES)
def test_bessel_functions(d, kappa):
    log_value, quotient, gap = reference(d, kappa)
    found = scaled_bessel(d / 2 - 1, np.array(kappa))
    # The logarithm is a sum of terms of this size, each with its rounding.
    size = kappa + d * (1 + np.log(max(kappa, d)))
    assert found.log_value == pytest.approx(log_value, abs=4e-15 * size + 1e-14)
    assert found.quotient == pytest.approx(quotient, rel=1e-13)
    assert found.ratio_gap == pytest.approx(gap, rel=1e-13)


def test_bessel_functions_without_concentration():
    for d in DIMENSIONS:
        found = scaled_bessel(d / 2 - 1, np.array([0.0, 1e-300]))
        with mp.workdps(40):
            limit = float(-(mp.mpf(d) / 2 - 1) * mp.log(2) - mp.loggamma(mp.mpf(d) / 2))
        np.testing.assert_allclose(found.log_value, limit, rtol=1e-14, atol=2e-14)
        np.testing.assert_allclose(found.quotient, 1 / d, rtol=1e-14)
        np.testing.assert_allclose(found.ratio_gap, 1.0)


@pytest.mark.parametrize(("d", "kappa"), PLACES)
def test_concentration_from_the_mean_length(d, kappa):
    """To 1e-12, or to what one rounding of the length does: u 2 kappa / (d - 1) of it near length one."""
    _, quotient, gap = reference(d, kappa)
    length = 1 - gap if gap < 0.5 else kappa * quotient
    found = float(sphere_concentration(np.array(length), d))
    assert found == pytest.approx(kappa, rel=1e-12 + 4 * U * kappa / (d - 1))


def test_many_lengths_at_once():
    lengths = np.array([[0.0, 1e-9, 0.3], [0.7, 0.99, 1.0]])
    merge = sphere_concentration(lengths, 5)
    assert merge.shape == (2, 3)
    for place in np.ndindex(2, 3):
        np.testing.assert_allclose(merge[place], sphere_concentration(lengths[place], 5), rtol=1e-12)
    assert np.all(np.diff(merge.ravel()) > 0)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_the_ends(d):
    assert sphere_concentration(np.array(0.0), d) == 0
    for length in (1.0, 1 + 1e-12, 1 + 1e-7, np.nextafter(1, 0)):
        assert sphere_concentration(np.array(length), d) == pytest.approx(MAX_CONCENTRATION, rel=1e-6)


@pytest.mark.parametrize("length", [1.01, -0.1, np.nan, np.inf, -np.inf])
def test_outside(length):
    with pytest.raises(ValueError, match="component 1: the mean of unit vectors has a length between zero and one"):
        sphere_concentration(np.array([0.5, length]), 3)
