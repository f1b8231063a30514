"""What scores rows with components, some at a time: beside the outcome a block of rows is held."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary, RowScores
from ..families import ExponentialFamily
from ..numerics.arrays import Array
from ..numerics.threads import for_each

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Carriers, and statistics that NumPy computes, are computed for this many rows at a time.
ROWS_A_PIECE = 1 << 11

Check = Callable[[Array, ColumnSummary | None], None]
"""Raises where rows are not legal; it is given what was seen of them, or None where nothing was."""


def unchecked(X: Array, seen: ColumnSummary | None) -> None:
    """Takes all rows as legal."""


class Scorer(ABC):
    """Components (k, D) with log-weights (k,) that rows are scored with: log-weight plus log-density."""

    n_components: int
    n_threads: int
    """How many blocks are scored at a time."""

    @abstractmethod
    def blocks(self, n_rows: int) -> Iterator[slice]:
        """Blocks of rows that are scored together."""

    def label_blocks(self, n_rows: int) -> Iterator[slice]:
        """Blocks of rows that are labelled together."""
        return self.blocks(n_rows)

    @abstractmethod
    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        """Writes the best component of each row of a block, the lowest index on a tie, after they have been checked."""

    @abstractmethod
    def score(self, X: Array, out: RowScores, check: Check) -> None:
        """Fills in what is wanted of each row of a block, after they have been checked."""

    def scores_in_place(self, X: "Array | csr_array") -> bool:
        """Whether rows are better scored where they lie than block by block."""
        return False

    def score_in_place(
        self, X: "Array | csr_array", labels: NDArray[np.int32] | None, out: RowScores | None
    ) -> tuple[ColumnSummary | None, bool]:
        """Labels and scores of all rows where they lie; what was seen of the rows, and if all is filled in.

        Scores lack the carrier k(x).
        """
        return None, False

    def lifted(self, X: "Array | csr_array", out: RowScores) -> RowScores:
        """Scores of all rows with k(x) added, where they lack it."""
        return out

    def labels(self, X: "Array | csr_array", check: Check = unchecked) -> NDArray[np.intp]:
        """The best component of each row, (n,), after they have been checked."""
        labels = np.empty(X.shape[0], dtype=np.intp)

        def label(rows: Array, block: slice) -> None:
            found = np.empty(rows.shape[0], dtype=np.int32)
            self.label(rows, found, check)
            labels[block] = found

        if not self._label_in_place(X, labels, check):
            self._block_by_block(X, label, self.label_blocks(X.shape[0]), check)
        return labels

    def _label_in_place(self, X: "Array | csr_array", labels: NDArray[np.intp], check: Check) -> bool:
        """Labels rows where they lie; whether that could be done."""
        if not self.scores_in_place(X):
            return False
        found = np.empty(X.shape[0], dtype=np.int32)
        seen, done = self.score_in_place(X, found, None)
        if seen is not None:
            check(X, seen)
        labels[:] = found
        return done

    def scores(self, X: "Array | csr_array", *names: str, check: Check = unchecked) -> RowScores:
        """What is named of each row, after they have been checked; the scores are log(weight_j p_j(x))."""
        out = RowScores.wanting(names, X.shape[0], self.n_components)
        if self.scores_in_place(X):
            seen, done = self.score_in_place(X, None, out)
            if seen is not None:
                check(X, seen)
            if done:
                return self.lifted(X, out)
        blocks = self.blocks(X.shape[0])
        self._block_by_block(X, lambda rows, block: self.score(rows, out.part(block), check), blocks, check)
        return out

    def _block_by_block(
        self, X: "Array | csr_array", work: Callable[[Array, slice], None], blocks: Iterator[slice], check: Check
    ) -> None:
        """Calls work(rows, block) for all blocks; checks see a block while it is in the cache."""
        try:
            for_each(lambda block: work(_part(X, block), block), blocks, self.n_threads, 1)
        except ValueError:
            check(X, None)  # which names the first row of all that is not legal
            raise


class DenseScorer(Scorer):
    """Rows seen from the middle of the components, where digits are kept."""

    def __init__(
        self, family: ExponentialFamily, natural: Array, log_weights: Array, X: Array, n_threads: int = 1
    ) -> None:
        self.n_components = len(natural)
        self.family, self.n_threads = family, n_threads
        self.given, self.log_weights = natural, log_weights
        with np.errstate(all="ignore"):
            center = family.center(natural, np.exp(log_weights))
        self.center = center if center is not None and np.isfinite(center).all() else None
        (self.natural,) = family.centered(self.center, natural)
        self.bias = log_weights - family.log_normalizer(self.natural)

    def seen(self, X: Array) -> Array:
        """Rows as the family measures them from the center, in float64."""
        block = X.astype(float, copy=False)
        return block if self.center is None else self.family.centered_rows(block, self.center)

    def carriers(self, X: Array, centered: bool = False) -> Array:
        """k(x) of rows; for scores by differences to means without the squares that those hold."""
        carriers = np.empty(len(X))
        for rows in slices(len(X), ROWS_A_PIECE):
            block = X[rows].astype(float, copy=False)
            if centered:
                carriers[rows] = self.family.log_carrier_beside_means(block)
            elif self.center is None:
                carriers[rows] = self.family.log_carrier(block)
            else:
                carriers[rows] = self.family.log_carrier_from(block, self.center)
        return carriers


def _part(X: "Array | csr_array", block: slice) -> "Array | csr_array":
    """Some of the rows; sparse ones would be copied."""
    return X if block == slice(0, X.shape[0]) else X[block]


def slices(n_rows: int, size: int) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
