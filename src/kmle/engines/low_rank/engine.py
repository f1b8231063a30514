"""The low-rank engine: passes of Gaussians with few directions of their own, by blocks, without a copy of the rows.

Where scores would round too much it is the panels engine.
"""

from collections.abc import Callable

import numpy as np

from ..._kernels.statistics import Work
from ...data.table import Rows
from ...families.low_rank_gaussian import LowRankGaussian
from ...numerics.arrays import Array, Labels
from ..panels.engine import PanelsEngine, ProductSums, ScoredRows
from ..precision import SCORE_ERROR
from .form import LowRankForm, shares_of

# Shares below this are left out of sums, as in the panels engine.
NEGLIGIBLE = float(np.exp(-45.0))
# Responsibilities are added up for this many rows at a time.
ROWS_AT_ONCE = 1 << 14


class LowRankEngine(PanelsEngine):
    """The dense engine's passes for low-rank Gaussians of many columns."""

    name = "low-rank"

    def __init__(self, rows: Rows) -> None:
        if not isinstance(rows.family, LowRankGaussian):
            raise ValueError(f"the low-rank engine needs low-rank Gaussians, not {rows.family.name}")
        super().__init__(rows)
        squares = [float((rows.centered_rows(block).astype(float) ** 2).sum(axis=1).max()) for block in _blocks(rows)]
        self._largest_square = max(squares, default=0.0)

    def _scored(self, natural: Array, bias: Array, anew: bool = False) -> ScoredRows:
        assert isinstance(self.rows.family, LowRankGaussian)
        form = LowRankForm(self.rows.family, natural, bias)
        if not form.rounding(self._largest_square) <= SCORE_ERROR:
            return super()._scored(natural, bias, anew)
        return _LowRankRows(self.rows, form, self._products)


class _LowRankRows:
    """Rows scored with components in their low-rank form."""

    def __init__(self, rows: Rows, form: LowRankForm, products: ProductSums) -> None:
        self.rows, self.form, self.products = rows, form, products

    def _for_blocks(self, work: Callable[[slice, Array], None], first: int = 0, last: int | None = None) -> None:
        """Calls work(block, scores) for the rows of a range."""
        end = len(self.rows) if last is None else last

        def seen(block: slice) -> Array:
            return self.rows.centered_rows(slice(first + block.start, first + block.stop)).astype(float, copy=False)

        self.form.for_blocks(end - first, seen, work, self.rows.n_threads)
        if self.rows.meter is not None:
            self.rows.meter.add(Work(0, (end - first) * self.form.n_components))

    def hard_pass(self, natural: Array, bias: Array, labels: Labels) -> int:
        """The labels by the highest scores, in place; returns how many changed."""
        before = labels.copy()

        def label(block: slice, scores: Array) -> None:
            labels[block] = scores.argmax(axis=1)

        self._for_blocks(label)
        return int((labels != before).sum())

    def log_likelihood(self, natural: Array, bias: Array, labels: Labels) -> tuple[Array, Array]:
        """Of every row log sum_j exp(score_j), and the entropy of its responsibilities."""
        values, entropies = np.empty(len(self.rows)), np.empty(len(self.rows))

        def sum_up(block: slice, scores: Array) -> None:
            expected = scores.copy()
            values[block], shares = shares_of(scores)
            expected[shares == 0] = 0.0
            entropies[block] = np.maximum(values[block] - (shares * expected).sum(axis=1), 0.0)

        self._for_blocks(sum_up)
        return values, entropies

    def scores(self, natural: Array, bias: Array) -> Array:
        """The scores (n, k) of all rows and components."""
        found = np.empty((len(self.rows), len(bias)))

        def keep(block: slice, scores: Array) -> None:
            found[block] = scores

        self._for_blocks(keep)
        return found

    def soft_pass(
        self, natural: Array, bias: Array, labels: Labels, n_responsibilities: int | None
    ) -> tuple[Array, Array, float]:
        """Counts, sums and score by responsibility; labels become those of the largest."""
        k = len(bias)
        counts, sums, total = np.zeros(k), np.zeros(natural.shape), 0.0
        for first in range(0, len(self.rows), ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE, len(self.rows))
            values, shares = np.empty(last - first), np.empty((last - first, k))

            def soften(block: slice, scores: Array) -> None:
                keep_largest(scores, n_responsibilities)
                values[block], shares[block] = shares_of(scores)  # noqa: B023

            self._for_blocks(soften, first, last)
            labels[first:last] = shares.argmax(axis=1)
            weights = self.rows.weights
            total += float(values.sum() if weights is None else weights[first:last] @ values)
            places, owners = np.nonzero(shares > NEGLIGIBLE)
            found = self.products.added(first + places, owners.astype(np.int32), shares[places, owners], k)
            counts += found[0]
            sums += found[1]
        return counts, sums, total


def keep_largest(scores: Array, kept: int | None) -> None:
    """Sets all but the largest few scores of every row to -inf, in place; the lowest index first among equals."""
    if kept is None or kept >= scores.shape[1]:
        return
    order = np.argsort(-scores, axis=1, kind="stable")
    np.put_along_axis(scores, order[:, kept:], -np.inf, axis=1)


def _blocks(rows: Rows) -> list[slice]:
    return [slice(start, start + ROWS_AT_ONCE) for start in range(0, len(rows), ROWS_AT_ONCE)]
