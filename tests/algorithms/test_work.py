"""Fits count their work, and no iteration of a default fit scores or adds up rows in NumPy.

Only Hartigan's moves at the end of a hard search do, on its small sample.
"""

import importlib
from functools import partial

import numpy as np
import pytest

from algorithms.raw import RAW
from kmle import KMLE, ExponentialFamilyMixture
from kmle._kernels import backend
from kmle.data.differences import Differences
from kmle.data.table import Rows
from kmle.engines import apart, direct
from kmle.engines.apart import ApartEngine, split_rows
from kmle.engines.direct import DirectEngine
from kmle.families import FixedCovarianceGaussian, Gamma, Gaussian, NegativeBinomial, Poisson, Product, resolve
from kmle.problem.objective import PreciseProblem

FAMILIES = ["gaussian", "diagonal-gaussian", "spherical-gaussian", "fixed-covariance-gaussian"]

# Rows apart from the others that may be scored by their families' own densities.
FEW_ROWS = 10

pytestmark = pytest.mark.skipif(backend() == "numpy", reason="the kernels were not compiled")


@pytest.fixture
def watched(monkeypatch):
    """What NumPy is asked to score or add up row by row.

    Hartigan's moves on the sample of a search may ask, and so may the likelihood that a fit of few rows reports.
    """
    asked, moving = [], []

    def may_ask(owner, name):
        plain = getattr(owner, name)

        def asking(*arguments):
            moving.append(True)
            found = plain(*arguments)
            moving.pop()
            return found

        monkeypatch.setattr(owner, name, asking)

    may_ask(importlib.import_module("kmle.search.search"), "_without_gainful_moves")
    may_ask(PreciseProblem, "reported_likelihoods")

    def refuse(owner, name, is_many):
        plain = getattr(owner, name)

        def message(*arguments, **named):
            if not moving and is_many(*arguments):
                asked.append(f"{owner.__name__}.{name}")
            return plain(*arguments, **named)

        monkeypatch.setattr(owner, name, message)

    for name in ("hard_pass", "soft_pass", "log_likelihood"):
        refuse(DirectEngine, name, lambda engine, *_: len(engine.rows) > FEW_ROWS)
    refuse(Rows, "blocks", lambda rows: len(rows) > FEW_ROWS)
    for module in (apart, direct):
        refuse(module, "own_fits", lambda rows, *_: len(rows) > FEW_ROWS)
    for family in (Gaussian, FixedCovarianceGaussian, Product):
        # One row tells whether a family has such densities.
        refuse(family, "direct_log_density", lambda _, X, __: len(X) > 1)
    return asked


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", RAW)
def test_default_fits_of_raw_data_stay_in_the_kernels(name, family, estimator, watched):
    X = RAW[name](np.random.default_rng(0))
    model = estimator(8, family=family, random_state=0).fit(X)
    model.predict(X), model.predict_proba(X), model.score(X), model.bic(X)
    assert watched == []
    assert model.result_.work.in_numpy == 0
    assert model.result_.work.passes > 0


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
def test_products_and_wide_rows_stay_in_the_kernels(estimator, watched):
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(3000, 2)), rng.poisson(4.0, 3000), rng.normal(1e3, 1.0, (3000, 2))])
    X[5, 0], X[9, 4] = 1e7, 1e9
    family = Product((FixedCovarianceGaussian(n_features=2), Poisson(), Gaussian(n_features=2)))
    assert estimator(4, family=family, random_state=0).fit(X).result_.work.in_numpy == 0
    wide = rng.normal(size=(1500, 40)) + 3 * rng.integers(3, size=(1500, 1))
    wide[3, 3] = 1e7
    assert estimator(3, family="gaussian", random_state=0).fit(wide).result_.work.in_numpy == 0
    assert watched == []


