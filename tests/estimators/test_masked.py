"""Masked arrays: what is masked is a missing entry, and where nothing is they are their data."""

import numpy as np
import pytest

from kmle import KMLE, Batches, ExponentialFamilyMixture, Mixture, select

DATA = np.random.default_rng(0).poisson([[3.0, 5.0]], size=(40, 2)).astype(float)
MASKED = np.ma.MaskedArray(DATA, mask=False)
MASKED[7, 1] = np.ma.masked
WITH_NAN = MASKED.filled(np.nan)
SETTINGS = {"family": "poisson", "n_init": 1, "random_state": 0}


def fitted(kind=KMLE, X=DATA, **arguments):
    return kind(2, **SETTINGS).fit(X, **arguments)


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_masked_entries_are_missing_in_fit_and_afterwards(kind):
    masked, plain = fitted(kind, MASKED), fitted(kind, WITH_NAN)
    np.testing.assert_array_equal(masked.labels_, plain.labels_)
    for method in ("predict", "predict_proba", "score_samples", "score", "bic"):
        np.testing.assert_array_equal(getattr(masked, method)(MASKED), getattr(plain, method)(WITH_NAN))


def test_whole_numbers_may_be_masked():
    whole = np.ma.MaskedArray(DATA.astype(int), mask=np.ma.getmaskarray(MASKED))
    np.testing.assert_array_equal(fitted(X=whole).labels_, fitted(X=WITH_NAN).labels_)


def test_masked_entries_are_missing_in_select_and_mixtures():
    one, other = (select(X, "poisson", 1).best_estimator.objective_ for X in (MASKED, WITH_NAN))
    assert one == other
    mixture = Mixture.from_source("poisson", [1.0], rate=[[3.0, 5.0]])
    np.testing.assert_array_equal(mixture.log_density(MASKED), mixture.log_density(WITH_NAN))


@pytest.mark.parametrize(
    "source",
    [
        lambda: Batches(MASKED, batch_rows=5),
        lambda: Batches([DATA[:5], MASKED[5:]]),
        lambda: lambda: iter([DATA[:5], MASKED[5:]]),
    ],
)
def test_masked_batches_have_missing_entries(source):
    assert fitted(X=source()).objective_ == pytest.approx(fitted(X=WITH_NAN).objective_, rel=1e-9)


def test_masked_matrices_are_refused():
    X = np.ma.MaskedArray(np.tile(np.eye(2), (9, 1, 1)), mask=False)
    X[4, 0, 1] = np.ma.masked
    with pytest.raises(ValueError, match=r"^row 4, column 1 is missing"):
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
