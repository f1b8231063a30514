"""Columns that say nothing of their own: constant ones, copies, and exact linear combinations of the columns before.

To a full Gaussian such a column is a spike of any height, to a family of independent columns it is the same
log-likelihood twice: it would decide which family wins. So it takes no part in the comparison.
"""

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily, Gaussian, SphericalGaussian
from ..numerics.arrays import Array

# Rows that are examined, and how many there must be for each column before one is called a combination of others.
MOST_ROWS = 4096
ROWS_PER_COLUMN = 3
MOST_COLUMNS = 256
# What is left of a column of variance one, after the others are taken off it, where it is a combination of them.
ROUNDING = 1e-9


def allows_fewer_columns(family: ExponentialFamily) -> bool:
    """Whether the family means the same on some of the columns: not so for rows that are one whole."""
    plain = family.independent_columns or isinstance(family, Gaussian | SphericalGaussian)
    return plain and family.n_features is None


def redundant_columns(X: Array) -> NDArray[np.intp]:
    """Places of the redundant columns of X (n, d); never all of them.

    >>> a, b = np.random.default_rng(0).normal(size=(2, 20))
    >>> redundant_columns(np.stack([a, b, np.ones(20), a, a + 2 * b - 1], axis=1))
    array([2, 3, 4])
    """
    constant = (X[0] == X).all(axis=0)
    varying = np.flatnonzero(~constant)
    some = X[:: -(-len(X) // MOST_ROWS), varying].astype(float, copy=False)
    if len(some) < ROWS_PER_COLUMN * len(varying) or len(varying) > MOST_COLUMNS:
        return np.flatnonzero(constant)[int(constant.all()) :]
    centered = some - some.mean(axis=0)
    lengths = np.sqrt(np.einsum("nd,nd->d", centered, centered))
    left = np.abs(np.diagonal(np.linalg.qr(centered / np.where(lengths > 0, lengths, 1.0), mode="r")))
    # Constant in the rows that are examined is not constant.
    redundant = np.union1d(np.flatnonzero(constant), varying[(left <= ROUNDING) & (lengths > 0)])
    return redundant[int(constant.all()) :].astype(np.intp)
