"""The Gaussians of the paper: density, dual parameters (its t(x) is (x, -x x^T / 2)), divergence, conjugate, seeds."""

import numpy as np
import pytest
from scipy import optimize, stats

from kmle.families import Gaussian
from kmle.numerics.packing import pack, unpack, unpack_dual
from paper.truth import bregman, gaussian_mean, mahalanobis

D = 3
MEAN = np.array([0.5, -1.0, 2.0])
COVARIANCE = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.2], [-0.3, 0.2, 0.5]])
OTHER_MEAN = np.array([1.0, 0.0, 1.5])
OTHER_COVARIANCE = np.array([[1.0, -0.2, 0.1], [-0.2, 3.0, 0.4], [0.1, 0.4, 0.8]])
GAUSSIAN = Gaussian(n_features=D)
FIRST = GAUSSIAN.member(mean=[MEAN], covariance=[COVARIANCE])
SECOND = GAUSSIAN.member(mean=[OTHER_MEAN], covariance=[OTHER_COVARIANCE])


def log_determinant(matrix):
    return np.linalg.slogdet(matrix)[1]


def paper_natural(natural):
    """(theta_v, theta_M) = (P mean, P) from ours, (P mean, -P / 2) packed."""
    return natural[:D], -2 * unpack_dual(natural[D:])


def paper_moment(moment):
    """(eta_v, eta_M) = (mean, -(mean mean^T + covariance) / 2) from ours, (mean, mean mean^T + covariance) packed."""
    return moment[:D], -0.5 * unpack(moment[D:])


def paper_log_normalizer(theta_v, theta_M):
    quadratic = theta_v @ np.linalg.solve(theta_M, theta_v)
    return 0.5 * quadratic - 0.5 * log_determinant(theta_M) + 0.5 * D * np.log(2 * np.pi)


# Density --------------------------------------------------------------------------------------------------------------


def test_a22_the_distance_is_from_the_row_to_the_mean():
    x = np.array([1.0, 1.0, 1.0])
    P = np.linalg.inv(COVARIANCE)
    scale = -0.5 * log_determinant(COVARIANCE) - 0.5 * D * np.log(2 * np.pi)
    truth = stats.multivariate_normal(MEAN, COVARIANCE).logpdf(x)
    corrected = scale - 0.5 * mahalanobis(P, x, MEAN)
    printed = scale - 0.5 * mahalanobis(P, x - MEAN, x - MEAN)
    assert corrected == pytest.approx(truth, rel=1e-12)
    assert FIRST.log_density(x[None]).item() == pytest.approx(truth, rel=1e-12)
    assert printed == pytest.approx(scale)  # a constant: the distance of a point to itself is zero
    assert printed != pytest.approx(truth, rel=0.1)


def test_a23_the_generator_has_a_half():
    x = np.array([1.0, 1.0, 1.0])
    P = np.linalg.inv(COVARIANCE)
    mass = 0.5 * log_determinant(COVARIANCE) + 0.5 * D * np.log(2 * np.pi)
    truth = -stats.multivariate_normal(MEAN, COVARIANCE).logpdf(x)
    corrected = bregman(lambda y: 0.5 * y @ P @ y, lambda y: P @ y, x, MEAN) + mass
    printed = bregman(lambda y: y @ P @ y, lambda y: 2 * P @ y, x, MEAN) + mass
    assert corrected == pytest.approx(truth, rel=1e-12)
    assert printed != pytest.approx(truth, rel=0.1)


# Dual parameters ------------------------------------------------------------------------------------------------------


def test_natural_parameters_of_the_paper():
    theta_v, theta_M = paper_natural(FIRST.natural[0])
    np.testing.assert_allclose(theta_M, np.linalg.inv(COVARIANCE), rtol=1e-10)
    np.testing.assert_allclose(theta_v, np.linalg.solve(COVARIANCE, MEAN), rtol=1e-10)


def test_the_inner_product_is_the_same_in_both_packings():
    x = np.array([0.3, -2.0, 1.0])
    theta_v, theta_M = paper_natural(FIRST.natural[0])
    theirs = x @ theta_v + np.trace(-0.5 * np.outer(x, x) @ theta_M)
    ours = (GAUSSIAN.sufficient_statistic(x[None]) @ FIRST.natural[0]).item()
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_log_normalizer_in_both_coordinates():
    in_source = 0.5 * MEAN @ np.linalg.solve(COVARIANCE, MEAN) + 0.5 * log_determinant(COVARIANCE)
    in_source += 0.5 * D * np.log(2 * np.pi)
    assert paper_log_normalizer(*paper_natural(FIRST.natural[0])) == pytest.approx(in_source, rel=1e-12)
    assert GAUSSIAN.log_normalizer(FIRST.natural).item() == pytest.approx(in_source, rel=1e-12)


