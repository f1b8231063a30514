"""`read_table`: numbers from a file of any of the formats, ready for a fit."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .categories import Categories
from .excel import read_excel
from .formats import Source, open_source
from .table import Table, check_weights, chosen_columns, listed, without_missing
from .text import Layout, TextOptions, numbers_of, read_blocks, read_cells, sniff
from .text_kinds import REMEDIES, SEVERAL, kind_of_text


def read_table(
    path: str,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    *,
    ignore_text: bool = False,
    drop_missing: bool = False,
    keep_missing: bool = False,
    categories: Mapping[str, Sequence[str] | None] | None = None,
    code_text: bool = False,
    text: TextOptions | None = None,
) -> Table:
    """Reads text, Excel, JSON lines, Parquet, Arrow, NPY or NPZ, gzipped or not.

    Parameters
    ----------
    path : str
        The file; "-" is standard input.
    columns : sequence of str, default=None
        The columns, in this order; None is all but the weights.
    weights : str, default=None
        The column with the weights of the rows.
    ignore_text : bool, default=False
        Whether to omit text columns instead of raising an error.
    drop_missing : bool, default=False
        Whether to drop rows with missing values instead of raising an error.
    keep_missing : bool, default=False
        Whether to return missing values as NaN.
    categories : mapping of str to levels or None, default=None
        Columns to read as categories, with their levels or None to find them.
    code_text : bool, default=False
        Whether to read text columns as categories too, unless `ignore_text` omits them.
    text : TextOptions, default=None
        The layout of a text file, if known.

    Returns
    -------
    Table
        The rows and the names of the columns. Unusable data is a ValueError of one sentence.
    """
    text = text or TextOptions()
    coder = Categories(categories, code_text and not ignore_text)
    with readable(path):
        source = open_source(path, text.encoding)
        table = _read(source, None if columns is None else list(columns), weights, ignore_text, coder, text)
    if len(table) == 0:
        raise ValueError(f"{table.source} has a header but no rows")
    if coder:
        coder.check(table.source, table.columns)
        rows = np.array(table.rows, dtype=float)
        table = replace(table, categories=coder.finish(table.columns, rows), rows=rows)
    if keep_missing:
        check_weights(table)
        return table
    return without_missing(table, drop_missing)


@contextmanager
def readable(path: str) -> Iterator[None]:
    """Whatever goes wrong with the file itself is said in one sentence."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is a damaged gzip file: {str(error).lower()}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except pl.exceptions.PolarsError as error:
        reason = str(error).strip().splitlines()[0]
        raise ValueError(f"{path} cannot be read as a table: {reason}") from None


def _read(
    source: Source,
    columns: list[str] | None,
    weights: str | None,
    ignore_text: bool,
    categories: Categories,
    text: TextOptions,
) -> Table:
    if source.kind == "text":
        return _from_text(source, columns, weights, ignore_text, categories, text)
    if source.kind in ("npy", "npz"):
        content = _arrays(source)
        if isinstance(content, np.ndarray) and not categories:
            return from_array(source, content, columns, weights)
        frame = array_frame(content) if isinstance(content, np.ndarray) else content
        return _from_frame(source, frame, frame.select, columns, weights, ignore_text, categories)
    if source.kind in ("excel", "json lines"):
        frame = read_excel(source) if source.kind == "excel" else _json_lines(source)
        return _from_frame(source, frame, frame.select, columns, weights, ignore_text, categories)
    return _from_columnar(source, columns, weights, ignore_text, categories)


# Text -----------------------------------------------------------------------------------------------------------------


def _from_text(
    source: Source,
    columns: list[str] | None,
    weights: str | None,
    ignore_text: bool,
    categories: Categories,
    text: TextOptions,
) -> Table:
    layout = sniff(source, text)
    chosen = chosen_columns(source.name, layout.sample.columns, columns, weights)
    chosen, notes = numeric_columns(source.name, layout.sample, chosen, ignore_text, layout, categories)
    wanted = [*chosen, *([] if weights is None or weights in chosen else [weights])]
    values = _gathered(source, layout, wanted, categories)
    notes_found = [*source.notes, layout.note(source.name), *notes]
    return Table(
        values[:, : len(chosen)] if len(wanted) > len(chosen) else values,
        tuple(chosen),
        source.name,
        None if weights is None else values[:, wanted.index(weights)],
        layout.first_line,
        tuple(note for note in notes_found if note),
        cells=lambda: read_cells(source, layout),
    )


