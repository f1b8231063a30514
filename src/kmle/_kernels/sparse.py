"""Compressed sparse rows as they lie in memory, scored and added up without copies."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import sparse_reference
from .backend import compiled_module
from .packed import components_for, labels_for
from .row_scores import RowScores
from .statistics import Clusters, Meter, Totals, Work

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]

COMPILED = {
    (np.dtype(np.float64), np.dtype(np.int32)): "SparseRows64",
    (np.dtype(np.float64), np.dtype(np.int64)): "SparseRows64Long",
    (np.dtype(np.float32), np.dtype(np.int32)): "SparseRows32",
    (np.dtype(np.float32), np.dtype(np.int64)): "SparseRows32Long",
}


class CompressedRows:
    """Sparse rows X (n, D), float32 or float64, whose t(x) is x; scores are <x, natural_j> + bias_j.

    The arrays of X are used where they lie and must not change meanwhile. Entries may come in any order, and repeated
    ones add; with entries in the order of their columns, labels are those of `PackedRows` on the filled-in rows. A
    component with a bias of -inf is inactive, never wins and may have any natural parameter. Beside X a pass holds the
    natural parameters once more, a soft one also one to four tables of their size and a few megabytes.

    >>> from scipy.sparse import csr_array
    >>> rows = CompressedRows(csr_array([[0.0, 2.0], [3.0, 0.0]]))
    >>> clusters = Clusters.empty(2, 2, rows.n_statistics)
    >>> rows.hard_pass([[1.0, 0.0], [0.0, 1.0]], [0.0, 0.0], clusters)
    2
    >>> clusters.labels, clusters.sums
    (array([1, 0], dtype=int32), array([[3., 0.],
           [0., 2.]]))
    """

    def __init__(
        self, X: "csr_array", weights: ArrayLike | None = None, n_threads: int = 1, meter: Meter | None = None
    ) -> None:
        self._meter = meter
        if X.dtype not in (np.float32, np.float64):
            raise TypeError(f"rows must be float32 or float64, got {X.dtype}: convert by astype(float).")
        self.n_rows, self.n_statistics = X.shape
        row_weights = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        if row_weights is not None and row_weights.shape != (self.n_rows,):
            raise ValueError(f"weights must have shape ({self.n_rows},), one per row, got {row_weights.shape}.")
        if len(X.indptr) != self.n_rows + 1:
            raise ValueError(f"indptr must have {self.n_rows + 1} entries, one more than rows, got {len(X.indptr)}.")
        self.n_values = len(X.data)
        index = np.promote_types(X.indices.dtype, X.indptr.dtype)
        columns, starts = np.ascontiguousarray(X.indices, dtype=index), np.ascontiguousarray(X.indptr, dtype=index)
        arrays = np.ascontiguousarray(X.data), columns, starts
        self._module: Any = compiled_module()
        self._rows: Any
        if self._module is None:
            self._rows = sparse_reference.CompressedRows(*arrays, self.n_statistics, row_weights)
        else:
            kind = getattr(self._module, COMPILED[X.dtype, index])
            self._rows = kind(*arrays, self.n_statistics, row_weights, n_threads)

    def hard_pass(self, natural: ArrayLike, bias: ArrayLike, clusters: Clusters) -> int:
        """Gives every row its best component, the lowest index on a tie; returns how many labels changed."""
        theta, b = self._components(natural, bias)
        if clusters.labels.shape != (self.n_rows,) or clusters.sums.shape != theta.shape:
            raise ValueError(f"clusters of shape {clusters.sums.shape} do not fit components of shape {theta.shape}.")
        if clusters.labels.max(initial=-1) >= len(theta):
            raise ValueError(f"labels must lie below {len(theta)}, got {clusters.labels.max()}.")
        changed = self._rows.hard_pass(theta, b, self._given(clusters))
        self._count(len(b))
        clusters.clear_empty()
        return int(changed)

    def soft_pass(
        self, natural: ArrayLike, bias: ArrayLike, n_responsibilities: int | None = None
    ) -> tuple[Floats, Floats, float]:
        """Counts (k,) and sums (k, D) by responsibility, and the weighted sum of the rows' log-sum-exp of scores.

        With `n_responsibilities` only the largest responsibilities of a row count, rescaled to one, the lowest index on
        a tie. Without active components all is zero, and the score -inf.
        """
        theta, b = self._components(natural, bias)
        k = len(b)
        if not np.isfinite(b).any():
            return np.zeros(k), np.zeros((k, self.n_statistics)), -np.inf
        kept = k if n_responsibilities is None else min(n_responsibilities, k)
        self._count(k)
        if kept == 1:
            labels = np.empty(self.n_rows, dtype=np.int32)
            score = self._rows.best(theta, b, labels)
            return *self.label_sums(labels, k), float(score)
        totals = Totals.zeros(k, self.n_statistics)
        score = self._rows.soft_pass(theta, b, kept, self._given(totals))
        return totals.counts, totals.sums, float(score)

    def log_likelihood(self, natural: ArrayLike, bias: ArrayLike) -> tuple[float, float]:
        """The weighted sums of the rows' log-sum-exp of scores and of the entropies of their responsibilities."""
        theta, b = self._components(natural, bias)
        if not np.isfinite(b).any():
            return -np.inf, 0.0
        score, entropy = self._rows.log_likelihood(theta, b)
        self._count(len(b))
        return float(score), float(entropy)

    def row_scores(self, natural: ArrayLike, bias: ArrayLike, out: RowScores) -> None:
        """Fills in what is wanted of each row."""
        theta, b = self._components(natural, bias)
        out.check(self.n_rows, len(b))
        self._rows.row_scores(theta, b, self._given(out))
        self._count(len(b))

    def scores(self, natural: ArrayLike, bias: ArrayLike) -> Floats:
        """The scores of all rows with all components (n, k)."""
        out = RowScores.wanting(["scores"], self.n_rows, len(np.asarray(bias)))
        self.row_scores(natural, bias, out)
        assert out.scores is not None  # it was asked for
        return out.scores

    def label_rows(self, natural: ArrayLike, bias: ArrayLike, labels: NDArray[np.int32]) -> None:
        """Writes the best component of every row (n,), the label that a hard pass gives it; nothing is added up."""
        theta, b = self._components(natural, bias)
        if labels.shape != (self.n_rows,) or labels.dtype != np.int32 or not labels.flags.c_contiguous:
            raise ValueError(f"labels must be {self.n_rows} contiguous int32, got {labels.dtype} of {labels.shape}.")
        self._rows.best(theta, b, labels)
        self._count(len(b))

    def label_sums(self, labels: ArrayLike, n_labels: int) -> tuple[Floats, Floats]:
        """Counts (k,) and sums (k, D) of given labels in 0..k-1; rows labelled -1 are no one's."""
        given = labels_for(self.n_rows, labels, n_labels)
        totals = Totals(np.empty(n_labels), np.empty((n_labels, self.n_statistics)))
        self._rows.label_sums(given, self._given(totals))
        return totals.counts, totals.sums

    def _given(self, value: Any) -> Any:
        """An object as the passes take it: in NumPy as it is."""
        return value if self._module is None else value.compiled(self._module)

    def _count(self, n_components: int) -> None:
        if self._meter is not None:
            pairs = self.n_rows * n_components
            self._meter.add(Work(1, pairs, 0, pairs if self._module is None else 0))

    def _components(self, natural: ArrayLike, bias: ArrayLike) -> tuple[Floats, Floats]:
        theta, b = components_for(self.n_statistics, natural, bias)
        return np.ascontiguousarray(theta), np.ascontiguousarray(b)
