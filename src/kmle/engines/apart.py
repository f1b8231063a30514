"""Rows apart: the few with statistics so large that packed scores round too much, and the others.

One extreme value spoils a bound over all rows. Where the family has no scores by differences to means, its own
densities score the rows apart, and the kernels all others.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data.table import Rows
from ..families.outside import without_outside
from ..numerics.arrays import Array, Labels
from .dense import DenseEngine
from .direct import ROWS_A_BLOCK, DirectEngine
from .partition import Labelled, Partition
from .precision import SCORE_ERROR, score_error
from .statistics import ClusterStatistics

# The errors of the rows kept are this many times smaller than they may be, so that the same rows serve many passes.
RESERVE = 4.0
# With a larger share of the rows apart, two tables cost more than they save.
LARGEST_SHARE = 0.25


class ApartEngine:
    """The dense engine's passes, with scores good to SCORE_ERROR for families without scores by differences to means.

    Components that are narrow for their distance from the center leave too many rows apart: then the family's own
    densities score all rows.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._split: Split | None = None

    def hard_pass(self, natural: Array, bias: Array, log_weights: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        split = self._split_for(natural, bias)
        if split is None:
            return DirectEngine(self.rows).hard_pass(natural, log_weights)
        kept, statistics = split.kept_engine.hard_pass(natural, bias)
        apart, others = split.apart_engine.hard_pass(natural, log_weights)
        return Labelled(split.join(kept.labels, apart.labels)), statistics + others

    def soft_pass(
        self, natural: Array, bias: Array, log_weights: Array, n_responsibilities: int | None = None
    ) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        split = self._split_for(natural, bias)
        if split is None:
            return DirectEngine(self.rows).soft_pass(natural, log_weights, n_responsibilities)
        kept = split.kept_engine.soft_pass(natural, bias, n_responsibilities)
        return kept + split.apart_engine.soft_pass(natural, log_weights, n_responsibilities)

    def log_likelihood(self, natural: Array, bias: Array, log_weights: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        split = self._split_for(natural, bias)
        if split is None:
            return DirectEngine(self.rows).log_likelihood(natural, log_weights)
        kept = split.kept_engine.log_likelihood(natural, bias)
        apart = split.apart_engine.log_likelihood(natural, log_weights)
        return kept[0] + apart[0], kept[1] + apart[1]

    def _split_for(self, natural: Array, bias: Array) -> "Split | None":
        """The last split where it serves again, or a new one; None where too many rows would be apart."""
        if self._split is None or not self._split.suits(natural, bias):
            self._split = split_rows(self.rows, natural, bias)
        return self._split


@dataclass(frozen=True)
class Split:
    """Rows in two parts, and the places of each among all."""

    kept: Rows
    kept_places: NDArray[np.intp]
    apart: Rows
    apart_places: NDArray[np.intp]

    @cached_property
    def kept_engine(self) -> DenseEngine:
        return DenseEngine(self.kept)

    @cached_property
    def apart_engine(self) -> DirectEngine:
        return DirectEngine(self.apart)

    def suits(self, natural: Array, bias: Array) -> bool:
        """Whether packed scores of the rows kept are good for these components."""
        return score_error(self.kept.largest_statistic, natural, bias) <= SCORE_ERROR

    def join(self, kept: Labels, apart: Labels) -> Labels:
        """Labels of all rows from those of both parts."""
        labels = np.empty(len(self.kept_places) + len(self.apart_places), dtype=np.int32)
        labels[self.kept_places], labels[self.apart_places] = kept, apart
        return labels


def split_rows(rows: Rows, natural: Array, bias: Array) -> Split | None:
    """Rows split so that packed scores of most are good for these components; None where those of too many are not."""
    active = np.isfinite(bias)
    factors = np.abs(natural[active]).max(axis=0, initial=0.0)
    # Each statistic may take an equal share of the error that is left beside the biases.
    room = SCORE_ERROR / np.finfo(float).eps - float(np.abs(bias[active]).max(initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        most = room / (RESERVE * len(factors)) / factors
    if not room > 0 or not np.isfinite(factors).all():
        return None
    apart = np.zeros(len(rows), dtype=bool)
    for start in range(0, len(rows), ROWS_A_BLOCK):
        block = slice(start, min(start + ROWS_A_BLOCK, len(rows)))
        apart[block] = (without_outside(np.abs(rows.take(block))) > most).any(axis=1)
    if not 0 < np.count_nonzero(apart) <= LARGEST_SHARE * len(rows):
        return None
    kept_places, apart_places = np.flatnonzero(~apart), np.flatnonzero(apart)
    return Split(rows.subset(kept_places), kept_places, rows.subset(apart_places), apart_places)
