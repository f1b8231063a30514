"""The data behind the page: all columns that hold numbers, and those that may hold known classes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..data.guess import Guess, constant_columns, guess_family, index_columns
from ..data.intervals import Intervals
from ..io.table import Table
from ..numerics.arrays import Array
from .censoring import Censoring, event_columns, is_upper
from .provenance import FromFile, FromMemory, Provenance

# Columns chosen at first, classes that labels may have, and rows among which few distinct numbers are classes.
FIRST_COLUMNS, MOST_CLASSES = 8, 20


@dataclass(frozen=True, eq=False)
class Source:
    """A table as the page sees it; missing values are NaN."""

    rows: Array
    columns: tuple[str, ...]
    name: str
    provenance: Provenance
    row_name: Callable[[int], str] = str
    weights: Array | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    find_classes: Callable[[], Mapping[str, NDArray[Any]]] = dict
    notes: tuple[str, ...] = ()

    @cached_property
    def classes(self) -> Mapping[str, NDArray[Any]]:
        """Columns of few values, by name: they may be the classes of rows; None or -1 where unknown."""
        return self.find_classes()

    @cached_property
    def has_missing(self) -> bool:
        """Whether a value is missing."""
        return bool(np.isnan(self.rows).any())

    @cached_property
    def events(self) -> list[str]:
        """The columns that may say whether values are censored."""
        return event_columns(self.rows, self.columns) if len(self.columns) > 1 else []

    def is_upper(self, lower: str, upper: str) -> bool:
        """Whether a column may hold the upper bounds of another."""
        return is_upper(self.values(lower), self.values(upper))

    @property
    def first_columns(self) -> list[str]:
        """The columns that are chosen at first: those that measure something."""
        left_out = {*index_columns(self.rows, self.columns), *constant_columns(self.rows, self.columns)}
        names = [name for name in self.columns if name not in left_out] or list(self.columns)
        return names[:FIRST_COLUMNS]

    def chosen(self, columns: tuple[str, ...], drop_missing: bool, censoring: Censoring | None = None) -> "Chosen":
        """These columns, each choice prepared once."""
        return _chosen(self, columns, drop_missing, censoring)

    def values(self, name: str) -> Array:
        """One column."""
        return self.rows[:, self.columns.index(name)]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The rows of the chosen columns; `kept` are their numbers where some were left out."""

    rows: Array
    columns: tuple[str, ...]
    kept: NDArray[np.intp] | None
    guess: Guess
    intervals: Intervals | None = None

    @property
    def data(self) -> Any:
        """The rows as they are learned: intervals where values are censored."""
        return self.rows if self.intervals is None else self.intervals

    def number(self, row: int) -> int:
        """The number of a row in the data."""
        return row if self.kept is None else int(self.kept[row])


@lru_cache(maxsize=4)
def _chosen(source: Source, columns: tuple[str, ...], drop_missing: bool, censoring: Censoring | None) -> Chosen:
    rows = np.ascontiguousarray(source.rows[:, [source.columns.index(name) for name in columns]])
    missing = np.isnan(rows)
    kept = None
    if drop_missing and missing.any():
        kept = np.flatnonzero(~missing.any(axis=1))
        rows = rows[kept]
    if len(rows) == 0:
        raise ValueError("every row has a missing value: use the rest of the rows, or choose other columns")
    if missing.all(axis=0).any():
        empty = columns[int(missing.all(axis=0).argmax())]
        raise ValueError(f"column {empty!r} has no entry, all its values are missing: choose other columns")
    guess = guess_family(rows, columns, source.categories)
    if censoring is None:
        return Chosen(rows, columns, kept, guess)
    if len(columns) > 1:
        others = " and ".join(map(repr, columns[:3])) + (", ..." if len(columns) > 3 else "")
        raise ValueError(f"censored values are one column, but {others} are chosen: choose one of them")
    return Chosen(rows, columns, kept, guess, censoring.intervals(rows[:, 0], source.values(censoring.column)))


def from_table(table: Table, name: str, provenance: FromFile) -> Source:
    """A table that was read with missing values as NaN."""
    return Source(
        np.asarray(table.rows),
        table.columns,
        name,
        provenance,
        table.row_name,
        table.weights,
        table.categories,
        partial(_classes_of, table),
        table.notes,
    )


def from_array(X: ArrayLike, columns: Sequence[str] | None = None) -> Source:
    """An array or a data frame; `columns` names those of an array, or chooses those of a frame."""
    given: Any = X
    frame = getattr(given, "columns", None)
    if frame is not None and columns is not None:
        given = given[list(columns)]
        frame = given.columns
    try:
        rows = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("X must hold numbers: leave columns of text out with columns=[...]") from None
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"X has the shape {rows.shape}: rows and columns are needed")
    names = [str(name) for name in frame] if frame is not None else _names(rows.shape[1], columns)
    if len(set(names)) < len(names):
        raise ValueError("two columns have the same name: rename one")
    found = partial(_numbered_classes, names, rows)
    return Source(rows, tuple(names), "X", FromMemory(tuple(names), frame is not None), find_classes=found)


def _numbered_classes(names: Sequence[str], rows: Array) -> dict[str, NDArray[Any]]:
    """The columns of few whole numbers; missing ones are unknown."""
    classes = {name: column for name, column in zip(names, rows.T, strict=True) if _few_values(column)}
    return {name: _as_classes(column) for name, column in classes.items()}


def _as_classes(column: Array) -> NDArray[np.intp]:
    return np.where(np.isnan(column), -1, column).astype(np.intp)


def _names(width: int, columns: Sequence[str] | None) -> list[str]:
    if columns is None:
        return [f"column {place}" for place in range(width)] if width > 1 else ["x"]
    names = [str(name) for name in columns]
    if len(names) != width:
        raise ValueError(f"columns has {len(names)} names but X has {width} columns")
    return names


def _classes_of(table: Table) -> dict[str, NDArray[Any]]:
    """The columns of a file with few values, also those of text."""
    if table.cells is None:
        return {}
    found: dict[str, NDArray[Any]] = {}
    cells = table.cells()
    for name in cells.columns:
        values = cells[name]
        if values.n_unique() > MOST_CLASSES + 1:
            continue
        if values.dtype.is_numeric():
            column = values.cast(float, strict=False).fill_null(np.nan).to_numpy()
            if _few_values(column):
                found[name] = _as_classes(column)
        else:
            found[name] = np.array(values.cast(str).to_list(), dtype=object)
    return found


def _few_values(column: Array) -> bool:
    """Whether a column holds few different whole numbers from zero on."""
    sample = column[: 10 * MOST_CLASSES]
    if len(np.unique(sample[np.isfinite(sample)])) > MOST_CLASSES:
        return False
    known = column[~np.isnan(column)]
    if known.size == 0 or known.min() < 0 or known.max() == np.inf or not (np.floor(known) == known).all():
        return False
    return 2 <= len(np.unique(known)) <= MOST_CLASSES
