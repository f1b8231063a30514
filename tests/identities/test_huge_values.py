"""Huge counts, rates, trials and shapes: densities, entropies and divergences against 60 digits of mpmath.

A natural parameter theta is rounded like every number, so a rate of 1e15, held as its logarithm, is off by up to 4; the
truth here is that of the parameter as it is held.
"""

import mpmath
import numpy as np
import pytest

from kmle import families as f
from kmle.numerics.saddle_point import dirichlet_entropy, gamma_entropy, log1p_gap, log_poisson

SIZES = [1e4, 1e6, 1e9, 1e12, 1e15]
exact = mpmath.mpf


@pytest.fixture(autouse=True)
def _digits():
    with mpmath.workdps(60):
        yield


def close(ours, truth, rel=1e-10):
    assert float(ours) == pytest.approx(float(truth), rel=rel)


def log_density(family, source, x):
    natural = family.natural_from_source(**{name: np.array([[value]]) for name, value in source.items()})
    return natural, family.log_density(np.atleast_2d(x), natural)[0, 0]


@pytest.mark.parametrize("deviations", [-6, -1, 0, 0.5, 3])
@pytest.mark.parametrize("rate", SIZES)
def test_poisson_densities(rate, deviations):
    x = np.round(rate + deviations * np.sqrt(rate))
    natural, ours = log_density(f.Poisson(n_features=1), {"rate": rate}, x)
    theta = exact(natural.item())
    close(ours, exact(x) * theta - mpmath.exp(theta) - mpmath.loggamma(exact(x) + 1))


@pytest.mark.parametrize("deviations", [-6, -1, 0, 0.5, 3])
@pytest.mark.parametrize("rate", SIZES)
def test_zero_truncated_poisson_densities(rate, deviations):
    """There is no chance of a zero that doubles could hold."""
    x = np.round(rate + deviations * np.sqrt(rate))
    natural, ours = log_density(f.ZeroTruncatedPoisson(n_features=1), {"rate": rate}, x)
    theta = exact(natural.item())
    close(ours, exact(x) * theta - mpmath.exp(theta) - mpmath.loggamma(exact(x) + 1))


def test_a_row_does_not_depend_on_its_neighbours():
    family = f.Poisson(n_features=2)
    natural = family.natural_from_source(rate=np.array([[1e12, 3.0], [5.0, 1e9]]))
    rows = np.array([[1e12, 2.0], [4.0, 1e9 + 7], [4.0, 2.0], [2e12, 0.0]])
    single = np.concatenate([family.log_density(row[None], natural) for row in rows])
    np.testing.assert_array_equal(family.log_density(rows, natural), single)


@pytest.mark.parametrize("rate", [1e-9, 0.3, 5.0, 900.0, 1100.0, *SIZES])
def test_poisson_entropy(rate):
    natural = f.Poisson().natural_from_source(rate=np.array([[rate]]))
    rate = mpmath.exp(exact(natural.item()))
    if rate < 1e4:
        terms = [mpmath.exp(x * mpmath.log(rate) - rate - mpmath.loggamma(x + 1)) for x in range(2500)]
        truth = -sum(p * mpmath.log(p) for p in terms if p > 0)
    else:  # known to order five: the next term is below 1e-20
        series = exact(1) / 12 / rate + exact(1) / 24 / rate**2 + exact(19) / 360 / rate**3 + exact(9) / 80 / rate**4
        truth = mpmath.log(2 * mpmath.pi * mpmath.e * rate) / 2 - series
    close(f.Poisson(n_features=1).entropy(natural).item(), truth)


