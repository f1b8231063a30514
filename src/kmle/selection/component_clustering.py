"""Bregman hard clustering of the components of a mixture."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..families.base import BLOCK_NUMBERS
from ..merging import Merges
from ..numerics.arrays import Array
from .sides import Components, Side, Symmetric

STEPS = 30
# Clusterings of 1, 2, ..., k are built on each other while all their distances together are at most this many numbers.
CHAIN_NUMBERS = 1e7


@dataclass(frozen=True)
class Clustering:
    """Labels of the distributions, the natural parameters of the centers, and the weighted sum of distances."""

    labels: NDArray[np.intp]
    centers: Array
    loss: float


def clustering_of(side: Side, components: Components, labels: NDArray[np.intp]) -> Clustering:
    """The best centers for given labels 0, ..., k - 1; a cluster of one distribution keeps it as it is."""
    order = np.argsort(labels, kind="stable")
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    members, alone = components[order], sizes == 1
    natural = side.centroids(members, starts)
    natural[alone] = members.natural[starts[alone]]
    centers = Components.of(components.family, np.ones(len(starts)), natural)
    group = np.repeat(np.arange(len(starts)), sizes)
    own = np.where(alone[group], 0.0, side.paired(members, centers[group]))
    return Clustering(labels, centers.natural, float(members.weights @ own))


def nearest(side: Side, components: Components, natural: Array) -> tuple[NDArray[np.intp], Array]:
    """The nearest center of each distribution and its distance, block by block."""
    centers = Components.of(components.family, np.ones(len(natural)), natural)
    size = max(1, BLOCK_NUMBERS // len(natural))
    labels, distances = np.empty(len(components), dtype=np.intp), np.empty(len(components))
    for start in range(0, len(components), size):
        rows = slice(start, start + size)
        block = side.distances(components[rows], centers)
        labels[rows], distances[rows] = block.argmin(axis=1), block.min(axis=1)
    return labels, distances


def refined(side: Side, components: Components, labels: NDArray[np.intp]) -> Clustering:
    """Nearest centers and new centers in turn, as long as the loss falls; never worse than it began."""
    best = clustering_of(side, components, labels)
    k = len(best.centers)
    for _ in range(STEPS):
        following, distances = nearest(side, components, best.centers)
        following = _without_empties(following, components.weights * distances, k)
        if np.array_equal(following, best.labels):
            break
        clustering = clustering_of(side, components, following)
        if clustering.loss >= best.loss:
            break
        best = clustering
    return best


def _without_empties(labels: NDArray[np.intp], costs: Array, k: int) -> NDArray[np.intp]:
    """The costliest distributions that are not alone go where nobody is."""
    counts = np.bincount(labels, minlength=k)
    for empty in np.flatnonzero(counts == 0):
        component = int(np.argmax(np.where(counts[labels] > 1, costs, -1.0)))
        counts[labels[component]] -= 1
        counts[empty] = 1
        labels[component] = empty
        costs[component] = 0.0
    return labels


def _spread(side: Side, components: Components, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Labels by k components drawn one after the other, each with probability proportional to its distance so far."""
    chosen = [int(rng.choice(len(components), p=components.weights / components.weights.sum()))]
    labels, distances = (
        np.zeros(len(components), dtype=np.intp),
        side.distances(components, components[np.array(chosen)])[:, 0],
    )
    while len(chosen) < k:
        costs = components.weights * distances
        costs[chosen] = 0.0
        if not costs.sum() > 0:
            break
        component = int(rng.choice(len(components), p=costs / costs.sum()))
        to_new = side.distances(components, components[np.array([component])])[:, 0]
        to_new[component] = 0.0
        labels = np.where(to_new < distances, len(chosen), labels)
        distances = np.minimum(distances, to_new)
        chosen.append(component)
    labels[chosen] = np.arange(len(chosen))
    return _without_empties(labels, components.weights * distances, k)


def clusterings(
    side: Side, components: Components, merges: Merges, n_init: int, rng: np.random.Generator
) -> Iterator[Clustering]:
    """The best clustering found with 1, 2, ... clusters, each at least as good as the one before."""
    best = clustering_of(side, components, np.zeros(len(components), dtype=np.intp))
    yield best
    for k in range(2, len(components) + 1):
        costs = components.weights * nearest(side, components, best.centers)[1]
        starts = [
            merges.labels(k),
            _without_empties(best.labels.copy(), costs, k),
            *_starts(side, components, k, n_init, rng),
        ]
        best = min((refined(side, components, start) for start in starts), key=lambda found: found.loss)
        yield best


def clustered(
    side: Side, components: Components, merges: Merges, k: int, n_init: int, rng: np.random.Generator
) -> Clustering:
    """The best clustering found with k clusters."""
    if affordable(side, components, k):
        return next(found for found in clusterings(side, components, merges, n_init, rng) if len(found.centers) == k)
    starts = [merges.labels(k), *_starts(side, components, k, n_init, rng)]
    return min((refined(side, components, start) for start in starts), key=lambda found: found.loss)


def affordable(side: Side, components: Components, k: int) -> bool:
    """Whether clusterings are built on each other up to k."""
    return not isinstance(side, Symmetric) and len(components) * k**2 * components.natural.shape[1] <= CHAIN_NUMBERS


def _starts(
    side: Side, components: Components, k: int, n_init: int, rng: np.random.Generator
) -> list[NDArray[np.intp]]:
    return [_spread(side, components, k, generator) for generator in rng.spawn(n_init)]
