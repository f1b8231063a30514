"""The wide engine: Gaussians with full covariances on many columns, most components given up after a few of them.

Rows are turned once, y = Q^T (x / scales), so that the first columns of y tell components apart. With the precision in
these coordinates factored as A^T A, A lower triangular, the first rows of A (x - mean) see the first columns only and
bound the Mahalanobis distance from below: the kernel stops as soon as another component has won, or in soft passes as
soon as the responsibility is negligible. Sums of products are those of the rows as they were given.

Scores are the direct engine's, from factors and residuals, never from products of columns: labels are the same except
where the two best scores of a row are closer than the rounding of either engine.
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from ..families import Gaussian
from ..kernels import WideRows, product_sums
from ..numerics.arrays import Array
from ..numerics.blas import blas_on_one_thread
from ..numerics.linear_algebra import cholesky_or_nan
from ..numerics.packing import diagonal_places, unpack, unpack_dual
from ..statistics import ClusterStatistics
from .partition import Labelled, Labels, Partition
from .rows import Rows
from .tally import PASSES, shrunken
from .threads import for_each

# From about this many columns on it beats the dense engine, whose cost grows with the products of columns: twice as
# fast at 60, seven times at 200 (20 components that overlap; more where they do not).
WIDE_FROM_COLUMNS = 32
# Rows are turned in blocks of this many.
ROWS_A_BLOCK = 1024
# Collinear columns: a share of every variance this small is added before the scatter is factored.
RIDGE = 1e-9
SMALLEST_PRECISION = 1e-150


def can_widen(rows: Rows) -> bool:
    """Whether these rows are scored by a mean and a full covariance."""
    return isinstance(rows.family, Gaussian)


class WideEngine:
    """The dense engine's passes for Gaussians of many columns."""

    name = "wide"

    def __init__(self, rows: Rows) -> None:
        if not can_widen(rows):
            raise ValueError(f"the wide engine serves Gaussians with full covariances, not {rows.family.name}")
        self.rows = rows
        self._turned: _TurnedRows | None = None
        self._labels = np.full(len(rows), -1, dtype=np.int32)
        self._partition: Labelled | None = None
        self._counts, self._sums = np.zeros(0), np.zeros((0, rows.order))
        self._peak = np.zeros(0, dtype=np.int64)
        self._passes = 0
        self._likely = np.full(len(rows), -1, dtype=np.int32)
        """The labels of the largest responsibilities of the last soft pass: where the next one begins."""

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        with blas_on_one_thread():
            return self._hard_pass(natural, bias)

    def _hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        k = len(natural)
        if len(self._counts) != k:
            self._labels[:] = -1
            self._counts, self._sums = np.zeros(k), np.zeros((k, self.rows.order))
            self._peak = np.zeros(k, dtype=np.int64)
        regular = self._passes % PASSES == 0
        self._passes += 1
        if self._turned is None or regular:
            self._turned = _TurnedRows(self.rows, natural[np.isfinite(bias)])
        before = self._labels.copy()
        changed = self._turned.hard_pass(natural, bias, self._labels)
        sizes = np.bincount(self._labels, minlength=k)
        refresh = regular or bool(shrunken(sizes, self._peak).any())
        if refresh:
            # Sums are gathered afresh now and then, so that what rounding leaves in them stays small.
            self._peak = sizes
            self._counts[:], self._sums[:] = 0.0, 0.0
            before[:] = -1
        self._peak = np.maximum(self._peak, sizes)
        if changed or refresh:
            self._move(before)
        if changed or self._partition is None:
            self._partition = Labelled(self._labels.copy())
        return self._partition, ClusterStatistics(self._counts.copy(), self._sums.copy(), 0.0)

    def evidence(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        with blas_on_one_thread():
            if self._turned is None:
                self._turned = _TurnedRows(self.rows, natural[np.isfinite(bias)])
            known = len(self._counts) == len(natural)
            labels = self._labels if known else np.full(len(self.rows), -1, dtype=np.int32)
            evidence, entropies = self._turned.evidence(natural, bias, labels)
        if self.rows.weights is None:
            return float(evidence.sum()), float(entropies.sum())
        return float(self.rows.weights @ evidence), float(self.rows.weights @ entropies)

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        if self._likely.max(initial=-1) >= len(natural):
            self._likely[:] = -1
        return self._soften(natural, bias, n_kept, self._likely)

    def soft_passes(self, natural: Array, bias: Array, n_kept: int | None = None) -> list[ClusterStatistics]:
        """Soft passes with several mixtures (S, k, D)."""
        nowhere = np.full(len(self.rows), -1, dtype=np.int32)
        return [self._soften(*each, n_kept, nowhere.copy()) for each in zip(natural, bias, strict=True)]

    def _soften(self, natural: Array, bias: Array, n_kept: int | None, labels: Labels) -> ClusterStatistics:
        with blas_on_one_thread():
            if self._turned is None:
                self._turned = _TurnedRows(self.rows, natural[np.isfinite(bias)])
            return ClusterStatistics(*self._turned.soft_pass(natural, bias, labels, n_kept))

    def gather(self, labels: Labels, n_components: int) -> tuple[Array, Array]:
        """Counts (k,) and sums (k, D) of given labels; rows with a negative label count nowhere."""
        places = np.flatnonzero(labels >= 0)
        return self._added(places, labels[places], np.ones(len(places)), n_components)

    def _move(self, before: Labels) -> None:
        """Books the rows that changed their label: out of the cluster they leave, into the one they enter."""
        moved = np.flatnonzero(before != self._labels)
        left = moved[before[moved] >= 0]
        clusters = np.concatenate([self._labels[moved], before[left]])
        shares = np.concatenate([np.ones(len(moved)), -np.ones(len(left))])
        counts, sums = self._added(np.concatenate([moved, left]), clusters, shares, len(self._counts))
        self._counts += counts
        self._sums += sums
        # A cluster without rows weighs nothing, whatever rounding left of it.
        empty = np.bincount(self._labels, minlength=len(self._counts)) == 0
        self._counts[empty], self._sums[empty] = 0.0, 0.0

    def _added(self, places: NDArray[np.intp], clusters: Labels, shares: Array, k: int) -> tuple[Array, Array]:
        """Counts and sums of these shares of rows in these clusters."""
        rows = self.rows
        if rows.weights is not None:
            shares = shares * rows.weights[places]
        at = places.astype(np.int32)
        return product_sums(rows.X, origin_of(rows), at, clusters.astype(np.int32), shares, k, rows.n_threads)


def origin_of(rows: Rows) -> Array:
    """Where rows are seen from."""
    return np.zeros(rows.X.shape[1]) if rows.origin is None else rows.origin


class _TurnedRows:
    """Rows in coordinates whose first columns tell the given components apart."""

    def __init__(self, rows: Rows, natural: Array) -> None:
        self.rows = rows
        self.family = rows.family
        d = rows.X.shape[1]
        mean, second = rows.mean_statistic[:d], unpack(rows.mean_statistic[d:])
        scatter = second - np.outer(mean, mean)
        deviations = np.sqrt(np.maximum(np.diagonal(scatter), 0.0))
        # Powers of two: columns of any units become comparable without rounding. A constant column has the units of
        # the components.
        narrowest = 1 / np.sqrt(np.max(-2 * natural[:, d + diagonal_places(d)], axis=0, initial=SMALLEST_PRECISION))
        self.scales = np.exp2(np.round(np.log2(np.where(deviations > 0, deviations, narrowest))))
        self.turn = _discriminating_turn(scatter / np.outer(self.scales, self.scales), self._precisions(natural))
        self.values = WideRows(len(rows), d, rows.n_threads)
        scaled_turn = self.turn / self.scales[:, np.newaxis]

        def load(start: int) -> None:
            x = rows.seen_from_origin(slice(start, start + ROWS_A_BLOCK)).astype(float, copy=False)
            self.values.load(start, x @ scaled_turn)

        for_each(load, range(0, len(rows), ROWS_A_BLOCK), rows.n_threads)

    def hard_pass(self, natural: Array, bias: Array, labels: Labels) -> int:
        """The labels by the highest scores, in place; returns how many changed."""
        return self.values.hard_pass(*self._triangles(natural, bias), labels)

    def evidence(self, natural: Array, bias: Array, labels: Labels) -> tuple[Array, Array]:
        """Of every row log sum_j exp(score_j), and the entropy of its responsibilities."""
        return self.values.evidence(*self._triangles(natural, bias), labels)

    def soft_pass(
        self, natural: Array, bias: Array, labels: Labels, n_kept: int | None
    ) -> tuple[Array, Array, float]:
        """Counts, sums and score by responsibility; labels say where to begin."""
        rows, model = self.rows, self._triangles(natural, bias)
        return self.values.soft_pass(*model, labels, rows.X, origin_of(rows), rows.weights, n_kept)

    def _triangles(self, natural: Array, bias: Array) -> tuple[Array, Array, Array]:
        """Triangular factors, shifts and constants of the scores, as `WideRows` wants them."""
        d, alive = len(self.scales), np.flatnonzero(np.isfinite(bias))
        factors, shifts = np.zeros((len(natural), d, d)), np.zeros((len(natural), d))
        constants = np.full(len(natural), -np.inf)
        # The bias holds -F, as large as the squared distance of the mean from the origin; adding the very same F
        # leaves the log-weight without loss.
        constants[alive] = bias[alive] + self.family.log_normalizer(natural[alive]) - 0.5 * d * np.log(2 * np.pi)
        backwards = np.ascontiguousarray(self.turn[:, ::-1])
        for j, precision in zip(alive, self._precisions(natural[alive]), strict=True):
            # P = L L^T; the triangle of a QR factorisation of L^T Q, columns last to first, is A read backwards: its
            # rounding is that of L, not of P, whose condition is squared.
            lower = scipy.linalg.cholesky(precision, lower=True, check_finite=False)
            triangle = scipy.linalg.qr(lower.T @ backwards, mode="r", check_finite=False)[0]
            factors[j] = triangle[::-1, ::-1]
            shifts[j] = scipy.linalg.solve_triangular(
                factors[j], self.turn.T @ (natural[j, :d] * self.scales), trans="T", lower=True
            )
            constants[j] += np.log(np.abs(np.diagonal(triangle)) / self.scales).sum()
        return factors, shifts, constants

    def _precisions(self, natural: Array) -> Array:
        """Precisions (k, d, d) of the scaled columns."""
        return -2 * unpack_dual(natural[:, len(self.scales) :]) * np.outer(self.scales, self.scales)


def _discriminating_turn(scatter: Array, precisions: Array) -> Array:
    """An orthogonal matrix whose first columns span where components are narrow for the spread of all rows.

    They are generalised eigenvectors of the mean precision, each component having the same say, and the scatter.
    """
    d = len(scatter)
    root = scipy.linalg.cholesky(scatter + RIDGE * np.eye(d), lower=True)
    traces = np.einsum("kij,ij->k", precisions, root @ root.T)
    mean = np.einsum("kij,k->ij", precisions, 1 / traces)
    _, vectors = scipy.linalg.eigh(root.T @ mean @ root)
    directions = scipy.linalg.solve_triangular(root, vectors[:, ::-1], trans="T", lower=True)
    return np.asarray(scipy.linalg.qr(directions, mode="economic")[0])
