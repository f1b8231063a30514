"""Classifier, regressor and outlier detector on what users bring: text, tables, missing entries, wrong settings."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from kmle import ExponentialFamilyMixture, MixtureClassifier, MixtureOutlierDetector, MixtureRegressor

IRIS = load_iris(as_frame=True)
FLOWERS = IRIS.data.rename(columns=lambda name: name.removesuffix(" (cm)").replace(" ", "_"))
SPECIES = IRIS.target.map(dict(enumerate(IRIS.target_names)))
SHORT = ["sepal_length", "sepal_width"]


@pytest.mark.parametrize(
    "y",
    [SPECIES, SPECIES.astype("category"), SPECIES.to_numpy(object), SPECIES.tolist()],
    ids=lambda y: type(y).__name__,
)
def test_classes_are_text(y):
    model = MixtureClassifier(1).fit(FLOWERS, y)
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.score(FLOWERS, y) > 0.95
    assert model.mixtures_[0].columns == tuple(FLOWERS.columns)
    assert model.notes_ == []


def test_covariance_models_by_their_common_name():
    assert MixtureClassifier(1, family="gaussians").fit(FLOWERS, SPECIES).mixtures_[0].family.name == "gaussian-vev"
    assert (
        MixtureRegressor(1, family="gaussians").fit(FLOWERS[SHORT], FLOWERS["petal_width"]).mixture_.n_components == 1
    )


def test_one_number_in_a_list_is_that_number():
    one, several = (MixtureClassifier(n, family="gaussian-eee").fit(FLOWERS, SPECIES) for n in (1, [1]))
    np.testing.assert_array_equal(one.predict_proba(FLOWERS), several.predict_proba(FLOWERS))


def test_a_class_of_one_row_is_noted():
    X, y = np.vstack([FLOWERS[:100], [[9.0] * 4]]), ["a"] * 50 + ["b"] * 50 + ["rare"]
    model = MixtureClassifier(1).fit(X, y)
    assert model.notes_[0].startswith("class rare has 1 rows for 14 parameters")
    assert model.predict(X[[0, 60, 100]]).tolist() == ["a", "b", "rare"]
    assert MixtureClassifier(1, family="gaussian-eee").fit(X, y).notes_ == []
    assert MixtureClassifier(random_state=0).fit(X, y).predict(X[-1:]).tolist() == ["rare"]
    with pytest.raises(ValueError, match="class rare: n_components is 2 but there are only n_samples = 1 rows"):
        MixtureClassifier(2).fit(X, y)


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (MixtureClassifier(1), SPECIES),
        (MixtureClassifier(1, family="gaussian-eee"), SPECIES),
        (MixtureClassifier(2, random_state=0), SPECIES),
        (MixtureRegressor(2, random_state=0), FLOWERS["petal_width"]),
        (MixtureOutlierDetector(2, contamination=0.1, random_state=0), None),
    ],
)
def test_a_constant_column_changes_little(model, target):
    plain = model.fit(FLOWERS[SHORT], target).predict(FLOWERS[SHORT])
    constant = FLOWERS[SHORT].assign(constant=3.0)
    found = model.fit(constant, target).predict(constant)
    if plain.dtype.kind == "f":
        assert np.abs(found - plain).max() < 0.02 * np.ptp(plain)
    else:
        assert np.mean(found == plain) > 0.97


def test_targets_keep_their_names():
    both = ["petal_length", "petal_width"]
    assert MixtureRegressor(1).fit(FLOWERS[SHORT], FLOWERS[both]).mixture_.columns == (*SHORT, *both)
    one = MixtureRegressor(1).fit(FLOWERS[SHORT], FLOWERS["petal_width"])
    assert one.mixture_.columns == (*SHORT, "petal_width")
    assert MixtureRegressor(1).fit(FLOWERS[SHORT], FLOWERS["petal_width"].to_numpy()).mixture_.columns[-1] == "y"
    assert MixtureRegressor(1).fit(FLOWERS[SHORT], FLOWERS[SHORT]).mixture_.columns[-2:] == ("y_0", "y_1")
    taken = FLOWERS[SHORT].rename(columns={"sepal_length": "y"})
    assert MixtureRegressor(1).fit(taken, FLOWERS["petal_width"].to_numpy()).mixture_.columns[-1] == "target"


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian"])
def test_missing_features_are_predicted_from_the_others(family):
    model = MixtureRegressor(2, family=family, random_state=0).fit(FLOWERS.iloc[:, :3], FLOWERS.iloc[:, 3])
    holed = FLOWERS.iloc[:6, :3].copy()
    holed.iloc[[1, 4], 1] = np.nan
    holed.iloc[2, [0, 2]] = np.nan
    mean, std = model.predict(holed, return_std=True)
    np.testing.assert_allclose(mean[[0, 3, 5]], model.predict(FLOWERS.iloc[[0, 3, 5], :3]))
    part = model.mixture_.marginal(["sepal_width", "petal_width"]).condition({"sepal_width": FLOWERS.iloc[2, 1]})
    assert mean[2] == pytest.approx(part.mean()[0])
    assert std[2] == pytest.approx(np.sqrt(part.covariance()[0, 0]))
    assert model.predict_quantile(holed, [0.5])[2, 0] == pytest.approx(part.quantile(0.5))
    holed.iloc[3] = np.nan
    assert model.predict(holed)[3] == pytest.approx(model.mixture_.mean()[3])


@pytest.mark.parametrize("family", ["gaussian", "gamma", "weibull"])
def test_one_component_per_class_is_learned_from_what_rows_have(family):
    holed = FLOWERS.mask(np.random.default_rng(0).random(FLOWERS.shape) < 0.2)
    holed.iloc[7] = np.nan
    model = MixtureClassifier(1, family=family).fit(holed, SPECIES)
    for name, mixture in zip(model.classes_, model.mixtures_, strict=True):
        own = ExponentialFamilyMixture(1, family=family, prior_strength=0).fit(holed[name == SPECIES])
        np.testing.assert_allclose(mixture.mean(), own.mixture_.mean(), rtol=1e-4)
        np.testing.assert_allclose(mixture.covariance(), own.mixture_.covariance(), rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(holed.iloc[[7]]), [[1 / 3] * 3])
    with pytest.raises(ValueError, match="class setosa: column 'petal_width' has no entry"):
        model.fit(FLOWERS.assign(petal_width=FLOWERS["petal_width"].where(SPECIES != "setosa")), SPECIES)


def test_heavy_tailed_classes():
    model = MixtureClassifier(1, family="student-t").fit(FLOWERS, SPECIES)
    assert model.score(FLOWERS, SPECIES) > 0.97
    assert [mixture.family.name for mixture in model.mixtures_] == ["student-t"] * 3


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian"])
def test_missing_entries_are_no_obstacle(family):
    holed = FLOWERS.mask(np.random.default_rng(0).random(FLOWERS.shape) < 0.05)
    for k in (1, 2):
        model = MixtureClassifier(k, family=family, random_state=0).fit(holed, SPECIES)
        assert model.score(holed, SPECIES) > 0.93
    assert set(MixtureOutlierDetector(2, family=family, random_state=0).fit_predict(holed)) <= {-1, 1}
    regressor = MixtureRegressor(2, family=family, random_state=0).fit(holed.iloc[:, :3], FLOWERS.iloc[:, 3])
    assert regressor.score(holed.iloc[:, :3], FLOWERS.iloc[:, 3]) > 0.75


@pytest.mark.parametrize(
    ("fit", "sentence"),
    [
        (lambda: MixtureClassifier(1.5).fit(FLOWERS, SPECIES), "n_components is 1.5"),
        (lambda: MixtureClassifier([]).fit(FLOWERS, SPECIES), "n_components is empty"),
        (lambda: MixtureClassifier(0).fit(FLOWERS, SPECIES), "n_components is 0"),
        (lambda: MixtureClassifier(family=[]).fit(FLOWERS, SPECIES), "families is empty"),
        (lambda: MixtureClassifier(family="uniform").fit(FLOWERS, SPECIES), "uniform has no parameters"),
        (lambda: MixtureClassifier(reject="often").fit(FLOWERS, SPECIES), "reject is 'often'"),
        (lambda: MixtureClassifier(priors=[None, 1, 2]).fit(FLOWERS, SPECIES), "priors must be 3 numbers"),
        (lambda: MixtureClassifier().fit(FLOWERS, SPECIES[:5]), "X has 150 rows but y has 5: give one class per row"),
        (
            lambda: MixtureClassifier(2, family="gamma").fit(
                FLOWERS.assign(sepal_width=np.where(SPECIES == "virginica", -1, 1)), SPECIES
            ),
            "^row 100, column 'sepal_width' holds -1",
        ),
        (lambda: MixtureRegressor().fit(FLOWERS, SPECIES), "y holds text .*use MixtureClassifier"),
        (lambda: MixtureRegressor().fit(FLOWERS, [1.0]), "give one target per row"),
        (lambda: MixtureRegressor().fit(FLOWERS, None), "requires y to be passed"),
        (lambda: MixtureOutlierDetector(contamination=None).fit(FLOWERS), "contamination is None"),
        (lambda: MixtureOutlierDetector(contamination=True).fit(FLOWERS), "contamination is True"),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(fit, sentence):
    with pytest.raises(ValueError, match=sentence):
        fit()


@pytest.mark.parametrize("ask", ["predict", "condition", "predict_quantile"])
def test_a_regressor_must_be_fitted(ask):
    with pytest.raises(NotFittedError):
        getattr(MixtureRegressor(1), ask)(*([FLOWERS, 0.5] if ask == "predict_quantile" else [FLOWERS]))
