"""family="auto": what the columns suggest."""

import numpy as np
import pytest
from sklearn.base import clone

from kmle import KMLE, ExponentialFamilyMixture, Intervals
from kmle.families import Gaussian, Poisson, Product

KINDS = [KMLE, ExponentialFamilyMixture]


@pytest.mark.parametrize("kind", KINDS)
def test_the_family_is_guessed_and_named(kind):
    rng = np.random.default_rng(0)
    counts = rng.poisson(3.0, (80, 1)).astype(float)
    model = kind(2, family="auto", random_state=0).fit(counts)
    assert isinstance(model.family_, Poisson)
    assert model.notes_[0] == "The family is poisson, as 'x0' holds counts: family= sets another."
    same = kind(2, family="poisson", random_state=0).fit(counts)
    np.testing.assert_array_equal(model.mixture_.natural, same.mixture_.natural)
    # The setting stays, so other data has another guess.
    assert isinstance(clone(model).fit(rng.normal(size=(80, 2))).family_, Gaussian)


def test_missing_entries_and_names():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"visits": rng.poisson(3.0, 60).astype(float), "weight": rng.normal(size=60)})
    frame.loc[3, "visits"] = np.nan
    model = ExponentialFamilyMixture(2, family="auto", random_state=0).fit(frame)
    assert isinstance(model.family_, Product)
    assert "'visits' holds counts; 'weight' holds real numbers" in model.notes_[0]
    assert len(model.predict(frame)) == 60


@pytest.mark.parametrize("X", [Intervals([1.0, 2.0, 5.0], [1.0, 2.5, np.inf]), iter([np.ones((4, 1))])])
def test_rows_that_are_no_plain_table_need_a_name(X):
    with pytest.raises(ValueError, match="family='auto' needs a table in memory"):
        ExponentialFamilyMixture(1, family="auto").fit(X)


def test_an_infinite_entry_is_named():
    with pytest.raises(ValueError, match="row 1, column 0 is infinite"):
        KMLE(1, family="auto").fit([[1.0], [np.inf], [2.0]])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_a_categorical_type_are_categories(library):
    frames = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    towns = rng.choice(["Bergen", "Oslo", "Vik"], 80).tolist()
    if library == "pandas":
        frame = frames.DataFrame({"visits": rng.poisson(3.0, 80), "town": frames.Categorical(towns)})
    else:
        frame = frames.DataFrame(
            {"visits": rng.poisson(3.0, 80), "town": frames.Series(towns, dtype=frames.Categorical)}
        )
    model = ExponentialFamilyMixture(2, family="auto", random_state=0).fit(frame)
    assert isinstance(model.family_, Product)
    assert model.notes_[0].startswith(
        "The family is poisson + categorical, as 'visits' holds counts; 'town' holds categ"
    )
    np.testing.assert_array_equal(model.predict(frame[["town", "visits"]]), model.predict(frame))
    assert set(model.mixture_.impute(frame)["town"]) == {"Bergen", "Oslo", "Vik"}
