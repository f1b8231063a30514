"""The inverses of grad F: accurate over their whole range, capped at its boundary, and an error beyond.

References are moments in forty digits, rounded to a float once; what one such rounding does to the answer is the limit,
and is stated where it matters. Warnings are errors here, so no solver may emit one.
"""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmle.numerics import solvers
from kmle.numerics.solvers import MAX_SHAPE, dirichlet_concentration, gamma_shape, wishart_half_degrees


def dirichlet_moment(alpha):
    with mp.workdps(40):
        parts = [mp.mpf(float(a)) for a in alpha]
        total = mp.digamma(mp.fsum(parts))
        return np.array([float(mp.digamma(a) - total) for a in parts])


# Gamma ----------------------------------------------------------------------------------------------------------------


def gamma_gap(shape):
    with mp.workdps(40):
        return float(mp.log(mp.mpf(shape)) - mp.digamma(mp.mpf(shape)))


def test_gamma_shapes():
    shapes = np.geomspace(1e-6, 1e7, 105)
    gaps = np.array([gamma_gap(shape) for shape in shapes])
    np.testing.assert_allclose(gamma_shape(gaps), shapes, rtol=1e-13)
    np.testing.assert_allclose(gamma_shape(gaps.reshape(5, 21)), shapes.reshape(5, 21), rtol=1e-13)


@settings(max_examples=200)
@given(st.floats(np.log(1e-6), np.log(1e7)).map(np.exp))
def test_any_gamma_shape(shape):
    assert gamma_shape(np.array(gamma_gap(float(shape)))) == pytest.approx(shape, rel=1e-13)


@pytest.mark.parametrize("gap", [0.0, -1e-9, -1e-6, 1e-300, 1e-14])
def test_gamma_at_the_boundary(gap):
    assert gamma_shape(np.array(gap)) == pytest.approx(MAX_SHAPE, rel=1e-9)


def test_gamma_far_out():
    far = gamma_shape(np.array([1e3, 1e100, np.inf]))
    assert np.all(far > 0)
    assert far[0] == pytest.approx(1e-3, rel=0.01)
    assert np.isfinite(far).all()


@pytest.mark.parametrize("gap", [-1e-3, -1.0, -np.inf, np.nan])
def test_gamma_outside(gap):
    with pytest.raises(ValueError, match="component 1: log of the mean minus mean of the log cannot be negative"):
        gamma_shape(np.array([0.5, gap]))


# Dirichlet ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("categories", [2, 3, 10, 100])
@pytest.mark.parametrize(("low", "high"), [(1e-2, 1e-2), (1e-2, 1.0), (1.0, 1e3), (1e5, 1e5), (1e4, 1e5), (1e-2, 1e5)])
def test_concentrations(categories, low, high):
    """To 1e-9; one rounding of the moment already costs 2 u total / (K - 1), below 1e-10 here."""
    rng = np.random.default_rng(0)
    spread = np.exp(rng.uniform(np.log(low), np.log(high), (2, categories)))
    ends = np.full((2, categories), low)
    ends[0, 0], ends[1, 1:] = high, high
    alpha = np.concatenate([spread, ends])
    found = dirichlet_concentration(np.array([dirichlet_moment(row) for row in alpha]))
    np.testing.assert_allclose(found, alpha, rtol=1e-9)


@settings(max_examples=100)
@given(st.lists(st.floats(np.log(1e-2), np.log(1e5)).map(np.exp), min_size=2, max_size=6))
def test_any_concentration(alpha):
    np.testing.assert_allclose(dirichlet_concentration(dirichlet_moment(alpha)[None])[0], alpha, rtol=1e-9)


def test_few_steps_find_large_concentrations(monkeypatch):
    """Rounding moves a large total for ever, if little: a solver that waits for it to rest makes every step it has."""
    steps = []
    gradient = solvers.digamma_minus_total
    monkeypatch.setattr(solvers, "digamma_minus_total", lambda alpha: steps.append(1) or gradient(alpha))
    rng = np.random.default_rng(1)
    for total in (1e3, 1e4, 1e6, 1e8):
        alpha = total * rng.dirichlet(np.ones(3), 20)
        steps.clear()
        dirichlet_concentration(gradient(alpha))
        assert len(steps) <= 6


