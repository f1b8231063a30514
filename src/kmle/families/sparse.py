"""Sparse rows: checked and scored by their stored entries, never filled in."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from .._kernels import summarize_columns
from ..numerics.arrays import Array
from .contract import FamilyContract
from .support import TOLERANCE, CountVectors, Support, UnitSphere
from .validation import LARGEST_LEARNED

if TYPE_CHECKING:
    from scipy.sparse import csr_array


# Entries are examined in blocks of about this many.
BLOCK_ENTRIES = 1 << 17


def as_csr(X: Any) -> "csr_array":
    """Rows in compressed form, float32 or float64, without stored zeros or repeated entries, columns in order."""
    rows = scipy.sparse.csr_array(X)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(float)
    if not rows.has_canonical_format or np.count_nonzero(rows.data) < len(rows.data):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def row_sums(X: "csr_array", of: Callable[[Array], Array]) -> Array:
    """Sums over each row of a function of the stored entries (m,), which examines a block of them at a time.

    >>> row_sums(scipy.sparse.csr_array([[0.0, 2.0], [0.0, 0.0], [3.0, 1.0]]), np.square)
    array([ 4.,  0., 10.])
    """
    sums = np.zeros(X.shape[0])
    first = 0
    while first < len(sums):
        enough = np.searchsorted(X.indptr, X.indptr[first] + BLOCK_ENTRIES, side="right") - 1
        last = min(len(sums), max(first + 1, int(enough)))
        starts = X.indptr[first : last + 1]
        values = of(X.data[starts[0] : starts[-1]].astype(float, copy=False))
        filled = np.flatnonzero(np.diff(starts))
        if len(filled):
            sums[first + filled] = np.add.reduceat(values, starts[filled] - starts[0])
        first = last
    return sums


def check_takes_sparse(family: FamilyContract) -> None:
    """Refuses sparse rows where the family does not take them."""
    if not family.sparse:
        raise ValueError(f"{family.name} does not take sparse rows: give a dense array (X.toarray())")


def check_sparse(family: FamilyContract, X: Any, first_row: int = 0) -> "csr_array":
    """Legal sparse rows, or one sentence naming the first row and column that are not; rows count from `first_row`."""
    check_takes_sparse(family)
    rows = as_csr(X)
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise ValueError("there are no rows or no columns: at least one of each is needed")
    if family.n_features is not None and rows.shape[1] != family.n_features:
        raise ValueError(f"{family.name} has {family.n_features} columns but the data has {rows.shape[1]}")
    _check_entries(family, rows, first_row)
    _check_sums(family, rows, first_row)
    return rows


def _check_entries(family: FamilyContract, rows: "csr_array", first_row: int) -> None:
    support, values = family.support.entries, rows.data[:, np.newaxis]
    # One pass usually tells that all is well; only if not is the offender sought.
    summary = summarize_columns(values)
    if len(values) == 0:
        return
    if summary.finite:
        _check_size(family, rows, max(-summary.lowest[0], summary.highest[0]))
        if support.holds_all(summary):
            return
    finite = np.isfinite(values)
    bad = ~finite[:, 0] | support.outside(np.where(finite, values, 0.0))[:, 0]
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        raise ValueError(
            f"row {first_row + row}, column {rows.indices[entry]} holds {rows.data[entry]:.6g}; "
            f"{family.name} accepts {family.support.description}"
        )


def _check_size(family: FamilyContract, rows: "csr_array", largest: float) -> None:
    if largest > LARGEST_LEARNED:
        entry = int(np.argmax(np.abs(rows.data)))
        raise ValueError(
            f"column {rows.indices[entry]} holds {rows.data[entry]:.6g}: products of such numbers overflow in "
            f"{family.name}; rescale the column, or drop such rows"
        )


def _check_sums(family: FamilyContract, rows: "csr_array", first_row: int) -> None:
    found = _wrong_sums(family.support, rows)
    if found is not None and found[1].any():
        row = int(np.argmax(found[1]))
        raise ValueError(
            f"row {first_row + row} {found[2]} {found[0][row]:.6g}; {family.name} accepts {family.support.description}"
        )


def _wrong_sums(support: Support, rows: "csr_array") -> tuple[Array, NDArray[np.bool_], str] | None:
    """What rows as a whole must agree with: a number for each, which are wrong, and a verb for it."""
    if isinstance(support, CountVectors):
        totals = row_sums(rows, lambda values: values)
        return totals, totals == 0 if support.total is None else totals != support.total, "sums to"
    if isinstance(support, UnitSphere):
        lengths = np.sqrt(row_sums(rows, np.square))
        return lengths, np.abs(lengths**2 - 1) > 2 * TOLERANCE, "has length"
    return None


__all__ = ["as_csr", "check_sparse", "check_takes_sparse", "row_sums"]
