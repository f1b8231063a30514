"""`--stream`: predictions and figures of the whole table, batch by batch, and one sentence where memory is needed."""

import json

import numpy as np
import polars as pl
import pytest

from cli.drawing import FAITHFUL, refusal, rows, run
from kmle.io import streaming


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    monkeypatch.setattr(streaming, "BATCH_BYTES", 16 * 40)


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
    from kmle.io import read_table

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
    assert "1 of 3 rows with missing values were left out" in result.stderr


REFUSED = {
    "no k": (["--stream"], "--stream needs -k"),
    "an algorithm that moves single rows": (
        ["--stream", "-k", 2, "-a", "hartigan"],
        "--algorithm hartigan needs the data in memory: with --stream there are k-mle, hard-em, em",
    ),
    "a picture": (["--stream", "-k", 2, "--plot", "p.png"], "--plot needs the data in memory"),
    "a report": (["--stream", "-k", 2, "--report", "r.html"], "--report needs the data in memory"),
    "labels in an archive": (["--stream", "-k", 2, "--labels", "l.npz"], "NPZ cannot be written batch by batch"),
    "resume from nothing": (["-k", 2, "--resume"], "--resume needs --checkpoint"),
    "a checkpoint of a selection": (["--checkpoint", "c.npz"], "--checkpoint needs -k"),
    "a checkpoint to standard output": (["-k", 2, "--checkpoint", "-"], "do not go to standard output"),
    "a checkpoint nowhere": (["-k", 2, "--checkpoint", "nowhere/c.npz"], "there is no directory nowhere"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_needs_memory_is_refused(case):
    arguments, words = REFUSED[case]
    assert words in refusal(run("fit", FAITHFUL, *arguments))


def test_standard_input_is_no_stream():
    assert "standard input can be read only once" in refusal(run("fit", "-", "-k", 2, "--stream", stdin="a\n1\n"))
