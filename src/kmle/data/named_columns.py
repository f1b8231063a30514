"""Named columns of pandas and polars frames as numbers, and back; categories are codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array


@dataclass(frozen=True)
class NamedColumns:
    """Some columns in their order, with the levels of those that hold categories."""

    columns: tuple[str, ...]
    levels: Mapping[str, tuple[Any, ...]]

    def decoded(self, rows: Array, like: Any) -> Any:
        """A frame of the library of `like` from rows of numbers, with the names of categories instead of codes."""
        columns: dict[str, Any] = {}
        for place, name in enumerate(self.columns):
            values = rows[:, place]
            levels = self.levels.get(name)
            columns[name] = values if levels is None else [levels[int(code)] for code in values]
        index = getattr(like, "index", None)
        return type(like)(columns) if index is None else type(like)(columns, index=index)

    def frame(self, X: Any) -> Any:
        """A frame of the same library with these columns in their order, as numbers."""
        check_frame(X)
        check_columns(X, self.columns)
        return type(X)({name: self._numbers(X, name) for name in self.columns})

    def _numbers(self, X: Any, name: str) -> NDArray[np.float64]:
        if name not in self.levels:
            plain = np.asarray(X[name])
            if plain.dtype.kind in "biuf":
                return plain.astype(float)
        values = objects(X, name)
        if name not in self.levels:
            try:
                return np.array([np.nan if is_missing(value) else float(value) for value in values])
            except (TypeError, ValueError):
                row = next(row for row, value in enumerate(values) if not _is_number(value))
                raise ValueError(
                    f"row {row}, column {name!r} holds {values[row]!r}, which is not a number: use 'categorical' for it"
                ) from None
        codes = {level: code for code, level in enumerate(self.levels[name])}
        for row, value in enumerate(values):
            if not is_missing(value) and value not in codes:
                known = ", ".join(repr(level) for level in self.levels[name][:8])
                raise ValueError(f"row {row}, column {name!r} holds {value!r}: its categories are {known}")
        return np.array([np.nan if is_missing(value) else codes[value] for value in values], dtype=float)


def check_frame(X: Any) -> None:
    if not hasattr(X, "columns") or not hasattr(X, "to_numpy"):
        raise ValueError(f"family names columns, but X is a {type(X).__name__}: give a pandas or polars DataFrame")


def check_columns(X: Any, columns: tuple[str, ...]) -> None:
    present = [str(name) for name in X.columns]
    for name in columns:
        if name not in present:
            raise ValueError(f"X has no column {name!r}: it has {', '.join(map(repr, present[:8]))}")


def objects(X: Any, name: str) -> list[Any]:
    column = X[name]
    return list(column.to_list() if hasattr(column, "to_list") else column)


def is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return is_missing(value)
    return True