def test_moments_are_the_gradient_and_the_means_of_the_statistic():
    eta_v, eta_M = paper_moment(FIRST.moment[0])
    np.testing.assert_allclose(eta_v, MEAN, rtol=1e-12)
    np.testing.assert_allclose(eta_M, -0.5 * (np.outer(MEAN, MEAN) + COVARIANCE), rtol=1e-11)
    means = [gaussian_mean(lambda x, i=i: -0.5 * x[:, i] * x[:, 0], MEAN, COVARIANCE) for i in range(D)]
    np.testing.assert_allclose(eta_M[0], means, rtol=1e-10)
    # The gradient of the paper's F in theta_v, and in theta_M over all d x d entries.
    theta_v, theta_M = paper_natural(FIRST.natural[0])
    by_vector = optimize.approx_fprime(theta_v, paper_log_normalizer, 1e-7, theta_M)
    by_matrix = optimize.approx_fprime(
        theta_M.ravel(), lambda flat: paper_log_normalizer(theta_v, flat.reshape(D, D)), 1e-7
    )
    np.testing.assert_allclose(by_vector, eta_v, rtol=1e-5)
    np.testing.assert_allclose(by_matrix.reshape(D, D), eta_M, rtol=1e-5)


def test_natural_from_moment_as_in_the_paper():
    eta_v, eta_M = paper_moment(FIRST.moment[0])
    theta_M = np.linalg.inv(-2 * eta_M - np.outer(eta_v, eta_v))
    back_v, back_M = paper_natural(GAUSSIAN.natural_from_moment(FIRST.moment)[0])
    np.testing.assert_allclose(back_M, theta_M, rtol=1e-9)
    np.testing.assert_allclose(back_v, theta_M @ eta_v, rtol=1e-9)


# Divergence and conjugate ---------------------------------------------------------------------------------------------


def test_a18_the_divergence_of_two_gaussians_subtracts_the_dimension():
    p, q = stats.multivariate_normal(MEAN, COVARIANCE), stats.multivariate_normal(OTHER_MEAN, OTHER_COVARIANCE)
    truth = gaussian_mean(lambda x: p.logpdf(x) - q.logpdf(x), MEAN, COVARIANCE)
    ratio = np.linalg.solve(OTHER_COVARIANCE, COVARIANCE)
    distance = mahalanobis(np.linalg.inv(OTHER_COVARIANCE), MEAN, OTHER_MEAN)
    printed = 0.5 * (np.trace(ratio) - log_determinant(ratio) + distance)
    burg = np.trace(ratio) - log_determinant(ratio) - D
    assert 0.5 * burg + 0.5 * distance == pytest.approx(truth, rel=1e-10)
    assert GAUSSIAN.kl(FIRST.natural, SECOND.natural).item() == pytest.approx(truth, rel=1e-10)
    assert GAUSSIAN.dual_bregman(FIRST.moment, SECOND.moment).item() == pytest.approx(truth, rel=1e-9)
    assert printed == pytest.approx(truth + D / 2, rel=1e-10)


def true_conjugate():
    """F* = -entropy, as k(x) is zero."""
    return -stats.multivariate_normal(MEAN, COVARIANCE).entropy()


def test_a19_the_conjugate_in_the_moments_of_the_paper():
    eta_v, eta_M = paper_moment(FIRST.moment[0])
    inside = eta_v @ np.linalg.solve(eta_M, eta_v)
    rest = -0.5 * log_determinant(-eta_M)
    corrected = -0.5 * np.log(1 + 0.5 * inside) + rest - 0.5 * D * np.log(4 * np.pi * np.e)
    simplest = -0.5 * log_determinant(-2 * eta_M - np.outer(eta_v, eta_v)) - 0.5 * D * np.log(2 * np.pi * np.e)
    assert corrected == pytest.approx(true_conjugate(), rel=1e-10)
    assert simplest == pytest.approx(true_conjugate(), rel=1e-10)
    assert GAUSSIAN.conjugate(FIRST.moment).item() == pytest.approx(true_conjugate(), rel=1e-10)
    assert 1 + 2 * inside < 0  # printed under a logarithm
    # Near the origin the logarithm exists, and the printed constant is still not the right one.
    centered = -0.5 * log_determinant(0.5 * COVARIANCE) - 0.5 * D * np.log(np.pi * np.e)
    assert centered != pytest.approx(true_conjugate(), rel=0.1)


