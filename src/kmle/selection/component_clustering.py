"""Bregman hard clustering of the components of a mixture."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels import Clusters, PackedRows
from ..merging import Merges
from ..numerics.arrays import Array
from .sides import Components, Groups, Side, Symmetric

STEPS = 30
# Clusterings of 1, 2, ..., k are built on each other while all their distances together are at most this many numbers.
CHAIN_NUMBERS = 1e7


@dataclass(frozen=True)
class Clustering:
    """Labels of the distributions, the natural parameters of the centers, and the weighted sum of distances."""

    labels: NDArray[np.intp]
    centers: Array
    loss: float


class ComponentRows:
    """Distributions as rows of the kernels: their points are the statistics, directions and biases of centers the
    components.
    """

    def __init__(self, side: Side, components: Components) -> None:
        self.side, self.components = side, components
        self.points, self.own = side.points(components), side.own(components)
        self._weighted_own = components.weights * self.own
        self._packed = PackedRows(len(components), self.points.shape[1], weights=components.weights)
        self._packed.load(0, self.points)

    def __len__(self) -> int:
        return len(self.components)

    def distances(self, component: int) -> Array:
        """What it costs each distribution to be stood for by one of them, (K,)."""
        directions, bias = self.side.scoring(self.components.family, self.components.natural[[component]])
        return np.maximum(self.own + bias[0] - self.points @ directions[0], 0.0)

    def costs(self, clustering: Clustering) -> Array:
        """What each distribution adds to the loss of a clustering, (K,)."""
        directions, bias = self.side.scoring(self.components.family, clustering.centers)
        scores = np.einsum("kp,kp->k", self.points, directions[clustering.labels]) - bias[clustering.labels]
        return self.components.weights * np.maximum(self.own - scores, 0.0)

    def nearest(self, natural: Array) -> NDArray[np.intp]:
        """The nearest of some centers (k, D) to each distribution, (K,)."""
        labels = np.empty(len(self), dtype=np.int32)
        directions, bias = self.side.scoring(self.components.family, natural)
        self._packed.label_rows(directions, -bias, labels)
        return labels.astype(np.intp)

    def clustered(self, labels: NDArray[np.intp]) -> tuple[Clustering, NDArray[np.intp], NDArray[np.int64]]:
        """The best centers for labels 0, ..., k - 1; then the nearest of these to each distribution, and how many they
        have.

        A cluster of one distribution keeps it as it is.
        """
        k = int(labels.max()) + 1
        groups = Groups(self.components, labels, *self._packed.label_sums(labels, k))
        natural, alone = self.side.centroids(groups), np.bincount(labels, minlength=k) == 1
        single = np.flatnonzero(alone[labels]) if alone.any() else np.zeros(0, dtype=np.intp)
        natural[labels[single]] = self.components.natural[single]
        directions, bias = self.side.scoring(self.components.family, natural)
        losses = np.bincount(labels, self._weighted_own, k) + groups.weights * bias
        losses -= np.einsum("kp,kp->k", groups.sums, directions)
        loss = float(np.where(alone, 0.0, np.maximum(losses, 0.0)).sum())
        following = Clusters.empty(len(self), k, self.points.shape[1])
        self._packed.hard_pass(directions, -bias, following)
        return Clustering(labels, natural, loss), following.labels.astype(np.intp), following.sizes


def clustering_of(rows: ComponentRows, labels: NDArray[np.intp]) -> Clustering:
    """The best centers for given labels 0, ..., k - 1."""
    return rows.clustered(labels)[0]


def refined(rows: ComponentRows, labels: NDArray[np.intp]) -> Clustering:
    """Nearest centers and new centers in turn, as long as the loss falls; never worse than it began."""
    best, following, sizes = rows.clustered(labels)
    for _ in range(STEPS):
        if not sizes.all():
            reached = Clustering(following, best.centers, best.loss)
            following = _without_empties(following, rows.costs(reached), len(best.centers))
        if np.array_equal(following, best.labels):
            break
        clustering, following, sizes = rows.clustered(following)
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


def _spread(rows: ComponentRows, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Labels by k components drawn one after the other, each with probability proportional to its distance so far."""
    weights = rows.components.weights
    chosen = [int(rng.choice(len(rows), p=weights / weights.sum()))]
    labels, distances = np.zeros(len(rows), dtype=np.intp), rows.distances(chosen[0])
    while len(chosen) < k:
        costs = weights * distances
        costs[chosen] = 0.0
        if not costs.sum() > 0:
            break
        component = int(rng.choice(len(rows), p=costs / costs.sum()))
        to_new = rows.distances(component)
        to_new[component] = 0.0
        labels = np.where(to_new < distances, len(chosen), labels)
        distances = np.minimum(distances, to_new)
        chosen.append(component)
    labels[chosen] = np.arange(len(chosen))
    return _without_empties(labels, weights * distances, k)


def clusterings(rows: ComponentRows, merges: Merges, n_init: int, rng: np.random.Generator) -> Iterator[Clustering]:
    """The best clustering found with 1, 2, ... clusters, each at least as good as the one before."""
    best = clustering_of(rows, np.zeros(len(rows), dtype=np.intp))
    yield best
    for k in range(2, len(rows) + 1):
        starts = [
            merges.labels(k),
            _without_empties(best.labels.copy(), rows.costs(best), k),
            *_starts(rows, k, n_init, rng),
        ]
        best = min((refined(rows, start) for start in starts), key=lambda found: found.loss)
        yield best


def clustered(rows: ComponentRows, merges: Merges, k: int, n_init: int, rng: np.random.Generator) -> Clustering:
    """The best clustering found with k clusters."""
    if affordable(rows, k):
        return next(found for found in clusterings(rows, merges, n_init, rng) if len(found.centers) == k)
    starts = [merges.labels(k), *_starts(rows, k, n_init, rng)]
    return min((refined(rows, start) for start in starts), key=lambda found: found.loss)


def affordable(rows: ComponentRows, k: int) -> bool:
    """Whether clusterings are built on each other up to k."""
    numbers = len(rows) * k**2 * rows.components.natural.shape[1]
    return not isinstance(rows.side, Symmetric) and numbers <= CHAIN_NUMBERS


def _starts(rows: ComponentRows, k: int, n_init: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    return [_spread(rows, k, generator) for generator in rng.spawn(n_init)]
