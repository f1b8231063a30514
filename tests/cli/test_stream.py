"""`--stream`: the model, labels and figures of the whole table, batch by batch; a sentence where memory is needed."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from cli.drawing import FAITHFUL, code_of, refusal, rows, run, run_process
from kmle.cli.interruption import Interruption
from kmle.io import read_table, streaming
from kmle.problem import stream as local

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Batches of few rows, read again for every pass."""
    monkeypatch.setattr(streaming, "BATCH_BYTES", 16 * 40)
    monkeypatch.setattr(local, "KEPT_BYTES", 0)


@pytest.fixture
def data(tmp_path):
    """A table of two columns as Parquet, and a model learned from it."""
    pl.DataFrame(rows(), schema=["a", "b"]).write_parquet(tmp_path / "t.parquet")
    run("fit", tmp_path / "t.parquet", "-k", 2, "--out", tmp_path / "m.json", "-q")
    return tmp_path / "m.json", tmp_path / "t.parquet"


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npy", "parquet", "arrow"])
def test_predictions_are_those_of_the_whole_table(tmp_path, data, kind):
    for name, options in (("whole", []), ("parts", ["--stream"])):
        result = run("predict", *data, "--out", tmp_path / f"{name}.{kind}", "--probabilities", *options)
        assert result.exit_code == 0, result.output
    whole, parts = (read_back(tmp_path / f"{name}.{kind}") for name in ("whole", "parts"))
    np.testing.assert_allclose(parts, whole, rtol=1e-10, atol=1e-300)


def read_back(path):
    return read_table(str(path)).rows


def test_predictions_go_to_standard_output(data):
    whole, parts = run("predict", *data), run("predict", *data, "--stream")
    assert parts.stdout == whole.stdout
    assert parts.stdout.startswith("label\n")


def test_figures_are_those_of_the_whole_table(tmp_path, data):
    whole = json.loads(run("score", *data, "--json", "--out", tmp_path / "whole.npy").stdout)
    parts = json.loads(run("score", *data, "--json", "--out", tmp_path / "parts.npy", "--stream").stdout)
    assert parts == pytest.approx(whole, rel=1e-12)
    np.testing.assert_allclose(np.load(tmp_path / "parts.npy"), np.load(tmp_path / "whole.npy"), rtol=1e-12)
    assert run("score", *data, "--stream").stdout == run("score", *data).stdout


def test_rows_that_a_model_cannot_take_are_named(tmp_path):
    (tmp_path / "t.csv").write_text("n\n" + "3\n" * 100 + "-1\n")
    (tmp_path / "few.csv").write_text("n\n1\n2\n3\n")
    run("fit", tmp_path / "few.csv", "-k", 1, "-f", "poisson", "--out", tmp_path / "m.json", "-q")
    for command in ("predict", "score"):
        whole = refusal(run(command, tmp_path / "m.json", tmp_path / "t.csv"))
        assert whole.startswith("row 100 (line 102), column 'n' holds -1")
        assert refusal(run(command, tmp_path / "m.json", tmp_path / "t.csv", "--stream")) == whole


def test_dropped_rows_are_told(tmp_path, data):
    pl.DataFrame({"a": [1.0, None, 3.0], "b": [1.0, 2.0, 3.0]}).write_csv(tmp_path / "gaps.csv")
    result = run("predict", data[0], tmp_path / "gaps.csv", "--stream", "--drop-missing")
    assert len(result.stdout.splitlines()) == 3
    assert "1 of 3 rows with missing values was dropped" in result.stderr


# Fits -----------------------------------------------------------------------------------------------------------------


def written(tmp_path, kind, table):
    """The table in a file of this kind."""
    path = tmp_path / f"data.{kind}"
    frame = pl.DataFrame(table, schema=["a", "b", "w"][: table.shape[1]])
    writers = {
        "csv": lambda: frame.write_csv(path),
        "csv.gz": lambda: path.write_bytes(gzip.compress(frame.write_csv().encode())),
        "parquet": lambda: frame.write_parquet(path, row_group_size=64),
        "arrow": lambda: frame.write_ipc(path, record_batch_size=64),
        "npy": lambda: np.save(path, table),
    }
    writers[kind]()
    return path


def learned(fit, tmp_path, path, *options):
    """The model and the labels of a fit."""
    result = fit("fit", path, *options, "--out", tmp_path / "m.json", "--labels", tmp_path / "labels.npy", "--force")
    assert code_of(result) == 0, result.stderr
    return json.loads((tmp_path / "m.json").read_text()), np.load(tmp_path / "labels.npy")


def assert_same(streamed, whole, tolerance=1e-10):
    (model, labels), (expected, expected_labels) = streamed, whole
    for name in ("weights", "natural"):
        np.testing.assert_allclose(model[name], expected[name], rtol=tolerance)
    for name in ("log_likelihood", "complete_log_likelihood", "bic", "icl"):
        assert model["about"][name] == pytest.approx(expected["about"][name], rel=tolerance)
    for name in ("family", "columns"):
        assert model[name] == expected[name]
    for name in ("rows", "seed", "iterations", "stop_reason"):
        assert model["about"][name] == expected["about"][name]
    np.testing.assert_array_equal(labels, expected_labels)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow", "npy"])
