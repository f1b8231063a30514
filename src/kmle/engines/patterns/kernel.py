"""Rows with missing entries by pattern, packed for the compiled passes of Gaussians."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._kernels import Meter, RowScores, Work
from ...numerics.arrays import Array, Labels


@dataclass(frozen=True)
class Expected:
    """What rows are expected to add up to: counts (k,), sums (k, d) of rows less the means, and of products (k, d, d).

    Beside them are the sums of log p over the rows of each component (k,) after a hard pass, or the scores of the
    mixtures (m,) after a soft one.
    """

    counts: Array
    delta: Array
    scatter: Array
    values: Array

    @classmethod
    def zeros(cls, mean: Array, n_values: int) -> "Expected":
        """Nothing yet, for components with these means (k, d)."""
        k, d = mean.shape
        return cls(np.zeros(k), np.zeros((k, d)), np.zeros((k, d, d)), np.zeros(n_values))


class PackedPatterns:
    """Rows (n, d) one pattern after the other, with any finite value where entries are missing.

    Rows of pattern p are those from ends[p - 1] to ends[p], and lack the columns holes[p].
    """

    def __init__(
        self,
        module: Any,
        ends: NDArray[np.int64],
        holes: NDArray[np.bool_],
        weights: Array | None,
        n_threads: int,
        meter: Meter,
    ) -> None:
        self._module, self._meter, self._holes, self._ends = module, meter, holes, ends
        given = None if weights is None else np.ascontiguousarray(weights, dtype=float)
        self._native = module.PatternRows(holes.shape[1], ends, holes.astype(np.uint8), given, n_threads)
        self._counted = (0, 0)

    def load(self, first: int, rows: Array) -> None:
        """Takes rows (m, d) as those from `first` on."""
        places = np.searchsorted(self._ends, np.arange(first, first + len(rows)), side="right")
        self._native.load(first, np.where(self._holes[places], 0.0, rows))

    def soft_passes(self, gaussians: Any, mean: Array, n_mixtures: int, kept: int) -> Expected:
        """What rows add up to by responsibility."""
        found = Expected.zeros(mean, n_mixtures)
        self._native.soft_passes(gaussians, n_mixtures, kept, self._given(found), found.values)
        self._count(n_mixtures)
        return found

    def hard_pass(self, gaussians: Any, mean: Array, labels: Labels) -> Expected:
        """Writes the best component of each row (n,); what rows add up to by them."""
        found = Expected.zeros(mean, len(mean))
        self._native.hard_pass(gaussians, labels, self._given(found), found.values)
        self._count()
        return found

    def fits(self, gaussians: Any, k: int, labels: Labels) -> Array:
        """The sums of log p over the rows of each component (k,)."""
        fits = np.zeros(k)
        self._native.fits(gaussians, labels, fits)
        self._count()
        return fits

    def log_likelihood(self, gaussians: Any) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        score, entropy = self._native.log_likelihood(gaussians)
        self._count()
        return float(score), float(entropy)

    def row_scores(self, gaussians: Any, out: RowScores) -> None:
        """Fills in what is wanted of each row."""
        self._native.row_scores(gaussians, out.compiled(self._module))
        self._count()

    def gaussians(self, mean: Array, covariance: Array, log_weights: Array) -> Any:
        """Components as the passes take them."""
        return self._module.Gaussians(*(np.ascontiguousarray(own) for own in (mean, covariance, log_weights)))

    def _given(self, found: Expected) -> Any:
        return self._module.Expected(found.counts, found.delta, found.scatter)

    def _count(self, passes: int = 1) -> None:
        scored, rescored = self._native.work()
        before, self._counted = self._counted, (scored, rescored)
        self._meter.add(Work(passes, scored - before[0], rescored - before[1]))
