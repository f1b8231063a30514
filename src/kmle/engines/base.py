"""What every engine offers: the same passes, the same labels, at different cost."""

from typing import Protocol

from ..numerics.arrays import Array
from .partition import Partition
from .statistics import ClusterStatistics


class Engine(Protocol):
    """Passes over the rows it was made for, with scores <t(x), natural_j> + bias_j; a bias of -inf is an inactive
    component.

    All engines give the dense engine's labels, the lowest index on a tie; they differ in where they are fast.
    """

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        ...

    def soft_pass(self, natural: Array, bias: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        ...

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float] | None:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities.

        None where a soft pass is the only way to know them.
        """
        ...
