"""Bad usage and bad data: one sentence that names the place and the remedy, and exit code 2."""

import os

import numpy as np
import pytest

from cli.drawing import FAITHFUL, refusal, run

CASES = {
    "empty file": (b"", "is empty"),
    "blank lines": (b"\n\n", "is empty"),
    "header only": (b"a,b\n", "has a header but no rows"),
    "a letter in a number column": (b"a,b\n1,2\n3,x\n4,5\n", "row 1 (line 3), column 'b' holds 'x'"),
    "a letter far down": (b"a\n" + b"1\n" * 300_000 + b"oops\n", "row 300000 (line 300002), column 'a' holds 'oops'"),
    "text and dates": (
        b"a,kind,day\n1,tall,2024-05-01\n2,small,2024-05-02\n",
        "column 'kind' holds text and column 'day' holds dates, not numbers: select others with --columns",
    ),
    "text": (b"a,kind\n1,tall\n2,small\n", "column 'kind' holds text, not numbers: select others with --columns"),
    "too many fields": (b"a,b\n1,2\n3,4,5\n", "line 3 has 3 fields, the first line has 2"),
    "a binary file": (bytes(range(256)) * 4, "is a binary file of unknown format"),
    "a spreadsheet": (b"PK\x03\x04" + b"\0" * 100, "damaged NPZ or Excel file"),
    "a damaged gzip file": (b"\x1f\x8b\x08" + b"\0" * 40, "damaged gzip"),
    "a truncated array": (b"\x93NUMPY\x01\0", "is not a valid NPY file"),
    "a truncated parquet file": (b"PAR1" + b"\0" * 50, "cannot be read as a table"),
    "JSON": (b'{"a": 1}', "looks like JSON"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_files(tmp_path, case):
    content, words = CASES[case]
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    assert words in refusal(run("fit", path, "-k", 1))


def test_a_column_without_values_that_is_named(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,\n3,NA\n")
    message = refusal(run("fit", path, "-k", 1, "--columns", "a,b"))
    assert "column 'b' has no entry, all its values are missing" in message


USAGE = {
    "a negative count": (
        ["-k", 1, "--family", "poisson", "--columns", "n"],
        "row 1 (line 3), column 'n' holds -1; poisson accepts",
    ),
    "a column that is not there": (["-k", 1, "--columns", "m"], "has no column 'm'"),
    "a column misspelt": (["-k", 1, "--columns", "weigth"], "did you mean 'weight'?"),
    "a column of other case": (["-k", 1, "--columns", "N"], "did you mean 'n'?"),
    "a column twice": (["-k", 1, "--columns", "n,n"], "is named twice"),
    "no column": (["-k", 1, "--columns", ","], "--columns is empty"),
    "k beyond the rows": (["-k", 9], "-k is 9 but there are only 3 rows: use fewer components"),
    "weights that are not there": (["-k", 1, "--weights", "w"], "has no column 'w'"),
    "negative weights": (["-k", 1, "--weights", "n"], "weights must be finite and not negative"),
    "an unknown family": (["-k", 1, "--family", "gausian"], "did you mean 'gaussian'?"),
    "a family without its facts": (["-k", 1, "--family", "binomial"], "write binomial:trials=..."),
    "a fact that is no number": (["-k", 1, "--family", "binomial:trials=x"], "'x' is not a number"),
    "an unknown fact": (["-k", 1, "--family", "gamma:trials=3"], "gamma has the fixed parameters n_features"),
    "product by name": (["-k", 1, "--family", "product"], "columns of different kinds have one family each"),
    "labels of no known format": (["-k", 1, "--labels", "labels.xyz"], "has no extension of a table format"),
    "a model in no directory": (["-k", 1, "--out", "nowhere/m.json"], "the directory nowhere does not exist"),
    "a picture to standard output": (["-k", 1, "--plot", "-"], "cannot be written to standard output"),
}


@pytest.mark.parametrize("case", USAGE)
def test_bad_usage(tmp_path, case):
    arguments, words = USAGE[case]
    path = tmp_path / "data.csv"
    path.write_text("n,weight\n3,1.5\n-1,2.5\n4,3\n")
    assert words in refusal(run("fit", path, *arguments))


@pytest.mark.parametrize(
    "arguments",
    [["fit", FAITHFUL, "-k", 0], ["fit"], ["nothing"], ["fit", FAITHFUL, "-k", 2, "--algorithm", "best"]],
)
def test_usage_that_the_parser_refuses(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_paths(tmp_path):
    (tmp_path / "measurements.csv").write_text("a\n1\n")
    assert "is a directory" in refusal(run("fit", tmp_path, "-k", 1))
    assert "did you mean" in refusal(run("fit", tmp_path / "measurement.csv", "-k", 1))
    assert refusal(run("fit", tmp_path / "none" / "x.csv", "-k", 1)).endswith("not found")
    assert "not found" in refusal(run("show", tmp_path / "none.json"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read everything")
def test_an_unreadable_file(tmp_path):
    path = tmp_path / "secret.csv"
    path.write_text("a\n1\n")
    path.chmod(0)
    assert "permission denied" in refusal(run("fit", path, "-k", 1))


def test_arrays_of_objects_are_never_loaded(tmp_path):
    np.save(tmp_path / "objects.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    assert "Python objects, which kmle does not load" in refusal(run("fit", tmp_path / "objects.npy", "-k", 1))


def test_a_model_for_other_columns(tmp_path):
    model = tmp_path / "model.json"
    run("fit", FAITHFUL, "-k", 2, "--out", model, "-q")
    (tmp_path / "other.csv").write_text("a,b,c\n1,2,3\n")
    assert "has no column 'eruptions'" in refusal(run("predict", model, tmp_path / "other.csv"))
    shown = refusal(run("predict", model, tmp_path / "other.csv", "--columns", "a"))
    assert "has 2 columns" in shown


def test_a_failure_of_our_own_shows_no_traceback(monkeypatch):
    def broken(*_):
        raise RuntimeError("planted")

    monkeypatch.setattr("kmle.data.guess.guess_family", broken)
    result = run("fit", FAITHFUL, "-k", 2)
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert "planted" in result.stderr
