"""What tells data from other data: checksums and digests of its content, of evenly spread blocks where it is large.

Numbers count, not how they are stored: the same rows have the same digest in float32, in float64, and in any layout.
"""

import zlib
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import Array

# Rows are read in blocks of about this many bytes, so that a block costs hardly more than a row.
BLOCK_BYTES = 1 << 10
# What a checksum and a digest read at most, in bytes of float64.
CHECKSUM_BYTES = 1 << 14
DIGEST_BYTES = 1 << 24


def checksum(X: Any, weights: Array | None) -> int:
    """A quick one of a batch, from 16 kB of it at most.

    >>> checksum(np.eye(2), None) == checksum(np.eye(2, dtype=np.float32), None) != checksum(2 * np.eye(2), None)
    True
    """
    found = 0
    for part in _parts(X, weights, CHECKSUM_BYTES):
        found = zlib.crc32(part, found)
    return found


def digest(X: Any, weights: Array | None) -> str:
    """One of a table, dense or sparse, and the weights of its rows, from 16 MB of both at most."""
    hasher = sha256(usedforsecurity=False)
    for part in _parts(X, weights, DIGEST_BYTES):
        hasher.update(part)
    return hasher.hexdigest()


def merged(checksums: tuple[int, ...]) -> str:
    """The digest of several batches, in their order."""
    return sha256(np.array(checksums, dtype=np.uint64).tobytes(), usedforsecurity=False).hexdigest()


def _parts(X: Any, weights: Array | None, most: int) -> Iterator[bytes | memoryview]:
    """The shape, then rows and weights of the same places."""
    yield np.array([*X.shape, weights is not None], dtype=np.int64).tobytes()
    entries = X.shape[1] if isinstance(X, np.ndarray) else X.nnz / max(X.shape[0], 1)
    places = _places(X.shape[0], 8 * max(1, round(entries)), most)
    for part in _arrays(X[places]):
        yield np.ascontiguousarray(part, dtype=np.float64).data
    if weights is not None:
        yield np.ascontiguousarray(weights[places], dtype=np.float64).data


def _arrays(rows: Any) -> list[NDArray[Any]]:
    """Dense rows, or all that sparse ones consist of; zeros have no sign."""
    return [rows + 0.0] if isinstance(rows, np.ndarray) else [rows.data + 0.0, rows.indices, rows.indptr]


def _places(n_rows: int, row_bytes: int, most: int) -> slice | NDArray[np.intp]:
    """All rows, or blocks of them from the first to the last."""
    if n_rows * row_bytes <= most:
        return slice(None)
    size = max(1, BLOCK_BYTES // row_bytes)
    count = max(2, most // (size * row_bytes))
    firsts = np.linspace(0, n_rows - size, count).astype(np.intp)
    return np.asarray((firsts[:, None] + np.arange(size)).ravel())
