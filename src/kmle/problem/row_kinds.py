"""Parts of a data set of which different things are known; the statistics of all parts add.

A part may know more of its rows than their values (labels, groups) or less (intervals). `EngineRows` are ordinary rows,
of one class where some components are out of the question. `LabelledRows` have their component, so that their
statistics are constants. `ScoredRows` are all others: scored by NumPy, row by row or group by group.
"""

from abc import ABC, abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ..data.partly_known import PartlyKnownRows
from ..engines.partition import Partition
from ..engines.patterns.incomplete_rows import IncompleteRows
from ..engines.statistics import ClusterStatistics
from ..numerics.arrays import Array, Labels
from .model import Parameters
from .problem import Problem


@dataclass(frozen=True)
class HardOutcome:
    """What a hard pass over a part found, with which parameters, and the complete log-likelihood without carriers."""

    labels: Labels
    statistics: ClusterStatistics
    partition: Partition | None = None
    parameters: Parameters | None = None
    value: float = 0.0
    of_units: Labels | None = None
    """The labels of what was scored: distinct rows, or groups."""


@dataclass(frozen=True)
class SoftOutcome:
    """Statistics by responsibility and the sum of the entropies of the rows' (or groups') responsibilities."""

    statistics: ClusterStatistics
    entropy: float = 0.0


class RowKind(ABC):
    """Some rows of the data: `places` are theirs among all."""

    places: NDArray[np.intp]
    sum_log_carrier: float

    @property
    def expects(self) -> bool:
        """Whether statistics are expectations given the parameters of a pass."""
        return False

    @abstractmethod
    def hard(self, parameters: Parameters) -> HardOutcome:
        """Assigns the rows."""

    @abstractmethod
    def soft(self, parameters: Parameters, n_responsibilities: int | None) -> SoftOutcome:
        """Shares the rows between components."""

    @abstractmethod
    def value(self, parameters: Parameters, found: HardOutcome) -> float:
        """The complete log-likelihood of labels, carriers left out."""

    @abstractmethod
    def restricted(self, active: NDArray[np.bool_]) -> "RowKind":
        """The same rows with some of the components only."""


class EngineRows(RowKind):
    """Exact rows that an engine passes over; `offsets` (k,) are log prior probabilities of components, or None."""

    def __init__(self, problem: Problem, places: NDArray[np.intp], offsets: Array | None = None) -> None:
        self.problem, self.places, self.offsets = problem, places, offsets
        self.sum_log_carrier = problem.sum_log_carrier

    @property
    def expects(self) -> bool:
        return self.problem.expects

    def _with_offsets(self, parameters: Parameters) -> Parameters:
        if self.offsets is None:
            return parameters
        return Parameters(parameters.natural, parameters.log_weights + self.offsets)

    def hard(self, parameters: Parameters) -> HardOutcome:
        partition, statistics = self.problem.assign(self._with_offsets(parameters))
        return HardOutcome(partition.labels, statistics, partition)

    def soft(self, parameters: Parameters, n_responsibilities: int | None) -> SoftOutcome:
        own = self._with_offsets(parameters)
        statistics = self.problem.soften(own, n_responsibilities)
        summary = self.problem.soft_summary_in(own, statistics) if n_responsibilities is None else None
        return SoftOutcome(statistics, 0.0 if summary is None else summary.mean_entropy * self.problem.total)

    def value(self, parameters: Parameters, found: HardOutcome) -> float:
        own = self._with_offsets(parameters)
        complete = self.problem.complete_objective(own, found.statistics, found.partition)
        return complete - self.problem.penalty(own) - self.sum_log_carrier

    def restricted(self, active: NDArray[np.bool_]) -> "EngineRows":
        offsets = None if self.offsets is None else self.offsets[active]
        return EngineRows(self.problem, self.places, offsets)


