"""Objectives of very narrow components: computed from rows and labels where statistics have lost the digits."""

from abc import abstractmethod

import numpy as np

from ..engines.direct import SCORE_ERROR, score_error
from ..engines.partition import Partition, Remembered
from ..engines.statistics import ClusterStatistics
from ..numerics.arrays import Array
from .objective import LearningProblem, Parameters, SoftSummary


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

    def _loses_digits(self, parameters: Parameters, bias: Array) -> bool:
        """Whether packed scores are not good enough, and the family has better ones."""
        return self.has_direct and not score_error(self.largest_statistic, parameters.natural, bias) <= SCORE_ERROR

    def log_likelihood(self, parameters: Parameters) -> SoftSummary:
        found = self.row_log_likelihood(parameters)
        if found is None:
            return super().log_likelihood(parameters)
        score, entropy = found
        return SoftSummary(score + self.sum_log_carrier, entropy / self.total)

    def soft_summary_in(self, parameters: Parameters, softened: ClusterStatistics) -> SoftSummary:
        if self._loses_digits(parameters, self.bias(parameters)):
            return self.log_likelihood(parameters)
        return super().soft_summary_in(parameters, softened)

    def _statistics_suffice(self, partition: Partition | None, statistics: ClusterStatistics, *naturals: Array) -> bool:
        """Whether statistics have the digits for these components, or there are no labels to do better with."""
        if partition is None or isinstance(partition, Remembered) or not self.has_direct:
            return True
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
        return np.where(worse[:, None], parameters.natural, natural) if worse.any() else natural
