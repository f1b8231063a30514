"""What learning maximises: the log-likelihood of rows under a model, and the passes that implementations add."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._kernels import Meter, backend
from ..engines.direct import SCORE_ERROR, score_error, worst_of
from ..engines.packed_scorer import ROW_SCORE_ERROR
from ..engines.partition import Partition, Remembered
from ..engines.precision import centered_form, score_errors
from ..engines.score import likelihoods_of
from ..engines.statistics import ClusterStatistics
from ..families import ExponentialFamily
from ..families.incomplete import Incomplete
from ..families.resolution import Resolution
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.blas import blas_on_one_thread
from .model import Model, Parameters, PriorPoint

if TYPE_CHECKING:
    from ..data.sparse import SparseRows
    from ..data.table import Rows
    from .problem import Problem

T = TypeVar("T")

# Up to this many rows times components, families without scores by differences report their own densities.
FEW_PAIRS = 1e6
# Gaussians of 32 columns have more: matrices of that size are where BLAS begins to use threads.
MANY_STATISTICS = 512


@dataclass(frozen=True)
class DataSummary:
    """What the objective needs to know of the rows: one pass over them finds it."""

    total: float
    """How many there are, or what they weigh."""
    mean_statistic: Array
    largest_statistic: Array
    """The largest |t_i(x)| of each coordinate, or a bound on it: what bounds the rounding of a score."""
    sum_log_carrier: float


@dataclass(frozen=True)
class SoftSummary:
    """What a mixture says of all rows together."""

    log_likelihood: float
    mean_entropy: float
    """Of the responsibilities, in nats: zero when no row is uncertain."""


def undisturbed(n_statistics: int) -> AbstractContextManager[object]:
    """A context for linear algebra: with many statistics BLAS would use threads, which spin between the passes."""
    return blas_on_one_thread() if n_statistics >= MANY_STATISTICS and backend() == "compiled" else nullcontext()


class LearningProblem(Model, ABC):
    """Maximise the complete (or incomplete) log-likelihood of rows, plus the prior of the model.

    Where the rows are (in memory, in chunks, on other machines) is the business of those who implement the passes.
    """

    def __init__(
        self,
        family: ExponentialFamily,
        summary: DataSummary,
        center: Array | None,
        prior_strength: float = 0.0,
        weights: Array | None = None,
        resolution: Resolution | None = None,
        prior: PriorPoint | None = None,
    ) -> None:
        mean = summary.mean_statistic
        super().__init__(family, summary.total, mean, center, prior_strength, weights, resolution, prior)
        self.largest_statistic = family.score_sizes(summary.largest_statistic)
        self.sum_log_carrier = summary.sum_log_carrier
        self.meter = Meter()

    # What implementations add -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def engine_name(self) -> str:
        """What finds the labels, as users call it."""

    @property
    @abstractmethod
    def sample(self) -> "Problem":
        """The problem on some of its rows, few enough to be held and examined often; on all where they are few."""

    @abstractmethod
    def assign(self, parameters: Parameters) -> tuple[Partition, ClusterStatistics]:
        """Hard pass over all rows: who belongs where, and the statistics."""

    @abstractmethod
    def soften(self, parameters: Parameters, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Soft pass: statistics by responsibility, of the `n_responsibilities` largest per row or of all."""

    @abstractmethod
    def over_rows(self, function: Callable[["Rows | SparseRows", int], T]) -> T:
        """The sum of what a function of rows, and of the place of their first one among all, says of all."""

    @property
    def row_values(self) -> float:
        """How many numbers a pass reads for each row, on average."""
        return float(self.n_statistics)

    def undisturbed(self) -> AbstractContextManager[object]:
        """Where steps are to be made."""
        return undisturbed(self.n_statistics)

    @property
    def expects(self) -> bool:
        """Whether statistics are expectations given the parameters of a pass: then they serve no other parameters."""
        return False

    @property
    def needs_rows(self) -> bool:
        """Whether steps follow from the rows and their shares: then sums of statistics do not tell where to go on."""
        return False

    @property
    def data_mean(self) -> Array:
        """A mean over the rows, which tells their data from other data."""
        return self.prior_moment

    @property
    def updates_fully(self) -> bool:
        """Whether one update finds the best parameters for given labels."""
        return not self.expects

    # Passes in other words --------------------------------------------------------------------------------------------

    def log_likelihood(self, parameters: Parameters) -> SoftSummary:
        """The log-likelihood, and how much uncertain labels are."""
        return self.soft_summary_in(parameters, self.soften(parameters))

    def reported_likelihoods(self, parameters: Parameters, mixture: Mixture) -> tuple[float, float] | None:
        """The log-likelihood and the complete one, by the scores that the mixture of these parameters gives rows.

        None where those of passes are as good.
        """
        return None

    def worst_statistic(self, parameters: Parameters) -> Array:
        """t(x) of the row with the lowest best log-density: the one these components explain worst."""
        return self.over_rows(partial(worst_of, natural=parameters.natural, bias=self.bias(parameters))).statistic

    # The objective ----------------------------------------------------------------------------------------------------

    def complete_objective(
        self, parameters: Parameters, statistics: ClusterStatistics, partition: Partition | None = None
    ) -> float:
        """Complete log-likelihood of labels with these statistics, plus the penalty; no pass over the data.

        Where statistics do not have the digits for it, problems that know the rows compute it from the labels.
        """
        occupied = np.flatnonzero((statistics.counts > 0) & parameters.active)
        terms = statistics.counts, statistics.sums, parameters.natural, parameters.log_weights
        normalizer = self.log_normalizer(parameters.natural)
        if len(occupied) < len(normalizer):
            counts, sums, natural, log_weights = (term[occupied] for term in terms)
            normalizer = normalizer[occupied]
        else:
            counts, sums, natural, log_weights = terms
        fit = np.einsum("kd,kd->k", sums, natural) + counts * (log_weights - normalizer)
        return float(fit.sum()) + self.sum_log_carrier + self.penalty(parameters)

    def incomplete_objective(self, parameters: Parameters, statistics: ClusterStatistics) -> float:
        """Log-likelihood from a soft pass made with these parameters, plus the penalty."""
        return statistics.score + self.sum_log_carrier + self.penalty(parameters)

    def sure_gain(self, statistics: ClusterStatistics, before: Parameters, after: Parameters) -> float:
        """A lower bound on the gain of the step from parameters with these soft statistics to better ones.

        It is that of the expected complete log-likelihood (Dempster, Laird and Rubin, 1977).
        """

        def expected(parameters: Parameters) -> Array:
            with np.errstate(invalid="ignore"):
                score = np.einsum("kd,kd->k", statistics.sums, parameters.natural)
                score += statistics.counts * self.bias(parameters)
            return score[active]

        active = after.active & before.active
        gain = float((expected(after) - expected(before)).sum())
        return max(0.0, gain + self.penalty(after) - self.penalty(before))

    def soft_summary_in(self, parameters: Parameters, softened: ClusterStatistics) -> SoftSummary:
        """The log-likelihood that a full soft pass with these parameters found."""
        active = parameters.active
        expected = np.einsum("kd,kd->", softened.sums[active], parameters.natural[active])
        expected += softened.counts[active] @ self.bias(parameters)[active]
        return SoftSummary(softened.score + self.sum_log_carrier, float(softened.score - expected) / self.total)

    def legal(self, natural: Array, active: NDArray[np.bool_]) -> bool:
        """Whether these (k, D) are natural parameters of the family, those of inactive components aside.

        They are not where components are so narrow that scores lose their digits: floors begin there.
        """
        with np.errstate(all="ignore"):
            normalizer = self.log_normalizer(natural)[active]
        precise = score_error(self.largest_statistic, natural[active], normalizer) <= SCORE_ERROR
        return precise and bool(np.isfinite(normalizer).all())

    def restricted(self, active: NDArray[np.bool_]) -> "LearningProblem":
        """The problem of mixtures that have only the active components."""
        return self


