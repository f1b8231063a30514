"""Components ready to score rows of any kind."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._kernels import CompressedRows, RowScores
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..families import ExponentialFamily
from ..families.low_rank_gaussian import LowRankGaussian
from ..families.validation import issparse
from ..numerics.arrays import Array
from ..numerics.blas import blas_on_one_thread
from ..numerics.threads import for_each
from .low_rank.form import LowRankForm
from .packed_scorer import ROW_SCORE_ERROR, PackedScorer
from .panels.coordinates import Coordinates, uses_panels
from .panels.kernel import PanelsRows
from .scorer import ROWS_A_PIECE, Check, DenseScorer, Scorer, slices, unchecked

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Rows with many columns are scored by all threads together, this many at a time.
PANELS_ROWS = 1 << 13


def scorer_of(
    family: ExponentialFamily, natural: Array, log_weights: Array, X: "Array | csr_array", n_threads: int = 1
) -> Scorer:
    """A scorer of these components for rows such as these."""
    if not family.exponential:
        return DirectScorer(family, natural, log_weights, n_threads)
    if issparse(X):
        return SparseScorer(family, natural, log_weights, n_threads)
    kind: type[DenseScorer] = PackedScorer
    if uses_panels(family, X.shape[1]):
        kind = LowRankScorer if isinstance(family, LowRankGaussian) else PanelsScorer
    return kind(family, natural, log_weights, X, n_threads)


def likelihoods_of(rows: Rows | SparseRows, first: int, components: tuple[ExponentialFamily, Array, Array]) -> Array:
    """The sums of the log-densities of rows and of their best joint ones (2,); it does not matter where rows begin."""
    found = scorer_of(*components, rows.X, rows.n_threads).scores(rows.X, "log_sums", "tops")
    each = np.array([found.log_sums, found.tops])
    return each.sum(axis=1) if rows.weights is None else each @ rows.weights


class DirectScorer(Scorer):
    """Families that are no exponential families, by their own densities."""

    def __init__(self, family: ExponentialFamily, natural: Array, log_weights: Array, n_threads: int = 1) -> None:
        self.n_components, self.n_threads = len(natural), n_threads
        self._family, self._natural, self._log_weights = family, natural, log_weights

    def blocks(self, n_rows: int) -> Iterator[slice]:
        return slices(n_rows, ROWS_A_PIECE * 4)

    def _scores(self, X: Array, check: Check) -> Array:
        check(X, None)
        density = self._family.direct_log_density(X.astype(float, copy=False), self._natural)
        assert density is not None  # such families have no others
        return density + self._log_weights

    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        labels[...] = self._scores(X, check).argmax(axis=1)

    def score(self, X: Array, out: RowScores, check: Check) -> None:
        out.put(slice(None), self._scores(X, check))


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


class LowRankScorer(PanelsScorer):
    """Low-rank Gaussians of many columns, as products of matrices; by panels where those round too much."""

    def __init__(
        self, family: ExponentialFamily, natural: Array, log_weights: Array, X: Array, n_threads: int = 1
    ) -> None:
        super().__init__(family, natural, log_weights, X, n_threads)
        assert isinstance(family, LowRankGaussian)
        self._low_rank = LowRankForm(family, self.natural, self.bias)

    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        check(X, None)
        if not self._by_blocks(X, lambda block, scores: _write_labels(labels[block], scores)):
            super().label(X, labels, unchecked)

    def score(self, X: Array, out: RowScores, check: Check) -> None:
        check(X, None)
        if not self._by_blocks(X, lambda block, scores: out.part(block).put(slice(None), scores)):
            super().score(X, out, unchecked)

    def _by_blocks(self, X: Array, work: Callable[[slice, Array], None]) -> bool:
        """Calls work(block, scores) for all rows; False, and nothing is done, where scores would round too much."""
        seen = self.seen(X).astype(float, copy=False)
        if not self._low_rank.rounding(float(np.einsum("nd,nd->n", seen, seen).max(initial=0.0))) <= ROW_SCORE_ERROR:
            return False
        with blas_on_one_thread():
            self._low_rank.for_blocks(len(X), lambda block: seen[block], work, self._n_threads)
        return True


def _write_labels(labels: NDArray[np.int32], scores: Array) -> None:
    labels[:] = scores.argmax(axis=1)