def _gathered(source: Source, layout: Layout, wanted: list[str], categories: Categories) -> Array:
    """All blocks in one array, filled in place; pages beyond the last row are never touched, so they take no memory."""
    expected = 1.1 * source.size * layout.sample.height / len(source.head)
    values = np.empty((int(expected), len(wanted)))
    row = 0
    for frame in read_blocks(source, layout, wanted, categories):
        end = row + frame.height
        if end > len(values):
            larger = np.empty((max(end, 2 * len(values)), len(wanted)))
            larger[:row] = values[:row]
            values = larger
        for place, name in enumerate(wanted):
            values[row:end, place] = frame[name].to_numpy()
        row = end
    return values[:row]


# Frames ---------------------------------------------------------------------------------------------------------------


def _json_lines(source: Source) -> pl.DataFrame:
    with source.open() as file:
        return pl.read_ndjson(io.BytesIO(file.read()), infer_schema_length=None)


def _from_columnar(
    source: Source, columns: list[str] | None, weights: str | None, ignore_text: bool, categories: Categories
) -> Table:
    """Parquet and Arrow: the names and kinds of all columns are examined, only those asked for are read."""
    readers = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "arrow-stream": pl.read_ipc_stream}
    options: dict[str, Any] = {"glob": False} if source.kind == "parquet" else {"use_pyarrow": False}
    place = source.plain()

    def fetch(wanted: list[str] | None, **more: Any) -> pl.DataFrame:
        if not isinstance(place, Path):
            place.seek(0)
        return readers[source.kind](place, columns=wanted, **options, **more)

    return _from_frame(source, fetch(None, n_rows=0), fetch, columns, weights, ignore_text, categories)


def _from_frame(
    source: Source,
    header: pl.DataFrame,
    fetch: Callable[[list[str]], pl.DataFrame],
    columns: list[str] | None,
    weights: str | None,
    ignore_text: bool,
    categories: Categories,
) -> Table:
    """The table whose columns `header` has, with rows or without, and `fetch` gets."""
    chosen = chosen_columns(source.name, header.columns, columns, weights)
    chosen, notes = numeric_columns(source.name, header, chosen, ignore_text, None, categories)
    if weights is not None:
        numeric_columns(source.name, header, [weights], False)
    frame = fetch(list(dict.fromkeys([*chosen, *([] if weights is None else [weights])])))
    return Table(
        matrix(coded_frame(frame.select(chosen), categories)),
        tuple(chosen),
        source.name,
        None if weights is None else matrix(frame.select(weights))[:, 0],
        notes=(*source.notes, *notes),
        cells=lambda: fetch(header.columns),
    )


def coded_frame(frame: pl.DataFrame, categories: Categories, first_row: int = 0) -> pl.DataFrame:
    """The frame with categories by their codes."""
    coded = [
        categories.codes(frame[name], lambda row: f"row {first_row + row}")
        for name in frame.columns
        if name in categories
    ]
    return frame.with_columns(coded) if coded else frame


def matrix(frame: pl.DataFrame) -> Array:
    """Rows (n, d) of floats; single columns are not copied where they lie in one piece."""
    single = all(kind == pl.Float32 for kind in frame.dtypes)
    columns = frame.select(pl.all().cast(pl.Float32 if single else pl.Float64))
    return columns.to_series().to_numpy()[:, None] if frame.width == 1 else columns.to_numpy(order="c")


def numeric_columns(
    name: str,
    frame: pl.DataFrame,
    chosen: list[str],
    ignore_text: bool,
    layout: Layout | None = None,
    categories: Categories | None = None,
) -> tuple[list[str], list[str]]:
    """The chosen columns that hold numbers or categories, and a note on text: it is coded, left out, or refused."""
    text = [
        column for column in chosen if column not in (categories or ()) and not _holds_numbers(frame[column], layout)
    ]
    if not text:
        return chosen, []
    if categories is not None and categories.code_text and all(_text_kind(frame[column]) == "text" for column in text):
        categories.add(text)
        return chosen, [f"{name}: the text in {listed(text)} is read as categories"]
    if not ignore_text:
        raise ValueError(f"{name}: {_about_text(frame, text)}")
    left = [column for column in chosen if column not in text]
    if not left:
        raise ValueError(
            f"{name} has no column of numbers among {listed(chosen)}: read text as categories with --categorical"
        )
    return left, [f"{name}: omitted the text in {listed(text)}"]


