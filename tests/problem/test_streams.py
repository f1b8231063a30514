"""Fits on batches: the same answer as in memory, whatever the chunks; and one sentence where batches are not right."""

import numpy as np
import pytest

from kmle import KMLE, Batches, ExponentialFamilyMixture, Mixture
from kmle.data import batches as batches_module
from kmle.data.batches import is_streamed
from kmle.estimators.chunks import check_chunks, prepare_chunks
from kmle.estimators.plan import Plan
from kmle.problem import stream as local
from problem.data import FAMILIES, KINDS, assert_same, model_of, rows_of


@pytest.fixture
def read_again(monkeypatch):
    """Nothing is kept from pass to pass."""
    monkeypatch.setattr(local, "KEPT_BYTES", 0)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
def test_chunks_give_the_answer_of_the_whole(kind, family):
    X = rows_of(family)
    whole = model_of(kind, family).fit(X)
    assert_same(whole, model_of(kind, family).fit(Batches(np.array_split(X, 7))))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_gives_the_answer_of_the_whole(kind, family, read_again):
    X = rows_of(family)
    passes = []

    def opened():
        passes.append(1)
        return iter(np.array_split(X, 5))

    whole = model_of(kind, family, engine="dense").fit(X)
    streamed = model_of(kind, family, engine="dense").fit(opened)
    assert_same(whole, streamed)
    assert len(passes) > streamed.n_iter_


@pytest.mark.parametrize("family", FAMILIES)
def test_a_memory_map_gives_the_answer_of_the_whole(family, tmp_path, monkeypatch, read_again):
    monkeypatch.setattr(batches_module, "BATCH_BYTES", 100_000)
    X = rows_of(family)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    assert is_streamed(mapped)
    assert_same(model_of("hard", family, engine="dense").fit(X), model_of("hard", family, engine="dense").fit(mapped))


@pytest.mark.parametrize(
    "init", ["k-mle||", "random", "restricted", "quantile", "k-means", "short-em", "agglomerative"]
)
def test_seeds_do_not_depend_on_the_chunks(init):
    X = rows_of("gaussian")
    settings = {"init": init, "max_iter": 3}
    assert_same(
        model_of("hard", "gaussian", **settings).fit(X),
        model_of("hard", "gaussian", **settings).fit(Batches(np.array_split(X, 4))),
    )


@pytest.mark.parametrize("algorithm", ["hard-em", "swap"])
def test_other_algorithms_on_chunks(algorithm):
    X = rows_of("gaussian", 3000)
    settings = {"algorithm": algorithm}
    assert_same(
        model_of("hard", "gaussian", **settings).fit(X),
        model_of("hard", "gaussian", **settings).fit(Batches([X[:10], X[10:]])),
    )


def test_sparse_em_and_reseeding_on_chunks():
    X = rows_of("gaussian", 3000)
    sparse = ExponentialFamilyMixture(6, algorithm="sparse-em", random_state=0)
    assert_same(
        sparse.fit(X),
        ExponentialFamilyMixture(6, algorithm="sparse-em", random_state=0).fit(Batches([X[:999], X[999:]])),
    )
    settings = {
        "init": Mixture.from_source("gaussian", [0.5, 0.5], mean=[[0, 0, 0], [500, 0, 0]], covariance=[np.eye(3)] * 2),
        "empty_components": "reseed",
    }
    assert_same(KMLE(2, **settings).fit(X), KMLE(2, **settings).fit(Batches(np.array_split(X, 3))))


def test_weights_come_with_the_batches(read_again):
    X = rows_of("gaussian", 6000)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    pairs = [(X[rows], weights[rows]) for rows in (slice(0, 100), slice(100, 101), slice(101, None))]
    assert_same(
        model_of("hard", "gaussian").fit(X, sample_weight=weights), model_of("hard", "gaussian").fit(Batches(pairs))
    )


def test_facts_are_those_of_all_batches():
    first, second = np.array([[0, 1], [1, 0]] * 20), np.array([[3, 1], [2, 5]] * 20)
    model = KMLE(2, family="categorical", random_state=0).fit(Batches([first, second]))
    assert model.family_.n_categories == (4, 6)
    assert_same(KMLE(2, family="categorical", random_state=0).fit(np.concatenate([first, second])), model)
    assert KMLE(1, family="multinomial").fit(Batches([[[1, 2]], [[3, 4]]])).family_.trials is None
    assert KMLE(1, family="multinomial").fit(Batches([[[1, 2]], [[3, 0]]])).family_.trials == 3


def test_a_constant_column_stays_constant():
    X = np.column_stack([np.full(3000, 0.1), np.random.default_rng(0).standard_normal(3000)])
    assert_same(model_of("hard", "gaussian").fit(X), model_of("hard", "gaussian").fit(Batches(np.array_split(X, 7))))


def test_one_pass_of_online_learning():
    X = rows_of("gaussian")
    model = KMLE(3, algorithm="online", init="k-means", random_state=0).fit(iter(np.array_split(X, 50)))
    again = KMLE(3, init="k-means", random_state=0).partial_fit(iter(np.array_split(X, 50)))
    np.testing.assert_array_equal(model.mixture_.natural, again.mixture_.natural)
    best = KMLE(3, random_state=0).fit(X)
    assert model.score(X) > best.score(X) - 0.2
    assert any("before its update" in note for note in model.notes_)


def test_several_starts_of_a_stream_read_once():
    X = rows_of("gaussian", 3000)
    settings = {"algorithm": "online", "init": "random", "random_state": 3}
    one, several = (KMLE(3, n_init=n, **settings).fit(iter(np.array_split(X, 3))) for n in (1, 8))
    assert several.score(X) > one.score(X) + 0.01


