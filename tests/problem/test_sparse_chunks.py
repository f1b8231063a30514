"""Sparse rows in batches and Dask blocks: the answer of the whole matrix, and one sentence where they are not right."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from kmle import KMLE, Batches
from kmle.problem import stream as local
from problem.data import KINDS, assert_same, assert_same_optimum

WORDS = 60


def counts(n=4000):
    """Word counts of documents about three topics."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(WORDS, 0.1), size=3)
    rows = np.array([rng.multinomial(20, topics[topic]) for topic in rng.integers(3, size=n)])
    return sp.csr_array(rows.astype(float))


def unit_rows(n=4000):
    X = counts(n)
    return sp.csr_array(sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)


DATA = {"multinomial": counts, "poisson": counts, "von-mises-fisher": unit_rows}


def parts(X, n=5):
    cuts = np.linspace(0, X.shape[0], n + 1).astype(int)
    return [X[first:last] for first, last in pairwise(cuts)]


def model(kind, family, **settings):
    return KINDS[kind](3, family=family, random_state=0, **settings)


@pytest.mark.parametrize("family", DATA)
@pytest.mark.parametrize("kind", KINDS)
def test_batches_give_the_answer_of_the_whole(kind, family):
    X = DATA[family]()
    whole = model(kind, family).fit(X)
    streamed = model(kind, family).fit(Batches(parts(X)))
    assert_same_optimum(whole, streamed)
    assert streamed.result_.engine == "sparse on 5 chunks of a stream"


def test_a_stream_that_is_read_again(monkeypatch):
    monkeypatch.setattr(local, "KEPT_BYTES", 0)
    X = counts()
    assert_same(model("hard", "multinomial").fit(X), model("hard", "multinomial").fit(lambda: iter(parts(X))))


def test_one_matrix_in_slices():
    X = counts()
    assert [batch.shape for batch in Batches(X, batch_rows=1500)] == [(1500, WORDS), (1500, WORDS), (1000, WORDS)]
    assert_same(
        model("hard", "multinomial").fit(X), model("hard", "multinomial").fit(Batches(sp.coo_array(X), batch_rows=999))
    )


def test_weights_and_rows_without_weight():
    X = counts()
    weights = np.random.default_rng(1).integers(0, 3, size=X.shape[0]).astype(float)
    pairs = [(X[rows], weights[rows]) for rows in (slice(0, 700), slice(700, None))]
    assert_same(
        model("hard", "multinomial").fit(X, sample_weight=weights), model("hard", "multinomial").fit(Batches(pairs))
    )


def test_predictions_and_scores():
    X = counts()
    fitted = model("soft", "multinomial").fit(Batches(parts(X)))
    np.testing.assert_array_equal(np.concatenate(list(fitted.predict(Batches(parts(X))))), fitted.predict(X))
    assert fitted.score(Batches(parts(X))) == pytest.approx(fitted.score(X), rel=1e-12)


def test_one_pass_of_online_learning():
    X = counts()
    online = KMLE(3, family="multinomial", algorithm="online", random_state=0).fit(iter(parts(X, 40)))
    assert online.score(X) > model("hard", "multinomial").fit(X).score(X) - 0.5


def test_what_is_wrong_is_said_in_one_sentence():
    X = counts(300)
    bad = X.copy()
    bad.data[bad.indptr[123]] = -1.0
    with pytest.raises(ValueError, match=rf"row 123, column {bad.indices[bad.indptr[123]]} holds -1"):
        model("hard", "multinomial").fit(Batches(parts(bad, 3)))
    with pytest.raises(ValueError, match="gaussian does not take sparse rows"):
        KMLE(2).fit(Batches(parts(X)))
    with pytest.raises(ValueError, match="begins at row 100 is dense, earlier ones are sparse"):
        model("hard", "multinomial").fit(Batches([X[:100], X[100:].toarray()]))


@pytest.mark.parametrize("kind", KINDS)
def test_dask_blocks(kind):
    da = pytest.importorskip("dask.array")
    X = counts()
    blocks = da.from_array(X.toarray(), chunks=(900, -1)).map_blocks(sp.csr_matrix)
    whole, fitted = model(kind, "multinomial").fit(X), model(kind, "multinomial").fit(blocks)
    assert_same_optimum(whole, fitted)
    assert fitted.result_.engine == "sparse on 5 chunks of Dask"
    np.testing.assert_array_equal(fitted.predict(blocks).compute(), whole.predict(X))
    np.testing.assert_allclose(fitted.predict_proba(blocks).compute(), whole.predict_proba(X), atol=1e-9)
