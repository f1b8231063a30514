"""The passes over rows in plain NumPy: the statement of what the compiled ones compute, and their stand-in.

`PackedRows` has the methods of its compiled namesakes; `kmle._kernels` checks arguments before it calls. Rows are taken
in blocks, so no (n, k) array is ever held.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from .centered import Centered
from .columns_reference import summarize_columns
from .margin_bounds import Balls, MarginBounds, Step
from .row_scores import RowScores
from .statistics import Clusters, Totals, n_statistics_of, statistics_of

Floats = NDArray[np.float64]

VALUES_PER_BLOCK = 2**17  # 1 MB of float64: a block and its scores stay in the cache
EPSILON = float(np.finfo(np.float64).eps)
# Largest acceptable rounding error of scores with packed statistics, in nats, where more precise scores exist.
SCORE_ERROR = 1e-6
# The same where each row's scores are reported.
ROW_SCORE_ERROR = 1e-9
# Scores so far below the highest add nothing to a sum in double precision.
NEGLIGIBLE = -45.0


class PackedRows:
    """Rows kept for many passes."""

    def __init__(self, rows: int, columns: int, features: int, weights: Floats | None, dtype: Any) -> None:
        self._values = np.zeros((rows, columns), dtype=dtype)
        self._features = features
        self._weights = weights
        self._n_statistics = n_statistics_of(features, columns)
        self._scored = self._rescored = 0

    def __len__(self) -> int:
        return len(self._values)

    def load(self, first: int, rows: NDArray[Any]) -> None:
        self._values[first : first + len(rows)] = rows

    def load_shifted(
        self,
        table: NDArray[Any],
        shift: Floats,
        places: NDArray[np.int32] | None,
        lowest: Floats | None,
        highest: Floats | None,
    ) -> tuple[bool, bool]:
        """All rows at once, in the order of the places, each column less its shift; extremes where they are wanted."""
        step = max(1, VALUES_PER_BLOCK // max(table.shape[1], 1))
        for first in range(0, len(table), step):
            rows = slice(first, first + step)
            self._values[rows] = table[rows if places is None else places[rows]] - shift
        if lowest is None or highest is None:
            return True, True
        return summarize_columns(table, lowest, highest, np.zeros_like(lowest))

    def column(self) -> NDArray[Any]:
        """The only column, where it lies."""
        return self._values[:, 0]

    def measure(self) -> None:
        """Nothing is known in advance of what is written into the column."""

    def hard_pass(
        self,
        natural: Floats,
        bias: Floats,
        clusters: Clusters,
        margins: NDArray[np.float32] | None,
        centered: Centered | None = None,
    ) -> int:
        natural = _without_inactive(natural, bias)
        changed = 0
        for rows, t in self.blocks(len(natural)):
            self._scored += len(t) * len(natural)
            if centered is None:
                found, margin = _labelled(t, natural, bias)
            else:  # these scores have one value wherever they are computed: what ties, ties
                found, margin = _best(centered.scores(t).T)
                self._rescored += len(t) * len(natural)
            if margins is not None:
                margins[rows] = np.minimum(margin, np.finfo(np.float32).max)
            before = clusters.labels[rows]
            moved = np.flatnonzero(found != before)
            if len(moved) == 0:
                continue
            changed += len(moved)
            self._move(t, moved, before[moved], found[moved], self.weights_of(rows), clusters)
            before[moved] = found[moved]
        return changed

    def bounds_pass(
        self,
        natural: Floats,
        bias: Floats,
        clusters: Clusters,
        margins: NDArray[np.float32],
        bounds: MarginBounds,
        step: Step,
    ) -> tuple[int, int, int]:
        """A hard pass: what need not be examined changes nothing but the time."""
        return self.hard_pass(natural, bias, clusters, margins), len(clusters.labels) * len(bias), 0

    def bounds_log_likelihood(
        self, natural: Floats, bias: Floats, labels: NDArray[np.int32], bounds: MarginBounds, step: Step
    ) -> tuple[float, float]:
        """The log-likelihood: what is too far behind to count changes nothing but the time."""
        return self.log_likelihood(natural, bias)

    def measure_balls(self, balls: Balls, every: int, squares: Floats | None) -> None:
        """How far the rows of spans lie from their centers at most, rounded up: of all spans here."""
        rows_each = balls.rows_each
        for rows, t in self.blocks(1, rows_each):
            starts = np.arange(0, len(t), rows_each)
            sizes = np.diff(np.append(starts, len(t)))
            own = slice(rows.start // rows_each, rows.start // rows_each + len(starts))
            centered = t - np.repeat(balls.centers[balls.anchors[own]], sizes, axis=0)
            distances = np.sqrt(((centered / balls.scale) ** 2).sum(axis=1))
            balls.radii[own] = np.maximum.reduceat(distances, starts) * 1.000001
            if squares is not None:
                squares += (centered**2).sum(axis=0)

    def soft_passes(
        self,
        natural: Floats,
        bias: Floats,
        mixtures: int,
        kept: int,
        totals: Totals,
        scores: Floats,
        centered: Centered | None = None,
    ) -> None:
        k = len(bias) // mixtures
        for m in range(mixtures):
            own = slice(m * k, (m + 1) * k)
            form = None if centered is None else centered.take(own)
            scores[m] += self._soft_pass(natural[own], bias[own], kept, totals.part(own), form)

    def _soft_pass(self, natural: Floats, bias: Floats, kept: int, totals: Totals, centered: Centered | None) -> float:
        if not np.isfinite(bias).any():
            return -np.inf
        counts, sums = totals.counts, totals.sums
        natural = _without_inactive(natural, bias)
        score = 0.0
        for rows, t in self.blocks(len(natural)):
            scores, lifts = self._scores(t, natural, bias, centered)
            if kept < len(natural):
                # A stable sort keeps the lowest indices among equals.
                dropped = np.argsort(-scores, axis=0, kind="stable")[kept:]
                np.put_along_axis(scores, dropped, -np.inf, axis=0)
            top = scores.max(axis=0)
            shares = np.exp(scores - top)
            total = shares.sum(axis=0)
            weights = self.weights_of(rows)
            score += float(weights @ (top + lifts + np.log(total)))
            shares *= weights / total
            counts += shares.sum(axis=1)
            sums += shares @ t
        return score

    def log_likelihood(self, natural: Floats, bias: Floats, centered: Centered | None = None) -> tuple[float, float]:
        natural = _without_inactive(natural, bias)
        score = entropy = 0.0
        for rows, t in self.blocks(len(natural)):
            scores, lifts = self._scores(t, natural, bias, centered)
            top = scores.max(axis=0)
            shares = scipy.special.softmax(scores, axis=0)
            weights = self.weights_of(rows)
            score += float(weights @ (top + lifts + np.log(np.exp(scores - top).sum(axis=0))))
            entropy += float(weights @ scipy.special.entr(shares).sum(axis=0))
        return score, entropy

    def row_scores(
        self, natural: Floats, bias: Floats, centered: Centered | None, by_differences: bool, out: RowScores
    ) -> None:
        natural = _without_inactive(natural, bias)
        for rows, t in self.blocks(len(natural)):
            if by_differences and centered is not None:
                self._scored += len(t) * len(natural)
                self._rescored += len(t) * len(natural)
                out.put(rows, centered.scores(t))
            else:
                scores, lifts = self._scores(t, natural, bias, centered, ROW_SCORE_ERROR)
                out.put(rows, (scores + lifts).T)

    def label_rows(
        self, natural: Floats, bias: Floats, labels: NDArray[np.int32], centered: Centered | None = None
    ) -> None:
        natural = _without_inactive(natural, bias)
        for rows, t in self.blocks(len(natural)):
            self._scored += len(t) * len(natural)
            labels[rows] = _labelled(t, natural, bias)[0] if centered is None else _best(centered.scores(t).T)[0]

    def label_table(
        self,
        table: NDArray[Any],
        shift: Floats,
        natural: Floats,
        bias: Floats,
        labels: NDArray[np.int32],
        centered: Centered | None,
        lowest: Floats,
        highest: Floats,
    ) -> tuple[bool, bool]:
        """Labels of rows of a table, as many at a time as there is room for; extremes of its columns."""
        sizes = np.abs(_without_inactive(natural, bias)).max(axis=0)
        largest_bias = np.abs(bias[np.isfinite(bias)]).max(initial=0.0)
        for first in range(0, len(table), len(self)):
            rows = slice(first, first + len(self))
            few = PackedRows(len(table[rows]), table.shape[1], self._features, None, self._values.dtype)
            few.load_shifted(table[rows], shift, None, None, None)
            largest = statistics_of(np.abs(few._values).max(axis=0, keepdims=True), self._features)[0]
            spoilt = not EPSILON * (sizes @ largest + largest_bias) <= ROW_SCORE_ERROR
            few.label_rows(natural, bias, labels[rows], centered if spoilt else None)
            self._scored += few._scored
        return summarize_columns(table, lowest, highest, np.zeros_like(lowest))

    def own_scores(self, labels: NDArray[np.int32], centered: Centered, totals: Floats) -> None:
        for rows, t in self.blocks(1):
            weights = self.weights_of(rows)
            for j in np.unique(labels[rows][labels[rows] >= 0]):
                own = np.flatnonzero(labels[rows] == j)
                form = centered.take(slice(j, j + 1))
                scores = form.scores(t[own])[:, 0]
                if centered.is_carried:
                    scores += form.half_squares(t[own])
                totals[j] += float(weights[own] @ scores)
                self._rescored += len(own)

    def _scores(
        self, t: Floats, natural: Floats, bias: Floats, centered: Centered | None, limit: float = SCORE_ERROR
    ) -> tuple[Floats, Floats | float]:
        """The scores (k, n) of rows of a block, and what they are too low by.

        Those that rounding may have spoilt and that matter are computed by differences to means.
        """
        self._scored += len(t) * len(natural)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = natural @ t.T + bias[:, np.newaxis]
            if centered is None:
                return scores, 0.0
            chosen = _spoilt(scores, t, natural, bias, limit)
        if len(chosen) == 0:
            return scores, 0.0
        if centered.is_carried:
            chosen = np.flatnonzero(np.isfinite(bias))
        self._rescored += len(t) * len(chosen)
        scores[chosen] = centered.take(chosen).scores(t).T
        return scores, centered.half_squares(t) if centered.is_carried else 0.0

    def work(self) -> tuple[int, int]:
        """How many scores have been computed, and how many once more by differences to means."""
        return self._scored, self._rescored

    def largest(self, out: Floats) -> None:
        np.maximum(out, np.maximum(self._values.max(axis=0), -self._values.min(axis=0)), out=out)

    def label_sums(self, labels: NDArray[np.int32] | None, totals: Totals) -> None:
        sizes = np.zeros(len(totals.counts), dtype=np.int64)
        clusters = Clusters(np.empty(0, np.int32), sizes, totals.counts, totals.sums)
        for rows, t in self.blocks(1):
            nowhere = np.full(len(t), -1, dtype=np.int32)
            own = nowhere + 1 if labels is None else labels[rows]
            named = np.flatnonzero(own >= 0)
            self._move(t, named, nowhere[named], own[named], self.weights_of(rows), clusters)

    def blocks(self, n_components: int, multiple: int = 1) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows and their statistics, small enough to hold both and the scores."""
        step = max(1, VALUES_PER_BLOCK // max(n_components, self._n_statistics, 1) // multiple) * multiple
        for first in range(0, len(self._values), step):
            rows = slice(first, first + step)
            yield rows, statistics_of(self._values[rows], self._features)

    def weights_of(self, rows: slice) -> Floats:
        """Weights of some rows: ones where there are none."""
        return np.ones(len(self._values[rows])) if self._weights is None else self._weights[rows]

    @staticmethod
    def _move(
        t: Floats,
        moved: NDArray[np.intp],
        before: NDArray[np.int32],
        after: NDArray[np.int32],
        weights: Floats,
        clusters: Clusters,
    ) -> None:
        """Adds rows of a block to other clusters; those from nowhere (-1) are taken off none."""
        k, t, own = len(clusters.counts), t[moved], weights[moved]
        gained = scipy.sparse.csr_array((own, after, np.arange(len(own) + 1)), shape=(len(own), k)).T
        held = before >= 0
        lost = scipy.sparse.csr_array(
            (own * held, np.where(held, before, 0), np.arange(len(own) + 1)), shape=(len(own), k)
        ).T
        clusters.sums += gained @ t - lost @ t
        clusters.counts += np.bincount(after, own, k) - np.bincount(before[held], own[held], k)
        clusters.sizes += np.bincount(after, minlength=k) - np.bincount(before[held], minlength=k)


def _without_inactive(natural: Floats, bias: Floats) -> Floats:
    """Zeros for the inactive components (bias of -inf): theirs may be anything, NaN included."""
    return np.where(np.isneginf(bias)[:, np.newaxis], 0.0, natural)


def _labelled(t: Floats, natural: Floats, bias: Floats) -> tuple[NDArray[np.int32], Floats]:
    """The best component of each row and its margin: zero where the best nearly tie, decided in a fixed order then."""
    found, margin = _best(natural @ t.T + bias[:, np.newaxis])
    near_tie = np.flatnonzero(~(margin > _rounding(t, natural, bias)))
    margin[near_tie] = 0.0
    if len(near_tie):
        found[near_tie] = _scores_in_order(t[near_tie], natural, bias).argmax(axis=1)
    return found, margin


def _spoilt(scores: Floats, t: Floats, natural: Floats, bias: Floats, limit: float) -> NDArray[np.intp]:
    """Components whose scores (k, n) rounding may have spoilt, and which may have a share in some row."""
    active = np.flatnonzero(np.isfinite(bias))
    errors = EPSILON * (np.abs(natural[active]) @ np.abs(t).max(axis=0) + np.abs(bias[active]))
    uncertain = ~(errors <= limit)  # NaN too
    if not uncertain.any():
        return active[:0]
    errors = (errors * (t.shape[1] + 5))[:, np.newaxis]
    lowest = np.nanmax(np.vstack([scores[active] - errors, np.full(len(t), -np.inf)]), axis=0)
    matters = ~(scores[active] + errors <= lowest + NEGLIGIBLE)
    return active[uncertain & matters.any(axis=1)]


def _best(scores: Floats) -> tuple[NDArray[np.int32], Floats]:
    """The best component of each row, the lowest index on a tie, and its margin over the second best; scores are (k,
    n).

    One component after the other for many rows at once, as the compiled passes do: far faster than `argmax`.
    """
    top, second = scores[0].copy(), np.full(scores.shape[1], -np.inf)
    found = np.zeros(scores.shape[1], dtype=np.int32)
    for j, score in enumerate(scores[1:], start=1):
        np.copyto(found, j, where=score > top)
        np.maximum(second, np.minimum(score, top), out=second)
        np.maximum(top, score, out=top)
    with np.errstate(invalid="ignore"):
        return found, top - second


def _rounding(t: Floats, natural: Floats, bias: Floats) -> Floats:
    """How far two scores of a row may be apart by the rounding of a matrix product alone.

    A matrix product sums in an order of its own, even from one column to the next, so it may tell equal components
    apart: rows so close are summed again in a fixed order.
    """
    largest_bias = np.abs(bias, where=np.isfinite(bias), out=np.zeros_like(bias)).max()
    magnitude = np.abs(t).max(axis=0) @ np.abs(natural).max(axis=0) + largest_bias
    return np.asarray(4 * EPSILON * (natural.shape[1] + 2) * magnitude)


def _scores_in_order(t: Floats, natural: Floats, bias: Floats) -> Floats:
    """The scores, summed in the order of the statistics and rounded at every step, as when compiled."""
    scores = np.tile(bias, (len(t), 1))
    for column, coefficient in zip(t.T, natural.T, strict=True):
        scores += np.multiply.outer(column, coefficient)
    return scores
