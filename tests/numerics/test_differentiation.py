"""Derivatives from values alone, and inverses of gradients from F alone."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln, polygamma

from kmle.numerics.differentiation import gradient, jacobian, natural_steps
from kmle.numerics.inversion import invert_gradient


def exponential(theta):
    return np.exp(theta).sum(axis=-1)


def log_scale(theta):
    """-log(-theta), on negative numbers only."""
    return -np.log(-theta).sum(axis=-1)


def gamma(theta):
    shape, rate = theta[..., 0] + 1, -theta[..., 1]
    return np.where((shape > 0) & (rate > 0), gammaln(shape) - shape * np.log(rate), np.nan)


def gamma_slope(theta):
    shape, rate = theta[..., 0] + 1, -theta[..., 1]
    return np.stack([digamma(shape) - np.log(rate), shape / rate], axis=-1)


@pytest.mark.parametrize("theta", [-27.0, -9.0, -1.0, 0.0, 1.0, 9.0, 18.0])
def test_gradients_far_out_in_a_tail(theta):
    point = np.array([[theta]])
    assert gradient(exponential, point).item() == pytest.approx(np.exp(theta), rel=1e-9)


@pytest.mark.parametrize("theta", [-1e-9, -1e-3, -1.0, -1e6])
def test_steps_stay_inside_the_domain(theta):
    point = np.array([[theta, -1.0]])
    steps = natural_steps(log_scale, point)
    assert np.all(4 * steps < -point)
    np.testing.assert_allclose(gradient(log_scale, point), -1 / point, rtol=1e-10)


@pytest.mark.parametrize("shape", [1e-3, 0.1, 1.0, 30.0, 1e4])
def test_two_coordinates_at_once(shape):
    points = np.array([[[shape - 1, -0.5], [shape - 1, -200.0]]])
    np.testing.assert_allclose(gradient(gamma, points), gamma_slope(points), rtol=1e-8)
    hessian = jacobian(gamma_slope, points, natural_steps(gamma, points))
    rate = -points[..., 1]
    np.testing.assert_allclose(hessian[..., 0, 0], polygamma(1, shape), rtol=1e-8)
    np.testing.assert_allclose(hessian[..., 0, 1], 1 / rate, rtol=1e-8)
    np.testing.assert_allclose(hessian[..., 1, 0], 1 / rate, rtol=1e-8)
    np.testing.assert_allclose(hessian[..., 1, 1], shape / rate**2, rtol=1e-8)


def test_a_large_constant_hides_few_digits():
    point = np.array([[0.5]])
    assert gradient(lambda theta: 1e6 + exponential(theta), point).item() == pytest.approx(np.exp(0.5), rel=1e-6)


@pytest.mark.parametrize("start", [[0.0, -1.0], [100.0, -1e-2], [-0.9, -50.0]])
def test_inversion_from_anywhere(start):
    theta = np.array([[-0.7, -1.0], [0.0, -30.0], [49.0, -0.01], [400.0, -1.0]])
    found = invert_gradient(gamma, gamma_slope(theta), np.array(start))
    np.testing.assert_allclose(found, theta, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("moment", [[1.0, 1.0], [0.0, -1.0], [0.0, 1.0], [np.nan, 1.0]])
def test_moments_that_no_law_has(moment):
    """Outside, on the far side, on the boundary, not a number: an error in every case, and soon."""
    legal = gamma_slope(np.array([[1.0, -1.0]]))[0]
    with pytest.raises(ValueError, match="component 1: no natural parameter has the mean statistic"):
        invert_gradient(gamma, np.array([legal, moment]), np.array([0.0, -1.0]))


def test_many_moments_are_inverted_as_few_are():
    """Those of many start from the answers of some of them."""
    rng = np.random.default_rng(0)
    theta = np.column_stack([rng.uniform(-0.5, 30, 2000), -rng.uniform(0.01, 100, 2000)])
    moment = gamma_slope(theta)
    found = invert_gradient(gamma, moment, np.array([0.0, -1.0]))
    np.testing.assert_allclose(found, theta, rtol=1e-5, atol=1e-5)
    few = [invert_gradient(gamma, moment[[i]], np.array([0.0, -1.0]))[0] for i in range(0, 2000, 100)]
    np.testing.assert_allclose(found[::100], few, rtol=1e-6, atol=1e-6)
    moment[1500] = [5.0, 1.0]  # the mean logarithm cannot exceed the logarithm of the mean
    with pytest.raises(ValueError, match="component 1500"):
        invert_gradient(gamma, moment, np.array([0.0, -1.0]))
