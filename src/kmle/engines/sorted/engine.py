"""The sorted engine: one column put in order once, so that cells are intervals and a pass hardly depends on n.

Its order is that of buckets of values; a bucket is sorted when a pass first asks for that, and few ever are.

This is the explicit cell diagram of the paper's section on proximity structures, for univariate data.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..._kernels import PackedRows, Work, locate
from ...data.distinct import count_distinct
from ...data.line import BLOCK_ROWS, first_places, multiplicities
from ...data.table import Rows
from ...numerics.arrays import Array, Labels
from ...numerics.threads import for_each
from ..dense import DenseEngine
from ..partition import Compact, Partition
from ..statistics import ClusterStatistics
from .kernel import Buckets, SortedRows

# Values that repeat are merged where at most this share of the line is left: the weights they then have take memory.
MERGED_SHARE = 0.25
# A sample of this many times the square root of the number of rows shows whether values repeat.
SAMPLED_ROOTS = 4
# This many buckets show roughly how often values repeat.
SAMPLED_BUCKETS = 4


def repeats(rows: Rows) -> bool:
    """Whether values along a line repeat so often that most are merged, as far as a sample tells.

    Of m rows m^2 / 2v pairs are equal where there are v values of equal weight: at least half as many are asked for.
    """
    n = len(rows)
    drawn = np.unique(np.random.default_rng(0).integers(n, size=min(n, int(SAMPLED_ROOTS * np.sqrt(n)))))
    equal = len(drawn) - count_distinct(rows.X[drawn, 0])
    return equal >= len(drawn) ** 2 / (4 * MERGED_SHARE * n)


class SortedEngine:
    """Hard passes by bisection; soft passes, which need every distinct value, by the dense kernel."""

    name = "sorted"

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._line, self.packed, starts = self._ordered_line()
        self._sorted = SortedRows(self.packed, self._line, starts)
        alone = self._sorted.hard_pass(np.zeros((1, rows.n_statistics)), np.zeros(1))
        assert alone is not None  # one component has no rival
        rows.summary = alone[3][0] / alone[2][0], self.packed.largest()
        self._dense: DenseEngine | None = None

    def _ordered_line(self) -> tuple[Array, PackedRows, NDArray[np.intp]]:
        """The line in buckets, in the kernels' layout too (where they hold it, if that is all they hold), and the
        buckets.
        """
        probe = self.rows.along_line(slice(0, 1))[:, None]
        columns, features = self._kernel_columns(probe)
        packed: PackedRows | None = None
        if columns is probe and self.rows.weights is None:
            packed = PackedRows(len(self.rows), 1, features, n_threads=self.rows.n_threads, meter=self.rows.meter)
        line = np.empty(len(self.rows)) if packed is None else packed.column()
        weights, starts = self._in_buckets(line)
        merged = _merged(line, weights, starts)
        if merged is not None:
            (line, weights, starts), packed = merged, None
        if packed is None:
            packed = self._packed_line(line, weights)
        else:
            packed.measure()
        return line, packed, starts

    def _in_buckets(self, line: Array) -> tuple[Array | None, NDArray[np.intp]]:
        """Fills the line; returns the weights in its order, and where buckets begin."""
        rows, n_threads = self.rows, self.rows.n_threads
        drawn = np.random.default_rng(0).integers(len(rows), size=Buckets.sample_size(len(rows)))
        buckets = Buckets(rows.along_line(drawn), len(rows), BLOCK_ROWS)
        weights = None if rows.weights is None else np.empty(len(rows))

        def block(start: int) -> slice:
            return slice(start, start + BLOCK_ROWS)

        starts = range(0, len(rows), BLOCK_ROWS)
        for_each(lambda start: buckets.count(start, rows.along_line(block(start))), starts, n_threads)
        buckets.lay_out()
        for_each(
            lambda start: buckets.place(
                start, rows.along_line(block(start)), line, rows.weights_of(block(start)), weights
            ),
            starts,
            n_threads,
        )
        return weights, buckets.finish(line, weights, n_threads)

    def _kernel_columns(self, line: Array) -> tuple[Array, str]:
        """What the kernels pack of values (m, 1) of the line, which is that of t(x) if that is a number, else of x."""
        return (line, "identity") if self.rows.n_statistics == 1 else self.rows.family.kernel_columns(line)

    def _packed_line(self, line: Array, weights: Array | None) -> PackedRows:
        first, features = self._kernel_columns(line[:1, None])
        packed = PackedRows(
            len(line), first.shape[1], features, weights, n_threads=self.rows.n_threads, meter=self.rows.meter
        )

        def load(start: int) -> None:
            packed.load(start, self._kernel_columns(line[start : start + BLOCK_ROWS, None])[0])

        for_each(load, range(0, len(line), BLOCK_ROWS), self.rows.n_threads)
        return packed

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        cells = self._sorted.hard_pass(natural, bias)
        self.rows.meter.add(Work(passes=1))
        if cells is None:
            self._dense = self._dense or DenseEngine(self.rows)
            return self._dense.hard_pass(natural, bias)
        cuts, owners, counts, sums = cells
        # The cells say all: no label need be written out to compare or to hash them.
        write = partial(self._labels, self._line, cuts, owners)
        return Compact(lambda: (cuts, owners), write, self._line), ClusterStatistics(counts, sums, 0.0)

    def _labels(self, line: Array, cuts: NDArray[np.intp], owners: Labels) -> Labels:
        """The labels of cells of a line: `cuts` are the places on it where the owner changes (first 0, last n)."""
        # Equal values share a cell, so the first value of each cell tells its rows from those before.
        firsts = line[cuts[1:-1]]
        labels = np.empty(len(self.rows), dtype=np.int32)

        def fill(block: slice) -> None:
            labels[block] = locate(self.rows.along_line(block), firsts, owners)

        for_each(fill, self.rows.line_blocks(), self.rows.n_threads)
        return labels

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        return self.packed.log_likelihood(natural, bias)

    def soft_pass(self, natural: Array, bias: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        return ClusterStatistics(*self.packed.soft_pass(natural, bias, n_responsibilities))


def _merged(
    line: Array, weights: Array | None, starts: NDArray[np.intp]
) -> tuple[Array, Array, NDArray[np.intp]] | None:
    """A line whose values mostly repeat: each but once, sorted, with the weight of all its copies; else None."""
    buckets = np.linspace(0, len(starts) - 2, min(SAMPLED_BUCKETS, len(starts) - 1)).astype(np.intp)
    sampled = sum(starts[bucket + 1] - starts[bucket] for bucket in buckets)
    distinct = sum(count_distinct(line[starts[bucket] : starts[bucket + 1]]) for bucket in buckets)
    if distinct > 2 * MERGED_SHARE * sampled:
        return None
    # Sorted altogether it lies in the same buckets, whatever follows.
    if weights is None:
        line.sort()
    else:
        order = np.argsort(line, kind="stable")
        line[:], weights[:] = line[order], weights[order]
    first = first_places(line, most=MERGED_SHARE * len(line))
    if first is None:
        return None
    weight = multiplicities(first, len(line)) if weights is None else np.add.reduceat(weights, first)
    return line[first], weight, Buckets.of_sorted(len(first))
