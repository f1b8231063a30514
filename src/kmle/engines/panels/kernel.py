"""Rows of many columns against components with a triangular factor each."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._kernels.backend import compiled_module
from ..._kernels.row_scores import RowScores
from ..._kernels.work import Meter, Work
from . import reference as wide_reference
from .products import as_table


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
        compiled = compiled_module()
        self._in_numpy = compiled is None
        self._rows: Any
        if compiled is None:
            self._rows = wide_reference.PanelsRows(n_rows, n_columns)
        else:
            self._rows = compiled.PanelsRows(n_rows, n_columns, n_threads)

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
        model = self._checked(factors, shifts, constants, labels)
        self._count(len(model[2]))
        return int(self._rows.hard_pass(*model, labels))

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
        model = self._checked(factors, shifts, constants, labels)
        out.check(self.n_rows, len(model[2]))
        self._rows.row_scores(*model, labels, *out.arrays, entropies)
        self._count(len(model[2]))

    def _count(self, n_components: int) -> None:
        if self._meter is not None:
            pairs = self.n_rows * n_components
            self._meter.add(Work(1, pairs, 0, pairs if self._in_numpy else 0))

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
        A, m, c = self._checked(factors, shifts, constants, labels)
        d = self.n_columns
        if rows.shape != (self.n_rows, d) or center.shape != (d,):
            raise ValueError(f"rows and origin must have shapes ({self.n_rows}, {d}) and ({d},).")
        counts, sums = np.zeros(len(c)), np.zeros((len(c), d + d * (d + 1) // 2))
        kept = len(c) if n_responsibilities is None else min(n_responsibilities, len(c))
        self._count(len(c))
        score = self._rows.soft_pass(A, m, c, labels, as_table(rows), center, weights, kept, counts, sums)
        return counts, sums, float(score)

    def _checked(
        self, factors: ArrayLike, shifts: ArrayLike, constants: ArrayLike, labels: NDArray[np.int32]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
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
        return A, m, c
