"""The wide engine: Gaussians with full covariances on many columns, most components given up after a few of them.

Rows that are many for their columns are turned once, y = Q^T (x / scales), so that the first columns of y tell
components apart. With the precision in
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
# With fewer rows than this for each column, turning them and the components costs more than is given up earlier.
TURN_FROM_ROWS = 300
# Squared distances up to this are rounded by less than 1e-9.
FAR = 1e6


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
        afresh = len(self._counts) != k
        if afresh:
            self._labels[:] = self._likely if self._likely.max(initial=-1) < k else -1
            self._counts, self._sums = np.zeros(k), np.zeros((k, self.rows.order))
            self._peak = np.zeros(k, dtype=np.int64)
        regular = self._passes % PASSES == 0
        if self._turned is None or (regular and self._passes > 0):
            self._turned = _TurnedRows(self.rows, natural[np.isfinite(bias)])
        self._passes += 1
        before = np.full_like(self._labels, -1) if afresh else self._labels.copy()
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


def origin_of(rows: Rows) -> NDArray[np.float64]:
    """Where rows are seen from."""
    return np.zeros(rows.X.shape[1]) if rows.origin is None else rows.origin.astype(np.float64, copy=False)


class _TurnedRows:
    """Rows in coordinates whose first columns tell the given components apart, where that pays."""

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
        self.turn: Array | None = None
        if len(rows) >= TURN_FROM_ROWS * d:
            self.turn = _discriminating_turn(scatter / np.outer(self.scales, self.scales), self._precisions(natural))
        self.values = WideRows(len(rows), d, rows.n_threads)

        def load(start: int) -> None:
            x = rows.seen_from_origin(slice(start, start + ROWS_A_BLOCK)).astype(float, copy=False) / self.scales
            self.values.load(start, x if self.turn is None else x @ self.turn)

        for_each(load, range(0, len(rows), ROWS_A_BLOCK), rows.n_threads)

    def hard_pass(self, natural: Array, bias: Array, labels: Labels) -> int:
        """The labels by the highest scores, in place; returns how many changed."""
        return self.values.hard_pass(*self._triangles(natural, bias), labels)

    def evidence(self, natural: Array, bias: Array, labels: Labels) -> tuple[Array, Array]:
        """Of every row log sum_j exp(score_j), and the entropy of its responsibilities."""
        return self.values.evidence(*self._triangles(natural, bias), labels)

    def soft_pass(self, natural: Array, bias: Array, labels: Labels, n_kept: int | None) -> tuple[Array, Array, float]:
        """Counts, sums and score by responsibility; labels say where to begin."""
        rows, model = self.rows, self._triangles(natural, bias)
        return self.values.soft_pass(*model, labels, rows.X, origin_of(rows), rows.weights, n_kept)

    def _triangles(self, natural: Array, bias: Array) -> tuple[Array, Array, Array]:
        """Triangular factors, shifts and constants of the scores, as `WideRows` wants them."""
        k, d = len(natural), len(self.scales)
        alive = np.flatnonzero(np.isfinite(bias))
        factors, shifts, constants = np.zeros((k, d, d)), np.zeros((k, d)), np.full(k, -np.inf)
        if len(alive) == 0:
            return factors, shifts, constants
        living = natural if len(alive) == k else natural[alive]
        own = self._plain_factors(living) if self.turn is None else self._turned_factors(living, self.turn)
        linear = living[:, :d] * self.scales
        linear = linear if self.turn is None else linear @ self.turn
        for place, j in enumerate(alive):
            shifts[j], _ = scipy.linalg.lapack.dtrtrs(own[place].T, linear[place])
        constants[alive] = self._constants(living, bias[alive], shifts[alive], own)
        if len(alive) == k:
            return own, shifts, constants
        factors[alive] = own
        return factors, shifts, constants

    def _constants(self, natural: Array, bias: Array, shifts: Array, factors: Array) -> Array:
        """The scores of rows at the means.

        The bias holds -F, as large as the squared distance of the mean from the origin. Where the digits of that would
        be missed, the very same F is added, which leaves the log-weight without loss.
        """
        squares = 0.5 * np.einsum("kd,kd->k", shifts, shifts)
        far = np.flatnonzero(squares > FAR)
        constants = bias + squares
        if len(far):
            determinants = np.log(np.abs(np.diagonal(factors[far], axis1=1, axis2=2)) / self.scales).sum(axis=1)
            normalizers = self.family.log_normalizer(natural[far]) - 0.5 * len(self.scales) * np.log(2 * np.pi)
            constants[far] = bias[far] + normalizers + determinants
        return np.asarray(constants)

    def _plain_factors(self, natural: Array) -> Array:
        """Lower triangular A (k, d, d) with A^T A the precisions: a Cholesky factor read backwards."""
        d = len(self.scales)
        rows, columns = np.triu_indices(d)
        units = np.where(rows == columns, -2.0, -1.0) * self.scales[rows] * self.scales[columns]
        matrices = np.zeros((len(natural), d, d))
        matrices[:, d - 1 - rows, d - 1 - columns] = natural[:, d:] * units
        return np.swapaxes(cholesky_or_nan(matrices)[:, ::-1, ::-1], 1, 2)

    def _turned_factors(self, natural: Array, turn: Array) -> Array:
        """The same for turned rows.

        With P = L L^T, the triangle of a QR factorisation of L^T Q, columns last to first, is A read backwards: its
        rounding is that of L, not of P, whose condition is squared.
        """
        lower = cholesky_or_nan(self._precisions(natural))
        triangles: Array = np.linalg.qr(np.swapaxes(lower, 1, 2) @ turn[:, ::-1], mode="r")  # type: ignore[assignment]
        return triangles[:, ::-1, ::-1]

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
