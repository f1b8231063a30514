"""Model-based agglomeration of Gaussian clusters (Fraley, 1998): the start of mclust.

Every row begins as a cluster, and the pair whose merge costs least merges. A cluster of n rows with scatter W costs
n log(|W / n| + (tr W + a) / n), where a is the mean variance of all rows: the trace stands in for the determinant of
few rows. Columns are scaled and turned to their principal axes first, as mclust does.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..merging import Merges
from ..numerics.arrays import Array, Labels
from ..problem.problem import Problem

# All rows are agglomerated where there are up to MOST_ROWS, as in mclust, and the pairs take up to MOST_WORK products;
# elsewhere a sample of FEWER rows, whose nearest ones the others follow.
MOST_ROWS, MOST_WORK, FEWER = 2000, 1.5e8, 400
# Products that a pair of clusters takes besides those of its determinant.
WORK_EACH = 30


class Clusters:
    """Clusters of rows, and what it costs to merge any two of them."""

    def __init__(self, points: Array, counts: Array, mean_variance: float) -> None:
        K, d = points.shape
        self.mean_variance = mean_variance
        self.counts, self.means, self.scatters = counts.astype(float), points.copy(), np.zeros((K, d, d))
        self.costs = self._costs(self.counts, self.scatters)
        self.losses = np.empty((K, K))
        for place in range(K):
            self.losses[place] = self.losses_with(place, np.arange(K))
        np.fill_diagonal(self.losses, np.inf)
        self.partner = self.losses.argmin(axis=1)
        self.least: Array = self.losses[np.arange(K), self.partner]

    def _costs(self, counts: Array, scatters: Array) -> Array:
        determinants = np.zeros(len(counts))
        # Of few rows the determinant is rounding.
        many = np.flatnonzero(counts > scatters.shape[-1])
        if len(many):
            determinants[many] = np.maximum(np.linalg.det(scatters[many] / counts[many, None, None]), 0.0)
        return counts * np.log(determinants + (np.einsum("kdd->k", scatters) + self.mean_variance) / counts)

    def losses_with(self, place: int, others: NDArray[np.intp]) -> Array:
        """What it costs to merge a cluster with others."""
        counts = self.counts[place] + self.counts[others]
        apart = self.means[others] - self.means[place]
        between = self.counts[place] * self.counts[others] / counts
        scatters = self.scatters[others] + self.scatters[place]
        scatters += between[:, None, None] * apart[:, :, None] * apart[:, None, :]
        return self._costs(counts, scatters) - self.costs[place] - self.costs[others]

    def merge(self, others: NDArray[np.intp]) -> tuple[int, int, float]:
        """Merges the cheapest pair: the place of the merged cluster, the place that is empty now, and the loss.

        `others` are the places of all clusters.
        """
        a = int(self.least.argmin())
        b, loss = int(self.partner[a]), float(self.least[a])
        count, apart = self.counts[a] + self.counts[b], self.means[a] - self.means[b]
        self.scatters[a] += self.scatters[b] + np.outer(apart, apart) * (self.counts[a] * self.counts[b] / count)
        self.means[a] = (self.counts[a] * self.means[a] + self.counts[b] * self.means[b]) / count
        self.counts[a], self.costs[a] = count, self.costs[a] + self.costs[b] + loss
        self.losses[b], self.losses[:, b], self.least[b] = np.inf, np.inf, np.inf
        others = others[(others != a) & (others != b)]
        if len(others):
            self._examine(a, b, others)
        return a, b, loss

    def _examine(self, a: int, b: int, others: NDArray[np.intp]) -> None:
        """New losses with the merged cluster, and new partners of the clusters whose partner is no more."""
        own = self.losses_with(a, others)
        self.losses[a, others] = self.losses[others, a] = own
        self.partner[a], self.least[a] = others[own.argmin()], own.min()
        lost = others[np.isin(self.partner[others], (a, b))]
        closer = own < self.least[others]
        self.partner[others[closer]], self.least[others[closer]] = a, own[closer]
        lost = lost[(self.partner[lost] == b) | (self.least[lost] < self.losses[lost, a])]
        self.partner[lost] = self.losses[lost].argmin(axis=1)
        self.least[lost] = self.losses[lost, self.partner[lost]]


def merges_of(points: Array, counts: Array, mean_variance: float) -> Merges:
    """All merges of points with these counts, the cheapest pair first."""
    K = len(points)
    clusters = Clusters(points, counts, mean_variance)
    number, pairs, losses = np.arange(K), np.empty((K - 1, 2), dtype=np.intp), np.empty(K - 1)
    present = np.arange(K)
    for made in range(K - 1):
        kept, gone, losses[made] = clusters.merge(present)
        pairs[made] = number[[kept, gone]]
        number[kept] = K + made
        present = present[present != gone]
    return Merges(K, pairs, losses)


@dataclass(frozen=True)
class Agglomeration:
    """Merges of some rows, and the nearest of these for every row."""

    merges: Merges
    nearest: NDArray[np.intp]

    def labels(self, n_clusters: int) -> Labels:
        """The labels (n,) of all rows at that many clusters, or at as many as there are distinct rows."""
        k = min(n_clusters, self.merges.n_leaves)
        return self.merges.labels(k)[self.nearest].astype(np.int32)


def agglomeration(problem: Problem, rng: np.random.Generator, most_rows: int = MOST_ROWS) -> Agglomeration:
    """The rows of a problem with dense rows, agglomerated once for all numbers of clusters.

    All of them, where there are up to `most_rows`.
    """
    X = problem.rows.raw(slice(None)).astype(float)
    weights = np.ones(len(X)) if problem.rows.weights is None else problem.rows.weights
    points = principal_points(X, weights)
    distinct, group = np.unique(X, axis=0, return_inverse=True)
    counts = np.bincount(group.ravel(), weights, len(distinct)).astype(float)
    places = np.zeros((len(distinct), points.shape[1]))
    places[group.ravel()] = points
    d, K = places.shape[1], len(distinct)
    chosen = np.arange(K)
    if K > FEWER and (most_rows < K or K**2 / 2 * (WORK_EACH + d**2) > MOST_WORK):
        chosen = np.sort(rng.choice(K, FEWER, replace=False, p=counts / counts.sum()))
    own = counts[chosen] if len(chosen) == K else np.ones(len(chosen))
    seen = places[chosen]
    mean = own @ seen / own.sum()
    merges = merges_of(seen, own, max(float(own @ (seen - mean) ** 2 @ np.ones(d)) / (own.sum() * d), 1e-300))
    if len(chosen) == K:
        return Agglomeration(merges, group.ravel())
    from scipy.spatial import cKDTree  # it takes a tenth of a second to load

    return Agglomeration(merges, cKDTree(seen).query(points)[1])


def principal_points(X: Array, weights: Array) -> Array:
    """Scaled columns along their principal axes, each divided by the root of its singular value."""
    shares = weights / weights.sum()
    centered = X - shares @ X
    deviations = np.sqrt(shares @ centered**2)
    varying = deviations > 1e-12 * np.abs(X).max(axis=0, initial=1e-300)
    if not varying.any():
        return centered[:, :1]
    scaled = centered[:, varying] / deviations[varying]
    _, values, axes = np.linalg.svd(scaled * np.sqrt(weights)[:, None], full_matrices=False)
    kept = values > 1e-10 * values[0]
    return np.asarray(scaled @ axes[kept].T / np.sqrt(values[kept]))
