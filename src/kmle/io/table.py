"""A table read from a file: rows of numbers, the names of their columns, perhaps weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.guess import listed as listed
from ..numerics.arrays import Array


@dataclass(frozen=True, eq=False)
class Table:
    """Rows (n, d) as a fit takes them, and what is needed to speak about them.

    Attributes
    ----------
    rows : array (n, d)
        The rows as a fit takes them.
    columns : tuple of str
        The names of the columns.
    source : str
        Where the table comes from, for messages.
    weights : array (n,) or None
        The weights of the rows.
    first_line : int or None
        The line of row 0 in a text file, counted from one; None where rows are not lines.
    notes : tuple of str
        What reading changed.
    first_row : int or None
        The number of row 0 where this is a part of a table; None for a whole one.
    kept : array (n,) of int or None
        The numbers of the rows in the file, where some were left out; None where none was.
    categories : mapping
        The names of the categories, by column, that the codes in the rows stand for.
    cells : callable or None
        All columns of the file as they are, in a polars frame.
    """

    rows: Array
    columns: tuple[str, ...]
    source: str
    weights: Array | None = None
    first_line: int | None = None
    notes: tuple[str, ...] = ()
    first_row: int | None = None
    kept: NDArray[np.intp] | None = None
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cells: Callable[[], Any] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def parts(self) -> Iterator[Table]:
        """Returns the table in parts that fit in memory: itself.

        Returns
        -------
        iterator of Table
            The parts.
        """
        yield self

    def row_name(self, row: int) -> str:
        """How to speak of a row: by its number and, in a text file, its line.

        Parameters
        ----------
        row : int
            Its place among the rows of the table, from 0.

        Returns
        -------
        str
            Such as 'row 3 (line 5)'.
        """
        number = int(self.row_numbers()[row])
        return f"row {number}" if self.first_line is None else f"row {number} (line {number + self.first_line})"

    def row_numbers(self) -> NDArray[np.intp]:
        """Returns the number of each row in the file, from zero.

        Returns
        -------
        array (n,) of int
            The numbers.
        """
        first = self.first_row or 0
        return np.arange(first, first + len(self.rows)) if self.kept is None else self.kept


def chosen_columns(source: str, present: list[str], wanted: list[str] | None, weights: str | None) -> list[str]:
    """The columns asked for, or all but the weights; a name that is not there gets the nearest one suggested."""
    for name in [*(wanted or []), *([] if weights is None else [weights])]:
        if name not in present:
            near = get_close_matches(name, present, n=1, cutoff=0.5) or _same_letters(name, present)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"{source} has no column {name!r}: {hint}it has {listed(present)}")
    if wanted is not None and (twice := [name for name in wanted if wanted.count(name) > 1]):
        raise ValueError(f"the column {twice[0]!r} is named twice: name each column once")
    chosen = [name for name in present if name != weights] if wanted is None else list(wanted)
    if not chosen:
        raise ValueError(f"{source} has no columns besides the weights")
    return chosen


def _same_letters(name: str, present: list[str]) -> list[str]:
    return [other for other in present if other.casefold() == name.casefold()]


def without_missing(table: Table, drop: bool) -> Table:
    """The table if no value is missing; else one sentence about the first, or, on demand, the complete rows only."""
    keep = complete_rows(table, drop)
    if keep is None:
        return table
    if not keep.any():
        raise ValueError(f"{table.source} has a missing value in every row")
    dropped = int(len(keep) - keep.sum())
    return kept_rows(table, keep, notes=(*table.notes, left_out(dropped, len(keep))))


def kept_rows(table: Table, keep: NDArray[np.bool_], **changes: Any) -> Table:
    """The table with these rows only, which know their numbers in the file."""
    weights = None if table.weights is None else table.weights[keep]
    return replace(table, rows=table.rows[keep], weights=weights, kept=table.row_numbers()[keep], **changes)


def left_out(dropped: int, n_rows: int) -> str:
    """The note on rows that are not used."""
    verb = "was" if dropped == 1 else "were"
    return f"{dropped} of {n_rows} rows with missing values {verb} dropped"


def complete_rows(table: Table, drop: bool) -> NDArray[np.bool_] | None:
    """Which rows are complete, None for all; one sentence about the first gap unless such rows are to be dropped."""
    missing = _missing(table.rows)
    gaps = None if table.weights is None else _missing(table.weights)
    if missing is None and gaps is None:
        return None
    if not drop:
        raise ValueError(_first_gap(table, missing, gaps))
    keep = np.ones(len(table), dtype=bool)
    for marks in (missing, gaps):
        if marks is not None:
            keep &= ~marks.reshape(len(marks), -1).any(axis=1)
    return keep


def check_weights(table: Table) -> None:
    """Refuses missing weights; entries of the rows may be missing."""
    gaps = None if table.weights is None else _missing(table.weights)
    if gaps is not None:
        raise ValueError(_first_gap(table, None, gaps))


def _missing(values: Array) -> NDArray[np.bool_] | None:
    """Where values are NaN; None, and no array, when none is."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = values.sum(dtype=float)
    if not np.isnan(total):
        return None
    marks = np.isnan(values)
    return marks if marks.any() else None


def _first_gap(table: Table, missing: NDArray[Any] | None, gaps: NDArray[Any] | None) -> str:
    if missing is None:
        assert gaps is not None
        count, row, where = int(gaps.sum()), int(np.argmax(gaps)), "the weights"
    else:
        flat = missing.reshape(len(missing), -1)
        count, row = int(flat.sum()), int(np.argmax(flat.any(axis=1)))
        where = f"column {table.columns[int(np.argmax(flat[row]))]!r}"
    # A part of a table does not know how many values the other parts miss.
    message = (
        "a value is missing" if count == 1 or table.first_row is not None else f"{count} values are missing, the first"
    )
    return (
        f"{table.source}: {message} in {table.row_name(row)}, {where}: "
        "fill it in, or drop incomplete rows with --drop-missing"
    )
