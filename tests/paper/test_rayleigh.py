"""The paper's appendix on Rayleigh mixtures, and the definitions that are easiest to see on this family."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import gamma as gamma_function

from kmle.families import Rayleigh
from paper.truth import integral, itakura_saito, kl_of_densities

RAYLEIGH = Rayleigh(n_features=1)
X = stats.rayleigh(scale=1.7).rvs(50, random_state=3)[:, None]


def unnormalised(theta):
    """The integral of exp(<t(x), theta> + k(x)) over the support."""
    return integral(lambda x: x * np.exp(theta * x * x), 0, np.inf)


def test_a1_the_log_normalizer_is_a_logarithm():
    theta = -0.5 / 1.7**2
    printed = unnormalised(theta)
    ours = RAYLEIGH.log_normalizer(np.array([theta])).item()
    assert printed == pytest.approx(2.89, rel=1e-9)
    assert ours == pytest.approx(np.log(printed), rel=1e-10)
    assert ours == pytest.approx(1.0613, abs=1e-4)
    # Only the logarithm makes the density integrate to one.
    density = integral(lambda x: x * np.exp(theta * x * x - ours), 0, np.inf)
    wrong = integral(lambda x: x * np.exp(theta * x * x - printed), 0, np.inf)
    assert density == pytest.approx(1.0, rel=1e-10)
    assert wrong != pytest.approx(1.0, abs=0.5)


def test_a2_the_natural_space_is_where_the_unnormalised_integral_is_finite():
    assert np.isfinite(unnormalised(-0.01))
    # At theta >= 0 the integral up to R grows without bound, and F is not a number.
    growing = [integral(lambda x: x * np.exp(0.01 * x * x), 0, high) for high in (10.0, 20.0, 40.0)]
    assert growing[2] > 1e3 * growing[1] > 1e3 * growing[0]
    with np.errstate(invalid="ignore"):
        assert not np.isfinite(RAYLEIGH.log_normalizer(np.array([0.01])))


def test_a3_the_estimate_inverts_the_mean_of_the_statistic_not_its_sum():
    truth = optimize.minimize_scalar(
        lambda s: -stats.rayleigh(scale=s).logpdf(X).sum(),
        bounds=(0.1, 20.0),
        method="bounded",
        options={"xatol": 1e-9},
    ).x
    printed = RAYLEIGH.source_from_natural(RAYLEIGH.natural_from_moment((X**2).sum(axis=0)))["scale"].item()
    assert RAYLEIGH.mle(X).source["scale"].item() == pytest.approx(truth, rel=1e-6)
    assert RAYLEIGH.mle(X).source["scale"].item() == pytest.approx(np.sqrt((X**2).mean() / 2), rel=1e-12)
    assert printed == pytest.approx(np.sqrt(50) * truth, rel=1e-6)  # off by the root of the number of rows


def test_a4_inverting_the_gradient_gives_the_natural_parameter():
    mean = (X**2).mean(axis=0, keepdims=True)
    dist = RAYLEIGH.mle(X)
    np.testing.assert_allclose(RAYLEIGH.natural_from_moment(mean), dist.natural, rtol=1e-12)
    np.testing.assert_allclose(dist.moment, mean, rtol=1e-12)
    # Called etahat in the text, yet it is negative, and moments of x^2 are not.
    assert RAYLEIGH.natural_from_moment(mean).item() < 0 < dist.moment.item()


def test_canonical_terms_of_the_appendix():
    sigma = 1.7
    dist = RAYLEIGH.member(scale=sigma)
    theta, eta = dist.natural.item(), dist.moment.item()
    assert theta == pytest.approx(-1 / (2 * sigma**2))
    assert RAYLEIGH.log_normalizer(dist.natural).item() == pytest.approx(-np.log(-2 * theta))
    assert eta == pytest.approx(-1 / theta)
    assert eta == pytest.approx(2 * sigma**2)
    assert RAYLEIGH.conjugate(dist.moment).item() == pytest.approx(-1 + np.log(2 / eta))
    assert RAYLEIGH.fisher_information(dist.natural).item() == pytest.approx(1 / theta**2, rel=1e-8)
    # The Hessians of F and of F* are inverse to each other, and the former is the variance of t.
    fourth = sigma**4 * 4 * gamma_function(3)
    assert 1 / theta**2 * 1 / eta**2 == pytest.approx(1.0)
    assert fourth - eta**2 == pytest.approx(1 / theta**2)


def test_the_divergence_is_itakura_saito():
    first, second = RAYLEIGH.member(scale=1.0), RAYLEIGH.member(scale=2.5)
    truth = kl_of_densities(stats.rayleigh(scale=1.0), stats.rayleigh(scale=2.5), 0, np.inf)
    ours = RAYLEIGH.dual_bregman(first.moment, second.moment).item()
    assert truth == pytest.approx(itakura_saito(first.moment.item(), second.moment.item()), rel=1e-9)
    assert ours == pytest.approx(truth, rel=1e-9)


def test_a21_the_density_in_the_moment_parameter():
    eta = 2 * 1.7**2
    printed = integral(lambda x: 2 * x / eta * np.exp(-2 * x * x / eta), 0, np.inf)
    corrected = integral(lambda x: 2 * x / eta * np.exp(-x * x / eta), 0, np.inf)
    assert printed == pytest.approx(0.5, rel=1e-10)
    assert corrected == pytest.approx(1.0, rel=1e-10)
    x = np.array([[0.3], [1.0], [4.0]])
    ours = np.exp(RAYLEIGH.member(scale=1.7).log_density(x))[:, 0]
    np.testing.assert_allclose(ours, 2 * x[:, 0] / eta * np.exp(-(x[:, 0] ** 2) / eta), rtol=1e-12)


def test_the_maximisation_step_of_soft_em_is_a_weighted_estimate():
    responsibilities = np.random.default_rng(0).random(len(X))
    scale = np.sqrt(0.5 * (responsibilities @ X[:, 0] ** 2) / responsibilities.sum())
    truth = optimize.minimize_scalar(
        lambda s: -(responsibilities @ stats.rayleigh(scale=s).logpdf(X[:, 0])),
        bounds=(0.1, 20.0),
        method="bounded",
        options={"xatol": 1e-9},
    ).x
    assert scale == pytest.approx(truth, rel=1e-6)
    assert RAYLEIGH.mle(X, sample_weight=responsibilities).source["scale"].item() == pytest.approx(scale, rel=1e-12)


def test_distinct_seeds_and_equal_weights_leave_no_cell_empty():
    t = X**2
    seeds = t[[4, 17, 31]]
    divergences = np.array([RAYLEIGH.dual_bregman(t, seed[None]) for seed in seeds])
    assert set(divergences.argmin(axis=0)) == {0, 1, 2}
