"""Families by the names of columns, on pandas and polars frames: {"visits": "poisson", ("x", "y"): "gaussian"}."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..families import Categorical, ExponentialFamily, Product, resolve


@dataclass(frozen=True)
class NamedFamilies:
    """A product of families with the names of its columns, and the levels of those that hold categories."""

    family: ExponentialFamily
    columns: tuple[str, ...]
    levels: Mapping[str, tuple[Any, ...]]

    @staticmethod
    def of(families: Mapping[Any, Any], X: Any) -> "NamedFamilies":
        """The families of these columns of a frame, whose categories are those it holds."""
        if not families:
            raise ValueError("family names no column: give at least one, such as {'visits': 'poisson'}")
        _check_frame(X)
        blocks = [((names,) if isinstance(names, str) else tuple(names), own) for names, own in families.items()]
        columns = tuple(name for names, _ in blocks for name in names)
        twice = [name for name in columns if columns.count(name) > 1]
        if twice:
            raise ValueError(f"family names the column {twice[0]!r} twice: name each column once")
        _check_columns(X, columns)
        levels: dict[str, tuple[Any, ...]] = {}
        parts = []
        for names, given in blocks:
            family = resolve(given)
            if isinstance(family, Categorical):
                levels |= {name: _levels(X, name) for name in names}
                family = Categorical(tuple(len(levels[name]) for name in names))
            else:
                family = replace(family, n_features=len(names))
            parts.append(family)
        return NamedFamilies(parts[0] if len(parts) == 1 else Product(tuple(parts)), columns, levels)

    def frame(self, X: Any) -> Any:
        """A frame of the same library with these columns in their order, as numbers."""
        _check_frame(X)
        _check_columns(X, self.columns)
        return type(X)({name: self._numbers(X, name) for name in self.columns})

    def _numbers(self, X: Any, name: str) -> NDArray[np.float64]:
        values = _objects(X, name)
        if name not in self.levels:
            try:
                return np.array([np.nan if _is_missing(value) else float(value) for value in values])
            except (TypeError, ValueError):
                row = next(row for row, value in enumerate(values) if not _is_number(value))
                raise ValueError(
                    f"row {row}, column {name!r} holds {values[row]!r}, which is not a number: use 'categorical' for it"
                ) from None
        codes = {level: code for code, level in enumerate(self.levels[name])}
        for row, value in enumerate(values):
            if not _is_missing(value) and value not in codes:
                known = ", ".join(repr(level) for level in self.levels[name][:8])
                raise ValueError(f"row {row}, column {name!r} holds {value!r}: its categories are {known}")
        return np.array([np.nan if _is_missing(value) else codes[value] for value in values], dtype=float)


def _check_frame(X: Any) -> None:
    if not hasattr(X, "columns") or not hasattr(X, "to_numpy"):
        raise ValueError(f"family names columns, but X is a {type(X).__name__}: give a pandas or polars DataFrame")


def _check_columns(X: Any, columns: tuple[str, ...]) -> None:
    present = [str(name) for name in X.columns]
    for name in columns:
        if name not in present:
            raise ValueError(f"X has no column {name!r}: it has {', '.join(map(repr, present[:8]))}")


def _objects(X: Any, name: str) -> list[Any]:
    column = X[name]
    return list(column.to_list() if hasattr(column, "to_list") else column)


def _levels(X: Any, name: str) -> tuple[Any, ...]:
    """The categories of a column: those of its type, or those it holds, in order."""
    known = getattr(getattr(X[name], "cat", None), "categories", None)
    if known is not None and not callable(known):
        return tuple(known.tolist() if hasattr(known, "tolist") else known)
    found = {value for value in _objects(X, name) if not _is_missing(value)}
    if not found:
        raise ValueError(f"column {name!r} has no entry, all its values are missing: drop the column")
    try:
        return tuple(sorted(found))
    except TypeError:
        return tuple(sorted(found, key=str))


def _is_missing(value: Any) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return _is_missing(value)
    return True