def test_a_streamed_fit_is_that_of_the_whole_table(tmp_path, kind):
    path = written(tmp_path, kind, rows())
    options = ("-k", 2, "-f", "gaussian")
    assert_same(learned(run, tmp_path, path, *options, "--stream"), learned(run, tmp_path, path, *options))


@pytest.mark.parametrize(
    "algorithm",
    ["hard-em", "swap", "em", "sparse-em"],
)
def test_every_algorithm_learns_the_same_from_a_stream(tmp_path, algorithm):
    path = written(tmp_path, "parquet", rows())
    options = ("-k", 3, "-f", "gaussian", "-a", algorithm)
    streamed, whole = (learned(run, tmp_path, path, *options, *more) for more in (["--stream"], []))
    assert_same(streamed, whole)


def test_weights_count_rows_of_a_stream(tmp_path):
    weights = np.random.default_rng(3).integers(0, 4, size=(300, 1))
    path = written(tmp_path, "parquet", np.hstack([rows(), weights]))
    options = ("-k", 2, "-f", "gaussian", "--weights", "w")
    assert_same(learned(run, tmp_path, path, *options, "--stream"), learned(run, tmp_path, path, *options))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "npy"])
def test_fit_then_predict(tmp_path, kind):
    started = run_process if kind == "csv.gz" else run
    path = written(tmp_path, kind, rows())
    whole = learned(started, tmp_path, path, "-k", 2)
    assert_same(learned(started, tmp_path, path, "-k", 2, "--stream"), whole)
    predicted = started("predict", tmp_path / "m.json", path, "--stream", "--out", tmp_path / "p.csv")
    assert code_of(predicted) == 0, predicted.stderr
    assert pl.read_csv(tmp_path / "p.csv")["label"].to_list() == whole[1].tolist()


def test_online_goes_once_over_a_stream(tmp_path):
    path = written(tmp_path, "parquet", rows())
    model, labels = learned(run, tmp_path, path, "-k", 2, "-f", "gaussian", "-a", "online", "--stream")
    expected, expected_labels = learned(run, tmp_path, path, "-k", 2, "-f", "gaussian")
    same = (labels == expected_labels).mean()
    assert max(same, 1 - same) > 0.98
    assert sorted(model["weights"]) == pytest.approx(sorted(expected["weights"]), abs=0.02)


def test_a_guess_says_how_much_it_saw(tmp_path):
    result = run("fit", written(tmp_path, "csv", rows()), "-k", 2, "--stream")
    assert "family: gaussian, as 'a', 'b' hold real numbers in the first 40 rows" in result.stderr
    assert "2 gaussian components, 300 rows of a, b" in result.stdout
    assert "em, dense engine on 8 chunks of a stream," in result.stdout


def test_json_of_a_stream(tmp_path):
    content = json.loads(run("fit", written(tmp_path, "npy", rows()), "-k", 2, "--stream", "--json").stdout)
    assert content["sizes"] == [150, 150]


def test_labels_too_many_to_keep_are_written_batch_by_batch(tmp_path, monkeypatch):
    path = written(tmp_path, "csv", rows())
    whole = learned(run, tmp_path, path, "-k", 2)
    monkeypatch.setattr(local, "MOST_LABELS", 100)
    assert_same(learned(run, tmp_path, path, "-k", 2, "--stream", "--family", "gaussian"), whole)
    assert json.loads(run("fit", path, "-k", 2, "--stream", "--json", "-f", "gaussian").stdout)["sizes"] is None


@pytest.mark.parametrize("algorithm", ["k-mle", "online"])
def test_a_row_outside_the_support_is_named(tmp_path, algorithm):
    (tmp_path / "t.csv").write_text("n,m\n" + "3,4\n5,6\n" * 100 + "1,-1\n")
    options = ("-k", 1, "-f", "poisson")
    whole = refusal(run("fit", tmp_path / "t.csv", *options))
    assert whole.startswith("row 200 (line 202), column 'm' holds -1")
    assert refusal(run("fit", tmp_path / "t.csv", *options, "-a", algorithm, "--stream")) == whole


@pytest.mark.parametrize(("algorithm", "n_rows"), [("k-mle", 300), ("online", 40)])
def test_control_c_keeps_the_model_of_what_was_seen(tmp_path, monkeypatch, algorithm, n_rows):
    class Pressed(Interruption):
        def __enter__(self):
            self.requested = True
            return self

    monkeypatch.setattr("kmle.cli.learning.Interruption", Pressed)
    path = written(tmp_path, "csv", rows())
    result = run("fit", path, "-k", 2, "-f", "gaussian", "-a", algorithm, "--stream", "--out", tmp_path / "m.json")
    assert result.exit_code == 1
    assert f"best model so far, and it is in {tmp_path / 'm.json'}" in result.stderr
    assert f"2 gaussian components, {n_rows} rows of a, b" in result.stdout
    assert json.loads((tmp_path / "m.json").read_text())["about"]["rows"] == n_rows


