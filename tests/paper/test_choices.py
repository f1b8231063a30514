"""Statements of the paper that a program cannot take literally, and what kmle does instead."""

from math import comb

import numpy as np
import pytest
from scipy import stats

from kmle.families import (
    Bernoulli,
    Exponential,
    FixedCovarianceGaussian,
    Gamma,
    Gaussian,
    HalfNormal,
    Laplace,
    Poisson,
    SphericalGaussian,
    Weibull,
)


def test_a27_a_sum_of_normal_variables_is_not_a_mixture():
    mean, variance, k = 6.0, 4.0, 3
    whole, part = stats.norm(mean, np.sqrt(variance)), stats.norm(mean / k, np.sqrt(variance / k))
    # The k laws N(mean / k, variance / k) mixed with any weights are again N(mean / k, variance / k).
    x = np.linspace(-5.0, 12.0, 50)
    assert np.abs(whole.pdf(x) - part.pdf(x)).max() > 0.1
    # As a sum of independent variables it is true: cumulants add.
    assert (k * part.mean(), k * part.var()) == pytest.approx((whole.mean(), whole.var()))


def test_a28_a_collapsing_component_keeps_one_row_of_weight():
    rows = np.concatenate([[0.0], np.linspace(5.0, 9.0, 19)])
    broad = stats.norm(rows[1:].mean(), rows[1:].std())
    responsibilities = []
    for width in (1e-1, 1e-3, 1e-6):
        inside = stats.norm(0.0, width).pdf(rows) / len(rows)
        outside = broad.pdf(rows) * (1 - 1 / len(rows))
        share = inside / (inside + outside)
        responsibilities.append(share[0])
        assert share.mean() <= 1 / len(rows) + 1e-12  # the next weight
    assert responsibilities == sorted(responsibilities)
    assert responsibilities[-1] == pytest.approx(1.0, abs=1e-6)


def test_a29_box_and_muller_need_a_positive_number():
    with np.errstate(divide="ignore"):
        assert np.isinf(np.sqrt(-2 * np.log(0.0)))  # u_1 = 0 is in [0, 1)
    assert np.sqrt(-2 * np.log(1.0)) == 0.0  # u_1 = 1 is in (0, 1]
    assert np.isfinite(Gaussian().member(mean=[[0.0]], covariance=[[[1.0]]]).sample(10_000, random_state=0)).all()


def test_a29_the_weighted_divergence_may_be_zero():
    family = FixedCovarianceGaussian(n_features=1)
    row = np.array([[1.5]])
    assert (family.dual_bregman(row, row) - np.log(1.0)).item() == 0.0


def test_b1_the_conjugate_of_a_gaussian_row_is_infinite_but_its_score_is_not():
    x = 2.0
    # F*(t(x)) is the highest log-density any Gaussian gives to x: it has no bound.
    heights = [stats.norm(x, width).logpdf(x) for width in (1e-2, 1e-4, 1e-8, 1e-16)]
    assert np.all(np.diff(heights) > 4)
    family = Gaussian(n_features=1)
    dist = family.member(mean=[[0.0]], covariance=[[[4.0]]])
    t = family.sufficient_statistic(np.array([[x]]))
    score = (t @ dist.natural[0] - family.log_normalizer(dist.natural)).item()
    assert score == pytest.approx(stats.norm(0, 2).logpdf(x), rel=1e-12)


def test_b2_seeds_on_the_boundary_stay_finite():
    # A count of zero and a yes are legal rows; as seeds their natural parameters are minus and plus infinity.
    assert np.isfinite(Poisson(n_features=1).natural_from_moment(np.array([[0.0]]))).all()
    assert np.isfinite(Bernoulli(n_features=2).natural_from_moment(np.array([[0.0, 1.0]]))).all()
    moment = Gaussian(n_features=2).sufficient_statistic(np.array([[1.0, 2.0]]))
    assert np.isfinite(Gaussian(n_features=2).natural_from_moment(moment)).all()


def test_b4_shrinking_makes_every_divergence_finite():
    family = Poisson(n_features=1)
    counts = np.array([[0.0], [3.0], [5.0]])
    with np.errstate(divide="ignore"):
        truth = 3.0 * np.log(3.0 / np.array(0.0)) - 3.0 + 0.0
    assert np.isinf(truth)  # the divergence of the count 3 from a seed at 0
    shrunk = 0.9 * counts + 0.1 * counts.mean()
    a, b = shrunk[1].item(), shrunk[0].item()
    assert family.dual_bregman(shrunk[1:2], shrunk[:1]).item() == pytest.approx(a * np.log(a / b) - a + b, rel=1e-10)


