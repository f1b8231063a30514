"""The pruned engine, for many components and few statistics: components are ruled out for whole groups of rows.

A walk down a tree for every row costs more than trying all components. So rows are put in an order in which neighbours
are close (halves of halves, as in a k-d tree) and cut into regions, districts and groups; a component is tried in a
group only if it may win somewhere in the boxes of all three. For regions the components are looked at one by one, or
through a tree over them.
"""

import numpy as np
from numpy.typing import NDArray

from ..kernels import Boxes, PackedRows, Plan, spatial_order
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .component_tree import TREES, survivors
from .dense import DenseEngine
from .partition import Partition, Reordered
from .rows import Rows
from .tally import Tally

# Rows of a group (one block of the kernels in float32, two in float64), of a district of groups, and of a region of
# districts with a list of candidates.
GROUP_ROWS = 64
DISTRICT_ROWS = 512
REGION_ROWS = 8192


class PrunedEngine:
    """Hard passes with few candidates a group; soft passes, where every component counts, by the dense engine."""

    def __init__(self, rows: Rows, structure: str = "pruned") -> None:
        self.name = structure
        self._rows = rows
        self._dense = DenseEngine(rows)
        columns, _ = rows.family.kernel_columns(rows.seen_from_origin(slice(None)))
        self._order = spatial_order(columns, GROUP_ROWS)
        self._packed, low, high = self._pack(rows)
        self._mean, self._scale = rows.mean_statistic, np.maximum(rows.largest_statistic, 1e-300)
        self._groups = _boxes(low, high, GROUP_ROWS)
        self._districts = _boxes(low, high, DISTRICT_ROWS)
        self._regions = _boxes(low, high, REGION_ROWS)
        self._tally = Tally(self._packed)
        self._partition: Reordered | None = None

    def _pack(self, rows: Rows) -> tuple[PackedRows, Array, Array]:
        """The rows in their new order, and the smallest and largest t(x) of each group."""
        packed: PackedRows | None = None
        lows, highs = [], []
        weights = None if rows.weights is None else rows.weights[self._order]
        for start in range(0, len(rows), 8 * REGION_ROWS):
            places = self._order[start : start + 8 * REGION_ROWS]
            columns, features = rows.family.kernel_columns(rows.seen_from_origin(places))
            if packed is None:
                packed = PackedRows(len(rows), columns.shape[1], features, weights, rows.X.dtype, rows.n_threads)
            packed.load(start, columns.astype(rows.X.dtype, copy=False))
            statistics, edges = rows.take(places), np.arange(0, len(places), GROUP_ROWS)
            lows.append(np.minimum.reduceat(statistics, edges))
            highs.append(np.maximum.reduceat(statistics, edges))
        assert packed is not None  # there is at least one row
        return packed, np.concatenate(lows), np.concatenate(highs)

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        clusters = self._tally.opened(len(natural))
        if self._packed.pruned_pass(natural, bias, clusters, self._plan(natural, bias)) or self._partition is None:
            self._partition = Reordered(clusters.labels.copy(), self._order)
        return self._partition, self._tally.statistics()

    def _plan(self, natural: Array, bias: Array) -> Plan:
        possible = self._possible(natural, bias)
        regions, candidates = np.nonzero(possible)
        starts = np.searchsorted(regions, np.arange(len(possible) + 1))
        lists = starts.astype(np.int64), candidates.astype(np.int32)
        return Plan(REGION_ROWS, *lists, self._districts, self._groups)

    def _possible(self, natural: Array, bias: Array) -> NDArray[np.bool_]:
        """Which components (regions, k) may win where."""
        centres, halves = self._regions.centres, self._regions.halves
        alive = np.flatnonzero(np.isfinite(bias))
        theta, b = natural[alive], bias[alive]
        magnitude = (np.abs(centres) + halves) @ np.abs(theta).max(axis=0) + np.abs(b).max()
        doubt = 16 * np.finfo(float).eps * (self._rows.order + 4) * magnitude
        possible = np.zeros((len(centres), len(natural)), dtype=bool)
        if self.name == "pruned":
            middle = centres @ theta.T + b
            star = middle.argmax(axis=1)
            # Whoever wins at the centre is the one to beat: how far another may gain on it within the box.
            gain = middle - middle[np.arange(len(star)), star][:, None]
            for half, coordinate in zip(halves.T, theta.T, strict=True):
                gain += half[:, None] * np.abs(coordinate - coordinate[star][:, None])
            possible[:, alive] = gain >= -doubt[:, None]
            return possible
        # Balls want coordinates of like size around zero: t is measured from its mean in units of its size.
        scaled, shifted = theta * self._scale, b + theta @ self._mean
        root = TREES[self.name](scaled, shifted, np.arange(len(alive)))
        at = (centres - self._mean) / self._scale
        possible[:, alive] = survivors(root, scaled, shifted, at, halves / self._scale, 2 * doubt)
        return possible

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        return self._dense.soft_pass(natural, bias, n_kept)


def _boxes(low: Array, high: Array, rows_each: int) -> Boxes:
    """Centres and half widths, the latter rounded up, of boxes around those of groups."""
    starts = np.arange(0, len(low), rows_each // GROUP_ROWS)
    low, high = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
    centres = 0.5 * (low + high)
    halves = np.maximum(high - centres, centres - low) * (1 + 1e-15)
    return Boxes(
        rows_each,
        np.ascontiguousarray(centres, dtype=np.float64),
        np.ascontiguousarray(halves, dtype=np.float64),
    )
