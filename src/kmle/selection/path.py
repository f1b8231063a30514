"""The merge path: the best likelihood of k components for every k, from one set of statistics and no data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.statistics import ClusterStatistics
from ..families import ExponentialFamily
from ..families.resolution import Resolution
from ..merging import Likelihood, Merges, agglomerate, check_separate
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..problem.model import Model

WEIGHTS = ("free", "fixed")


@dataclass(frozen=True, eq=False)
class Level:
    """The path cut at k components.

    Attributes
    ----------
    labels : array (K,) of int
        For each component at the start, the one of the k it is part of.
    statistics : ClusterStatistics
        The statistics of each component.
    mixture : Mixture
        The mixture of k components.
    """

    labels: NDArray[np.intp]
    statistics: ClusterStatistics
    mixture: Mixture


@dataclass(frozen=True, eq=False)
class MergePath:
    """All merges from K components to one; `merge_path` makes it.

    Attributes
    ----------
    family : ExponentialFamily
        The family.
    statistics : ClusterStatistics
        The statistics of each component at the start.
    criterion : Likelihood
        What merging costs.
    merges : Merges
        The merges in their order.
    objectives : array (K,)
        Complete log-likelihood (with the prior's penalty, if there is a prior) at k = K, K - 1, ..., 1 components.
    center : array (d,) or None
        Where the statistics are measured from.
    leaves : array (n,) of int
        The label of the rows of each component at the start.
    """

    family: ExponentialFamily
    statistics: ClusterStatistics
    criterion: Likelihood
    merges: Merges
    objectives: Array
    center: Array | None
    leaves: NDArray[np.intp]

    @property
    def n_components(self) -> NDArray[np.intp]:
        """K, K - 1, ..., 1: the k of each objective."""
        return np.arange(len(self.objectives), 0, -1)

    @property
    def losses(self) -> Array:
        """What each merge costs the complete log-likelihood; negative where it gains."""
        return -np.diff(self.objectives)

    @property
    def best(self) -> int:
        """The k with the highest objective, the smallest on a tie."""
        return int(self.n_components[::-1][np.argmax(self.objectives[::-1])])

    def objective_at(self, k: int) -> float:
        """The objective at k components.

        Parameters
        ----------
        k : int
            A number of components, from 1 to the number at which the path began.

        Returns
        -------
        float
            Higher is better.
        """
        _check_level(k, len(self.objectives))
        return float(self.objectives[len(self.objectives) - k])

    def at(self, k: int) -> Level:
        """The labels, statistics and mixture at k components.

        Parameters
        ----------
        k : int
            A number of components, from 1 to the number at which the path began.

        Returns
        -------
        Level
            `labels` are those of the components at which the path began.
        """
        _check_level(k, len(self.objectives))
        labels = self.merges.labels(k)
        counts = np.bincount(labels, self.statistics.counts, k).astype(float)
        sums = np.zeros((k, self.statistics.sums.shape[1]))
        np.add.at(sums, labels, self.statistics.sums)
        natural = self.criterion.dual_points(counts, sums)[1]
        if self.center is not None:
            natural = self.family.natural_at_center(natural, self.center)
        weights = counts / counts.sum() if self.criterion.free_weights else np.full(k, 1 / k)
        return Level(labels, ClusterStatistics(counts, sums, 0.0), Mixture(self.family, weights, natural))

    def labels_at(self, k: int, labels: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
        """The labels of rows at k components.

        Parameters
        ----------
        k : int
            A number of components, from 1 to the number at which the path began.
        labels : array of int (n,)
            The labels of the rows where the path began.

        Returns
        -------
        array (n,)
            Their labels at k components.
        """
        _check_level(k, len(self.objectives))
        return self.merges.labels(k)[np.searchsorted(self.leaves, labels)]

    def linkage(self) -> Array:
        """Returns SciPy's linkage matrix, for `scipy.cluster.hierarchy.dendrogram`.

        Returns
        -------
        array (K - 1, 4)
            One row per merge; heights are losses.
        """
        return self.merges.linkage()


def merge_path(
    statistics: ClusterStatistics,
    family: ExponentialFamily,
    *,
    weights: str = "free",
    prior_strength: float = 0.0,
    prior_moment: Array | None = None,
    center: Array | None = None,
    resolution: Resolution | None = None,
    sum_log_carrier: float = 0.0,
    leaves: NDArray[np.intp] | None = None,
) -> MergePath:
    """Merges pairs of components down to one, each time the pair with the least cost in complete log-likelihood.

    With counts n_j and moments eta_j the complete log-likelihood is sum_j n_j [F*(eta_j) + log w_j] + sum k(x).

    Parameters
    ----------
    statistics : ClusterStatistics
        Counts and sums of t(x) of the components.
    family : ExponentialFamily
        The family.
    weights : "free" or "fixed", default="free"
        "free" weights are n_j / n; "fixed" ones are 1/k each and do not affect the merges.
    prior_strength : float, default=0.0
        Pseudo-observations at `prior_moment` in every component.
    prior_moment : array (D,), default=None
        The mean statistic of all rows.
    center : array (d,), default=None
        The center that the statistics are measured from.
    resolution : Resolution, default=None
        The rounding steps of the columns: no component is narrower than they allow.
    sum_log_carrier : float, default=0.0
        The sum of k(x) over the rows.
    leaves : array of int (K,), default=None
        The labels of the components.

    Returns
    -------
    MergePath
        The mixture and the objective at every number of components.

    Examples
    --------
    >>> from kmle.families import Poisson
    >>> statistics = ClusterStatistics(np.array([2.0, 3.0, 5.0]), np.array([[2.0], [3.5], [50.0]]), 0.0)
    >>> path = merge_path(statistics, Poisson(n_features=1))
    >>> path.objectives.round(3)
    array([49.872, 53.222, 39.616])
    >>> path.at(2).mixture
    Mixture of 2 poisson: weights=[0.5 0.5], rate=[[1.1], [10.0]]
    """
    check_separate(family, "a merge path")
    if weights not in WEIGHTS:
        raise ValueError(f"weights is {weights!r}: it must be 'free' or 'fixed'")
    if prior_strength > 0 and prior_moment is None:
        raise ValueError("prior_strength is positive: give prior_moment, the mean statistic of all rows")
    counts = np.asarray(statistics.counts, dtype=float)
    sums = np.asarray(statistics.sums, dtype=float)
    _check_statistics(counts, sums, family)
    free = weights == "free"
    K, n = len(counts), float(counts.sum())
    mean = sums.sum(axis=0) / n if prior_moment is None else prior_moment
    criterion = Likelihood(Model(family, n, mean, center, prior_strength, resolution=resolution), free)
    merges, values = agglomerate(criterion, counts, sums)
    kept = float(values.sum()) - np.concatenate([[0.0], np.cumsum(merges.losses)])
    equal_shares = 0.0 if free else n * np.log(np.arange(K, 0, -1))
    objectives = kept - equal_shares + sum_log_carrier
    return MergePath(
        family, statistics, criterion, merges, objectives, center, np.arange(K) if leaves is None else leaves
    )


def _check_statistics(counts: Array, sums: Array, family: ExponentialFamily) -> None:
    if counts.ndim != 1 or len(counts) == 0 or sums.shape != (len(counts), family.n_statistics):
        raise ValueError(
            f"statistics have counts of shape {counts.shape} and sums of shape {sums.shape}; "
            f"{family.name} needs (K,) and (K, {family.n_statistics})"
        )
    illegal = ~((counts > 0) & np.isfinite(counts) & np.isfinite(sums).all(axis=1))
    if illegal.any():
        raise ValueError(f"component {int(np.argmax(illegal))} has no rows, or sums that are not finite: remove it")


def _check_level(k: int, n_components: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or not 1 <= k <= n_components:
        raise ValueError(f"k is {k!r}: the path goes from {n_components} components to 1")