def test_b7_components_of_different_families_need_their_carriers():
    X = np.array([[0.05], [0.5], [1.0], [2.0], [4.0]])
    exponential, half_normal = Exponential().mle([[1.0]]), HalfNormal().mle([[1.5]])
    truth = np.argmax([stats.expon(scale=1.0).logpdf(X[:, 0]), stats.halfnorm(scale=1.5).logpdf(X[:, 0])], axis=0)
    ours = np.argmax([exponential.log_density(X)[:, 0], half_normal.log_density(X)[:, 0]], axis=0)
    np.testing.assert_array_equal(ours, truth)
    families = [exponential.family, half_normal.family]
    dists = [exponential, half_normal]
    divergences = [
        f.dual_bregman(f.sufficient_statistic(X), dist.moment) for f, dist in zip(families, dists, strict=True)
    ]
    assert (np.argmin(divergences, axis=0) != truth).any()


def rank(log_densities):
    """The order of the family: the rank of log-densities (rows x laws) after centring both ways."""
    centered = log_densities - log_densities.mean(axis=0)
    centered = centered - centered.mean(axis=1, keepdims=True)
    values = np.linalg.svd(centered, compute_uv=False)
    return int((values > 1e-9 * values[0]).sum())


def test_b8_weibull_and_laplace_are_exponential_families_only_in_part():
    x = np.linspace(0.1, 5.0, 60)[:, None]
    parameters = np.linspace(0.5, 3.0, 40)
    assert rank(stats.gamma.logpdf(x, parameters, scale=parameters[::-1] ** 2)) == 2
    assert rank(stats.weibull_min.logpdf(x, parameters, scale=parameters[::-1])) >= 8
    assert rank(stats.laplace.logpdf(x, loc=parameters)) >= 8
    # With the shape, or the location, known they are, and of order one.
    assert rank(stats.weibull_min.logpdf(x, 1.5, scale=parameters)) == Weibull(1.5, n_features=1).n_statistics == 1
    assert rank(stats.laplace.logpdf(x, loc=1.0, scale=parameters)) == Laplace(1.0, n_features=1).n_statistics == 1
    assert Gamma(n_features=1).n_statistics == 2


def test_b9_an_isotropic_gaussian_has_order_d_only_with_its_variance_known():
    x = np.random.default_rng(0).normal(size=(60, 2))
    means = np.random.default_rng(1).normal(size=(40, 2))
    variances = np.linspace(0.5, 3.0, 40)
    known = np.array([stats.multivariate_normal(m, np.eye(2)).logpdf(x) for m in means]).T
    free = np.array(
        [stats.multivariate_normal(m, v * np.eye(2)).logpdf(x) for m, v in zip(means, variances, strict=True)]
    )
    assert rank(known) == FixedCovarianceGaussian(n_features=2).n_statistics == 2
    assert rank(free.T) == SphericalGaussian(n_features=2).n_statistics == 3


def test_b11_symmetric_matrices_are_stored_once():
    d = 3
    family = Gaussian(n_features=d)
    assert family.n_statistics == d * (d + 3) // 2
    dist = family.member(mean=[np.zeros(d)], covariance=[np.diag([1.0, 2.0, 0.5])])
    information = family.fisher_information(dist.natural)[0]
    assert np.linalg.matrix_rank(information) == family.n_statistics
    # All d^2 products would repeat x_i x_j, and their covariance, which is the Hessian of F, would be singular.
    X = dist.sample(500, random_state=0)
    flat = np.concatenate([X, (X[:, :, None] * X[:, None, :]).reshape(len(X), -1)], axis=1)
    assert np.linalg.matrix_rank(np.cov(flat.T)) == family.n_statistics < flat.shape[1]


def test_b12_the_weight_grid_has_one_dimension_less():
    k, steps = 3, 50
    # Positive weights in steps of 1 / steps that sum to one: compositions of `steps` into k parts.
    grid = [(a, b, steps - a - b) for a in range(1, steps) for b in range(1, steps - a)]
    assert len(grid) == comb(steps - 1, k - 1)
    assert len(grid) < steps ** (k - 1) < steps**k
