"""Columns by name or by index."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

Column = int | str


def column_places(columns: Column | Iterable[Column], names: Sequence[str] | None, width: int) -> list[int]:
    """The indices of different columns, given by name or index.

    >>> column_places(["b", 0, -1], ("a", "b", "c"), 3)
    [1, 0, 2]
    """
    listed: list[Any] = list(columns) if isinstance(columns, Iterable) and not isinstance(columns, str) else [columns]
    if not listed:
        raise ValueError("no column is named: give at least one name or index")
    places = [_place(column, names, width) for column in listed]
    for position, place in enumerate(places):
        if place in places[:position]:
            raise ValueError(f"column {listed[position]!r} is named twice: name each column once")
    return places


def _place(column: Any, names: Sequence[str] | None, width: int) -> int:
    if isinstance(column, str):
        if names is None:
            raise ValueError(
                f"this mixture has no column names: give the index of {column!r}, or use with_columns(names)"
            )
        if column not in names:
            raise ValueError(f"no column is called {column!r}: the columns are {', '.join(names)}")
        return names.index(column)
    if isinstance(column, bool) or not isinstance(column, int | np.integer):
        raise ValueError(f"{column!r} is not a column: give names or indices")
    if not -width <= column < width:
        raise ValueError(f"there is no column {column}: the indices go from 0 to {width - 1}")
    return int(column) % width


def other_places(places: Sequence[int], width: int) -> list[int]:
    """The indices of all other columns, in their order."""
    return [place for place in range(width) if place not in places]
