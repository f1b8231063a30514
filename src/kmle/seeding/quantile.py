"""The paper's split: rows in order, cut into groups of equal size, each group a component."""

import numpy as np

from ..assignment.problem import Parameters, Problem
from ..assignment.sparse import SparseRows
from ..numerics.arrays import Array


def quantile(problem: Problem, n_components: int, rng: np.random.Generator) -> Parameters:
    """Groups of equal weight along the line: a single column as it is, several along their longest axis."""
    if isinstance(problem.rows, SparseRows):
        raise ValueError("init='quantile' does not take sparse rows: use 'k-mle++'")
    line = _line(problem.rows.X)
    order = np.argsort(line, kind="stable")
    weights = np.ones(len(line)) if problem.rows.weights is None else problem.rows.weights
    before = np.cumsum(weights[order]) - weights[order]
    groups = np.minimum((n_components * before / weights.sum()).astype(np.int32), n_components - 1)
    labels = np.empty(len(line), dtype=np.int32)
    labels[order] = groups
    # Equal rows stay together, in the first of their groups.
    _, inverse = np.unique(line, return_inverse=True)
    lowest = np.full(inverse.max() + 1, n_components, dtype=np.int32)
    np.minimum.at(lowest, inverse.ravel(), labels)
    return problem.first_parameters(problem.gather(lowest[inverse.ravel()], n_components))


def _line(X: Array) -> Array:
    """One number a row: the column itself, or the coordinate along the longest axis of the scaled columns."""
    if X.shape[1] == 1:
        return X[:, 0].astype(float)
    centred = X - X.mean(axis=0, dtype=float)
    scale = np.sqrt(np.einsum("nd,nd->d", centred, centred) / len(X))
    scaled = centred / np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    axis = vectors[:, np.argmax(values)]
    # An axis has no direction of its own; the largest entry is made positive so that the groups have an order.
    return scaled @ (axis * np.sign(axis[np.argmax(np.abs(axis))]))
