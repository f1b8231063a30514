"""Batched matrix helpers that answer NaN, not an exception, outside their domain."""

import numpy as np
import scipy

from .arrays import Array
from .blas import blas_on_one_thread
from .packing import pack

# From this size on a call for each matrix that knows of triangles is quicker than one call for all that does not.
LARGE = 32
# What rounding leaves of an entry that is zero, relative to the largest ones.
ROUNDED = 1e-15


def cholesky_or_nan(matrices: Array) -> Array:
    """Lower Cholesky factors of (..., p, p); a matrix that is not positive definite gives NaNs."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        factors = np.full(matrices.shape, np.nan)
        # One bad matrix fails the whole batch, so this rare case goes matrix by matrix.
        for index in np.ndindex(matrices.shape[:-2]):
            try:
                factors[index] = np.linalg.cholesky(matrices[index])
            except np.linalg.LinAlgError:
                continue
        return factors


def log_determinant(factors: Array) -> Array:
    """log|A| from the Cholesky factors of A."""
    return np.asarray(2 * np.log(np.diagonal(factors, axis1=-2, axis2=-1)).sum(axis=-1))


def inverse_from_cholesky(factors: Array) -> Array:
    """A^-1 from the Cholesky factors of A, exactly symmetric."""
    size = factors.shape[-1]
    if size < LARGE:
        scaled, norms = _scaled_rows(factors)
        inverse_factors = np.linalg.inv(scaled) / norms[..., None, :]
        return np.asarray(np.swapaxes(inverse_factors, -1, -2) @ inverse_factors)
    inverses = _upper_inverses(factors)
    upper = np.triu_indices(size, 1)
    inverses[..., upper[1], upper[0]] = inverses[..., upper[0], upper[1]]
    return inverses


def packed_inverse_from_cholesky(factors: Array) -> Array:
    """The upper triangles of A^-1, row by row, from the Cholesky factors of A."""
    small = factors.shape[-1] < LARGE
    return pack(inverse_from_cholesky(factors) if small else _upper_inverses(factors))


def _upper_inverses(factors: Array) -> Array:
    """A^-1 on and above the diagonal, anything below."""
    inverses = np.empty(factors.shape)
    with blas_on_one_thread():  # on a busy machine threads wait for each other far longer than this takes
        for index in np.ndindex(factors.shape[:-2]):
            # The transpose of a factor lies in memory as LAPACK wants it, and so does the lower triangle of the answer.
            inverses[index] = scipy.linalg.lapack.dpotri(factors[index].T, lower=0)[0]
    return inverses


def solve_lower(factors: Array, right: Array) -> Array:
    """L^-1 b for lower triangular L (..., p, p) and b (..., p)."""
    if factors.shape[-1] < LARGE:
        scaled, norms = _scaled_rows(factors)
        return np.asarray(np.linalg.solve(scaled, (right / norms)[..., None])[..., 0])
    solved = np.empty(right.shape)
    for index in np.ndindex(right.shape[:-1]):
        # The transpose of a factor lies in memory as LAPACK wants it.
        solved[index] = scipy.linalg.lapack.dtrtrs(factors[index].T, right[index], trans=1)[0]
    return solved


def solve_upper(factors: Array, right: Array) -> Array:
    """L^-T b for lower triangular L (..., p, p) and b (..., p)."""
    if factors.shape[-1] < LARGE:
        scaled, norms = _scaled_rows(factors)
        return np.asarray(np.linalg.solve(np.swapaxes(scaled, -1, -2), right[..., None])[..., 0]) / norms
    solved = np.empty(right.shape)
    for index in np.ndindex(right.shape[:-1]):
        solved[index] = scipy.linalg.lapack.dtrtrs(factors[index].T, right[index])[0]
    return solved


def _scaled_rows(factors: Array) -> tuple[Array, Array]:
    """Factors with rows of length one, and the lengths: columns of very different scales then lose no digits."""
    norms = np.sqrt(np.einsum("...ij,...ij->...i", factors, factors))
    return factors / norms[..., None], norms


def floor_eigenvalues(matrices: Array, scales: Array, relative: float) -> Array:
    """Matrices whose eigenvalues, after dividing rows and columns by `scales`, are at least `relative`.

    Matrices that already are stay untouched; the others are the nearest ones that satisfy the bound.
    """
    size = matrices.shape[-1]
    outer = scales[..., :, None] * scales[..., None, :]
    scaled = matrices / outer
    maybe_low = np.ones(matrices.shape[:-2], dtype=bool)
    if size >= LARGE:  # a factor takes a tenth of the time of eigenvalues
        maybe_low = np.asarray(np.isnan(cholesky_or_nan(scaled - relative * np.eye(size))[..., -1, -1]))
    if not maybe_low.any():
        return matrices
    values, vectors = np.linalg.eigh(scaled[maybe_low])
    low = values[..., 0] < relative
    if not low.any():
        return matrices
    lifted = (vectors * np.maximum(values, relative)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    lifted *= np.broadcast_to(outer, matrices.shape)[maybe_low]
    found = matrices.copy()
    found[maybe_low] = np.where(low[..., None, None], lifted, matrices[maybe_low])
    return found


def largest_eigenpairs(matrices: Array, count: int) -> tuple[Array, Array]:
    """The largest eigenvalues (..., count) of symmetric matrices (..., p, p), descending, and vectors (..., p, count).

    >>> largest_eigenpairs(np.diag([1.0, 5.0, 3.0]), 2)[0]
    array([5., 3.])
    """
    p = matrices.shape[-1]
    if p < LARGE:
        values, vectors = np.linalg.eigh(matrices)
        return values[..., : -count - 1 : -1], vectors[..., : -count - 1 : -1]
    values, vectors = np.empty((*matrices.shape[:-2], count)), np.empty((*matrices.shape[:-1], count))
    for index in np.ndindex(matrices.shape[:-2]):
        found = scipy.linalg.eigh(matrices[index], subset_by_index=(p - count, p - 1), check_finite=False)
        values[index], vectors[index] = found[0][::-1], found[1][:, ::-1]
    return values, vectors


def low_rank_difference(matrices: Array, rank: int) -> tuple[Array, Array] | None:
    """B (..., p, rank) and s (...,) with A = s I - B B' for matrices A (..., p, p) that are so; None where any is not.

    Of any rank + 1 rows and columns s is the largest eigenvalue, since B B' is singular there, and a pivoted Cholesky
    factor of s I - A ends after `rank` columns.

    >>> found = low_rank_difference(2.0 * np.eye(40) - np.eye(40)[:, :1] @ np.eye(40)[:1], 1)
    >>> found[0][:2].round(6).tolist(), float(found[1].round(6))
    ([[1.0], [0.0]], 2.0)
    """
    p = matrices.shape[-1]
    part = slice(0, rank + 1)
    largest = np.linalg.eigvalsh(matrices[..., part, part])[..., -1]
    roots = np.zeros((*matrices.shape[:-1], rank))
    for index in np.ndindex(matrices.shape[:-2]):
        scale = float(largest[index])
        rest = scale * np.eye(p) - matrices[index]
        factor, pivots, found, _ = scipy.linalg.lapack.dpstrf(rest, tol=ROUNDED * scale, lower=1)
        kept = min(found, rank)
        roots[index][pivots - 1, :kept] = np.tril(factor)[:, :kept]
        missed = np.trace(rest) - float((roots[index] ** 2).sum())
        if not abs(missed) <= 4 * p * ROUNDED * scale:
            return None
    return roots, largest


def weighted_sum(shares: Array, values: Array) -> float:
    """sum shares * values, where a share of zero of an infinite value counts nothing."""
    with np.errstate(invalid="ignore"):
        total = float(shares @ values)
    if np.isfinite(total):
        return total
    some = shares > 0
    return float(shares[some] @ values[some])
