"""Bregman hard clustering of the components of a mixture."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..families.base import BLOCK_NUMBERS
from ..merging import Merges
from ..numerics.arrays import Array
from .sides import Laws, Side, Symmetric

STEPS = 30
# Clusterings of 1, 2, ..., k are built on each other while all their distances together are at most this many numbers.
CHAIN_NUMBERS = 1e7


@dataclass(frozen=True)
class Clustering:
    """Labels of the laws, the natural parameters of the centres, and the weighted sum of distances."""

    labels: NDArray[np.intp]
    centres: Array
    loss: float


def clustering_of(side: Side, laws: Laws, labels: NDArray[np.intp]) -> Clustering:
    """The best centres for given labels 0, ..., k - 1; a cluster of one law keeps it as it is."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    members, alone = laws[order], sizes == 1
    natural = side.centroids(members, starts)
    natural[alone] = members.natural[starts[alone]]
    centres = Laws.of(laws.family, np.ones(len(starts)), natural)
    group = np.repeat(np.arange(len(starts)), sizes)
    own = np.where(alone[group], 0.0, side.paired(members, centres[group]))
    return Clustering(labels, centres.natural, float(members.weights @ own))


def nearest(side: Side, laws: Laws, natural: Array) -> tuple[NDArray[np.intp], Array]:
    """The nearest centre of each law and its distance, block by block."""
    centres = Laws.of(laws.family, np.ones(len(natural)), natural)
    size = max(1, BLOCK_NUMBERS // len(natural))
    labels, distances = np.empty(len(laws), dtype=np.intp), np.empty(len(laws))
    for start in range(0, len(laws), size):
        rows = slice(start, start + size)
        block = side.distances(laws[rows], centres)
        labels[rows], distances[rows] = block.argmin(axis=1), block.min(axis=1)
    return labels, distances


def refined(side: Side, laws: Laws, labels: NDArray[np.intp]) -> Clustering:
    """Nearest centres and new centres in turn, as long as the loss falls; never worse than it began."""
    best = clustering_of(side, laws, labels)
    k = len(best.centres)
    for _ in range(STEPS):
        following, distances = nearest(side, laws, best.centres)
        following = _without_empties(following, laws.weights * distances, k)
        if np.array_equal(following, best.labels):
            break
        clustering = clustering_of(side, laws, following)
        if clustering.loss >= best.loss:
            break
        best = clustering
    return best


def _without_empties(labels: NDArray[np.intp], costs: Array, k: int) -> NDArray[np.intp]:
    """The costliest laws that are not alone go where nobody is."""
    counts = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(counts == 0):
        law = int(np.argmax(np.where(counts[labels] > 1, costs, -1.0)))
        counts[labels[law]] -= 1
        counts[empty] = 1
        labels[law] = empty
        costs[law] = 0.0
    return labels


def _spread(side: Side, laws: Laws, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Labels by k laws drawn one after the other, each with probability proportional to its distance so far."""
    chosen = [int(rng.choice(len(laws), p=laws.weights / laws.weights.sum()))]
    labels, distances = np.zeros(len(laws), dtype=np.intp), side.distances(laws, laws[np.array(chosen)])[:, 0]
    while len(chosen) < k:
        costs = laws.weights * distances
        costs[chosen] = 0.0
        if not costs.sum() > 0:
            break
        law = int(rng.choice(len(laws), p=costs / costs.sum()))
        to_new = side.distances(laws, laws[np.array([law])])[:, 0]
        to_new[law] = 0.0
        labels = np.where(to_new < distances, len(chosen), labels)
        distances = np.minimum(distances, to_new)
        chosen.append(law)
    labels[chosen] = np.arange(len(chosen))
    return _without_empties(labels, laws.weights * distances, k)


def clusterings(side: Side, laws: Laws, merges: Merges, n_init: int, rng: np.random.Generator) -> Iterator[Clustering]:
    """The best clustering found with 1, 2, ... clusters, each at least as good as the one before."""
    best = clustering_of(side, laws, np.zeros(len(laws), dtype=np.intp))
    yield best
    for k in range(2, len(laws) + 1):
        costs = laws.weights * nearest(side, laws, best.centres)[1]
        starts = [
            merges.labels(k),
            _without_empties(best.labels.copy(), costs, k),
            *_starts(side, laws, k, n_init, rng),
        ]
        best = min((refined(side, laws, start) for start in starts), key=lambda found: found.loss)
        yield best


def clustered(side: Side, laws: Laws, merges: Merges, k: int, n_init: int, rng: np.random.Generator) -> Clustering:
    """The best clustering found with k clusters."""
    if affordable(side, laws, k):
        return next(found for found in clusterings(side, laws, merges, n_init, rng) if len(found.centres) == k)
    starts = [merges.labels(k), *_starts(side, laws, k, n_init, rng)]
    return min((refined(side, laws, start) for start in starts), key=lambda found: found.loss)


def affordable(side: Side, laws: Laws, k: int) -> bool:
    """Whether clusterings are built on each other up to k."""
    return not isinstance(side, Symmetric) and len(laws) * k**2 * laws.natural.shape[1] <= CHAIN_NUMBERS


def _starts(side: Side, laws: Laws, k: int, n_init: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    return [_spread(side, laws, k, generator) for generator in rng.spawn(n_init)]
