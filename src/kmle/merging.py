"""Merging clusters by what it costs: greedy agglomeration of anything known by a count and a sum.

A criterion gives every cluster a value; merging two costs value(a) + value(b) - value(a + b), so no data is examined
again. Up to some hundreds of clusters every pair is tried and each merge is the cheapest there is. Among more, each
examines its nearest neighbours only, which are found anew whenever half of the clusters have gone.
"""

from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .families import ExponentialFamily
from .families.base import BLOCK_NUMBERS
from .numerics.arrays import Array

# All pairs are tried while their sums take at most this many numbers.
COMPLETE_NUMBERS = 1 << 18
NEIGHBOURS = 16
# Among more clusters a new one keeps its cheapest partners only, or one that grows and grows would know them all.
PARTNERS = 48
# And at most this share of the clusters is merged before the new ones are examined, all at once.
BATCH = 1 / 16
# Where shares count, merges of large clusters gain more: fewer are made at once.
FREE_BATCH = 1 / 256
# With so many coordinates at most, neighbours are sought in trees, among so many times as many as are wanted.
TREE_COORDINATES = 12
TREE_CANDIDATES = 2


class Criterion(Protocol):
    """What clusters are worth, from their counts (m,) and sums (m, D)."""

    def value(self, counts: Array, sums: Array) -> Array:
        """The value of each cluster, (m,)."""
        ...

    def dual_points(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        """Each cluster's mean and the slope there of the convex function behind the value: they say who is near."""
        ...

    def share_loss(self, counts: Array, others: Array) -> Array | float:
        """The part of the loss that depends on the counts alone."""
        ...


@dataclass(frozen=True)
class Likelihood:
    """The largest log-likelihood of a cluster, n F*(eta), but for the part that no merge changes.

    With `free_weights` the clusters' shares count as well, n log n; a prior is `prior_strength` rows at `prior_moment`.

    >>> from kmle.families import Exponential
    >>> Likelihood(Exponential(n_features=1)).value(np.array([2.0]), np.array([[4.0]])).round(4)  # -2 (1 + log 2)
    array([-3.3863])
    """

    family: ExponentialFamily
    free_weights: bool = False
    prior_strength: float = 0.0
    prior_moment: Array | float = 0.0

    def _moments(self, counts: Array, sums: Array) -> Array:
        return (sums + self.prior_strength * np.asarray(self.prior_moment)) / (counts + self.prior_strength)[:, None]

    @cached_property
    def _prior_top(self) -> float:
        return float(self.family.conjugate(np.atleast_2d(self.prior_moment))[0])

    def value(self, counts: Array, sums: Array) -> Array:
        """(n + n0) F*(eta) - n0 F*(eta0), and n log n where the weights are free."""
        value = (counts + self.prior_strength) * self.family.conjugate(self._moments(counts, sums))
        if self.prior_strength > 0:
            value -= self.prior_strength * self._prior_top
        return value + _n_log_n(counts) if self.free_weights else value

    def dual_points(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        """Moments and natural parameters."""
        moments = self._moments(counts, sums)
        return moments, self.family.natural_from_moment(moments)

    def share_loss(self, counts: Array, others: Array) -> Array | float:
        """n log n + m log m - (n + m) log(n + m): a gain, as fewer components leave less uncertain."""
        if not self.free_weights:
            return 0.0
        return _n_log_n(counts) + _n_log_n(others) - _n_log_n(counts + others)


def _n_log_n(counts: Array) -> Array:
    return np.asarray(counts * np.log(counts))


@dataclass(frozen=True)
class Merges:
    """Merges of K clusters in order: the two of each (a merge makes cluster K + its place), and what it cost."""

    n_leaves: int
    pairs: NDArray[np.intp]
    losses: Array

    def labels(self, n_clusters: int) -> NDArray[np.intp]:
        """For each of the first clusters, the one of `n_clusters` it is part of, numbered by their first leaf.

        >>> Merges(3, np.array([[0, 2], [1, 3]]), np.array([0.5, 2.0])).labels(2)
        array([0, 1, 0])
        """
        K, made = self.n_leaves, self.n_leaves - n_clusters
        parent = np.arange(K + made)
        # From the last merge down: what a merge became is known before its two parts are examined.
        for place in range(made - 1, -1, -1):
            parent[self.pairs[place]] = parent[K + place]
        _, first, inverse = np.unique(parent[:K], return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[inverse]

    def linkage(self) -> Array:
        """Merges down to one cluster as SciPy's linkage matrix (K - 1, 4).

        Heights are the largest loss so far, and no less than zero, as a dendrogram must not turn back.
        """
        K = self.n_leaves
        sizes = np.ones(2 * K - 1)
        for place, pair in enumerate(self.pairs):
            sizes[K + place] = sizes[pair].sum()
        heights = np.maximum.accumulate(np.maximum(self.losses, 0.0)) if K > 1 else np.empty(0)
        return np.column_stack([np.sort(self.pairs, axis=1).astype(float), heights, sizes[K:]])


def agglomerate(criterion: Criterion, counts: Array, sums: Array, n_clusters: int = 1) -> tuple[Merges, Array]:
    """Merges clusters, the cheapest pair first, down to `n_clusters`; and the values of the clusters at the start."""
    forest = _Forest(criterion, counts, sums)
    while len(forest.active) > n_clusters:
        active = np.array(sorted(forest.active), dtype=np.intp)
        complete = len(active) ** 2 // 2 * sums.shape[1] <= COMPLETE_NUMBERS
        edges = np.column_stack(np.triu_indices(len(active), 1)) if complete else forest.neighbours_of(active)
        if complete:
            forest.contract(active[edges], n_clusters)
        else:
            forest.contract_many(active[edges], max(n_clusters, len(active) // 2))
    merges = Merges(len(counts), np.array(forest.pairs, dtype=np.intp).reshape(-1, 2), np.array(forest.losses))
    return merges, forest.values[: len(counts)]


class _Forest:
    """The clusters so far: leaves first, then one for every merge."""

    def __init__(self, criterion: Criterion, counts: Array, sums: Array) -> None:
        K = len(counts)
        self.criterion = criterion
        self.n_leaves = K
        self.counts = np.concatenate([counts, np.empty(K - 1)])
        self.sums = np.concatenate([sums, np.empty((K - 1, sums.shape[1]))])
        self.values = np.concatenate([criterion.value(counts, sums), np.empty(K - 1)])
        self.active = set(range(K))
        self.pairs: list[tuple[int, int]] = []
        self.losses: list[float] = []

    def neighbours_of(self, active: NDArray[np.intp]) -> NDArray[np.intp]:
        """Pairs (places in `alive`) of clusters that are near by the local form of the loss."""
        counts = self.counts[active]
        mean, slope = self.criterion.dual_points(counts, self.sums[active])
        n_near = min(NEIGHBOURS, len(active) - 1)
        near = _near_in_trees if mean.shape[1] <= TREE_COORDINATES else _near_among_all
        first, second = near(self.criterion, counts, mean, slope, n_near)
        ordered = np.sort(np.column_stack([first, second]), axis=1)
        keys = np.sort(ordered[:, 0] * len(active) + ordered[:, 1])
        return np.column_stack(np.divmod(keys[np.diff(keys, prepend=-1) > 0], len(active)))

    def _losses(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Array:
        """What merging each pair would cost, block by block."""
        size = max(1, BLOCK_NUMBERS // self.sums.shape[1])
        losses = self.values[first] + self.values[second]
        for start in range(0, len(first), size):
            a, b = first[start : start + size], second[start : start + size]
            merge = self.criterion.value(self.counts[a] + self.counts[b], self.sums[a] + self.sums[b])
            losses[start : start + size] -= merge
        return losses

    def contract(self, edges: NDArray[np.intp], n_clusters: int) -> None:
        """Merges along the edges, cheapest first, until `n_clusters` are left or there is no edge."""
        heap = list(zip(self._losses(*edges.T).tolist(), *edges.T.tolist(), strict=True))
        heapify(heap)
        neighbours: dict[int, set[int]] = {cluster: set() for cluster in self.active}
        for a, b in edges.tolist():
            neighbours[a].add(b)
            neighbours[b].add(a)
        while heap and len(self.active) > n_clusters:
            loss, a, b = heappop(heap)
            if a in self.active and b in self.active:
                new = self._merge(loss, a, b)
                _join(neighbours, a, b, new)
                others = np.array(sorted(neighbours[new]), dtype=np.intp)
                costs = self._losses(others, np.full_like(others, new)).tolist()
                for cost, other in zip(costs, others.tolist(), strict=True):
                    heappush(heap, (cost, other, new))

    def contract_many(self, edges: NDArray[np.intp], n_clusters: int) -> None:
        """Merges along the edges in rounds, until `n_clusters` are left or there is no edge.

        A round merges pairs that are each other's cheapest, the cheapest ones first and a small share of all.
        """
        losses = self._losses(*edges.T)
        shares_count = bool(np.any(self.criterion.share_loss(np.ones(1), np.ones(1)) != 0))
        batch = min(BATCH, FREE_BATCH) if shares_count else BATCH
        while len(edges) and len(self.active) > n_clusters:
            most = min(len(self.active) - n_clusters, int(np.ceil(batch * len(self.active))))
            chosen = _cheapest_for_both(edges, losses, most)
            into = np.arange(len(self.counts))
            for place in chosen.tolist():
                a, b = edges[place].tolist()
                into[[a, b]] = self._merge(float(losses[place]), a, b)
            edges, losses = self._relabelled(into[edges], losses, first_new=len(self.pairs) - len(chosen))

    def _relabelled(self, edges: NDArray[np.intp], losses: Array, first_new: int) -> tuple[NDArray[np.intp], Array]:
        """The edges after merges, each once, with the losses of those of new clusters, which keep the cheapest few."""
        size, new = len(self.counts), self.n_leaves + first_new
        ordered = np.sort(edges, axis=1)
        apart = ordered[:, 0] != ordered[:, 1]
        keys, first = np.unique(ordered[apart, 0] * size + ordered[apart, 1], return_index=True)
        edges, losses = np.column_stack(np.divmod(keys, size)), losses[apart][first]
        fresh = np.flatnonzero(edges[:, 1] >= new)  # the later one of a pair comes second
        losses[fresh] = self._losses(*edges[fresh].T)
        order = fresh[np.lexsort((losses[fresh], edges[fresh, 1]))]
        owners = edges[order, 1]
        rank = np.arange(len(order)) - np.searchsorted(owners, owners)
        kept = np.ones(len(edges), dtype=bool)
        kept[order[rank >= PARTNERS]] = False
        return edges[kept], losses[kept]

    def _merge(self, loss: float, a: int, b: int) -> int:
        new = self.n_leaves + len(self.pairs)
        self.counts[new] = self.counts[a] + self.counts[b]
        self.sums[new] = self.sums[a] + self.sums[b]
        self.values[new] = self.values[a] + self.values[b] - loss
        self.active -= {a, b}
        self.active.add(new)
        self.pairs.append((a, b))
        self.losses.append(loss)
        return new


def _join(neighbours: dict[int, set[int]], a: int, b: int, new: int) -> None:
    """The new cluster takes the place of the two it was made of."""
    neighbours[new] = (neighbours.pop(a) | neighbours.pop(b)) - {a, b}
    for other in neighbours[new]:
        neighbours[other] -= {a, b}
        neighbours[other].add(new)


def _cheapest_for_both(edges: NDArray[np.intp], losses: Array, most: int) -> NDArray[np.intp]:
    """Places of edges that are the cheapest of both their clusters, at most so many, the cheapest first."""
    order = np.argsort(losses, kind="stable")
    ends = edges[order].ravel()
    cheapest = np.zeros(int(ends.max()) + 1, dtype=np.intp)
    # Of what is written to one place more than once the last stays: here the cheapest edge.
    cheapest[ends[::-1]] = np.arange(len(ends))[::-1] // 2
    a, b = edges[order].T
    places = np.arange(len(order))
    return order[(cheapest[a] == places) & (cheapest[b] == places)][:most]


def _near_among_all(
    criterion: Criterion, counts: Array, mean: Array, slope: Array, n_near: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The nearest few of every cluster, all pairs compared block by block."""
    own = np.einsum("kd,kd->k", mean, slope)
    size = max(1, BLOCK_NUMBERS // len(counts))
    found = []
    for start in range(0, len(counts), size):
        rows = np.arange(start, min(start + size, len(counts)))
        # n m / (n + m) <slope - slope', mean - mean'> / 2: the loss of a merge to second order.
        distance = own - slope[rows] @ mean.T
        distance -= mean[rows] @ slope.T
        distance += own[rows, None]
        distance *= 0.5 * counts[rows, None] * (counts / (counts[rows, None] + counts))
        distance += criterion.share_loss(counts[rows, None], counts)
        distance[np.arange(len(rows)), rows] = np.inf
        found.append(np.argpartition(distance, n_near - 1, axis=1)[:, :n_near])
    return np.repeat(np.arange(len(counts)), n_near), np.concatenate(found).ravel()


def _near_in_trees(
    criterion: Criterion, counts: Array, mean: Array, slope: Array, n_near: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The same among those that are near by their means or by their slopes, each scaled (k-d trees, Bentley, 1975)."""
    wanted = min(TREE_CANDIDATES * n_near + 1, len(counts))
    from scipy.spatial import cKDTree  # it takes a tenth of a second to load

    near = [cKDTree(points).query(points, wanted)[1].reshape(len(counts), -1) for points in map(_scaled, (mean, slope))]
    first = np.repeat(np.arange(len(counts)), 2 * wanted)
    keys = np.sort(first * len(counts) + np.concatenate(near, axis=1).ravel())
    first, second = np.divmod(keys[np.diff(keys, prepend=-1) > 0], len(counts))
    apart = first != second
    first, second = first[apart], second[apart]
    loss = 0.5 * np.einsum("ed,ed->e", mean[first] - mean[second], slope[first] - slope[second])
    loss *= counts[first] * counts[second] / (counts[first] + counts[second])
    loss += criterion.share_loss(counts[first], counts[second])
    order = np.lexsort((loss, first))
    owners = first[order]
    rank = np.arange(len(order)) - np.searchsorted(owners, np.arange(len(counts)))[owners]
    chosen = order[rank < n_near]
    return first[chosen], second[chosen]


def _scaled(points: Array) -> Array:
    """Points with coordinates of unit spread that are not correlated; directions of no spread are left out."""
    centered = points - points.mean(axis=0)
    size = np.abs(centered).max(axis=0)
    centered = centered / np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(centered.T @ centered / len(points))
    kept = values > 1e-12 * values[-1]
    return centered if not kept.any() else np.asarray(centered @ vectors[:, kept] / np.sqrt(values[kept]))
