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
        """Returns the point from which t(x) is best measured, so that second moments keep their digits.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        weights : array (n,), default=None
            The weights of the rows.
        summary : ColumnSummary, default=None
            The summary of the columns of X, where it is known.

        Returns
        -------
        array (d,) or None
            The point; None for families that measure rows from zero.
        """
        return None

    def centered_rows(self, X: Array, center: Array) -> Array:
        """Returns rows as they are seen from a point.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        center : array (d,)
            The point that rows are measured from.

        Returns
        -------
        array (n, d)
            The rows.
        """
        return X

    def resolvable(self, natural: Array, center: Array) -> Array:
        """Widens components whose means natural parameters could not tell apart, measured from far away.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.
        center : array (d,)
            How far away the coordinates begin.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return natural

    def natural_at_center(self, natural: Array, center: Array) -> Array:
        """Returns natural parameters in the data's own coordinates.

        Parameters
        ----------
        natural : array (k, D)
            Those fitted to `centered_rows(X, center)`.
        center : array (d,)
            The point that rows are measured from.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return natural

    def centered_spread(self, spread: Array, center: Array) -> Array:
        """Returns the spread of columns as `centered_rows(X, center)` have it: the same, after a shift.

        Parameters
        ----------
        spread : array (d,)
            The spread of the data's own columns.
        center : array (d,)
            The point that rows are measured from.

        Returns
        -------
        array (d,)
            The spread.
        """
        return spread

    def log_volume(self, center: Array) -> Array:
        """Returns log |dx/dy| for y = `centered_rows(x, center)`: zero, unless that is more than a shift.

        Parameters
        ----------
        center : array (..., d)
            The point that rows are measured from.

        Returns
        -------
        array (...,)
            The logarithm.
        """
        return np.zeros(center.shape[:-1])

    def log_carrier_from(self, X: Array, center: Array) -> Array:
        """Returns k(x) to go with t of `centered_rows(X, center)`: the same, unless moving the center moves it too.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        center : array (d,)
            The point that rows are measured from.

        Returns
        -------
        array (n,)
            The value at each row.
        """
        return self.log_carrier(X)

    def log_carrier_beside_means(self, X: Array) -> Array:
        """Returns k(x) to go with the scores of `centered_form`: the same, unless those hold a part of it.

        Parameters
        ----------
        X : array (n, d)
            The rows.

        Returns
        -------
        array (n,)
            The value at each row.
        """
        return self.log_carrier(X)

    def statistic_differences(self, X: Array, row: Array) -> Array:
        """Returns t(x) - t(row), where the family can with the digits that tell neighbouring values apart.

        Parameters
        ----------
        X : array (n, d)
            The rows.
        row : array (d,)
            The row to compare with.

        Returns
        -------
        array (n, D)
            The differences, zero for the same row.
        """
        return self.sufficient_statistic(X) - self.sufficient_statistic(row[None])

    # Packing --------------------------------------------------------------------------------------------------------

    def kernel_columns(self, X: Array) -> tuple[Array, str]:
        """Returns narrow columns, from which the kernels make t(x).

        Families whose t(x) is wide give narrow columns here, so that t(x) is never held for all rows.

        Parameters
        ----------
        X : array (n, d)
            The rows.

        Returns
        -------
        columns : array (n, c)
            The columns.
        features : str
            "identity": the columns are t(x); "diagonal": t(x) is the columns and their squares; "quadratic": the
            columns and all their products.
        """
        return self.sufficient_statistic(X), "identity"

    def kernel_shift(self, center: Array) -> Array | None:
        """Returns what to take off the columns of X to have those of the kernels.

        Parameters
        ----------
        center : array (d,)
            The point that rows are measured from.

        Returns
        -------
        array (d,) or None
            The shift; None where the columns differ by more than that.
        """
        return None

    def carrier_by_squares(self, n_columns: int) -> tuple[Array, float] | None:
        """Returns k(x), to go with t(x) measured from a center, as a constant plus factors times the squares of the
        columns.

        Parameters
        ----------
        n_columns : int
            The number of columns.

        Returns
        -------
        tuple of array (d,) and float, or None
            The factors and the constant; None where k(x) is not of this form.
        """
        return None

    def centered_form(self, natural: Array) -> Centered | None:
        """Returns distributions by mean and factor of the precision, for scores without squares of the columns.

        Scores are <t(x), theta> - F(theta), and x the first of the columns of the kernels and of t(x).

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        Centered or None
            Means and factors; None for families without.
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
        """Makes a step of S mixtures in one call.

        Parameters
        ----------
        counts : array (S, k)
            The number or weight of the rows of each component.
        sums : array (S, k, D)
            The sums of t(x) over these rows.
        before : array (S, k, D)
            Natural parameters before the step.
        weights_before : array (S, k)
            Weights before the step.
        factors : array (S,)
            How far beyond the estimates further points lie, in units of the change from before.
        setting : StepSetting
            The prior and what bounds components.

        Returns
        -------
        MixtureStep or None
            The step; None to use the other formulas.
        """
        return None

    def mixture_steps(
        self, rows: PackedRows, mixtures: Mixtures, setting: StepSetting, pace: Pace, work: float
    ) -> Progress | None:
        """Makes several steps of mixtures, which change in place, in one call.

        Parameters
        ----------
        rows : PackedRows
            The rows.
        mixtures : Mixtures
            The mixtures.
        setting : StepSetting
            The prior and what bounds components.
        pace : Pace
            How many steps, and when they end.
        work : float
            How much work each step is allowed.

        Returns
        -------
        Progress or None
            What was done; None to make steps one by one.
        """
        return None

    # Passes in blocks -----------------------------------------------------------------------------------------------

    @final
    def mean_statistic(self, X: Array, weights: Array | None = None, center: Array | None = None) -> Array:
        """Returns the weighted mean of t(x) over rows.

        Parameters
        ----------
        X : array (n, d)
            Rows in the support.
        weights : array (n,), default=None
            The weights of the rows.
        center : array (d,), default=None
            The point that rows are measured from.

        Returns
        -------
        array (D,)
            The mean.
        """
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
        """Returns log-densities <t(x), theta> - F(theta) + k(x).

        Parameters
        ----------
        X : array (n, d)
            Rows in the support.
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (n, k)
            The log-densities.
        """
        log_normalizer = self.log_normalizer(natural)
        density = np.empty((len(X), len(natural)))
        for block in self.row_blocks(X):
            density[block] = self.sufficient_statistic(X[block]) @ natural.T - log_normalizer
            density[block] += self.log_carrier(X[block])[:, None]
        return density

    @final
    def row_blocks(self, X: Array) -> Iterator[slice]:
        """Cuts rows into blocks whose statistics take a bounded amount of memory.

        Parameters
        ----------
        X : array (n, d)
            The rows.

        Returns
        -------
        iterator of slice
            The rows of each block.
        """
        yield from slices(len(X), max(self.n_statistics_for(X.shape[1]), X.shape[1]))
