"""`open_stream`: a table in a file larger than memory, read batch after batch as often as it takes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import TypeVar

from ..numerics.arrays import Array
from .categories import Categories
from .formats import open_source
from .pieces import Batch, Pieces, pieces_of
from .reading import readable
from .table import Table, check_weights, complete_rows, kept_rows, left_out
from .text import TextOptions

# A batch holds about this many bytes of numbers; two or three are in memory at a time.
BATCH_BYTES = 32 << 20
# Nor more rows than this: what a fit works out for each of them takes memory as well.
BATCH_ROWS = 1 << 18

T = TypeVar("T")


class TableStream:
    """A table that every iteration reads from its file: batches of rows (m, d), or pairs of rows and weights if it has
    any. `open_stream` makes it.

    Parameters
    ----------
    path : Path
        The file.
    pieces : Pieces
        The file in pieces, as they are read.
    batch_rows : int
        The number of rows of a batch.
    drop_missing : bool
        Whether rows with missing entries are left out.
    keep_missing : bool, default=False
        Whether missing entries become NaN instead of an error.

    Attributes
    ----------
    columns : tuple of str
        The names of the columns that a batch holds.
    n_rows : int or None
        The number of rows of the file; None until it is known, at the latest after the first whole pass.
    n_dropped : int or None
        The number of rows left out; None until it is known.
    """

    def __init__(
        self, path: Path, pieces: Pieces, batch_rows: int, drop_missing: bool, keep_missing: bool = False
    ) -> None:
        self.source = str(path)
        self.columns = pieces.columns
        self.notes = pieces.notes
        self.batch_rows = batch_rows
        self.categories: Mapping[str, tuple[str, ...]] = {}
        self.n_rows = pieces.n_rows
        self.n_dropped: int | None = None if drop_missing else 0
        self._path = path
        self._pieces = pieces
        self._drop_missing, self._keep_missing = drop_missing, keep_missing
        self._stamp = _stamp(path)

    @property
    def n_features(self) -> int:
        """How many columns a batch has."""
        return len(self.columns)

    @property
    def n_responsibilities(self) -> int | None:
        """How many rows there are to use; None until that is known."""
        return None if self.n_rows is None or self.n_dropped is None else self.n_rows - self.n_dropped

    def row_name(self, row: int) -> str:
        """How to speak of a row among those used: by its number and, in a text file, its line.

        Parameters
        ----------
        row : int
            Its place among the rows used, from 0.

        Returns
        -------
        str
            Such as 'row 3 (line 5)'.
        """
        line = self._pieces.first_line
        return f"row {row}" if line is None or self.n_dropped != 0 else f"row {row} (line {row + line})"

    def __iter__(self) -> Generator[Array | Batch, None, None]:
        """A fresh pass over the file; the next batch is read while the latest one is in use."""
        with closing(self.parts()) as parts:
            for part in parts:
                yield part.rows if part.weights is None else (part.rows, part.weights)

    def parts(self) -> Generator[Table, None, None]:
        """Reads the file once more, in batches.

        Returns
        -------
        iterator of Table
            The batches, which know the numbers of their rows.
        """
        return one_ahead(self._parts())

    def _parts(self) -> Generator[Table, None, None]:
        self._check_unchanged()
        seen = kept = 0
        with readable(self.source), closing(self._pieces.batches(self.batch_rows)) as batches:
            for rows, weights in batches:
                part = Table(rows, self.columns, self.source, weights, self._pieces.first_line, first_row=seen)
                if self._keep_missing:
                    check_weights(part)
                elif (keep := complete_rows(part, self._drop_missing)) is not None:
                    part = kept_rows(part, keep)
                seen += len(rows)
                kept += len(part)
                if len(part):
                    yield part
        self._count(seen, kept)

    def _count(self, seen: int, kept: int) -> None:
        """What a whole pass has found, which no later one may contradict."""
        if seen == 0:
            raise ValueError(f"{self.source} has a header but no rows")
        if kept == 0:
            raise ValueError(f"{self.source} has a missing value in every row")
        self._check_unchanged()
        if self.n_rows not in (None, seen):
            raise ValueError(_changed(self.source))
        if self.n_dropped is None and kept < seen:
            self.notes = (*self.notes, left_out(seen - kept, seen))
        self.n_rows, self.n_dropped = seen, seen - kept

    def _check_unchanged(self) -> None:
        if not self._path.is_file() or _stamp(self._path) != self._stamp:
            raise ValueError(_changed(self.source))


def open_stream(
    path: str,
    columns: Sequence[str] | None = None,
    weights: str | None = None,
    *,
    ignore_text: bool = False,
    drop_missing: bool = False,
    keep_missing: bool = False,
    categories: Mapping[str, Sequence[str] | None] | None = None,
    text: TextOptions | None = None,
    batch_rows: int | None = None,
) -> TableStream:
    """Opens a CSV, TSV (also gzipped), Parquet, Arrow or NPY file as batches; it reads only the beginning.

    Parameters
    ----------
    path : str
        The file.
    columns, weights, ignore_text, drop_missing, keep_missing, categories, text
        As in `read_table`. Errors in the data are raised when their batch is read.
    batch_rows : int, default=None
        The rows of a batch; None is as many as make 32 MB, at most 262144.

    Returns
    -------
    TableStream
        The batches, which `fit` takes.

    Examples
    --------
    >>> from importlib.resources import files
    >>> stream = open_stream(str(files("kmle") / "io" / "faithful.csv"), batch_rows=100)
    >>> stream.columns, [len(batch) for batch in stream]
    (('eruptions', 'waiting'), [100, 100, 72])
    """
    if path == "-" or Path(path).is_fifo():
        what = "standard input" if path == "-" else f"{path} is a pipe, which"
        raise ValueError(f"{what} can be read only once, but --stream reads it many times: save it to a file first")
    if batch_rows is not None and batch_rows < 1:
        raise ValueError(f"batch_rows is {batch_rows}: a batch has at least one row")
    text, coder = text or TextOptions(), Categories(categories)
    if coder.open:
        raise ValueError("--categorical cannot be combined with --stream: the categories must be known beforehand")
    with readable(path):
        source = open_source(path, text.encoding)
        pieces = pieces_of(source, None if columns is None else list(columns), weights, ignore_text, coder, text)
    if pieces.n_rows == 0:
        raise ValueError(f"{path} has a header but no rows")
    size = min(BATCH_ROWS, max(1, BATCH_BYTES // pieces.row_bytes)) if batch_rows is None else batch_rows
    stream = TableStream(Path(path), pieces, size, drop_missing, keep_missing)
    stream.categories = {name: tuple(levels) for name, levels in (categories or {}).items() if levels is not None}
    return stream


def one_ahead(items: Generator[T, None, None]) -> Generator[T, None, None]:
    """The same items, each made in a thread while the one before it is in use; the thread ends with the iteration.

    >>> list(one_ahead(number for number in range(3)))
    [0, 1, 2]
    """
    with closing(items), ThreadPoolExecutor(1, "kmle-reader") as reader:
        coming = reader.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = reader.submit(next, items, None)
            yield item


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def _changed(source: str) -> str:
    return f"{source} changed while it was read: start again when no other program writes to it"
