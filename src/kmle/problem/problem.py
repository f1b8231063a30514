"""The learning problem of rows in memory."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..engines.base import Engine
from ..engines.choose import choose, passing_engine, plain_engine
from ..engines.dense import SparseEngine
from ..engines.panels.engine import PanelsEngine
from ..engines.partition import Partition
from ..engines.patterns.engine import PatternsEngine
from ..engines.precise import PreciseEngine
from ..engines.precision import SCORE_ERROR
from ..engines.statistics import ClusterStatistics
from ..families import ExponentialFamily
from ..families.resolution import Asked, Reach, Resolution, resolution_of, unknown_resolution
from ..families.validation import issparse
from ..numerics.arrays import Array, Labels
from ..numerics.reservoir import reservoir_places
from .model import Parameters
from .objective import DataSummary, LearningProblem, PreciseProblem, undisturbed

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T")

__all__ = ["LearningProblem", "Parameters", "Problem", "at_hand", "sample_size"]

# A sample has at least SAMPLE_ROWS rows, and at least SAMPLE_ROWS_EACH per component: enough to see every component.
SAMPLE_ROWS = 20_000
SAMPLE_ROWS_EACH = 20


def sample_size(n_components: int) -> int:
    """How many rows a sample is to hold."""
    return max(SAMPLE_ROWS, SAMPLE_ROWS_EACH * n_components)


def at_hand(problem: LearningProblem, algorithm: str) -> "Problem":
    """A problem whose rows are in memory, for algorithms that examine them one by one."""
    if isinstance(problem, Problem):
        if problem.expects and algorithm != "online":
            raise ValueError(
                f"algorithm='{algorithm}' works row by row and needs complete rows, and entries are missing: use "
                "'k-mle', 'hard-em', 'em' or 'sparse-em', or fill in values first"
            )
        return problem
    raise ValueError(
        f"algorithm='{algorithm}' works row by row and needs all rows in memory: on chunks use 'k-mle', "
        "'hard-em', 'swap', 'em' or 'sparse-em'"
    )


class Problem(PreciseProblem):
    """A learning problem with its rows in memory, and the engine that passes over them.

    `sampling` draws the rows of the sample that seeds are sought in; without it the draw is always the same.
    `hard` promises that passes will be hard, so that what only those need is prepared at once. `resolution` is
    "auto", or the steps of the columns' grids: no component is narrower than they allow.
    """

    _latest_fits: tuple[tuple[Engine, Partition, Array, Array], ...] = ()

    def __init__(
        self,
        family: ExponentialFamily,
        X: "Array | csr_array",
        sample_weight: Array | None = None,
        prior_strength: float = 0.0,
        weights: Array | None = None,
        center: Array | None = None,
        n_threads: int = 1,
        n_components: int = 1,
        engine: str = "auto",
        sampling: np.random.Generator | None = None,
        hard: bool = False,
        resolution: Asked = None,
        summary: ColumnSummary | None = None,
    ) -> None:
        self.rows: Rows | SparseRows
        self.engine: Engine
        if issparse(X):
            self.rows = SparseRows(family, X, sample_weight, n_threads)
            self.engine = SparseEngine(self.rows)
        else:
            self.rows = Rows(family, X, sample_weight, center, n_threads, summary=summary)
            self.engine = choose(self.rows, n_components, engine, hard)
        self._sampling = np.random.default_rng(0) if sampling is None else sampling
        self._sample_size = sample_size(n_components)
        self._sample: Problem | None = None
        with undisturbed(self.rows.n_statistics):
            data = DataSummary(
                self.rows.total, self.rows.mean_statistic, self.rows.largest_statistic, self.rows.sum_log_carrier()
            )
            known: Resolution | None = None
            if isinstance(self.rows, Rows):
                sampled = self._sampled_rows(self.rows)
                data = without_extremes(data, sampled)
                known = sampled_resolution(family, sampled.X, resolution)
            super().__init__(family, data, self.rows.center, prior_strength, weights, known)
            self.meter = self.rows.meter
            self.has_direct = has_direct(self, self.rows)

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

    @property
    def expects(self) -> bool:
        """Whether statistics are expectations given the parameters of a pass, as missing entries make them."""
        return isinstance(self.engine, PatternsEngine)

    # Passes -----------------------------------------------------------------------------------------------------------

    def _loses_digits(self, parameters: Parameters, bias: Array, most: float = SCORE_ERROR) -> bool:
        good = isinstance(self.engine, PanelsEngine | PatternsEngine)
        return not good and super()._loses_digits(parameters, bias, most)

    @cached_property
    def _precise(self) -> PreciseEngine:
        """What makes the passes then."""
        assert isinstance(self.rows, Rows)  # sparse rows have no better scores
        return PreciseEngine(self.rows, self.engine)

    def assign(
        self, parameters: Parameters, batch: Rows | SparseRows | None = None
    ) -> tuple[Partition, ClusterStatistics]:
        """Hard pass over all rows, or over others seen from the same center: who belongs where, and the statistics."""
        bias = self.bias(parameters)
        rows = self.rows if batch is None else batch
        if isinstance(rows, Rows) and self._loses_digits(parameters, bias):
            precise = self._precise if batch is None else PreciseEngine(rows)
            return precise.hard_pass(parameters.natural, bias, parameters.log_weights)
        engine = self.engine if batch is None else plain_engine(batch)
        return engine.hard_pass(parameters.natural, bias)

    def soften(self, parameters: Parameters, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Soft pass: statistics by responsibility, of the `n_responsibilities` largest per row or of all."""
        bias = self.bias(parameters)
        if self._loses_digits(parameters, bias):
            return self._precise.soft_pass(parameters.natural, bias, parameters.log_weights, n_responsibilities)
        return self.engine.soft_pass(parameters.natural, bias, n_responsibilities)

    def row_log_likelihood(self, parameters: Parameters) -> tuple[float, float] | None:
        """Sums over rows of log sum_j exp(score_j) and of posterior entropies; None where only a soft pass has them."""
        bias = self.bias(parameters)
        if self._loses_digits(parameters, bias):
            return self._precise.log_likelihood(parameters.natural, bias, parameters.log_weights)
        return self.engine.log_likelihood(parameters.natural, bias)

    def direct_fits(self, partition: Partition, *naturals: Array) -> Array:
        """For each of several parameters (k, D) the sum of log p(x) - k(x) over the rows of each component, (m, k)."""
        assert isinstance(self.rows, Rows)  # sparse rows have no direct densities
        if isinstance(self.engine, PatternsEngine):
            return np.array([self._fits_of_patterns(partition, natural) for natural in naturals])
        return np.array([self._precise.fits(natural, partition.labels) for natural in naturals])

    def _fits_of_patterns(self, partition: Partition, natural: Array) -> Array:
        """Those of rows with holes: a step asks for the same ones several times."""
        assert isinstance(self.engine, PatternsEngine)
        for known in self._latest_fits:
            if known[0] is self.engine and known[1] is partition and known[2] is natural:
                return known[3]
        fits = self.engine.fits(natural, partition)
        self._latest_fits = (*self._latest_fits[-1:], (self.engine, partition, natural, fits))
        return fits

    def over_rows(self, function: Callable[[Rows | SparseRows, int], T]) -> T:
        """What a function of rows, and of the place of their first one among all, says of all."""
        return function(self.rows, 0)

    def scores(self, parameters: Parameters) -> Array:
        """<t(x), natural_j> + bias_j of every row and component, (n, k): for problems with few rows."""
        if isinstance(self.engine, PanelsEngine | PatternsEngine):
            return self.engine.scores(parameters.natural, self.bias(parameters))
        natural, bias = np.where(parameters.active[:, None], parameters.natural, 0.0), self.bias(parameters)
        if isinstance(self.rows, SparseRows):
            return self.rows.scores(natural, bias)
        return self._precise.scores(natural, bias, parameters.log_weights)

    def gather(self, labels: Labels, n_components: int) -> ClusterStatistics:
        """The statistics of given labels."""
        if isinstance(self.engine, PanelsEngine):
            return ClusterStatistics(*self.engine.gather(labels, n_components), 0.0)
        return ClusterStatistics(*self.rows.label_sums(labels, n_components), 0.0)

    # The same problem otherwise ---------------------------------------------------------------------------------------

    def without_rows(self) -> "Problem":
        """The same problem with its first row only: family, prior, center and weights without the data."""
        return self.on_rows(np.array([0]))

    def with_prior_strength(self, prior_strength: float) -> "Problem":
        """The same problem, rows and engine shared, with another weight on the prior."""
        other = copy(self)
        other.prior_strength = prior_strength
        other._sample = None if self._sample is None else self._sample.with_prior_strength(prior_strength)
        return other

    def on_rows(self, indices: NDArray[np.intp]) -> "Problem":
        """The same problem on chosen rows: family, prior, center and weights are those of all."""
        return Problem.like(self, self.rows.subset(indices))

    @classmethod
    def like(cls, other: PreciseProblem, rows: Rows | SparseRows) -> "Problem":
        """A problem on rows of another one, seen from the same center: family, prior and weights are the other's."""
        part = cls.__new__(cls)
        summary = DataSummary(rows.total, other.prior_moment, other.largest_statistic, rows.sum_log_carrier())
        settings = other.center, other.prior_strength, other.weights, other.resolution, other.prior
        LearningProblem.__init__(part, other.family, summary, *settings)
        rows.meter = part.meter = other.meter
        part.rows = rows
        part.engine = passing_engine(rows)
        part.has_direct = other.has_direct
        # It is a sample itself.
        part._sampling, part._sample_size, part._sample = np.random.default_rng(0), len(rows), None
        return part


