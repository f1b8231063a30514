"""What a fit is to be doubted for, in notes_."""

from dataclasses import replace

import numpy as np
import pytest

from kmle import KMLE, Batches, ExponentialFamilyMixture, select
from kmle.algorithms import Starts
from kmle.estimators.notes import few_agree, named_columns, narrow_components
from kmle.families import Gamma, NegativeBinomial, Poisson, Product
from kmle.families.resolution import Resolution

POISSON = (
    np.random.default_rng(0).poisson(np.where(np.random.default_rng(0).random((900, 1)) < 0.5, 3.0, 30.0)).astype(float)
)
OVERDISPERSED = np.random.default_rng(0).negative_binomial(1.5, 0.05, (900, 1)).astype(float)
KINDS = [KMLE, ExponentialFamilyMixture]


def with_outliers(n_outliers):
    """Two large groups, and a few rows far from both."""
    rng = np.random.default_rng(0)
    groups = np.concatenate([rng.normal(size=(200, 2)), 20 + rng.normal(size=(200, 2))])
    return np.concatenate([groups, rng.normal([-50.0, 300.0], size=(n_outliers, 2))])


def said(model, words):
    return [note for note in model.notes_ if words in note]


@pytest.mark.parametrize("kind", KINDS)
def test_components_with_few_rows_are_named(kind):
    for n_outliers, few in ((3, True), (8, False)):
        X = with_outliers(n_outliers)
        model = kind(3, random_state=0).fit(X)
        sizes = np.bincount(model.labels_)
        assert sorted(sizes) == [n_outliers, 200, 200]
        notes = said(model, "fewer than five rows")
        assert len(notes) == few
        if few:
            assert notes[0].startswith(f"Component {np.argmin(sizes)} has fewer than five rows: its parameters")
        # Weights that do not count rows change nothing.
        shares = kind(3, random_state=0).fit(X, sample_weight=np.full(len(X), 1 / len(X)))
        assert len(said(shares, "fewer than five rows")) == few


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other_columns", [0, 1])
def test_a_spike_at_a_value_that_many_rows_share_is_noticed(kind, other_columns):
    rng = np.random.default_rng(0)
    amounts = np.where(rng.random(400) < 0.7, 0.0, rng.gamma(5.0, 1.0, 400))
    X = np.column_stack([amounts, *rng.normal(size=(other_columns, 400))])
    notes = said(kind(2, random_state=0).fit(X), "spike")
    assert len(notes) == 1
    assert notes[0].startswith("Component 0 is a spike at 0 in column 0, a value that many rows share")
    # A narrow group without repeated values is none.
    X[:, 0] = np.where(amounts == 0, 1e-4 * rng.normal(size=400), amounts)
    assert said(kind(2, random_state=0).fit(X), "spike") == []


def test_prescribed_weights_do_not_count_rows():
    X = with_outliers(3)
    model = KMLE(3, weights="uniform", random_state=0).fit(X)
    assert len(said(model, "fewer than five rows")) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_counts_that_vary_more_than_poisson_are_noticed(kind):
    for k in (1, 2):
        notes = said(kind(k, family="poisson", random_state=0).fit(OVERDISPERSED), "negative binomial")
        assert len(notes) == 1
        assert "kmle.families.NegativeBinomial" in notes[0]
        assert said(kind(k, family=NegativeBinomial(1.5), random_state=0).fit(OVERDISPERSED), "binomial") == []
    assert said(kind(2, family="poisson", random_state=0).fit(POISSON), "negative binomial") == []
    assert said(kind(1, family="poisson", random_state=0).fit(POISSON), "negative binomial") != []


def test_of_columns_of_several_kinds_the_one_that_varies_is_named():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.poisson(5, 300), rng.gamma(2.0, size=300), rng.negative_binomial(1, 0.1, 300)])
    model = ExponentialFamilyMixture(1, family=Product((Poisson(), Gamma(), Poisson())), random_state=0).fit(X)
    notes = said(model, "negative binomial")
    assert len(notes) == 1
    assert "the counts in column 2 vary" in notes[0]


def test_the_variance_is_that_within_components():
    model = KMLE(1, family="poisson", random_state=0).fit(OVERDISPERSED)
    ratio = OVERDISPERSED.var() / OVERDISPERSED.mean()
    assert f"vary {ratio:.1f} times" in said(model, "negative binomial")[0]


def test_streams_are_looked_at_by_a_sample():
    model = KMLE(1, family="poisson", random_state=0).fit(Batches(np.array_split(OVERDISPERSED, 3)))
    assert said(model, "negative binomial")


def test_few_agreeing_starts_are_noted():
    assert list(few_agree(Starts({"random": 24}, agreeing=12))) == []
    assert list(few_agree(Starts({"random": 1}, agreeing=1))) == []
    assert "Only 1 of 24 starts" in next(few_agree(Starts({"random": 20, "k-means": 4}, agreeing=1)))


def test_narrow_components_are_noted_where_the_resolution_is_known():
    rng = np.random.default_rng(0)
    X = np.concatenate([np.full((50, 2), 3.0), rng.normal(size=(200, 2))])
    fit = ExponentialFamilyMixture(2, random_state=0).fit(X).result_
    scales = np.ones(2)
    assert list(narrow_components(replace(fit, resolution=None))) == []
    assert list(narrow_components(replace(fit, resolution=Resolution(np.zeros(2), scales)))) == []
    narrow = int(np.argmin([np.trace(c) for c in fit.mixture.source["covariance"]]))
    assert list(narrow_components(replace(fit, resolution=Resolution(np.array([0.0, 0.5]), scales)))) == [
        f"Component {narrow} is as narrow as the resolution of the data, which may only reflect rounding."
    ]


def test_a_selection_at_the_edge_says_so_in_its_estimator():
    rng = np.random.default_rng(0)
    X = np.concatenate([10 * j + rng.normal(size=(60, 1)) for j in range(4)])
    chosen = select(X, "gaussian", range(1, 3), random_state=0)
    assert any("largest that was tried" in note for note in chosen.notes)
    assert set(chosen.notes) <= set(chosen.best_estimator.notes_)
    assert not [note for note in select(X, "gaussian", range(1, 6), random_state=0).notes if "tried" in note]


@pytest.mark.parametrize("kind", KINDS)
def test_flat_columns_are_named(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    constant = kind(2, random_state=0).fit(np.column_stack([X, np.full(60, 3.3), np.zeros(60)]))
    (note,) = said(constant, "constant")
    assert note.startswith("Column 3, column 4 are constant: their part of the likelihood")
    assert named_columns([note], "abcde")[0].startswith("Column 'd', 'e' are constant")
    combined = np.column_stack([X, X[:, 0] - 2 * X[:, 1]])
    assert said(kind(2, random_state=0).fit(combined), "Column 3 is an exact linear combination of others")
    assert not said(kind(2, family="diagonal-gaussian", random_state=0).fit(combined), "combination")
    assert not said(kind(2, random_state=0).fit(X), "likelihood is that of the narrowest")
    assert said(kind(2, random_state=0).fit(np.ones((9, 3))), "All rows are equal")
    wide = np.column_stack([X, np.ones((60, 6))])
    assert said(kind(2, random_state=0).fit(wide), "6 columns (3, 4, 5, 6, ...) are constant")


def test_constant_columns_of_heavy_tails_are_noted():
    X = np.random.default_rng(0).standard_t(3, (60, 3))
    X[:, 1] = 4.0
    notes = ExponentialFamilyMixture(1, family="student-t").fit(X).notes_
    assert any(note.startswith("Column 1 is constant: its part of the likelihood") for note in notes)
