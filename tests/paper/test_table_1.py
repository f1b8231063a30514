"""Table 1 of the paper: which divergence belongs to which family."""

from itertools import product

import numpy as np
import pytest
from scipy import stats
from scipy.special import xlogy

from kmle.families import (
    Exponential,
    FixedCovarianceGaussian,
    FixedDegreesWishart,
    Geometric,
    Multinomial,
    Poisson,
    Rayleigh,
    SphericalGaussian,
)
from kmle.numerics.packing import pack
from paper.truth import integral, itakura_saito, kl_of_densities, kl_of_masses

COUNTS = np.arange(2000)


def both_ways(family, first, second):
    """The divergence from the moments and from the natural parameters of two laws; they must agree."""
    dual = family.dual_bregman(first.moment, second.moment).item()
    assert dual == pytest.approx(family.kl(first.natural, second.natural).item(), rel=1e-11)
    return dual


def test_spherical_gaussian_of_known_variance_and_half_the_squared_distance():
    variance, first, second = 2.0, np.array([0.5, -1.0]), np.array([2.0, 0.25])
    sd = np.sqrt(variance)
    # Independent columns: the divergences of the columns add.
    truth = sum(
        kl_of_densities(stats.norm(a, sd), stats.norm(b, sd), -np.inf, np.inf)
        for a, b in zip(first, second, strict=True)
    )
    squared = ((first - second) ** 2).sum()
    family = FixedCovarianceGaussian(variance, n_features=2)
    ours = both_ways(family, family.member(mean=[first]), family.member(mean=[second]))
    assert truth == pytest.approx(squared / (2 * variance), rel=1e-10)
    assert ours == pytest.approx(truth, rel=1e-10)
    assert squared != pytest.approx(truth, rel=0.1)  # the factor the table leaves out


def test_a7_a_free_variance_is_another_divergence():
    family = SphericalGaussian(n_features=1)
    first, second = family.member(mean=[[0.0]], variance=[1.0]), family.member(mean=[[1.0]], variance=[3.0])
    truth = kl_of_densities(stats.norm(0, 1), stats.norm(1, np.sqrt(3.0)), -np.inf, np.inf)
    assert both_ways(family, first, second) == pytest.approx(truth, rel=1e-10)
    assert truth != pytest.approx(1.0, rel=0.1)  # the squared distance of the means
    assert truth != pytest.approx(1.0 / 6, rel=0.1)  # and in units of the second variance


def test_multinomial_and_kullback_leibler():
    trials, p, q = 4, np.array([0.2, 0.3, 0.5]), np.array([0.6, 0.3, 0.1])
    rows = np.array([x for x in product(range(trials + 1), repeat=3) if sum(x) == trials])
    truth = kl_of_masses(stats.multinomial.pmf(rows, trials, p), stats.multinomial.pmf(rows, trials, q))
    family = Multinomial(trials, n_features=3)
    ours = both_ways(family, family.member(probabilities=[p]), family.member(probabilities=[q]))
    assert truth == pytest.approx(trials * kl_of_masses(p, q), rel=1e-12)
    assert ours == pytest.approx(truth, rel=1e-10)


def test_poisson_and_the_i_divergence():
    a, b = 2.5, 7.0
    truth = kl_of_masses(stats.poisson.pmf(COUNTS[:200], a), stats.poisson.pmf(COUNTS[:200], b))
    family = Poisson(n_features=1)
    assert truth == pytest.approx(a * np.log(a / b) - a + b, rel=1e-12)
    assert both_ways(family, family.member(rate=a), family.member(rate=b)) == pytest.approx(truth, rel=1e-12)


def test_a7_it_is_the_exponential_that_pairs_with_itakura_saito():
    a, b = 0.7, 2.0  # means
    truth = kl_of_densities(stats.expon(scale=a), stats.expon(scale=b), 0, np.inf)
    family = Exponential(n_features=1)
    ours = both_ways(family, family.member(rate=1 / a), family.member(rate=1 / b))
    assert truth == pytest.approx(itakura_saito(a, b), rel=1e-10)
    assert ours == pytest.approx(truth, rel=1e-10)


