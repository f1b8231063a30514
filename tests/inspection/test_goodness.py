"""Distribution functions of every univariate family, and what they make of data."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from cases import BY_ID, CASES, case_id
from kmle import Mixture
from kmle import families as f
from kmle.families.support import POSITIVE, Integers
from kmle.inspection import cdf, kolmogorov_smirnov, pit, quantile_pairs, quantiles

ONE_COLUMN = [case for case in CASES if case.family.n_features == 1]


def drawn(case, n=1500, seed=5):
    mixture = Mixture(case.family, [0.3, 0.7], case.naturals(2, seed))
    return mixture, mixture.sample(n, random_state=seed)


@pytest.mark.parametrize("case", ONE_COLUMN, ids=case_id)
def test_own_samples_are_uniform_under_the_distribution_function(case):
    mixture, X = drawn(case)
    values = pit(mixture, X, random_state=0)
    assert values.shape == (len(X),)
    assert stats.kstest(values, "uniform").pvalue > 1e-3
    assert kolmogorov_smirnov(values) == pytest.approx(stats.kstest(values, "uniform").statistic)


@pytest.mark.parametrize("case", ONE_COLUMN, ids=case_id)
def test_the_distribution_function_grows_by_the_density(case):
    mixture, X = drawn(case, 300)
    x = np.unique(X[:, 0])
    if isinstance(case.family.support, Integers):
        growth, density = cdf(mixture, x) - cdf(mixture, x - 1), np.exp(mixture.log_density(x[:, None]))
        assert_allclose(growth, density, rtol=1e-8, atol=1e-13)
        return
    # Neither in the far tails nor close to a kink (Laplace), where one side of the difference has another slope.
    x = x[5:-5]
    x = x[np.abs(x - getattr(case.family, "location", np.inf)) > 1e-2]
    width = 1e-4 * np.abs(x)
    growth = (cdf(mixture, x + width) - cdf(mixture, x - width)) / (2 * width)
    assert_allclose(growth, np.exp(mixture.log_density(x[:, None])), rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("case", [case for case in ONE_COLUMN if case.univariate], ids=case_id)
def test_it_is_the_distribution_function_scipy_has(case):
    point = np.random.default_rng(1).random((1, case.size))
    dist = case.twins_at(point)[0].frozen
    mixture = Mixture(case.family, [1.0], case.naturals_at(point))
    x = np.unique(mixture.sample(200, random_state=1)[:, 0])
    expected = np.ravel(dist.cdf(x))
    if case.id == "von-mises":  # SciPy counts from half a turn before the mean
        expected = expected - dist.cdf(-np.pi)
    assert_allclose(cdf(mixture, x), expected, rtol=1e-9, atol=1e-10)


def test_outside_the_support_nothing_is_left():
    counts = Mixture.from_source("poisson", [1.0], rate=[3.0])
    assert_allclose(cdf(counts, [-1.0, -0.5, 0.0, 0.5, 1e9]), [0, 0, np.exp(-3), np.exp(-3), 1], rtol=1e-12)
    positive = Mixture.from_source("rayleigh", [1.0], scale=[1.0])
    assert_allclose(cdf(positive, [-2.0, 0.0, 1.0]), [0, 0, 1 - np.exp(-0.5)], rtol=1e-12)
    share = Mixture.from_source("beta", [1.0], alpha=[2.0], beta=[1.0])
    assert_allclose(cdf(share, [-1.0, 0.5, 2.0]), [0, 0.25, 1], rtol=1e-12)


def test_a_family_of_ones_own_is_summed():
    own = f.from_functions(
        "own",
        statistic=lambda X: X,
        log_normalizer=lambda natural: -np.log(-natural[..., 0]),
        support=POSITIVE,
    )
    assert_allclose(cdf(Mixture(own, [1.0], [[-2.0]]), [0.1, 1.0]), -np.expm1([-0.2, -2.0]), atol=1e-7)


def test_several_columns_have_none():
    wide = Mixture.from_source("poisson", [1.0], rate=[[1.0, 2.0]])
    with pytest.raises(ValueError, match="needs data of one column; this mixture has 2"):
        cdf(wide, [1.0])


@pytest.mark.parametrize("id", ["gamma-1", "gaussian-1", "poisson-1", "bernoulli-1", "beta", "von-mises", "pareto"])
def test_quantiles_invert_the_distribution_function(id):
    mixture, X = drawn(BY_ID[id], 200)
    p = np.array([0.01, 0.2, 0.5, 0.9, 0.999])
    x = quantiles(mixture, p, X)
    if np.all(np.floor(X) == X):
        assert (cdf(mixture, x) >= p).all()
        assert (cdf(mixture, x - 1) < p).all()
    else:
        assert_allclose(cdf(mixture, x), p, rtol=1e-9)


def test_quantiles_of_the_data_meet_those_of_its_own_law():
    mixture = Mixture.from_source("diagonal-gaussian", [0.5, 0.5], mean=[[-3.0], [3.0]], variance=[[1.0], [1.0]])
    pairs = quantile_pairs(mixture, mixture.sample(20_000, random_state=0), 9)
    # The median lies in the gap, where data says little.
    there = pairs.probabilities != 0.5
    assert_allclose(pairs.data[there], pairs.model[there], atol=0.1)
    with pytest.raises(ValueError, match="n_points is 0"):
        quantile_pairs(mixture, [[1.0]], 0)


def test_a_wrong_law_is_far_from_the_data():
    right = Mixture.from_source("gamma", [1.0], shape=[4.0], scale=[1.0])
    wrong = Mixture.from_source("exponential", [1.0], rate=[0.25])
    X = right.sample(1000, random_state=0)
    assert kolmogorov_smirnov(pit(right, X)) < 0.05
    assert kolmogorov_smirnov(pit(wrong, X)) > 0.15


def test_draws_of_the_pit_repeat():
    counts = Mixture.from_source("poisson", [1.0], rate=[3.0])
    X = counts.sample(50, random_state=0)
    assert_allclose(pit(counts, X, random_state=3), pit(counts, X, random_state=3), rtol=0)
