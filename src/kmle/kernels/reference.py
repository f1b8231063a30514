"""The passes over rows in plain NumPy: the statement of what the compiled ones compute, and their stand-in.

`PackedRows` has the methods of its compiled namesakes; `kmle.kernels` checks arguments before it calls. Rows are taken
in blocks, so no (n, k) array is ever held.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]

VALUES_PER_BLOCK = 2**17  # 1 MB of float64: a block and its scores stay in the cache
EPSILON = float(np.finfo(np.float64).eps)
IDENTITY, DIAGONAL, QUADRATIC = range(3)


def order_of(features: int, columns: int) -> int:
    """How many statistics follow from so many columns."""
    return {IDENTITY: columns, DIAGONAL: 2 * columns, QUADRATIC: columns + columns * (columns + 1) // 2}[features]


def statistics_of(columns: NDArray[Any], features: int) -> Floats:
    """t(x) in float64: the columns as they are, with their squares, or with all their products."""
    x = np.ascontiguousarray(columns, dtype=np.float64)
    if features == IDENTITY:
        return x
    if features == DIAGONAL:
        return np.hstack([x, x * x])
    first, second = np.triu_indices(x.shape[1])
    return np.hstack([x, x[:, first] * x[:, second]])


class PackedRows:
    """Rows kept for many passes."""

    def __init__(self, rows: int, columns: int, features: int, weights: Floats | None, dtype: Any) -> None:
        self._values = np.zeros((rows, columns), dtype=dtype)
        self._features = features
        self._weights = weights
        self._order = order_of(features, columns)

    def __len__(self) -> int:
        return len(self._values)

    def load(self, first: int, rows: NDArray[Any]) -> None:
        self._values[first : first + len(rows)] = rows

    def hard_pass(
        self,
        natural: Floats,
        bias: Floats,
        labels: NDArray[np.int32],
        sizes: NDArray[np.int64],
        counts: Floats,
        sums: Floats,
        margins: NDArray[np.float32] | None,
    ) -> int:
        natural = _without_dead(natural, bias)
        changed = 0
        for rows, t in self._blocks(len(natural)):
            scores = t @ natural.T + bias
            top_two = np.partition(scores, -2, axis=1)[:, -2:] if len(natural) > 1 else None
            near_tie = _has_near_tie(scores, t, natural, bias)
            if margins is not None:
                gap = np.full(len(t), np.inf) if top_two is None else top_two[:, 1] - top_two[:, 0]
                margins[rows] = np.minimum(np.where(near_tie, 0.0, gap), np.finfo(np.float32).max)
            scores[near_tie] = _scores_in_order(t[near_tie], natural, bias)
            found = scores.argmax(axis=1).astype(np.int32)
            before = labels[rows]
            moved = found != before
            changed += int(np.count_nonzero(moved))
            weights = self._weights_of(rows)
            self._add(t[moved], found[moved], weights[moved], 1, sizes, counts, sums)
            had_label = moved & (before >= 0)
            self._add(t[had_label], before[had_label], weights[had_label], -1, sizes, counts, sums)
            labels[rows] = found
        return changed

    def skipping_pass(
        self,
        natural: Floats,
        bias: Floats,
        labels: NDArray[np.int32],
        sizes: NDArray[np.int64],
        counts: Floats,
        sums: Floats,
        margins: NDArray[np.float32],
        table: NDArray[np.float32],
        distances: NDArray[np.uint8],
    ) -> tuple[int, int]:
        """A hard pass: which rows need not be looked at changes nothing but the time."""
        return self.hard_pass(natural, bias, labels, sizes, counts, sums, margins), len(labels)

    def pruned_pass(
        self,
        natural: Floats,
        bias: Floats,
        labels: NDArray[np.int32],
        sizes: NDArray[np.int64],
        counts: Floats,
        sums: Floats,
        blocks_a_region: int,
        blocks_a_group: int,
        starts: NDArray[np.int64],
        candidates: NDArray[np.int32],
        centres: Floats,
        halves: Floats,
    ) -> int:
        """A hard pass: which components need not be tried changes nothing but the time."""
        return self.hard_pass(natural, bias, labels, sizes, counts, sums, None)

    def soft_pass(self, natural: Floats, bias: Floats, kept: int, counts: Floats, sums: Floats) -> float:
        natural = _without_dead(natural, bias)
        score = 0.0
        for rows, t in self._blocks(len(natural)):
            scores = t @ natural.T + bias
            if kept < len(natural):
                # A stable sort keeps the lowest indices among equals.
                dropped = np.argsort(-scores, axis=1, kind="stable")[:, kept:]
                np.put_along_axis(scores, dropped, -np.inf, axis=1)
            top = scores.max(axis=1, keepdims=True)
            shares = np.exp(scores - top)
            total = shares.sum(axis=1, keepdims=True)
            weights = self._weights_of(rows)
            score += float(weights @ (top + np.log(total))[:, 0])
            shares *= weights[:, np.newaxis] / total
            counts += shares.sum(axis=0)
            sums += shares.T @ t
        return score

    def label_sums(self, labels: NDArray[np.int32], counts: Floats, sums: Floats) -> None:
        sizes = np.zeros(len(counts), dtype=np.int64)
        for rows, t in self._blocks(1):
            self._add(t, labels[rows], self._weights_of(rows), 1, sizes, counts, sums)

    def _blocks(self, n_components: int) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows and their statistics, small enough for both and the scores."""
        step = max(1, VALUES_PER_BLOCK // max(n_components, self._order, 1))
        for first in range(0, len(self._values), step):
            rows = slice(first, first + step)
            yield rows, statistics_of(self._values[rows], self._features)

    def _weights_of(self, rows: slice) -> Floats:
        return np.ones(len(self._values[rows])) if self._weights is None else self._weights[rows]

    @staticmethod
    def _add(
        t: Floats,
        labels: NDArray[np.int32],
        weights: Floats,
        sign: int,
        sizes: NDArray[np.int64],
        counts: Floats,
        sums: Floats,
    ) -> None:
        membership = csr_array((sign * weights, labels, np.arange(len(t) + 1)), shape=(len(t), len(counts))).T
        counts += membership @ np.ones(len(t))
        sums += membership @ t
        sizes += sign * np.bincount(labels, minlength=len(counts))


def spatial_order(columns: Floats, leaf: int, places: NDArray[np.int64]) -> None:
    """An order of the rows in which any `leaf` neighbours lie in a small box: halves, again and again."""
    places[:] = np.arange(len(columns))
    stack = [(0, len(columns))]
    while stack:
        first, last = stack.pop()
        if last - first <= leaf:
            continue
        rows = columns[places[first:last]]
        order = np.argsort(rows[:, np.argmax(np.ptp(rows, axis=0))], kind="stable")
        places[first:last] = places[first:last][order]
        middle = first + -(-(last - first) // leaf) // 2 * leaf
        stack += [(first, middle), (middle, last)]


def locate(values: Floats, firsts: Floats, owners: NDArray[np.int32], labels: NDArray[np.int32], threads: int) -> None:
    """The owner of the interval each value lies in."""
    labels[:] = owners[np.searchsorted(firsts, values, side="right")]


class SortedRows:
    """A sorted column and its cells, found the slow way: every row's label."""

    def __init__(self, columns: Floats, features: int, weights: Floats | None, threads: int) -> None:
        self._rows = PackedRows(len(columns), columns.shape[1], features, weights, np.float64)
        self._rows.load(0, columns)

    def hard_pass(self, natural: Floats, bias: Floats, counts: Floats, sums: Floats) -> tuple[list[int], list[int]]:
        labels = np.full(len(self._rows), -1, dtype=np.int32)
        sizes = np.zeros(len(bias), dtype=np.int64)
        self._rows.hard_pass(natural, bias, labels, sizes, counts, sums, None)
        changes = np.flatnonzero(np.diff(labels)) + 1
        return [0, *changes.tolist(), len(labels)], labels[[0, *changes]].tolist()


def _without_dead(natural: Floats, bias: Floats) -> Floats:
    """Zeros for the dead components (bias of -inf): theirs may be anything, NaN included."""
    return np.where(np.isneginf(bias)[:, np.newaxis], 0.0, natural)


def _has_near_tie(scores: Floats, t: Floats, natural: Floats, bias: Floats) -> NDArray[np.bool_]:
    """Rows whose best two scores are closer than the rounding error of a matrix product may be.

    A matrix product sums in an order of its own, even from one column to the next, so it may tell equal components
    apart: those rows are summed again in a fixed order.
    """
    largest_bias = np.abs(bias, where=np.isfinite(bias), out=np.zeros_like(bias)).max()
    magnitude = np.abs(t) @ np.abs(natural).max(axis=0) + largest_bias
    tolerance = 4 * EPSILON * (natural.shape[1] + 2) * magnitude
    contenders = scores >= (scores.max(axis=1) - tolerance)[:, np.newaxis]
    return np.asarray(np.count_nonzero(contenders, axis=1) > 1)


def _scores_in_order(t: Floats, natural: Floats, bias: Floats) -> Floats:
    """The scores, summed in the order of the statistics and rounded at every step, as when compiled."""
    scores = np.tile(bias, (len(t), 1))
    for column, coefficient in zip(t.T, natural.T, strict=True):
        scores += np.multiply.outer(column, coefficient)
    return scores
