"""The three ways to put one law in the place of several: right, left and symmetrised centroids, and what they cost."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..merging import Criterion, Likelihood
from ..numerics.arrays import Array


@dataclass(frozen=True)
class Laws:
    """Weighted laws (K, D), with what is asked of them again and again."""

    family: ExponentialFamily
    weights: Array
    natural: Array
    moment: Array
    normalizer: Array
    conjugate: Array

    @staticmethod
    def of(family: ExponentialFamily, weights: Array, natural: Array) -> "Laws":
        """Laws from their natural parameters."""
        moment, normalizer = family.moment_from_natural(natural), family.log_normalizer(natural)
        return Laws(family, weights, natural, moment, normalizer, np.einsum("kd,kd->k", natural, moment) - normalizer)

    def __getitem__(self, chosen: slice | NDArray[np.intp]) -> "Laws":
        parts = (self.weights, self.natural, self.moment, self.normalizer, self.conjugate)
        return Laws(self.family, *(part[chosen] for part in parts))

    def __len__(self) -> int:
        return len(self.weights)


def divergences(first: Laws, second: Laws) -> Array:
    """KL of every law of the first from every law of the second, (k, m): F*(eta) + F(theta') - <eta, theta'>."""
    return np.maximum(first.conjugate[:, None] + second.normalizer - first.moment @ second.natural.T, 0.0)


def paired_divergences(first: Laws, second: Laws) -> Array:
    """KL of each law of the first from the law of the second in its place, (k,)."""
    products = np.einsum("kd,kd->k", first.moment, second.natural)
    return np.maximum(first.conjugate + second.normalizer - products, 0.0)


def _means(points: Array, weights: Array, starts: NDArray[np.intp]) -> Array:
    """Weighted means of groups of points that follow each other, each beginning at a start."""
    return np.asarray(np.add.reduceat(weights[:, None] * points, starts) / np.add.reduceat(weights, starts)[:, None])


class Side(Protocol):
    """How far laws are from the law that stands for them, and which that best is."""

    def points(self, laws: Laws) -> Array:
        """What is added up when laws merge, (K, P)."""
        ...

    def criterion(self, family: ExponentialFamily) -> Criterion:
        """The value of merged laws, from their weight and sum of points."""
        ...

    def centroids(self, laws: Laws, starts: NDArray[np.intp]) -> Array:
        """The natural parameters (k, D) of the laws that stand for groups of these, which begin at the starts."""
        ...

    def paired(self, laws: Laws, centres: Laws) -> Array:
        """What it costs each law to be stood for by the centre in its place, (K,)."""
        ...

    def distances(self, laws: Laws, centres: Laws) -> Array:
        """What it costs each law to be stood for by each centre, (K, k)."""
        ...


@dataclass(frozen=True)
class Right:
    """KL(f_j : centre): the centre has the mean moment, so the mixture keeps its moments."""

    def points(self, laws: Laws) -> Array:
        return laws.moment

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return Likelihood(family)

    def centroids(self, laws: Laws, starts: NDArray[np.intp]) -> Array:
        # As `family.right_centroid` has it, but the moments are known already.
        return laws.family.natural_from_moment(_means(laws.moment, laws.weights, starts))

    def paired(self, laws: Laws, centres: Laws) -> Array:
        return paired_divergences(laws, centres)

    def distances(self, laws: Laws, centres: Laws) -> Array:
        return divergences(laws, centres)


@dataclass(frozen=True)
class Left:
    """KL(centre : f_j): the centre has the mean natural parameter, and keeps to what the laws have in common."""

    def points(self, laws: Laws) -> Array:
        return laws.natural

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return _NaturalMean(family)

    def centroids(self, laws: Laws, starts: NDArray[np.intp]) -> Array:
        # As `family.left_centroid` has it.
        return _means(laws.natural, laws.weights, starts)

    def paired(self, laws: Laws, centres: Laws) -> Array:
        return paired_divergences(centres, laws)

    def distances(self, laws: Laws, centres: Laws) -> Array:
        return divergences(centres, laws).T


@dataclass(frozen=True)
class Symmetric:
    """The mean of both divergences. Merges are chosen by their lower bound, the two one-sided losses."""

    # A centroid takes a descent; clusters that did not change since are not descended for again.
    known: dict[bytes, Array] = field(default_factory=dict, repr=False)

    def points(self, laws: Laws) -> Array:
        return np.concatenate([laws.moment, laws.natural], axis=1)

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return _Both(Likelihood(family), _NaturalMean(family))

    def centroids(self, laws: Laws, starts: NDArray[np.intp]) -> Array:
        ends = np.append(starts[1:], len(laws))
        return np.array([self._centroid(laws[start:end]) for start, end in zip(starts, ends, strict=True)])

    def paired(self, laws: Laws, centres: Laws) -> Array:
        return 0.5 * (paired_divergences(laws, centres) + paired_divergences(centres, laws))

    def _centroid(self, laws: Laws) -> Array:
        if len(laws) == 1:
            return laws.natural[0]
        key = laws.natural.tobytes() + laws.weights.tobytes()
        if key not in self.known:
            self.known[key] = laws.family.symmetrised_centroid(laws.natural, laws.weights)
        return self.known[key]

    def distances(self, laws: Laws, centres: Laws) -> Array:
        return 0.5 * (divergences(laws, centres) + divergences(centres, laws).T)


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
