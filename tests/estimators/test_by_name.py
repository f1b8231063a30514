"""Families by the names of columns of a frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from kmle import (
    KMLE,
    ExponentialFamilyMixture,
    MixtureClassifier,
    MixtureImputer,
    MixtureOutlierDetector,
    inspection,
    select,
)
from kmle import families as f

FAMILY = {"visits": "poisson", ("x", "y"): "gaussian", "town": "categorical", "minutes": "gamma"}


def frame(n=120, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, n)
    return pd.DataFrame(
        {
            "id": np.arange(n),
            "town": np.where(rng.random(n) < 0.8, np.array(["Ulm", "Bonn"])[group], "Kiel"),
            "y": rng.normal(5 * group),
            "minutes": rng.gamma(2 + 20 * group),
            "visits": rng.poisson(2 + 8 * group),
            "x": rng.normal(4 * group),
        }
    )


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
def test_the_fit_is_that_of_the_product(estimator):
    data = frame()
    codes = data["town"].map({"Bonn": 0, "Kiel": 1, "Ulm": 2})
    table = np.column_stack([data["visits"], data["x"], data["y"], codes, data["minutes"]]).astype(float)
    product = f.Product((f.Poisson(), f.Gaussian(n_features=2), f.Categorical((3,)), f.Gamma()))
    plain = estimator(2, family=product, random_state=0).fit(table)
    named = estimator(2, family=FAMILY, random_state=0).fit(data)
    np.testing.assert_allclose(named.objective_, plain.objective_, rtol=1e-12)
    shuffled = data[["minutes", "x", "town", "id", "visits", "y"]]
    np.testing.assert_array_equal(named.predict(shuffled), plain.predict(table))
    np.testing.assert_allclose(named.score_samples(shuffled), plain.score_samples(table))
    assert list(named.feature_names_in_) == ["visits", "x", "y", "town", "minutes"]
    again = clone(named).fit(data)
    np.testing.assert_allclose(again.objective_, named.objective_)


def test_columns_of_other_types():
    data = frame()
    expected = ExponentialFamilyMixture(2, family=FAMILY, random_state=0).fit(data).objective_
    typed = data.assign(town=data["town"].astype("category"), visits=data["visits"].astype("Int64"))
    for given in (typed, pl.from_pandas(data), data.convert_dtypes()):
        model = ExponentialFamilyMixture(2, family=FAMILY, random_state=0).fit(given)
        assert model.objective_ == pytest.approx(expected, rel=1e-12)
    holed = data.astype({"visits": "Int64"})
    holed.loc[::5, "visits"] = pd.NA
    holed.loc[::7, "town"] = None
    model = ExponentialFamilyMixture(2, family=FAMILY, random_state=0).fit(holed)
    assert "are missing" in model.notes_[0]
    assert np.isfinite(model.score_samples(holed)).all()
    yes = pd.DataFrame({"member": [True, False, True, True]})
    probabilities = (
        KMLE(1, family={"member": "categorical"}, prior_strength=0).fit(yes).mixture_.source["probabilities"]
    )
    np.testing.assert_allclose(probabilities, [[0.25, 0.75]])
    assert get_tags(KMLE(family=FAMILY)).input_tags.allow_nan


@pytest.mark.parametrize(
    ("family", "change", "sentence"),
    [
        ({}, {}, "family names no column"),
        ({"visit": "poisson"}, {}, "X has no column 'visit'"),
        ({"x": "gaussian", ("y", "x"): "gaussian"}, {}, "names the column 'x' twice"),
        ({"town": "poisson"}, {}, "row 0, column 'town' holds .* which is not a number: use 'categorical'"),
    ],
)
def test_what_cannot_be_used_is_refused(family, change, sentence):
    with pytest.raises(ValueError, match=sentence):
        KMLE(2, family=family).fit(frame())


def test_new_categories_and_arrays_are_refused():
    model = KMLE(2, family=FAMILY, random_state=0).fit(frame())
    with pytest.raises(ValueError, match="row 0, column 'town' holds 'Rom': its categories are 'Bonn', 'Kiel', 'Ulm'"):
        model.predict(frame().assign(town="Rom"))
    with pytest.raises(ValueError, match="give a pandas or polars DataFrame"):
        model.predict(np.zeros((3, 5)))
    with pytest.raises(ValueError, match="use fit with a pandas or polars DataFrame"):
        KMLE(2, family=FAMILY, algorithm="online").partial_fit(frame())


# Elsewhere ------------------------------------------------------------------------------------------------------------

OTHER = {"town": "categorical", "minutes": "log-normal", "x": "gaussian", "y": "laplace", "visits": "geometric"}
HOLED = frame(seed=1).astype({"visits": "Int64"})
HOLED.loc[::5, "visits"] = pd.NA
HOLED.loc[::7, "town"] = None
HOLED.loc[::6, "x"] = np.nan


def test_select_compares_mappings():
    other = {names: family for names, family in OTHER.items() if names != "y"} | {"y": "gaussian"}
    chosen = select(HOLED, [FAMILY, other], range(1, 4), random_state=0)
    assert chosen.best.n_components == 2
    names = {candidate.name for candidate in chosen.candidates}
    assert "poisson + gaussian + categorical + gamma" in names
    best = chosen.best_estimator
    assert best.family in (FAMILY, other)
    shuffled = HOLED[["minutes", "x", "town", "id", "visits", "y"]]
    np.testing.assert_array_equal(best.predict(shuffled), best.labels_)
    again = clone(best).fit(HOLED)
    assert again.objective_ == pytest.approx(best.objective_, rel=1e-9)
    alone = select(pl.from_pandas(HOLED), FAMILY, 2, random_state=0)
    assert alone.best_estimator.family == FAMILY


def test_plain_families_take_the_columns_of_mappings():
    chosen = select(frame(), [{"x": "gaussian", "y": "gaussian"}, "gaussian", "gaussian-eee"], 2, random_state=0)
    assert [candidate.family.n_features for candidate in chosen.candidates] == [2, 2, 2]
    np.testing.assert_array_equal(chosen.best_estimator.predict(frame()), chosen.best_estimator.labels_)
    clone(chosen.best_estimator).fit(frame()).predict(frame())


def test_blocks_of_several_mappings_are_put_into_one_order():
    mappings = [{"x": "gaussian", "minutes": "gamma", "y": "gaussian"}, {"minutes": "gamma", ("y", "x"): "gaussian"}]
    for families in (mappings, mappings[::-1]):
        chosen = select(frame(), families, 2, random_state=0)
        assert len(chosen.ranking) == 2


@pytest.mark.parametrize(
    ("families", "sentence"),
    [
        ([FAMILY, {"x": "gaussian"}], "the families name different columns \\('minutes' is not in all\\)"),
        (
            [{"visits": "categorical"}, {"visits": "poisson"}],
            "column 'visits' is categorical in some of the families: make it so in all of them or in none",
        ),
        (
            [
                {("x", "y"): "gaussian", ("minutes", "visits"): "gaussian"},
                {("x", "minutes"): "gaussian", ("y", "visits"): "gaussian"},
            ],
            "no order of the columns keeps the blocks",
        ),
    ],
)
def test_mappings_that_do_not_compare_are_refused(families, sentence):
    with pytest.raises(ValueError, match=sentence):
        select(frame(), families, 1)


@pytest.mark.parametrize("family", [FAMILY, [FAMILY, FAMILY | {"minutes": "log-normal"}]])
@pytest.mark.parametrize("k", [1, 2, "auto"])
def test_a_classifier_takes_mappings(family, k):
    classes = np.where(frame(seed=1)["minutes"] > 11, "long", "short")
    model = MixtureClassifier(k, family=family, random_state=0).fit(HOLED, classes)
    assert model.score(HOLED[["minutes", "x", "town", "id", "visits", "y"]], classes) > 0.9
    assert get_tags(model).input_tags.allow_nan
    with pytest.raises(ValueError, match="holds 'Rom': its categories are"):
        model.predict(HOLED.assign(town="Rom"))


@pytest.mark.parametrize("library", [lambda data: data, pl.from_pandas])
def test_an_imputer_gives_a_frame_of_the_named_columns(library):
    data = library(HOLED)
    filled = MixtureImputer(2, family=FAMILY, random_state=0).fit_transform(data)
    assert type(filled) is type(data)
    assert list(filled.columns) == ["visits", "x", "y", "town", "minutes"]
    seen = [value for value in data["town"].to_list() if isinstance(value, str)]
    towns = filled["town"].to_list()
    assert set(towns) == {"Ulm", "Bonn", "Kiel"}
    assert [town for town, before in zip(towns, data["town"].to_list(), strict=True) if isinstance(before, str)] == seen
    np.testing.assert_allclose(filled["minutes"].to_numpy(), data["minutes"].to_numpy())
    assert np.isfinite(filled["x"].to_numpy()).all()
    detector = MixtureOutlierDetector(2, family=FAMILY, random_state=0).fit(data)
    assert set(detector.predict(data)) <= {-1, 1}


def test_inspection_and_plots_take_the_frame():
    pytest.importorskip("matplotlib").use("Agg")
    from kmle.plotting import plot_fit, plot_posterior

    data = frame()
    data.loc[::7, "town"] = None
    model = ExponentialFamilyMixture(2, family=FAMILY, random_state=0).fit(data)
    table = model._named.frame(data).to_numpy()
    shuffled = data[["minutes", "x", "town", "id", "visits", "y"]]
    expected = inspection.standard_errors(model.mixture_, table).weights
    np.testing.assert_allclose(inspection.standard_errors(model, shuffled).weights, expected)
    np.testing.assert_allclose(
        inspection.posterior_entropy(model, shuffled), inspection.posterior_entropy(model, table)
    )
    assert str(inspection.diagnose(model, shuffled)) == str(inspection.diagnose(model.mixture_, table))
    assert plot_fit(model, shuffled, columns=["x"]).get_xlabel() == "x"
    plot_posterior(model, shuffled)
