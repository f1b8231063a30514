"""The paper's split: rows in order, cut into groups of equal size, each group a component."""

import numpy as np

from ..data.sparse import SparseRows
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters


def quantile(problem: LearningProblem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Groups of equal weight along the line: a single column as it is, several along their longest axis.

    Many rows are represented by a sample of them.
    """
    rows = problem.sample.rows
    if isinstance(rows, SparseRows):
        raise ValueError("init='quantile' does not take sparse rows: use 'k-mle++'")
    n = len(rows)
    weights = np.ones(n) if rows.weights is None else rows.weights
    line = _line(rows.filled().X, weights)
    order = np.argsort(line, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    groups = np.minimum((n_components * before / weights.sum()).astype(np.int32), n_components - 1)
    labels = np.empty(n, dtype=np.int32)
    labels[order] = groups
    # Equal rows stay together, in the first of their groups.
    _, inverse = np.unique(line, return_inverse=True)
    lowest = np.full(inverse.max() + 1, n_components, dtype=np.int32)
    np.minimum.at(lowest, inverse.ravel(), labels)
    return problem.first_parameters(problem.sample.gather(lowest[inverse.ravel()], n_components))


def _line(X: Array, weights: Array) -> Array:
    """One number per row: the column itself, or the coordinate along the longest axis of the scaled columns."""
    if X.shape[1] == 1:
        return X[:, 0].astype(float)
    shares = weights / weights.sum()
    centered = X - shares @ X
    scale = np.sqrt(shares @ centered**2)
    scaled = centered / np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh((scaled * shares[:, None]).T @ scaled)
    axis = vectors[:, np.argmax(values)]
    # An axis has no direction of its own; the first of its large entries is made positive to give the groups an order.
    return scaled @ (axis * np.sign(axis[np.argmax(np.abs(axis) > 0.5 * np.abs(axis).max())]))
