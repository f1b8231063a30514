"""Components ready to score rows, some at a time: what is held beside the outcome is a block of rows."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._kernels import Centered, ColumnSummary, CompressedRows, PackedRows, RowScores, score_table
from ..families import ExponentialFamily
from ..families.outside import without_outside
from ..families.validation import issparse
from ..numerics.arrays import Array
from ..numerics.blas import blas_on_one_thread
from ..numerics.threads import for_each
from .panels.coordinates import Coordinates, uses_panels
from .panels.kernel import PanelsRows
from .precision import centered_form, finite, score_error

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Each thread packs and scores blocks of about so many bytes, which stay in the cache between the two.
BLOCK_BYTES = 1 << 21
# Calling the kernels takes as long as scoring a few hundred rows; beyond so many rows it does not matter.
FEWEST_ROWS, MOST_ROWS = 1 << 10, 1 << 16
# Blocks are whole ones of the kernels.
KERNEL_ROWS = 64
# Statistics that NumPy computes, and carriers, are computed for so many rows at a time.
ROWS_A_PIECE = 1 << 11
# Rows with many columns are scored by all threads together, so many at a time.
PANELS_ROWS = 1 << 13
# Scores whose rounding error may exceed so many nats are computed otherwise, where the family can.
ROW_SCORE_ERROR = 1e-9
# Rows of so many columns that are their own statistics are scored where they lie with up to so many components: packing
# them would take longer than scoring them.
TABLE_FROM_COLUMNS, TABLE_COMPONENTS = 32, 32

Check = Callable[[Array, ColumnSummary | None], None]
"""Raises where rows are not legal; it is given what was seen of them, or None where nothing was."""


def unchecked(X: Array, seen: ColumnSummary | None) -> None:
    """Takes all rows as legal."""


class Scorer(ABC):
    """Components (k, D) with log-weights (k,) that rows are scored with: log-weight plus log-density."""

    n_components: int
    n_threads: int
    """How many blocks are scored at a time."""

    @abstractmethod
    def blocks(self, n_rows: int) -> Iterator[slice]:
        """Blocks of rows that are scored together."""

    @abstractmethod
    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        """Writes the best component of each row of a block, the lowest index on a tie, after they have been checked."""

    @abstractmethod
    def score(self, X: Array, out: RowScores, check: Check) -> None:
        """Fills in what is wanted of each row of a block, after they have been checked."""

    def score_in_place(
        self, X: "Array | csr_array", labels: NDArray[np.int32] | None, out: RowScores | None
    ) -> tuple[ColumnSummary | None, bool]:
        """Labels and scores of all rows where they lie; what was seen of the rows, and if all is filled in.

        Scores lack the carrier k(x).
        """
        return None, False

    def lifted(self, X: "Array | csr_array", out: RowScores) -> RowScores:
        """Scores of all rows with k(x) added, where they lack it."""
        return out

    def labels(self, X: "Array | csr_array", check: Check = unchecked) -> NDArray[np.int32]:
        """The best component of each row, (n,), after they have been checked."""
        labels = np.empty(X.shape[0], dtype=np.int32)
        seen, done = self.score_in_place(X, labels, None)
        if seen is not None:
            check(X, seen)
        if not done:
            self._block_by_block(X, lambda rows, block: self.label(rows, labels[block], check), check)
        return labels

    def scores(self, X: "Array | csr_array", *names: str, check: Check = unchecked) -> RowScores:
        """What is named of each row, after they have been checked; the scores are log(weight_j p_j(x))."""
        out = RowScores.wanting(names, X.shape[0], self.n_components)
        seen, done = self.score_in_place(X, None, out)
        if seen is not None:
            check(X, seen)
        if done:
            return self.lifted(X, out)
        self._block_by_block(X, lambda rows, block: self.score(rows, out.part(block), check), check)
        return out

    def _block_by_block(self, X: "Array | csr_array", work: Callable[[Array, slice], None], check: Check) -> None:
        """Calls work(rows, block) for all blocks; checks see a block while it is in the cache."""
        try:
            for_each(lambda block: work(_part(X, block), block), self.blocks(X.shape[0]), self.n_threads, 1)
        except ValueError:
            check(X, None)  # which names the first row of all that is not legal
            raise


def scorer_of(
    family: ExponentialFamily, natural: Array, log_weights: Array, X: "Array | csr_array", n_threads: int = 1
) -> Scorer:
    """A scorer of these components for rows such as these."""
    if not family.exponential:
        return DirectScorer(family, natural, log_weights, n_threads)
    if issparse(X):
        return SparseScorer(family, natural, log_weights, n_threads)
    kind = PanelsScorer if uses_panels(family, X.shape[1]) else PackedScorer
    return kind(family, natural, log_weights, X, n_threads)


class DirectScorer(Scorer):
    """Families that are no exponential families, by their own densities."""

    def __init__(self, family: ExponentialFamily, natural: Array, log_weights: Array, n_threads: int = 1) -> None:
        self.n_components, self.n_threads = len(natural), n_threads
        self._family, self._natural, self._log_weights = family, natural, log_weights

    def blocks(self, n_rows: int) -> Iterator[slice]:
        return _slices(n_rows, ROWS_A_PIECE * 4)

    def _scores(self, X: Array, check: Check) -> Array:
        check(X, None)
        density = self._family.direct_log_density(X.astype(float, copy=False), self._natural)
        assert density is not None  # such families have no others
        return density + self._log_weights

    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        labels[...] = self._scores(X, check).argmax(axis=1)

    def score(self, X: Array, out: RowScores, check: Check) -> None:
        out.put(slice(None), self._scores(X, check))


class SparseScorer(Scorer):
    """Sparse rows, where they lie."""

    def __init__(self, family: ExponentialFamily, natural: Array, log_weights: Array, n_threads: int = 1) -> None:
        self.n_components, self.n_threads = len(natural), 1
        self._family, self._n_threads = family, n_threads
        self._components = natural, log_weights - family.log_normalizer(natural)

    def blocks(self, n_rows: int) -> Iterator[slice]:
        yield slice(0, n_rows)

    def label(self, X: "csr_array", labels: NDArray[np.int32], check: Check) -> None:
        check(X, None)
        CompressedRows(X, n_threads=self._n_threads).label_rows(*self._components, labels)

    def score(self, X: "csr_array", out: RowScores, check: Check) -> None:
        check(X, None)
        CompressedRows(X, n_threads=self._n_threads).row_scores(*self._components, out)
        if out.has_scores:
            out.lift(self._family.sparse_log_carrier(X))


class DenseScorer(Scorer):
    """Rows seen from the middle of the components, where digits are kept."""

    def __init__(
        self, family: ExponentialFamily, natural: Array, log_weights: Array, X: Array, n_threads: int = 1
    ) -> None:
        self.n_components = len(natural)
        self.family, self.n_threads = family, n_threads
        self.given, self.log_weights = natural, log_weights
        with np.errstate(all="ignore"):
            center = family.center(natural, np.exp(log_weights))
        self.center = center if center is not None and np.isfinite(center).all() else None
        (self.natural,) = family.centered(self.center, natural)
        self.bias = log_weights - family.log_normalizer(self.natural)

    def seen(self, X: Array) -> Array:
        """Rows as the family measures them from the center, in float64."""
        block = X.astype(float, copy=False)
        return block if self.center is None else self.family.centered_rows(block, self.center)

    def carriers(self, X: Array, centered: bool = False) -> Array:
        """k(x) of rows; for scores by differences to means without the squares that those hold."""
        carriers = np.empty(len(X))
        for rows in _slices(len(X), ROWS_A_PIECE):
            block = X[rows].astype(float, copy=False)
            if centered:
                carriers[rows] = self.family.log_carrier_beside_means(block)
            elif self.center is None:
                carriers[rows] = self.family.log_carrier(block)
            else:
                carriers[rows] = self.family.log_carrier_from(block, self.center)
        return carriers


class PackedScorer(DenseScorer):
    """Any family, by packed statistics; by differences to means, or the family's own densities, where those are better.

    The kernels know which scores the rounding of packed statistics may have spoilt, and compute them by differences to
    means where the family has such a form. The few rows for which neither is good are left to the family.
    """

    def __init__(
        self, family: ExponentialFamily, natural: Array, log_weights: Array, X: Array, n_threads: int = 1
    ) -> None:
        super().__init__(family, natural, log_weights, X, n_threads)
        self._buffers = threading.local()
        self._active = np.isfinite(self.bias)
        self._sizes = np.where(self._active[:, np.newaxis], np.abs(self.natural), 0.0)
        self._bias_sizes = np.where(self._active, np.abs(self.bias), 0.0)
        # What to take off the columns of X to have those of the kernels; None: that is not all, or not known yet.
        self._shift: Array | None = None
        self._n_columns, self._features = 0, ""
        if np.isfinite(X[:1]).all() and family.support.first_outsider(X[:1]) is None:
            self._arrange(X)

    def _arrange(self, X: Array) -> None:
        """Finds out how the columns of the kernels follow from those of legal rows."""
        row = X[:1].astype(float)
        columns, self._features = self.family.kernel_columns(self.seen(row))
        self._n_columns = columns.shape[1]
        if self.center is not None:
            self._shift = self.family.kernel_shift(self.center)
        elif columns is row:
            self._shift = np.zeros(X.shape[1])

    @cached_property
    def _means(self) -> Centered | None:
        """The components by their means, where the family has such a form."""
        return self._with_given_means(centered_form(self.family, self.natural, self.log_weights))

    @cached_property
    def _form(self) -> Centered | None:
        return finite(self._means)

    @cached_property
    def _lasting(self) -> Array | None:
        """What of |theta| matters for the rounding of scores that only the family's own densities can help, (k, D)."""
        if self._means is None:
            return self._sizes
        places = list(self._means.linear_places)
        if not places:
            return None
        lasting = np.zeros_like(self._sizes)
        lasting[:, places] = self._sizes[:, places]
        return lasting

    def _with_given_means(self, form: Centered | None) -> Centered | None:
        """The form with means as they were given, less the center: a row at a mean is at no distance from it."""
        shift = self._shift if self.center is not None else None
        given = None if form is None or shift is None else centered_form(self.family, self.given, self.log_weights)
        if form is None or shift is None or given is None or given.places is None or not np.isfinite(given.mean).all():
            return form
        return replace(form, mean=given.mean - shift[list(given.places)])

    def blocks(self, n_rows: int) -> Iterator[slice]:
        rows = max(FEWEST_ROWS, min(MOST_ROWS, BLOCK_BYTES // (8 * (self.family.n_features or 1))))
        return _slices(n_rows, rows // KERNEL_ROWS * KERNEL_ROWS)

    def score_in_place(
        self, X: "Array | csr_array", labels: NDArray[np.int32] | None, out: RowScores | None
    ) -> tuple[ColumnSummary | None, bool]:
        shift = self._shift
        if shift is None or not self._scores_in_place(X.shape[1]):
            return None, False
        seen = score_table(X, shift, self.natural, self.bias, labels, out, self.n_threads)
        if seen is None or not seen.finite:
            return seen, False
        largest = np.maximum(np.abs(seen.lowest - shift), np.abs(seen.highest - shift))
        return seen, score_error(largest, self.natural, self.bias) <= ROW_SCORE_ERROR

    def lifted(self, X: "Array | csr_array", out: RowScores) -> RowScores:
        if self.family.has_carrier and out.has_scores:
            blocks = self.blocks(X.shape[0])
            for_each(lambda rows: out.part(rows).lift(self.carriers(X[rows])), blocks, self.n_threads, 1)
        return out

    def _scores_in_place(self, n_columns: int) -> bool:
        """Whether rows are better scored where they lie than packed."""
        wide = n_columns >= TABLE_FROM_COLUMNS and self.n_components <= TABLE_COMPONENTS
        return wide and self._features == "identity"

    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        packed, spoilt = self._pack(X, check)
        packed.label_rows(self.natural, self.bias, labels, self._form if spoilt else None)
        for rows, joint in self._own(X, packed, spoilt):
            labels[rows] = joint.argmax(axis=1)

    def score(self, X: Array, out: RowScores, check: Check) -> None:
        packed, spoilt = self._pack(X, check)
        form = self._form if spoilt else None
        by_differences = form is not None and form.is_carried
        packed.row_scores(self.natural, self.bias, out, form, by_differences)
        if self.family.has_carrier and out.has_scores:
            out.lift(self.carriers(X, by_differences))
        for rows, joint in self._own(X, packed, spoilt):
            out.put(rows, joint)

    def _pack(self, X: Array, check: Check) -> tuple[PackedRows, bool]:
        """Rows of a block as the kernels take them, once they are checked; whether rounding may spoil their scores."""
        if self._shift is None:
            check(X, None)
        if not self._features:
            self._arrange(X)
        # Blocks are of one size but for the last: each thread uses the same memory for all of its own.
        packed: PackedRows | None = getattr(self._buffers, "packed", None)
        if packed is None or packed.n_rows != len(X):
            packed = self._buffers.packed = PackedRows(len(X), self._n_columns, self._features)
        if self._shift is not None:
            check(X, packed.load_and_summarize(X, self._shift))
        else:
            for rows in _slices(len(X), ROWS_A_PIECE):
                packed.load(rows.start, self.family.kernel_columns(self.seen(X[rows]))[0])
        return packed, not score_error(packed.largest(), self.natural, self.bias) <= ROW_SCORE_ERROR

    def _own(self, X: Array, packed: PackedRows, spoilt: bool) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Rows whose scores only the family's own densities have, some at a time, and these densities (m, k)."""
        if not spoilt or self._lasting is None:
            return
        factors, bias = self._lasting.max(axis=0), self._bias_sizes.max()
        limit = ROW_SCORE_ERROR / np.finfo(float).eps
        if factors @ without_outside(packed.largest()) + bias <= limit:
            return
        for piece in _slices(len(X), ROWS_A_PIECE):
            t = without_outside(np.abs(self.family.sufficient_statistic(self.seen(X[piece]))))
            rows = piece.start + np.flatnonzero(~(t @ factors + bias <= limit))
            if len(rows) == 0:
                continue
            density = self.family.direct_log_density(X[rows].astype(float, copy=False), self.given)
            if density is None:
                return
            yield rows, density + self.log_weights


class PanelsScorer(DenseScorer):
    """Gaussians of many columns, by panels of triangular factors."""

    def __init__(
        self, family: ExponentialFamily, natural: Array, log_weights: Array, X: Array, n_threads: int = 1
    ) -> None:
        super().__init__(family, natural, log_weights, X, 1)
        self._n_threads, weights = n_threads, np.exp(log_weights)
        mean_statistic = weights @ family.moment_from_natural(self.natural)
        with blas_on_one_thread():
            self._coordinates = Coordinates(family, mean_statistic, self.natural, len(X))
            self._model = self._coordinates.triangles(self.natural, self.bias)

    def blocks(self, n_rows: int) -> Iterator[slice]:
        return _slices(n_rows, PANELS_ROWS)

    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        check(X, None)
        labels[:] = -1
        self._load(X).hard_pass(*self._model, labels)

    def score(self, X: Array, out: RowScores, check: Check) -> None:
        check(X, None)
        self._load(X).row_scores(*self._model, np.full(len(X), -1, dtype=np.int32), out)
        if self.family.has_carrier and out.has_scores:
            out.lift(self.carriers(X))

    def _load(self, X: Array) -> PanelsRows:
        values = PanelsRows(len(X), X.shape[1], self._n_threads)
        with blas_on_one_thread():
            for_each(
                lambda rows: values.load(rows.start, self._coordinates.of_rows(self.seen(X[rows]))),
                _slices(len(X), ROWS_A_PIECE // 2),
                self._n_threads,
                1,
            )
        return values


def _part(X: "Array | csr_array", block: slice) -> "Array | csr_array":
    """Some of the rows; sparse ones would be copied."""
    return X if block == slice(0, X.shape[0]) else X[block]


def _slices(n_rows: int, size: int) -> Iterator[slice]:
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
