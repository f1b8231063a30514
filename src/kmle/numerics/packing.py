"""Symmetric matrices as flat rows: the upper triangle, read row by row.

A symmetric p x p matrix has p(p+1)/2 free entries. `pack` keeps each once (how data and moments are stored);
`pack_dual` doubles the off-diagonal ones (how natural parameters are stored), so that a plain dot product of the
two is the trace inner product:

>>> A, B = np.array([[1.0, 2.0], [2.0, 3.0]]), np.array([[5.0, 1.0], [1.0, 4.0]])
>>> float(pack(A) @ pack_dual(B)) == float(np.trace(A @ B))
True
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from .arrays import Array


@lru_cache(maxsize=64)
def _triangle(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    rows, columns = np.triu_indices(size)
    return rows, columns, np.where(rows == columns, 1.0, 2.0)


@lru_cache(maxsize=64)
def _places(size: int) -> NDArray[np.intp]:
    """Where each entry of a matrix stands when packed."""
    places = np.empty((size, size), dtype=np.intp)
    rows, columns, _ = _triangle(size)
    places[rows, columns] = places[columns, rows] = np.arange(len(rows))
    return places


@lru_cache(maxsize=64)
def lower_triangle(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the lower triangle, read row by row; the same arrays each time."""
    rows, columns = np.tril_indices(size)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns


def packed_length(size: int) -> int:
    """Number of free entries of a symmetric matrix of this size."""
    return size * (size + 1) // 2


def size_from_packed(length: int) -> int:
    """Size of the symmetric matrix that packs into `length` numbers."""
    size = int((np.sqrt(8 * length + 1) - 1) / 2 + 0.5)
    if size * (size + 1) // 2 != length:
        raise ValueError(f"{length} numbers do not pack a symmetric matrix: expected 1, 3, 6, 10, ...")
    return size


def diagonal_places(size: int) -> NDArray[np.intp]:
    """Where the diagonal of a packed symmetric matrix of this size is.

    >>> diagonal_places(3)
    array([0, 3, 5])
    """
    rows = np.arange(size)
    return rows * size - rows * (rows - 1) // 2


def pack(matrices: Array) -> Array:
    """Upper triangle of (..., p, p) as (..., p(p+1)/2)."""
    rows, columns, _ = _triangle(matrices.shape[-1])
    return matrices[..., rows, columns]


def unpack(packed: Array) -> Array:
    """Inverse of `pack`."""
    return np.take(packed, _places(size_from_packed(packed.shape[-1])), axis=-1)


def pack_dual(matrices: Array) -> Array:
    """Upper triangle with off-diagonal entries doubled, the partner of `pack` in dot products."""
    return doubled(pack(matrices))


def doubled(packed: Array) -> Array:
    """Packed matrices with their off-diagonal entries doubled."""
    return packed * _triangle(size_from_packed(packed.shape[-1]))[2]


def unpack_dual(packed: Array, size: int | None = None) -> Array:
    """Inverse of `pack_dual`; the size of the matrices may be given where it is known."""
    p = size_from_packed(packed.shape[-1]) if size is None else size
    return np.take(packed / _triangle(p)[2], _places(p), axis=-1)


def pack_products(X: Array) -> Array:
    """All products x_i x_j (i <= j) of each row: the packed outer product, without forming it."""
    rows, columns, _ = _triangle(X.shape[-1])
    return X[..., rows] * X[..., columns]
