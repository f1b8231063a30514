"""What the four families of random positive definite matrices share; rows are flattened p x p matrices."""

from typing import Any

import numpy as np

from ..numerics.arrays import Array
from ..numerics.linear_algebra import cholesky_or_nan, floor_eigenvalues, inverse_from_cholesky, log_determinant
from ..numerics.packing import pack_dual, unpack, unpack_dual
from .shapes import as_matrices, as_scalars

# Mean matrices keep the eigenvalues of their correlation form above this, so that rounding cannot make them singular.
SMALLEST_CORRELATION = 1e-10
# Draws keep theirs above this, and their diagonals above the square of SMALLEST_SCALE: with degrees close to p - 1
# many are singular in double precision, and the nearest matrices that are not stand for them.
SMALLEST_DRAWN_CORRELATION = 1e-12
SMALLEST_SCALE = 1e-75


def square_size(n_features: int) -> int:
    """p for rows of p * p numbers."""
    size = round(np.sqrt(n_features))
    if size * size != n_features:
        raise ValueError(f"{n_features} columns are not a flattened square matrix: expected 1, 4, 9, 16, ...")
    return size


def fixed_of_squares(fixed: dict[str, Any], X: Array) -> dict[str, Any]:
    """The fixed parameters, after checking that the columns are square matrices."""
    square_size(X.shape[1])
    return fixed


def as_square(X: Array) -> Array:
    """Rows as matrices (n, p, p), symmetric to the last digit."""
    size = square_size(X.shape[-1])
    matrices = X.reshape(*X.shape[:-1], size, size).astype(float, copy=False)
    return 0.5 * (matrices + np.swapaxes(matrices, -1, -2))


def inverse_rows(X: Array) -> Array:
    """X^-1 of each row, (n, p, p)."""
    return inverse_from_cholesky(np.linalg.cholesky(as_square(X)))


def log_determinants(X: Array) -> Array:
    """log|X| of each row."""
    return log_determinant(np.linalg.cholesky(as_square(X)))


def natural_matrix(packed: Array) -> tuple[Array, Array]:
    """-theta_M as Cholesky factors, and log|-theta_M|; NaN where it is not positive definite."""
    factors = cholesky_or_nan(-unpack_dual(packed))
    return factors, log_determinant(factors)


def legal_mean(packed: Array) -> tuple[Array, Array]:
    """The inverse of a packed mean matrix and its log-determinant, the matrix lifted where it is nearly singular."""
    matrix = unpack(packed)
    diagonal = np.arange(matrix.shape[-1])
    scales = np.sqrt(np.maximum(matrix[..., diagonal, diagonal], 1e-300))
    factors = cholesky_or_nan(floor_eigenvalues(matrix, scales, SMALLEST_CORRELATION))
    return inverse_from_cholesky(factors), log_determinant(factors)


def regular(matrices: Array) -> Array:
    """The matrices (n, p, p), those singular in double precision lifted just enough not to be."""
    diagonal = np.arange(matrices.shape[-1])
    scales = np.maximum(np.sqrt(matrices[..., diagonal, diagonal]), SMALLEST_SCALE)
    return floor_eigenvalues(matrices, scales, SMALLEST_DRAWN_CORRELATION)


def wishart_draws(degrees: float, scale: Array, size: int, rng: np.random.Generator) -> Array:
    """Positive definite draws (size, p, p) of a Wishart distribution."""
    from scipy.stats import wishart  # slow to import, and only draws need it

    p = scale.shape[-1]
    return regular(np.asarray(wishart.rvs(degrees, scale, size, random_state=rng), dtype=float).reshape(size, p, p))


def inverse_wishart_draws(degrees: float, scale: Array, size: int, rng: np.random.Generator) -> Array:
    """Positive definite draws (size, p, p) of an inverse Wishart distribution."""
    from scipy.stats import invwishart  # slow to import, and only draws need it

    p = scale.shape[-1]
    with np.errstate(all="ignore"):
        draws = np.asarray(invwishart.rvs(degrees, scale, size, random_state=rng), dtype=float).reshape(size, p, p)
    infinite = ~np.isfinite(draws).all(axis=(1, 2))
    if infinite.any():
        # Beyond the largest float: inverses of regular Wishart draws take their place.
        inverse_scale = inverse_from_cholesky(np.linalg.cholesky(scale))
        again = wishart_draws(degrees, inverse_scale, int(infinite.sum()), rng)
        draws[infinite] = inverse_from_cholesky(np.linalg.cholesky(again))
    return regular(draws)


def packed_inverse(matrices: Array, factor: Array | float) -> Array:
    """`factor` times the inverses, packed as natural parameters."""
    inverse = inverse_from_cholesky(cholesky_or_nan(as_matrices(matrices)))
    return pack_dual(np.asarray(factor)[..., None, None] * inverse)


def as_degrees(degrees: Array, matrices: Array, name: str) -> Array:
    """Degrees of freedom (k,), above p - 1 for p x p matrices."""
    degrees, size = as_scalars(degrees), as_matrices(matrices).shape[-1]
    if np.any(degrees <= size - 1):
        raise ValueError(f"{name} needs degrees above {size - 1} for {size} x {size} matrices; got {degrees.min():.6g}")
    return degrees
