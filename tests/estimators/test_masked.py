"""Masked arrays: refused where something is masked, taken as their data where nothing is."""

import numpy as np
import pytest

from kmle import KMLE, Batches, ExponentialFamilyMixture, Mixture, select
from kmle.estimators.learn import learn
from kmle.estimators.plan import Plan

DATA = np.random.default_rng(0).poisson([[3.0, 5.0]], size=(40, 2)).astype(float)
MASKED = np.ma.MaskedArray(DATA, mask=False)
MASKED[7, 1] = np.ma.masked
SENTENCE = r"^row 7, column 1 is masked: drop the row or fill in a value first$"
SETTINGS = {"family": "poisson", "n_init": 1, "random_state": 0}


def fitted(kind=KMLE, X=DATA, **arguments):
    return kind(2, **SETTINGS).fit(X, **arguments)


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_masked_rows_are_refused_in_fit(kind):
    with pytest.raises(ValueError, match=SENTENCE):
        fitted(kind, MASKED)


def test_masked_rows_are_refused_by_learn():
    with pytest.raises(ValueError, match=SENTENCE):
        learn(MASKED, Plan(2, **SETTINGS))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "score_samples", "score", "bic", "certify"])
def test_masked_rows_are_refused_afterwards(method):
    with pytest.raises(ValueError, match=SENTENCE):
        getattr(fitted(), method)(MASKED)


def test_masked_rows_are_refused_by_partial_fit_select_and_mixtures():
    with pytest.raises(ValueError, match=SENTENCE):
        KMLE(2, **SETTINGS).partial_fit(DATA).partial_fit(MASKED)
    with pytest.raises(ValueError, match=SENTENCE):
        select(MASKED, n_components=range(1, 3))
    with pytest.raises(ValueError, match=SENTENCE):
        Mixture.from_source("poisson", [1.0], rate=[[3.0, 5.0]]).log_density(MASKED)


@pytest.mark.parametrize(
    "source",
    [
        lambda: Batches(MASKED, batch_rows=5),
        lambda: Batches([DATA[:5], MASKED[5:]]),
        lambda: lambda: iter([DATA[:5], MASKED[5:]]),
    ],
)
def test_masked_batches_are_refused(source):
    with pytest.raises(ValueError, match=SENTENCE):
        fitted(X=source())


def test_masked_matrices_are_refused():
    X = np.ma.MaskedArray(np.tile(np.eye(2), (9, 1, 1)), mask=False)
    X[4, 0, 1] = np.ma.masked
    with pytest.raises(ValueError, match=r"^row 4, column 1 is masked"):
        KMLE(2, family="wishart").fit(X)


def test_masked_weights_are_refused():
    weights = np.ma.MaskedArray(np.ones(40), mask=np.arange(40) == 3)
    sentence = r"^sample_weight\[{}\] is masked: give every row a weight, zero to ignore it$"
    with pytest.raises(ValueError, match=sentence.format(3)):
        fitted(sample_weight=weights)
    with pytest.raises(ValueError, match=sentence.format(3)):
        select(DATA, "poisson", 1, sample_weight=weights)
    with pytest.raises(ValueError, match=sentence.format(8)):
        fitted(X=Batches([(DATA[:5], np.ones(5)), (DATA[:40], weights)]))
    with pytest.raises(ValueError, match=sentence.format(3)):
        fitted(X=Batches(DATA, batch_rows=8, sample_weight=weights))


def test_nothing_masked_is_plain_data():
    whole = np.ma.MaskedArray(DATA, mask=False)
    weights = np.ma.MaskedArray(np.ones(40))
    plain = fitted()
    for model in (fitted(X=whole), fitted(X=whole, sample_weight=weights), fitted(X=np.ma.MaskedArray(DATA))):
        np.testing.assert_array_equal(model.labels_, plain.labels_)
        assert type(model.labels_) is np.ndarray
    np.testing.assert_array_equal(plain.score_samples(whole), plain.score_samples(DATA))
    assert type(plain.score_samples(whole)) is np.ndarray
    fitted(X=Batches(whole, batch_rows=7))
