"""Streams give the rows and the sentences of whole tables, in little memory and with no thread left behind."""

import gzip
import os
import subprocess
import sys
import threading

import numpy as np
import polars as pl
import pytest

from kmle import KMLE
from kmle.io import formats, open_stream, read_table, text, write_batches, write_table

FORMATS = ["csv", "tsv", "csv.gz", "parquet", "arrow", "npy"]


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=50), "b": rng.gamma(1e-3, size=50), "n": np.arange(50.0)}


def gathered(stream):
    """All rows of a pass, and all weights."""
    batches = [batch if isinstance(batch, tuple) else (batch, None) for batch in stream]
    rows = np.concatenate([rows for rows, _ in batches])
    return rows, None if batches[0][1] is None else np.concatenate([weights for _, weights in batches])


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("size", [1, 7, 50, None])
def test_batches_make_up_the_table(tmp_path, monkeypatch, columns, kind, size):
    path = str(tmp_path / f"t.{kind}")
    write_table(path, columns)
    monkeypatch.setattr(text, "BLOCK_BYTES", 300)
    stream = open_stream(path, batch_rows=size)
    for _ in range(2):
        rows, weights = gathered(stream)
        np.testing.assert_array_equal(rows, read_table(path).rows)
        assert weights is None
    assert [len(batch) for batch in stream][:-1] == [size] * ((50 - 1) // (size or 50))
    assert stream.n_rows == 50
    assert stream.n_features == 3
    assert stream.columns == read_table(path).columns


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_and_weights_are_those_of_the_table(tmp_path, columns, kind):
    path = str(tmp_path / f"t.{kind}")
    write_table(path, columns)
    names = ["x2", "x0", "x1"] if kind == "npy" else ["n", "a", "b"]
    whole = read_table(path, names[:2], names[2])
    rows, weights = gathered(open_stream(path, names[:2], names[2], batch_rows=8))
    np.testing.assert_array_equal(rows, whole.rows)
    np.testing.assert_array_equal(weights, whole.weights)
    assert all(batch.flags.c_contiguous for batch, _ in open_stream(path, names[:2], names[2], batch_rows=8))
    # Weights are no data, unless they are asked for as data, too.
    assert open_stream(path, weights=names[2]).n_features == 2
    rows, weights = gathered(open_stream(path, names, names[2]))
    np.testing.assert_array_equal(rows[:, 2], weights)


ARRAYS = {
    "columns after columns": np.asfortranarray(np.arange(60.0).reshape(20, 3)),
    "single precision": np.arange(60, dtype=np.float32).reshape(20, 3),
    "the other byte order": np.arange(60, dtype=">f8").reshape(20, 3),
    "whole numbers": np.arange(60, dtype=np.int16).reshape(20, 3),
    "matrices": np.arange(80.0).reshape(20, 2, 2),
    "matrices, columns first": np.asfortranarray(np.arange(80.0).reshape(20, 2, 2)),
    "one column": np.arange(20.0),
    "records": np.array([(k, k / 2) for k in range(20)], dtype=[("k", int), ("v", float)]),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_arrays_of_every_kind(tmp_path, case):
    np.save(tmp_path / "t.npy", ARRAYS[case])
    whole = read_table(str(tmp_path / "t.npy"))
    rows, _ = gathered(open_stream(str(tmp_path / "t.npy"), batch_rows=6))
    np.testing.assert_array_equal(rows, whole.rows)
    assert rows.dtype == whole.rows.dtype


def test_single_precision_columns_stay_single(tmp_path):
    pl.DataFrame({"a": np.arange(9, dtype=np.float32)}).write_parquet(tmp_path / "t.parquet")
    assert all(batch.dtype == np.float32 for batch in open_stream(str(tmp_path / "t.parquet"), batch_rows=4))


def test_quotes_may_hide_line_ends_wherever_batches_end(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,note\n" + "1,x\n" * 20 + '2,"two\n""lines"""\n' + "3,y\n" * 20)
    for size in (1, 7, 50):
        monkeypatch.setattr(text, "BLOCK_BYTES", size)
        rows, _ = gathered(open_stream(str(tmp_path / "t.csv"), ["a"], batch_rows=5))
        assert rows.ravel().tolist() == [1] * 20 + [2] + [3] * 20
    monkeypatch.setattr(text, "QUOTED_BYTES", 30)
    for module in (text, formats):
        monkeypatch.setattr(module, "HEAD_BYTES", 40)
    (tmp_path / "t.csv").write_text("a,note\n" + "1,x\n" * 20 + '2,"open\n' + "3,y\n" * 20)
    with pytest.raises(ValueError, match="line 22 opens a quote that is never closed"):
        gathered(open_stream(str(tmp_path / "t.csv"), ["a"]))


# Bad data -------------------------------------------------------------------------------------------------------------

FAR = "1,2\n" * 300_000
SAME_SENTENCE = {
    "empty file": b"",
    "header only": b"a,b\n",
    "a letter in a number column": b"a,b\n1,2\n3,x\n4,5\n",
    "a letter far down": f"a,b\n{FAR}1,oops\n".encode(),
    "a missing value far down": f"a,b\n{FAR}1,NA\n".encode(),
    "text": b"a,kind\n1,tall\n2,small\n",
    "a missing value": b"a,b\n1,2\n3,\n",
    "too many fields": b"a,b\n1,2\n3,4,5\n",
    "too many fields far down": f"a,b\n{FAR}1,2,3\n".encode(),
    "a damaged gzip file": gzip.compress(f"a,b\n{FAR}".encode())[:-200],
    "a truncated array": b"\x93NUMPY\x01\0",
    "a truncated parquet file": b"PAR1" + b"\0" * 50,
    "JSON": b'{"a": 1}',
    "a column that is not there": b"b,c\n1,2\n",
}


@pytest.mark.parametrize("case", SAME_SENTENCE)
def test_bad_files_get_the_sentence_of_the_whole_table(tmp_path, case):
    (tmp_path / "t.csv").write_bytes(SAME_SENTENCE[case])
    columns = ["a"] if "not there" in case else None
    with pytest.raises(ValueError, match=r".") as whole:
        read_table(str(tmp_path / "t.csv"), columns)
    with pytest.raises(ValueError, match=r".") as part:
        gathered(open_stream(str(tmp_path / "t.csv"), columns, batch_rows=1000))
    assert str(part.value) == str(whole.value)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_the_first_missing_value_is_named_by_its_row_in_the_file(tmp_path, columns, kind):
    columns["b"][[23, 24, 40]] = np.nan
    write_table(str(tmp_path / f"t.{kind}"), columns)
    with pytest.raises(ValueError, match=r"a value is missing in row 23( \(line 25\))?, column '(b|x1)': fill it in"):
        gathered(open_stream(str(tmp_path / f"t.{kind}"), batch_rows=4))


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_missing_values_can_be_dropped(tmp_path, columns, kind):
    columns["b"][[8, 9, 10, 11, 40]] = np.nan
    path = str(tmp_path / f"t.{kind}")
    write_table(path, columns)
    stream = open_stream(path, drop_missing=True, batch_rows=4)
    assert stream.n_dropped is None
    np.testing.assert_array_equal(gathered(stream)[0], read_table(path, drop_missing=True).rows)
    assert stream.notes == read_table(path, drop_missing=True).notes
    assert stream.n_dropped == 5
    gathered(stream)
    assert len(stream.notes) == 1
    columns["b"][:] = np.nan
    write_table(path, columns)
    with pytest.raises(ValueError, match="a missing value in every row"):
        gathered(open_stream(path, drop_missing=True, batch_rows=4))


def test_what_cannot_be_read_in_pieces_says_why(tmp_path, columns):
    for kind, words in (("npz", "archive"), ("npy.gz", "gzipped"), ("parquet.gz", "gzipped")):
        write_table(str(tmp_path / f"t.{kind}"), columns)
        with pytest.raises(ValueError, match=rf"t\.{kind} is .*{words}.*cannot be read in pieces"):
            open_stream(str(tmp_path / f"t.{kind}"))
    pl.DataFrame(columns).write_ipc_stream(tmp_path / "t.arrow")
    with pytest.raises(ValueError, match="an Arrow stream, which has no index"):
        open_stream(str(tmp_path / "t.arrow"))
    with pytest.raises(ValueError, match="standard input can be read only once"):
        open_stream("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes are those of POSIX")
def test_a_pipe_is_no_stream(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe, which can be read only once"):
        open_stream(str(tmp_path / "pipe"))


def test_estimators_learn_from_a_stream(tmp_path, columns):
    write_table(str(tmp_path / "t.csv"), columns)
    stream = open_stream(str(tmp_path / "t.csv"), ["a", "n"], batch_rows=20)
    streamed, whole = (KMLE(2, random_state=0).fit(X) for X in (stream, read_table(stream.source, ["a", "n"]).rows))
    np.testing.assert_array_equal(streamed.labels_, whole.labels_)
    np.testing.assert_allclose(streamed.mixture_.natural, whole.mixture_.natural, rtol=1e-10)
    assert streamed.feature_names_in_.tolist() == ["a", "n"]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_that_changes_is_noticed(tmp_path, columns, kind):
    path = str(tmp_path / f"t.{kind}")
    write_table(path, columns)
    stream = open_stream(path)
    gathered(stream)
    write_table(path, {name: np.append(column, 1.0) for name, column in columns.items()})
    with pytest.raises(ValueError, match="changed while it was read: start again"):
        gathered(stream)
    os.remove(path)
    with pytest.raises(ValueError, match="changed while it was read"):
        gathered(stream)


def test_a_file_that_grows_during_a_pass_is_noticed(tmp_path, columns):
    path = tmp_path / "t.csv"
    write_table(str(path), columns)
    batches = iter(open_stream(str(path), batch_rows=10))
    next(batches)
    with path.open("a") as file:
        file.write("1,2,3\n")
    with pytest.raises(ValueError, match="changed while it was read"):
        list(batches)


# Threads and memory ---------------------------------------------------------------------------------------------------


def readers():
    return [thread for thread in threading.enumerate() if thread.name.startswith("kmle-reader")]


def test_no_thread_is_left_behind(tmp_path, columns):
    path = str(tmp_path / "t.csv")
    write_table(path, columns)
    abandoned = iter(open_stream(path, batch_rows=5))
    next(abandoned)
    assert len(readers()) == 1
    abandoned.close()
    assert readers() == []
    for _ in open_stream(path, batch_rows=5):
        break
    assert readers() == []
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 20 + "x\n")
    with pytest.raises(ValueError, match="row 20"):
        gathered(open_stream(path, batch_rows=5))
    assert readers() == []


MEASURE = """
import sys
import numpy, polars
from pathlib import Path
from kmle.io import open_stream

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])

stream = open_stream(sys.argv[1], batch_rows=8192)
next(iter(stream))
before = peak()
total = sum(batch.sum() for batch in stream)
print(peak() - before)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is counted as Linux does")
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "npy"])
def test_memory_is_that_of_a_few_batches(tmp_path, kind):
    path = str(tmp_path / f"t.{kind}")
    rows = np.random.default_rng(0).normal(size=(1 << 20, 16)).round(3)
    frame = pl.DataFrame(rows, schema=[f"c{place}" for place in range(16)])
    writers = {
        "csv": lambda: frame.write_csv(path),
        "parquet": lambda: frame.write_parquet(path, row_group_size=1 << 14),
        "arrow": lambda: frame.write_ipc(path, record_batch_size=1 << 14),
        "npy": lambda: np.save(path, rows),
    }
    writers[kind]()
    result = subprocess.run([sys.executable, "-c", MEASURE, path], capture_output=True, check=True, timeout=120)
    assert int(result.stdout) < (rows.nbytes >> 10) / 2