class LabelledRows(RowKind):
    """Exact rows whose components are known: their statistics are summed once."""

    def __init__(self, problem: Problem, places: NDArray[np.intp], labels: Labels, n_components: int) -> None:
        self.problem, self.places, self.labels = problem, places, labels
        self.sum_log_carrier = problem.sum_log_carrier
        self.statistics = problem.gather(labels, n_components)

    def _fit(self, parameters: Parameters) -> float:
        bias, own = self.problem.bias(parameters), self.statistics
        occupied = own.counts > 0
        return float(
            own.counts[occupied] @ bias[occupied]
            + np.einsum("kd,kd->", own.sums[occupied], parameters.natural[occupied])
        )

    def hard(self, parameters: Parameters) -> HardOutcome:
        return HardOutcome(self.labels, self.statistics)

    def soft(self, parameters: Parameters, n_responsibilities: int | None) -> SoftOutcome:
        return SoftOutcome(ClusterStatistics(self.statistics.counts, self.statistics.sums, self._fit(parameters)))

    def value(self, parameters: Parameters, found: HardOutcome) -> float:
        return self._fit(parameters)

    def restricted(self, active: NDArray[np.bool_]) -> "LabelledRows":
        other = copy(self)
        renumbered = np.cumsum(active) - 1
        other.labels = renumbered[self.labels].astype(np.int32)
        other.statistics = ClusterStatistics(self.statistics.counts[active], self.statistics.sums[active], 0.0)
        return other


@dataclass(frozen=True)
class Units:
    """What is assigned as one: a row, or the rows of a group, which come one after the other."""

    starts: NDArray[np.intp] | None
    """The first row of each group; None where every row is a unit."""
    weights: Array | None
    """The weight of each unit."""
    offsets: Array | None
    """Log prior probabilities of the components, (p, k), for the kinds of units there are."""
    kinds: NDArray[np.intp] | None
    """Which of them each unit has; -1 is none."""

    def of_rows(self, n_rows: int) -> NDArray[np.intp]:
        """The unit of each row."""
        if self.starts is None:
            return np.arange(n_rows)
        marks = np.zeros(n_rows, dtype=np.intp)
        marks[self.starts[1:]] = 1
        return np.cumsum(marks)


