"""What can be asked of a fit to rows with missing entries: errors, diagnostics, outliers."""

import numpy as np
import pytest
from scipy.stats import kstest

from kmle import ExponentialFamilyMixture, Mixture, inspection, select
from published.datasets import table

AIR = table("airquality.csv", (0, 1, 2, 3))
MIXTURE = Mixture.from_source(
    "gaussian",
    [0.4, 0.6],
    mean=[[0.0, 1.0], [2.0, 4.0]],
    covariance=[[[1.0, 0.6], [0.6, 2.0]], [[2.0, -1.0], [-1.0, 1.0]]],
)


@pytest.mark.parametrize("family", ["diagonal-gaussian", "gaussian"])
def test_errors_of_a_mean_are_those_of_its_own_entries(family):
    """Without correlation a column's mean has the error of as many rows as have the column."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 2))
    X[:, 1] = np.where(rng.random(2000) < 0.5, np.nan, X[:, 1])
    model = ExponentialFamilyMixture(1, family=family, prior_strength=0).fit(X)
    errors = inspection.standard_errors(model, X).source["mean"][0]
    expected = np.nanstd(X, axis=0) / np.sqrt((~np.isnan(X)).sum(axis=0))
    np.testing.assert_allclose(errors, expected, rtol=1e-2)


def test_errors_agree_with_the_spread_of_simulated_fits():
    found = []
    for seed in range(60):
        X = MIXTURE.sample(800, seed)
        X[np.random.default_rng(seed).random(X.shape) < 0.3] = np.nan
        fit = ExponentialFamilyMixture(2, init=MIXTURE, n_init=1, prior_strength=0).fit(X)
        found.append(fit.mixture_.source["mean"][np.argsort(fit.mixture_.source["mean"][:, 0])])
    errors = inspection.standard_errors(fit, X).source["mean"][np.argsort(fit.mixture_.source["mean"][:, 0])]
    np.testing.assert_allclose(errors, np.std(found, axis=0), rtol=0.35)


def test_tails_of_rows_with_missing_entries_are_uniform():
    X = MIXTURE.sample(600, 1)
    X[np.random.default_rng(2).random(X.shape) < 0.3] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    tail = inspection.outlier_scores(MIXTURE, X, random_state=0).tail
    assert kstest(tail, "uniform").pvalue > 0.01
    assert inspection.outlier_scores(MIXTURE, [[np.nan, np.nan]], random_state=0).tail[0] == 1.0


@pytest.mark.parametrize("family", ["gaussian", "gamma", "gaussian-eee"])
def test_diagnostics_take_missing_entries(family):
    model = ExponentialFamilyMixture(2, family=family, random_state=0).fit(AIR)
    assert "The mean log-density of the 153 rows" in str(inspection.diagnose(model, AIR))
    assert np.isfinite(inspection.posterior_entropy(model, AIR)).all()
    assert np.isfinite(inspection.separation(model, AIR).confusion).all()
    one = ExponentialFamilyMixture(1, family="gamma").fit(AIR[~np.isnan(AIR[:, 0])][:, :1])
    assert len(inspection.pit(one, AIR[:, :1])) == (~np.isnan(AIR[:, 0])).sum()


def test_select_takes_missing_entries():
    found = select(AIR, ["gaussian", "diagonal-gaussian"], [1, 2])
    assert len(found.candidates) == 4
    assert all(np.isfinite(candidate.criteria.bic) for candidate in found.candidates)
    with pytest.raises(ValueError, match="missing"):
        select(AIR, ["dirichlet"], [1, 2])
