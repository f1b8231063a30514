"""The dense engine: every row against every component.

A hard pass is the assignment step of Lloyd's algorithm (Lloyd, 1982), for scores <t(x), natural_j> + bias_j of any
exponential family: Bregman hard clustering (Banerjee, Merugu, Dhillon and Ghosh, 2005).
"""

from weakref import ref

from .._kernels import Centered, CompressedRows
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..numerics.arrays import Array
from .partition import Labelled, Partition, noted
from .statistics import ClusterStatistics, Tally


class DenseEngine:
    """Scores <t, natural_j> + bias_j of packed rows."""

    name = "dense"

    def __init__(self, rows: Rows | SparseRows) -> None:
        self.rows: Rows | SparseRows = rows
        self._tally: Tally | None = None
        self._partition: Labelled | None = None

    def hard_pass(
        self, natural: Array, bias: Array, centered: Centered | None = None
    ) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores, those of `centered` if given, and the statistics of the clusters."""
        if self._tally is None:
            self._tally = Tally(self.rows.packed)
        clusters = self._tally.opened(len(natural))
        packed = self.rows.packed
        if isinstance(packed, CompressedRows):
            moved = packed.hard_pass(natural, bias, clusters)
        else:
            moved = packed.hard_pass(natural, bias, clusters, centered=centered)
        if moved or self._partition is None:
            before = None if self._partition is None else ref(self._partition)
            self._partition = Labelled(noted(clusters.labels, len(natural)), before)
        return self._partition, self._tally.statistics()

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        return self.rows.packed.log_likelihood(natural, bias)

    def soft_pass(self, natural: Array, bias: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        return ClusterStatistics(*self.rows.packed.soft_pass(natural, bias, n_responsibilities))


class SparseEngine(DenseEngine):
    """The same over the stored entries of sparse rows."""

    name = "sparse"