# Writing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "arrow", "npy"])
@pytest.mark.parametrize("names", [["a"], ["a", "b", "n"]])
def test_batches_write_what_the_whole_writes(tmp_path, columns, kind, names):
    own = {name: columns[name] for name in names}
    write_table(str(tmp_path / f"whole.{kind}"), own)
    parts = ({name: own[name][start : start + 7] for name in names} for start in range(0, 50, 7))
    write_batches(str(tmp_path / f"parts.{kind}"), parts)
    whole, pieces = read_table(str(tmp_path / f"whole.{kind}")), read_table(str(tmp_path / f"parts.{kind}"))
    np.testing.assert_array_equal(pieces.rows, whole.rows)
    assert pieces.columns == whole.columns
    if kind in ("csv", "npy"):
        assert (tmp_path / f"whole.{kind}").read_bytes() == (tmp_path / f"parts.{kind}").read_bytes()


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npy", "parquet", "arrow"])
def test_a_file_is_written_whole_or_not_at_all(tmp_path, kind):
    def failing():
        yield {"a": np.arange(3)}
        raise ValueError("row 5 is bad")

    with pytest.raises(ValueError, match=r"^row 5 is bad$"):
        write_batches(str(tmp_path / f"t.{kind}"), failing())
    assert list(tmp_path.iterdir()) == []


