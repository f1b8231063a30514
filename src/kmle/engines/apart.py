"""Rows apart: the few with statistics so large that packed scores round too much, and the others.

One extreme value spoils a bound over all rows. Where the family has no scores by differences to means, its own
densities score the rows apart, and the kernels all others, by differences of statistics to those of one row.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data.differences import Differences
from ..data.table import Rows
from ..families.support import without_outside
from ..numerics.arrays import Array, Labels
from .dense import DenseEngine
from .direct import ROWS_A_BLOCK, DirectEngine, own_fits
from .partition import Labelled, Partition
from .precision import SCORE_ERROR, score_errors
from .statistics import ClusterStatistics

# The errors of the rows kept are this many times smaller than they may be, so that the same rows serve many passes.
RESERVE = 4.0
# With a larger share of the rows apart, two tables cost more than they save.
LARGEST_SHARE = 0.25
# A component this many nats below another one has a responsibility that a double cannot tell from zero.
NO_SHARE = 50.0
# How many rows tell what sizes of statistics are typical.
TYPICAL_ROWS = 2048


class ApartEngine:
    """The dense engine's passes, with scores good to SCORE_ERROR for families without scores by differences to means.

    Components that are narrow for their distance from the center leave too many rows apart: then the family's own
    densities score all rows.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._split: Split | None = None

    def hard_pass(self, natural: Array, log_weights: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        bias = self._rows.bias(natural, log_weights)
        if self._is_good(natural, bias):
            partition, statistics = self._dense.hard_pass(natural, bias)
            return partition, self._restored(statistics)
        found = self._split_for(natural, bias)
        if found is None:
            return DirectEngine(self.rows).hard_pass(natural, log_weights)
        split, seen = found
        kept, statistics = split.kept_engine.hard_pass(natural, seen)
        apart, others = split.apart_engine.hard_pass(natural, log_weights)
        return Labelled(split.join(kept.labels, apart.labels)), self._restored(statistics) + others

    def soft_pass(self, natural: Array, log_weights: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility; their score is the sum of log sum_j exp(score_j) over the components kept."""
        bias = self._rows.bias(natural, log_weights)
        if self._is_good(natural, bias):
            return self._restored(self._dense.soft_pass(natural, bias, n_responsibilities))
        found = self._split_for(natural, bias)
        if found is None:
            return DirectEngine(self.rows).soft_pass(natural, log_weights, n_responsibilities)
        split, seen = found
        kept = self._restored(split.kept_engine.soft_pass(natural, seen, n_responsibilities))
        return kept + split.apart_engine.soft_pass(natural, log_weights, n_responsibilities)

    def log_likelihood(self, natural: Array, log_weights: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        bias = self._rows.bias(natural, log_weights)
        if self._is_good(natural, bias):
            return self._dense.log_likelihood(natural, bias)
        found = self._split_for(natural, bias)
        if found is None:
            return DirectEngine(self.rows).log_likelihood(natural, log_weights)
        split, seen = found
        kept = split.kept_engine.log_likelihood(natural, seen)
        apart = split.apart_engine.log_likelihood(natural, log_weights)
        return kept[0] + apart[0], kept[1] + apart[1]

    def fits(self, natural: Array, labels: Labels) -> Array:
        """The weighted sum of log p(x) - k(x) over the rows of each component (k,)."""
        occupied = np.bincount(labels, minlength=len(natural)) > 0
        bias = self._rows.bias(natural, np.where(occupied, 0.0, -np.inf))
        if self._is_good(natural, bias):
            counts, sums = self._rows.packed.label_sums(labels, len(natural))
            return _added_up(natural, bias, counts, sums)
        found = self._split_for(natural, bias)
        if found is None:
            return own_fits(self.rows, natural, labels)
        split, seen = found
        # Rows of components whose packed scores are no good are few among those kept, or none.
        doubtful = ~np.isfinite(seen)[labels[split.kept_places]]
        fits = own_fits(split.apart, natural, labels[split.apart_places])
        if doubtful.any():
            places = split.kept_places[doubtful]
            fits += own_fits(self.rows.subset(places), natural, labels[places])
        counts, sums = split.kept.packed.label_sums(labels[split.kept_places], len(natural))
        return fits + _added_up(natural, seen, counts, sums)

    @cached_property
    def _rows(self) -> Differences:
        """The rows as the kernels score them."""
        return Differences.of(self.rows)

    @cached_property
    def _dense(self) -> DenseEngine:
        return DenseEngine(self._rows)

    def _is_good(self, natural: Array, bias: Array) -> bool:
        """Whether packed scores of all rows are good."""
        return bool(score_errors(self._rows.largest_statistic, natural, bias).max(initial=0.0) <= SCORE_ERROR)

    def _restored(self, statistics: ClusterStatistics) -> ClusterStatistics:
        """Sums of t(x) from sums of differences."""
        sums = statistics.sums + statistics.counts[:, None] * self._rows.statistic
        return replace(statistics, sums=sums)

    def _split_for(self, natural: Array, bias: Array) -> "tuple[Split, Array] | None":
        """The last split where it serves again, or a new one, and the bias of the components that rows kept may have.

        None where too many rows would be apart.
        """
        for split in (self._split, None):
            split = split_rows(self.rows, self._rows, natural, bias) if split is None else split
            seen = None if split is None else split.seen_bias(natural, bias)
            if split is not None and seen is not None:
                self._split = split
                return split, seen
        return None


def _added_up(natural: Array, bias: Array, counts: Array, sums: Array) -> Array:
    """The scores of rows that add up to these, with the component that has them; zero where there is no bias."""
    fits, good = np.zeros(len(natural)), np.isfinite(bias) & (counts > 0)
    fits[good] = np.einsum("kd,kd->k", sums[good], natural[good]) + counts[good] * bias[good]
    return fits


@dataclass(frozen=True)
class Split:
    """Rows in two parts, and the places of each among all. The differences of the rows kept lie in the box."""

    kept: Differences
    kept_places: NDArray[np.intp]
    apart: Rows
    apart_places: NDArray[np.intp]
    lowest: Array
    highest: Array

    @cached_property
    def kept_engine(self) -> DenseEngine:
        return DenseEngine(self.kept)

    @cached_property
    def apart_engine(self) -> DirectEngine:
        return DirectEngine(self.apart)

    def join(self, kept: Labels, apart: Labels) -> Labels:
        """Labels of all rows from those of both parts."""
        labels = np.empty(len(self.kept_places) + len(self.apart_places), dtype=np.int32)
        labels[self.kept_places], labels[self.apart_places] = kept, apart
        return labels

    def seen_bias(self, natural: Array, bias: Array) -> Array | None:
        """The bias with minus infinity for components whose packed scores are no good but that no row kept belongs to.

        None where a component has neither good scores nor none of the rows.
        """
        errors = score_errors(np.maximum(np.abs(self.lowest), np.abs(self.highest)), natural, bias)
        good, active = errors <= SCORE_ERROR, np.isfinite(bias)
        bad = np.flatnonzero(active & ~good)
        if len(bad) == 0:
            return bias
        others = np.flatnonzero(active & good)
        middle, half = 0.5 * (self.lowest + self.highest), 0.5 * (self.highest - self.lowest)
        with np.errstate(all="ignore"):
            slopes = natural[bad, None] - natural[others]
            most = slopes @ middle + np.abs(slopes) @ half + bias[bad, None] - bias[others] + 4 * errors[bad, None]
        if len(others) == 0 or not (most < -NO_SHARE).any(axis=1).all():
            return None
        return np.where(good, bias, -np.inf)


def split_rows(given: Rows, rows: Differences, natural: Array, bias: Array) -> Split | None:
    """Rows split so that packed scores of most are good for these components; None where those of too many are not."""
    room = _room(rows, natural, bias)
    if room is None:
        return None
    apart = np.zeros(len(rows), dtype=bool)
    lowest, highest = np.full(rows.n_statistics, np.inf), np.full(rows.n_statistics, -np.inf)
    for start in range(0, len(rows), ROWS_A_BLOCK):
        block = slice(start, min(start + ROWS_A_BLOCK, len(rows)))
        t = rows.take(block)
        apart[block] = (without_outside(np.abs(t)) > room).any(axis=1)
        inner = t[~apart[block]]
        lowest = np.minimum(lowest, inner.min(axis=0, initial=np.inf))
        highest = np.maximum(highest, inner.max(axis=0, initial=-np.inf))
    if np.count_nonzero(apart) > LARGEST_SHARE * len(rows):
        return None
    kept_places, apart_places = np.flatnonzero(~apart), np.flatnonzero(apart)
    kept = rows.subset(kept_places) if len(apart_places) else rows
    return Split(kept, kept_places, given.subset(apart_places), apart_places, lowest, highest)


def _room(rows: Rows, natural: Array, bias: Array) -> Array | None:
    """How large each statistic (D,) may be for good scores of the components that have good ones of typical rows."""
    typical = np.median(np.abs(rows.take(slice(None, None, -(-len(rows) // TYPICAL_ROWS)))), axis=0)
    most = SCORE_ERROR / RESERVE
    good = np.isfinite(bias) & (score_errors(typical, natural, bias) <= most)
    if not good.any():
        return None
    # Each statistic may take an equal share of the error that is left beside the bias.
    left = (most / np.finfo(float).eps - np.abs(bias[good])) / natural.shape[1]
    with np.errstate(divide="ignore"):
        return np.asarray((left[:, None] / np.abs(natural[good])).min(axis=0))
