"""The dense engine: every row against every component, on the compiled kernels.

Labels and cluster sums are kept from pass to pass, and only rows that change their label touch the sums.
"""

from ..kernels import Clusters
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .partition import Labelled, Partition
from .rows import Rows

# Sums are gathered afresh after this many passes, so that rounding cannot pile up in them.
REFRESH = 50


class DenseEngine:
    """Scores <t, natural_j> + bias_j of packed rows."""

    name = "dense"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._clusters: Clusters | None = None
        self._partition: Labelled | None = None
        self._passes = 0

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        packed, k = self.rows.packed, len(natural)
        self._passes += 1
        if self._clusters is None or len(self._clusters.counts) != k:
            self._clusters = Clusters.empty(len(self.rows), k, self.rows.order)
        elif self._passes % REFRESH == 0:
            self._clusters.counts[:], self._clusters.sums[:] = packed.label_sums(self._clusters.labels, k)
        clusters = self._clusters
        if packed.hard_pass(natural, bias, clusters) or self._partition is None:
            self._partition = Labelled(clusters.labels.copy())
        return self._partition, ClusterStatistics(clusters.counts.copy(), clusters.sums.copy(), 0.0)

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        return ClusterStatistics(*self.rows.packed.soft_pass(natural, bias, n_kept))
