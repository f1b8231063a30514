"""Categories: columns whose values are names, read as codes 0, 1, 2, ... in the order of the names."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

# How the words for missing values are written in text.
MISSING = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "None", "?"]


class Categories:
    """The columns that are categories, each with its levels: those that are known, or those found so far.

    With `code_text` columns of text are categories too.
    """

    def __init__(self, asked: Mapping[str, Sequence[str] | None] | None = None, code_text: bool = False) -> None:
        self.code_text = code_text
        self._levels: dict[str, list[str]] = {name: list(levels or []) for name, levels in (asked or {}).items()}
        self._known = {name for name, levels in (asked or {}).items() if levels is not None}

    def __contains__(self, name: object) -> bool:
        return name in self._levels

    def __bool__(self) -> bool:
        return bool(self._levels)

    @property
    def open(self) -> list[str]:
        """Columns whose levels are still to be found."""
        return [name for name in self._levels if name not in self._known]

    def add(self, columns: Sequence[str]) -> None:
        """Makes more columns categories, whose levels are still to be found."""
        self._levels.update({name: [] for name in columns})

    def check(self, source: str, chosen: Sequence[str]) -> None:
        """Refuses categories that are not among the columns used."""
        for name in self.open:
            if name not in chosen:
                raise ValueError(f"{source}: --categorical names {name!r}, which is not among the columns in use")

    def codes(self, column: pl.Series, row_name: Callable[[int], str]) -> pl.Series:
        """The column as codes; a level that is not known is named, with its row."""
        levels = self._levels[column.name]
        values = column.cast(pl.String).str.strip_chars()
        values = values.set(values.is_in(MISSING), None)
        for level in values.drop_nulls().unique(maintain_order=True).to_list():
            if level in levels:
                continue
            if column.name in self._known:
                row = int((values == level).arg_max() or 0)
                known = ", ".join(repr(other) for other in levels[:8]) + (", ..." if len(levels) > 8 else "")
                raise ValueError(
                    f"{row_name(row)}, column {column.name!r} holds {level!r}, which is not in the model: "
                    f"its categories are {known}"
                )
            levels.append(level)
        return values.replace_strict(levels, range(len(levels)), default=None, return_dtype=pl.Float64)

    def finish(self, columns: Sequence[str], rows: NDArray[np.floating]) -> dict[str, tuple[str, ...]]:
        """Puts the levels that were found in order, in the rows too, and returns those of all these columns."""
        for place, name in enumerate(columns):
            if name in self.open:
                levels = self._levels[name]
                order = sorted(range(len(levels)), key=lambda code: _key(levels[code]))
                rank = np.argsort(order).astype(float)
                filled = ~np.isnan(rows[:, place])
                rows[filled, place] = rank[rows[filled, place].astype(np.intp)]
                self._levels[name] = [levels[code] for code in order]
                self._known.add(name)
        return {name: tuple(self._levels[name]) for name in columns if name in self._levels}


def levels_of(column: pl.Series) -> list[str]:
    """The levels of a column as categories, in order."""
    values = column.cast(pl.String).str.strip_chars()
    return sorted(values.filter(~values.is_in(MISSING)).drop_nulls().unique().to_list(), key=_key)


def _key(level: str) -> tuple[float, str]:
    """Numbers in their order, then words in theirs."""
    try:
        return float(level), level
    except ValueError:
        return float("inf"), level