def test_a_stream_read_once_leaves_no_checkpoint(tmp_path):
    with pytest.raises(ValueError, match="cannot have a checkpoint: save the model"):
        KMLE(2, algorithm="online").fit(iter([np.eye(2)] * 9), checkpoint=tmp_path / "c")


def test_one_chunk_of_a_stream_can_be_asked(read_again):
    X = rows_of("gaussian", 900)
    plan = Plan(2, prior_strength=0.0, n_jobs=1)
    found = check_chunks(lambda: iter(np.array_split(X, 3)), None, plan)
    problem = prepare_chunks(found, plan, np.random.default_rng(0)).problem
    assert problem.n_parts == 3
    assert problem.over_part(1, lambda rows, first: (first, len(rows))) == (300, 300)


def test_predictions_of_a_stream_come_batch_by_batch():
    X = rows_of("gaussian", 3000)
    model = model_of("hard", "gaussian").fit(X)
    parts = np.array_split(X, 4)
    np.testing.assert_array_equal(np.concatenate(list(model.predict(iter(parts)))), model.predict(X))
    assert [part.shape for part in model.predict_proba(Batches(parts))] == [(750, 3)] * 4
    assert model.score(lambda: iter(parts)) == pytest.approx(model.score(X), rel=1e-12)


def test_labels_of_very_many_rows_are_left_to_predict(monkeypatch):
    monkeypatch.setattr(local, "MOST_LABELS", 100)
    model = model_of("hard", "gaussian").fit(Batches([rows_of("gaussian", 3000)]))
    assert len(model.labels_) == 0
    assert any("predict computes them" in note for note in model.notes_)


def test_empty_batches_are_passed_over():
    X = rows_of("gaussian", 3000)
    assert_same(model_of("hard", "gaussian").fit(X), model_of("hard", "gaussian").fit(Batches([X[:0], X, X[:0]])))


X = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("source", "settings", "sentence"),
    [
        (iter([X]), {}, "can be read only once"),
        (Batches([X, X[:, :1]]), {}, "begins at row 6 has 1 columns, earlier ones have 2"),
        (Batches([X, (X, np.ones(6))]), {}, "weights with all batches or none"),
        (Batches([]), {}, "no rows"),
        (Batches([X, [[1.0, np.inf]]]), {}, "row 6, column 1 is infinite"),
        (Batches([X, -X - 1]), {"family": "poisson"}, "row 6, column 0 holds -1"),
        (Batches([(X, np.zeros(6))]), {}, "all sample weights are zero"),
        (Batches([(X, np.ones(6)), (X, -np.ones(6))]), {}, r"sample_weight\[6\] is -1"),
        (Batches([X]), {"algorithm": "hartigan"}, "needs all rows in memory"),
        (Batches([X]), {"algorithm": "exact"}, "needs all rows in memory"),
        (Batches([X]), {"init": np.zeros(6, int)}, "labels as init need the rows in memory"),
        (Batches([X]), {"n_components": 7}, "only n_samples = 6 rows"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(source, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        KMLE(**{"n_components": 2, **settings}).fit(source)


def test_a_stream_that_changes_is_refused(read_again):
    lengths = iter([6, 6, 5, 6, 6, 6])
    with pytest.raises(ValueError, match="batch 0 is different"):
        KMLE(2, random_state=0).fit(lambda: iter([X[: next(lengths)]]))


ROWS = np.random.default_rng(5).normal(size=(30_000, 2))


def moved(rows, place):
    """The rows with one number changed, which no sample is sure to see."""
    other = rows.copy()
    other[place, 0] += 1.0
    return other


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize(
    "later",
    [
        [ROWS, -ROWS],
        [ROWS, ROWS + 1e-9],
        [ROWS[::-1], ROWS],
        [ROWS, moved(ROWS, 12_345)],
        [ROWS],
        [ROWS, ROWS, ROWS],
        [(ROWS, np.ones(len(ROWS))), (ROWS, np.ones(len(ROWS)))],
    ],
    ids=["other values", "slightly other values", "another order", "one value", "fewer", "more", "weights"],
)
def test_a_stream_that_changes_between_passes_is_refused(kind, later, read_again):
    passes = []

    def stream():
        passes.append(len(passes))
        return iter([ROWS, ROWS] if len(passes) <= 2 else later)

    with pytest.raises(ValueError, match=r"it must give the same batches in every pass$"):
        kind(2, random_state=0, n_init=1, max_iter=20, tol=0.0).fit(stream)


def test_weights_that_change_between_passes_are_noticed(read_again):
    weights = iter([np.ones(6), np.ones(6), *[np.full(6, 2.0)] * 9])
    with pytest.raises(ValueError, match="it must give the same batches in every pass"):
        KMLE(2, random_state=0).fit(lambda: iter([(X, next(weights))]))


def test_the_same_numbers_in_another_precision_are_no_change(read_again):
    passes = []

    def stream():
        passes.append(len(passes))
        return iter([ROWS.astype(np.float32) if len(passes) % 2 else ROWS.astype(np.float32).astype(float)])

    KMLE(2, random_state=0, n_init=1, max_iter=3).fit(stream)
    assert len(passes) > 3


def test_weights_beside_batches_are_refused():
    with pytest.raises(ValueError, match="cannot be combined with batches"):
        KMLE(2).fit(Batches([X]), sample_weight=np.ones(6))
