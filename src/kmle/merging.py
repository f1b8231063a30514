"""Merging clusters by what it costs: greedy agglomeration of anything known by a count and a sum.

A criterion gives every cluster a value; merging two costs value(a) + value(b) - value(a + b), so no data is looked at
again. Up to some hundreds of clusters every pair is tried and each merge is the cheapest there is. Among more, each
looks at its nearest neighbours only, which are found anew whenever half of the clusters have gone.
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
# And this share of the clusters is merged before the new ones are looked at, all at once.
BATCH = 1 / 512


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
        """n log n + m log m - (n + m) log(n + m): a gain, as fewer components leave less in doubt."""
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
        # From the last merge down: what a merge became is known before its two parts are looked at.
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
    while len(forest.alive) > n_clusters:
        alive = np.array(sorted(forest.alive), dtype=np.intp)
        complete = len(alive) ** 2 // 2 * sums.shape[1] <= COMPLETE_NUMBERS
        edges = np.column_stack(np.triu_indices(len(alive), 1)) if complete else forest.neighbours_of(alive)
        if complete:
            forest.contract(alive[edges], n_clusters, n_partners=len(alive), batch=1)
        else:
            forest.contract(alive[edges], max(n_clusters, len(alive) // 2), PARTNERS, int(np.ceil(BATCH * len(alive))))
    merges = Merges(len(counts), np.array(forest.pairs, dtype=np.intp).reshape(-1, 2), np.array(forest.losses))
    return merges, forest.values[: len(counts)]


class _Forest:
    """The clusters so far: leaves first, then one for every merge."""

    def __init__(self, criterion: Criterion, counts: Array, sums: Array) -> None:
        K = len(counts)
        self.criterion = criterion
        self.counts = np.concatenate([counts, np.empty(K - 1)])
        self.sums = np.concatenate([sums, np.empty((K - 1, sums.shape[1]))])
        self.values = np.concatenate([criterion.value(counts, sums), np.empty(K - 1)])
        self.alive = set(range(K))
        self.pairs: list[tuple[int, int]] = []
        self.losses: list[float] = []

    def neighbours_of(self, alive: NDArray[np.intp]) -> NDArray[np.intp]:
        """Pairs (places in `alive`) of clusters that are near by the local form of the loss, block by block."""
        counts = self.counts[alive]
        mean, slope = self.criterion.dual_points(counts, self.sums[alive])
        own = np.einsum("kd,kd->k", mean, slope)
        n_near = min(NEIGHBOURS, len(alive) - 1)
        size = max(1, BLOCK_NUMBERS // len(alive))
        pairs = []
        for start in range(0, len(alive), size):
            rows = np.arange(start, min(start + size, len(alive)))
            # n m / (n + m) <slope - slope', mean - mean'> / 2: the loss of a merge to second order.
            distance = own - slope[rows] @ mean.T
            distance -= mean[rows] @ slope.T
            distance += own[rows, None]
            distance *= 0.5 * counts[rows, None] * (counts / (counts[rows, None] + counts))
            distance += self.criterion.share_loss(counts[rows, None], counts)
            distance[np.arange(len(rows)), rows] = np.inf
            near = np.argpartition(distance, n_near - 1, axis=1)[:, :n_near]
            pairs.append(np.column_stack([np.repeat(rows, n_near), near.ravel()]))
        ordered = np.sort(np.concatenate(pairs), axis=1)
        keys = np.unique(ordered[:, 0] * len(alive) + ordered[:, 1])
        return np.column_stack(np.divmod(keys, len(alive)))

    def _losses(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Array:
        """What merging each pair would cost, block by block."""
        size = max(1, BLOCK_NUMBERS // self.sums.shape[1])
        losses = self.values[first] + self.values[second]
        for start in range(0, len(first), size):
            a, b = first[start : start + size], second[start : start + size]
            together = self.criterion.value(self.counts[a] + self.counts[b], self.sums[a] + self.sums[b])
            losses[start : start + size] -= together
        return losses

    def contract(self, edges: NDArray[np.intp], n_clusters: int, n_partners: int, batch: int) -> None:
        """Merges along the edges, cheapest first, until `n_clusters` are left or there is no edge."""
        heap = list(zip(self._losses(*edges.T).tolist(), *edges.T.tolist(), strict=True))
        heapify(heap)
        neighbours: dict[int, set[int]] = {cluster: set() for cluster in self.alive}
        for a, b in edges.tolist():
            neighbours[a].add(b)
            neighbours[b].add(a)
        while heap and len(self.alive) > n_clusters:
            made: list[int] = []
            while heap and len(self.alive) > n_clusters and len(made) < batch:
                loss, a, b = heappop(heap)
                if a in self.alive and b in self.alive:
                    made.append(self._merge(loss, a, b))
                    _join(neighbours, a, b, made[-1])
            self._look_around(made, neighbours, n_partners, heap)

    def _look_around(
        self, made: list[int], neighbours: dict[int, set[int]], n_partners: int, heap: list[tuple[float, int, int]]
    ) -> None:
        """What merging each new cluster with those around it would cost, put on the heap."""
        # Of two new neighbours the later one does the looking.
        around = [np.array(sorted(other for other in neighbours[new] if other < new), dtype=np.intp) for new in made]
        sizes = [len(others) for others in around]
        if not sum(sizes):
            return
        ends = np.cumsum(sizes)
        all_costs = self._losses(np.repeat(made, sizes), np.concatenate(around))
        for new, others, costs in zip(made, around, np.split(all_costs, ends[:-1]), strict=True):
            order = np.argsort(costs, kind="stable")
            for other in others[order[n_partners:]].tolist():
                neighbours[other].discard(new)
                neighbours[new].discard(other)
            for place in order[:n_partners].tolist():
                heappush(heap, (float(costs[place]), int(others[place]), new))

    def _merge(self, loss: float, a: int, b: int) -> int:
        new = len(self.counts) // 2 + 1 + len(self.pairs)
        self.counts[new] = self.counts[a] + self.counts[b]
        self.sums[new] = self.sums[a] + self.sums[b]
        self.values[new] = self.values[a] + self.values[b] - loss
        self.alive -= {a, b}
        self.alive.add(new)
        self.pairs.append((a, b))
        self.losses.append(loss)
        return new


def _join(neighbours: dict[int, set[int]], a: int, b: int, new: int) -> None:
    """The new cluster takes the place of the two it was made of."""
    neighbours[new] = (neighbours.pop(a) | neighbours.pop(b)) - {a, b}
    for other in neighbours[new]:
        neighbours[other] -= {a, b}
        neighbours[other].add(new)