def odd_tables() -> dict[str, np.ndarray]:
    """Three clusters with what ordinary tables have beside them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 3)) * [1.0, 2.0, 0.5] + 5 * rng.integers(3, size=(3000, 1))
    cell = X.copy()
    cell[7, 0] = 1e12
    return {
        "Cauchy": X + rng.standard_cauchy(X.shape),
        "collinear": np.column_stack([X, X[:, 0] + X[:, 1]]),
        "narrow": np.concatenate([X[:1500], 2 + 1e-6 * rng.normal(size=(1500, 3))]),
        "single precision": X.astype(np.float32),
        "whole": np.round(X),
        "one cell": cell,
        "far off": X + 1e9,
    }


ODD = odd_tables()


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", ["gaussian", "gaussian-eee", "gaussian-vvi", "gaussian-eve", "gaussian-vev"])
@pytest.mark.parametrize("name", ODD)
def test_covariance_models_stay_in_the_kernels(name, family, estimator, watched):
    model = estimator(3, family=family, random_state=0).fit(ODD[name])
    assert model.result_.work.in_numpy == 0
    assert watched == []


def positive_tables() -> dict[str, np.ndarray]:
    """Three clusters of positive rows, with heavy tails or one extreme cell."""
    rng = np.random.default_rng(4)
    X = rng.gamma(np.array([2.0, 9.0, 40.0])[rng.integers(3, size=3000)][:, None], 1.0, (3000, 2)) + 0.01
    cells = {f"{value:g}": np.where((np.arange(3000)[:, None] == 7) & [True, False], value, X) for value in (1e6, 1e12)}
    return {"heavy": X + rng.pareto(1.0, X.shape), "zero": np.where(X.min() == X, 1e-12, X)} | cells


POSITIVE_TABLES = positive_tables()

# Families whose scores have no large terms that cancel, or that have scores by differences.
EXACT = ("log-normal", "exponential")


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", ["gamma", "inverse-gaussian", "inverse-gamma", "log-normal", "exponential"])
@pytest.mark.parametrize("name", POSITIVE_TABLES)
def test_positive_rows_stay_in_the_kernels(name, family, estimator, watched):
    work = estimator(3, family=family, random_state=0).fit(POSITIVE_TABLES[name]).result_.work
    assert work.in_numpy <= (0 if family in EXACT else FEW_ROWS * 3 * work.passes)
    assert watched == []


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", ["poisson", "geometric", "negative-binomial"])
def test_counts_with_one_extreme_cell_stay_in_the_kernels(family, estimator, watched):
    rng = np.random.default_rng(5)
    X = rng.poisson(np.array([2.0, 9.0, 40.0])[rng.integers(3, size=2000)][:, None], (2000, 2)).astype(float)
    X[7, 0] = 1e12
    model = NegativeBinomial(size=3.0) if family == "negative-binomial" else family
    work = estimator(3, family=model, random_state=0).fit(X).result_.work
    assert work.in_numpy <= FEW_ROWS * 3 * work.passes
    assert watched == []


@pytest.mark.parametrize("method", ["hard", "soft", "fits"])
def test_rows_apart_are_scored_as_all_rows_by_their_own_densities(method):
    rows = Rows(Gamma(n_features=2), POSITIVE_TABLES["1e+12"])
    shapes = np.array([[2.0, 3.0], [9.0, 8.0], [40.0, 30.0], [1e9, 2.0]])
    scales = np.array([[1.0, 1.0], [1.1, 0.9], [1.0, 2.0], [1e3, 3.0]])
    natural, log_weights = rows.family.natural_from_source(shape=shapes, scale=scales), np.log([0.2, 0.3, 0.4, 0.1])
    differences = Differences.of(rows)
    bias = differences.bias(natural, log_weights)
    split = split_rows(rows, differences, natural, bias)
    # The last component has the row apart, and none of the others.
    assert len(split.apart) == 1
    np.testing.assert_array_equal(split.seen_bias(natural, bias), [*bias[:3], -np.inf])
    engine, plain = ApartEngine(rows), DirectEngine(rows)
    (partition, found), (expected, sums) = (
        engine.hard_pass(natural, log_weights),
        plain.hard_pass(natural, log_weights),
    )
    if method == "hard":
        np.testing.assert_array_equal(partition.labels, expected.labels)
        assert partition.labels[7] == 3
    elif method == "soft":
        found, sums = engine.soft_pass(natural, log_weights), plain.soft_pass(natural, log_weights)
        likelihoods = [engine.log_likelihood(natural, log_weights), plain.log_likelihood(natural, log_weights)]
        np.testing.assert_allclose(*likelihoods, rtol=1e-12)
        np.testing.assert_allclose(found.score, sums.score, rtol=1e-12)
    else:
        fits = [method(natural, expected.labels) for method in (engine.fits, partial(direct.own_fits, rows))]
        np.testing.assert_allclose(*fits, rtol=1e-12)
    np.testing.assert_allclose(found.counts, sums.counts, rtol=1e-9)
    np.testing.assert_allclose(found.sums, sums.sums, rtol=1e-9)


NARROW = {
    "constant": np.ones(500),
    "nearly constant": 1 + 1e-7 * np.random.default_rng(10).normal(size=500),
    "all the same but one": np.where(np.arange(500) == 7, 0.9, 1.0),
}


@pytest.mark.parametrize("family", ["gamma", "inverse-gamma", "inverse-gaussian", "beta"])
@pytest.mark.parametrize("kind", NARROW)
def test_narrow_columns_stay_in_the_kernels(family, kind):
    rng = np.random.default_rng(11)
    means, largest = (np.array([0.1, 0.9]), 0.5) if family == "beta" else (np.array([1.0, 9.0]), 1e5)
    varying = means[rng.integers(2, size=500)] * rng.uniform(0.9, 1.1, 500)
    rows = Rows(resolve(family).for_data(np.full((1, 2), 0.5)), np.column_stack([varying, largest * NARROW[kind]]))
    narrow = rows.family.natural_from_moment(rows.mean_statistic[None])
    wide = rows.family.mle(
        np.column_stack([rng.permutation(varying) ** 0.9, largest * rng.uniform(0.4, 0.6, 500)])
    ).natural
    natural, log_weights = np.vstack([narrow, wide]), np.log([0.4, 0.6])
    engine, plain = ApartEngine(rows), DirectEngine(rows)
    before = rows.meter.work.in_numpy
    soft, hard = engine.soft_pass(natural, log_weights), engine.hard_pass(natural, log_weights)
    engine.log_likelihood(natural, log_weights)
    engine.fits(natural, hard[0].labels)
    assert rows.meter.work.in_numpy - before <= 4 * 2
    expected = plain.soft_pass(natural, log_weights)
    np.testing.assert_array_equal(hard[0].labels, plain.hard_pass(natural, log_weights)[0].labels)
    np.testing.assert_allclose(soft.score, expected.score, rtol=1e-9)
    np.testing.assert_allclose(soft.counts, expected.counts, rtol=1e-7)
    np.testing.assert_allclose(soft.sums, expected.sums, rtol=1e-7)


def test_work_counts_passes_and_pairs():
    X = np.random.default_rng(2).normal(size=(2000, 3))
    fit = KMLE(3, family="gaussian", random_state=0, n_init=1, init="random").fit(X).result_
    assert fit.work.passes >= fit.n_iter
    assert fit.work.scored >= fit.n_iter * 2000 * 3


def test_families_without_scores_by_differences_say_what_numpy_did():
    X = np.random.default_rng(3).poisson(3e10, (300, 1)) * 1.0
    X[5] = 1e16
    fit = KMLE(2, family="poisson", random_state=0, n_init=1).fit(X).result_
    assert fit.work.in_numpy > 0
    assert "in NumPy" in str(fit.work)
