"""The learning problem whose rows are at hand."""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..families.resolution import Asked, Resolution, resolution_of
from ..families.sparse import issparse
from ..numerics.arrays import Array
from ..numerics.reservoir import reservoir_places
from ..statistics import ClusterStatistics
from .choose import choose, passing_engine, plain_engine
from .direct import SCORE_ERROR, direct_fits, score_error
from .engine import Engine
from .objective import Evidence, Facts, LearningProblem, Parameters, undisturbed, without_extremes
from .partition import Labels, Partition, Remembered
from .precise import PreciseEngine
from .rows import Rows
from .sparse import SparseEngine, SparseRows
from .wide import WideEngine

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T")

__all__ = ["LearningProblem", "Parameters", "Problem", "at_hand", "sample_size"]

# A sample of so many rows is enough to see every component that is worth one; so many for each component at least.
SAMPLE_ROWS = 20_000
SAMPLE_ROWS_EACH = 20


def sample_size(n_components: int) -> int:
    """How many rows a sample is to hold."""
    return max(SAMPLE_ROWS, SAMPLE_ROWS_EACH * n_components)


def at_hand(problem: LearningProblem, algorithm: str) -> "Problem":
    """A problem whose rows are in memory, for algorithms that look at them one by one."""
    if isinstance(problem, Problem):
        return problem
    raise ValueError(
        f"algorithm='{algorithm}' looks at rows one by one, so all must be in memory: on chunks use 'k-mle', "
        "'hard-em', 'swap', 'em' or 'sparse-em'"
    )


