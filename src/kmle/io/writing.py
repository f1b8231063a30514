"""`write_table`: named columns to a file whose extension says the format."""

import gzip
import io
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import polars as pl
from numpy.typing import NDArray

from .formats import check_output, output_kind


def write_table(path: str, columns: Mapping[str, NDArray[Any]]) -> None:
    """Writes columns of equal length; "-" is CSV on standard output. NPY holds one column flat, several as a table."""
    check_output(path)
    kind, zipped = output_kind(path)
    if path == "-":
        # Slice by slice through Python's own stream, which knows when nobody reads any more.
        for place, part in enumerate(pl.DataFrame(dict(columns)).iter_slices(1 << 16)):
            sys.stdout.buffer.write(part.write_csv(include_header=place == 0).encode())
        sys.stdout.buffer.flush()
        return
    try:
        with Path(path).open("wb") as file:
            if zipped:
                plain = io.BytesIO()
                _write(plain, kind, columns)
                file.write(gzip.compress(plain.getbuffer(), mtime=0))
            else:
                _write(file, kind, columns)
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None


def _write(file: BinaryIO, kind: str, columns: Mapping[str, NDArray[Any]]) -> None:
    if kind == "npz":
        np.savez(file, **columns)  # type: ignore[arg-type]
        return
    if kind == "npy":
        arrays = list(columns.values())
        np.save(file, arrays[0] if len(arrays) == 1 else np.column_stack(arrays), allow_pickle=False)
        return
    frame = pl.DataFrame(dict(columns))
    if kind == "parquet":
        frame.write_parquet(file)
    elif kind == "arrow":
        frame.write_ipc(file)
    else:
        frame.write_csv(file, separator="\t" if kind == "tsv" else ",")