def test_formats_that_are_not_written_in_batches(tmp_path):
    for name, words in (("t.npz", "NPZ"), ("t.parquet.gz", "gzipped PARQUET")):
        with pytest.raises(ValueError, match=f"{words} cannot be written batch by batch"):
            write_batches(str(tmp_path / name), iter(()))


def test_a_large_row_group_is_not_decoded_again_for_every_batch(tmp_path, monkeypatch):
    path, rows = tmp_path / "t.parquet", np.random.default_rng(0).standard_normal((20_000, 2))
    pl.DataFrame(rows, schema=["a", "b"]).write_parquet(path, row_group_size=20_000)
    collect, calls = pl.LazyFrame.collect, []

    def counted(self, *arguments, **settings):
        calls.append(1)
        return collect(self, *arguments, **settings)

    monkeypatch.setattr(pl.LazyFrame, "collect", counted)
    batches = list(open_stream(str(path), batch_rows=100))
    assert [len(batch) for batch in batches] == [100] * 200
    np.testing.assert_array_equal(np.concatenate(batches), rows)
    assert len(calls) <= 2  # how many rows there are, and the rows


def test_what_is_decoded_at_once_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("kmle.io.pieces.DECODED_BYTES", 8 * 2 * 1000)
    path, rows = tmp_path / "t.parquet", np.random.default_rng(0).standard_normal((5_001, 2))
    pl.DataFrame(rows, schema=["a", "b"]).write_parquet(path)
    batches = list(open_stream(str(path), batch_rows=300))
    assert [len(batch) for batch in batches] == [300] * 16 + [201]
    np.testing.assert_array_equal(np.concatenate(batches), rows)
