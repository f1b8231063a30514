"""Sparse rows: checked and scored by their stored entries, never filled in."""

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from ..numerics.arrays import Array
from .checking import LARGEST_LEARNED
from .contract import FamilyContract
from .support import CountVectors

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def issparse(X: Any) -> bool:
    """Whether X is a sparse array or matrix of SciPy; where nobody has loaded those, there is none.

    >>> issparse([[1.0]])
    False
    """
    return "scipy.sparse" in sys.modules and bool(scipy.sparse.issparse(X))


def as_csr(X: Any) -> "csr_array":
    """Rows in compressed form, float32 or float64, without stored zeros or repeated entries."""
    rows = scipy.sparse.csr_array(X)
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(float)
    if not rows.has_canonical_format or np.any(rows.data == 0):
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    return rows


def row_sums_of(X: "csr_array", values: Array) -> Array:
    """Sums over each row of one value for each stored entry."""
    return np.asarray(
        scipy.sparse.csr_array((values.astype(float), X.indices, X.indptr), shape=X.shape).sum(axis=1)
    ).ravel()


def check_sparse(family: FamilyContract, X: Any) -> "csr_array":
    """Legal sparse rows, or one sentence naming the first row and column that are not."""
    if not family.sparse:
        raise ValueError(f"{family.name} does not take sparse rows: give a dense array (X.toarray())")
    rows = as_csr(X)
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise ValueError("there are no rows or no columns: at least one of each is needed")
    if family.n_features is not None and rows.shape[1] != family.n_features:
        raise ValueError(f"{family.name} was set up for {family.n_features} columns but the data has {rows.shape[1]}")
    values = rows.data[:, None].astype(float, copy=False)
    single = CountVectors().entries if isinstance(family.support, CountVectors) else family.support
    bad = ~np.isfinite(values[:, 0])
    bad |= single.outside(np.where(np.isfinite(values), values, 0.0))[:, 0]
    if bad.any():
        entry = int(np.argmax(bad))
        row = int(np.searchsorted(rows.indptr, entry, side="right")) - 1
        raise ValueError(
            f"row {row}, column {rows.indices[entry]} holds {rows.data[entry]:.6g}; "
            f"{family.name} accepts {family.support.description}"
        )
    if len(values) and values.max() > LARGEST_LEARNED:
        column = rows.indices[int(np.argmax(values))]
        raise ValueError(
            f"column {column} holds {values.max():.6g}: products of such numbers overflow in {family.name}; "
            "rescale the column, or drop such rows"
        )
    if isinstance(family.support, CountVectors):
        totals = row_sums_of(rows, rows.data)
        wrong = totals == 0 if family.support.total is None else totals != family.support.total
        if wrong.any():
            raise ValueError(
                f"row {int(np.argmax(wrong))} sums to {totals[np.argmax(wrong)]:.6g}; "
                f"{family.name} accepts {family.support.description}"
            )
    return rows


__all__ = ["as_csr", "check_sparse", "issparse", "row_sums_of"]