@pytest.mark.parametrize("options", [[], ["--stream"]])
def test_a_fit_goes_on_from_a_checkpoint(tmp_path, options):
    path = written(tmp_path, "npy", np.random.default_rng(0).normal(size=(300, 2)))
    options = ("-k", 4, "-f", "gaussian", *options)
    whole = learned(run, tmp_path, path, *options)
    state = tmp_path / "state.ckpt"
    assert run("fit", path, *options, "--checkpoint", state, "--max-iter", 3).exit_code == 0
    assert_same(learned(run, tmp_path, path, *options, "--checkpoint", state, "--resume"), whole)


# Run with little memory beyond what a small fit has taken: VmData is what RLIMIT_DATA limits.
LIMITED = """
import resource, sys
from pathlib import Path
from typer.testing import CliRunner
from kmle.cli.main import app
from kmle.cli.interruption import Interruption
from kmle.problem import stream
from kmle.io import streaming

stream.KEPT_BYTES, streaming.BATCH_BYTES = 0, 2 << 20

def fit(path):
    options = ["-k", "2", "-f", "diagonal-gaussian", "--max-iter", "1", "-j", "1", "--hard", *sys.argv[4:]]
    return CliRunner().invoke(app, ["fit", path, *options])

small, big, margin = sys.argv[1:4]
assert fit(small).exit_code == 0
used = int(Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + int(margin),) * 2)
result = fit(big)
print(result.output)
sys.exit(result.exit_code)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is limited as Linux does")
@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_a_file_larger_than_memory(tmp_path, kind):
    table = np.random.default_rng(0).normal(size=(1 << 19, 16))
    table[::2] += 3
    for name, part in (("small", table[:50_000]), ("big", table)):
        if kind == "npy":
            np.save(tmp_path / f"{name}.npy", part)
        else:
            pl.DataFrame(part).write_parquet(tmp_path / f"{name}.parquet", row_group_size=1 << 14)
    paths = [str(tmp_path / f"{name}.{kind}") for name in ("small", "big")]
    # In memory a fit needs the rows as the kernels have them, and beside them what was read from Parquet; arrays stay
    # in their files.
    room = table.nbytes * 3 // 2 if kind == "parquet" else table.nbytes - (1 << 20)
    command = [sys.executable, "-c", LIMITED, *paths, str(room)]
    environment = os.environ | {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    whole, streamed = (
        subprocess.run([*command, *options], capture_output=True, check=False, env=environment, timeout=120)
        for options in ([], ["--stream"])
    )
    assert whole.returncode != 0
    assert streamed.returncode == 0, streamed.stdout + streamed.stderr
    assert b"524288 rows" in streamed.stdout


def test_the_benchmark_of_big_files_measures_small_ones(tmp_path):
    options = ["--gigabytes", "0.005", "--iterations", "2", "--directory", str(tmp_path)]
    command = [sys.executable, "-m", "benchmarks.big_file", *options]
    result = subprocess.run(command, capture_output=True, check=False, cwd=ROOT, timeout=120, text=True)
    assert result.returncode == 0, result.stderr
    assert [line.split(":")[0] for line in result.stdout.splitlines()] == ["parquet", "npy"]
    assert list(tmp_path.iterdir()) == []


REFUSED = {
    "no k": (["--stream"], "--stream needs -k"),
    "an algorithm that moves single rows": (
        ["--stream", "-k", 2, "-a", "hartigan"],
        "--algorithm hartigan needs the data in memory: with --stream use one of k-mle, hard-em, swap, em",
    ),
    "a checkpoint of one pass": (
        ["--stream", "-k", 2, "-a", "online", "--checkpoint", "c.npz"],
        "--checkpoint cannot be combined with --algorithm online",
    ),
    "a picture": (["--stream", "-k", 2, "--plot", "p.png"], "--plot cannot be combined with --stream"),
    "a report": (["--stream", "-k", 2, "--report", "r.html"], "--report cannot be combined with --stream"),
    "labels in an archive": (["--stream", "-k", 2, "--labels", "l.npz"], "NPZ cannot be written batch by batch"),
    "resume from nothing": (["-k", 2, "--resume"], "--resume needs --checkpoint"),
    "a checkpoint of a selection": (["--checkpoint", "c.npz"], "--checkpoint needs -k"),
    "a checkpoint to standard output": (["-k", 2, "--checkpoint", "-"], "cannot be written to standard output"),
    "a checkpoint nowhere": (["-k", 2, "--checkpoint", "nowhere/c.npz"], "the directory nowhere does not exist"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_needs_memory_is_refused(case):
    arguments, words = REFUSED[case]
    assert words in refusal(run("fit", FAITHFUL, *arguments))


def test_standard_input_is_no_stream():
    assert "standard input can be read only once" in refusal(run("fit", "-", "-k", 2, "--stream", stdin="a\n1\n"))
