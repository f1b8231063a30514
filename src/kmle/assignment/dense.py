"""The dense engine: every row against every component, block by block, on the kernels.

Where packed scores would lose digits (components very narrow for their distance from the origin) the family's direct
densities take their place; they cost more and are exact to rounding.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from .. import kernels
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .rows import Rows

Labels = NDArray[np.int32]
# Scores whose rounding error may exceed this many nats are computed directly, where the family can.
SCORE_ERROR = 1e-6


def score_error(largest: Array, natural: Array, bias: Array, precision: float) -> float:
    """A bound on the rounding error of the packed scores of living components, in nats."""
    alive = np.isfinite(bias)
    magnitude = np.abs(natural[alive]) @ largest + np.abs(bias[alive])
    return float(precision * magnitude.max(initial=0.0))


def hard_pass(rows: Rows, natural: Array, bias: Array, direct: Array | None = None) -> tuple[Labels, ClusterStatistics]:
    """Labels (n,) of the highest scores <t, natural_j> + bias_j, and the statistics of the clusters.

    With log-weights as `direct` the scores come from the family's direct densities.
    """
    labels = np.empty(len(rows), dtype=np.int32)

    def visit(block: slice, t: Array) -> ClusterStatistics:
        if direct is not None:
            joint, carrier = direct_joint(rows, block, natural, direct)
            labels[block] = joint.argmax(axis=1)
            best = joint[np.arange(len(t)), labels[block]] - carrier
        else:
            labels[block], best = kernels.assign(t, natural, bias)
        counts, sums = kernels.label_sums(t, labels[block], len(natural), rows.weights_of(block))
        return ClusterStatistics(counts, sums, _weighted_sum(rows, block, best))

    return labels, _added(rows.map(visit), len(natural), rows.order)


def sums_of_labels(rows: Rows, labels: Labels, n_components: int) -> ClusterStatistics:
    """The statistics of given labels; their score is not known and stays zero."""

    def visit(block: slice, t: Array) -> ClusterStatistics:
        counts, sums = kernels.label_sums(t, labels[block], n_components, rows.weights_of(block))
        return ClusterStatistics(counts, sums, 0.0)

    return _added(rows.map(visit), n_components, rows.order)


def soft_pass(
    rows: Rows, natural: Array, bias: Array, direct: Array | None = None, n_kept: int | None = None
) -> ClusterStatistics:
    """Statistics weighted by responsibilities; with `n_kept`, only the largest of each row count, rescaled to one.

    The score is the sum of log sum_j exp(score_j) over the components kept.
    """
    k = len(natural)

    def visit(block: slice, t: Array) -> ClusterStatistics:
        weights = rows.weights_of(block)
        if direct is None and (n_kept is None or n_kept >= k):
            counts, sums, evidence = kernels.posterior_sums(t, natural, bias, weights)
            return ClusterStatistics(counts, sums, _weighted_sum(rows, block, evidence))
        carrier: Array | float = 0.0
        if direct is None:
            scores = _packed_scores(t, natural, bias)
        else:
            scores, carrier = direct_joint(rows, block, natural, direct)
        kept_counts, kept_sums, kept_evidence = _soft_sums(t, scores, weights, k if n_kept is None else min(n_kept, k))
        return ClusterStatistics(kept_counts, kept_sums, _weighted_sum(rows, block, kept_evidence - carrier))

    return _added(rows.map(visit), k, rows.order)


def _packed_scores(t: Array, natural: Array, bias: Array) -> Array:
    alive = np.isfinite(bias)
    scores = np.full((len(t), len(natural)), -np.inf)
    scores[:, alive] = t.astype(float, copy=False) @ natural[alive].T + bias[alive]
    return scores


def _added(parts: Iterable[ClusterStatistics], n_components: int, order: int) -> ClusterStatistics:
    total = ClusterStatistics.zeros(n_components, order)
    for part in parts:
        total += part
    return total


def _weighted_sum(rows: Rows, block: slice, values: Array) -> float:
    weights = rows.weights_of(block)
    return float(values.sum() if weights is None else weights @ values)


def _soft_sums(t: Array, scores: Array, weights: Array | None, n_kept: int) -> tuple[Array, Array, Array]:
    kept = scores
    if n_kept < scores.shape[1]:
        # A stable sort of the negated scores keeps the lowest indices among equals.
        dropped = np.argsort(-scores, axis=1, kind="stable")[:, n_kept:]
        kept = scores.copy()
        np.put_along_axis(kept, dropped, -np.inf, axis=1)
    evidence = np.asarray(logsumexp(kept, axis=1))
    responsibilities = np.exp(kept - evidence[:, None])
    if weights is not None:
        responsibilities *= weights[:, None]
    return responsibilities.sum(axis=0), responsibilities.T @ t.astype(float, copy=False), evidence


def direct_joint(rows: Rows, block: slice, natural: Array, log_weights: Array) -> tuple[Array, Array]:
    """log p + log w (n, k) from the family's direct densities, and k(x), by which they exceed the scores.

    Scores alone would do, but where k(x) is huge its digits would cover those that tell components apart.
    """
    family = rows.family
    X = rows.seen_from_origin(block).astype(float, copy=False)
    alive = np.isfinite(log_weights)
    density = family.direct_log_density(X, natural[alive])
    if density is None:
        raise ValueError(f"{family.name} has no direct densities: its packed scores serve")
    joint = np.full((len(X), len(natural)), -np.inf)
    joint[:, alive] = density + log_weights[alive]
    return joint, family.log_carrier(X)


def worst_row(rows: Rows, natural: Array, bias: Array) -> int:
    """The row with the lowest best log-density: the one these components explain worst."""
    lowest, place = np.inf, 0
    for block, t in rows.blocks():
        _, best = kernels.assign(t, natural, bias)
        density = best + rows.family.log_carrier(rows.X[block].astype(float, copy=False))
        candidate = int(np.argmin(density))
        if density[candidate] < lowest:
            lowest, place = float(density[candidate]), block.start + candidate
    return place
