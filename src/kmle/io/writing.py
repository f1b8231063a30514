"""`write_table`, `write_batches`: named columns to a file whose extension says the format."""

from __future__ import annotations

import gzip
import io
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .formats import check_batches_output, output_kind
from .outputs import opened_output

Columns = Mapping[str, NDArray[Any]]


def write_table(path: str, columns: Columns) -> None:
    """Writes columns of equal length.

    Parameters
    ----------
    path : str
        The file, in the format of its extension; "-" is CSV on standard output. NPY holds one column as (n,), several
        as a table.
    columns : mapping of str to array
        The columns.
    """
    kind, zipped = output_kind(path)
    text = kind in ("csv", "tsv")
    with opened_output(path, seekable=not text) as file, _system_errors():
        if zipped:
            plain = io.BytesIO()
            _write(plain, kind, columns)
            file.write(gzip.compress(plain.getbuffer(), mtime=0))
        elif text:
            _write_text(file, "\t" if kind == "tsv" else ",", [columns])
        else:
            _write(file, kind, columns)


@contextmanager
def _system_errors() -> Iterator[None]:
    """What the system refuses polars, as errors of the system."""
    try:
        yield
    except pl.exceptions.PolarsError as error:
        found = re.search(r"os error (\d+)", str(error))
        if found is None:
            raise
        raise OSError(int(found[1]), os.strerror(int(found[1]))) from None


def _write(file: BinaryIO, kind: str, columns: Columns) -> None:
    if kind == "npz":
        np.savez(file, **{name: np.asarray(column) for name, column in columns.items()})  # type: ignore[arg-type]
        return
    if kind == "npy":
        np.save(file, _joined(columns), allow_pickle=False)
        return
    frame = pl.DataFrame(dict(columns))
    if kind == "parquet":
        frame.write_parquet(file)
    elif kind == "arrow":
        frame.write_ipc(file)
    else:
        frame.write_csv(file, separator="\t" if kind == "tsv" else ",")


# Batch by batch -------------------------------------------------------------------------------------------------------


def write_batches(path: str, batches: Iterable[Columns]) -> None:
    """Writes columns batch by batch, atomically.

    Parameters
    ----------
    path : str
        The file, in the format of its extension; "-" is CSV on standard output.
    batches : iterable of mapping of str to array
        The columns of each batch.
    """
    check_batches_output(path)
    kind, zipped = output_kind(path)
    separator = "\t" if kind == "tsv" else ","
    with opened_output(path, seekable=kind not in ("csv", "tsv")) as file, _system_errors():
        if kind in ("parquet", "arrow"):
            _sink(file, kind, iter(batches))
        elif kind == "npy":
            _write_array(file, batches)
        elif zipped:
            with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed:
                _write_text(cast(BinaryIO, packed), separator, batches)
        else:
            _write_text(file, separator, batches)


def _write_text(file: BinaryIO, separator: str, batches: Iterable[Columns]) -> None:
    for place, columns in enumerate(batches):
        # Slice by slice through Python's own stream, which knows when nobody reads any more.
        for row, part in enumerate(pl.DataFrame(dict(columns)).iter_slices(1 << 16)):
            header = place == 0 and row == 0
            file.write(part.write_csv(include_header=header, separator=separator).encode())


def _write_array(file: BinaryIO, batches: Iterable[Columns]) -> None:
    """The header is written again at the end, when the number of rows is known: NumPy leaves room for it."""
    n_rows, empty = 0, np.empty(0)
    for columns in batches:
        part = _joined(columns)
        if n_rows == 0:
            empty = part[:0]
            _write_header(file, empty, 0)
        part.tofile(file)
        n_rows += len(part)
    file.seek(0)
    _write_header(file, empty, n_rows)


def _write_header(file: BinaryIO, like: NDArray[Any], n_rows: int) -> None:
    descr = np.lib.format.dtype_to_descr(like.dtype)
    shape = (n_rows, *like.shape[1:])
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})


def _joined(columns: Columns) -> NDArray[Any]:
    arrays = [np.asarray(column) for column in columns.values()]
    for name, array in zip(columns, arrays, strict=True):
        if array.dtype.kind not in "biuf":
            raise ValueError(f"column {name!r} is text, but an array holds only numbers: use .csv or .parquet")
    return arrays[0] if len(arrays) == 1 else np.column_stack(arrays)


def _sink(file: BinaryIO, kind: str, batches: Iterator[Columns]) -> None:
    """Polars asks for batches as it writes, into an open file: one of its own it may still make after it has failed."""
    from polars.io.plugins import register_io_source

    frames = (pl.DataFrame(dict(columns)) for columns in batches)
    first = next(frames)

    def frames_of(*_: Any) -> Iterator[pl.DataFrame]:
        return chain([first], frames)

    lazy = register_io_source(frames_of, schema=first.schema)
    (lazy.sink_parquet if kind == "parquet" else lazy.sink_ipc)(file)
