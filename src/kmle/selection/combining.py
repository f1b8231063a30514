"""Clusters of several components: components are combined by entropy (Baudry, Raftery, Celeux, Lo and Gottardo, 2010).

A density may need more components than there are clusters. From all components down to one, the two are combined whose
union is least uncertain: the entropy of the posterior falls most. Densities do not change, only what is called one
cluster. Two straight lines are fitted to the entropies; where they meet is the number of clusters.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from ..families.validation import check_sample_weight
from ..mixture import Mixture
from ..numerics.arrays import Array, Labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Combination:
    """Components combined to clusters, from all of them down to one; `combine` makes it.

    Attributes
    ----------
    mixture : Mixture
        The mixture.
    pairs : array (K - 1, 2) of int
        The two clusters that each step combines, the first K being the components.
    entropies : array (K,)
        The entropy of the posterior with 1, 2, ..., K clusters, in nats, added up over rows.
    combined : array (K - 1,)
        How many rows the step to 1, 2, ..., K - 1 clusters combines.
    """

    mixture: Mixture
    pairs: NDArray[np.intp]
    entropies: Array
    combined: Array

    @property
    def n_components(self) -> int:
        """The number of components."""
        return len(self.entropies)

    @property
    def best(self) -> int:
        """The number of clusters at which two straight lines through the entropies meet; 1 or 2 of up to two."""
        return _bend(self.entropies)

    def groups(self, n_clusters: int | None = None) -> NDArray[np.intp]:
        """The cluster of each component. Clusters are numbered in the order of their first components.

        Parameters
        ----------
        n_clusters : int, default=None
            How many clusters; None takes the best number.

        Returns
        -------
        array (n_components,)
            The clusters, from 0.
        """
        k = self.best if n_clusters is None else n_clusters
        if not 1 <= k <= self.n_components:
            raise ValueError(f"n_clusters is {k}: it must lie between 1 and {self.n_components}")
        owners = np.arange(self.n_components)
        for step, pair in enumerate(self.pairs[: self.n_components - k]):
            owners[np.isin(owners, pair)] = self.n_components + step
        first = {owner: place for place, owner in enumerate(dict.fromkeys(owners.tolist()))}
        return np.array([first[owner] for owner in owners.tolist()])

    def posterior(self, X: ArrayLike, n_clusters: int | None = None) -> Array:
        """The probabilities of the clusters for each row.

        Parameters
        ----------
        X : array (n, d) or sparse
            The rows.
        n_clusters : int, default=None
            How many clusters; None takes the best number.

        Returns
        -------
        array (n, n_clusters)
            Each row sums to one.
        """
        groups = self.groups(n_clusters)
        return np.asarray(self.mixture.posterior(X)) @ (groups[:, None] == np.arange(groups.max() + 1)).astype(float)

    def predict(self, X: ArrayLike, n_clusters: int | None = None) -> Labels:
        """The most probable cluster of each row.

        Parameters
        ----------
        X : array (n, d) or sparse
            The rows.
        n_clusters : int, default=None
            How many clusters; None takes the best number.

        Returns
        -------
        array (n,)
            The clusters, from 0.
        """
        return self.posterior(X, n_clusters).argmax(axis=1).astype(np.int32)

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """Draws the entropy against the number of clusters, the two lines, and the best number; needs matplotlib.

        Parameters
        ----------
        ax : Axes, default=None
            Where to draw; None makes new axes.

        Returns
        -------
        Axes
            What was drawn in.
        """
        from .combining_plot import plot_combination

        return plot_combination(self, ax)

    def __str__(self) -> str:
        lines = ["clusters  entropy  rows combined"]
        for k in range(self.n_components, 0, -1):
            rows = "" if k == self.n_components else f"{self.combined[k - 1]:.0f}"
            lines.append(f"{k:8d}{self.entropies[k - 1]:9.2f}{rows:>15}".rstrip())
        groups = self.groups()
        members = (", ".join(str(j) for j in np.flatnonzero(groups == g)) for g in range(groups.max() + 1))
        clusters = "; ".join(f"components {own}" if "," in own else f"component {own}" for own in members)
        return "\n".join([*lines, f"The entropy bends at {self.best}: {clusters}."])


def combine(model: Any, X: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Combination:
    """Combines components to clusters, each time the two whose union lowers the entropy of the posterior most.

    Parameters
    ----------
    model : Mixture or fitted estimator
        The mixture; its densities stay as they are.
    X : array (n, d)
        The rows.
    sample_weight : array (n,), default=None
        The weights of the rows.

    Returns
    -------
    Combination
        The entropies, and the clusters for every number of them.

    Examples
    --------
    >>> from kmle import Mixture
    >>> mixture = Mixture.from_source("gaussian", [0.3, 0.3, 0.4], mean=[[0.0], [0.5], [9.0]], covariance=[[[1.0]]] * 3)
    >>> found = combine(mixture, mixture.sample(200, random_state=0))
    >>> found.best, found.groups()
    (2, array([0, 0, 1]))
    """
    mixture = model if isinstance(model, Mixture) else getattr(model, "mixture_", None)
    if not isinstance(mixture, Mixture):
        raise TypeError(f"model must be a Mixture or a fitted estimator, not a {type(model).__name__} (is it fitted?)")
    shares: Array = np.asarray(mixture.posterior(X))
    given = check_sample_weight(sample_weight, len(shares))
    weights = np.ones(len(shares)) if given is None else given
    names, K = list(range(shares.shape[1])), shares.shape[1]
    pairs, entropies, combined = [], [_entropy(weights, shares)], []
    while len(names) > 1:
        one, other = _closest(weights, shares)
        pairs.append((names[one], names[other]))
        combined.append(float(weights @ (shares[:, one] + shares[:, other])))
        names = [name for place, name in enumerate(names) if place not in (one, other)] + [2 * K - len(names)]
        union = shares[:, one] + shares[:, other]
        shares = np.column_stack([np.delete(shares, [one, other], axis=1), union])
        entropies.append(_entropy(weights, shares))
    found = np.array(pairs, dtype=np.intp).reshape(-1, 2)
    return Combination(mixture, found, np.array(entropies[::-1]), np.array(combined[::-1]))


def _entropy(weights: Array, shares: Array) -> float:
    return max(-float(weights @ xlogy(shares, shares).sum(axis=1)), 0.0)


def _closest(weights: Array, shares: Array) -> tuple[int, int]:
    """The pair whose union lowers the entropy most; the first among equals."""
    own = weights @ xlogy(shares, shares)
    best, pair = -np.inf, (0, 1)
    for one in range(shares.shape[1] - 1):
        unions = shares[:, one, None] + shares[:, one + 1 :]
        gains = weights @ xlogy(unions, unions) - own[one] - own[one + 1 :]
        place = int(gains.argmax())
        if gains[place] > best:
            best, pair = float(gains[place]), (one, one + 1 + place)
    return pair


def _bend(entropies: Array) -> int:
    """The number of clusters at which two straight lines, fitted on either side of it, leave the least squares."""
    K = len(entropies)
    if K < 3:
        return K
    k = np.arange(1, K + 1, dtype=float)

    def left(part: slice) -> float:
        line = np.polynomial.Polynomial.fit(k[part], entropies[part], 1)
        return float(((line(k[part]) - entropies[part]) ** 2).sum())

    return 2 + int(np.argmin([left(slice(0, c)) + left(slice(c - 1, K)) for c in range(2, K)]))
