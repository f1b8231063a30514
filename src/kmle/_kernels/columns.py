"""Summaries of the columns of a table (extremes, totals, whether values are finite and whole), and counts of values."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import columns_reference as reference
from .backend import compiled_module, selected

Floats = NDArray[np.float64]

# The kernel sums up pieces of this many values (see `summarize_columns` in columns_module.cpp).
VALUES_A_PIECE = 1 << 17
# Whole numbers below this are known as such.
WHOLE = 2.0**51


@dataclass(frozen=True)
class ColumnSummary:
    """Lowest and highest value and total of each column (d,), and what holds for all values.

    Totals that were not added up are NaN. `whole` is True for whole numbers below 2**51. Where `finite` is False the
    numbers mean nothing, unless entries are `missing` (NaN) and all others finite: then they are those of the others.
    `square_lengths` are the least and greatest squared length of a row, where they were seen.
    """

    lowest: Floats
    highest: Floats
    totals: Floats
    finite: bool
    whole: bool
    missing: bool = False
    square_lengths: tuple[float, float] | None = None


def summarize_columns(table: NDArray[Any], n_threads: int = 1) -> ColumnSummary:
    """Reads every value of a table (n, d) once.

    >>> summary = summarize_columns(np.array([[1.0, 2.0], [3.0, -4.0]]))
    >>> summary.lowest, summary.highest, summary.totals, summary.whole
    (array([ 1., -4.]), array([3., 2.]), array([ 4., -2.]), True)
    """
    seen = _summarize_finite(table, n_threads)
    return seen if seen.finite or not table.size else _observed(table, seen)


def has_missing(table: NDArray[Any]) -> bool:
    """Whether an entry is NaN.

    >>> has_missing(np.array([[1.0, np.nan]])), has_missing(np.array([[1.0, np.inf]]))
    (True, False)
    """
    step = max(1, VALUES_A_PIECE // max(1, table.shape[1]))
    return any(bool(np.isnan(table[start : start + step]).any()) for start in range(0, len(table), step))


def _observed(table: NDArray[Any], seen: ColumnSummary) -> ColumnSummary:
    """The summary of the entries that are not missing, where all of them are finite; otherwise what was seen."""
    d = table.shape[1]
    lowest, highest, totals, whole = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d), True
    step = max(1, VALUES_A_PIECE // d)
    for start in range(0, len(table), step):
        block = table[start : start + step]
        hole = np.isnan(block)
        if np.isinf(block).any():
            return seen
        np.minimum(lowest, np.where(hole, np.inf, block).min(axis=0), out=lowest)
        np.maximum(highest, np.where(hole, -np.inf, block).max(axis=0), out=highest)
        values = np.where(hole, 0.0, block)
        totals += values.sum(axis=0, dtype=float)
        whole = whole and bool((np.floor(values) == values).all() and np.abs(values).max(initial=0.0) < WHOLE)
    return ColumnSummary(lowest, highest, totals, False, whole, missing=True)


def _summarize_finite(table: NDArray[Any], n_threads: int) -> ColumnSummary:
    d = table.shape[1]
    lowest, highest, totals = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d)
    compiled: Any = selected.module if table.size else None
    if compiled is None:
        finite, whole = reference.summarize_columns(table, lowest, highest, totals)
        return ColumnSummary(lowest, highest, totals, finite, whole)
    look = _typed(compiled, "summarize_columns", table)
    if table.flags.c_contiguous:
        finite, whole = look(table, lowest, highest, totals, n_threads)
        return ColumnSummary(lowest, highest, totals, finite, whole)
    # Copied in the pieces in which the kernel sums up, so that no digit depends on how a table lies in memory.
    step = max(1, VALUES_A_PIECE // d)
    seen = [
        look(np.ascontiguousarray(table[start : start + step]), lowest, highest, totals, 1)
        for start in range(0, len(table), step)
    ]
    return ColumnSummary(lowest, highest, totals, all(finite for finite, _ in seen), all(whole for _, whole in seen))


def squares(table: NDArray[Any], center: NDArray[Any], n_threads: int = 1) -> Floats:
    """Sums (d,) of the squares of the columns of a table (n, d), seen from a center (d,).

    >>> squares(np.array([[1.0, 2.0], [3.0, -4.0]]), np.array([1.0, 0.0]))
    array([ 4., 20.])
    """
    totals = np.zeros(table.shape[1])
    compiled: Any = selected.module if table.size else None
    if compiled is None:
        reference.squares(table, np.asarray(center, dtype=np.float64), totals)
    else:
        _typed(compiled, "squares", table)(table, np.ascontiguousarray(center, dtype=np.float64), totals, n_threads)
    return totals


def tabulate(
    values: NDArray[Any], low: float, size: int, weights: NDArray[Any] | None = None, n_threads: int = 1
) -> Floats:
    """How often each whole number from `low` to low + size - 1 occurs (size,), by weight where there are weights.

    >>> tabulate(np.array([3.0, 5.0, 3.0]), 3.0, 3)
    array([2., 0., 1.])
    """
    counts = np.zeros(size)
    compiled: Any = selected.module if values.flags.c_contiguous else None
    if compiled is None:
        counts += np.bincount((values - low).astype(np.int64), weights, size)
    else:
        own = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        _typed(compiled, "tabulate", values)(values, low, own, counts, n_threads)
    return counts


def look_up(values: NDArray[Any], low: float, table: NDArray[np.int32], n_threads: int = 1) -> NDArray[np.int32]:
    """The table's entry for each whole number, the first of them for `low`.

    >>> look_up(np.array([3.0, 5.0, 3.0]), 3.0, np.array([7, 8, 9], dtype=np.int32))
    array([7, 9, 7], dtype=int32)
    """
    out = np.empty(len(values), dtype=np.int32)
    compiled: Any = selected.module if values.flags.c_contiguous else None
    if compiled is None:
        out[:] = table[(values - low).astype(np.int64)]
    else:
        _typed(compiled, "look_up", values)(values, low, table, out, n_threads)
    return out


def _typed(compiled: Any, name: str, values: NDArray[Any]) -> Any:
    return getattr(compiled, name + ("32" if values.dtype == np.float32 else "64"))


def locate(
    values: NDArray[Any], firsts: NDArray[Any], owners: NDArray[np.int32], n_threads: int = 1
) -> NDArray[np.int32]:
    """The owner of the interval each value lies in; `firsts` are the first values of all intervals but the first.

    >>> locate(np.array([0.5, 2.0, 9.0]), np.array([2.0]), np.array([7, 4], dtype=np.int32))
    array([7, 4, 4], dtype=int32)
    """
    labels = np.empty(len(values), dtype=np.int32)
    backend: Any = compiled_module() or reference
    backend.locate(np.ascontiguousarray(values), np.ascontiguousarray(firsts), owners, labels, n_threads)
    return labels


def center_of_columns(X: NDArray[Any], weights: NDArray[Any] | None, summary: ColumnSummary | None = None) -> Floats:
    """The (weighted) mean of each column; of a constant column exactly its value, so that nothing is left of it."""
    summary = summarize_columns(X) if summary is None else summary
    mean = summary.totals / len(X) if weights is None else weights @ X / weights.sum()
    return np.where(summary.lowest == summary.highest, X[0].astype(float), mean)
