"""Which rows may gain by moving: bounds on the gains of all moves, without an estimate for any of them.

A family that knows how F* grows with one row more or less (`conjugate_growth`) bounds the gain of a move from the row's
fits to both clusters: one product for all pairs of a block of rows. Pairs whose bound is not positive need no more.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..problem.model import Values
from ..problem.problem import LearningProblem

EPSILON = float(np.finfo(float).eps)
# An estimate that misses its moment by more than this, in nats, stands on a floor: nothing bounds its gains.
ON_FLOOR = 1e-6
# A cluster that keeps less than this share of itself is estimated anew.
SMALLEST_REST = 1e-3


@dataclass(frozen=True)
class Screen:
    """Clusters as bounds on gains need them."""

    problem: LearningProblem
    counts: Array
    values: Values
    log_weights: Array | None
    """Prescribed ones, or None."""
    conjugate: Array
    """<eta, theta> - F(theta) of each cluster."""
    error_bound: Array
    """What rounding may do to a bound, for a row of weight one; infinite for clusters on a floor."""

    @classmethod
    def of(cls, problem: LearningProblem, counts: Array, values: Values, log_weights: Array | None) -> "Screen | None":
        """The screen of these clusters; None where the family bounds nothing."""
        family, natural, moments = problem.family, values.natural, values.moments
        if family.conjugate_growth(np.zeros(1), np.zeros(1)) is None:
            return None
        normalizer = family.log_normalizer(natural)
        # <eta - grad F(theta), theta> is zero but for rounding, unless theta stands on a floor.
        missed = np.abs(np.einsum("kd,kd->k", moments - family.moment_from_natural(natural), natural))
        magnitude = np.abs(natural) @ problem.largest_statistic + np.abs(normalizer)
        error_bound = 16 * EPSILON * magnitude + 4 * missed + counts * missed**2
        error_bound = np.where(missed <= ON_FLOOR, error_bound, np.inf)
        conjugate = np.einsum("kd,kd->k", natural, moments) - normalizer
        return cls(problem, counts, values, log_weights, conjugate, error_bound)

    def largest_gains(self, t: Array, labels: NDArray[np.intp], weights: Array, targets: NDArray[np.intp]) -> Array:
        """Upper bounds on what rows (m, D) with these labels gain by moving to targets, (m, targets).

        What rounding may hide counts as gain, also that of the clusters' values, as those who judge gains want it.
        """
        fits = t @ self.values.natural.T - (self.conjugate + self.problem.log_normalizer(self.values.natural))
        own = np.arange(len(t)), labels
        leaving = self._growth(fits[own], -weights, labels)
        joining = self._growth(fits[:, targets], weights[:, None], targets)
        return leaving[:, None] + joining

    def _growth(self, fit: Array, change: Array, components: NDArray[np.intp]) -> Array:
        """What components gain at most by `change` of their counts with rows of these fits."""
        counts, conjugate = self.counts[components], self.conjugate[components]
        before = counts + self.problem.prior_strength
        after = before + change
        rest = (after > SMALLEST_REST * np.abs(change)) & (counts + change > SMALLEST_REST * np.abs(change))
        with np.errstate(all="ignore"):
            growth = self.problem.family.conjugate_growth(fit, np.where(rest, change / after, 0.0))
            assert growth is not None  # the family has bounds
            gain = change * conjugate + after * growth + self._share_gain(counts, change, components)
            error = 3 * self.values.errors[components] + np.abs(change) * self.error_bound[components]
        return np.where(rest & np.isfinite(error) & ~np.isnan(gain), gain + error, np.inf)

    def _share_gain(self, counts: Array, change: Array, components: NDArray[np.intp]) -> Array:
        """What the weights of components gain by a change of their counts."""
        if self.log_weights is not None:
            return np.asarray(change * self.log_weights[components])
        total = self.problem.total
        return total * (_n_log_n((counts + change) / total) - _n_log_n(counts / total))


def _n_log_n(shares: Array) -> Array:
    return np.asarray(shares * np.log(np.maximum(shares, 1e-300)))
