"""Components ready to score rows by packed statistics, as fits do."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._kernels import Centered, ColumnSummary, PackedRows, RowScores, bounds_on_statistics, score_table
from ..families import ExponentialFamily
from ..families.support import without_outside
from ..numerics.arrays import Array
from ..numerics.threads import for_each
from .precision import centered_form, finite, score_error
from .scorer import ROWS_A_PIECE, Check, DenseScorer, slices

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Each thread packs and scores blocks of about this many bytes, which stay in the cache between the two.
BLOCK_BYTES = 1 << 21
# Rows to be labelled are packed and scored in one call, this many bytes at a time; the next ones are on their way.
LABEL_BYTES = 1 << 21
# Smallest and largest number of rows that a call labels; where threads share them, a fourth of what each has to label.
FEWEST_LABELS, MOST_LABELS = 1 << 13, 1 << 18
# Smallest and largest number of rows of a call: calling the kernels takes as long as scoring a few hundred rows.
FEWEST_ROWS, MOST_ROWS = 1 << 10, 1 << 16
# Blocks are whole ones of the kernels.
KERNEL_ROWS = 64
# Scores whose rounding error may exceed this, in nats, are computed otherwise, where the family can.
ROW_SCORE_ERROR = 1e-9
# Rows of at least TABLE_FROM_COLUMNS columns that are their own statistics are scored in place with up to
# TABLE_COMPONENTS components: packing them would take longer than scoring them.
TABLE_FROM_COLUMNS, TABLE_COMPONENTS = 32, 32


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
        # Whether rounding has spoilt scores of rows labelled so far: then the others are labelled with means at once.
        self._means_matter = False
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
        return slices(n_rows, rows // KERNEL_ROWS * KERNEL_ROWS)

    def label_blocks(self, n_rows: int) -> Iterator[slice]:
        if self._shift is None:
            return self.blocks(n_rows)
        rows = MOST_LABELS if self.n_threads == 1 else n_rows // (4 * self.n_threads)
        rows = max(FEWEST_LABELS, min(MOST_LABELS, rows))
        return slices(n_rows, rows // KERNEL_ROWS * KERNEL_ROWS)

    def scores_in_place(self, X: "Array | csr_array") -> bool:
        wide = X.shape[1] >= TABLE_FROM_COLUMNS and self.n_components <= TABLE_COMPONENTS
        return wide and self._features == "identity" and self._shift is not None

    def score_in_place(
        self, X: "Array | csr_array", labels: NDArray[np.int32] | None, out: RowScores | None
    ) -> tuple[ColumnSummary | None, bool]:
        shift = self._shift
        if shift is None:
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

    def label(self, X: Array, labels: NDArray[np.int32], check: Check) -> None:
        if self._shift is not None:
            spoilt, largest = self._label_table(X, self._shift, labels, check)
        else:
            packed, spoilt, largest = self._pack(X, check)
            packed.label_rows(self.natural, self.bias, labels, self._form if spoilt else None)
        for rows, joint in self._own(X, largest) if spoilt else ():
            labels[rows] = joint.argmax(axis=1)

    def _label_table(self, X: Array, shift: Array, labels: NDArray[np.int32], check: Check) -> tuple[bool, Array]:
        """Labels rows whose columns the kernels can take as they are, and checks them.

        Returns whether rounding may have spoilt their packed scores, and bounds on |t(x)|, (D,).
        """
        room = max(KERNEL_ROWS, LABEL_BYTES // (8 * self._n_columns))
        packed = self._room_for(min(room // KERNEL_ROWS * KERNEL_ROWS, len(X)))
        known = self._means_matter
        seen = packed.label_table(X, shift, self.natural, self.bias, labels, self._form if known else None)
        check(X, seen)
        spoilt, largest = self._rounding(seen, shift)
        if spoilt and not known and self._form is not None:
            self._means_matter = True
            packed.label_table(X, shift, self.natural, self.bias, labels, self._form)
        return spoilt, largest

    def score(self, X: Array, out: RowScores, check: Check) -> None:
        packed, spoilt, largest = self._pack(X, check)
        form = self._form if spoilt else None
        by_differences = form is not None and form.is_carried
        packed.row_scores(self.natural, self.bias, out, form, by_differences)
        if self.family.has_carrier and out.has_scores:
            out.lift(self.carriers(X, by_differences))
        for rows, joint in self._own(X, largest) if spoilt else ():
            out.put(rows, joint)

    def _pack(self, X: Array, check: Check) -> tuple[PackedRows, bool, Array]:
        """Rows of a block as the kernels take them, once they are checked.

        Returns them, whether rounding may spoil their packed scores, and bounds on |t(x)|, (D,).
        """
        if self._shift is None:
            check(X, None)
        if not self._features:
            self._arrange(X)
        packed = self._room_for(len(X))
        if self._shift is None:
            for rows in slices(len(X), ROWS_A_PIECE):
                packed.load(rows.start, self.family.kernel_columns(self.seen(X[rows]))[0])
            largest = packed.largest()
            return packed, self._is_spoilt(largest), largest
        seen = packed.load_and_summarize(X, self._shift)
        check(X, seen)
        return packed, *self._rounding(seen, self._shift)

    def _room_for(self, n_rows: int) -> PackedRows:
        """Packed rows to be overwritten. Blocks are of one size but for the last: each thread has the same for all."""
        packed: PackedRows | None = getattr(self._buffers, "packed", None)
        if packed is None or packed.n_rows != n_rows:
            packed = self._buffers.packed = PackedRows(n_rows, self._n_columns, self._features)
        return packed

    def _rounding(self, seen: ColumnSummary, shift: Array) -> tuple[bool, Array]:
        """Whether rounding may spoil packed scores of rows of which this was seen; bounds on their |t(x)|, (D,)."""
        columns = np.maximum(np.abs(seen.lowest - shift), np.abs(seen.highest - shift))
        largest = bounds_on_statistics(columns, self._features)
        return self._is_spoilt(largest), largest

    def _is_spoilt(self, largest: Array) -> bool:
        """Whether rounding may spoil packed scores of rows with statistics up to these."""
        return not score_error(largest, self.natural, self.bias) <= ROW_SCORE_ERROR

    def _own(self, X: Array, largest: Array) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Rows whose scores only the family's own densities have, some at a time, and these densities (m, k)."""
        if self._lasting is None:
            return
        factors, bias = self._lasting.max(axis=0), self._bias_sizes.max()
        limit = ROW_SCORE_ERROR / np.finfo(float).eps
        if factors @ without_outside(largest) + bias <= limit:
            return
        for piece in slices(len(X), ROWS_A_PIECE):
            t = without_outside(np.abs(self.family.sufficient_statistic(self.seen(X[piece]))))
            rows = piece.start + np.flatnonzero(~(t @ factors + bias <= limit))
            if len(rows) == 0:
                continue
            density = self.family.direct_log_density(X[rows].astype(float, copy=False), self.given)
            if density is None:
                return
            yield rows, density + self.log_weights
