"""One examine a table: extremes and totals of its columns, whether values are finite and whole; and counting them."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import columns_reference as reference
from .backend import compiled_module

Floats = NDArray[np.float64]

# The kernel sums up pieces of so many values (see `summarize_columns` in columns_module.cpp).
VALUES_A_PIECE = 1 << 17


@dataclass(frozen=True)
class ColumnSummary:
    """Lowest and highest value and total of each column (d,), and what holds for all values.

    Where `finite` is False the numbers mean nothing; totals that were not added up are NaN. `whole` is True for whole
    numbers below 2**51.
    """

    lowest: Floats
    highest: Floats
    totals: Floats
    finite: bool
    whole: bool


@dataclass(frozen=True)
class Summaries:
    """How many threads examine a table, and what they saw of those examined already, each with the table itself."""

    n_threads: int
    seen: dict[Any, tuple[NDArray[Any], ColumnSummary]]


_summaries: ContextVar[Summaries | None] = ContextVar("looks", default=None)


@contextmanager
def shared_summaries(n_threads: int, nested: bool = False) -> Iterator[None]:
    """Within it no table is summarized twice, and so many threads do it. Tables must not change meanwhile.

    A `nested` one knows what was seen within the one around it.

    >>> with shared_summaries(2):
    ...     summarize_columns(np.ones((3, 1))).totals
    array([3.])
    """
    outer = _summaries.get() if nested else None
    token = _summaries.set(Summaries(n_threads, {} if outer is None else outer.seen))
    try:
        yield
    finally:
        _summaries.reset(token)


def summarize_columns(table: NDArray[Any]) -> ColumnSummary:
    """Looks at every value of a table (n, d) once.

    >>> seen = summarize_columns(np.array([[1.0, 2.0], [3.0, -4.0]]))
    >>> seen.lowest, seen.highest, seen.totals, seen.whole
    (array([ 1., -4.]), array([3., 2.]), array([ 4., -2.]), True)
    """
    looks = _summaries.get()
    if looks is None:
        return _summarize_columns(table, 1)
    lies = table.__array_interface__
    key = (lies["data"], table.shape, table.strides, lies["typestr"])
    if key not in looks.seen:
        looks.seen[key] = table, _summarize_columns(table, looks.n_threads)
    return looks.seen[key][1]


def _summarize_columns(table: NDArray[Any], n_threads: int) -> ColumnSummary:
    d = table.shape[1]
    lowest, highest, totals = np.full(d, np.inf), np.full(d, -np.inf), np.zeros(d)
    compiled: Any = compiled_module(warn=False) if table.size else None
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
    compiled: Any = compiled_module(warn=False) if table.size else None
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
    compiled: Any = compiled_module(warn=False) if values.flags.c_contiguous else None
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
    compiled: Any = compiled_module(warn=False) if values.flags.c_contiguous else None
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


def center_of_columns(X: NDArray[Any], weights: NDArray[Any] | None) -> Floats:
    """The (weighted) mean of each column; of a constant column exactly its value, so that nothing is left of it."""
    summary = summarize_columns(X)
    mean = summary.totals / len(X) if weights is None else weights @ X / weights.sum()
    return np.where(summary.lowest == summary.highest, X[0].astype(float), mean)
