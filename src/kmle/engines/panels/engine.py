"""The panels engine: Gaussians with full covariances on many columns, most components given up after a few of them.

Rows that are many for their columns are turned once, y = Q^T (x / scales), so that the first columns of y tell
components apart. With the precision in these coordinates factored as A^T A, A lower triangular, the first rows of A (x
- mean) see the first columns only and bound the Mahalanobis distance from below: the kernel stops as soon as another
component has won, or in soft passes as soon as the responsibility is negligible. Sums of products are those of the rows
as they were given.

Scores are the direct engine's, from factors and residuals, never from products of columns: labels are the same except
where the two best scores of a row are closer than the rounding of either engine.
"""

import numpy as np
from numpy.typing import NDArray

from ..._kernels import RowScores
from ...data.table import Rows
from ...families import Gaussian
from ...numerics.arrays import Array, Labels
from ...numerics.blas import blas_on_one_thread
from ...numerics.threads import for_each
from ..partition import Labelled, Partition
from ..statistics import ClusterStatistics
from ..tally import PASSES, shrunken
from .coordinates import Coordinates
from .kernel import PanelsRows
from .products import product_sums

# Rows are turned in blocks of this many.
ROWS_A_BLOCK = 1024


class PanelsEngine:
    """The dense engine's passes for Gaussians of many columns."""

    name = "panels"

    def __init__(self, rows: Rows) -> None:
        if not isinstance(rows.family, Gaussian):
            raise ValueError(f"the panels engine needs Gaussians with full covariances, not {rows.family.name}")
        self.rows = rows
        self._turned: _TurnedRows | None = None
        self._labels = np.full(len(rows), -1, dtype=np.int32)
        self._partition: Labelled | None = None
        self._counts, self._sums = np.zeros(0), np.zeros((0, rows.n_statistics))
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
            self._counts, self._sums = np.zeros(k), np.zeros((k, self.rows.n_statistics))
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

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        with blas_on_one_thread():
            if self._turned is None:
                self._turned = _TurnedRows(self.rows, natural[np.isfinite(bias)])
            known = len(self._counts) == len(natural)
            labels = self._labels if known else np.full(len(self.rows), -1, dtype=np.int32)
            log_likelihood, entropies = self._turned.log_likelihood(natural, bias, labels)
        if self.rows.weights is None:
            return float(log_likelihood.sum()), float(entropies.sum())
        return float(self.rows.weights @ log_likelihood), float(self.rows.weights @ entropies)

    def soft_pass(self, natural: Array, bias: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        if self._likely.max(initial=-1) >= len(natural):
            self._likely[:] = -1
        return self._soften(natural, bias, n_responsibilities, self._likely)

    def scores(self, natural: Array, bias: Array) -> Array:
        """The scores (n, k) of all rows and components."""
        with blas_on_one_thread():
            if self._turned is None:
                self._turned = _TurnedRows(self.rows, natural[np.isfinite(bias)])
            return self._turned.scores(natural, bias)

    def soft_passes(
        self, natural: Array, bias: Array, n_responsibilities: int | None = None
    ) -> list[ClusterStatistics]:
        """Soft passes with several mixtures (S, k, D)."""
        nowhere = np.full(len(self.rows), -1, dtype=np.int32)
        return [self._soften(*each, n_responsibilities, nowhere.copy()) for each in zip(natural, bias, strict=True)]

    def _soften(self, natural: Array, bias: Array, n_responsibilities: int | None, labels: Labels) -> ClusterStatistics:
        with blas_on_one_thread():
            if self._turned is None:
                self._turned = _TurnedRows(self.rows, natural[np.isfinite(bias)])
            return ClusterStatistics(*self._turned.soft_pass(natural, bias, labels, n_responsibilities))

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
        return product_sums(rows.X, center_of(rows), at, clusters.astype(np.int32), shares, k, rows.n_threads)


def center_of(rows: Rows) -> NDArray[np.float64]:
    """Where rows are seen from."""
    return np.zeros(rows.X.shape[1]) if rows.center is None else rows.center.astype(np.float64, copy=False)


class _TurnedRows:
    """Rows in coordinates whose first columns tell the given components apart, where that pays."""

    def __init__(self, rows: Rows, natural: Array) -> None:
        self.rows = rows
        self.coordinates = Coordinates(rows.family, rows.mean_statistic, natural, len(rows))
        self.values = PanelsRows(len(rows), rows.X.shape[1], rows.n_threads, rows.meter)

        def load(start: int) -> None:
            seen = rows.centered_rows(slice(start, start + ROWS_A_BLOCK))
            self.values.load(start, self.coordinates.of_rows(seen))

        for_each(load, range(0, len(rows), ROWS_A_BLOCK), rows.n_threads)

    def hard_pass(self, natural: Array, bias: Array, labels: Labels) -> int:
        """The labels by the highest scores, in place; returns how many changed."""
        return self.values.hard_pass(*self.coordinates.triangles(natural, bias), labels)

    def log_likelihood(self, natural: Array, bias: Array, labels: Labels) -> tuple[Array, Array]:
        """Of every row log sum_j exp(score_j), and the entropy of its responsibilities."""
        return self.values.log_likelihood(*self.coordinates.triangles(natural, bias), labels)

    def scores(self, natural: Array, bias: Array) -> Array:
        """The scores (n, k) of all rows and components."""
        out = RowScores.wanting(["scores"], len(self.rows), len(bias))
        nowhere = np.full(len(self.rows), -1, dtype=np.int32)
        self.values.row_scores(*self.coordinates.triangles(natural, bias), nowhere, out)
        assert out.scores is not None  # they were asked for
        return out.scores

    def soft_pass(
        self, natural: Array, bias: Array, labels: Labels, n_responsibilities: int | None
    ) -> tuple[Array, Array, float]:
        """Counts, sums and score by responsibility; labels say where to begin."""
        rows, model = self.rows, self.coordinates.triangles(natural, bias)
        return self.values.soft_pass(*model, labels, rows.X, center_of(rows), rows.weights, n_responsibilities)
