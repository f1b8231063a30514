"""A small sample of rows that depends on their values alone, not on their order or on how often a row is written."""

import numpy as np
from numpy.typing import NDArray

from ..data.distinct import fingerprints
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Problem

# Rows for each free parameter of a mixture, and the fewest in all.
ROWS_PER_PARAMETER = 10
FEWEST_ROWS = 2000
# At most this many rows, or as many as columns, are counted for a component: rows of many columns say much each.
MOST_PARAMETERS = 100
# Rows per component that are enough to tell components of sparse rows apart; they say little of most parameters.
SPARSE_ROWS_EACH = 100


def sample_rows(problem: LearningProblem, n_components: int) -> int:
    """How many rows are enough to compare starts of a mixture."""
    each = ROWS_PER_PARAMETER * min(problem.n_statistics + 1, max(MOST_PARAMETERS, problem.family.n_features or 1))
    if problem.row_values < problem.n_statistics:
        each = min(each, SPARSE_ROWS_EACH)
    return FEWEST_ROWS + n_components * each


def representative(problem: LearningProblem, size: int, key: int) -> Problem:
    """The problem on at most `size` distinct rows, drawn with probability proportional to their weights.

    Equal rows count as one with their weights added. Each has a random number made of its values and the key, divided
    by its weight; the smallest are drawn (bottom-k sampling, Cohen and Kaplan, 2007). They come in an order that their
    values determine.
    """
    part = problem.sample
    rows = part.rows
    numbers = _fingerprints(rows)
    distinct, first, group = np.unique(numbers, return_index=True, return_inverse=True)
    own = np.ones(len(rows)) if rows.weights is None else rows.weights
    weights = np.bincount(group.ravel(), own, len(distinct)).astype(float)
    if len(distinct) > size:
        keys = _exponentials(distinct, key) / weights
        chosen = np.sort(np.argpartition(keys, size)[:size])
        threshold = np.partition(keys, size)[size]
        # The weight of a drawn row stands for those of its weight that were not drawn.
        weights = weights[chosen] / -np.expm1(-weights[chosen] * threshold)
        weights *= size / weights.sum()
        first = first[chosen]
    return Problem.like(part, _weighted(rows, first, weights))


def _weighted(rows: Rows | SparseRows, chosen: NDArray[np.intp], weights: Array) -> Rows | SparseRows:
    equal = bool(np.all(np.abs(weights - 1) < 1e-12))
    if isinstance(rows, SparseRows):
        return SparseRows(rows.family, rows.X[chosen], None if equal else weights, rows.n_threads)
    return Rows(rows.family, rows.X[chosen], None if equal else weights, rows.center, rows.n_threads)


def _fingerprints(rows: Rows | SparseRows) -> NDArray[np.uint64]:
    if isinstance(rows, SparseRows):
        # Equal rows have equal products with any vector.
        direction = np.random.default_rng(0).standard_normal(rows.X.shape[1])
        return fingerprints(np.asarray(rows.X @ direction)[:, np.newaxis])
    return fingerprints(rows.X.astype(float, copy=False))


def _exponentials(numbers: NDArray[np.uint64], key: int) -> Array:
    """Exponential random numbers, each made of one number and the key (SplitMix64, Steele et al., 2014)."""
    with np.errstate(over="ignore"):
        mixed = (numbers ^ np.uint64(key)) + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed ^= mixed >> np.uint64(31)
    uniform = ((mixed >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53
    return -np.log(uniform)