@pytest.mark.parametrize("deviations", [0.1, 1, 4])
@pytest.mark.parametrize("rate", SIZES)
def test_poisson_divergences(rate, deviations):
    """rate (exp(gap) - 1 - gap), exact in the natural parameters."""
    family = f.Poisson(n_features=1)
    p, q = family.natural_from_source(rate=np.array([[rate], [rate + deviations * np.sqrt(rate)]]))
    gap = exact(q.item()) - exact(p.item())
    kl = mpmath.exp(exact(p.item())) * (mpmath.exp(gap) - 1 - gap)
    # The rates themselves are known to a rounding of 1e-16 each, their difference to less.
    rel = 1e-10 + 1e-15 * np.sqrt(rate) / deviations
    close(family.kl(p, q), kl, rel)
    halves = [mpmath.exp(exact(theta.item()) / 2) for theta in (p, q)]
    close(family.bhattacharyya_coefficient(p, q), mpmath.exp(-((halves[0] - halves[1]) ** 2) / 2), rel)


@pytest.mark.parametrize("probability", [1e-9, 0.3, 0.999])
@pytest.mark.parametrize("trials", [10**6, 10**9, 10**12])
def test_binomial_densities_and_entropy(trials, probability):
    family = f.Binomial(trials, n_features=1)
    variance = trials * probability * (1 - probability)
    x = np.round(trials * probability + 2 * np.sqrt(variance))
    natural, ours = log_density(family, {"probability": probability}, x)
    theta, n, x = exact(natural.item()), exact(trials), exact(x)
    choose = mpmath.loggamma(n + 1) - mpmath.loggamma(x + 1) - mpmath.loggamma(n - x + 1)
    close(ours, choose + x * theta - n * mpmath.log(1 + mpmath.exp(theta)))
    if variance > 1e5:
        # The next term of the series is of the order of one over the variance.
        close(family.entropy(natural).item(), 0.5 * np.log(2 * np.pi * np.e * variance), max(1e-10, 1 / variance))


@pytest.mark.parametrize("trials", [10**6, 10**9, 10**12])
def test_multinomial_densities_and_entropy(trials):
    family = f.Multinomial(trials, n_features=3)
    natural = np.log([[0.5, 0.3, 0.2]])
    x = [trials // 2 + 1000, 3 * trials // 10 - 600, trials // 5 - 400]
    truth = mpmath.loggamma(trials + 1) + sum(
        n * exact(theta) - mpmath.loggamma(n + 1) for n, theta in zip(x, natural[0], strict=True)
    )
    # Logarithms of proportions, rounded, do not sum to one: the proportions do.
    rest = mpmath.log(sum(mpmath.exp(exact(theta)) for theta in natural[0]))
    close(family.log_density([x], natural).item(), truth - trials * rest)
    # The Gaussian of the same covariance, its determinant being trials^2 times the product of the proportions.
    gaussian = mpmath.log(2 * mpmath.pi * mpmath.e * trials) + mpmath.log(exact("0.03")) / 2
    close(family.entropy(natural).item(), gaussian, 10 / trials + 1e-10)


@pytest.mark.parametrize("successes", [0.5, 4.0, 1e9])
@pytest.mark.parametrize("mean", [1e6, 1e9, 1e12, 1e15])
def test_negative_binomial_densities(successes, mean):
    family = f.NegativeBinomial(successes, n_features=1)
    natural = family.natural_from_moment(np.array([[mean]]))
    x = exact(np.round(mean * 1.001))
    theta, r = exact(natural.item()), exact(successes)
    choose = mpmath.loggamma(x + r) - mpmath.loggamma(r) - mpmath.loggamma(x + 1)
    truth = choose + x * theta + r * mpmath.log(1 - mpmath.exp(theta))
    close(family.log_density([[float(x)]], natural).item(), truth)


@pytest.mark.parametrize("shape", SIZES)
def test_gammas(shape):
    x = 3.0 * shape * (1 + 2 / np.sqrt(shape))
    a, rate, at = exact(shape), exact(1) / 3, exact(x)
    entropy = a - mpmath.log(rate) + mpmath.loggamma(a) + (1 - a) * mpmath.digamma(a)
    natural, ours = log_density(f.Gamma(n_features=1), {"shape": shape, "scale": 3.0}, x)
    # The rate, a third, is rounded: that moves the mean by 1e-16 of itself.
    rel = 1e-10 + 1e-16 * np.sqrt(shape)
    close(ours, a * mpmath.log(rate) - mpmath.loggamma(a) + (a - 1) * mpmath.log(at) - rate * at, rel)
    close(f.Gamma(n_features=1).entropy(natural).item(), entropy)
    natural, ours = log_density(f.InverseGamma(n_features=1), {"shape": shape, "scale": 3.0}, 3 / shape)
    point = exact(3 / shape)
    close(ours, a * mpmath.log(3) - mpmath.loggamma(a) - (a + 1) * mpmath.log(point) - 3 / point, rel)
    inverse = a + mpmath.log(3) + mpmath.loggamma(a) - (1 + a) * mpmath.digamma(a)
    close(f.InverseGamma(n_features=1).entropy(natural).item(), inverse)
    natural, ours = log_density(f.ChiSquare(n_features=1), {"degrees": 2 * shape}, 2 * shape)
    close(ours, -a * mpmath.log(2) - mpmath.loggamma(a) + (a - 1) * mpmath.log(2 * a) - a, rel)
    two = a + mpmath.log(2) + mpmath.loggamma(a) + (1 - a) * mpmath.digamma(a)
    close(f.ChiSquare(n_features=1).entropy(natural).item(), two)


@pytest.mark.parametrize("size", SIZES)
def test_betas_and_dirichlets(size):
    source = {"alpha": 2 * size, "beta": size}
    x = 0.6667
    a, b, at = exact(2 * size), exact(size), exact(x)
    log_beta = mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)
    truth = (a - 1) * mpmath.log(at) + (b - 1) * mpmath.log(1 - at) - log_beta
    digammas = [(c - 1) * mpmath.digamma(c) for c in (a, b)]
    entropy = log_beta - sum(digammas) + (a + b - 2) * mpmath.digamma(a + b)
    natural, ours = log_density(f.Beta(n_features=1), source, x)
    close(ours, truth)
    close(f.Beta(n_features=1).entropy(natural).item(), entropy)
    family, both = f.Dirichlet(n_features=2), np.array([[2 * size, size]])
    close(family.log_density([[x, 1 - x]], both - 1).item(), truth)
    close(family.entropy(both - 1).item(), entropy)


