"""Sparse rows and their engine: text and other wide counts, learned without filling in the zeros.

Scores are one sparse product a block of rows, sums one sparse product the other way.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import scipy
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .partition import Labelled, Labels, Partition

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Scores are computed for blocks of rows of about this many bytes.
BLOCK_BYTES = 4 << 20


class SparseRows:
    """What `Rows` offers, for sparse X whose t(x) is x itself."""

    def __init__(self, family: ExponentialFamily, X: "csr_array", weights: Array | None = None) -> None:
        self.family = family
        self.X = X
        self.weights = weights
        self.origin: Array | None = None
        self.order = family.order_for(X.shape[1])

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def total(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def slices(self, width: int) -> Iterator[slice]:
        """Blocks of rows that make a table of this many columns a few megabytes large."""
        size = max(1, BLOCK_BYTES // (8 * width))
        for start in range(0, len(self), size):
            yield slice(start, min(start + size, len(self)))

    def seen_from_origin(self, rows: slice | NDArray[np.intp]) -> Array:
        """Chosen rows, filled in."""
        return np.asarray(self.X[rows].toarray())

    def take(self, rows: slice | NDArray[np.intp]) -> Array:
        """Statistics of chosen rows, in float64: the rows, filled in."""
        return self.seen_from_origin(rows).astype(float, copy=False)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their statistics, filled in block by block."""
        for rows in self.slices(self.order):
            yield rows, self.take(rows)

    def weights_of(self, rows: slice) -> Array | None:
        """Sample weights of a block."""
        return None if self.weights is None else self.weights[rows]

    @property
    def mean_statistic(self) -> Array:
        """The weighted mean of t over all rows."""
        ones = np.ones(len(self)) if self.weights is None else self.weights
        return np.asarray(self.X.T @ ones) / self.total

    @property
    def largest_statistic(self) -> Array:
        """A bound on |t_i(x)|: the largest entry of all."""
        return np.full(self.order, float(np.abs(self.X.data).max(initial=0.0)))

    def sum_log_carrier(self) -> float:
        """The weighted sum of k(x)."""
        carrier = self.family.sparse_log_carrier(self.X)
        return float(carrier.sum() if self.weights is None else self.weights @ carrier)

    def raw(self, rows: slice | NDArray[np.intp]) -> Array:
        """Chosen rows, filled in."""
        return self.seen_from_origin(rows)

    def subset(self, rows: NDArray[np.intp]) -> "SparseRows":
        """Chosen rows, still sparse."""
        return SparseRows(self.family, self.X[rows], None if self.weights is None else self.weights[rows])

    def log_carrier(self, rows: slice) -> Array:
        """k(x) of a block."""
        return self.family.sparse_log_carrier(self.X[rows])

    def label_sums(self, labels: Labels, n_components: int) -> tuple[Array, Array]:
        """Counts (k,) and sums (k, D) of given labels."""
        weights = np.ones(len(self)) if self.weights is None else self.weights
        membership = scipy.sparse.csr_array(
            (weights, labels, np.arange(len(self) + 1)), shape=(len(self), n_components)
        ).T
        counts = np.bincount(labels, weights, n_components).astype(float)
        return counts, np.asarray((membership @ self.X).toarray(), dtype=float)


class SparseEngine:
    """Passes on sparse rows."""

    name = "sparse"

    def __init__(self, rows: SparseRows) -> None:
        self.rows = rows

    def _scores(self, natural: Array, bias: Array) -> Iterator[tuple[slice, Array]]:
        theta = np.where(np.isneginf(bias)[:, None], 0.0, natural).T
        for block in self.rows.slices(len(natural)):
            yield block, np.asarray(self.rows.X[block] @ theta, dtype=float) + bias

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        labels = np.empty(len(self.rows), dtype=np.int32)
        for block, scores in self._scores(natural, bias):
            labels[block] = scores.argmax(axis=1)
        return Labelled(labels), ClusterStatistics(*self.rows.label_sums(labels, len(natural)), 0.0)

    def evidence(self, natural: Array, bias: Array) -> None:
        """There is no other way than a soft pass."""

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        statistics = ClusterStatistics.zeros(len(natural), self.rows.order)
        for block, scores in self._scores(natural, bias):
            if n_kept is not None and n_kept < len(natural):
                dropped = np.argsort(-scores, axis=1, kind="stable")[:, n_kept:]
                np.put_along_axis(scores, dropped, -np.inf, axis=1)
            evidence = np.asarray(scipy.special.logsumexp(scores, axis=1))
            shares = np.exp(scores - evidence[:, None])
            weights = self.rows.weights_of(block)
            if weights is not None:
                shares *= weights[:, None]
            score = float(evidence.sum() if weights is None else weights @ evidence)
            sums = np.asarray((self.rows.X[block].T @ shares).T, dtype=float)
            statistics += ClusterStatistics(shares.sum(axis=0), sums, score)
        return statistics
