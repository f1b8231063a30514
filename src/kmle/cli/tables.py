"""Which table to read and how, as the options say it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .interruption import deferred
from .options import split_columns
from .terminal import Terminal

if TYPE_CHECKING:
    from ..io import Table, TableStream

# A file from this size on takes longer to read than the estimators to load.
BIG_BYTES = 32 << 20
LEARNING = "kmle.estimators.learn"
SELECTING = "kmle.estimators.comparison"


@dataclass(frozen=True)
class Asked:
    """The table's path and the options that say how to read it."""

    path: str
    columns: str | None = None
    weights: str | None = None
    ignore_text: bool = False
    drop_missing: bool = False
    categorical: str | None = None
    header: bool | None = None
    separator: str | None = None
    encoding: str | None = None
    thousands: str | None = None
    code_text: bool = False
    """Whether columns of text are categories."""

    def options(self, columns: list[str] | None, levels: Mapping[str, tuple[str, ...]] | None) -> dict[str, Any]:
        """As `read_table` and `open_stream` take them; the levels of categories are those known, or found."""
        from ..io.text import TextOptions

        named = split_columns(self.categorical, "--categorical") or []
        return {
            "columns": split_columns(self.columns) or columns,
            "weights": self.weights,
            "ignore_text": self.ignore_text,
            "drop_missing": self.drop_missing,
            "keep_missing": not self.drop_missing,
            "categories": dict.fromkeys(named) | dict(levels or {}),
            "text": TextOptions(self.header, self.separator, self.encoding, self.thousands),
        }


def read(
    terminal: Terminal,
    asked: Asked,
    *,
    loading: str = LEARNING,
    leaves_out: bool = False,
    target: str | None = None,
    columns: list[str] | None = None,
    levels: Mapping[str, tuple[str, ...]] | None = None,
) -> Table:
    """The table, with notes on what was found; what is needed next is loaded meanwhile.

    Where it `leaves_out` them, columns that number the rows or have no entry are not used unless --columns names them;
    a `target` without entries stays.
    """
    # Loaded before anything is loaded meanwhile: NumPy must not be loaded by two threads at once.
    with deferred():
        from ..io.reading import read_table

    with terminal.working(f"reading {asked.path}"), _meanwhile(loading, asked.path):
        table = read_table(asked.path, code_text=asked.code_text, **asked.options(columns, levels))
    for note in table.notes:
        terminal.note(f"note: {note}")
    if leaves_out and asked.columns is None:
        for choose in (partial(_without_empty, target=target), _without_ids):
            left = choose(terminal, table)
            table = table if left is None else with_columns(table, left)
    terminal.detail(f"{table.source}: {counted(len(table), 'row')} of {', '.join(table.columns)}")
    return table


def open_table(
    terminal: Terminal,
    asked: Asked,
    *,
    leaves_out: bool = False,
    columns: list[str] | None = None,
    levels: Mapping[str, tuple[str, ...]] | None = None,
) -> TableStream:
    """The table as a stream, with notes on its beginning."""
    with deferred():
        from ..io.streaming import open_stream

    stream = open_stream(asked.path, **asked.options(columns, levels))
    if leaves_out and asked.columns is None:
        left = _without_ids(terminal, next(iter(stream.parts())))
        stream = stream if left is None else open_stream(asked.path, **asked.options(left, levels))
    for note in stream.notes:
        terminal.note(f"note: {note}")
    known = "" if stream.n_rows is None else f"{counted(stream.n_rows, 'row')} of "
    batches = f"in batches of {counted(stream.batch_rows, 'row')}"
    terminal.detail(f"{asked.path}: {known}{', '.join(stream.columns)}, {batches}")
    return stream


def with_groups(terminal: Terminal, table: Table) -> Table:
    """The table with columns of two whole numbers, as 1 and 2, as categories; what they are called is in the file."""
    import numpy as np

    from ..data.guess import two_valued_columns
    from ..io.categories import levels_of
    from ..io.table import listed

    if table.cells is None:
        return table
    names = [name for name in two_valued_columns(table.rows, table.columns) if name not in table.categories]
    if not names:
        return table
    cells, rows, found = table.cells(), np.array(table.rows, dtype=float), dict(table.categories)
    for name in names:
        levels = levels_of(cells[name])
        if len(levels) == 2:
            values = rows[:, table.columns.index(name)]
            values[~np.isnan(values)] = values[~np.isnan(values)] == np.nanmax(values)
            found[name] = tuple(levels)
    coded = [name for name in names if name in found]
    if not coded:
        return table
    what = f"column {listed(coded)} holds" if len(coded) == 1 else f"columns {listed(coded)} hold"
    terminal.note(f"note: {what} two whole numbers and {'is' if len(coded) == 1 else 'are'} read as categories")
    return replace(table, rows=rows, categories=found)


def _without_ids(terminal: Terminal, table: Table) -> list[str] | None:
    """The columns but for those that number the rows, which are named; None for all."""
    from ..data.guess import index_columns
    from ..io.table import listed

    ids = index_columns(table.rows, table.columns)
    if not ids:
        return None
    what = f"column {listed(ids)} numbers" if len(ids) == 1 else f"columns {listed(ids)} number"
    verb, bring = ("was", "it") if len(ids) == 1 else ("were", "them")
    terminal.note(f"note: {table.source}: {what} the rows and {verb} omitted (select {bring} with --columns)")
    return [name for name in table.columns if name not in ids]


def _without_empty(terminal: Terminal, table: Table, target: str | None) -> list[str] | None:
    """The columns with entries and the target, where others have none, which are named; None for all."""
    import numpy as np

    from ..io.table import listed

    if not len(table):
        return None
    # Few columns begin with a missing entry: only these are read to the end.
    maybe = [j for j in np.flatnonzero(np.isnan(table.rows[0])) if table.columns[j] != target]
    empty = [j for j in maybe if np.isnan(table.rows[:, j]).all()]
    if not empty or len(empty) == len(table.columns):
        return None
    names = [table.columns[j] for j in empty]
    what, verb = ("column", "has no entry and was") if len(names) == 1 else ("columns", "have no entry and were")
    terminal.note(f"note: {table.source}: {what} {listed(names, 4)} {verb} omitted")
    return [name for name in table.columns if name not in names]


def with_columns(table: Table, names: list[str]) -> Table:
    """The table with these of its columns only."""
    from dataclasses import replace

    import numpy as np

    places = [table.columns.index(name) for name in names]
    return replace(table, rows=np.ascontiguousarray(table.rows[:, places]), columns=tuple(names))


def counted(count: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "row"), counted(2, "row")
    ('1 row', '2 rows')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


@contextmanager
def _meanwhile(module: str, path: str) -> Iterator[None]:
    """Loads a module while a big file is read: parsing needs no Python, loading hardly anything else."""
    place = Path(path)
    if not place.is_file() or place.stat().st_size < BIG_BYTES:
        yield
        return
    loading = threading.Thread(target=import_module, args=(module,))
    loading.start()
    try:
        yield
    finally:
        loading.join()
