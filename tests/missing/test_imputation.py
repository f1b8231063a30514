"""Missing entries from the others: conditional means, draws, and the transformer."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from kmle import ExponentialFamilyMixture, Mixture, MixtureImputer
from kmle import families as f
from kmle.inspection import standard_errors

COVARIANCES = np.array(
    [[[1.0, 0.6, 0.0], [0.6, 2.0, 0.5], [0.0, 0.5, 1.0]], [[2.0, -1.0, 0.3], [-1.0, 1.0, 0.0], [0.3, 0.0, 3.0]]]
)
MEANS = np.array([[0.0, 100.0, 1.0], [2.0, 103.0, -1.0]])
GAUSSIAN = Mixture.from_source("gaussian", [0.4, 0.6], mean=MEANS, covariance=COVARIANCES)
DRAWING = MixtureImputer(2, family="diagonal-gaussian", sample=True, random_state=0)


@parametrize_with_checks([MixtureImputer(), MixtureImputer(1), DRAWING])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("known", [[0], [1, 2], [0, 2], []])
def test_gaussians_have_the_mean_of_the_conditional_mixture(known):
    rows = GAUSSIAN.sample(5, 0)
    holed = np.full_like(rows, np.nan)
    holed[:, known] = rows[:, known]
    completed = GAUSSIAN.impute(holed)
    np.testing.assert_array_equal(completed[:, known], rows[:, known])
    others = [c for c in range(3) if c not in known]
    for row, own in zip(rows, completed, strict=True):
        mean = GAUSSIAN.condition(dict(zip(known, row[known], strict=True))).mean() if known else GAUSSIAN.mean()
        np.testing.assert_allclose(own[others], mean, rtol=1e-10)


def test_draws_have_the_conditional_distribution():
    row = np.array([1.0, np.nan, np.nan])
    drawn = GAUSSIAN.impute(np.tile(row, (40_000, 1)), sample=True, random_state=0)
    conditional = GAUSSIAN.condition({0: 1.0})
    error = np.sqrt(np.diag(conditional.covariance()) / len(drawn))
    np.testing.assert_array_less(np.abs(drawn[:, 1:].mean(axis=0) - conditional.mean()), 4 * error)
    np.testing.assert_allclose(np.cov(drawn[:, 1:].T), conditional.covariance(), rtol=0.05, atol=0.05)
    np.testing.assert_array_equal(drawn, GAUSSIAN.impute(np.tile(row, (40_000, 1)), sample=True, random_state=0))


def test_columns_of_every_kind_are_completed():
    kinds = f.Categorical(n_categories=(3,))
    family = f.Product((f.Poisson(), f.Gamma(), kinds, f.VonMises(), f.Gaussian(n_features=2)))
    rng = np.random.default_rng(1)
    n = 200
    group = np.repeat([0, 1], n)
    X = np.column_stack(
        [
            rng.poisson(np.array([2, 12])[group]),
            rng.gamma(np.array([3, 30])[group]),
            np.where(rng.random(2 * n) < 0.9, 2 * group, 1),
            rng.vonmises(np.array([3.1, 0.0])[group], 20),
            rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 2 * n) + 5 * group[:, None],
        ]
    )
    mixture = ExponentialFamilyMixture(2, family=family, random_state=0).fit(X).mixture_
    holed = X.copy()
    holed[rng.random(X.shape) < 0.3] = np.nan
    posterior = mixture.posterior(holed)
    completed = mixture.impute(holed)
    assert np.isfinite(completed).all()
    lacking = np.isnan(holed[:, 0])
    np.testing.assert_allclose(completed[lacking, 0], posterior[lacking] @ mixture.source["poisson_rate"][:, 0])
    named = np.isnan(holed[:, 2])
    assert (completed[named, 2] == X[named, 2]).mean() > 0.85
    angles = np.isnan(holed[:, 3]) & (posterior.max(axis=1) > 0.99)
    assert np.cos(completed[angles, 3] - X[angles, 3]).mean() > 0.9
    drawn = mixture.impute(holed, sample=True, random_state=0)
    assert mixture.family.check(drawn) is not None  # legal values
    np.testing.assert_array_equal(drawn[~np.isnan(holed)], X[~np.isnan(holed)])


def test_simulated_truth_with_thirty_percent_missing():
    """Parameters within three standard errors; better than filling in column means, in error and in likelihood."""
    truth = GAUSSIAN
    X = truth.sample(6000, 2)
    holed = X.copy()
    holed[np.random.default_rng(3).random(X.shape) < 0.3] = np.nan
    model = ExponentialFamilyMixture(2, init=truth, n_init=1, prior_strength=0).fit(holed)
    found = model.mixture_.source["mean"]
    errors = standard_errors(model, holed).source["mean"]
    order = np.argsort(found[:, 0])
    assert (np.abs(found - MEANS[np.argsort(order)]) < 3 * errors).all()
    hole = np.isnan(holed)
    means = np.nanmean(holed, axis=0)
    filled = np.where(hole, means, holed)
    mine, theirs = (((values - X)[hole] ** 2).mean() for values in (model.mixture_.impute(holed), filled))
    assert mine < 0.9 * theirs
    other = ExponentialFamilyMixture(2, init=truth, n_init=1, prior_strength=0).fit(filled)
    assert model.score(holed) > other.score(holed) + 0.01


def test_the_imputer_in_a_pipeline_keeps_names_and_tags():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(GAUSSIAN.sample(200, 0), columns=["a", "b", "c"])
    frame.iloc[::3, 1] = np.nan
    imputer = MixtureImputer(2, random_state=0).set_output(transform="pandas").fit(frame)
    completed = imputer.transform(frame)
    assert list(completed.columns) == ["a", "b", "c"]
    assert not completed.isna().any().any()
    assert "67 of 600 entries (11 %) are missing" in imputer.notes_[0]
    assert make_pipeline(MixtureImputer(2, random_state=0), ExponentialFamilyMixture(2)).fit(frame).score(frame) < 0
    assert get_tags(MixtureImputer()).input_tags.allow_nan
    assert not get_tags(MixtureImputer(family="dirichlet")).input_tags.allow_nan


def test_an_infinite_mean_does_not_reach_rows_of_other_components():
    family = f.Product((f.InverseGamma(), f.Gaussian()))
    natural = family.natural_from_source(
        inverse_gamma_shape=[[0.6], [8.0]],
        inverse_gamma_scale=[[1.0], [70.0]],
        gaussian_mean=[[0.0], [500.0]],
        gaussian_covariance=[[[1.0]], [[1.0]]],
    )
    completed = Mixture(family, np.array([0.5, 0.5]), natural).impute([[np.nan, 0.0], [np.nan, 500.0]])
    np.testing.assert_allclose(completed[:, 0], [np.inf, 10.0])


def test_families_of_complete_rows_are_refused():
    mixture = Mixture.from_source("dirichlet", [1.0], concentration=[[1.0, 2.0]])
    with pytest.raises(ValueError, match="dirichlet needs complete rows"):
        mixture.impute([[0.5, np.nan]])


def test_frames_are_imputed_by_the_names_of_their_columns_and_categories():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    second = np.arange(40) % 2 == 1
    X = pd.DataFrame({"other": "?", "x": rng.normal(8 * second), "town": np.where(second, "Rome", "Bern")})
    X.loc[4, "x"], X.loc[7, "town"] = np.nan, None
    family = {"town": "categorical", "x": "gaussian"}
    mixture = ExponentialFamilyMixture(2, family=family, random_state=0).fit(X).mixture_
    filled = mixture.impute(X)
    assert list(filled.columns) == ["town", "x"]
    assert filled["town"][7] == "Rome"
    assert abs(filled["x"][4]) < 2
    with pytest.raises(ValueError, match="X has no column 'town'"):
        mixture.impute(X[["x"]])
