"""Model-based agglomeration of Gaussian clusters (Fraley, 1998): the start of mclust.

Every row begins as a cluster, and the pair whose merge costs least merges. A cluster of n rows with scatter W costs
n log(|W / n| + (tr W + a) / n), where a is the mean variance of all rows: the trace stands in for the determinant of
few rows. Columns are scaled and turned to their principal axes first, as mclust does.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..families.gaussian import Gaussian
from ..merging import Likelihood, Merges, agglomerate
from ..numerics.arrays import Array, Labels
from ..numerics.packing import pack_products, unpack
from ..problem.model import Model
from ..problem.problem import Problem

# Rows that are agglomerated at most; the others follow the nearest of them.
MOST_ROWS = 300


@dataclass(frozen=True)
class Fraley:
    """What clusters of rows are worth, from their counts and sums of (x, x x')."""

    n_columns: int
    mean_variance: float

    free_weights: ClassVar = False

    def value(self, counts: Array, sums: Array) -> Array:
        """Minus the cost."""
        d = self.n_columns
        mean = sums[:, :d] / counts[:, None]
        covariance = unpack(sums[:, d:] / counts[:, None]) - mean[:, :, None] * mean[:, None, :]
        trace = np.trace(covariance, axis1=1, axis2=2)
        # Of few rows the determinant is rounding.
        determinant = np.where(counts > d, np.maximum(np.linalg.det(covariance), 0.0), 0.0)
        return -counts * np.log(determinant + np.maximum(trace, 0.0) + self.mean_variance / counts)

    def dual_points(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        """Those of Gaussians, shrunk to be legal."""
        mean = sums.sum(axis=0) / counts.sum()
        model = Model(Gaussian(n_features=self.n_columns), counts.sum(), mean, prior_strength=1.0)
        return Likelihood(model).dual_points(counts, sums)

    def share_loss(self, counts: Array, others: Array) -> float:
        """Shares do not count."""
        return 0.0


@dataclass(frozen=True)
class Agglomeration:
    """Merges of some rows, and the nearest of these for every row."""

    merges: Merges
    nearest: NDArray[np.intp]

    def labels(self, n_clusters: int) -> Labels:
        """The labels (n,) of all rows at that many clusters, or at as many as there are distinct rows."""
        k = min(n_clusters, self.merges.n_leaves)
        return self.merges.labels(k)[self.nearest].astype(np.int32)


def agglomeration(problem: Problem, rng: np.random.Generator) -> Agglomeration:
    """The rows of a problem with dense rows, agglomerated once for all numbers of clusters."""
    X = problem.rows.raw(slice(None)).astype(float)
    weights = np.ones(len(X)) if problem.rows.weights is None else problem.rows.weights
    points = principal_points(X, weights)
    distinct, group = np.unique(X, axis=0, return_inverse=True)
    counts = np.bincount(group.ravel(), weights, len(distinct)).astype(float)
    places = np.zeros((len(distinct), points.shape[1]))
    places[group.ravel()] = points
    chosen = np.arange(len(distinct))
    if len(distinct) > MOST_ROWS:
        chosen = np.sort(rng.choice(len(distinct), MOST_ROWS, replace=False, p=counts / counts.sum()))
    own = counts[chosen] if len(chosen) == len(distinct) else np.ones(len(chosen))
    seen = places[chosen]
    d, mean = seen.shape[1], own @ seen / own.sum()
    criterion = Fraley(d, max(float(own @ (seen - mean) ** 2 @ np.ones(d)) / (own.sum() * d), 1e-300))
    merges, _ = agglomerate(criterion, own, own[:, None] * np.concatenate([seen, pack_products(seen)], axis=1))
    if len(chosen) == len(distinct):
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