class ScoredRows(RowKind):
    """Rows that are scored one by one, or group by group; some values may be intervals, or missing.

    `copies` (n,) says which of the scored rows each row is, where equal rows are scored once.
    """

    def __init__(
        self,
        rows: PartlyKnownRows | IncompleteRows,
        units: Units,
        places: NDArray[np.intp],
        copies: NDArray[np.intp] | None = None,
    ) -> None:
        self.rows, self.units, self.places, self.copies = rows, units, places, copies
        self._unit_of = units.of_rows(rows.n_rows)
        self._row_weights = None if units.weights is None else units.weights[self._unit_of]
        self.sum_log_carrier = rows.sum_log_carrier(self._row_weights)

    @property
    def expects(self) -> bool:
        return not self.rows.is_exact

    def _slice_units(self, rows: slice) -> slice:
        if self.units.starts is None:
            return rows
        return slice(int(self._unit_of[rows.start]), int(self._unit_of[rows.stop - 1]) + 1)

    def _unit_scores(self, scores: Array, rows: slice, own: slice, log_weights: Array) -> Array:
        """Scores (u, k) of the units of a slice from those of its rows."""
        starts, offsets, kinds = self.units.starts, self.units.offsets, self.units.kinds
        if starts is not None:
            scores = np.add.reduceat(scores, starts[own] - rows.start, axis=0)
        scores = scores + log_weights
        if offsets is not None and kinds is not None:
            kind = kinds[own]
            scores += np.where((kind >= 0)[:, None], offsets[kind], 0.0)
        return np.where(np.isnan(scores), -np.inf, scores)

    def _pass(
        self, parameters: Parameters, n_responsibilities: int | None, given: Labels | None = None, sums_too: bool = True
    ) -> tuple[Labels, ClusterStatistics, float]:
        """Labels of units, statistics and entropy; `given` labels are those whose scores are summed."""
        k = len(parameters.log_weights)
        # Inactive components may have parameters that are not legal any more.
        natural = np.where(parameters.active[:, None], parameters.natural, self._legal(parameters))
        counts, units, sums = np.zeros(k), np.zeros(k), np.zeros(natural.shape)
        score = entropy = 0.0
        labels = []
        expected: Any
        for place, rows in enumerate(self.rows.slices()):
            found, expected = self.rows.scored(place, natural)
            own = self._slice_units(rows)
            scores = self._unit_scores(found, rows, own, parameters.log_weights)
            weights = 1.0 if self.units.weights is None else self.units.weights[own]
            shares, values = shares_of(scores, n_responsibilities)
            chosen = np.argmax(scores, axis=1).astype(np.int32)
            if given is not None:
                values = np.take_along_axis(scores, given[own][:, None], axis=1)[:, 0]
            labels.append(chosen)
            score += float(np.sum(weights * values))
            entropy += float(np.sum(weights * scipy.special.entr(shares).sum(axis=1)))
            if not sums_too:
                continue
            shares *= weights if np.ndim(weights) == 0 else np.asarray(weights)[:, None]
            units += shares.sum(axis=0)
            by_row = shares if self.units.starts is None else shares[self._unit_of[rows] - own.start]
            counts += by_row.sum(axis=0)
            self.rows.add_sums(sums, by_row, expected)
        grouped = self.units.starts is not None
        statistics = ClusterStatistics(counts, sums, score, units if grouped else None)
        return np.concatenate(labels), statistics, entropy

    def _legal(self, parameters: Parameters) -> Array:
        """The parameters of any active component."""
        return parameters.natural[np.argmax(parameters.active)]

    def hard(self, parameters: Parameters) -> HardOutcome:
        labels, statistics, _ = self._pass(parameters, 1)
        by_row = labels[self._unit_of if self.copies is None else self.copies]
        return HardOutcome(by_row, statistics, None, parameters, statistics.score, labels)

    def soft(self, parameters: Parameters, n_responsibilities: int | None) -> SoftOutcome:
        _, statistics, entropy = self._pass(parameters, n_responsibilities)
        return SoftOutcome(statistics, entropy)

    def value(self, parameters: Parameters, found: HardOutcome) -> float:
        known = found.parameters
        if known is not None and known.natural is parameters.natural:
            if known.log_weights is parameters.log_weights:
                return found.value
            with np.errstate(invalid="ignore"):
                change = parameters.log_weights - known.log_weights
            used = found.statistics.units if found.statistics.units is not None else found.statistics.counts
            return found.value + float(used[used > 0] @ change[used > 0])
        return self._pass(parameters, None, found.of_units, sums_too=False)[1].score

    def restricted(self, active: NDArray[np.bool_]) -> "ScoredRows":
        if self.units.offsets is None:
            return self
        other = copy(self)
        other.units = Units(self.units.starts, self.units.weights, self.units.offsets[:, active], self.units.kinds)
        return other


def shares_of(scores: Array, n_responsibilities: int | None) -> tuple[Array, Array]:
    """Responsibilities (u, k) of the largest scores, and the logarithms of the sums they are shares of (u,)."""
    top = scores.max(axis=1)
    shares = np.exp(scores - top[:, None])
    if n_responsibilities == 1:
        best = np.argmax(scores, axis=1)
        shares = np.zeros_like(shares)
        shares[np.arange(len(best)), best] = 1.0
        return shares, top
    if n_responsibilities is not None and n_responsibilities < scores.shape[1]:
        least = np.partition(shares, -n_responsibilities, axis=1)[:, -n_responsibilities]
        shares[shares < least[:, None]] = 0.0
    total = shares.sum(axis=1)
    return shares / total[:, None], top + np.log(total)
