"""Nodes find the mass of a density wherever it is, and integrate or sum it."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from kmle.numerics.quadrature import EXACT_TERMS, integer_nodes, interval_nodes

INF = np.inf
CONTINUOUS = [
    (stats.norm(0, 1), -INF, INF),
    (stats.norm(1e6, 1e-3), -INF, INF),
    (stats.norm(-50, 1e5), -INF, INF),
    (stats.laplace(0.3, 2.0), -INF, INF),
    (stats.gennorm(0.7, 0.3, 2.0), -INF, INF),
    (stats.gennorm(0.4, -1e3, 1e-3), -INF, INF),
    (stats.expon(0, 1e-8), 0, INF),
    (stats.gamma(0.05), 0, INF),
    (stats.gamma(1e6), 0, INF),
    (stats.lognorm(3.0), 0, INF),
    (stats.pareto(0.2), 1, INF),
    (stats.beta(0.9, 5.0), 0, 1),
    (stats.beta(300, 5e4), 0, 1),
    (stats.vonmises(20.0, 3.0), -np.pi, np.pi),
    (stats.uniform(2, 3), 2, 5),
]


@pytest.mark.parametrize(("dist", "lower", "upper"), CONTINUOUS)
def test_continuous_laws(dist, lower, upper):
    x, weights = interval_nodes(dist.logpdf, lower, upper)
    assert np.all((x > lower) & (x < upper))
    density = dist.pdf(x)
    assert weights @ density == pytest.approx(1, abs=1e-9)
    log_density = np.where(density > 0, dist.logpdf(x), 0.0)
    if dist.dist.name != "vonmises":
        assert -weights @ (density * log_density) == pytest.approx(float(dist.entropy()), rel=1e-7, abs=1e-7)


def test_a_half_line_to_the_left():
    x, weights = interval_nodes(lambda x: x, -INF, 2.0)
    assert weights @ np.exp(x) == pytest.approx(np.exp(2.0), rel=1e-10)


DISCRETE = [
    (stats.poisson(1e-9), INF),
    (stats.poisson(3.0), INF),
    (stats.poisson(16_384.0), INF),
    (stats.poisson(1e8), INF),
    (stats.geom(0.3, -1), INF),
    (stats.geom(1e-3, -1), INF),
    (stats.binom(7, 0.2), 7),
    (stats.binom(100_000, 0.999), 100_000),
    (stats.binom(50_000_000, 0.5), 50_000_000),
    (stats.nbinom(0.05, 1e-3), INF),
]


@pytest.mark.parametrize(("dist", "upper"), DISCRETE)
def test_discrete_laws(dist, upper):
    x, weights = integer_nodes(dist.logpmf, 0.0, upper)
    assert np.all(weights == 1)
    assert np.all((x >= 0) & (x <= upper) & (x == np.floor(x)))
    assert len(x) <= EXACT_TERMS
    probability = dist.pmf(x)
    # SciPy's probabilities of a hundred million counts are themselves good to eight digits or so.
    assert probability.sum() == pytest.approx(1, abs=1e-7 if dist.mean() > 1e6 else 1e-11)
    assert probability @ x == pytest.approx(dist.mean(), rel=1e-7)


def test_a_sum_too_long_to_be_written_out():
    """Geometric with a mean of ten million: the far part is an integral."""
    p = 1e-7
    x, weights = integer_nodes(lambda x: x * np.log1p(-p), 0.0, INF)
    assert len(x) < 2 * EXACT_TERMS
    probability = weights * p * np.exp(x * np.log1p(-p))
    assert probability.sum() == pytest.approx(1, abs=1e-10)
    assert probability @ x == pytest.approx((1 - p) / p, rel=1e-9)


def test_steep_near_zero_and_long():
    """x^(r-1) e^(-x/m), r small: most of the mass in the first terms, most of the mean in the last."""
    r, p = 0.01, 1e-7
    log_constant = r * np.log(p) - gammaln(r)

    def log_mass(x):
        return gammaln(x + r) - gammaln(x + 1) + log_constant + x * np.log1p(-p)

    x, weights = integer_nodes(log_mass, 0.0, INF)
    assert weights @ np.exp(log_mass(x)) == pytest.approx(1, abs=1e-9)
    assert weights @ (x * np.exp(log_mass(x))) == pytest.approx(r * (1 - p) / p, rel=1e-8)
