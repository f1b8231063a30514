"""The formats batch by batch: how each reads some of its rows without the others."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from ..numerics.arrays import Array
from .categories import Categories
from .formats import Source
from .reading import array_frame, coded_frame, from_array, loaded, matrix, numeric_columns
from .table import chosen_columns
from .text import TextOptions, read_blocks, sniff

Batch = tuple[Array, Array | None]
"""Rows (m, d) and their weights."""

Frames = Callable[[list[str], int], Iterator[pl.DataFrame]]
"""Reads the columns of these names in frames of a number of rows."""

# Compressed columns are decoded for about this many bytes of batches at a time: a row group of millions of rows would
# otherwise be decoded again for every batch in it.
DECODED_BYTES = 16 << 20


@dataclass(frozen=True, eq=False)
class Pieces:
    """The columns of a table and a way to go through its rows."""

    columns: tuple[str, ...]
    batches: Callable[[int], Generator[Batch, None, None]]
    """Batches of that many rows, from the first row on."""
    row_bytes: int
    n_rows: int | None = None
    first_line: int | None = None
    notes: tuple[str, ...] = ()


def pieces_of(
    source: Source,
    columns: list[str] | None,
    weights: str | None,
    ignore_text: bool,
    categories: Categories,
    text: TextOptions,
) -> Pieces:
    """How to read this file in pieces; one sentence where its format has none."""
    if source.kind == "text":
        return _of_text(source, columns, weights, ignore_text, categories, text)
    _check_divisible(source)
    if source.kind == "npy":
        return _of_array(source, columns, weights, ignore_text, categories)
    assert source.path is not None  # what comes through a pipe is text, or refused above
    scan = (pl.scan_parquet if source.kind == "parquet" else pl.scan_ipc)(source.path, glob=False)
    empty = pl.DataFrame(schema=scan.collect_schema())
    n_rows = scan.select(pl.len()).collect().item()

    def frames(names: list[str], size: int) -> Iterator[pl.DataFrame]:
        count = size * max(1, DECODED_BYTES // (8 * len(names) * size))
        for start in range(0, n_rows, count):
            # The streaming engine decodes what a slice needs; the other one decodes all that lies near it.
            decoded = scan.select(names).slice(start, count).collect(engine="streaming")
            yield from decoded.iter_slices(size)

    return _of_frames(source, empty, n_rows, frames, columns, weights, ignore_text, categories)


def _check_divisible(source: Source) -> None:
    """Refuses what can only be read from one end to the other, or as a whole."""
    if source.zipped:
        raise ValueError(f"{source.name} is gzipped, so it cannot be read in pieces: gunzip it first")
    if source.kind == "npz":
        raise ValueError(f"{source.name} is an archive, so it cannot be read in pieces: save the array as .npy")
    if source.kind in ("excel", "json lines"):
        what = "a spreadsheet" if source.kind == "excel" else "in JSON lines"
        raise ValueError(f"{source.name} is {what}, which cannot be read in pieces: save it as CSV or Parquet")
    if source.kind == "arrow-stream":
        raise ValueError(
            f"{source.name} is an Arrow stream, which has no index: save it as an Arrow file or as Parquet"
        )


# Text -----------------------------------------------------------------------------------------------------------------


def _of_text(
    source: Source,
    columns: list[str] | None,
    weights: str | None,
    ignore_text: bool,
    categories: Categories,
    text: TextOptions,
) -> Pieces:
    layout = sniff(source, text)
    chosen = chosen_columns(source.name, layout.sample.columns, columns, weights)
    chosen, notes = numeric_columns(source.name, layout.sample, chosen, ignore_text, layout, categories)
    wanted = [*chosen, *([] if weights is None or weights in chosen else [weights])]

    def batches(size: int) -> Generator[Batch, None, None]:
        frames = read_blocks(source, layout, wanted, categories)
        yield from (_batch(frame, chosen, weights) for frame in _regrouped(frames, size))

    notes_found = [*source.notes, layout.note(source.name), *notes]
    n_rows = None if layout.sample.height else 0
    return Pieces(
        tuple(chosen), batches, 8 * len(wanted), n_rows, layout.first_line, tuple(note for note in notes_found if note)
    )


def _regrouped(frames: Iterator[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """The same rows in frames of `size` rows, but for the last."""
    waiting: list[pl.DataFrame] = []
    height = 0
    for frame in frames:
        waiting.append(frame)
        height += frame.height
        if height >= size:
            joined = pl.concat(waiting)
            whole = height - height % size
            yield from joined.head(whole).iter_slices(size)
            waiting = [joined.tail(height - whole)]
            height -= whole
    if height:
        yield pl.concat(waiting)


def _batch(frame: pl.DataFrame, chosen: list[str], weights: str | None) -> Batch:
    return matrix(frame.select(chosen)), None if weights is None else matrix(frame.select(weights))[:, 0]


# Frames ---------------------------------------------------------------------------------------------------------------


def _of_frames(
    source: Source,
    empty: pl.DataFrame,
    n_rows: int,
    frames: Frames,
    columns: list[str] | None,
    weights: str | None,
    ignore_text: bool,
    categories: Categories,
) -> Pieces:
    """Named columns that `frames(names, size)` reads in frames of that many rows, from the first row on."""
    chosen = chosen_columns(source.name, empty.columns, columns, weights)
    chosen, notes = numeric_columns(source.name, empty, chosen, ignore_text, None, categories)
    if weights is not None:
        numeric_columns(source.name, empty, [weights], False)
    wanted = list(dict.fromkeys([*chosen, *([] if weights is None else [weights])]))

    def batches(size: int) -> Generator[Batch, None, None]:
        start = 0
        for frame in frames(wanted, size):
            yield _batch(coded_frame(frame, categories, start), chosen, weights)
            start += len(frame)

    return Pieces(tuple(chosen), batches, 8 * len(wanted), n_rows, notes=tuple(notes))


# Arrays ---------------------------------------------------------------------------------------------------------------


def _of_array(
    source: Source, columns: list[str] | None, weights: str | None, ignore_text: bool, categories: Categories
) -> Pieces:
    array = loaded(source)
    assert isinstance(array, np.ndarray)
    if array.dtype.names:
        empty = pl.DataFrame({name: np.empty(0, array.dtype[name]) for name in array.dtype.names})
        fields = _fields(source, len(array))
        return _of_frames(source, empty, len(array), fields, columns, weights, ignore_text, categories)
    if categories:
        empty = array_frame(array[:0])
        places = _places(source, len(array))
        return _of_frames(source, empty, len(array), places, columns, weights, ignore_text, categories)
    none = from_array(source, array[:0] if array.ndim else array, columns, weights)
    n_rows = len(array)

    def batches(size: int) -> Generator[Batch, None, None]:
        for start in range(0, n_rows, size):
            # Mapped anew for each batch: pages that are no longer mapped take no memory of this process.
            mapped = loaded(source)
            assert isinstance(mapped, np.ndarray)
            part = from_array(source, mapped[start : start + size], columns, weights)
            yield np.array(part.rows, order="C"), part.weights

    return Pieces(none.columns, batches, none.rows.itemsize * len(none.columns), n_rows)


def _places(source: Source, n_rows: int) -> Frames:
    """Reads the rows of an array whose columns are called x0, x1, ..."""

    def frames(names: list[str], size: int) -> Iterator[pl.DataFrame]:
        mapped = loaded(source)
        assert isinstance(mapped, np.ndarray)
        for start in range(0, n_rows, size):
            yield array_frame(np.array(mapped[start : start + size])).select(names)

    return frames


def _fields(source: Source, n_rows: int) -> Frames:
    """Reads the records of an array that has names."""

    def frames(names: list[str], size: int) -> Iterator[pl.DataFrame]:
        for start in range(0, n_rows, size):
            records = loaded(source)[start : start + size]
            yield pl.DataFrame({name: np.array(records[name]) for name in names})

    return frames
