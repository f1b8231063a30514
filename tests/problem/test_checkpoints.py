"""Checkpoints: a fit cut off at any moment goes on to the same end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import scipy

from kmle import KMLE, Batches, ExponentialFamilyMixture
from kmle.algorithms import checkpoint
from kmle.algorithms.loop import watched
from problem.data import model_of, rows_of


@pytest.fixture(autouse=True)
def after_every_step(monkeypatch):
    monkeypatch.setattr(checkpoint, "EVERY", 0.0)


class CutOffError(Exception):
    """The machine goes down."""


def cut_off_after(model, X, steps, checkpoint):
    """Fits until a number of steps is made, then fails as a machine would."""
    made = []

    def fail(iteration, objective):
        made.append(iteration)
        if len(made) == steps:
            raise CutOffError

    with watched(fail), pytest.raises(CutOffError):
        model.fit(X, checkpoint=checkpoint)


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("hard", {}),
        ("hard", {"n_init": 3}),
        ("hard", {"algorithm": "hard-em"}),
        ("hard", {"algorithm": "hartigan"}),
        ("hard", {"algorithm": "swap"}),
        ("hard", {"algorithm": "online", "batch_size": 100}),
        ("hard", {"algorithm": "online", "batch_size": 700, "n_init": 2}),
        ("soft", {"tol": 1e-9}),
        ("soft", {"algorithm": "sparse-em", "n_init": 2, "tol": 1e-9}),
    ],
)
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_fit_goes_on_where_it_was(kind, settings, steps, tmp_path):
    X = rows_of("gaussian", 2000)
    settings = {"init": "random", "n_init": 1, **settings}
    whole = model_of(kind, "gaussian", **settings).fit(X)
    path = tmp_path / "fit.checkpoint"
    cut_off_after(model_of(kind, "gaussian", **settings), X, steps, path)
    # Another seed: the one of the checkpoint counts.
    resumed = model_of(kind, "gaussian", **settings).set_params(random_state=5).fit(X, checkpoint=path, resume=True)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
    np.testing.assert_array_equal(resumed.mixture_.natural, whole.mixture_.natural)
    np.testing.assert_array_equal(resumed.history_, whole.history_)
    assert resumed.n_iter_ == whole.n_iter_
    assert resumed.result_.stop_reason == whole.result_.stop_reason


def test_chunks_go_on_too(tmp_path):
    X = rows_of("gaussian", 3000)
    batches = Batches(np.array_split(X, 3))
    path = tmp_path / "fit.checkpoint"
    cut_off_after(model_of("hard", "gaussian"), batches, 3, path)
    resumed = model_of("hard", "gaussian").fit(batches, checkpoint=path, resume=True)
    whole = model_of("hard", "gaussian").fit(batches)
    np.testing.assert_array_equal(resumed.mixture_.natural, whole.mixture_.natural)
    np.testing.assert_array_equal(resumed.history_, whole.history_)


def test_a_finished_fit_is_not_made_again(tmp_path):
    X = rows_of("gaussian", 2000)
    path = tmp_path / "fit.checkpoint"
    first = model_of("soft", "gaussian").fit(X, checkpoint=path)
    steps = []
    with watched(lambda iteration, objective: steps.append(iteration)):
        again = model_of("soft", "gaussian").fit(X, checkpoint=path, resume=True)
    assert steps == []
    np.testing.assert_array_equal(first.mixture_.natural, again.mixture_.natural)


def test_more_iterations_go_on_from_the_limit(tmp_path):
    X = rows_of("gaussian", 2000)
    path = tmp_path / "fit.checkpoint"
    settings = {"init": "random", "n_init": 1}
    model_of("hard", "gaussian", max_iter=3, **settings).fit(X, checkpoint=path)
    resumed = model_of("hard", "gaussian", **settings).fit(X, checkpoint=path, resume=True)
    whole = model_of("hard", "gaussian", init="random", n_init=1).fit(X)
    assert resumed.n_iter_ == whole.n_iter_ > 3
    np.testing.assert_array_equal(resumed.mixture_.natural, whole.mixture_.natural)


def test_without_a_checkpoint_a_fit_begins_anew(tmp_path):
    X = rows_of("gaussian", 500)
    path = tmp_path / "fit.checkpoint"
    model_of("hard", "gaussian").fit(X, checkpoint=path, resume=True)
    assert path.exists()
    assert [file.name for file in tmp_path.iterdir()] == ["fit.checkpoint"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_components": 4}, "n_components was 3 and is 4 now"),
        ({"family": "diagonal-gaussian"}, "family was"),
        ({"algorithm": "hard-em"}, "algorithm was 'k-mle' and is 'hard-em' now"),
        ({"prior_strength": 1.0}, "prior_strength was"),
    ],
)
def test_another_fit_is_refused(settings, sentence, tmp_path):
    X = rows_of("gaussian", 500)
    path = tmp_path / "fit.checkpoint"
    model_of("hard", "gaussian").fit(X, checkpoint=path)
    with pytest.raises(ValueError, match=sentence):
        KMLE(**{"n_components": 3, **settings}).fit(X, checkpoint=path, resume=True)


def test_other_data_is_refused(tmp_path):
    X = rows_of("gaussian", 500)
    path = tmp_path / "fit.checkpoint"
    model_of("hard", "gaussian").fit(X, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to other data"):
        model_of("hard", "gaussian").fit(X[:-1], checkpoint=path, resume=True)


def mirrored(X):
    """Other rows with the same means and second moments, to rounding."""
    return 2 * X.mean(axis=0) - X


def swapped(X):
    """The same rows but for two, whose places are swapped in one column: all means are the same."""
    other = X.copy()
    other[[3, 8], 0] = other[[8, 3], 0]
    return other


@pytest.mark.parametrize("change", [mirrored, swapped])
@pytest.mark.parametrize("parts", [None, 1, 4])
@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian"])
def test_other_data_of_the_same_mean_is_refused(family, change, parts, tmp_path):
    if family == "gaussian" and change is swapped:
        pytest.skip("products of columns differ")
    X = rows_of("gaussian", 500)
    path = tmp_path / "fit.checkpoint"

    def given(rows):
        return rows if parts is None else Batches(np.array_split(rows, parts))

    model_of("hard", family).fit(given(X), checkpoint=path)
    with pytest.raises(ValueError, match=r"belongs to other data: give the same data, or another checkpoint$"):
        model_of("hard", family).fit(given(change(X)), checkpoint=path, resume=True)
    model_of("hard", family).fit(given(X.copy()), checkpoint=path, resume=True)


def test_other_weights_of_the_same_mean_are_refused(tmp_path):
    X = np.repeat([[0.0], [2.0], [9.0], [11.0]], 2, axis=0)
    weights = np.array([3.0, 1, 1, 3, 1, 3, 3, 1])
    path = tmp_path / "fit.checkpoint"
    settings = {"family": "poisson", "engine": "dense", "n_init": 1, "random_state": 0}
    KMLE(2, **settings).fit(X, sample_weight=weights, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to other data"):
        KMLE(2, **settings).fit(X, sample_weight=weights[::-1], checkpoint=path, resume=True)
    KMLE(2, **settings).fit(X.astype(np.float32), sample_weight=weights, checkpoint=path, resume=True)


def test_sparse_data_is_known_by_its_content(tmp_path):
    X = scipy.sparse.random_array((200, 30), density=0.1, rng=np.random.default_rng(0), format="csr")
    X.data[:] = 1.0
    path = tmp_path / "fit.checkpoint"
    settings = {"family": "poisson", "init": "random", "n_init": 1, "random_state": 0}
    KMLE(2, **settings).fit(X, checkpoint=path)
    with pytest.raises(ValueError, match="belongs to other data"):
        KMLE(2, **settings).fit(X[::-1], checkpoint=path, resume=True)
    KMLE(2, **settings).fit(X.tocsc(), checkpoint=path, resume=True)


def test_the_starts_are_remembered(tmp_path):
    X = rows_of("gaussian", 2000)
    path = tmp_path / "fit.checkpoint"
    first = model_of("hard", "gaussian").fit(X, checkpoint=path)
    again = model_of("hard", "gaussian").fit(X, checkpoint=path, resume=True)
    assert again.result_.starts == first.result_.starts
    assert again.result_.starts.n > 1


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"PK\x03\x04 cut off"])
def test_what_is_no_checkpoint_is_refused(content, tmp_path):
    path = tmp_path / "fit.checkpoint"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a valid checkpoint"):
        ExponentialFamilyMixture(2).fit(rows_of("gaussian", 500), checkpoint=path, resume=True)


def test_a_pickle_is_not_opened(tmp_path):
    path = tmp_path / "fit.checkpoint"
    with path.open("wb") as file:
        np.savez(file, header=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="is not a valid checkpoint"):
        ExponentialFamilyMixture(2).fit(rows_of("gaussian", 500), checkpoint=path, resume=True)


PROGRAM = """
import signal, sys, time
import numpy as np
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored by what runs in the background of a script
sys.path[:0] = [{tests!r}]
from problem.data import model_of, rows_of
from kmle.algorithms import checkpoint
from kmle.algorithms.loop import watched
checkpoint.EVERY = 0.0
def slowly(iteration, objective):
    print(iteration, flush=True)
    time.sleep(0.1)
with watched(slowly):
    model_of("hard", "gaussian", init="random", n_init=1).fit(rows_of("gaussian", 3000), checkpoint={path!r})
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_killed_process_leaves_a_checkpoint(number, tmp_path):
    path = tmp_path / "fit.checkpoint"
    program = PROGRAM.format(tests=str(Path(__file__).parents[1]), path=str(path))
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        for _ in range(3):
            assert child.stdout.readline()
        os.kill(child.pid, number)
        child.wait(timeout=60)
        assert child.returncode != 0
    time.sleep(0.01)
    X = rows_of("gaussian", 3000)
    resumed = model_of("hard", "gaussian", init="random", n_init=1).fit(X, checkpoint=path, resume=True)
    whole = model_of("hard", "gaussian", init="random", n_init=1).fit(X)
    assert whole.n_iter_ > 4
    np.testing.assert_array_equal(resumed.history_, whole.history_)
    np.testing.assert_array_equal(resumed.labels_, whole.labels_)
