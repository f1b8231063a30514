"""Families by the names of columns of a frame."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

from kmle import KMLE, ExponentialFamilyMixture
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
