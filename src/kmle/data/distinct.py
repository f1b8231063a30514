"""Few distinct rows (counts, binary patterns, categories): learn on those, with their multiplicities as weights."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary, has_missing, look_up, summarize_columns, tabulate
from .._kernels.columns import locate
from ..numerics.arrays import Array
from .line import first_places, multiplicities

# Worth it when distinct rows are at most this share of all; a sample decides whether to examine all.
SHARE = 0.5
SAMPLE = 4096
# Whole numbers up to this many times the number of rows are counted in a table, without sorting.
TABLE = 4
# Rows that find their distinct one at a time.
ROWS_A_BLOCK = 1 << 20


@dataclass(frozen=True)
class Compressed:
    """Distinct rows and the weight of each; `spread` gives every original row what its distinct row has."""

    X: Array
    weights: Array
    spread: Callable[[NDArray[Any]], NDArray[Any]]


def count_distinct(values: NDArray[Any]) -> int:
    """How many different values there are in a short array (n,): sorting it is quicker than hashing.

    >>> count_distinct(np.array([3.0, 1.0, 3.0]))
    2
    """
    line = np.sort(values)
    return 1 + int(np.count_nonzero(line[1:] != line[:-1]))


def compressed(
    X: Array,
    weights: Array | None,
    n_threads: int = 1,
    share: float = SHARE,
    summary: ColumnSummary | None = None,
) -> Compressed | None:
    """The distinct rows of X in order, or None when there are too many to be worth it: more than a share of all.

    >>> few = compressed(np.array([[3.0], [1.0], [3.0], [3.0]]), None)
    >>> few.X.ravel(), few.weights, few.spread(np.array([10, 30]))
    (array([1., 3.]), array([1., 3.]), array([30, 10, 30, 30]))
    """
    n = len(X)
    sample = X[np.linspace(0, n - 1, min(n, SAMPLE)).astype(np.intp)]
    if count_distinct(fingerprints(sample)) > SHARE * len(sample):
        return None
    return distinct(X, weights, n_threads, share, summary)


def distinct(
    X: Array,
    weights: Array | None,
    n_threads: int = 1,
    share: float = 1.0,
    summary: ColumnSummary | None = None,
) -> Compressed | None:
    """The same without a sample to decide first."""
    n = len(X)
    if X.shape[1] == 1 and not has_missing(X):
        summary = summarize_columns(X, n_threads) if summary is None else summary
        low, size = float(summary.lowest[0]), float(summary.highest[0] - summary.lowest[0] + 1)
        if summary.whole and size < TABLE * n + 1024:
            return _tabulated(X, weights, low, int(size), n_threads, share)
        return _along_line(X, weights, n_threads, share)
    seen = _with_numbers(X)
    keys = _keys(seen)
    if keys is None:
        _, first, group = np.unique(seen, axis=0, return_index=True, return_inverse=True)
    elif keys.max() < TABLE * n + 1024:
        present = np.zeros(int(keys.max()) + 1, dtype=bool)
        present[keys] = True
        place = np.cumsum(present) - 1
        group = place[keys]
        first = np.empty(int(place[-1]) + 1, dtype=np.intp)
        first[group[::-1]] = np.arange(n)[::-1]
    else:
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    if len(first) > share * n:
        return None
    group = group.ravel()
    totals = np.bincount(group, weights, len(first)).astype(float)
    return Compressed(X[first], totals, lambda values: values[group])


def _with_numbers(X: Array) -> Array:
    """The rows with a number above all others of its column at each missing entry, so that equal rows are equal."""
    if not has_missing(X):
        return X
    hole = np.isnan(X)
    highest = np.where(hole, -np.inf, X).max(axis=0)
    return np.where(hole, np.where(np.isfinite(highest), np.floor(highest) + 1, 0.0), X)


def fingerprints(rows: Array) -> NDArray[np.uint64]:
    """A number a row, (n,): equal rows have equal ones, others in all likelihood not. Sorting them is far quicker."""
    bits = np.ascontiguousarray(rows + 0.0).view(f"u{rows.itemsize}").astype(np.uint64)  # no -0, which equals 0
    # Whole numbers have zeros at the end, which would stay there.
    bits ^= bits >> np.uint64(32)
    factors = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64) | np.uint64(1)
    return np.asarray((bits * factors).sum(axis=1))


def _tabulated(
    X: Array, weights: Array | None, low: float, size: int, n_threads: int, share: float
) -> Compressed | None:
    """One column of whole numbers, counted in a table."""
    column = X[:, 0]
    counts = tabulate(column, low, size, n_threads=n_threads)
    present = np.flatnonzero(counts)
    if len(present) > share * len(X):
        return None
    totals = (counts if weights is None else tabulate(column, low, size, weights, n_threads))[present]
    place = np.zeros(size, dtype=np.int32)
    place[present] = np.arange(len(present))

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype == np.int32:
            return look_up(column, low, values[place], n_threads)
        return values[look_up(column, low, place, n_threads)]

    return Compressed((present + low).astype(X.dtype)[:, None], totals, spread)


def _along_line(X: Array, weights: Array | None, n_threads: int, share: float) -> Compressed | None:
    """One column of any numbers, sorted; rows find their distinct one by bisection, so that none is kept for each."""
    line = np.sort(X[:, 0])
    starts = first_places(line, most=share * len(X))
    if starts is None:
        return None
    distinct = line[starts]
    later = distinct[1:].astype(float)

    def spread(values: NDArray[Any]) -> NDArray[Any]:
        if values.dtype != np.int32:
            return values[spread(np.arange(len(distinct), dtype=np.int32))]
        # Neighbours with the same value are one interval: of labels there are few.
        last = np.flatnonzero(values[1:] != values[:-1])
        cuts, owners = later[last], values[np.append(last, len(values) - 1)]
        found = np.empty(len(X), dtype=np.int32)
        for start in range(0, len(X), ROWS_A_BLOCK):
            block = slice(start, start + ROWS_A_BLOCK)
            found[block] = locate(X[block, 0].astype(float, copy=False), cuts, owners, n_threads)
        return found

    if weights is None:
        return Compressed(distinct[:, None], multiplicities(starts, len(line)), spread)
    group = spread(np.arange(len(distinct), dtype=np.int32))
    return Compressed(distinct[:, None], np.bincount(group, weights, len(distinct)).astype(float), spread)


def _keys(X: Array) -> NDArray[np.int64] | None:
    """Rows of whole numbers as one whole number each, in the order of the rows; None if they do not fit."""
    low, high = X.min(axis=0).astype(float), X.max(axis=0).astype(float)
    ranges = high - low + 1
    if np.prod(ranges) > 2.0**62 or not np.all(np.floor(X) == X):
        return None
    keys = np.zeros(len(X), dtype=np.int64)
    for column, start, size in zip(X.T, low, ranges, strict=True):
        keys = keys * int(size) + (column - start).astype(np.int64)
    return keys
