"""Probabilities of intervals and expected statistics inside: against SciPy's distributions and plain quadrature."""

import numpy as np
import pytest
from scipy import integrate

from cases import CASES, case_id
from kmle.families.support import Angles, Integers, Interval

ONE_COLUMN = [
    case for case in CASES if case.family.n_features == 1 and isinstance(case.family.support, Integers | Interval)
]
ONE_COLUMN = [case for case in ONE_COLUMN if not isinstance(case.family.support, Angles)]


def one_column(case):
    """The family, draws from one of its distributions and the natural parameters (2, D) of two."""
    natural = case.naturals(2, seed=5)
    return case.family, case.family.sample(natural[0], 400, np.random.default_rng(3))[:, 0], natural


def by_quadrature(family, natural, low, high):
    """P and E[t] by adaptive quadrature or plain sums over the density."""
    support = family.support

    def density(x):
        return float(np.exp(family.log_density([[x]], natural[None])[0, 0]))

    def t(x):
        return family.sufficient_statistic(np.array([[x]]))[0]

    if isinstance(support, Integers):
        values = np.arange(max(low, support.lower), min(high, support.upper, 5000) + 1)
        p = np.array([density(x) for x in values])
        return p.sum(), (p[:, None] * np.array([t(x) for x in values])).sum(axis=0) / p.sum()

    def integral(g):
        return integrate.quad(g, low, high, epsabs=1e-13, epsrel=1e-11, limit=400)[0]

    p = integral(density)
    return p, np.array([integral(lambda x, c=c: density(x) * t(x)[c]) for c in range(len(natural))]) / p


@pytest.mark.parametrize("case", ONE_COLUMN, ids=case_id)
def test_intervals_agree_with_quadrature(case):
    family, x, natural = one_column(case)
    low, mid, high = np.quantile(x, [0.2, 0.5, 0.8])
    if isinstance(family.support, Integers):
        low, mid, high = np.floor([low, mid, high])
    lower, upper = np.array([low, low]), np.array([mid + (low == mid), high + (low == high)])
    if isinstance(family.support, Integers):
        upper = np.minimum(upper, family.support.upper)
    log_p, means = family.interval_expectations(lower, upper, natural)
    for i in range(2):
        for j in range(2):
            p, mean = by_quadrature(family, natural[j], lower[i], upper[i])
            np.testing.assert_allclose(np.exp(log_p[i, j]), p, rtol=1e-7)
            np.testing.assert_allclose(means[i, j], mean, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", ONE_COLUMN, ids=case_id)
def test_open_intervals_add_up(case):
    """The whole support has probability one and the moment as mean; two halves make the whole."""
    family, x, natural = one_column(case)
    support = family.support
    cut = float(np.median(x))
    if isinstance(support, Integers):
        cut = np.floor(cut)
    after = cut + 1 if isinstance(support, Integers) else cut
    if after > support.upper:
        pytest.skip("one value only")
    lower = np.array([support.lower, support.lower, after], dtype=float)
    upper = np.array([support.upper, cut, support.upper], dtype=float)
    log_p, means = family.interval_expectations(lower, upper, natural)
    np.testing.assert_allclose(log_p[0], 0.0, atol=1e-10)
    np.testing.assert_allclose(means[0], family.moment_from_natural(natural), rtol=1e-8, atol=1e-10)
    p = np.exp(log_p)
    np.testing.assert_allclose(p[1] + p[2], 1.0, atol=1e-10)
    np.testing.assert_allclose(p[1][:, None] * means[1] + p[2][:, None] * means[2], means[0], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("case", ONE_COLUMN, ids=case_id)
def test_far_and_narrow_intervals_stay_finite(case):
    family, x, natural = one_column(case)
    support = family.support
    if isinstance(support, Integers):
        top = min(support.upper, 10 * x.max() + 50)
        lower, upper = np.array([top, top]), np.array([top, support.upper])
    else:
        wide = 1 + np.abs(x).max()
        far = 60 * wide if np.isinf(support.upper) else support.upper - 1e-9
        lower = np.array([far, x.mean(), x.mean()])
        upper = np.array([support.upper, x.mean() * (1 + 1e-12), x.mean() + 1e-5])
        lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    log_p, means = family.interval_expectations(lower, upper, natural)
    assert np.isfinite(log_p).all()
    assert np.isfinite(means).all()
    assert (log_p <= 1e-9).all()
