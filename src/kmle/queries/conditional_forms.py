"""Conditional distributions of k components as functions of known values: the forms that `conditionals` makes."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import scipy
from numpy.typing import NDArray

from ..families import ComponentFamilies, ExponentialFamily, FixedCovarianceGaussian, Multinomial, StudentT
from ..families.hidden_scales import Parts, squared_distances
from ..families.hidden_scales import log_density as t_log_density
from ..numerics.arrays import Array
from .distribution import component_cdf
from .marginals import joined
from .moments import block_diagonal, covariances, means


class Conditional(ABC):
    """The k components of the other columns, as functions of known values (n, q)."""

    family: ExponentialFamily

    @abstractmethod
    def natural(self, values: Array) -> Array:
        """Natural parameters (n, k, D), or (1, k, D) where they do not depend on the values."""

    def at(self, values: Array) -> tuple[ExponentialFamily, Array]:
        """Family and natural parameters (k, D) given one row (1, q)."""
        return self.family, self.natural(values)[0]

    @abstractmethod
    def means(self, values: Array) -> Array:
        """Means (n, k, r), or (1, k, r) where they do not depend on the values."""

    def mixed_means(self, values: Array, weights: Array) -> Array:
        """The means (n, r) of mixtures with weights (n, k)."""
        return mixed(weights, self.means(values))

    @abstractmethod
    def covariances(self, values: Array) -> Array:
        """Covariances (n, k, r, r), or (1, k, r, r) where they do not depend on the values."""

    @abstractmethod
    def cdf(self, values: Array) -> Callable[[Array], Array]:
        """P(Y <= y) (n, k) of the only other column, as a function of y (n,)."""

    @abstractmethod
    def log_density(self, values: Array, Y: Array) -> Array:
        """log p(Y) (n, k) of legal rows (n, r)."""

    @abstractmethod
    def sample(self, values: Array, labels: NDArray[np.intp], rng: np.random.Generator) -> Array:
        """One row (n, r) from the component that `labels` (n,) names."""


@dataclass(frozen=True)
class Unchanged(Conditional):
    """Components that do not depend on the known values."""

    family: ExponentialFamily
    parameters: Array

    def natural(self, values: Array) -> Array:
        return self.parameters[None]

    def means(self, values: Array) -> Array:
        return means(self.family, self.parameters)[None]

    def covariances(self, values: Array) -> Array:
        return covariances(self.family, self.parameters)[None]

    def cdf(self, values: Array) -> Callable[[Array], Array]:
        return partial(component_cdf, self.family, self.parameters)

    def log_density(self, values: Array, Y: Array) -> Array:
        return self.family.log_density(Y, self.parameters)

    def sample(self, values: Array, labels: NDArray[np.intp], rng: np.random.Generator) -> Array:
        rows = np.empty((len(labels), self.family.n_features or 1))
        for label in np.unique(labels):
            own = labels == label
            rows[own] = self.family.sample(self.parameters[label], int(own.sum()), rng)
        return rows


@dataclass(frozen=True)
class Linear(Conditional):
    """Gaussians with means `intercept` (k, r) + `slope` (k, r, q) (x - `center`) and fixed covariances (k, r, r)."""

    family: ExponentialFamily
    intercept: Array
    slope: Array
    center: Array
    covariance: Array

    def natural(self, values: Array) -> Array:
        at_zero = self.family.natural_from_source(**self._source(np.zeros_like(self.intercept)))
        precision = np.linalg.inv(self.covariance)
        linear = np.einsum("kij,nkj->nki", precision, self.means(values))
        tail = at_zero[:, linear.shape[-1] :]
        return np.concatenate([linear, np.broadcast_to(tail, (len(linear), *tail.shape))], axis=-1)

    def _source(self, mean: Array) -> dict[str, Array]:
        fixed = isinstance(self.family, FixedCovarianceGaussian)
        return {"mean": mean} if fixed else {"mean": mean, "covariance": self.covariance}

    def means(self, values: Array) -> Array:
        k, r, q = self.slope.shape
        products = (values - self.center) @ self.slope.reshape(k * r, q).T
        products += self.intercept.ravel()
        return products.reshape(-1, k, r)

    def mixed_means(self, values: Array, weights: Array) -> Array:
        k, r, q = self.slope.shape
        if q > k:
            return super().mixed_means(values, weights)
        # The slopes of a row are the weighted mean of those of its components; rows lie side by side.
        offset = np.ascontiguousarray((values - self.center).T)
        found = self.intercept.T @ weights.T
        slope = np.moveaxis(self.slope, 0, 2).reshape(r * q, k) @ weights.T
        for column in range(r):
            found[column] += np.einsum("qn,qn->n", slope[column * q : (column + 1) * q], offset)
        return found.T

    def covariances(self, values: Array) -> Array:
        return self.covariance[None]

    def cdf(self, values: Array) -> Callable[[Array], Array]:
        means, deviations = self.means(values)[:, :, 0], np.sqrt(self.covariance[:, 0, 0])
        return lambda y: np.asarray(scipy.special.ndtr((y[:, None] - means) / deviations))

    def log_density(self, values: Array, Y: Array) -> Array:
        factors = np.linalg.cholesky(self.covariance)
        whitened = np.einsum("kij,nkj->nki", np.linalg.inv(factors), Y[:, None] - self.means(values))
        constant = np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1) + 0.5 * Y.shape[1] * np.log(2 * np.pi)
        return -0.5 * np.einsum("nki,nki->nk", whitened, whitened) - constant

    def sample(self, values: Array, labels: NDArray[np.intp], rng: np.random.Generator) -> Array:
        rows = self.means(values)[np.arange(len(labels)), labels]
        noise = rng.standard_normal(rows.shape)
        for label, factor in enumerate(np.linalg.cholesky(self.covariance)):
            own = labels == label
            rows[own] += noise[own] @ factor.T
        return rows


@dataclass(frozen=True)
class HeavyTailed(Conditional):
    """Student t components: linear locations, and scale matrices that grow with the distance of the known values.

    Given values at a squared distance s from theirs, q of them, the others have nu + q degrees of freedom and the scale
    matrix (nu + s) / (nu + q) times that of the Gaussian case (Ding, 2016).
    """

    family: StudentT
    linear: Linear
    known: StudentT
    known_natural: Array
    degrees: Array

    def _parts(self, values: Array) -> Parts:
        q = values.shape[1]
        distance = squared_distances(values, self.known.parts(self.known_natural))
        factor = np.linalg.cholesky(self.linear.covariance)
        grown = np.sqrt((self.degrees + distance) / (self.degrees + q))[..., None, None] * factor
        return Parts(self.means(values), grown, np.broadcast_to(self.degrees + q, distance.shape))

    def natural(self, values: Array) -> Array:
        return self.family.from_parts(self._parts(values))

    def means(self, values: Array) -> Array:
        return self.linear.means(values)

    def covariances(self, values: Array) -> Array:
        return covariances(self.family, self.natural(values))

    def cdf(self, values: Array) -> Callable[[Array], Array]:
        location, factor, degrees = self._parts(values)
        return lambda y: np.asarray(scipy.special.stdtr(degrees, (y[:, None] - location[:, :, 0]) / factor[:, :, 0, 0]))

    def log_density(self, values: Array, Y: Array) -> Array:
        parts = self._parts(values)
        whitened = np.linalg.solve(parts.factor, (Y[:, None] - parts.location)[..., None])[..., 0]
        return t_log_density(np.einsum("nki,nki->nk", whitened, whitened), parts)

    def sample(self, values: Array, labels: NDArray[np.intp], rng: np.random.Generator) -> Array:
        chosen = np.arange(len(labels)), labels
        location, factor, degrees = (part[chosen] for part in self._parts(values))
        noise = rng.standard_normal(location.shape) / np.sqrt(rng.chisquare(degrees) / degrees)[:, None]
        return location + np.einsum("nij,nj->ni", factor, noise)


@dataclass(frozen=True)
class Remaining(Conditional):
    """Multinomials of the trials that the known counts leave, as many as each row has."""

    family: Multinomial
    parameters: Array
    trials: int

    def at(self, values: Array) -> tuple[ExponentialFamily, Array]:
        left = int(self._left(values)[0])
        if left < 1:
            raise ValueError(f"the known counts sum to all {self.trials} trials: nothing is left for the other columns")
        return replace(self.family, trials=left), self.parameters

    def _left(self, values: Array) -> Array:
        return np.asarray(self.trials - values.sum(axis=1))

    @property
    def _shares(self) -> Array:
        return self.family.source_from_natural(self.parameters)["probabilities"]

    def natural(self, values: Array) -> Array:
        return self.parameters[None]

    def means(self, values: Array) -> Array:
        return np.asarray(self._left(values)[:, None, None] * self._shares)

    def covariances(self, values: Array) -> Array:
        shares = self._shares
        one = np.einsum("ki,ij->kij", shares, np.eye(shares.shape[1])) - shares[:, :, None] * shares[:, None, :]
        return np.asarray(self._left(values)[:, None, None, None] * one)

    def cdf(self, values: Array) -> Callable[[Array], Array]:
        raise ValueError("the last count follows from the others: leave at least two columns of a multinomial open")

    def log_density(self, values: Array, Y: Array) -> Array:
        left = self._left(values)
        other = np.flatnonzero(Y.sum(axis=1) != left)
        if other.size:
            row = int(other[0])
            raise ValueError(
                f"the counts {Y[row].tolist()} must sum to the {left[row]:g} trials that are left of their row"
            )
        return self.family.log_density(Y, self.parameters)

    def sample(self, values: Array, labels: NDArray[np.intp], rng: np.random.Generator) -> Array:
        return rng.multinomial(self._left(values).astype(np.int64), self._shares[labels]).astype(float)


@dataclass(frozen=True)
class Members(Conditional):
    """Components of different families, each with its own conditional distribution."""

    family: ComponentFamilies
    parts: tuple[Conditional, ...]

    def at(self, values: Array) -> tuple[ExponentialFamily, Array]:
        each = [part.at(values) for part in self.parts]
        family = ComponentFamilies(tuple(own for own, _ in each))
        return family, family.natural_of([(own, theta[0]) for own, theta in each])

    def natural(self, values: Array) -> Array:
        each = [part.natural(values)[:, 0] for part in self.parts]
        families = [part.family for part in self.parts]
        rows = np.broadcast_shapes(*(own.shape[:1] for own in each))[0]
        return np.stack(
            [
                self.family.natural_of([(f, own[min(i, len(own) - 1)]) for f, own in zip(families, each, strict=True)])
                for i in range(rows)
            ]
        )

    def means(self, values: Array) -> Array:
        return _one_by_one([part.means(values) for part in self.parts], len(values))

    def covariances(self, values: Array) -> Array:
        return _one_by_one([part.covariances(values) for part in self.parts], len(values))

    def cdf(self, values: Array) -> Callable[[Array], Array]:
        each = [part.cdf(values) for part in self.parts]
        return lambda y: np.concatenate([own(y) for own in each], axis=1)

    def log_density(self, values: Array, Y: Array) -> Array:
        return np.concatenate([part.log_density(values, Y) for part in self.parts], axis=1)

    def sample(self, values: Array, labels: NDArray[np.intp], rng: np.random.Generator) -> Array:
        rows = np.empty((len(labels), self.family.n_features or 1))
        for label in np.unique(labels):
            own = labels == label
            rows[own] = self.parts[label].sample(values[own], np.zeros(int(own.sum()), dtype=np.intp), rng)
        return rows


@dataclass(frozen=True)
class Blocks(Conditional):
    """Independent blocks, each with the places of its known values."""

    family: ExponentialFamily
    parts: tuple[tuple[Conditional, tuple[int, ...]], ...]

    def at(self, values: Array) -> tuple[ExponentialFamily, Array]:
        return joined([part.at(values[:, known]) for part, known in self.parts])

    def natural(self, values: Array) -> Array:
        return _beside([part.natural(values[:, known]) for part, known in self.parts])

    def means(self, values: Array) -> Array:
        return _beside([part.means(values[:, known]) for part, known in self.parts])

    def covariances(self, values: Array) -> Array:
        each = [part.covariances(values[:, known]) for part, known in self.parts]
        n = max(len(own) for own in each)
        return block_diagonal([np.broadcast_to(own, (n, *own.shape[1:])) for own in each])

    def cdf(self, values: Array) -> Callable[[Array], Array]:
        ((part, known),) = self.parts
        return part.cdf(values[:, known])

    def log_density(self, values: Array, Y: Array) -> Array:
        rows = np.split(Y, np.cumsum(self._widths)[:-1], axis=1)
        parts = zip(self.parts, rows, strict=True)
        return np.sum([part.log_density(values[:, known], own) for (part, known), own in parts], axis=0)

    def sample(self, values: Array, labels: NDArray[np.intp], rng: np.random.Generator) -> Array:
        return np.concatenate([part.sample(values[:, known], labels, rng) for part, known in self.parts], axis=1)

    @property
    def _widths(self) -> list[int]:
        return [part.family.n_features or 1 for part, _ in self.parts]


def _one_by_one(parts: list[Array], n: int) -> Array:
    """Parts (n or 1, 1, ...) of the components of n rows, side by side."""
    return np.concatenate([np.broadcast_to(part, (n, *part.shape[1:])) for part in parts], axis=1)


def _beside(parts: list[Array]) -> Array:
    shape = np.broadcast_shapes(*(part.shape[:-1] for part in parts))
    return np.concatenate([np.broadcast_to(part, (*shape, part.shape[-1])) for part in parts], axis=-1)


def mixed(weights: Array, means: Array) -> Array:
    """sum_j weights_ij means_ij, (n, r), for means (n or 1, k, r)."""
    if len(means) == 1:
        return weights @ means[0]
    if means.shape[2] == 1:
        return np.einsum("nk,nk->n", weights, means[:, :, 0])[:, None]
    return np.einsum("nk,nkr->nr", weights, means)
