"""Where rows are measured from, so that their squares keep their digits."""

import numpy as np

from ..kernels import survey
from ..numerics.arrays import Array


def centre_of_columns(X: Array, weights: Array | None) -> Array:
    """The (weighted) mean of each column; of a constant column exactly its value, so that nothing is left of it."""
    seen = survey(X)
    mean = seen.totals / len(X) if weights is None else weights @ X / weights.sum()
    return np.where(seen.lowest == seen.highest, X[0].astype(float), mean)
