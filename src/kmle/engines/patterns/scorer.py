"""Components ready to score rows with missing entries."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..._kernels import RowScores
from ...data.table import Rows
from ...families import ComponentFamilies
from ...numerics.arrays import Array
from ..scorer import Check, DenseScorer
from .engine import PatternsEngine
from .entries import observed_log_densities

# Rows that are scored at a time.
ROWS_A_BLOCK = 1 << 14


class PatternsScorer(DenseScorer):
    """Rows by the likelihood of what they have."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self._n_threads, self.n_threads = self.n_threads, 1

    def blocks(self, n_rows: int) -> Iterator[slice]:
        for start in range(0, n_rows, ROWS_A_BLOCK):
            yield slice(start, min(start + ROWS_A_BLOCK, n_rows))

    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        labels[:] = self._scores(X).argmax(axis=1)

    def score(self, X: Array, out: RowScores, check: Check) -> None:
        out.put(slice(0, len(X)), self._scores(X))

    def _scores(self, X: Array) -> Array:
        if isinstance(self.family, ComponentFamilies) or not self.family.exponential:
            return observed_log_densities(self.family, X, self.given, self._n_threads) + self.log_weights
        rows = Rows(self.family, X, None, self.center, self._n_threads)
        scores = PatternsEngine(rows).scores(self.natural, self.bias)
        return scores + rows.log_carrier(slice(None))[:, None]
