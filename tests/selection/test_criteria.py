"""The criteria, their limits, and the number of parameters behind them."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from cases import CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.selection.criteria import CRITERIA, Criteria, aic, aicc, bic, icl

BOTH = pytest.mark.parametrize("Model", [KMLE, ExponentialFamilyMixture])
COUNTS = Mixture.from_source("poisson", [0.3, 0.7], rate=[2.0, 50.0]).sample(200, random_state=0)


def test_the_value_and_the_functions_agree():
    criteria = Criteria(-120.5, -131.0, n_parameters=7, n=40)
    assert criteria.aic == aic(-120.5, 7, 40) == 255.0
    assert criteria.aicc == aicc(-120.5, 7, 40) == pytest.approx(255.0 + 2 * 7 * 8 / 32)
    assert criteria.bic == bic(-120.5, 7, 40) == pytest.approx(241.0 + 7 * np.log(40))
    assert criteria.icl == icl(-131.0, 7, 40) == pytest.approx(262.0 + 7 * np.log(40))
    assert {name: criteria.value(name) for name in CRITERIA} == {name: getattr(criteria, name) for name in CRITERIA}


def test_the_corrected_criterion_needs_rows_to_spare():
    assert aicc(-10.0, 5, 6) == aicc(-10.0, 5, 3) == np.inf
    assert np.isfinite(aicc(-10.0, 5, 6.5))
    assert aicc(-10.0, 5, 1e12) == pytest.approx(aic(-10.0, 5, 1e12))


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_parameters_are_the_directions_in_which_the_law_changes(case):
    information = case.family.fisher_information(case.naturals(1, seed=0))[0]
    scale = np.sqrt(np.diag(information))
    values = np.linalg.eigvalsh(information / np.outer(scale, scale))
    assert np.count_nonzero(values > 1e-7 * values[-1]) == case.family.n_parameters


@BOTH
def test_prescribed_weights_are_no_parameters(Model):
    learned = Model(3, family="poisson", random_state=0).fit(COUNTS)
    uniform = Model(3, family="poisson", weights="uniform", random_state=0).fit(COUNTS)
    for model, free_weights in ((learned, learned.mixture_.n_components - 1), (uniform, 0)):
        free = model.mixture_.n_components + free_weights
        assert model.result_.criteria.n_parameters == free
        assert model.criteria(COUNTS).n_parameters == free
        likelihood = model.score(COUNTS) * len(COUNTS)
        assert model.bic(COUNTS) == pytest.approx(-2 * likelihood + free * np.log(len(COUNTS)), rel=1e-12)


@BOTH
def test_a_weight_of_two_is_a_row_twice(Model):
    weighed = Model(2, family="poisson", random_state=0).fit(COUNTS, sample_weight=np.full(len(COUNTS), 2.0))
    twice = Model(2, family="poisson", random_state=0).fit(np.repeat(COUNTS, 2, axis=0))
    assert weighed.result_.n == twice.result_.n == 2 * len(COUNTS)
    for name in CRITERIA:
        assert weighed.result_.criteria.value(name) == pytest.approx(twice.result_.criteria.value(name), rel=1e-9)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_as_scikit_learn_has_them(kind):
    X = np.random.default_rng(0).normal(np.repeat([[0.0, 0.0, 3.0], [8.0, 5.0, 0.0]], 60, axis=0))
    family = {"full": "gaussian", "diag": "diagonal-gaussian", "spherical": "spherical-gaussian"}[kind]
    ours = ExponentialFamilyMixture(2, family=family, prior_strength=0, tol=1e-12, random_state=0).fit(X)
    theirs = GaussianMixture(2, covariance_type=kind, reg_covar=0, tol=1e-10, random_state=0).fit(X)
    assert ours.aic(X) == pytest.approx(theirs.aic(X), abs=1e-5)
    assert ours.bic(X) == pytest.approx(theirs.bic(X), abs=1e-5)