def _about_text(frame: pl.DataFrame, text: list[str]) -> str:
    """What columns without numbers hold, and what can be done about it."""
    kinds: dict[str, list[str]] = {}
    for column in text:
        kinds.setdefault(_text_kind(frame[column]), []).append(column)
    held = " and ".join(
        f"{'column' if len(own) == 1 else 'columns'} {listed(own)} {'holds' if len(own) == 1 else 'hold'} "
        f"{SEVERAL.get(kind, 'text')}"
        for kind, own in kinds.items()
    )
    own_remedies = [REMEDIES[kind] for kind in kinds if kind != "text"]
    remedies = ["select others with --columns", "use --ignore-text"]
    if "text" in kinds:
        offered = ",".join(kinds["text"])
        remedies = [*remedies, *own_remedies]
        remedies.append(
            f"read {'them' if len(kinds) == 1 else 'text'} as categories with --categorical "
            f"{repr(offered) if ' ' in offered else offered}"
        )
    else:
        remedies = [*own_remedies, *remedies]
    return f"{held}, not numbers: {', '.join(remedies[:-1])}, or {remedies[-1]}"


def _text_kind(column: pl.Series) -> str:
    if column.dtype in (pl.Date, pl.Datetime):
        return "dates"
    if column.dtype in (pl.Time, pl.Duration):
        return "times"
    return kind_of_text(column.drop_nulls().head(100).to_list()) if column.dtype == pl.String else "text"


def _holds_numbers(column: pl.Series, layout: Layout | None) -> bool:
    kind = column.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return True
    if layout is None or kind != pl.String:
        return False
    values = column.drop_nulls()
    numbers = values.to_frame().select(layout.plain(pl.col(column.name)).cast(pl.Float64, strict=False)).to_series()
    if 2 * numbers.null_count() > len(values):
        return False
    # Numbers but for a few cells: a slip, not a column of text.
    numbers_of(column.to_frame(), 0, layout)
    return True


# Arrays ---------------------------------------------------------------------------------------------------------------


def _arrays(source: Source) -> NDArray[Any] | pl.DataFrame:
    """One plain array, or a frame of named columns."""
    content = loaded(source)
    if isinstance(content, np.ndarray) and content.dtype.names:
        return pl.DataFrame({name: content[name] for name in content.dtype.names})
    return content


def array_frame(array: NDArray[Any]) -> pl.DataFrame:
    """The columns of an array, called x0, x1, ..."""
    rows = array.reshape(len(array), prod(array.shape[1:]))
    return pl.DataFrame({f"x{place}": rows[:, place] for place in range(rows.shape[1])})


def loaded(source: Source) -> NDArray[Any] | pl.DataFrame:
    """The array of a NPY file (memory-mapped where it can be) or of an archive; a frame where that has several."""
    try:
        place = source.plain()
        in_place = source.kind == "npy" and source.path is not None and not source.zipped
        content = np.load(place, mmap_mode="r" if in_place else None, allow_pickle=False)
        if not isinstance(content, np.ndarray):
            with content:
                arrays = {name: content[name] for name in content.files}
            if len(arrays) > 1:
                return pl.DataFrame(_columns_of(source.name, arrays))
            (content,) = arrays.values()
    except (ValueError, EOFError, OSError) as error:
        if "Object arrays" in str(error) or "Python objects" in str(error):
            raise ValueError(f"{source.name} holds Python objects, which kmle does not load: save numbers") from None
        raise ValueError(
            f"{source.name} is not a valid {source.kind.upper()} file (possibly truncated): {error}"
        ) from None
    return content


def _columns_of(name: str, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        raise ValueError(
            f"{name} holds arrays of different shapes ({listed(list(arrays))}): save one, or equal columns"
        )
    return arrays


def from_array(source: Source, array: NDArray[Any], columns: list[str] | None, weights: str | None) -> Table:
    """The chosen columns of an array, called x0, x1, ...; not copied where they need not be."""
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{source.name} holds an array of {array.dtype}: numbers are needed")
    if array.ndim not in (1, 2, 3):
        raise ValueError(f"{source.name} holds an array of {array.ndim} dimensions: two are needed, rows and columns")
    rows = array.reshape(len(array), prod(array.shape[1:]))
    names = [f"x{place}" for place in range(rows.shape[1])]
    chosen = chosen_columns(source.name, names, columns, weights)
    places = [names.index(name) for name in chosen]
    taken = rows if chosen == names else rows[:, places]
    if taken.dtype not in (np.float32, np.float64):
        taken = taken.astype(float)
    return Table(
        np.asarray(taken),
        tuple(chosen),
        source.name,
        None if weights is None else rows[:, names.index(weights)].astype(float),
        cells=lambda: array_frame(array),
    )
