"""Every kernel in plain NumPy: the statement of what the compiled ones compute, and their stand-in.

The functions have the names and arguments of those in `kmle.kernels`, which checks them before it calls.
Rows are taken in blocks, so no (n, k) array is ever held.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Statistics = NDArray[np.float32] | Floats

VALUES_PER_BLOCK = 2**17  # 1 MB of float64: a block and its scores stay in the cache
EPSILON = float(np.finfo(np.float64).eps)


def assign(statistics: Statistics, natural: Floats, bias: Floats) -> tuple[NDArray[np.int32], Floats]:
    """The best component of each row and its score (see `kmle.kernels.assign`)."""
    labels = np.empty(len(statistics), dtype=np.int32)
    best = np.empty(len(statistics))
    natural = _without_dead(natural, bias)
    for rows, block in _blocks(statistics, *natural.shape):
        scores = block @ natural.T + bias
        near_tie = _has_near_tie(scores, block, natural, bias)
        scores[near_tie] = _scores_in_order(block[near_tie], natural, bias)
        labels[rows] = scores.argmax(axis=1)
        best[rows] = scores.max(axis=1)
    return labels, best


def label_sums(
    statistics: Statistics, labels: NDArray[np.int32], n_labels: int, weights: Floats | None = None
) -> tuple[Floats, Floats]:
    """Weighted counts and sums of the rows of each label (see `kmle.kernels.label_sums`)."""
    counts = np.zeros(n_labels)
    sums = np.zeros((n_labels, statistics.shape[1]))
    for rows, block in _blocks(statistics, 1, statistics.shape[1]):
        size = len(block)
        weight = np.ones(size) if weights is None else weights[rows]
        membership = csr_array((weight, labels[rows], np.arange(size + 1)), shape=(size, n_labels)).T
        counts += membership @ np.ones(size)
        sums += membership @ block
    return counts, sums


def posterior_sums(
    statistics: Statistics, natural: Floats, bias: Floats, weights: Floats | None = None
) -> tuple[Floats, Floats, Floats]:
    """Weighted counts and sums by responsibility, and log-evidence (see `kmle.kernels.posterior_sums`)."""
    counts = np.zeros(len(natural))
    sums = np.zeros(natural.shape)
    log_evidence = np.full(len(statistics), -np.inf)
    if np.all(np.isneginf(bias)):
        return counts, sums, log_evidence  # every component is dead: no row belongs to any
    natural = _without_dead(natural, bias)
    for rows, block in _blocks(statistics, *natural.shape):
        scores = block @ natural.T + bias
        top = scores.max(axis=1, keepdims=True)
        shares = np.exp(scores - top)
        total = shares.sum(axis=1, keepdims=True)
        log_evidence[rows] = (top + np.log(total))[:, 0]
        shares *= (1.0 if weights is None else weights[rows, np.newaxis]) / total
        counts += shares.sum(axis=0)
        sums += shares.T @ block
    return counts, sums, log_evidence


def _blocks(statistics: Statistics, n_components: int, order: int) -> Iterator[tuple[slice, Floats]]:
    """Blocks of rows as contiguous float64, small enough for the block and its scores."""
    step = max(1, VALUES_PER_BLOCK // max(n_components, order, 1))
    for first in range(0, len(statistics), step):
        rows = slice(first, first + step)
        yield rows, np.ascontiguousarray(statistics[rows], dtype=np.float64)


def _without_dead(natural: Floats, bias: Floats) -> Floats:
    """Zeros for the dead components (bias of -inf): theirs may be anything, NaN included."""
    return np.where(np.isneginf(bias)[:, np.newaxis], 0.0, natural)


def _has_near_tie(scores: Floats, block: Floats, natural: Floats, bias: Floats) -> NDArray[np.bool_]:
    """Rows whose best two scores are closer than the rounding error of a matrix product may be.

    A matrix product sums in an order of its own, even from one column to the next, so it may tell equal
    components apart: those rows are summed again in a fixed order.
    """
    largest_bias = np.abs(bias, where=np.isfinite(bias), out=np.zeros_like(bias)).max()
    magnitude = np.abs(block) @ np.abs(natural).max(axis=0) + largest_bias
    tolerance = 4 * EPSILON * (natural.shape[1] + 2) * magnitude
    contenders = scores >= (scores.max(axis=1) - tolerance)[:, np.newaxis]
    return np.count_nonzero(contenders, axis=1) > 1


def _scores_in_order(block: Floats, natural: Floats, bias: Floats) -> Floats:
    """The scores, summed in the order of the statistics and rounded at every step, as when compiled."""
    scores = np.tile(bias, (len(block), 1))
    for column, coefficient in zip(block.T, natural.T, strict=True):
        scores += np.multiply.outer(column, coefficient)
    return scores