def test_components_do_not_disturb_each_other():
    alpha = np.array([[1e-2, 1e-2, 1e-2], [1.0, 2.0, 3.0], [1e5, 1e-2, 1.0]])
    moments = np.array([dirichlet_moment(row) for row in alpha])
    merge = dirichlet_concentration(moments[None])
    assert merge.shape == (1, 3, 3)
    for dist, moment in enumerate(moments):
        np.testing.assert_allclose(merge[0, dist], dirichlet_concentration(moment[None])[0], rtol=1e-10)


@pytest.mark.parametrize("shares", [[0.5, 0.5], [0.2, 0.3, 0.5], [1e-9, 1 - 1e-9], np.full(100, 0.01)])
@pytest.mark.parametrize("excess", [0.0, 1e-9, 1e-7])
def test_identical_rows_stop_at_the_largest_total(shares, excess):
    found = dirichlet_concentration(np.log(np.array([shares]) * (1 + excess)))
    assert np.isfinite(found).all()
    assert found.sum() == pytest.approx(MAX_SHAPE, rel=1e-3)
    np.testing.assert_allclose(found[0] / found.sum(), shares, rtol=1e-3)


def test_proportions_that_vanish():
    found = dirichlet_concentration(np.array([[-1e6, -1e6], [-1e300, -1e-3], [-np.inf, -1.0]]))
    assert np.isfinite(found).all()
    assert np.all(found > 0)
    np.testing.assert_allclose(found[0], 5e-7, rtol=1e-5)  # psi(a) - psi(2a) is -1 / (2a)


@pytest.mark.parametrize("moment", [[-0.1, -0.2], [0.0, 0.0], [1.0, -5.0], [800.0, -1.0], [np.nan, -1.0], [np.inf, -1]])
def test_concentrations_outside(moment):
    with pytest.raises(ValueError, match="component 1: the geometric means of proportions cannot sum to more than one"):
        dirichlet_concentration(np.array([[-1.0, -2.0], moment]))


# Wishart --------------------------------------------------------------------------------------------------------------


def wishart_gap(half, size):
    with mp.workdps(40):
        a = mp.mpf(half)
        return float(mp.fsum([mp.digamma(a - mp.mpf(i) / 2) for i in range(size)]) - size * mp.log(a))


@pytest.mark.parametrize("size", [1, 2, 3, 10, 40])
def test_degrees(size):
    half = (size - 1) / 2 + np.geomspace(1e-3, 5e5, 60)
    gaps = np.array([wishart_gap(float(a), size) for a in half])
    np.testing.assert_allclose(wishart_half_degrees(gaps, size), half, rtol=1e-13)


@settings(max_examples=200)
@given(st.floats(np.log(1e-6), np.log(1e6)).map(np.exp), st.integers(1, 6))
def test_any_degrees(room, size):
    half = (size - 1) / 2 + float(room)
    assert wishart_half_degrees(np.array(wishart_gap(half, size)), size) == pytest.approx(half, rel=1e-13)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("gap", [0.0, 1e-9, 1e-7, -1e-300])
def test_identical_matrices_stop_at_the_largest_degrees(size, gap):
    assert wishart_half_degrees(np.array(gap), size) == pytest.approx(MAX_SHAPE, rel=1e-6)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_degrees_close_to_the_least(size):
    found = wishart_half_degrees(np.array([-1e4, -1e9, -1e100, -np.inf]), size)
    assert np.isfinite(found).all()
    assert np.all(found > (size - 1) / 2)
    assert found[0] == pytest.approx((size - 1) / 2 + 1e-4, rel=0.01)


@pytest.mark.parametrize("gap", [1e-3, 5.0, np.inf, np.nan])
def test_degrees_outside(gap):
    with pytest.raises(ValueError, match="component 1: mean log-determinant minus log-determinant of the mean"):
        wishart_half_degrees(np.array([-1.0, gap]), 2)


@pytest.mark.parametrize("gap", [1e-3, 1e-4, 1e-5, 1e-6])
def test_two_nearly_equal_proportions_have_a_large_concentration(gap):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.01, 0.99, 5000)
    y = np.clip(x * (1 + gap * rng.normal(size=x.shape)), 1e-6, 1 - 1e-6)
    mean_log = 0.5 * np.stack([np.log(x) + np.log(y), np.log1p(-x) + np.log1p(-y)], axis=-1)
    alpha = dirichlet_concentration(mean_log)
    # Both rows lie close to x, and so does the mean of the law; rounding must not send it to a corner.
    np.testing.assert_allclose(alpha[:, 0] / alpha.sum(axis=1), x, rtol=0.05)
    assert alpha.sum(axis=1).min() > 1