def test_a20_the_conjugate_in_the_usual_parameters():
    second = np.outer(MEAN, MEAN) + COVARIANCE
    first_term = -0.5 * np.log(1 - MEAN @ np.linalg.solve(second, MEAN))
    constant = -0.5 * D * np.log(2 * np.pi)
    corrected = first_term - 0.5 * log_determinant(second) + constant - D / 2
    assert corrected == pytest.approx(true_conjugate(), rel=1e-10)
    # Printed: the scalar mean^T mean inside the determinant, and d for d / 2; each alone is wrong.
    with_scalar = first_term - 0.5 * log_determinant(MEAN @ MEAN + COVARIANCE) + constant - D / 2
    with_whole_d = first_term - 0.5 * log_determinant(second) + constant - D
    assert with_scalar != pytest.approx(true_conjugate(), rel=1e-3)
    assert with_whole_d == pytest.approx(true_conjugate() - D / 2, rel=1e-10)


# k-MLE for Gaussian mixtures ------------------------------------------------------------------------------------------


def test_a24_the_global_estimate_takes_all_rows():
    X = stats.multivariate_normal(MEAN, COVARIANCE).rvs(40, random_state=1)
    k = 4
    dist = GAUSSIAN.mle(X).source
    np.testing.assert_allclose(dist["mean"][0], X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(dist["covariance"][0], np.cov(X.T, bias=True), rtol=1e-10)
    printed_mean = X[:k].sum(axis=0) / len(X)
    printed = X[:k].T @ X[:k] / len(X) - np.outer(printed_mean, printed_mean)
    assert np.abs(printed_mean - X.mean(axis=0)).max() > 0.1
    assert np.linalg.det(printed) < 0.1 * np.linalg.det(dist["covariance"][0])


def test_a24_the_assignment_uses_the_component_it_scores():
    X = np.concatenate([dist.sample(60, random_state=2) for dist in (FIRST, SECOND)])
    dists = [(MEAN, COVARIANCE, 0.3), (OTHER_MEAN, OTHER_COVARIANCE, 0.7)]
    truth = np.argmax([stats.multivariate_normal(m, S).logpdf(X) + np.log(w) for m, S, w in dists], axis=0)
    costs = [[mahalanobis(np.linalg.inv(S), x, m) + log_determinant(S) - 2 * np.log(w) for x in X] for m, S, w in dists]
    np.testing.assert_array_equal(np.argmin(costs, axis=0), truth)
    both = GAUSSIAN.member(mean=[MEAN, OTHER_MEAN], covariance=[COVARIANCE, OTHER_COVARIANCE])
    np.testing.assert_array_equal((both.log_density(X) + np.log([0.3, 0.7])).argmax(axis=1), truth)
    assert set(truth) == {0, 1}


def test_a25_a_seed_keeps_the_covariance_not_the_second_moment():
    X = np.random.default_rng(0).standard_normal((500, D))
    mean, covariance = X.mean(axis=0), np.cov(X.T, bias=True)
    second = covariance + np.outer(mean, mean)
    # The Gaussian example of the paper: a row for the mean, the global covariance around it.
    rows = X[:10]
    moments = np.concatenate([rows, pack(covariance + rows[:, :, None] * rows[:, None, :])], axis=1)
    seeds = GAUSSIAN.source_from_natural(GAUSSIAN.natural_from_moment(moments))
    np.testing.assert_allclose(seeds["mean"], rows, atol=1e-9)
    np.testing.assert_allclose(seeds["covariance"], np.broadcast_to(covariance, (10, D, D)), atol=1e-9)
    # The general rule printed before it: the row's x with the global second moment leaves no covariance for most rows.
    left = second - X[:, :, None] * X[:, None, :]
    indefinite = (np.linalg.eigvalsh(left)[:, 0] <= 0).sum()
    assert indefinite > 300


def test_b3_the_closed_form_of_a_shrunk_seed():
    X = stats.multivariate_normal(MEAN, COVARIANCE).rvs(100, random_state=4)
    t = GAUSSIAN.sufficient_statistic(X)
    e = 0.1
    seed = GAUSSIAN.source_from_natural(GAUSSIAN.natural_from_moment((1 - e) * t[:1] + e * t.mean(axis=0)))
    gap = X[0] - X.mean(axis=0)
    expected = e * np.cov(X.T, bias=True) + e * (1 - e) * np.outer(gap, gap)
    np.testing.assert_allclose(seed["covariance"][0], expected, rtol=1e-8)
    np.testing.assert_allclose(seed["mean"][0], X.mean(axis=0) + (1 - e) * gap, rtol=1e-8)
