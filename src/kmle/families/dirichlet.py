"""Rows of proportions."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..numerics.saddle_point import LARGE, dirichlet_entropy, log_poisson
from ..numerics.solvers import dirichlet_concentration
from ..numerics.special import digamma_minus_total
from .derived import ExponentialFamily
from .resolution import Resolution
from .scaled_columns import ROUNDING
from .shapes import over_columns
from .support import POSITIVE, Simplex


@dataclass(frozen=True)
class Dirichlet(ExponentialFamily):
    """Rows of K positive proportions that sum to one: density proportional to prod_i x_i^(concentration_i - 1).

    Parameters
    ----------
    n_features : int, default=None
        The number of columns; by default that of the data.

    Examples
    --------
    >>> Dirichlet().mle([[0.2, 0.8], [0.5, 0.5], [0.6, 0.4]]).source["concentration"].round(4)
    array([[3.3545, 4.4679]])
    """

    name: ClassVar = "dirichlet"
    support: ClassVar = Simplex()
    parameters: ClassVar = {"concentration": POSITIVE}

    def fixed_from_data(self, X: Array) -> dict[str, Any]:
        if X.shape[1] < 2:
            raise ValueError("dirichlet needs at least two columns of proportions; one alone is always one")
        return super().fixed_from_data(X)

    def n_statistics_for(self, n_features: int) -> int:
        return n_features

    def sufficient_statistic(self, X: Array) -> Array:
        return np.log(X)

    def log_normalizer(self, natural: Array) -> Array:
        concentration = natural + 1
        value = scipy.special.gammaln(concentration).sum(axis=-1) - scipy.special.gammaln(concentration.sum(axis=-1))
        return np.where(np.all(concentration > 0, axis=-1), value, np.inf)

    def moment_from_natural(self, natural: Array) -> Array:
        return digamma_minus_total(natural + 1)

    def natural_from_moment(self, moment: Array) -> Array:
        return dirichlet_concentration(moment) - 1

    def natural_from_source(self, *, concentration: Array) -> Array:
        """Returns the natural parameters of distributions that are given by their usual parameters.

        Parameters
        ----------
        concentration : array (k, d)
            The concentration of each part.

        Returns
        -------
        array (k, D)
            Natural parameters.
        """
        return np.atleast_2d(concentration) - 1

    def source_from_natural(self, natural: Array) -> dict[str, Array]:
        return {"concentration": natural + 1}

    def direct_entropy(self, natural: Array) -> Array:
        return dirichlet_entropy(natural + 1)

    def direct_log_density(self, X: Array, natural: Array) -> Array:
        # Packed statistics, unless concentrations are so large that these would cancel.
        if natural.max() <= LARGE:
            return self.packed_log_density(X, natural)
        concentration = natural + 1
        total = concentration.sum(axis=-1)
        given = over_columns(lambda x, a: log_poisson(a, total * x) + np.log(a) - np.log(x), X, concentration)
        # Proportions may miss one in their sum by rounding.
        return given - log_poisson(total, total) - np.log(total) + total * (X.sum(axis=-1, keepdims=True) - 1)

    def sample(self, natural: Array, size: int, rng: np.random.Generator) -> Array:
        # Small concentrations draw proportions that underflow; they are kept positive, as the support asks.
        draws = np.maximum(rng.dirichlet(natural + 1, size), 1e-300)
        return draws / draws.sum(axis=1, keepdims=True)

    def smallest_spread(self, resolution: Resolution, center: Array | None) -> Array:
        return resolution.shaped_spread

    def natural_with_spread(self, moment: Array, spread: Array) -> Array:
        concentration = self.natural_from_moment(moment) + 1
        return concentration * np.minimum(1.0, _room(concentration, spread))[..., None] - 1

    def has_spread(self, natural: Array, spread: Array) -> NDArray[np.bool_]:
        return np.asarray(_room(natural + 1, spread) >= 1 - ROUNDING)


def _room(concentration: Array, spread: Array) -> Array:
    """By how much all concentrations may grow until even the widest column is as narrow as its spread."""
    total = concentration.sum(axis=-1)
    mean = concentration / total[..., None]
    with np.errstate(divide="ignore"):
        largest = (mean * (1 - mean) / spread**2).max(axis=-1) - 1
    return np.maximum(largest, spread.size) / total
