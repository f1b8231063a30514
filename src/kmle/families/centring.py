"""Where rows are measured from, so that their squares keep their digits."""

import numpy as np

from ..numerics.arrays import Array


def centre_of_columns(X: Array, weights: Array | None) -> Array:
    """The (weighted) mean of each column; of a constant column exactly its value, so that nothing is left of it."""
    mean = X.mean(axis=0, dtype=float) if weights is None else weights @ X / weights.sum()
    return np.where(X.min(axis=0) == X.max(axis=0), X[0].astype(float), mean)
