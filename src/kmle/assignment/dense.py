"""The dense engine: every row against every component, on the compiled kernels."""

from weakref import ref

from ..kernels import Centred
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .partition import Labelled, Partition, noted
from .rows import Rows
from .tally import Tally


class DenseEngine:
    """Scores <t, natural_j> + bias_j of packed rows."""

    name = "dense"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._tally: Tally | None = None
        self._partition: Labelled | None = None

    def hard_pass(
        self, natural: Array, bias: Array, centred: Centred | None = None
    ) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores, those of `centred` if given, and the statistics of the clusters."""
        if self._tally is None:
            self._tally = Tally(self.rows.packed)
        clusters = self._tally.opened(len(natural))
        moved = self.rows.packed.hard_pass(natural, bias, clusters, centred=centred)
        if moved or self._partition is None:
            before = None if self._partition is None else ref(self._partition)
            self._partition = Labelled(noted(clusters.labels, len(natural)), before)
        return self._partition, self._tally.statistics()

    def evidence(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        return self.rows.packed.evidence(natural, bias)

    def soft_pass(self, natural: Array, bias: Array, n_kept: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        return ClusterStatistics(*self.rows.packed.soft_pass(natural, bias, n_kept))
