"""How the entropy of a Gaussian changes with one row more or less: determinants after rank-one updates."""

import numpy as np

from ..numerics.arrays import Array

# Determinants that shrink below this share of themselves lose their digits.
SMALLEST_FACTOR = 1e-3


def gaussian_growth(fit: Array, share: Array, n_columns: int) -> Array:
    """`conjugate_growth` of Gaussians with estimated covariances, of n_columns columns.

    F* is -log|C| / 2 but for a constant. With one row x more, C becomes (1 - share) (C + share (x - mean)(x - mean)'),
    whose determinant is (1 - share)^d (1 + share m) |C|, m = (x - mean)' C^-1 (x - mean) = d - 2 fit being the squared
    Mahalanobis distance (the matrix determinant lemma). For full covariances this is exact. Diagonal and spherical ones
    have a determinant that is at least as large: the product of 1 + share m_c over columns c, and (1 + share m / d)^d.

    >>> gaussian_growth(np.array([-1.5]), np.array([0.5]), 1).round(4)  # a row two deviations away weighs as much
    array([-0.2027])
    """
    factor = 1 + share * (n_columns - 2 * fit)
    with np.errstate(all="ignore"):
        growth = -0.5 * (n_columns * np.log1p(-share) + np.log(factor))
    return np.where((factor > SMALLEST_FACTOR) & np.isfinite(growth), growth, np.inf)
