"""Dask: the same answer on every scheduler, blocks that stay where they are, and clusters that lose workers."""

import os
import signal

import numpy as np
import pytest

from kmle import KMLE
from kmle.algorithms import checkpoint
from kmle.algorithms.loop import watched
from kmle.data.batches import is_dask
from problem.data import FAMILIES, KINDS, assert_same, model_of, rows_of

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")
pd = pytest.importorskip("pandas")
cluster_module = pytest.importorskip("kmle.problem.dask")

# A cluster that is torn down in the middle of its work complains in many ways that are none of ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning:distributed"),
]


def small_cluster():
    """Two worker processes of one thread each, on loopback."""
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
    )


@pytest.fixture(scope="module")
def cluster():
    with small_cluster() as running:
        yield running


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as connected:
        yield connected


def blocks(X, n=7):
    return da.from_array(X, chunks=(-(-len(X) // n), -1))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_gives_the_answer_of_the_whole(kind, family, client):
    X = rows_of(family)
    assert_same(model_of(kind, family).fit(X), model_of(kind, family).fit(blocks(X)))


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_other_schedulers_give_it_too(scheduler):
    import dask

    X = rows_of("gaussian", 6000)
    with dask.config.set(scheduler=scheduler):
        model = model_of("hard", "gaussian").fit(blocks(X))
        assert_same(model_of("hard", "gaussian").fit(X), model)


def test_predictions_are_dask_arrays(client):
    X = rows_of("gaussian", 3000)
    model = model_of("soft", "gaussian").fit(blocks(X))
    for method, expected in (("predict", (3000,)), ("predict_proba", (3000, 3)), ("score_samples", (3000,))):
        answer = getattr(model, method)(blocks(X))
        assert is_dask(answer)
        assert answer.shape == expected
        np.testing.assert_array_equal(answer.compute(), getattr(model, method)(X))
    assert is_dask(model.labels_)
    assert is_dask(model.score(blocks(X)))
    assert float(model.score(blocks(X))) == pytest.approx(model.score(X), rel=1e-12)


def test_a_frame_with_names_and_empty_partitions(client):
    X = rows_of("gaussian", 3000)
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    kept = frame[frame["a"] > -100.0]
    with_empty = dd.concat([kept[kept["a"] > 100.0], kept])
    model = model_of("hard", "gaussian").fit(with_empty)
    assert_same(model_of("hard", "gaussian").fit(X), model)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame).compute(), model.labels_.compute())


def test_weights_as_an_array_of_either_kind(client):
    X = rows_of("gaussian", 3000)
    weights = np.random.default_rng(1).integers(0, 3, size=3000).astype(float)
    whole = model_of("hard", "gaussian").fit(X, sample_weight=weights)
    assert_same(whole, model_of("hard", "gaussian").fit(blocks(X), sample_weight=weights))
    assert_same(whole, model_of("hard", "gaussian").fit(blocks(X), sample_weight=da.from_array(weights, chunks=500)))


def test_the_rows_stay_on_the_workers(client):
    """What comes back in a pass is small beside a block."""
    X = rows_of("gaussian")
    asked = []
    original = cluster_module._computed

    def counted(values, client):
        answer = original(values, client)
        asked.append(len(distributed.protocol.pickle.dumps(answer)))
        return answer

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cluster_module, "_computed", counted)
        model_of("hard", "gaussian").fit(blocks(X))
    # The look, then the sample for the seeds; after that statistics and digests only, of seven blocks.
    assert max(asked[2:]) < 7 * 1000


def test_bad_data_is_named_by_its_row(client):
    X = rows_of("gaussian", 3000)
    X[1234, 1] = np.inf
    X[2900, 0] = np.inf
    with pytest.raises(ValueError, match="row 1234, column 1 is infinite"):
        model_of("hard", "gaussian").fit(blocks(X))
    with pytest.raises(ValueError, match="needs all rows in memory"):
        KMLE(2, algorithm="hartigan").fit(blocks(X))


# Online ---------------------------------------------------------------------------------------------------------------


def test_online_learns_from_every_row_once(client):
    X = rows_of("gaussian")
    model = model_of("hard", "gaussian", algorithm="online").fit(blocks(X))
    assert model.result_.stop_reason == "every batch seen"
    assert model.n_iter_ == 8  # seven blocks, and the objective of all rows
    best = model_of("hard", "gaussian").fit(X)
    assert model.score(X) > best.score(X) - 0.05
    assert is_dask(model.labels_)
    np.testing.assert_array_equal(model.labels_.compute(), model.predict(X))
    whole = model.complete_log_likelihood(X)
    assert model.result_.complete_log_likelihood == pytest.approx(whole, rel=1e-9)


