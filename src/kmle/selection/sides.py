"""The three ways to put one distribution in the place of several: right, left and symmetrised centroids, and what they
cost.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..merging import Criterion, Likelihood
from ..numerics.arrays import Array


@dataclass(frozen=True)
class Components:
    """Weighted distributions (K, D), with what is asked of them again and again."""

    family: ExponentialFamily
    weights: Array
    natural: Array
    moment: Array
    normalizer: Array
    conjugate: Array

    @staticmethod
    def of(family: ExponentialFamily, weights: Array, natural: Array) -> "Components":
        """Distributions from their natural parameters."""
        moment, normalizer = family.moment_from_natural(natural), family.log_normalizer(natural)
        return Components(
            family, weights, natural, moment, normalizer, np.einsum("kd,kd->k", natural, moment) - normalizer
        )

    def __getitem__(self, chosen: slice | NDArray[np.intp]) -> "Components":
        parts = (self.weights, self.natural, self.moment, self.normalizer, self.conjugate)
        return Components(self.family, *(part[chosen] for part in parts))

    def __len__(self) -> int:
        return len(self.weights)


def divergences(first: Components, second: Components) -> Array:
    """KL of every distribution of the first from every distribution of the second, (k, m): F*(eta) + F(theta') - <eta,
    theta'>.
    """
    return np.maximum(first.conjugate[:, None] + second.normalizer - first.moment @ second.natural.T, 0.0)


def paired_divergences(first: Components, second: Components) -> Array:
    """KL of each distribution of the first from the distribution of the second in its place, (k,)."""
    products = np.einsum("kd,kd->k", first.moment, second.natural)
    return np.maximum(first.conjugate + second.normalizer - products, 0.0)


def _means(points: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
    """Weighted means of groups of points that follow each other, each beginning at a start."""
    return np.asarray(np.add.reduceat(weights[:, None] * points, starts) / np.add.reduceat(weights, starts)[:, None])


class Side(Protocol):
    """How far distributions are from the distribution that stands for them, and which that best is."""

    def points(self, components: Components) -> Array:
        """What is added up when distributions merge, (K, P)."""
        ...

    def criterion(self, family: ExponentialFamily) -> Criterion:
        """The value of merged distributions, from their weight and sum of points."""
        ...

    def centroids(self, components: Components, starts: NDArray[np.intp]) -> Array:
        """The natural parameters (k, D) of the distributions that stand for groups of these; groups begin at starts."""
        ...

    def paired(self, components: Components, centers: Components) -> Array:
        """What it costs each distribution to be stood for by the center in its place, (K,)."""
        ...

    def distances(self, components: Components, centers: Components) -> Array:
        """What it costs each distribution to be stood for by each center, (K, k)."""
        ...


@dataclass(frozen=True)
class Right:
    """KL(f_j : center): the center has the mean moment, so the mixture keeps its moments."""

    def points(self, components: Components) -> Array:
        return components.moment

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return Likelihood(family)

    def centroids(self, components: Components, starts: NDArray[np.intp]) -> Array:
        # As `family.right_centroid` has it, but the moments are known already.
        return components.family.natural_from_moment(_means(components.moment, components.weights, starts))

    def paired(self, components: Components, centers: Components) -> Array:
        return paired_divergences(components, centers)

    def distances(self, components: Components, centers: Components) -> Array:
        return divergences(components, centers)


@dataclass(frozen=True)
class Left:
    """KL(center : f_j): the center has the mean natural parameter, and keeps what the distributions share."""

    def points(self, components: Components) -> Array:
        return components.natural

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return _NaturalMean(family)

    def centroids(self, components: Components, starts: NDArray[np.intp]) -> Array:
        # As `family.left_centroid` has it.
        return _means(components.natural, components.weights, starts)

    def paired(self, components: Components, centers: Components) -> Array:
        return paired_divergences(centers, components)

    def distances(self, components: Components, centers: Components) -> Array:
        return divergences(centers, components).T


@dataclass(frozen=True)
class Symmetric:
    """The mean of both divergences. Merges are chosen by their lower bound, the two one-sided losses."""

    # A centroid takes a descent; clusters that did not change since are not descended for again.
    known: dict[bytes, Array] = field(default_factory=dict, repr=False)

    def points(self, components: Components) -> Array:
        return np.concatenate([components.moment, components.natural], axis=1)

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return _Both(Likelihood(family), _NaturalMean(family))

    def centroids(self, components: Components, starts: NDArray[np.intp]) -> Array:
        ends = np.append(starts[1:], len(components))
        return np.array([self._centroid(components[start:end]) for start, end in zip(starts, ends, strict=True)])

    def paired(self, components: Components, centers: Components) -> Array:
        return 0.5 * (paired_divergences(components, centers) + paired_divergences(centers, components))

    def _centroid(self, components: Components) -> Array:
        if len(components) == 1:
            return components.natural[0]
        key = components.natural.tobytes() + components.weights.tobytes()
        if key not in self.known:
            self.known[key] = components.family.symmetrised_centroid(components.natural, components.weights)
        return self.known[key]

    def distances(self, components: Components, centers: Components) -> Array:
        return 0.5 * (divergences(components, centers) + divergences(centers, components).T)


@dataclass(frozen=True)
class _NaturalMean:
    """w F(theta) at the mean natural parameter: what merging takes off it is the mean KL from the left centroid."""

    family: ExponentialFamily

    def value(self, counts: Array, sums: Array) -> Array:
        return counts * self.family.log_normalizer(sums / counts[:, None])

    def dual_points(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        natural = sums / counts[:, None]
        return natural, self.family.moment_from_natural(natural)

    def share_loss(self, counts: Array, others: Array) -> float:
        return 0.0


@dataclass(frozen=True)
class _Both:
    """The mean of two criteria, each with its half of the sums."""

    right: Likelihood
    left: _NaturalMean

    def value(self, counts: Array, sums: Array) -> Array:
        moments, naturals = np.split(sums, 2, axis=1)
        return 0.5 * (self.right.value(counts, moments) + self.left.value(counts, naturals))

    def dual_points(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        moments, naturals = np.split(sums, 2, axis=1)
        points = zip(self.right.dual_points(counts, moments), self.left.dual_points(counts, naturals), strict=True)
        mean, slope = (np.concatenate(both, axis=1) for both in points)
        return mean, slope

    def share_loss(self, counts: Array, others: Array) -> float:
        return 0.0


SIDES: dict[str, type[Right] | type[Left] | type[Symmetric]] = {"right": Right, "left": Left, "symmetric": Symmetric}
