"""The skipping engine: rows whose lead is larger than anything the last update can have cost keep their labels unseen.

For a row with label z the lead over component j changes by <t, d(theta_z - theta_j)> + d(b_z - b_j). With t written as
mean + scale u, and |u| known, that is bounded for all rows of a label at once; no triangle inequality is needed, so any
family will do. Leads are exact after a full pass and only ever reduced since, so every label is the dense engine's.
Whether that pays depends on the data: the engine measures both kinds of pass and does what costs less.
"""

import time
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ..kernels import Clusters
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .dense import DenseEngine
from .partition import Labelled, Partition
from .rows import Rows
from .tally import Tally

DISTANCES = 64
# Leads are worth knowing once a pass moves fewer than this share of the rows.
FEW_MOVES = 0.02
# Passes between trials of the kind of pass that seemed slower.
TRIAL = 8


class SkippingEngine:
    """Hard passes that skip what cannot have changed; soft passes by the dense engine."""

    name = "skipping"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._dense = DenseEngine(rows)
        self._tally = Tally(rows.packed)
        self._leads: _Leads | None = None
        self._partition: Labelled | None = None
        self._last: tuple[Array, Array] | None = None
        self._full_cost, self._skip_cost, self._passes = 0.0, 0.0, 0

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        self._passes += 1
        clusters = self._tally.opened(len(natural))
        if np.any(clusters.labels[:1] < 0):
            self._last = None
        began = time.perf_counter()
        if self._leads is None:
            changed = self.rows.packed.hard_pass(natural, bias, clusters)
            if changed < FEW_MOVES * len(self.rows):
                self._leads = _Leads(self.rows)
        elif self._may_skip(bias):
            assert self._last is not None
            changed = self._leads.skipping_pass(natural, bias, clusters, self._last)
            self._skip_cost = time.perf_counter() - began
        else:
            changed = self.rows.packed.hard_pass(natural, bias, clusters, self._leads.margins)
            self._full_cost = time.perf_counter() - began
            # The first passes of skipping after a full one are the cheapest; they are to be tried before judging.
            self._skip_cost = 0.0
            self._last = natural, bias
        if self._last is not None:
            self._last = natural.copy(), bias.copy()
        if changed or self._partition is None:
            self._partition = Labelled(
                clusters.labels.copy(), None if self._partition is None else ref(self._partition)
            )
        return self._partition, self._tally.statistics()

    def _may_skip(self, bias: Array) -> bool:
        """Whether leads are known, no component has come to life, and skipping has not been the slower way."""
        if self._last is None or np.any(np.isfinite(bias) & ~np.isfinite(self._last[1])):
            return False
        return self._skip_cost <= self._full_cost or self._passes % TRIAL == 0

    def evidence(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        return self._dense.evidence(natural, bias)

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        return self._dense.soft_pass(natural, bias, n_kept)


class _Leads:
    """What is known of every row's lead over all other components, and how fast it may shrink."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.margins = np.zeros(len(rows), dtype=np.float32)
        self._scale, self._distances, self._edges = _distances(rows)

    def skipping_pass(self, natural: Array, bias: Array, clusters: Clusters, last: tuple[Array, Array]) -> int:
        """A pass over the rows whose lead may be gone; returns how many labels changed."""
        table = self._drift(natural, bias, *last)
        changed, _ = self.rows.packed.skipping_pass(natural, bias, clusters, self.margins, table, self._distances)
        return changed

    def _drift(self, natural: Array, bias: Array, before: Array, bias_before: Array) -> NDArray[np.float32]:
        """What a lead may have lost (k, distances); infinite in the last column, whose rows are far out."""
        alive = np.isfinite(bias)
        mean = self.rows.mean_statistic
        step = np.where(alive[:, None], natural - before, 0.0) * self._scale
        with np.errstate(invalid="ignore"):
            lift = np.where(alive, bias - bias_before, 0.0) + np.where(alive[:, None], natural - before, 0.0) @ mean
        squares = (step**2).sum(axis=1)
        apart = np.sqrt(np.maximum(squares[:, None] + squares - 2 * step @ step.T, 0.0))
        # Rounding of the difference of squares must not make a drift look smaller than it is.
        apart += 1e-7 * np.sqrt(squares[:, None] + squares)
        gain = lift[None, :] - lift[:, None]
        rival = alive[None, :] & ~np.eye(len(alive), dtype=bool)
        table = np.full((len(alive), DISTANCES), -np.inf)
        for place, edge in enumerate(self._edges):
            table[:, place] = np.where(rival, gain + edge * apart, -np.inf).max(axis=1)
        magnitude = np.abs(natural[alive]) @ self.rows.largest_statistic + np.abs(bias[alive])
        rounding = 16 * np.finfo(float).eps * (self.rows.order + 4) * magnitude.max()
        # A lead that grew is worth as much as it was: what it gained is not remembered.
        table = np.maximum(table * (1 + 1e-6), 0.0) + rounding
        table[:, -1] = np.inf
        table[~alive] = np.inf  # rows of a component that died are to be looked at
        return np.ascontiguousarray(np.nextafter(table.astype(np.float32), np.float32(np.inf)))


def _distances(rows: Rows) -> tuple[Array, NDArray[np.uint8], Array]:
    """The scale of each statistic, the class of distance of each row from their mean, and the edges of the classes."""
    mean = rows.mean_statistic
    squares = np.zeros(rows.order)
    for _, t in rows.blocks():
        centred = t - mean
        squares += np.einsum("nd,nd->d", centred, centred)
    scale = np.sqrt(squares / len(rows))
    scale = np.where(scale > 0, scale, 1.0)
    distance = np.empty(len(rows))
    for block, t in rows.blocks():
        scaled = (t - mean) / scale
        distance[block] = np.sqrt(np.einsum("nd,nd->n", scaled, scaled))
    # Equal steps to four times the typical distance; what is beyond is looked at in every pass.
    edges = np.linspace(0, 4 * np.sqrt(rows.order), DISTANCES)[1:]
    classes = np.searchsorted(edges, distance * (1 + 1e-9))
    return scale, np.minimum(classes, DISTANCES - 1).astype(np.uint8), edges
