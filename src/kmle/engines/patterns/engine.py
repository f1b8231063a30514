"""The patterns engine: rows with missing entries, in parts by what they lack.

Its statistics are expectations given the components of the pass, so they do not tell what other components are worth:
problems ask `fits` for that.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from ..._kernels import RowScores
from ..._kernels.backend import compiled_module
from ...data.holes import unique_patterns
from ...data.table import Rows
from ...numerics.arrays import Array, Labels
from ..partition import Labelled, Partition, noted
from ..statistics import ClusterStatistics
from .components import Components, Sums
from .parts import CompleteRows, Part, PartialRows, PatternRows

# Rows of a block of the kernels. Patterns are packed as long as these blocks have room for no more rows than MOST_ROOM
# times those with missing entries, and ROOM_FOR_ALL.
PACKED_ROWS, MOST_ROOM, ROOM_FOR_ALL = 32, 1.5, 2048
# Components that several mixtures have together, at most, in one pass.
COMPONENTS_AT_ONCE = 64


class PatternsEngine:
    """Passes over the parts of rows with missing entries."""

    name = "patterns"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.parts = parts_of(rows)

    def _components(self, natural: Array, bias: Array, n_mixtures: int = 1) -> Components:
        with np.errstate(invalid="ignore"):
            log_weights = np.where(np.isfinite(bias), bias + self.rows.family.log_normalizer(natural), -np.inf)
        return Components(self.rows.family, natural, log_weights, n_mixtures)

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the expected statistics of the clusters."""
        components = self._components(natural, bias)
        labels: Labels = np.empty(len(self.rows), dtype=np.int32)
        total = Sums(np.zeros(len(natural)), np.zeros(natural.shape), np.zeros(1))
        fits = np.zeros(len(natural))
        for part in self.parts:
            labels[part.places], sums, own = part.hard(components)
            total, fits = total + sums, fits + own
        partition = FittedLabels(noted(labels, len(natural)), natural=natural, fits=fits)
        return partition, ClusterStatistics(total.counts, total.statistics, 0.0)

    def soft_pass(self, natural: Array, bias: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Expected statistics by responsibility; their score is the sum of log sum_j exp(score_j)."""
        return next(self.soft_passes(natural[None], bias[None], n_responsibilities))

    def soft_passes(self, natural: Array, bias: Array, n_responsibilities: int | None) -> Iterator[ClusterStatistics]:
        """The passes of several mixtures (m, k, D), some of them at a time."""
        k = bias.shape[1]
        size = max(1, COMPONENTS_AT_ONCE // k)
        for start in range(0, len(bias), size):
            some = slice(start, start + size)
            usable = np.asarray(np.isfinite(bias[some]).any(axis=1))
            found = iter(self._passes(natural[some][usable], bias[some][usable], n_responsibilities))
            for is_usable in usable.tolist():
                yield next(found) if is_usable else ClusterStatistics(np.zeros(k), np.zeros(natural.shape[1:]), -np.inf)

    def _passes(self, natural: Array, bias: Array, n_responsibilities: int | None) -> list[ClusterStatistics]:
        """The passes of several mixtures (m, k, D) with active components."""
        m, k, n_statistics = natural.shape
        if m == 0:
            return []
        components = self._components(natural.reshape(m * k, n_statistics), bias.reshape(-1), m)
        total = reduce(add, (part.soft(components, n_responsibilities) for part in self.parts))
        counts, sums = total.counts.reshape(m, k), total.statistics.reshape(natural.shape)
        return [ClusterStatistics(counts[i], sums[i], float(total.scores[i])) for i in range(m)]

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        components = self._components(natural, bias)
        found = np.array([part.log_likelihood(components) for part in self.parts]).sum(axis=0)
        return float(found[0]), float(found[1])

    def fits(self, natural: Array, partition: Partition) -> Array:
        """The sum of log p(x) over the rows of each component (k,), k(x) of complete rows left out."""
        if isinstance(partition, FittedLabels) and np.array_equal(partition.natural, natural):
            return partition.fits
        labels = partition.labels
        occupied = np.flatnonzero(np.bincount(labels, minlength=len(natural)))
        place = np.zeros(len(natural), dtype=np.int32)
        place[occupied] = np.arange(len(occupied), dtype=np.int32)
        components = Components(self.rows.family, natural[occupied], np.zeros(len(occupied)))
        fits = np.zeros(len(natural))
        for part in self.parts:
            fits[occupied] += part.fits(components, place[labels[part.places]])
        return fits

    def scores(self, natural: Array, bias: Array) -> Array:
        """log w_j + log p_j(x) of every row and component (n, k), k(x) of complete rows left out."""
        components = self._components(natural, bias)
        scores = np.empty((len(self.rows), len(natural)))
        for part in self.parts:
            out = RowScores.wanting(["scores"], len(part.places), len(natural))
            part.put_scores(components, out)
            assert out.scores is not None  # they were asked for
            scores[part.places] = out.scores
        return scores


@dataclass(frozen=True, eq=False)
class FittedLabels(Labelled):
    """Labels with what the pass that found them says of its components."""

    natural: Array = field(default_factory=lambda: np.zeros((0, 0)))
    """The natural parameters (k, D) of that pass."""
    fits: Array = field(default_factory=lambda: np.zeros(0))
    """The sum of log p(x) over the rows of each component (k,)."""


def parts_of(rows: Rows) -> list[Part]:
    """The parts of rows: complete ones, those of frequent patterns of a Gaussian, and the others."""
    hole = np.isnan(rows.X)
    patterns, pattern = unique_patterns(hole)
    order = np.argsort(pattern, kind="stable")
    ends = np.searchsorted(pattern[order], np.arange(len(patterns) + 1))
    groups = [order[first:last] for first, last in itertools.pairwise(ends)]
    units = rows.family.units()
    packs = len(units) == 1 and units[0].family.is_gaussian and compiled_module() is not None
    whole, empty = ~patterns.any(axis=1), patterns.all(axis=1)
    sizes = np.where(whole | empty, 0, np.diff(ends))
    frequent = frequent_patterns(sizes) if packs else np.zeros(0, dtype=np.intp)
    others = np.setdiff1d(np.flatnonzero(~whole), frequent)
    parts: list[Part] = [CompleteRows(rows, groups[number]) for number in np.flatnonzero(whole)]
    if len(frequent):
        parts.append(PatternRows(rows, units[0], [groups[number] for number in frequent], patterns[frequent]))
    if len(others):
        parts.append(PartialRows(rows, np.concatenate([groups[number] for number in others])))
    return parts


def frequent_patterns(sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """The patterns that are worth being packed, most rows first, by how many rows they have (p,).

    Blocks of rows are of one pattern, so patterns of few rows take room for more.
    """
    order = np.argsort(-sizes, kind="stable")
    room = np.cumsum(-(-sizes[order] // PACKED_ROWS) * PACKED_ROWS)
    return order[(sizes[order] > 0) & (room <= MOST_ROOM * sizes.sum() + ROOM_FOR_ALL)]
