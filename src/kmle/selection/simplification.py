"""Simpler mixtures near a given one: components that say much the same are put into one."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..families import ComponentFamilies, Member
from ..merging import Merges, agglomerate, check_separate
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.options import whole_number
from .component_clustering import Clustering, ComponentRows, affordable, clustered, clustering_of, clusterings
from .sides import SIDES, Components

METHODS = ("clustering", "hierarchical")


@dataclass(frozen=True, eq=False)
class Simplification:
    """The result of `simplify`.

    Attributes
    ----------
    mixture : Mixture
        The smaller mixture.
    assignment : array (k,) of int
        For each old component the new one that stands for it.
    loss : float
        The old components' weighted divergence, in nats, from (or of) those that stand for them.
    linkage : array (k - 1, 4) or None
        SciPy's linkage matrix of the components, for a dendrogram; None unless the method is "hierarchical".
    """

    mixture: Mixture
    assignment: NDArray[np.intp]
    loss: float
    linkage: Array | None


def simplify(
    mixture: Mixture,
    n_components: int | None = None,
    *,
    tolerance: float | None = None,
    method: str = "clustering",
    centroid: str = "right",
    random_state: Any = None,
    n_init: int = 1,
) -> Simplification:
    """Replaces a mixture by one with fewer components, close to it.

    The loss of a component f is KL(f : new) with the "right" centroid, which keeps the moments of the mixture, KL(new :
    f) with the "left" one, and the mean of both with the "symmetric" one.

    Parameters
    ----------
    mixture : Mixture
        The mixture to simplify.
    n_components : int, default=None
        The number of components to keep. The current number, or more, changes nothing.
    tolerance : float, default=None
        Instead of `n_components`: the largest loss in nats. The result has the fewest components within it.
    method : "clustering" or "hierarchical", default="clustering"
        "hierarchical" merges the cheapest pair until enough are merged. "clustering" improves on this by Bregman
        clustering of the components.
    centroid : "right", "left" or "symmetric", default="right"
        The distribution that replaces several.
    random_state : int, Generator or None, default=None
        The seed of the random starts.
    n_init : int, default=1
        The number of random starts of "clustering".

    Returns
    -------
    Simplification
        The mixture, the new component of each old one (`assignment`), the loss, and SciPy's linkage matrix.

    Examples
    --------
    >>> mixture = Mixture.from_source("poisson", [0.2, 0.3, 0.5], rate=[1.0, 1.1, 20.0])
    >>> simpler = simplify(mixture, 2)
    >>> simpler.mixture, simpler.assignment
    (Mixture of 2 poisson: weights=[0.5 0.5], rate=[[1.06], [20.0]], array([0, 0, 1]))
    """
    _check_arguments(n_components, tolerance, method, centroid, n_init)
    if isinstance(mixture.family, ComponentFamilies):
        settings = {"method": method, "centroid": centroid, "random_state": random_state, "n_init": n_init}
        return _within_families(mixture, n_components, tolerance, settings)
    check_separate(mixture.family, "simplify")
    K = mixture.n_components
    unchanged = Simplification(mixture, np.arange(K), 0.0, None)
    enough = n_components is not None and n_components >= K
    if enough and method == "clustering":
        return unchanged
    family, side = mixture.family, SIDES[centroid]()
    center = family.center(mixture.natural, mixture.weights)
    (natural,) = family.centered(center, mixture.natural)
    all_components = Components.of(family, mixture.weights, natural)
    # Components without weight have no say; they are assigned in the end.
    active = np.flatnonzero(mixture.weights > 0)
    components = all_components[active]
    rows = ComponentRows(side, components)
    merges, _ = agglomerate(side.criterion(family), components.weights, components.weights[:, None] * rows.points)
    linkage = merges.linkage() if method == "hierarchical" else None
    if enough:
        return replace(unchanged, linkage=linkage)
    rng = np.random.default_rng(random_state)
    found = _found(rows, merges, n_components, tolerance, method, n_init, rng)
    if len(found.centers) == K:
        return replace(unchanged, linkage=linkage)
    assignment = found.labels
    if len(active) < K:
        assignment = ComponentRows(side, all_components).nearest(found.centers)
        assignment[active] = found.labels
    return Simplification(_mixture(mixture, center, assignment, active, found), assignment, found.loss, linkage)


def _within_families(
    mixture: Mixture, n_components: int | None, tolerance: float | None, settings: dict[str, Any]
) -> Simplification:
    """The same for components of different families: only those of one family are put together."""
    family = mixture.family
    assert isinstance(family, ComponentFamilies)
    groups = [np.flatnonzero(family.kind_of(mixture.natural) == kind) for kind in range(len(family.kinds))]
    members = mixture.members
    parts = [Mixture.from_members(_shares(mixture.weights[own]), [members[j] for j in own]) for own in groups]
    masses = [float(mixture.weights[own].sum()) for own in groups]
    sizes = [len(own) for own in groups]

    def simplified(kind: int, size: int) -> Simplification:
        if size == len(groups[kind]):
            return Simplification(parts[kind], np.arange(size), 0.0, None)
        return simplify(parts[kind], size, **settings)

    found = [simplified(kind, size) for kind, size in enumerate(sizes)]
    loss = 0.0
    while sum(sizes) > (n_components or 1):
        # The family in which one component fewer costs least.
        fewer = {kind: simplified(kind, size - 1) for kind, size in enumerate(sizes) if size > 1}
        costs = {kind: masses[kind] * (fewer[kind].loss - found[kind].loss) for kind in fewer}
        best = min(costs, key=costs.__getitem__, default=None)
        if best is None or (tolerance is not None and loss + costs[best] > tolerance):
            break
        found[best], sizes[best], loss = fewer[best], sizes[best] - 1, loss + costs[best]
    return _joined(mixture, groups, masses, found, loss)


def _shares(weights: Array) -> Array:
    return weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))


def _joined(
    mixture: Mixture, groups: list[NDArray[np.intp]], masses: list[float], found: list[Simplification], loss: float
) -> Simplification:
    """One mixture of the simplified ones of each family, whose components come in the order of their first members."""
    numbers, members = np.empty(mixture.n_components, dtype=np.intp), list[Member]()
    weights: list[float] = []
    for own, mass, part in zip(groups, masses, found, strict=True):
        numbers[own] = part.assignment + len(members)
        members += part.mixture.members
        weights += [mass * weight for weight in part.mixture.weights]
    _, firsts = np.unique(numbers, return_index=True)
    order = np.argsort(firsts)
    simpler = Mixture.from_members(_shares(np.array(weights)[order]), [members[place] for place in order])
    return Simplification(simpler, np.argsort(order)[numbers], loss, None)


def _found(
    rows: ComponentRows,
    merges: Merges,
    n_components: int | None,
    tolerance: float | None,
    method: str,
    n_init: int,
    rng: np.random.Generator,
) -> Clustering:
    def merged(k: int) -> Clustering:
        return clustering_of(rows, merges.labels(k))

    if tolerance is None:
        k = min(n_components or 1, len(rows))
    else:
        # The loss of the merges falls with k: the first k at which it is small enough.
        k = 1 + bisect_left(range(1, len(rows)), True, key=lambda at: merged(at).loss <= tolerance)
    if method == "hierarchical" or k == len(rows):
        return merged(k)
    if tolerance is not None and affordable(rows, k):
        # Clustering may do with fewer.
        found = next(found for found in clusterings(rows, merges, n_init, rng) if found.loss <= tolerance)
    else:
        found = clustered(rows, merges, k, n_init, rng)
    return _by_first_member(found)


def _by_first_member(found: Clustering) -> Clustering:
    _, first = np.unique(found.labels, return_index=True)
    order = np.argsort(first)
    return Clustering(np.argsort(order)[found.labels], found.centers[order], found.loss)


def _mixture(
    mixture: Mixture, center: Array | None, assignment: NDArray[np.intp], active: NDArray[np.intp], found: Clustering
) -> Mixture:
    """The centers in the mixture's own coordinates; components that stand for themselves are as they were."""
    k = len(found.centers)
    natural = found.centers if center is None else mixture.family.shifted(found.centers, center)
    counts = np.bincount(found.labels, minlength=k)
    single = counts[found.labels] == 1
    natural[found.labels[single]] = mixture.natural[active[single]]
    weights = np.bincount(assignment, mixture.weights, k)
    return Mixture(mixture.family, weights / weights.sum(), natural)


def _check_arguments(n_components: Any, tolerance: Any, method: str, centroid: str, n_init: Any) -> None:
    if (n_components is None) == (tolerance is None):
        raise ValueError("simplify needs either n_components or tolerance, not both")
    for name, value, least in (("n_components", n_components, 1), ("n_init", n_init, 0)):
        if value is not None:
            whole_number(name, value, least)
    if tolerance is not None and not tolerance >= 0:
        raise ValueError(f"tolerance is {tolerance!r}: it must be a loss in nats, zero or more")
    if method not in METHODS:
        raise ValueError(f"method is {method!r}: it must be one of {', '.join(METHODS)}")
    if centroid not in SIDES:
        raise ValueError(f"centroid is {centroid!r}: it must be one of {', '.join(SIDES)}")