# Narrow components ----------------------------------------------------------------------------------------------------


class PreciseProblem(LearningProblem):
    """A learning problem that can ask its rows again, in memory or in chunks.

    Sums of packed statistics lose digits where components are narrow for their distance from the center. There, and
    only there, the complete objective and the comparison of updates are sums of direct densities over the rows.
    """

    has_direct: bool
    """Whether the family has densities that do without packed statistics."""

    @abstractmethod
    def direct_fits(self, partition: Partition, *naturals: Array) -> Array:
        """For each of several parameters (k, D) the sum of log p(x) - k(x) over the rows of each component, (m, k)."""

    @abstractmethod
    def row_log_likelihood(self, parameters: Parameters) -> tuple[float, float] | None:
        """Sums over rows of log sum_j exp(score_j) and of posterior entropies; None where only a soft pass has them."""

    def _loses_digits(self, parameters: Parameters, bias: Array, most: float = SCORE_ERROR) -> bool:
        """Whether packed scores may be off by more than that, and the family has better ones."""
        # Errors that are no numbers are too large as well.
        return self.has_direct and not (score_errors(self.largest_statistic, parameters.natural, bias) <= most).all()

    def log_likelihood(self, parameters: Parameters) -> SoftSummary:
        found = self.row_log_likelihood(parameters)
        if found is None:
            return super().log_likelihood(parameters)
        score, entropy = found
        return SoftSummary(score + self.sum_log_carrier, entropy / self.total)

    def reported_likelihoods(self, parameters: Parameters, mixture: Mixture) -> tuple[float, float] | None:
        near = not self._loses_digits(parameters, self.bias(parameters), ROW_SCORE_ERROR) and not self._is_far(mixture)
        if near or self.expects or isinstance(self.family, Incomplete):
            return None
        given = mixture.family, mixture.natural, np.log(mixture.weights)
        if self.total * len(mixture.weights) > FEW_PAIRS and centered_form(*given) is None:
            return None
        log_likelihood, complete = self.over_rows(partial(likelihoods_of, components=given)).tolist()
        return log_likelihood, complete

    def _is_far(self, mixture: Mixture) -> bool:
        """Whether the data's own coordinates round what is seen from the center by more than that."""
        if self.center is None or mixture.family != self.family:
            return False
        with np.errstate(all="ignore"):
            there = np.abs(self.family.sufficient_statistic(self.center[None])[0])
            error = score_error(there, mixture.natural, self.family.log_normalizer(mixture.natural))
        return not error <= ROW_SCORE_ERROR

    def soft_summary_in(self, parameters: Parameters, softened: ClusterStatistics) -> SoftSummary:
        if self.expects or self._loses_digits(parameters, self.bias(parameters)):
            return self.log_likelihood(parameters)
        return super().soft_summary_in(parameters, softened)

    def _statistics_suffice(self, partition: Partition | None, statistics: ClusterStatistics, *naturals: Array) -> bool:
        """Whether statistics have the digits for these components, or there are no labels to do better with."""
        if partition is None or isinstance(partition, Remembered):
            return True
        if self.expects or not self.has_direct:
            return not self.expects
        occupied = statistics.counts > 0
        means = np.abs(statistics.sums[occupied]) / statistics.counts[occupied, None]
        sizes = [np.einsum("kd,kd->k", means, np.abs(natural[occupied])).max(initial=0.0) for natural in naturals]
        return bool(np.finfo(float).eps * max(sizes) <= SCORE_ERROR)

    def complete_objective(
        self, parameters: Parameters, statistics: ClusterStatistics, partition: Partition | None = None
    ) -> float:
        if partition is None or self._statistics_suffice(partition, statistics, parameters.natural):
            return super().complete_objective(parameters, statistics)
        occupied = statistics.counts > 0
        fit = self.direct_fits(partition, parameters.natural)[0, occupied]
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
        if partition is None or self._statistics_suffice(partition, statistics, natural, parameters.natural):
            return natural
        before, after = self.direct_fits(partition, parameters.natural, natural)
        with np.errstate(invalid="ignore"):
            penalty = self.prior_strength * (self._about(natural).prior_fit - self._about(parameters.natural).prior_fit)
            worse = (statistics.counts > 0) & (after + penalty < before)
            if self.family.joint:
                change = np.where(statistics.counts > 0, after + penalty - before, 0.0)
                worse = np.full(len(worse), float(change.sum()) < 0)
        return np.where(worse[:, None], parameters.natural, natural) if worse.any() else natural
