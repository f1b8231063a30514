"""The data as the learners see it: legal rows, their weights, and their statistics, packed for the kernels."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary, Meter, PackedRows, has_missing, squares, summarize_columns
from ..families import ExponentialFamily
from ..families.incomplete import Incomplete
from ..numerics.arrays import Array, Labels
from ..numerics.threads import for_each
from .centering import all_single, blocks_of, center_of, centered_exactly
from .holes import filled, stand_in_row, statistics_of_entries

# Where statistics are needed as an array, they are built in blocks of rows of about this many bytes: small enough that
# the memory of one block serves the next.
BLOCK_BYTES = 1 << 19
# Blocks of rows are whole blocks of the kernels, so that threads may pack them side by side.
KERNEL_ROWS = 64
# From this many statistics on, sums are computed by a matrix product: the kernels would hold them all for a block.
MANY_STATISTICS = 512


class Rows:
    """Rows of one family centered. Holds a reference to X and, once a pass asks, one packed copy.

    `single` says whether single precision holds what the kernels see of X; None finds out. The `meter` counts the work
    of all passes over them. `summary` is that of the columns of X, where it is known.
    """

    def __init__(
        self,
        family: ExponentialFamily,
        X: Array,
        weights: Array | None = None,
        center: Array | None = None,
        n_threads: int = 1,
        single: bool | None = None,
        meter: Meter | None = None,
        summary: ColumnSummary | None = None,
    ) -> None:
        self.meter = Meter() if meter is None else meter
        self.family = family
        self.X = X
        self.weights = weights
        self.n_threads = n_threads
        self.center = center_of(family, X, weights, summary) if center is None else center
        self._single = single
        self._column_summary = summary
        self.n_statistics = family.n_statistics_for(X.shape[1])
        # What to take off the columns of X to have those of the kernels; None: that is not all.
        self._shift: Array | None = None
        if self.by_pattern:
            self._single = False
        elif self.center is not None:
            self._shift = family.kernel_shift(self.center)
        elif _are_kernel_columns(family, X[:1]):
            self._shift = np.zeros(X.shape[1])

    def __len__(self) -> int:
        return len(self.X)

    def __getstate__(self) -> dict[str, Any]:
        # Packed rows belong to this process; they are packed again when asked for.
        return {name: value for name, value in self.__dict__.items() if name != "packed"}

    @property
    def total(self) -> float:
        """The number of rows, or the sum of their weights."""
        return float(len(self.X) if self.weights is None else self.weights.sum())

    def _slices(self, width: int, multiple: int = 1) -> Iterator[slice]:
        return slices_of(len(self.X), width, multiple)

    @property
    def _blocks(self) -> Iterator[slice]:
        return self._slices(self.X.shape[1])

    def centered_rows(self, rows: slice | NDArray[np.integer[Any]]) -> Array:
        """Rows of X as the family measures them, in float64."""
        block = self.stood_in(rows)
        return block if self.center is None else self.family.centered_rows(block, self.center)

    @cached_property
    def by_pattern(self) -> bool:
        """Whether entries are missing that others of the same unit predict, so that patterns of rows matter."""
        return not isinstance(self.family, Incomplete) and self.has_holes

    @cached_property
    def _stand_in(self) -> Array:
        """A legal row (d,): the center, or the mean of each column where that is legal."""
        return stand_in_row(self.family, self.X, self.weights, self.center)

    def stood_in(self, rows: slice | NDArray[np.integer[Any]]) -> Array:
        """Rows of X in float64; missing entries that patterns take care of have legal values."""
        block = self.X[rows].astype(float, copy=False)
        return np.where(np.isnan(block), self._stand_in, block) if self.by_pattern else block

    @cached_property
    def packed(self) -> PackedRows:
        """The rows in the kernels' layout, packed block by block, so that no further copy is held on the way."""
        return self._pack()

    @cached_property
    def precision(self) -> np.dtype[Any]:
        """That of packed rows: single where it holds what the kernels see of every row without rounding."""
        single, shift = self._single, self._shift
        if single is None and shift is None:
            slices = self._slices(self.X.shape[1], KERNEL_ROWS)
            single = all_single(self.family.kernel_columns(self.centered_rows(rows))[0] for rows in slices)
        elif single is None and shift is not None:
            single = all_single(blocks_of(self.X))
            if single and shift.any():
                summary = self._column_summary or summarize_columns(self.X, self.n_threads)
                single = centered_exactly(shift, summary.lowest, summary.highest)
        return np.dtype(np.float32 if single else np.float64)

    def packed_in_order(self, places: NDArray[np.int32], packed: PackedRows | None = None) -> PackedRows:
        """The same in another order: `places` (n,) says which row comes at each place.

        Packed rows that nobody needs any more may be given where `repacks` says so: their memory then serves again.
        """
        return self._pack(places, packed)

    @property
    def repacks(self) -> bool:
        """Whether rows can be packed into the place of others."""
        return self._shift is not None and self.weights is None

    def _pack(self, places: NDArray[np.int32] | None = None, packed: PackedRows | None = None) -> PackedRows:
        if packed is None:
            first, features = self.family.kernel_columns(self.centered_rows(slice(0, 1)))
            weights = self.weights if self.weights is None or places is None else self.weights[places]
            packed = PackedRows(
                len(self.X), first.shape[1], features, weights, self.precision, self.n_threads, self.meter
            )
        if self._shift is not None:
            packed.load_shifted(self.X, self._shift, places)
            return packed

        def load(rows: slice) -> None:
            packed.load(rows.start, self.kernel_columns(rows if places is None else places[rows])[0])

        for_each(load, self._slices(self.X.shape[1], KERNEL_ROWS), self.n_threads)
        return packed

    def packed_part(self, places: NDArray[np.intp]) -> PackedRows:
        """Chosen rows in the kernels' layout; no further copy of them is held on the way."""
        if len(places) == len(self):
            return self.packed
        first, features = self.family.kernel_columns(self.centered_rows(places[:1]))
        weights = None if self.weights is None else self.weights[places]
        packed = PackedRows(len(places), first.shape[1], features, weights, self.precision, self.n_threads, self.meter)
        slices = list(slices_of(len(places), self.X.shape[1], KERNEL_ROWS))
        for_each(lambda own: packed.load(own.start, self.kernel_columns(places[own])[0]), slices, self.n_threads)
        return packed

    def kernel_columns(self, rows: slice | NDArray[np.integer[Any]]) -> tuple[Array, str]:
        """The columns the kernels want of a block, in their precision, and how t(x) follows from them."""
        columns, features = self.family.kernel_columns(self.centered_rows(rows))
        return columns.astype(self.precision, copy=False), features

    def kernel_table(self) -> tuple[Array, str]:
        """The kernels' columns of all rows (n, columns), a copy, and how t(x) follows from them."""
        first, features = self.kernel_columns(slice(0, 1))
        table = np.empty((len(self.X), first.shape[1]), dtype=self.precision)

        def fill(rows: slice) -> None:
            table[rows] = self.kernel_columns(rows)[0]

        for_each(fill, self._slices(self.X.shape[1]), self.n_threads)
        return table, features

    def release_packed(self) -> PackedRows | None:
        """Lets go of the packed rows, for an engine that has them in another form; who takes them may write to them."""
        released: PackedRows | None = self.__dict__.pop("packed", None)
        return released

    def line_blocks(self) -> Iterator[slice]:
        """Blocks of rows of one column, whole ones of the kernels."""
        return self._slices(1, KERNEL_ROWS)

    def along_line(self, rows: slice | NDArray[np.integer[Any]]) -> Array:
        """What rows of one column are sorted by (m,): t(x) if that is all, else x centered."""
        values = self.take(rows) if self.n_statistics == 1 else self.centered_rows(rows)
        return values[:, 0]

    @property
    def mean_statistic(self) -> Array:
        """The weighted mean of t over all rows."""
        return self.summary[0]

    @property
    def largest_statistic(self) -> Array:
        """The largest |t_i(x)| of each coordinate, or a bound on it: what bounds the rounding of a score."""
        return self.summary[1]

    @cached_property
    def summary(self) -> tuple[Array, Array]:
        """Both; an engine that knows them already puts them here."""
        if self.by_pattern:
            blocks = ((self.stood_in(rows), np.isnan(self.X[rows]), self.weights_of(rows)) for rows in self._blocks)
            return statistics_of_entries(self.family, blocks, self.center)
        if self.n_statistics <= MANY_STATISTICS:
            weight, sums = self.packed.totals()
            return sums / weight, self.packed.largest()
        total, largest = np.zeros(self.n_statistics), np.zeros(self.n_statistics)
        for rows in self._slices(self.X.shape[1]):
            x, features = self.family.kernel_columns(self.centered_rows(rows))
            weighted = x if self.weights is None else self.weights[rows, None] * x
            added, tops = [weighted.sum(axis=0)], [np.abs(x).max(axis=0)]
            if features == "diagonal":
                added.append(np.einsum("nd,nd->d", weighted, x))
                tops.append(tops[0] ** 2)
            elif features == "quadratic":
                pairs = np.triu_indices(x.shape[1])
                added.append((weighted.T @ x)[pairs])
                tops.append(np.outer(tops[0], tops[0])[pairs])
            total += np.concatenate(added)
            np.maximum(largest, np.concatenate(tops), out=largest)
        return total / self.total, largest

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices of rows and their statistics in float64, always in the same order and of the same size."""
        for rows in self._slices(self.n_statistics):
            yield rows, self.take(rows)

    def take(self, rows: slice | NDArray[np.integer[Any]]) -> Array:
        """Statistics of chosen rows, in float64."""
        return self.family.sufficient_statistic(self.centered_rows(rows))

    def statistic_boxes(self, centers: Array, halves: Array) -> tuple[Array, Array]:
        """Centers and half widths (m, D) of boxes of t(x) that hold those of all rows in boxes of kernel columns."""
        features = self.kernel_columns(slice(0, 1))[1]
        if features == "identity":
            return centers, halves
        low, high = centers - halves, centers + halves
        d = centers.shape[1]
        pairs = [(a, b) for a in range(d) for b in (range(a, d) if features == "quadratic" else (a,))]
        corners = np.array([[x[:, a] * y[:, b] for a, b in pairs] for x in (low, high) for y in (low, high)])
        lowest, highest = corners.min(axis=0).T, corners.max(axis=0).T
        squares = [place for place, (a, b) in enumerate(pairs) if a == b]
        lowest[:, squares] = np.where((low <= 0) & (high >= 0), 0.0, lowest[:, squares])
        middle = 0.5 * (lowest + highest)
        reach = np.maximum(highest - middle, middle - lowest) * (1 + 1e-14)
        return np.hstack([centers, middle]), np.hstack([halves, reach])

    def weights_of(self, rows: slice) -> Array | None:
        """Sample weights of a block."""
        return None if self.weights is None else self.weights[rows]

    def sum_log_carrier(self) -> float:
        """The weighted sum of k(x), the part of the likelihood no component can change."""
        if not self.family.has_carrier:
            return 0.0
        if self.by_pattern:
            return self.subset(np.flatnonzero(~np.isnan(self.X).any(axis=1))).sum_log_carrier()
        by_squares = self.family.carrier_by_squares(self.X.shape[1])
        if by_squares is not None and self.center is not None and self.weights is None:
            factors, constant = by_squares
            return float(factors @ squares(self.X, self.center, self.n_threads)) + len(self.X) * constant
        blocks = list(self._slices(self.X.shape[1]))
        totals = [0.0] * len(blocks)

        def add(place: int) -> None:
            carrier, weights = self.log_carrier(blocks[place]), self.weights_of(blocks[place])
            totals[place] = float(carrier.sum() if weights is None else weights @ carrier)

        for_each(add, range(len(blocks)), self.n_threads)
        return sum(totals)  # one after the other: no digit depends on the threads

    @cached_property
    def has_holes(self) -> bool:
        """Whether entries are missing."""
        return has_missing(self.X)

    def filled(self) -> "Rows":
        """The same rows; where entries are missing, of the family for complete rows and with columns' means there.

        They show where rows lie, to find starts; nothing is estimated from them.
        """
        if not self.has_holes:
            return self
        family, center = self.family.complete if isinstance(self.family, Incomplete) else self.family, self.center
        X = filled(family, self.X, self.weights)
        return Rows(family, X, self.weights, center, self.n_threads, None, self.meter)

    def raw(self, rows: slice | NDArray[np.intp]) -> Array:
        """Chosen rows as they were given."""
        return self.X[rows]

    def subset(self, rows: NDArray[np.intp]) -> "Rows":
        """Chosen rows, measured from the same center."""
        weights = None if self.weights is None else self.weights[rows]
        return Rows(self.family, self.X[rows], weights, self.center, self.n_threads, self._single, self.meter)

    def log_carrier(self, rows: slice) -> Array:
        """k(x) of a block; zero for rows of patterns, whose scores have it."""
        if self.by_pattern:
            block = self.stood_in(rows)
            whole = ~np.isnan(self.X[rows]).any(axis=1)
            center = self.center
            carrier = self.family.log_carrier(block) if center is None else self.family.log_carrier_from(block, center)
            return np.where(whole, carrier, 0.0)
        X = self.X[rows].astype(float, copy=False)
        return self.family.log_carrier(X) if self.center is None else self.family.log_carrier_from(X, self.center)

    def label_sums(self, labels: Labels, n_components: int) -> tuple[Array, Array]:
        """Counts (k,) and sums (k, D) of given labels."""
        return self.packed.label_sums(labels, n_components)


def slices_of(n_rows: int, width: int, multiple: int = 1) -> Iterator[slice]:
    """Slices of rows of `width` numbers each; all but the last have a multiple of rows."""
    size = max(1, BLOCK_BYTES // (8 * width) // multiple) * multiple
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def _are_kernel_columns(family: ExponentialFamily, X: Array) -> bool:
    """Whether the columns of the kernels are those of X."""
    return family.kernel_columns(X)[0] is X
