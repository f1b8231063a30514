"""How the rows of a family are packed and centred for the engines.

A family may replace the defaults: they measure rows from zero and hold t(x) itself. Centring keeps the digits of second
moments; narrow columns keep a wide t(x) from being held for all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from ..numerics.arrays import Array
from .contract import FamilyContract

if TYPE_CHECKING:
    from .._kernels import Centered, ColumnSummary, Mixtures, MixtureStep, Pace, PackedRows, Progress, StepSetting

# Statistics are built in blocks of rows of about this many numbers, so wide families never hold all of t(X).
BLOCK_NUMBERS = 1 << 21


def slices(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows that hold a bounded number of numbers, `width` in each row."""
    size = max(1, BLOCK_NUMBERS // width)
    for start in range(0, n, size):
        yield slice(start, start + size)


@dataclass(frozen=True)
class Layout(FamilyContract):
    """Centres, columns of the kernels, and passes over rows in blocks."""

    # Centring -------------------------------------------------------------------------------------------------------

    def data_center(self, X: Array, weights: Array | None = None, summary: ColumnSummary | None = None) -> Array | None:
        """The point from which t(x) is best measured so that second moments keep their digits; None if none is.

        `summary` is that of the columns of X, where it is known.
        """
        return None

    def centered_rows(self, X: Array, center: Array) -> Array:
        """The rows as seen from `center`."""
        return X

    def resolvable(self, natural: Array, center: Array) -> Array:
        """The components, widened where natural parameters in coordinates `center` away could not tell their means."""
        return natural

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        """Natural parameters in the data's own coordinates, from those fitted to `centered_rows(X, center)`."""
        return natural

    def centered_spread(self, spread: Array, center: Array) -> Array:
        """The spread (d,) of the data's own columns as `centered_rows(X, center)` have it: the same, after a shift."""
        return spread

    def log_volume(self, center: Array) -> Array:
        """log |dx/dy| for y = `centered_rows(x, center)`, (...): zero, unless that is more than a shift."""
        return np.zeros(center.shape[:-1])

    def log_carrier_from(self, X: Array, center: Array) -> Array:
        """k(x) to go with t of `centered_rows(X, center)`: the same, unless moving the center moves it too."""
        return self.log_carrier(X)

    def log_carrier_beside_means(self, X: Array) -> Array:
        """k(x) to go with the scores of `centered`: the same, unless those hold a part of it."""
        return self.log_carrier(X)

    # Packing --------------------------------------------------------------------------------------------------------

    def kernel_columns(self, X: Array) -> tuple[Array, str]:
        """Columns (n, c) and the features by which t(x) follows from them in the kernels.

        "identity": the columns are t(x); "diagonal": t is the columns and their squares; "quadratic": the columns and
        all their products. Families whose t is wide give the narrow columns here, so that t is never held for all rows.
        """
        return self.sufficient_statistic(X), "identity"

    def kernel_shift(self, center: Array) -> Array | None:
        """What to take off the columns of X to have those of the kernels, seen from `center`; None: that is not all."""
        return None

    def carrier_by_squares(self, n_columns: int) -> tuple[Array, float] | None:
        """Factors (d,) and a constant such that k(x), to go with t seen from a center, is the constant plus the sum of
        the factors times the squares of the columns seen from there; None where it is not.
        """
        return None

    def centered_form(self, natural: Array) -> Centered | None:
        """Distributions (k, D) by mean and factor of the precision, for scores without squares of the kernels' columns.

        Scores are <t(x), theta> - F(theta), and x the first of the kernels' columns and of t(x); None where there is no
        such form.
        """
        return None

    def mixture_step(
        self,
        counts: Array,
        sums: Array,
        before: Array,
        weights_before: Array,
        factors: Array,
        setting: StepSetting,
    ) -> MixtureStep | None:
        """A step of S mixtures with counts (S, k) and sums (S, k, D) in one call; None to use the other formulas.

        The points beyond lie by `factors` (S,) of the change from `before` and `weights_before` beyond the estimates.
        """
        return None

    def mixture_steps(
        self, rows: PackedRows, mixtures: Mixtures, setting: StepSetting, pace: Pace, work: float
    ) -> Progress | None:
        """Several steps of mixtures, which change in place, in one call; None to make them one by one."""
        return None

    # Passes in blocks -----------------------------------------------------------------------------------------------

    @final
    def mean_statistic(self, X: Array, weights: Array | None = None, center: Array | None = None) -> Array:
        """The weighted mean of t(x) over legal rows, (D,)."""
        total: Array | float = 0.0
        for rows in self.row_blocks(X):
            # In double precision even for float32 data: differences such as log E[x] - E[log x] need the digits.
            block = X[rows].astype(float, copy=False)
            block = block if center is None else self.centered_rows(block, center)
            t = self.sufficient_statistic(block)
            total = total + (t.sum(axis=0, dtype=float) if weights is None else weights[rows] @ t)
        return np.asarray(total / (len(X) if weights is None else weights.sum()))

    @final
    def packed_log_density(self, X: Array, natural: Array) -> Array:
        """<t(x), theta> - F(theta) + k(x), (n, k), for legal rows."""
        log_normalizer = self.log_normalizer(natural)
        density = np.empty((len(X), len(natural)))
        for block in self.row_blocks(X):
            density[block] = self.sufficient_statistic(X[block]) @ natural.T - log_normalizer
            density[block] += self.log_carrier(X[block])[:, None]
        return density

    @final
    def row_blocks(self, X: Array) -> Iterator[slice]:
        """Slices of rows whose statistics take a bounded amount of memory."""
        yield from slices(len(X), max(self.n_statistics_for(X.shape[1]), X.shape[1]))
