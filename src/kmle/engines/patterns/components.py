"""Components as rows with missing entries see them: one distribution for each unit of the columns."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...families import ExponentialFamily
from ...families.units import Unit
from ...numerics.arrays import Array

LOG_2PI = float(np.log(2 * np.pi))


@dataclass(frozen=True)
class GaussianForm:
    """Means (k, d), precisions (k, d, d) with their Cholesky factors, and log-densities at the means (k,)."""

    mean: Array
    factor: Array
    covariance: Array

    @cached_property
    def precision(self) -> Array:
        """The precisions."""
        return self.factor @ np.swapaxes(self.factor, -1, -2)

    @cached_property
    def constant(self) -> Array:
        """The log-densities at the means."""
        diagonal = np.diagonal(self.factor, axis1=-2, axis2=-1)
        return np.asarray(np.log(np.abs(diagonal)).sum(axis=-1) - 0.5 * self.mean.shape[-1] * LOG_2PI)


def gaussian_form(family: ExponentialFamily, natural: Array) -> GaussianForm | None:
    """Components (k, D) of a unit as Gaussians; None where they are of another kind."""
    form = family.gaussian_form(natural)
    if form is None:
        return None
    centered = family.centered_form(natural)
    assert centered is not None  # Gaussians have one
    mean, covariance = form
    return GaussianForm(mean, centered.triangles, covariance)


class Components:
    """Components (k, D) of one or several mixtures with log-weights (k,), as all parts of the rows score by them.

    Inactive ones have a log-weight of minus infinity, and any legal parameters.
    """

    def __init__(self, family: ExponentialFamily, natural: Array, log_weights: Array, n_mixtures: int = 1) -> None:
        self.family, self.n_mixtures = family, n_mixtures
        active = np.isfinite(log_weights)
        self.natural = np.where(active[:, None], natural, natural[np.argmax(active)])
        self.log_weights = log_weights
        self._forms: dict[Unit, GaussianForm | None] = {}

    def __len__(self) -> int:
        return len(self.natural)

    @cached_property
    def log_normalizer(self) -> Array:
        """F(theta_j)."""
        return self.family.log_normalizer(self.natural)

    @cached_property
    def bias(self) -> Array:
        """b_j = log w_j - F(theta_j)."""
        return self.log_weights - self.log_normalizer

    def of(self, unit: Unit) -> Array:
        """The natural parameters (k, s) of a unit."""
        return self.natural[:, list(unit.statistics)]

    def form(self, unit: Unit) -> GaussianForm | None:
        """The Gaussians of a unit."""
        if unit not in self._forms:
            self._forms[unit] = gaussian_form(unit.family, self.of(unit))
        return self._forms[unit]


@dataclass(frozen=True)
class Sums:
    """Counts (k,), expected statistics (k, D), and scores of the mixtures (m,); those of disjoint rows add."""

    counts: Array
    statistics: Array
    scores: Array

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.counts + other.counts, self.statistics + other.statistics, self.scores + other.scores)
