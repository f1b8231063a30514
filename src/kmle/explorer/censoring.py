"""Censored values: a column of events, or of upper bounds, beside the one column of values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.intervals import Intervals
from ..numerics.arrays import Array

KINDS = ("event", "upper")
# Rows that are tried before all are.
TRIED_ROWS = 1000


@dataclass(frozen=True)
class Censoring:
    """The column that says where values are censored, and how: by events, or as their upper bounds."""

    kind: str
    column: str

    def intervals(self, values: Array, other: Array) -> Intervals:
        """What is known of the values, from this column."""
        if self.kind == "upper":
            return Intervals(np.where(np.isnan(values), -np.inf, values), np.where(np.isnan(other), np.inf, other))
        if (gaps := np.isnan(values)).any():
            raise ValueError(f"row {int(gaps.argmax())} has no time: fill it in, or take the row out of the data")
        return Intervals.from_events(values, other)

    def python(self) -> list[str]:
        """Lines that make intervals X of `values` and `other`."""
        if self.kind == "event":
            return ["X = Intervals.from_events(values, other)"]
        return [
            "lower = np.where(np.isnan(values), -np.inf, values)",
            "upper = np.where(np.isnan(other), np.inf, other)",
            "X = Intervals(lower, upper)",
        ]


def event_columns(rows: Array, names: Sequence[str]) -> list[str]:
    """The columns that may be events: ones, zeros and nothing else."""
    return [name for name, column in zip(names, rows.T, strict=True) if _always(_is_event, column)]


def is_upper(lower: Array, upper: Array) -> bool:
    """Whether a column may hold the upper bounds of another: never below it, and sometimes above or open."""
    return _always(_is_above, lower, upper) and bool((upper >= lower).any() and (upper != lower).any())


def _always(holds: Callable[..., NDArray[np.bool_]], *columns: Array) -> bool:
    """Whether it holds for some rows, then for all."""
    return bool(holds(*(column[:TRIED_ROWS] for column in columns)).all() and holds(*columns).all())


def _is_event(column: Array) -> NDArray[np.bool_]:
    return (column == 0) | (column == 1)


def _is_above(lower: Array, upper: Array) -> NDArray[np.bool_]:
    return ~(upper < lower)