class Problem(LearningProblem):
    """A learning problem with its rows in memory, and the engine that passes over them.

    `sampling` draws the rows of the sample that seeds are looked for in; without it the draw is always the same.
    `hard` promises that passes will be hard, so that what only those need is made ready at once. `resolution` is
    "auto", or the steps of the columns' grids: no component is narrower than they allow.
    """

    def __init__(
        self,
        family: ExponentialFamily,
        X: "Array | csr_array",
        sample_weight: Array | None = None,
        prior_strength: float = 0.0,
        weights: Array | None = None,
        origin: Array | None = None,
        n_threads: int = 1,
        n_components: int = 1,
        assignment: str = "auto",
        sampling: np.random.Generator | None = None,
        hard: bool = False,
        resolution: Asked = None,
    ) -> None:
        self.rows: Rows | SparseRows
        self.engine: Engine
        if issparse(X):
            self.rows = SparseRows(family, X, sample_weight, n_threads)
            self.engine = SparseEngine(self.rows)
        else:
            self.rows = Rows(family, X, sample_weight, origin, n_threads)
            self.engine = choose(self.rows, n_components, assignment, hard)
        self._sampling = np.random.default_rng(0) if sampling is None else sampling
        self._sample_size = sample_size(n_components)
        self._sample: Problem | None = None
        with undisturbed(self.rows.order):
            facts = Facts(
                self.rows.total, self.rows.mean_statistic, self.rows.largest_statistic, self.rows.sum_log_carrier()
            )
            if isinstance(self.rows, Rows):
                facts = without_extremes(facts, self._sampled_rows(self.rows))
            super().__init__(family, facts, self.rows.origin, prior_strength, weights, self._resolution(resolution))
            self.meter = self.rows.meter
            self.has_direct = has_direct(self, self.rows)

    def _resolution(self, asked: Asked) -> Resolution | None:
        """The resolution of the sample's columns; sparse rows have none."""
        return None if isinstance(self.rows, SparseRows) else resolution_of(self.rows.X[self._places], asked)

    def _sampled_rows(self, rows: Rows) -> Rows:
        """The rows of the sample, or all where they are few."""
        return rows if isinstance(self._places, slice) else rows.subset(self._places)

    @cached_property
    def _places(self) -> slice | NDArray[np.intp]:
        """Which rows are in the sample."""
        if len(self.rows) <= self._sample_size:
            return slice(None)
        return reservoir_places(len(self.rows), self._sample_size, self._sampling)

    @property
    def row_values(self) -> float:
        """How many numbers a pass reads for each row, on average: of sparse rows those that are stored."""
        return self.rows.X.nnz / len(self.rows) if isinstance(self.rows, SparseRows) else super().row_values

    @property
    def engine_name(self) -> str:
        """What finds the labels, as users call it."""
        return self.engine.name

    @property
    def sample(self) -> "Problem":
        """The problem itself, or on a random sample of its rows when there are many; always the same one."""
        if isinstance(self._places, slice):
            return self
        if self._sample is None:
            self._sample = self.on_rows(self._places)
        return self._sample

    # Passes -----------------------------------------------------------------------------------------------------------

    def _needs_precise(self, parameters: Parameters, bias: Array) -> bool:
        """Whether packed scores are not good enough, and the family has better ones."""
        if not self.has_direct or isinstance(self.engine, WideEngine):
            return False
        return not score_error(self.largest_statistic, parameters.natural, bias) <= SCORE_ERROR

    @cached_property
    def _precise(self) -> PreciseEngine:
        """What makes the passes then."""
        assert isinstance(self.rows, Rows)  # sparse rows have no better scores
        return PreciseEngine(self.rows, self.engine)

    def assign(
        self, parameters: Parameters, batch: Rows | SparseRows | None = None
    ) -> tuple[Partition, ClusterStatistics]:
        """Hard pass over all rows, or over others seen from the same origin: who belongs where, and the statistics."""
        bias = self.bias(parameters)
        rows = self.rows if batch is None else batch
        if isinstance(rows, Rows) and self._needs_precise(parameters, bias):
            precise = self._precise if batch is None else PreciseEngine(rows)
            return precise.hard_pass(parameters.natural, bias, parameters.log_weights)
        engine = self.engine if batch is None else plain_engine(batch)
        return engine.hard_pass(parameters.natural, bias)

    def soften(self, parameters: Parameters, n_kept: int | None = None) -> ClusterStatistics:
        """Soft pass: statistics by responsibility, of the `n_kept` largest a row or of all."""
        bias = self.bias(parameters)
        if self._needs_precise(parameters, bias):
            return self._precise.soft_pass(parameters.natural, bias, parameters.log_weights, n_kept)
        return self.engine.soft_pass(parameters.natural, bias, n_kept)

    def evidence(self, parameters: Parameters) -> Evidence:
        """The log-likelihood, and how much in doubt labels are; most engines need no responsibilities for that."""
        bias = self.bias(parameters)
        found: tuple[float, float] | None
        if self._needs_precise(parameters, bias):
            found = self._precise.evidence(parameters.natural, bias, parameters.log_weights)
        else:
            found = self.engine.evidence(parameters.natural, bias)
        if found is None:
            return super().evidence(parameters)
        score, entropy = found
        return Evidence(score + self.sum_log_carrier, entropy / self.total)

    def evidence_in(self, parameters: Parameters, softened: ClusterStatistics) -> Evidence:
        """The evidence that a full soft pass with these parameters found."""
        precise = self._needs_precise(parameters, self.bias(parameters))
        return self.evidence(parameters) if precise else super().evidence_in(parameters, softened)

    # Precise objectives -----------------------------------------------------------------------------------------------

    def _labels_in(self, partition: Partition | None, statistics: ClusterStatistics, *naturals: Array) -> Labels | None:
        """The labels, where statistics do not have the digits for these components and the rows do."""
        if partition is None or isinstance(partition, Remembered) or not self.has_direct:
            return None
        occupied = statistics.counts > 0
        means = np.abs(statistics.sums[occupied]) / statistics.counts[occupied, None]
        sizes = [np.einsum("kd,kd->k", means, np.abs(natural[occupied])).max(initial=0.0) for natural in naturals]
        return None if np.finfo(float).eps * max(sizes) <= SCORE_ERROR else partition.labels

    def complete_objective(
        self, parameters: Parameters, statistics: ClusterStatistics, partition: Partition | None = None
    ) -> float:
        labels = self._labels_in(partition, statistics, parameters.natural)
        if labels is None or not isinstance(self.rows, Rows):
            return super().complete_objective(parameters, statistics)
        occupied = statistics.counts > 0
        fit = direct_fits(self.rows, parameters.natural, labels)[occupied]
        fit += statistics.counts[occupied] * parameters.log_weights[occupied]
        return float(fit.sum()) + self.sum_log_carrier + self.penalty(parameters)

    def updated_natural(
        self,
        parameters: Parameters,
        statistics: ClusterStatistics,
        partition: Partition | None = None,
        surely: bool = False,
    ) -> Array:
        natural = super().updated_natural(parameters, statistics, None, surely)
        occupied = statistics.counts > 0
        labels = self._labels_in(partition, statistics, natural, parameters.natural)
        if labels is None or not isinstance(self.rows, Rows):
            return natural
        before, after = (direct_fits(self.rows, theta, labels) for theta in (parameters.natural, natural))
        with np.errstate(invalid="ignore"):
            penalty = self.prior_strength * (self._about(natural).prior_fit - self._about(parameters.natural).prior_fit)
            worse = occupied & (after + penalty < before)
        return np.where(worse[:, None], parameters.natural, natural) if worse.any() else natural

    def over_rows(self, function: Callable[[Rows | SparseRows, int], T]) -> T:
        """What a function of rows, and of the place of their first one among all, says of all."""
        return function(self.rows, 0)

    def scores(self, parameters: Parameters) -> Array:
        """<t(x), natural_j> + bias_j of every row and component, (n, k): for problems with few rows."""
        if isinstance(self.engine, WideEngine):
            return self.engine.scores(parameters.natural, self.bias(parameters))
        natural, bias = np.where(parameters.alive[:, None], parameters.natural, 0.0), self.bias(parameters)
        if isinstance(self.rows, SparseRows):
            return self.rows.scores(natural, bias)
        return self._precise.scores(natural, bias, parameters.log_weights)

    def gather(self, labels: Labels, n_components: int) -> ClusterStatistics:
        """The statistics of given labels."""
        if isinstance(self.engine, WideEngine):
            return ClusterStatistics(*self.engine.gather(labels, n_components), 0.0)
        return ClusterStatistics(*self.rows.label_sums(labels, n_components), 0.0)

    # The same problem otherwise ---------------------------------------------------------------------------------------

    def without_rows(self) -> "Problem":
        """The same problem with its first row only: family, prior, origin and weights without the data."""
        return self.on_rows(np.array([0]))

    def with_prior_strength(self, prior_strength: float) -> "Problem":
        """The same problem, rows and engine shared, with another weight on the prior."""
        other = copy(self)
        other.prior_strength = prior_strength
        other._sample = None if self._sample is None else self._sample.with_prior_strength(prior_strength)
        return other

    def on_rows(self, indices: NDArray[np.intp]) -> "Problem":
        """The same problem on chosen rows: family, prior, origin and weights are those of all."""
        return Problem.like(self, self.rows.subset(indices))

    @classmethod
    def like(cls, other: LearningProblem, rows: Rows | SparseRows) -> "Problem":
        """A problem on rows of another one, seen from the same origin: family, prior and weights are the other's."""
        part = cls.__new__(cls)
        facts = Facts(rows.total, other.prior_moment, other.largest_statistic, rows.sum_log_carrier())
        settings = other.origin, other.prior_strength, other.weights, other.resolution
        LearningProblem.__init__(part, other.family, facts, *settings)
        rows.meter = part.meter = other.meter
        part.rows = rows
        part.engine = passing_engine(rows)
        part.has_direct = has_direct(part, rows)
        # It is a sample itself.
        part._sampling, part._sample_size, part._sample = np.random.default_rng(0), len(rows), None
        return part


def has_direct(problem: LearningProblem, rows: Rows | SparseRows) -> bool:
    """Whether the family has densities that do without packed statistics."""
    if isinstance(rows, SparseRows):
        return False
    first = rows.raw(slice(0, 1)).astype(float)
    return problem.family.direct_log_density(first, problem.prior_natural[None]) is not None
