"""Tied covariances: scores that are linear in the row (Fisher, 1936), so that a pass costs d products, not d^2.

Where all components have the same quadratic term it drops out of every comparison of scores. What is left is scored by
whichever engine is fastest for Gaussians of known covariance, k-means among them. Sums of products of columns are known
for all rows together; each component gets the share that leaves it the common covariance, from which the joint estimate
of a tied family is the same as from its own.
"""

from typing import Any

import numpy as np

from .._kernels import summarize_columns
from ..families import ExponentialFamily
from ..families.structured_gaussian import structure_of
from ..numerics.arrays import Array
from .base import Engine
from .dense import DenseEngine
from .panels.engine import PanelsEngine
from .partition import Partition
from .precision import SCORE_ERROR, score_error
from .statistics import ClusterStatistics

TIED = ("EII", "EEI", "EEE")


def is_tied(family: ExponentialFamily) -> bool:
    """Whether all components of a mixture have the same covariance."""
    return structure_of(family) in TIED


class _LinearPasses:
    """Passes of tied components by an engine for linear scores; those of others by the engine it is mixed with."""

    name = "linear"
    rows: Any

    def with_linear(self, linear: Engine) -> Any:
        """The engine itself, with the one that is used where components are tied."""
        self._linear = linear
        self._sums = self.rows.mean_statistic * self.rows.total
        summary = summarize_columns(self.rows.X, self.rows.n_threads)
        center = 0.0 if self.rows.center is None else self.rows.center
        self._largest = np.maximum(np.abs(summary.lowest - center), np.abs(summary.highest - center))
        return self

    def hard_pass(self, natural: Array, bias: Array, *centered: Any) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores, and the statistics of the clusters."""
        quadratic = self._common(natural, bias)
        if quadratic is None or any(form is not None for form in centered):
            found: tuple[Partition, ClusterStatistics] = super().hard_pass(natural, bias, *centered)  # type: ignore[misc]
            return found
        partition, statistics = self._linear.hard_pass(natural[:, : self._d], bias)
        return partition, self._filled(statistics, 0.0)

    def soft_pass(self, natural: Array, bias: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        quadratic = self._common(natural, bias)
        if quadratic is None:
            found: ClusterStatistics = super().soft_pass(natural, bias, n_responsibilities)  # type: ignore[misc]
            return found
        statistics = self._linear.soft_pass(natural[:, : self._d], bias, n_responsibilities)
        return self._filled(statistics, float(self._sums[self._d :] @ quadratic))

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        quadratic = self._common(natural, bias)
        found = None if quadratic is None else self._linear.log_likelihood(natural[:, : self._d], bias)
        if found is None or quadratic is None:
            plain: tuple[float, float] = super().log_likelihood(natural, bias)  # type: ignore[misc]
            return plain
        return found[0] + float(self._sums[self._d :] @ quadratic), found[1]

    @property
    def _d(self) -> int:
        return int(self.rows.X.shape[1])

    def _common(self, natural: Array, bias: Array) -> Array | None:
        """The quadratic term of all active components; None where they differ, or where linear scores lose digits."""
        own = natural[np.isfinite(bias), self._d :]
        if len(own) == 0 or not np.array_equal(own, np.broadcast_to(own[:1], own.shape)):
            return None
        precise = score_error(self._largest, natural[:, : self._d], bias) <= SCORE_ERROR
        return own[0] if precise else None

    def _filled(self, statistics: ClusterStatistics, score: float) -> ClusterStatistics:
        """The statistics with shares of the products of columns."""
        counts, sums = statistics.counts, statistics.sums
        means = sums / np.maximum(counts, 1e-300)[:, None]
        at_means = counts[:, None] * self.rows.family.sufficient_statistic(means)[:, self._d :]
        within = self._sums[self._d :] - at_means.sum(axis=0)
        products = at_means + (counts / max(float(counts.sum()), 1e-300))[:, None] * within
        return ClusterStatistics(counts, np.concatenate([sums, products], axis=1), statistics.score + score)


class LinearEngine(_LinearPasses, DenseEngine):
    """Beside the dense engine."""

    name = "linear"


class LinearPanelsEngine(_LinearPasses, PanelsEngine):
    """Beside the panels engine, for many columns."""

    name = "linear"
