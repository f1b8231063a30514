"""Both estimators inside scikit-learn: its own checks, pipelines, searches, clones, pickles, data frames."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_clusterer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from kmle import KMLE, ExponentialFamilyMixture
from kmle import families as f

BOTH = pytest.mark.parametrize("Model", [KMLE, ExponentialFamilyMixture])
X = np.concatenate([np.random.default_rng(0).normal(0, 1, (80, 2)), np.random.default_rng(0).normal(12, 2, (120, 2))])


@parametrize_with_checks([KMLE(), ExponentialFamilyMixture()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_the_kinds_of_estimators_they_are():
    assert is_clusterer(KMLE())
    assert get_tags(ExponentialFamilyMixture()).estimator_type == "density_estimator"


@BOTH
def test_in_a_pipeline(Model):
    pipeline = make_pipeline(StandardScaler(), Model(2, random_state=0)).fit(X)
    labels = pipeline.predict(X)
    np.testing.assert_array_equal(labels, pipeline[-1].labels_)
    assert len(set(labels[:80])) == len(set(labels[80:])) == 1
    # Standardised columns are denser by their standard deviations.
    plain = Model(2, random_state=0).fit(X)
    assert pipeline.score(X) == pytest.approx(plain.score(X) + np.log(X.std(axis=0)).sum(), rel=1e-6)


@BOTH
def test_a_search_over_the_number_of_components(Model):
    rng = np.random.default_rng(0)
    rows = rng.permutation(X)
    search = GridSearchCV(Model(random_state=0, init="k-mle++"), {"n_components": [1, 2]}, cv=4).fit(rows)
    assert search.best_params_ == {"n_components": 2}
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    assert search.predict(rows).max() == 1


@BOTH
def test_a_search_over_families(Model):
    rng = np.random.default_rng(0)
    families = ["gaussian", "spherical-gaussian", f.DiagonalGaussian()]
    search = GridSearchCV(Model(2, random_state=0), {"family": families}, cv=3).fit(rng.permutation(X))
    assert search.best_params_["family"] in families


@BOTH
def test_a_clone_has_the_arguments_and_nothing_learned(Model):
    model = Model(2, family=f.Gaussian(), weights=[0.4, 0.6], random_state=3, prior_strength=0.5).fit(X)
    twin = clone(model)
    assert {name: str(value) for name, value in twin.get_params().items()} == {
        name: str(value) for name, value in model.get_params().items()
    }
    assert not hasattr(twin, "mixture_")
    assert twin.fit(X).mixture_ == model.mixture_


@BOTH
def test_a_pickle_remembers_everything(Model):
    model = Model(2, random_state=0).fit(X)
    back = pickle.loads(pickle.dumps(model))
    assert back.mixture_ == model.mixture_
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    np.testing.assert_array_equal(back.history_, model.history_)
    assert back.result_.stop_reason == model.result_.stop_reason


def test_a_pickle_goes_on_learning():
    model = KMLE(2, random_state=0).partial_fit(X[:50])
    back = pickle.loads(pickle.dumps(model))
    assert back.partial_fit(X[50:]).mixture_ == model.partial_fit(X[50:]).mixture_


# Data frames ----------------------------------------------------------------------------------------------------------

FRAME = pd.DataFrame(X, columns=["height", "weight"])


@BOTH
def test_a_data_frame_keeps_its_names(Model):
    model = Model(2, random_state=0).fit(FRAME)
    assert model.feature_names_in_.tolist() == ["height", "weight"]
    assert model.n_features_in_ == 2
    np.testing.assert_allclose(model.mixture_.natural, Model(2, random_state=0).fit(X).mixture_.natural, rtol=1e-10)
    np.testing.assert_array_equal(model.predict(FRAME), model.labels_)


@BOTH
def test_errors_call_a_column_by_its_name(Model):
    gap = FRAME.copy()
    gap.loc[3, "weight"] = np.inf
    with pytest.raises(ValueError, match="row 3, column 'weight' is infinite"):
        Model(2).fit(gap)
    with pytest.raises(ValueError, match=r"row 0, column 'height' holds .*; poisson accepts whole numbers"):
        Model(2, family="poisson").fit(FRAME)
    model = Model(2, random_state=0).fit(FRAME)
    with pytest.raises(ValueError, match="row 3, column 'weight' is infinite"):
        model.predict(gap)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(FRAME.rename(columns={"weight": "mass"}))


@BOTH
def test_a_table_with_words_names_the_column(Model):
    words = FRAME.assign(kind="a")
    with pytest.raises(ValueError, match="column 'kind' holds values that are not numbers"):
        Model(2).fit(words)


def test_dates_are_refused_by_name():
    days = pd.date_range("2024-01-01", periods=20)
    for frame in (pd.DataFrame({"day": days}), pd.DataFrame({"n": range(20), "day": days})):
        with pytest.raises(TypeError, match="column 'day' holds dates: convert it to numbers, for example days"):
            KMLE(2).fit(frame)
    with pytest.raises(TypeError, match="the data holds lengths of time"):
        KMLE(2).fit((days - days[0]).to_numpy()[:, None])


def test_integer_and_boolean_columns_are_numbers():
    flags = pd.DataFrame({"a": [True, False, True, True], "b": [1, 0, 0, 1]})
    assert KMLE(1, family="bernoulli").fit(flags).mixture_.source["probability"].tolist() == [[0.75, 0.5]]


def test_a_series_of_weights():
    weights = pd.Series(np.ones(len(FRAME)), index=np.arange(len(FRAME))[::-1])
    weighted = KMLE(2, random_state=0).fit(FRAME, sample_weight=weights)
    np.testing.assert_array_equal(weighted.labels_, KMLE(2, random_state=0).fit(FRAME).labels_)


def test_matrices_come_as_matrices_or_as_rows():
    matrices = np.stack([scale * np.array([[2.0, 0.3], [0.3, 1.0]]) for scale in np.linspace(1, 9, 30)])
    model = KMLE(2, family="wishart", random_state=0).fit(matrices)
    assert model.mixture_ == KMLE(2, family="wishart", random_state=0).fit(matrices.reshape(30, 4)).mixture_
    np.testing.assert_array_equal(model.predict(matrices), model.labels_)
