"""The three ways to put one distribution in the place of several: right, left and symmetrised centroids, and what they
cost.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..merging import Criterion
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


@dataclass(frozen=True)
class Groups:
    """Distributions with labels 0, ..., k - 1, and what those of each label add up to: weights (k,), weighted points
    (k, P).
    """

    components: Components
    labels: NDArray[np.intp]
    weights: Array
    sums: Array

    @property
    def means(self) -> Array:
        """The mean points (k, P)."""
        return np.asarray(self.sums / self.weights[:, None])

    def members(self) -> list[Components]:
        """The distributions of each label."""
        order = np.argsort(self.labels, kind="stable")
        ends = np.cumsum(np.bincount(self.labels, minlength=len(self.weights)))[:-1]
        return [self.components[part] for part in np.split(order, ends)]


class Side(Protocol):
    """How far distributions are from the distribution that stands for them, and which that best is.

    A distribution is at the distance own + bias - <point, direction> from a center: its own part and its point are
    those of the distribution, direction and bias those of the center. So the nearest center is the one of the highest
    score, as in a fit.
    """

    def points(self, components: Components) -> Array:
        """What is added up when distributions merge, (K, P)."""
        ...

    def own(self, components: Components) -> Array:
        """The part of the distances that depends on the distribution alone, (K,)."""
        ...

    def scoring(self, family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
        """Directions (k, P) of centers and the part of the distances that depends on the center alone, (k,)."""
        ...

    def criterion(self, family: ExponentialFamily) -> Criterion:
        """The value of merged distributions, from their weight and sum of points."""
        ...

    def centroids(self, groups: Groups) -> Array:
        """The natural parameters (k, D) of the distributions that stand for groups."""
        ...


@dataclass(frozen=True)
class Right:
    """KL(f_j : center) = F*(eta_j) + F(theta) - <eta_j, theta>.

    The center has the mean moment, so the mixture keeps its moments.
    """

    def points(self, components: Components) -> Array:
        return components.moment

    def own(self, components: Components) -> Array:
        return components.conjugate

    def scoring(self, family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
        return natural, family.log_normalizer(natural)

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return _MomentMean(family)

    def centroids(self, groups: Groups) -> Array:
        # As `family.right_centroid` has it, but the moments are known already.
        return groups.components.family.natural_from_moment(groups.means)


@dataclass(frozen=True)
class Left:
    """KL(center : f_j) = F*(eta) + F(theta_j) - <eta, theta_j>.

    The center has the mean natural parameter, and keeps to what the distributions have in common.
    """

    def points(self, components: Components) -> Array:
        return components.natural

    def own(self, components: Components) -> Array:
        return components.normalizer

    def scoring(self, family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
        centers = Components.of(family, np.ones(len(natural)), natural)
        return centers.moment, centers.conjugate

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return _NaturalMean(family)

    def centroids(self, groups: Groups) -> Array:
        # As `family.left_centroid` has it.
        return groups.means


@dataclass(frozen=True)
class Symmetric:
    """The mean of both divergences. Merges are chosen by their lower bound, the two one-sided losses."""

    # A centroid takes a descent; clusters that did not change since are not descended for again.
    known: dict[bytes, Array] = field(default_factory=dict, repr=False)

    def points(self, components: Components) -> Array:
        return np.concatenate([components.moment, components.natural], axis=1)

    def own(self, components: Components) -> Array:
        return 0.5 * (components.conjugate + components.normalizer)

    def scoring(self, family: ExponentialFamily, natural: Array) -> tuple[Array, Array]:
        (right, normalizer), (left, conjugate) = Right().scoring(family, natural), Left().scoring(family, natural)
        return 0.5 * np.concatenate([right, left], axis=1), 0.5 * (normalizer + conjugate)

    def criterion(self, family: ExponentialFamily) -> Criterion:
        return _Both(_MomentMean(family), _NaturalMean(family))

    def centroids(self, groups: Groups) -> Array:
        return np.array([self._centroid(members) for members in groups.members()])

    def _centroid(self, components: Components) -> Array:
        if len(components) == 1:
            return components.natural[0]
        key = components.natural.tobytes() + components.weights.tobytes()
        if key not in self.known:
            self.known[key] = components.family.symmetrised_centroid(components.natural, components.weights)
        return self.known[key]


@dataclass(frozen=True)
class _MomentMean:
    """w F*(eta) at the mean moment: what merging takes off it is the mean KL to the right centroid."""

    family: ExponentialFamily

    def value(self, counts: Array, sums: Array) -> Array:
        return counts * self.family.conjugate(sums / counts[:, None])

    def dual_points(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        moment = sums / counts[:, None]
        return moment, self.family.natural_from_moment(moment)

    def share_loss(self, counts: Array, others: Array) -> float:
        return 0.0


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

    right: _MomentMean
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