def sampled_resolution(family: ExponentialFamily, X: Array, asked: Asked) -> Resolution | None:
    """The resolution of the columns of a sample (n, d), where components of the family can be narrow at all."""
    if isinstance(asked, str) and family.smallest_spread(unknown_resolution(X.shape[1]), None) is None:
        return None
    return resolution_of(X, asked)


def has_direct(problem: LearningProblem, rows: Rows | SparseRows) -> bool:
    """Whether the family has densities that do without packed statistics."""
    if isinstance(rows, SparseRows):
        return False
    first = rows.stood_in(slice(0, 1))
    return problem.family.direct_log_density(first, problem.prior_natural[None]) is not None


def without_extremes(summary: DataSummary, rows: Rows) -> DataSummary:
    """The summary with the mean statistic of the typical ones among some rows, where others of all rows are extreme.

    The prior stands at the mean statistic. One extreme value would make it so wide that no component could be narrow.
    Values are extreme as the family sees them: large ones are not where it takes their logarithms.
    """
    columns = rows.X if rows.by_pattern else rows.kernel_columns(slice(None))[0]
    reach = Reach.of(columns, rows.weights)
    typical = reach.holds(columns)
    # An extreme value may be none of the sample.
    none = typical.all() and (rows.by_pattern or reach.may_hold(summary.largest_statistic[: columns.shape[1]]))
    if none or not typical.any() or (rows.by_pattern and np.isnan(rows.X[typical]).all(axis=0).any()):
        return summary
    return replace(summary, mean_statistic=rows.subset(np.flatnonzero(typical)).mean_statistic)
