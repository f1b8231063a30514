"""Merging clusters by what it costs: greedy agglomeration of anything known by a count and a sum.

A criterion gives every cluster a value; merging two costs value(a) + value(b) - value(a + b), so no data is examined
again. Up to some hundreds of clusters every pair is tried and each merge is the cheapest there is. Among more, each
examines its nearest neighbours only, which are found anew whenever half of the clusters have gone.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from .families import ExponentialFamily
from .families.layout import BLOCK_NUMBERS
from .numerics.arrays import Array
from .numerics.threads import available_threads
from .problem.model import Model

# All pairs are tried while their sums take at most this many numbers.
COMPLETE_NUMBERS = 1 << 18
NEIGHBOURS = 16
# Among more clusters a new one keeps its cheapest partners only, or one that grows and grows would know them all.
PARTNERS = 48
# And at most this share of the clusters is merged before the new ones are examined, all at once.
BATCH = 1 / 16
# Where shares count, merges of large clusters gain more: fewer are made at once.
FREE_BATCH = 1 / 256
# Up to TREE_COORDINATES coordinates, neighbours are sought in trees, among TREE_CANDIDATES times as many as are wanted.
TREE_COORDINATES = 12
TREE_CANDIDATES = 2
# A loss that is infinite or no number is this large: finite, unlike that of a pair that is not there.
LARGEST_LOSS = float(np.finfo(float).max)


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
    """What clusters add to the complete log-likelihood of a model at their best; no merge changes the rest.

    With `free_weights` the clusters' shares count as well.

    >>> from kmle.families import Exponential
    >>> model = Model(Exponential(n_features=1), 2.0, np.array([2.0]))
    >>> Likelihood(model).value(np.array([2.0]), np.array([[4.0]])).round(4)  # -2 (1 + log 2)
    array([-3.3863])
    """

    model: Model
    free_weights: bool = False

    def value(self, counts: Array, sums: Array) -> Array:
        """The value of each cluster as fits have it, with the prior and the floors of the model."""
        return self.model.cluster_values(counts, sums, None if self.free_weights else np.zeros(len(counts))).values

    def dual_points(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        """Moments and natural parameters."""
        values = self.model.cluster_values(counts, sums)
        return values.moments, values.natural

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


def check_separate(family: ExponentialFamily, what: str) -> None:
    """Refuses families whose components are estimated together where pairs of components are merged."""
    if not family.exponential:
        raise ValueError(
            f"{what} merges components by their mean statistics, which components of {family.name} do not have: "
            "simplify a mixture of an exponential family"
        )
    if family.joint:
        raise ValueError(
            f"{what} merges components by the value of each alone, but components of {family.name} are estimated "
            "together: fit a family without this tie, such as 'gaussian'"
        )


def agglomerate(criterion: Criterion, counts: Array, sums: Array, n_clusters: int = 1) -> tuple[Merges, Array]:
    """Merges clusters, the cheapest pair first, down to `n_clusters`; and the values of the clusters at the start."""
    forest = _Forest(criterion, counts, sums)
    while forest.n_active > n_clusters:
        active = np.flatnonzero(forest.active)
        if len(active) ** 2 // 2 * sums.shape[1] <= COMPLETE_NUMBERS:
            forest.contract(active, n_clusters)
        else:
            edges = active[forest.neighbours_of(active)]
            forest.contract_many(edges, max(n_clusters, len(active) // 2))
    made = slice(0, forest.n_merges)
    return Merges(len(counts), forest.pairs[made], forest.losses[made]), forest.values[: len(counts)]


class _Forest:
    """The clusters so far: leaves first, then one for every merge."""

    def __init__(self, criterion: Criterion, counts: Array, sums: Array) -> None:
        K = len(counts)
        self.criterion = criterion
        self.n_leaves, self.n_merges = K, 0
        self.counts = np.concatenate([counts, np.empty(K - 1)])
        self.sums = np.concatenate([sums, np.empty((K - 1, sums.shape[1]))])
        self.values = np.concatenate([criterion.value(counts, sums), np.empty(K - 1)])
        self.active = np.arange(2 * K - 1) < K
        self.pairs = np.empty((K - 1, 2), dtype=np.intp)
        self.losses = np.empty(K - 1)

    @property
    def n_active(self) -> int:
        """How many clusters are not part of another."""
        return self.n_leaves - self.n_merges

    def neighbours_of(self, active: NDArray[np.intp]) -> NDArray[np.intp]:
        """Pairs (2, m), as places in `active`, of clusters that are near by the local form of the loss; each once."""
        counts = self.counts[active]
        mean, slope = self.criterion.dual_points(counts, self.sums[active])
        n_near = min(NEIGHBOURS, len(active) - 1)
        near = _near_in_trees if mean.shape[1] <= TREE_COORDINATES else _near_among_all
        second = near(self.criterion, counts, mean, slope, n_near)
        first = np.broadcast_to(np.arange(len(active))[:, None], second.shape)
        return _distinct(first.ravel(), second.ravel(), len(active))

    def _losses(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Array:
        """What merging each pair would cost, block by block."""
        size = max(1, BLOCK_NUMBERS // self.sums.shape[1])
        losses = self.values[first] + self.values[second]
        for start in range(0, len(first), size):
            a, b = first[start : start + size], second[start : start + size]
            merge = self.criterion.value(self.counts[a] + self.counts[b], self.sums[a] + self.sums[b])
            losses[start : start + size] -= merge
        return np.fmin(losses, LARGEST_LOSS)

    def contract(self, active: NDArray[np.intp], n_clusters: int) -> None:
        """Merges the cheapest pair of all, again and again, until `n_clusters` are left; on a tie the first one."""
        clusters, here = active.copy(), np.ones(len(active), dtype=bool)
        first, second = np.triu_indices(len(active), 1)
        losses = np.full((len(active), len(active)), np.inf)
        losses[first, second] = losses[second, first] = self._losses(active[first], active[second])
        for _ in range(len(active) - n_clusters):
            # The place of one is the new cluster's, that of the other is empty from now on.
            a, b = divmod(int(losses.argmin()), len(active))
            clusters[a] = self._merge(clusters[[[a], [b]]], losses[[a], [b]])
            here[b], losses[b], losses[:, b] = False, np.inf, np.inf
            others = np.flatnonzero(here)
            others = others[others != a]
            losses[a, others] = losses[others, a] = self._losses(
                clusters[others], np.full(len(others), clusters[a], dtype=np.intp)
            )

    def contract_many(self, edges: NDArray[np.intp], n_clusters: int) -> None:
        """Merges along the edges (2, m) in rounds, until `n_clusters` are left or there is no edge.

        A round merges pairs that are each other's cheapest, the cheapest ones first and a small share of all.
        """
        losses = self._losses(*edges)
        shares_count = bool(np.any(self.criterion.share_loss(np.ones(1), np.ones(1)) != 0))
        batch = min(BATCH, FREE_BATCH) if shares_count else BATCH
        while edges.size and self.n_active > n_clusters:
            most = min(self.n_active - n_clusters, int(np.ceil(batch * self.n_active)))
            chosen = _cheapest_for_both(edges, losses, most)
            new = self._merge(edges[:, chosen], losses[chosen])
            into = np.arange(len(self.counts))
            into[edges[:, chosen]] = np.arange(new, new + len(chosen))
            edges, losses = self._relabelled(edges, losses, into, new)

    def _relabelled(
        self, edges: NDArray[np.intp], losses: Array, into: NDArray[np.intp], new: int
    ) -> tuple[NDArray[np.intp], Array]:
        """The edges after merges, each once; those of the clusters from `new` on have new losses, the cheapest stay."""
        moved = into[edges]
        touched = moved.max(axis=0) >= new
        first, second = moved[:, touched]
        fresh = _distinct(first, second, len(self.counts))
        costs = self._losses(*fresh)
        kept = _cheapest_of_each(fresh[1], costs)  # the later one of a pair comes second
        untouched = ~touched
        return (
            np.concatenate([edges[:, untouched], fresh[:, kept]], axis=1),
            np.concatenate([losses[untouched], costs[kept]]),
        )

    def _merge(self, pairs: NDArray[np.intp], losses: Array) -> int:
        """Merges pairs (2, m) that have no cluster in common; the number of the first new cluster."""
        a, b = pairs
        at = slice(self.n_merges, self.n_merges + len(a))
        new = slice(self.n_leaves + at.start, self.n_leaves + at.stop)
        self.counts[new] = self.counts[a] + self.counts[b]
        self.sums[new] = self.sums[a] + self.sums[b]
        self.values[new] = self.values[a] + self.values[b] - losses
        self.active[a] = self.active[b] = False
        self.active[new] = True
        self.pairs[at] = pairs.T
        self.losses[at] = losses
        self.n_merges = at.stop
        return new.start


def _distinct(first: NDArray[np.intp], second: NDArray[np.intp], size: int) -> NDArray[np.intp]:
    """Pairs (2, m) of different numbers below `size`, each once and the smaller number first."""
    apart = first != second
    keys = np.sort((np.minimum(first, second) * size + np.maximum(first, second))[apart])
    return np.array(np.divmod(keys[np.diff(keys, prepend=-1) > 0], size))


def _cheapest_for_both(edges: NDArray[np.intp], losses: Array, most: int) -> NDArray[np.intp]:
    """Places of edges that are the cheapest of both their clusters, at most `most` of them, the cheapest first."""
    a, b = edges
    least = np.full(int(edges.max()) + 1, np.inf)
    np.minimum.at(least, a, losses)
    np.minimum.at(least, b, losses)
    places = np.flatnonzero((losses == least[a]) & (losses == least[b]))
    places = places[np.argsort(losses[places], kind="stable")]
    # On a tie a cluster may have several. Of what is written to one place the last stays: the first edge.
    chosen = np.zeros(len(least), dtype=np.intp)
    ends = edges[:, places].T.ravel()
    chosen[ends[::-1]] = np.arange(len(ends))[::-1] // 2
    order = np.arange(len(places))
    return places[(chosen[a[places]] == order) & (chosen[b[places]] == order)][:most]


def _cheapest_of_each(owners: NDArray[np.intp], costs: Array) -> NDArray[np.bool_]:
    """Which edges are among the cheapest PARTNERS of their owner."""
    kept = np.ones(len(owners), dtype=bool)
    many = np.flatnonzero(np.bincount(owners)[owners] > PARTNERS)
    order = many[np.lexsort((costs[many], owners[many]))]
    rank = np.arange(len(order)) - np.searchsorted(owners[order], owners[order])
    kept[order[rank >= PARTNERS]] = False
    return kept


def _near_among_all(criterion: Criterion, counts: Array, mean: Array, slope: Array, n_near: int) -> NDArray[np.intp]:
    """The nearest few of every cluster (K, n_near), all pairs compared block by block."""
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
    return np.concatenate(found)


def _near_in_trees(criterion: Criterion, counts: Array, mean: Array, slope: Array, n_near: int) -> NDArray[np.intp]:
    """The same among those that are near by their means or by their slopes, each scaled (k-d trees, Bentley, 1975)."""
    from scipy.spatial import cKDTree  # it takes a tenth of a second to load

    K, wanted = len(counts), min(TREE_CANDIDATES * n_near + 1, len(counts))
    near = np.empty((K, 2 * wanted), dtype=np.intp)
    for columns, points in zip((slice(0, wanted), slice(wanted, None)), map(_scaled, (mean, slope)), strict=True):
        near[:, columns] = cKDTree(points).query(points, wanted, workers=available_threads())[1].reshape(K, wanted)
    near.sort(axis=1)
    loss = np.zeros(near.shape)
    for m, s in zip(np.ascontiguousarray(mean.T), np.ascontiguousarray(slope.T), strict=True):
        loss += (m[near] - m[:, None]) * (s[near] - s[:, None])
    loss *= 0.5 * counts[:, None] * counts[near] / (counts[:, None] + counts[near])
    loss += criterion.share_loss(counts[:, None], counts[near])
    # Candidates that both trees found stand beside each other.
    loss[:, 1:][near[:, 1:] == near[:, :-1]] = np.inf
    loss[near == np.arange(K)[:, None]] = np.inf
    chosen = np.argpartition(loss, n_near - 1, axis=1)[:, :n_near]
    return np.take_along_axis(near, chosen, axis=1)


def _scaled(points: Array) -> Array:
    """Points with coordinates of unit spread that are not correlated; directions of no spread are left out."""
    centered = points - points.mean(axis=0)
    size = np.abs(centered).max(axis=0)
    centered = centered / np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(centered.T @ centered / len(points))
    kept = values > 1e-12 * values[-1]
    return centered if not kept.any() else np.asarray(centered @ vectors[:, kept] / np.sqrt(values[kept]))