def test_online_counts_weights_and_does_not_depend_on_the_scheduler():
    import dask

    X = rows_of("gaussian", 6000)
    weights = np.random.default_rng(1).integers(0, 3, size=6000).astype(float)
    settings = {"algorithm": "online", "batch_size": 200}
    with dask.config.set(scheduler="synchronous"):
        one = model_of("hard", "gaussian", **settings).fit(blocks(X), sample_weight=weights)
    with dask.config.set(scheduler="threads"):
        other = model_of("hard", "gaussian", **settings).fit(blocks(X), sample_weight=weights)
    np.testing.assert_array_equal(one.mixture_.natural, other.mixture_.natural)
    assert one.result_.n == weights.sum()


def test_blocks_in_order_of_their_clusters_keep_all_components():
    """A first block of one cluster only would leave the others without rows."""
    X = rows_of("gaussian")
    X = X[np.argsort(X[:, 0])]
    model = model_of("hard", "gaussian", algorithm="online").fit(blocks(X, 12))
    assert len(model.weights_) == 3
    assert model.score(X) > model_of("hard", "gaussian").fit(X).score(X) - 0.1


def test_online_has_several_starts(client):
    X = rows_of("gaussian", 6000)
    settings = {"algorithm": "online", "init": "random"}
    several = model_of("hard", "gaussian", n_init=4, **settings).fit(blocks(X))
    single = [
        model_of("hard", "gaussian", n_init=1, **settings).set_params(random_state=seed).fit(blocks(X))
        for seed in range(4)
    ]
    assert several.result_.starts.n == 4
    assert several.objective_ >= np.median([model.objective_ for model in single])


@pytest.mark.parametrize("steps", [1, 4, 9])
def test_online_goes_on_from_a_checkpoint(steps, tmp_path):
    X = rows_of("gaussian", 6000)
    settings = {"algorithm": "online", "init": "random", "n_init": 2, "batch_size": 200}
    path = tmp_path / "fit.checkpoint"
    whole = model_of("hard", "gaussian", **settings).fit(blocks(X, 5))
    calls = []

    def stop(iteration, objective):
        calls.append(iteration)
        if len(calls) == steps:
            raise KeyboardInterrupt

    with watched(stop), pytest.raises(KeyboardInterrupt):
        model_of("hard", "gaussian", **settings).fit(blocks(X, 5), checkpoint=path)
    resumed = model_of("hard", "gaussian", **settings).fit(blocks(X, 5), checkpoint=path, resume=True)
    np.testing.assert_array_equal(resumed.mixture_.natural, whole.mixture_.natural)
    assert resumed.objective_ == whole.objective_


# Clusters that fail ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_worker_costs_time_and_nothing_else(kind, client):
    X = rows_of("gaussian")
    settings = {"init": "random", "max_iter": 12}
    killed = []

    def kill(iteration, objective):
        if iteration == 3 and not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with watched(kill):
        model = model_of(kind, "gaussian", **settings).fit(blocks(X))
    assert killed
    assert_same(model_of(kind, "gaussian", **settings).fit(X), model)


@pytest.mark.parametrize("loss", ["workers", "scheduler"])
def test_a_lost_cluster_leaves_a_checkpoint(loss, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)
    monkeypatch.setattr(cluster_module, "PATIENCE", 2.0)
    X = rows_of("gaussian")
    settings, path = {"init": "random"}, tmp_path / "fit.checkpoint"
    running = small_cluster()
    connected = distributed.Client(running)

    def lose(iteration, objective):
        if iteration == 3:
            if loss == "workers":
                running.scale(0)
                running.sync(running._correct_state)
            else:
                running.close()

    try:
        with watched(lose), pytest.raises(cluster_module.ClusterLostError, match="resume=True"):
            model_of("hard", "gaussian", **settings).fit(blocks(X), checkpoint=path)
    finally:
        connected.close()
        running.close()
    resumed = model_of("hard", "gaussian", **settings).fit(blocks(X), checkpoint=path, resume=True)
    whole = model_of("hard", "gaussian", init="random").fit(X)
    assert_same(whole, resumed)
    np.testing.assert_allclose(resumed.history_, whole.history_, rtol=1e-12)


@pytest.mark.parametrize("engine", ["sorted", "bounds", "boxes", "dense"])
def test_workers_run_the_same_engines(engine):
    X = rows_of("gaussian", 6000)[:, :1]
    model = model_of("hard", "gaussian", engine=engine).fit(blocks(X, 3))
    assert model.result_.engine == f"{engine} on 3 chunks of Dask"
    assert_same(model_of("hard", "gaussian", engine=engine).fit(X), model)


def test_few_distinct_rows_are_learned_from_once(client):
    X = rows_of("poisson")
    model = model_of("hard", "poisson").fit(blocks(X))
    assert "distinct rows" in model.result_.engine