def test_a7_the_geometric_has_a_divergence_of_its_own():
    p, q = 0.3, 0.6
    # SciPy counts tries from one; failures from zero give the same divergence.
    truth = kl_of_masses(stats.geom.pmf(COUNTS[1:400], p), stats.geom.pmf(COUNTS[1:400], q))
    family = Geometric(n_features=1)
    first, second = family.member(probability=p), family.member(probability=q)
    a, b = first.moment.item(), second.moment.item()
    corrected = a * np.log(a / b) - (1 + a) * np.log((1 + a) / (1 + b))
    assert truth == pytest.approx(0.61262, abs=1e-5)
    assert corrected == pytest.approx(truth, rel=1e-10)
    assert both_ways(family, first, second) == pytest.approx(truth, rel=1e-10)
    assert family.conjugate(first.moment).item() == pytest.approx(xlogy(a, a) - (1 + a) * np.log1p(a), rel=1e-12)
    assert itakura_saito(a, b) == pytest.approx(1.247, abs=1e-3)  # printed, failures from zero
    assert itakura_saito(1 / p, 1 / q) == pytest.approx(0.3069, abs=1e-4)  # printed, tries from one


def test_wishart_and_the_burg_divergence():
    degrees = 5.0
    first, second = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, -0.3], [-0.3, 3.0]])
    # log p - log q is affine in X for a common number of degrees, so its mean is its value at the mean.
    mean = stats.wishart.mean(degrees, first)
    truth = stats.wishart.logpdf(mean, degrees, first) - stats.wishart.logpdf(mean, degrees, second)
    ratio = first @ np.linalg.inv(second)
    burg = np.trace(ratio) - np.log(np.linalg.det(ratio)) - 2
    family = FixedDegreesWishart(degrees, n_features=4)
    ours = both_ways(family, family.member(scale=[first]), family.member(scale=[second]))
    assert truth == pytest.approx(0.5 * degrees * burg, rel=1e-12)
    assert ours == pytest.approx(truth, rel=1e-11)
    np.testing.assert_allclose(family.member(scale=[first]).moment[0], pack(degrees * first), rtol=1e-12)


def test_wishart_of_one_row_by_quadrature():
    degrees, a, b = 3.0, 0.5, 2.0
    dists = [stats.gamma(degrees / 2, scale=2 * v) for v in (a, b)]
    family = FixedDegreesWishart(degrees, n_features=1)
    ours = both_ways(family, family.member(scale=[[[a]]]), family.member(scale=[[[b]]]))
    assert ours == pytest.approx(kl_of_densities(*dists, 0, np.inf), rel=1e-9)


@pytest.mark.parametrize(
    ("family", "source", "rows", "log_density"),
    [
        (Poisson(), {"rate": 2.5}, [0, 1, 4, 9], stats.poisson(2.5).logpmf),
        (Geometric(), {"probability": 0.3}, [0, 1, 4, 9], stats.geom(0.3, loc=-1).logpmf),
        (Exponential(), {"rate": 0.4}, [0.1, 1.0, 7.0], stats.expon(scale=2.5).logpdf),
        (Rayleigh(), {"scale": 1.7}, [0.1, 1.0, 7.0], stats.rayleigh(scale=1.7).logpdf),
        (FixedCovarianceGaussian(2.0), {"mean": 0.5}, [-3.0, 0.0, 4.0], stats.norm(0.5, np.sqrt(2.0)).logpdf),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_log_density_is_minus_a_divergence_where_the_conjugate_is_finite(family, source, rows, log_density):
    family = family.for_data(rows)
    X = family.check(rows)
    t = family.sufficient_statistic(X)
    eta = family.member(**source).moment
    duality = -family.dual_bregman(t, eta) + family.conjugate(t) + family.log_carrier(X)
    np.testing.assert_allclose(duality, log_density(np.array(rows)), rtol=1e-9, atol=1e-9)


def test_the_mean_of_the_statistic_is_the_gradient_of_the_log_normalizer():
    dist = stats.rayleigh(scale=1.7)
    family = Rayleigh(n_features=1)
    assert family.member(scale=1.7).moment.item() == pytest.approx(
        integral(lambda x: x * x * dist.pdf(x), 0, np.inf), rel=1e-10
    )
