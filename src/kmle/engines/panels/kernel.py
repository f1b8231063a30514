"""Rows of many columns against components with a triangular factor each."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._kernels.backend import compiled_module
from ..._kernels.row_scores import RowScores
from ..._kernels.statistics import Meter, Totals, Work
from . import reference
from .products import CenteredTable, as_table


class PanelsRows:
    """Rows y (n, d) in float64, scored by constant_j - |A_j y - shift_j|^2 / 2 with lower triangular A_j.

    The first rows of A_j see the first columns only. Where those tell components apart, the compiled pass gives up
    most components after a small part of the work, and is as exact as if it had not: scores are those of residuals
    summed in order, the lowest index wins on a tie. A component with a constant of -inf is inactive, never wins and may
    have any factor. Rows are given once, in any number of pieces, by `load`.

    >>> rows = PanelsRows(3, 2)
    >>> rows.load(0, np.array([[0.0, 1.0], [4.0, 4.0], [1.0, 0.0]]))
    >>> labels = np.full(3, -1, dtype=np.int32)
    >>> rows.hard_pass([np.eye(2), np.eye(2)], [[0.0, 0.0], [4.0, 5.0]], [0.0, 0.0], labels)
    3
    >>> labels
    array([0, 1, 0], dtype=int32)
    """

    def __init__(self, n_rows: int, n_columns: int, n_threads: int = 1, meter: Meter | None = None) -> None:
        self._meter = meter
        if n_columns < 1:
            raise ValueError("rows must have at least one column.")
        self.n_rows, self.n_columns = n_rows, n_columns
        self._module: Any = compiled_module()
        self._n_threads = n_threads
        self._rows: Any
        if self._module is None:
            self._rows = reference.PanelsRows(n_rows, n_columns)
        else:
            self._rows = self._module.PanelsRows(n_rows, n_columns, n_threads)

    def load(self, first: int, rows: NDArray[Any]) -> None:
        """Takes rows (m, d) as those from `first` on."""
        if rows.ndim != 2 or rows.shape[1] != self.n_columns or first < 0 or first + len(rows) > self.n_rows:
            raise ValueError(f"rows of shape {rows.shape} do not fit at {first} of ({self.n_rows}, {self.n_columns}).")
        if len(rows):
            self._rows.load(first, np.asarray(rows, dtype=np.float64))

    def hard_pass(self, factors: ArrayLike, shifts: ArrayLike, constants: ArrayLike, labels: NDArray[np.int32]) -> int:
        """Gives every row its best component; returns how many labels changed.

        `factors` (k, d, d), above the diagonal not read; `shifts` (k, d); `constants` (k,). The labels given say
        which component to try first, those of the last pass being the best choice; a label of -1 is none.
        """
        model, k = self._checked(factors, shifts, constants, labels)
        self._count(k)
        return int(self._rows.hard_pass(model, labels))

    def log_likelihood(
        self, factors: ArrayLike, shifts: ArrayLike, constants: ArrayLike, labels: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of every row log sum_j exp(score_j), and the entropy of exp(score_j) scaled to sum to one; both (n,).

        Arguments are those of `hard_pass`, but labels only say where to begin. Components far below the best are given
        up here too: what they would add is less than rounding.
        """
        entropies = np.empty(self.n_rows)
        out = RowScores.wanting(["log_sums"], self.n_rows, 1)
        self.row_scores(factors, shifts, constants, labels, out, entropies)
        assert out.log_sums is not None  # they were asked for
        return out.log_sums, entropies

    def row_scores(
        self,
        factors: ArrayLike,
        shifts: ArrayLike,
        constants: ArrayLike,
        labels: NDArray[np.int32],
        out: RowScores,
        entropies: NDArray[np.float64] | None = None,
    ) -> None:
        """Fills in what is wanted of each row, and the entropies of its responsibilities (n,).

        Labels only say where to begin. A component below exp(-45) of the best has no share, unless scores are wanted.
        """
        model, k = self._checked(factors, shifts, constants, labels)
        out.check(self.n_rows, k)
        self._rows.row_scores(model, labels, self._given(out), entropies)
        self._count(k)

    def _count(self, n_components: int) -> None:
        if self._meter is not None:
            pairs = self.n_rows * n_components
            self._meter.add(Work(1, pairs, 0, pairs if self._module is None else 0))

    def soft_pass(
        self,
        factors: ArrayLike,
        shifts: ArrayLike,
        constants: ArrayLike,
        labels: NDArray[np.int32],
        rows: NDArray[Any],
        center: NDArray[np.float64],
        weights: NDArray[np.floating[Any]] | None = None,
        n_responsibilities: int | None = None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Counts (k,), sums (k, D) of statistics by responsibility, and the sum of log sum_j exp(score_j).

        Statistics are x = rows - center and the upper triangle of x x^T, of the same rows in coordinates of any kind.
        Of each row the `n_responsibilities` largest responsibilities count; those below exp(-45) of the largest are
        left out. Labels only say where to begin; they become those of the largest responsibilities.
        """
        model, k = self._checked(factors, shifts, constants, labels)
        d = self.n_columns
        if rows.shape != (self.n_rows, d) or center.shape != (d,):
            raise ValueError(f"rows and center must have shapes ({self.n_rows}, {d}) and ({d},).")
        totals, table = Totals.zeros(k, d + d * (d + 1) // 2), CenteredTable(as_table(rows), center)
        kept = k if n_responsibilities is None else min(n_responsibilities, k)
        self._count(k)
        score = self._rows.soft_pass(model, labels, self._given(table), weights, kept, self._given(totals))
        return totals.counts, totals.sums, float(score)

    def _given(self, value: Any) -> Any:
        """An object as the passes take it: in NumPy as it is."""
        return value if self._module is None else value.compiled(self._module)

    def _checked(
        self, factors: ArrayLike, shifts: ArrayLike, constants: ArrayLike, labels: NDArray[np.int32]
    ) -> tuple[Any, int]:
        """The components as the passes take them, and how many there are."""
        A, m = np.asarray(factors, dtype=np.float64), np.asarray(shifts, dtype=np.float64)
        c, d = np.asarray(constants, dtype=np.float64), self.n_columns
        if c.ndim != 1 or len(c) == 0 or A.shape != (len(c), d, d) or m.shape != (len(c), d):
            raise ValueError(
                f"factors, shifts and constants must have shapes (k, {d}, {d}), (k, {d}) and (k,), "
                f"got {A.shape}, {m.shape} and {c.shape}."
            )
        if labels.shape != (self.n_rows,) or labels.dtype != np.int32 or not labels.flags.c_contiguous:
            raise ValueError(f"labels must be {self.n_rows} contiguous int32, got {labels.dtype} of {labels.shape}.")
        if labels.max(initial=-1) >= len(c):
            raise ValueError(f"labels must lie below {len(c)}, got {labels.max()}.")
        if self._module is None:
            return reference.PanelsModel(A, m, c), len(c)
        return self._module.PanelsModel(A, m, c, self._n_threads), len(c)
