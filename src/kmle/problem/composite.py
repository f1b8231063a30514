"""The learning problem of rows of different kinds: exact or in intervals, labelled or not, alone or in groups."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.sparse import SparseRows
from ..data.table import Rows
from ..engines.partition import Partition
from ..engines.statistics import ClusterStatistics
from ..numerics.arrays import Array, Labels
from .model import Parameters
from .objective import DataSummary, LearningProblem, SoftSummary
from .problem import Problem
from .row_kinds import EngineRows, HardOutcome, LabelledRows, RowKind, ScoredRows

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class PartedLabels(Partition):
    """The labels of all kinds of rows."""

    kinds: tuple[RowKind, ...]
    outcomes: tuple[HardOutcome, ...]

    @cached_property
    def labels(self) -> Labels:
        labels = np.empty(sum(len(kind.places) for kind in self.kinds), dtype=np.int32)
        for kind, outcome in zip(self.kinds, self.outcomes, strict=True):
            labels[kind.places] = outcome.labels
        return labels


class CompositeProblem(LearningProblem):
    """Maximise the likelihood of rows of several kinds.

    `all_rows` is the problem of all rows with a stand-in for every value that is not exact: it has the center and the
    prior, and seeds are sought in it. `total` is the number of rows, or of groups.
    """

    def __init__(self, all_rows: Problem, kinds: list[RowKind], total: float) -> None:
        self.all_rows, self.kinds = all_rows, tuple(kinds)
        summary = DataSummary(
            total,
            all_rows.prior_moment,
            all_rows.largest_statistic,
            sum(kind.sum_log_carrier for kind in kinds),
        )
        settings = all_rows.center, all_rows.prior_strength, all_rows.weights, all_rows.resolution
        super().__init__(all_rows.family, summary, *settings)
        self.meter = all_rows.meter

    @property
    def engine_name(self) -> str:
        """What finds the labels, as users call it."""
        names = [kind.problem.engine_name for kind in self.kinds if isinstance(kind, EngineRows)]
        if any(isinstance(kind, LabelledRows) for kind in self.kinds):
            names.append("known labels")
        if any(isinstance(kind, ScoredRows) for kind in self.kinds):
            names.append("scored rows")
        return " and ".join(dict.fromkeys(names))

    @property
    def expects(self) -> bool:
        """Whether statistics are expectations given the parameters of a pass."""
        return any(kind.expects for kind in self.kinds)

    @property
    def sample(self) -> Problem:
        """The problem on some rows, with stand-ins."""
        return self.all_rows.sample

    def assign(self, parameters: Parameters) -> tuple[Partition, ClusterStatistics]:
        outcomes = tuple(kind.hard(parameters) for kind in self.kinds)
        return PartedLabels(self.kinds, outcomes), _total([outcome.statistics for outcome in outcomes])

    def soften(self, parameters: Parameters, n_responsibilities: int | None = None) -> ClusterStatistics:
        return _total([kind.soft(parameters, n_responsibilities).statistics for kind in self.kinds])

    def over_rows(self, function: Callable[[Rows | SparseRows, int], T]) -> T:
        return self.all_rows.over_rows(function)

    def log_likelihood(self, parameters: Parameters) -> SoftSummary:
        found = [kind.soft(parameters, None) for kind in self.kinds]
        score = sum(outcome.statistics.score for outcome in found)
        return SoftSummary(score + self.sum_log_carrier, sum(outcome.entropy for outcome in found) / self.total)

    def soft_summary_in(self, parameters: Parameters, softened: ClusterStatistics) -> SoftSummary:
        # Statistics of intervals do not have the entropies.
        return self.log_likelihood(parameters)

    def complete_objective(
        self, parameters: Parameters, statistics: ClusterStatistics, partition: Partition | None = None
    ) -> float:
        assert isinstance(partition, PartedLabels)  # the only partitions of these rows
        parts = zip(partition.kinds, partition.outcomes, strict=True)
        value = sum(kind.value(parameters, outcome) for kind, outcome in parts)
        return value + self.sum_log_carrier + self.penalty(parameters)

    def updated_natural(
        self,
        parameters: Parameters,
        statistics: ClusterStatistics,
        partition: Partition | None = None,
        surely: bool = False,
    ) -> Array:
        natural = super().updated_natural(parameters, statistics, None, surely)
        if partition is None or not self.expects or natural is parameters.natural:
            return natural
        # Expected statistics of nearly singular components do not have the digits to compare by.
        after = self.complete_objective(Parameters(natural, parameters.log_weights), statistics, partition)
        return natural if after >= self.complete_objective(parameters, statistics, partition) else parameters.natural

    def restricted(self, active: NDArray[np.bool_]) -> "CompositeProblem":
        other = copy(self)
        other.kinds = tuple(kind.restricted(active) for kind in self.kinds)
        return other


def _total(statistics: list[ClusterStatistics]) -> ClusterStatistics:
    total = statistics[0]
    for part in statistics[1:]:
        total = total + part
    return total
