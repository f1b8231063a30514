"""The boxes engine, for few statistics and many rows: components are ruled out for whole spans of rows.

A walk down a tree for every row costs more than trying all components. So rows are put in an order in which neighbours
are close (halves of halves, as in a k-d tree) and cut into spans of 64, 256, 1024... rows, whose boxes and sums are
kept. A component is tried in a span only if it may win somewhere in the boxes around it, against the best ones at the
center and at a few other places, and rows are examined only where more than one may. For the longest spans the
components are examined one by one, or through a tree over them.
"""

from collections.abc import Callable
from functools import partial
from weakref import ref

import numpy as np

from ..._kernels import PackedRows, Work
from ...data.table import Rows
from ...numerics.arrays import Array, Labels
from ...numerics.threads import for_each
from ..dense import DenseEngine
from ..partition import Compact, Partition
from ..statistics import ClusterStatistics
from ..trees.component_tree import TREES, survivors
from .kernel import BoxesRows, Candidates, GroupLabels, Level, spatial_order, spread_labels

# Where the names of the components to try in each span start, and the names.


# Ordering the rows costs a dozen dense passes of ten components: passes times components that surely pay for it.
ORDER_AT_ONCE = 120
# Before that it waits for this much, and longer while fewer than this share of a sample moves, as at the end of a fit.
ORDER_FROM_WORK = 10
FEW_MOVES, SAMPLED_ROWS = 0.01, 4096