@pytest.mark.parametrize("shape", SIZES)
def test_divergences_of_large_shapes(shape):
    """Gamma distributions about a standard deviation apart, with different shapes, against the closed form."""
    family = f.Gamma(n_features=1)
    apart = 1 + 1 / np.sqrt(shape)
    p, q = family.natural_from_source(shape=np.array([[shape], [shape * apart]]), scale=np.ones((2, 1)))
    (a, b), (c, d) = ((exact(theta[0]) + 1, -exact(theta[1])) for theta in (p, q))
    logs = mpmath.loggamma(c) - mpmath.loggamma(a) + c * mpmath.log(b / d)
    # A difference of moments, each with a rounding of its own, times a step of the root of the shape.
    close(family.kl(p, q), (a - c) * mpmath.digamma(a) + logs + a * (d / b - 1), 1e-9 + 1e-14 * np.sqrt(shape))


def test_the_pieces():
    for v in (-0.999, -0.4, -0.2, -1e-3, -1e-12, 0.0, 1e-9, 0.1, 0.29, 0.31, 5.0, 1e9):
        close(log1p_gap(np.array(v)), exact(v) - mpmath.log(1 + exact(v)), 1e-14)
    for x in (0.0, 0.5, 3.0, 15.9, 16.1, 300.0):
        for rate in (0.1, 2.0, 40.0):
            truth = x * mpmath.log(rate) - rate - mpmath.loggamma(exact(x) + 1)
            close(log_poisson(np.array(x), np.array(rate)), truth, 1e-13)
    for a in (1e-3, 0.7, 15.0, 17.0, 1e3):
        truth = a + mpmath.loggamma(exact(a)) + (1 - exact(a)) * mpmath.digamma(exact(a))
        close(gamma_entropy(np.array(a)), truth, 1e-12)
    assert dirichlet_entropy(np.array([1.0, 1.0])) == pytest.approx(0.0, abs=1e-14)
