"""Tables survive every format, awkward text is read as it is meant, and big files are read in blocks."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from kmle.io import formats, read_table, text, write_table

ROOT = Path(__file__).parents[2]
FORMATS = ["csv", "tsv", "parquet", "arrow", "feather", "ipc", "npz", "csv.gz", "tsv.gz", "parquet.gz", "npz.gz"]


@pytest.fixture
def columns():
    rng = np.random.default_rng(0)
    return {"a": rng.normal(size=50), "b c": rng.gamma(1e-3, size=50), "n": np.arange(50.0)}


@pytest.mark.parametrize("kind", FORMATS)
def test_round_trip(tmp_path, columns, kind):
    path = str(tmp_path / f"table.{kind}")
    write_table(path, columns)
    table = read_table(path)
    assert table.columns == tuple(columns)
    np.testing.assert_array_equal(table.rows, np.column_stack(list(columns.values())))
    assert table.notes == ()


def test_arrays(tmp_path, columns):
    write_table(str(tmp_path / "one.npy"), {"a": columns["a"]})
    write_table(str(tmp_path / "all.npy.gz"), columns)
    one, all_columns = read_table(str(tmp_path / "one.npy")), read_table(str(tmp_path / "all.npy.gz"), ["x2", "x0"])
    np.testing.assert_array_equal(one.rows[:, 0], columns["a"])
    assert isinstance(one.rows.base, np.memmap) or isinstance(one.rows, np.memmap)
    np.testing.assert_array_equal(all_columns.rows, np.column_stack([columns["n"], columns["a"]]))
    np.save(tmp_path / "named.npy", np.array([(1, 2.5), (2, 3.5)], dtype=[("k", int), ("v", float)]))
    assert read_table(str(tmp_path / "named.npy"), ["v"]).rows.tolist() == [[2.5], [3.5]]
    np.save(tmp_path / "matrices.npy", np.ones((5, 2, 2), dtype=np.float32))
    assert read_table(str(tmp_path / "matrices.npy")).rows.shape == (5, 4)
    assert read_table(str(tmp_path / "matrices.npy")).rows.dtype == np.float32


def test_formats_are_told_by_content_not_by_name(tmp_path, columns):
    pl.DataFrame(columns).write_parquet(tmp_path / "table.csv")
    pl.DataFrame(columns).write_ipc_stream(tmp_path / "stream.dat")
    assert read_table(str(tmp_path / "table.csv")).columns == tuple(columns)
    assert read_table(str(tmp_path / "stream.dat")).columns == tuple(columns)


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy", "csv.gz"])
def test_standard_input(monkeypatch, tmp_path, columns, kind):
    path = tmp_path / f"table.{kind}"
    write_table(str(path), columns)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    np.testing.assert_array_equal(read_table("-").rows[:, 0], columns["a"])


TEXTS = {
    "semicolons": ("a;b\n1;2\n3;4\n", "semicolons"),
    "decimal commas": ("a;b\n1,0;2,0\n3;4\n", "the decimal mark is a comma"),
    "tabs": ("a\tb\n1\t2\n3\t4\n", "tabs"),
    "bars": ("a|b\n1|2\n3|4\n", "bars"),
    "spaces": ("a b\n1 2\n3 4\n", "spaces"),
    "no header": ("1,2\n3,4\n", "the first line is numbers"),
    "a byte order mark": ("\ufeffa,b\n1,2\n3,4\n", None),
    "line ends of Windows": ("a,b\r\n1,2\r\n3,4\r\n", None),
    "blank lines at the end": ("a,b\n1,2\n3,4\n\n\n", None),
    "no line end at the end": ("a,b\n1,2\n3,4", None),
    "padded": ("a,b\n 1, 2\n3 , 4\n", None),
    "quoted": ('"a","b"\n"1","2"\n"3","4"\n', None),
    "scientific": ("a,b\n1e0,2E+0\n3.0,.4e1\n", None),
    "commas in quoted names": ('"a, first",b\n1,2\n3,4\n', None),
}


@pytest.mark.parametrize("case", TEXTS)
def test_text_as_it_is_meant(tmp_path, case):
    content, words = TEXTS[case]
    (tmp_path / "t.csv").write_bytes(content.encode())
    table = read_table(str(tmp_path / "t.csv"))
    np.testing.assert_array_equal(table.rows, [[1, 2], [3, 4]])
    assert (table.notes == ()) if words is None else (words in table.notes[0])


def test_whole_numbers_first_and_fractions_later(tmp_path):
    (tmp_path / "t.csv").write_text("a\n" + "1\n" * 200_000 + "1.5\n")
    rows = read_table(str(tmp_path / "t.csv")).rows
    assert len(rows) == 200_001
    assert rows[-1, 0] == 1.5


def test_blocks_give_what_the_whole_gives(tmp_path, monkeypatch, columns):
    path = str(tmp_path / "t.csv")
    write_table(path, columns)
    whole = read_table(path)
    for size in (1, 40, 1000):
        monkeypatch.setattr(text, "BLOCK_BYTES", size)
        monkeypatch.setattr(formats, "HEAD_BYTES", 200)
        monkeypatch.setattr(text, "HEAD_BYTES", 200)
        np.testing.assert_array_equal(read_table(path).rows, whole.rows)


def test_quotes_may_hide_line_ends_wherever_blocks_end(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("a,note\n" + "1,x\n" * 20 + '2,"two\nlines"\n' + "3,y\n" * 20 + "\n\n")
    for size in (1, 7, 50, 10_000):
        monkeypatch.setattr(text, "BLOCK_BYTES", size)
        np.testing.assert_array_equal(
            read_table(str(tmp_path / "t.csv"), ["a"]).rows.ravel(), [1] * 20 + [2] + [3] * 20
        )


def test_missing_values_can_be_dropped(tmp_path):
    (tmp_path / "t.csv").write_text("a,b,w\n1,2,1\nNA,4,1\n5,6,\n7,8,2\n")
    table = read_table(str(tmp_path / "t.csv"), ["a", "b"], "w", drop_missing=True)
    np.testing.assert_array_equal(table.rows, [[1, 2], [7, 8]])
    np.testing.assert_array_equal(table.weights, [1, 2])
    assert table.notes == ("2 of 4 rows with missing values were dropped",)
    with pytest.raises(ValueError, match=r"row 2 \(line 4\), the weights"):
        read_table(str(tmp_path / "t.csv"), ["b"], "w")


def test_text_is_ignored_on_demand(tmp_path):
    frame = pl.DataFrame({"kind": ["x", "y"], "a": [1, 2], "flag": [True, False]})
    for name, write in (("t.csv", frame.write_csv), ("t.parquet", frame.write_parquet)):
        write(tmp_path / name)
        table = read_table(str(tmp_path / name), ignore_text=True)
        assert table.columns == ("a", "flag")
        np.testing.assert_array_equal(table.rows, [[1, 1], [2, 0]])
        assert "'kind'" in table.notes[0]
        with pytest.raises(ValueError, match="'kind' holds text"):
            read_table(str(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "reader"), [("t.parquet", "read_parquet"), ("t.arrow", "read_ipc"), ("t.stream", "read_ipc_stream")]
)
def test_only_the_columns_asked_for_are_read(tmp_path, monkeypatch, columns, name, reader):
    frame = pl.DataFrame(columns | {"kind": ["x"] * 50, "w": np.arange(1.0, 51.0)})
    writers = {".parquet": frame.write_parquet, ".arrow": frame.write_ipc, ".stream": frame.write_ipc_stream}
    writers[Path(name).suffix](tmp_path / name)
    read, read_in_fact = [], getattr(pl, reader)

    def watched(*arguments, **options):
        found = read_in_fact(*arguments, **options)
        read.extend(found.columns if found.height else [])
        return found

    monkeypatch.setattr(pl, reader, watched)
    table = read_table(str(tmp_path / name), ["n", "a"], "w")
    assert sorted(read) == ["a", "n", "w"]
    np.testing.assert_array_equal(table.rows, np.column_stack([columns["n"], columns["a"]]))
    np.testing.assert_array_equal(table.weights, np.arange(1.0, 51.0))
    with pytest.raises(ValueError, match="has no column 'm'"):
        read_table(str(tmp_path / name), ["m"])
    with pytest.raises(ValueError, match="column 'kind' holds text"):
        read_table(str(tmp_path / name), ["a"], "kind")


def test_a_name_with_brackets_is_no_pattern(tmp_path, columns):
    path = str(tmp_path / "run[1].parquet")
    write_table(path, columns)
    assert read_table(path).columns == tuple(columns)


def test_weights_are_no_data(tmp_path):
    (tmp_path / "t.csv").write_text("a,w,b\n1,5,2\n3,6,4\n")
    table = read_table(str(tmp_path / "t.csv"), weights="w")
    assert table.columns == ("a", "b")
    np.testing.assert_array_equal(table.weights, [5, 6])


def test_a_truncated_gzip_file_is_named(tmp_path):
    content = gzip.compress(b"a\n" + b"1\n2\n3\n" * 400_000)
    (tmp_path / "t.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="damaged gzip"):
        read_table(str(tmp_path / "t.csv.gz"))


def test_the_bundled_data_is_that_of_the_examples():
    bundled = ROOT / "src" / "kmle" / "io" / "faithful.csv"
    assert bundled.read_bytes() == (ROOT / "examples" / "data" / "faithful.csv").read_bytes()
