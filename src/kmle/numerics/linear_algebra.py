"""Batched matrix helpers that answer NaN, not an exception, outside their domain."""

import numpy as np

from .arrays import Array


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
    inverse_factors = np.linalg.inv(factors)
    return np.asarray(np.swapaxes(inverse_factors, -1, -2) @ inverse_factors)


def floor_eigenvalues(matrices: Array, scales: Array, relative: float) -> Array:
    """Matrices whose eigenvalues, after dividing rows and columns by `scales`, are at least `relative`.

    Matrices that already are stay untouched; the others are the nearest ones that satisfy the bound.
    """
    outer = scales[..., :, None] * scales[..., None, :]
    scaled = matrices / outer
    values, vectors = np.linalg.eigh(scaled)
    low = values[..., 0] < relative
    if not np.any(low):
        return matrices
    lifted = (vectors * np.maximum(values, relative)[..., None, :]) @ np.swapaxes(vectors, -1, -2) * outer
    return np.where(np.asarray(low)[..., None, None], lifted, matrices)