class BoxesEngine:
    """Hard passes with few candidates a group; soft passes, where every component counts, by the dense kernel.

    One that `waits` makes dense passes until ordering the rows can be expected to pay; else they are ordered at once.
    """

    def __init__(self, rows: Rows, structure: str = "boxes", waits: bool = False) -> None:
        self._structure = structure
        self._rows = rows
        self._dense = DenseEngine(rows)
        self._ordered = None if waits else _Ordered(rows)
        self._hard_passes = 0
        self._sample: Rows | None = None
        self._sampled_labels: Labels | None = None

    @property
    def name(self) -> str:
        """What users call it: dense while it waits."""
        return "dense" if self._ordered is None else self._structure

    def hard_pass(self, natural: Array, bias: Array) -> tuple[Partition, ClusterStatistics]:
        """The rows by their highest scores and the statistics of the clusters."""
        self._hard_passes += 1
        if self._ordered is None:
            moves = self._share_that_moves(natural, bias)
            work = self._hard_passes * len(natural)
            if work < ORDER_FROM_WORK or (work < ORDER_AT_ONCE and moves < FEW_MOVES):
                return self._dense.hard_pass(natural, bias)
            self._dense, self._sample = DenseEngine(self._rows), None
            self._ordered = _Ordered(self._rows)
        return self._ordered.hard_pass(natural, bias, self._candidates(self._ordered.boxes.levels[0], natural, bias))

    def _share_that_moves(self, natural: Array, bias: Array) -> float:
        """The share of a sample of the rows that this pass gives another label than the one before.

        Without one before: that the pass after it will, as a step of the sample alone tells.
        """
        if self._sample is None:
            step = max(1, len(self._rows) // SAMPLED_ROWS)
            self._sample = self._rows.subset(np.arange(0, len(self._rows), step))
        before, labels = self._sampled_labels, _labels(self._sample, natural, bias)
        self._sampled_labels = labels
        return float(np.mean(labels != (_after_a_step(self._sample, labels, len(bias)) if before is None else before)))

    def _candidates(self, level: Level, natural: Array, bias: Array) -> Candidates | None:
        """The components to try in each of the longest spans, where a tree over the components finds them."""
        active = np.flatnonzero(np.isfinite(bias))
        if self._structure == "boxes" or len(active) == 0:
            return None
        theta, b = natural[active], bias[active]
        mean, scale = self._rows.mean_statistic, np.maximum(self._rows.largest_statistic, 1e-300)
        centers, halves = self._rows.statistic_boxes(level.centers, level.halves)
        magnitude = (np.abs(centers) + halves) @ np.abs(theta).max(axis=0) + np.abs(b).max()
        error_bound = 32 * np.finfo(float).eps * (self._rows.n_statistics + 4) * magnitude
        # Balls want coordinates of like size around zero: t is measured from its mean in units of its size.
        scaled, shifted = theta * scale, b + theta @ mean
        root = TREES[self._structure](scaled, shifted, np.arange(len(active)))
        possible = survivors(root, scaled, shifted, (centers - mean) / scale, halves / scale, error_bound)
        spans, places = np.nonzero(possible)
        starts = np.searchsorted(spans, np.arange(len(possible) + 1))
        return Candidates(starts.astype(np.int64), active[places].astype(np.int32))

    def log_likelihood(self, natural: Array, bias: Array) -> tuple[float, float]:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities."""
        return self.packed.log_likelihood(natural, bias)

    def soft_pass(self, natural: Array, bias: Array, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Statistics by responsibility."""
        if self._ordered is None:
            # A soft fit ends with one hard pass, which alone is not worth it.
            self._hard_passes = -1
        return ClusterStatistics(*self.packed.soft_pass(natural, bias, n_responsibilities))

    @property
    def packed(self) -> PackedRows:
        """The rows in the order soft passes have them."""
        return self._rows.packed if self._ordered is None else self._ordered.packed


def _labels(rows: Rows, natural: Array, bias: Array) -> Labels:
    labels = np.empty(len(rows), dtype=np.int32)
    rows.packed.label_rows(natural, bias, labels)
    return labels


def _after_a_step(rows: Rows, labels: Labels, n_components: int) -> Labels:
    """The labels of rows with the components that fit their labels, each with one row more in the middle of all."""
    counts, sums = rows.packed.label_sums(labels, n_components)
    moments = (sums + rows.mean_statistic) / (counts + 1)[:, np.newaxis]
    natural = rows.family.natural_from_moment(moments)
    with np.errstate(divide="ignore"):
        bias = np.log(counts / len(rows)) - rows.family.log_normalizer(natural)
    return _labels(rows, natural, bias)


class _Ordered:
    """The rows in their order, and their latest labels."""

    def __init__(self, rows: Rows) -> None:
        self._n_threads, self._meter = rows.n_threads, rows.meter
        rows.release_packed()
        table, features = rows.kernel_table()
        self._places = spatial_order(table, rows.n_threads)
        weights = None if rows.weights is None else rows.weights[self._places]
        self.packed = PackedRows(
            len(rows), table.shape[1], features, weights, rows.precision, rows.n_threads, rows.meter
        )
        for_each(lambda block: self.packed.load(block.start, table[block]), rows.line_blocks(), rows.n_threads)
        self.boxes = BoxesRows(self.packed)
        weight, *sums = self.boxes.levels[0].totals.sum(axis=0)
        rows.summary = np.array(sums) / weight, self.packed.largest()
        self._partition: Compact | None = None
        self._groups: GroupLabels | None = None
        """Its labels, by groups of rows."""
        self._spares: list[tuple[Callable[[], Compact | None], GroupLabels]] = []

    def hard_pass(
        self, natural: Array, bias: Array, candidates: Candidates | None
    ) -> tuple[Compact, ClusterStatistics]:
        before, after = self._partition, self._room()
        changed, counts, sums = self.boxes.hard_pass(natural, bias, self._groups, after, candidates)
        self._meter.add(Work(passes=1))
        if changed or before is None:
            self._groups = after
            self._partition = Compact(
                lambda: (after.owners, after.mixed_rows()),
                partial(spread_labels, after, self._places, self._n_threads),
                self._places,
                None if before is None else ref(before),
            )
            self._spares[-1] = ref(self._partition), after
        assert self._partition is not None
        return self._partition, ClusterStatistics(counts, sums, 0.0)

    def _room(self) -> GroupLabels:
        """Room for labels, from a partition that no one holds any more if there is one; the last of the spares."""
        for place, (partition, labels) in enumerate(self._spares):
            if partition() is None:
                self._spares.append(self._spares.pop(place))
                return labels
        self._spares.append((_no_one, GroupLabels.empty(len(self._places))))
        return self._spares[-1][1]


def _no_one() -> None:
    """In place of a reference to a partition, where there is none."""
