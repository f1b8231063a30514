"""The panels engine: Gaussians with full covariances on many columns, most components given up after a few of them.

Rows that are many for their columns are turned once, y = Q^T (x / scales), so that the first columns of y tell
components apart. With the precision in these coordinates factored as A^T A, A lower triangular, the first rows of A (x
- mean) see the first columns only and bound the Mahalanobis distance from below: the kernel stops as soon as another
component has won, or in soft passes as soon as the responsibility is negligible. Sums of products are those of the rows
as they were given.

Scores are the direct engine's, from factors and residuals, never from products of columns: labels are the same except
where the two best scores of a row are closer than the rounding of either engine.
"""

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..._kernels import Clusters, RowScores
from ...data.table import Rows
from ...families import Gaussian
from ...numerics.arrays import Array, Labels
from ...numerics.blas import blas_on_one_thread
from ...numerics.threads import for_each
from ..partition import Labelled, Partition
from ..statistics import ClusterStatistics, Tally
from .coordinates import Coordinates
from .kernel import PanelsRows
from .products import product_sums

# Rows are turned in blocks of this many.
ROWS_A_BLOCK = 1024


class ScoredRows(Protocol):
    """Rows that are scored with components (k, D) and biases (k,); labels only say where to begin."""

    def hard_pass(self, natural: Array, bias: Array, labels: Labels) -> int:
        """The labels by the highest scores, in place; returns how many changed."""
        ...

    def log_likelihood(self, natural: Array, bias: Array, labels: Labels) -> tuple[Array, Array]:
        """Of every row log sum_j exp(score_j), and the entropy of its responsibilities."""
        ...

    def scores(self, natural: Array, bias: Array) -> Array:
        """The scores (n, k) of all rows and components."""
        ...

    def soft_pass(
        self, natural: Array, bias: Array, labels: Labels, n_responsibilities: int | None
    ) -> tuple[Array, Array, float]:
        """Counts, sums and score by responsibility; labels become those of the largest."""
        ...


class PanelsEngine:
    """The dense engine's passes for Gaussians of many columns."""

    name = "panels"

    def __init__(self, rows: Rows) -> None:
        if not isinstance(rows.family, Gaussian):
            raise ValueError(f"the panels engine needs Gaussians with full covariances, not {rows.family.name}")
        self.rows = rows
        self._products = ProductSums(rows)
        self._tally = Tally(self._products)
        self._turned: _TurnedRows | None = None
        self._partition: Labelled | None = None
        self._likely = np.full(len(rows), -1, dtype=np.int32)
        """The labels of the largest responsibilities of the last soft pass: where the next one begins."""

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        with blas_on_one_thread():
            return self._hard_pass(natural, bias)

    def _hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        clusters = self._tally.opened(len(natural))
        before = clusters.labels.copy()
        if before.max(initial=-1) < 0 and self._likely.max(initial=-1) < len(natural):
            clusters.labels[:] = self._likely
        changed = self._scored(natural, bias, self._tally.is_regular).hard_pass(natural, bias, clusters.labels)
        self._products.move(clusters, before)
        if changed or self._partition is None:
            self._partition = Labelled(clusters.labels.copy())
        return self._partition, self._tally.statistics()

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        with blas_on_one_thread():
            labels = self._tally.labels_of(len(natural))
            labels = np.full(len(self.rows), -1, dtype=np.int32) if labels is None else labels
            log_likelihood, entropies = self._scored(natural, bias).log_likelihood(natural, bias, labels)
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
            return self._scored(natural, bias).scores(natural, bias)

    def soft_passes(
        self, natural: Array, bias: Array, n_responsibilities: int | None = None
    ) -> list[ClusterStatistics]:
        """Soft passes with several mixtures (S, k, D)."""
        nowhere = np.full(len(self.rows), -1, dtype=np.int32)
        return [self._soften(*each, n_responsibilities, nowhere.copy()) for each in zip(natural, bias, strict=True)]

    def _soften(self, natural: Array, bias: Array, n_responsibilities: int | None, labels: Labels) -> ClusterStatistics:
        with blas_on_one_thread():
            scored = self._scored(natural, bias)
            return ClusterStatistics(*scored.soft_pass(natural, bias, labels, n_responsibilities))

    def _scored(self, natural: Array, bias: Array, anew: bool = False) -> "ScoredRows":
        """The rows as they are best scored with these components; coordinates are chosen once, or `anew`."""
        if self._turned is None or anew:
            self._turned = _TurnedRows(self.rows, natural[np.isfinite(bias)])
        return self._turned

    def gather(self, labels: Labels, n_components: int) -> tuple[Array, Array]:
        """Counts (k,) and sums (k, D) of given labels; rows with a negative label count nowhere."""
        return self._products.label_sums(labels, n_components)


class ProductSums:
    """Rows whose statistics are added up by label without being formed."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.n_rows, self.n_statistics = len(rows), rows.n_statistics
        self.n_values = self.n_rows * self.n_statistics

    def label_sums(self, labels: ArrayLike, n_labels: int) -> tuple[Array, Array]:
        """Counts and sums of given labels; rows labelled -1 are no one's."""
        labels = np.asarray(labels, dtype=np.int32)
        places = np.flatnonzero(labels >= 0)
        return self.added(places, labels[places], np.ones(len(places)), n_labels)

    def move(self, clusters: Clusters, before: Labels) -> None:
        """Moves rows whose labels changed from the sums of their clusters before to those of their clusters now."""
        k = len(clusters.sizes)
        moved = np.flatnonzero(before != clusters.labels)
        if len(moved) == 0:
            return
        left = moved[before[moved] >= 0]
        owners = np.concatenate([clusters.labels[moved], before[left]])
        shares = np.concatenate([np.ones(len(moved)), -np.ones(len(left))])
        counts, sums = self.added(np.concatenate([moved, left]), owners, shares, k)
        clusters.counts += counts
        clusters.sums += sums
        clusters.sizes[:] = np.bincount(clusters.labels, minlength=k)
        clusters.clear_empty()

    def added(self, places: NDArray[np.intp], clusters: Labels, shares: Array, k: int) -> tuple[Array, Array]:
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
