"""Components ready to score rows of any kind."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._kernels import CompressedRows, RowScores
from ..families import ExponentialFamily
from ..families.validation import issparse
from ..numerics.arrays import Array
from ..numerics.blas import blas_on_one_thread
from ..numerics.threads import for_each
from .packed_scorer import PackedScorer
from .panels.coordinates import Coordinates, uses_panels
from .panels.kernel import PanelsRows
from .scorer import ROWS_A_PIECE, Check, DenseScorer, Scorer, slices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Rows with many columns are scored by all threads together, so many at a time.
PANELS_ROWS = 1 << 13


def scorer_of(
    family: ExponentialFamily, natural: Array, log_weights: Array, X: "Array | csr_array", n_threads: int = 1
) -> Scorer:
    """A scorer of these components for rows such as these."""
    if issparse(X):
        return SparseScorer(family, natural, log_weights, n_threads)
    kind = PanelsScorer if uses_panels(family, X.shape[1]) else PackedScorer
    return kind(family, natural, log_weights, X, n_threads)


class SparseScorer(Scorer):
    """Sparse rows, where they lie."""

    def __init__(self, family: ExponentialFamily, natural: Array, log_weights: Array, n_threads: int = 1) -> None:
        self.n_components, self.n_threads = len(natural), 1
        self._family, self._n_threads = family, n_threads
        self._components = natural, log_weights - family.log_normalizer(natural)

    def blocks(self, n_rows: int) -> Iterator[slice]:
        yield slice(0, n_rows)

    def label(self, X: "csr_array", labels: NDArray[np.int32], check: Check) -> None:
        check(X, None)
        CompressedRows(X, n_threads=self._n_threads).label_rows(*self._components, labels)

    def score(self, X: "csr_array", out: RowScores, check: Check) -> None:
        check(X, None)
        CompressedRows(X, n_threads=self._n_threads).row_scores(*self._components, out)
        if out.has_scores:
            out.lift(self._family.sparse_log_carrier(X))


class PanelsScorer(DenseScorer):
    """Gaussians of many columns, by panels of triangular factors."""

    def __init__(
        self, family: ExponentialFamily, natural: Array, log_weights: Array, X: Array, n_threads: int = 1
    ) -> None:
        super().__init__(family, natural, log_weights, X, 1)
        self._n_threads, weights = n_threads, np.exp(log_weights)
        mean_statistic = weights @ family.moment_from_natural(self.natural)
        with blas_on_one_thread():
            self._coordinates = Coordinates(family, mean_statistic, self.natural, len(X))
            self._model = self._coordinates.triangles(self.natural, self.bias)

    def blocks(self, n_rows: int) -> Iterator[slice]:
        return slices(n_rows, PANELS_ROWS)

    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        check(X, None)
        labels[:] = -1
        self._load(X).hard_pass(*self._model, labels)

    def score(self, X: Array, out: RowScores, check: Check) -> None:
        check(X, None)
        self._load(X).row_scores(*self._model, np.full(len(X), -1, dtype=np.int32), out)
        if self.family.has_carrier and out.has_scores:
            out.lift(self.carriers(X))

    def _load(self, X: Array) -> PanelsRows:
        values = PanelsRows(len(X), X.shape[1], self._n_threads)
        with blas_on_one_thread():
            for_each(
                lambda rows: values.load(rows.start, self._coordinates.of_rows(self.seen(X[rows]))),
                slices(len(X), ROWS_A_PIECE // 2),
                self._n_threads,
                1,
            )
        return values
