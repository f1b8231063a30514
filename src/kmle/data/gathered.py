"""The distinct rows of data in chunks, with what they weigh: for estimates that look at rows more than once."""

from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array
from .batches import Chunk

# The most distinct rows that are kept.
MOST_ROWS = 4_000_000


@dataclass(frozen=True)
class Gathered:
    """Distinct rows (m, d) and their weights (m,), of all chunks so far; None where there were too many.

    >>> one, two = (gather(Chunk(np.array([[1.0], [value]]), None)) for value in (1.0, 3.0))
    >>> (one + two).X.ravel(), (one + two).weights
    (array([1., 3.]), array([3., 1.]))
    """

    X: Array | None
    weights: Array | None
    n_rows: int
    n_weighty: int
    """How many rows have a positive weight."""

    def __add__(self, other: "Gathered") -> "Gathered":
        numbers = self.n_rows + other.n_rows, self.n_weighty + other.n_weighty
        if self.X is None or other.X is None or self.weights is None or other.weights is None:
            return Gathered(None, None, *numbers)
        X, weights = _distinct(np.concatenate([self.X, other.X]), np.concatenate([self.weights, other.weights]))
        return Gathered(X, weights, *numbers) if len(X) <= MOST_ROWS else Gathered(None, None, *numbers)


def gather(chunk: Chunk) -> Gathered:
    """The distinct rows of a chunk."""
    own = np.ones(len(chunk)) if chunk.weights is None else np.asarray(chunk.weights, dtype=float)
    X, weights = _distinct(np.asarray(chunk.X, dtype=float), own)
    return Gathered(X, weights, len(chunk), int((own > 0).sum()))


def _distinct(X: Array, weights: Array) -> tuple[Array, Array]:
    if X.shape[1] == 1:
        values, places = np.unique(X[:, 0], return_inverse=True)
        values = values[:, None]
    else:
        values, places = np.unique(X, axis=0, return_inverse=True)
    return values, np.bincount(places.ravel(), weights, len(values)).astype(float)
