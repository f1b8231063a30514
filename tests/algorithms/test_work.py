"""Fits count their work, and no iteration of a default fit scores or adds up rows in NumPy.

Only Hartigan's moves at the end of a hard search do, on its small sample.
"""

import importlib

import numpy as np
import pytest

from algorithms.raw import RAW
from kmle import KMLE, ExponentialFamilyMixture
from kmle._kernels import Work, backend
from kmle.data.table import Rows
from kmle.engines.direct import DirectEngine
from kmle.families import FixedCovarianceGaussian, Gaussian, Poisson, Product

FAMILIES = ["gaussian", "diagonal-gaussian", "spherical-gaussian", "fixed-covariance-gaussian"]

pytestmark = pytest.mark.skipif(backend() == "numpy", reason="the kernels were not compiled")


@pytest.fixture
def watched(monkeypatch):
    """What NumPy is asked to score or add up row by row, but for Hartigan's moves on the sample of a search."""
    asked, moving = [], []
    search = importlib.import_module("kmle.search.search")
    moves = search._without_gainful_moves

    def moved(*arguments):
        moving.append(True)
        found = moves(*arguments)
        moving.pop()
        return found

    monkeypatch.setattr(search, "_without_gainful_moves", moved)

    def refuse(owner, name, is_many):
        plain = getattr(owner, name)

        def message(*arguments, **named):
            if not moving and is_many(*arguments):
                asked.append(f"{owner.__name__}.{name}")
            return plain(*arguments, **named)

        monkeypatch.setattr(owner, name, message)

    for name in ("hard_pass", "soft_pass", "log_likelihood"):
        refuse(DirectEngine, name, lambda *_: True)
    refuse(Rows, "blocks", lambda *_: True)
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


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", ["gamma", "log-normal", "exponential"])
def test_positive_heavy_tails_stay_in_the_kernels(family, estimator, watched):
    rng = np.random.default_rng(4)
    X = rng.gamma(np.array([2.0, 9.0, 40.0])[rng.integers(3, size=3000)][:, None], 1.0, (3000, 2))
    for table in (X + rng.pareto(1.0, X.shape), np.where(np.arange(3000)[:, None] == 7, 1e6, X)):
        assert estimator(3, family=family, random_state=0).fit(table).result_.work.in_numpy == 0
    assert watched == []


def test_work_counts_passes_and_pairs():
    X = np.random.default_rng(2).normal(size=(2000, 3))
    fit = KMLE(3, family="gaussian", random_state=0, n_init=1, init="random").fit(X).result_
    assert fit.work.passes >= fit.n_iter
    assert fit.work.scored >= fit.n_iter * 2000 * 3
    assert fit.work + Work(1, 2, 3, 4) == Work(
        fit.work.passes + 1, fit.work.scored + 2, fit.work.rescored + 3, fit.work.in_numpy + 4
    )


def test_families_without_scores_by_differences_say_what_numpy_did():
    X = np.random.default_rng(3).poisson(3e10, (300, 1)) * 1.0
    fit = KMLE(2, family="poisson", random_state=0, n_init=1).fit(X).result_
    assert fit.work.in_numpy > 0
    assert "in NumPy" in str(fit.work)
