"""Families that are no exponential families, by coordinates without bounds: logarithms of what is positive.

What the rest of the library calls natural parameters are these coordinates. Densities are direct, and estimates are
made from rows and their shares rather than from sums of statistics.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .numeric_divergences import NumericDivergences
from .support import Interval, Support

# Coordinates of positive numbers stay within these: their exponentials are finite in every product.
LARGEST_LOGARITHM = 300.0


@dataclass(frozen=True)
class CoordinateFamily(NumericDivergences):
    """A family whose distributions are held by coordinates (k, D)."""

    exponential: ClassVar = False
    smooth: ClassVar[bool] = True
    """Whether log-densities have second derivatives by the coordinates; otherwise information is that of slopes."""
    in_one_step: ClassVar[bool] = True
    """Whether an estimate is the most likely one; otherwise it is a step towards it."""

    # What such a family writes ----------------------------------------------------------------------------------------

    @abstractmethod
    def direct_log_density(self, X: Array, natural: Array) -> Array:
        """Returns log-densities.

        Parameters
        ----------
        X : array (n, d)
            Rows in the support.
        natural : array (k, D)
            Coordinates of the distributions.

        Returns
        -------
        array (n, k)
            The log-densities.
        """

    @abstractmethod
    def weighted_estimate(
        self, X: Array, shares: Array, prior: Array | None, before: Array | None, spread: Array | None
    ) -> Array:
        """Estimates components from rows and their shares.

        The log-likelihood sum_ij shares_ij log p_j(x_i), plus that of the prior, is as large as it can be, or larger
        than at `before`.

        Parameters
        ----------
        X : array (n, d)
            Rows in the support.
        shares : array (n, k)
            How much of each row each component has.
        prior : array (n,), default=None
            The weights of the rows in the prior's observation, the same for every component.
        before : array (k, D), default=None
            The coordinates before; None at the start.
        spread : array (d,), default=None
            How narrow components may be in each column; None where nothing bounds them.

        Returns
        -------
        array (k, D)
            The coordinates of the components.
        """

    def prior_summary(self, X: Array, prior: Array) -> tuple[Array, ...] | None:
        """Returns what `prior_fit` needs to know of the prior's observation.

        Parameters
        ----------
        X : array (n, d)
            Rows in the support.
        prior : array (n,)
            The weights of the rows in that observation.

        Returns
        -------
        tuple of arrays, or None
            The summary; None where the observation fits as other rows do.
        """
        return None

    def prior_fit(self, summary: tuple[Array, ...], natural: Array) -> Array:
        """Returns how well the prior's observation fits distributions.

        Parameters
        ----------
        summary : tuple of arrays
            What `prior_summary` returned.
        natural : array (k, D)
            Coordinates of the distributions.

        Returns
        -------
        array (k,)
            The log-likelihoods.
        """
        raise NotImplementedError(f"the prior of {self.name} has no summary")

    def prior_peak(self, summary: tuple[Array, ...] | None, X: Array) -> Array | None:
        """Returns the coordinates at which the prior's observation fits best.

        Parameters
        ----------
        summary : tuple of arrays, default=None
            What `prior_summary` returned.
        X : array (n, d)
            Rows in the support.

        Returns
        -------
        array (D,) or None
            The coordinates; None for the estimate from all rows.
        """
        return None

    @property
    @abstractmethod
    def stand_in(self) -> ExponentialFamily:
        """An exponential family whose mixtures are like those of this one: starts are sought with it."""

    def fixed_parameters(self) -> dict[str, Any]:
        """Returns the arguments of the constructor, which say what is fixed and what is estimated.

        Returns
        -------
        dict
            The arguments by name.
        """
        return {"n_features": self.n_features}

    def bounds_reached(self, natural: Array) -> list[str]:
        """Returns the parameters that stand on a bound.

        Parameters
        ----------
        natural : array (k, D)
            Coordinates of the distributions.

        Returns
        -------
        list of str
            A sentence for each.
        """
        return []

    def limits_met(self, natural: Array, n_rows: float) -> list[str]:
        """Returns the parameters that make distributions those of a simpler family, as far as the rows can tell.

        Parameters
        ----------
        natural : array (k, D)
            Coordinates of the distributions.
        n_rows : float
            The number of rows.

        Returns
        -------
        list of str
            A sentence for each.
        """
        return []

    @property
    def n_shared(self) -> int:
        """How many coordinates all components share."""
        return 0

    def shared_places(self) -> list[int]:
        """Returns which coordinates all components share.

        Returns
        -------
        list of int
            Their places.
        """
        return []

    def coordinate_units(self, natural: Array) -> Array:
        """Returns by how much coordinates change a distribution about as much as doubling its scale does.

        Parameters
        ----------
        natural : array (..., D)
            Coordinates of the distributions.

        Returns
        -------
        array (..., D)
            The units.
        """
        return np.ones(natural.shape)

    # What follows -----------------------------------------------------------------------------------------------------

    @final
    def sufficient_statistic(self, X: Array) -> Array:
        raise ValueError(f"{self.name} is no exponential family: it has no sufficient statistic")

    @final
    def log_normalizer(self, natural: Array) -> Array:
        # Zero where coordinates are numbers: densities are direct.
        return np.where(np.isfinite(natural).all(axis=-1), 0.0, np.nan)

    @final
    def moment_from_natural(self, natural: Array) -> Array:
        return natural

    @final
    def natural_from_moment(self, moment: Array) -> Array:
        return moment

    def family_of(self, natural: Array) -> tuple[ExponentialFamily, Array]:
        return self, natural

    @final
    def n_parameters_for(self, n_components: int) -> int:
        return n_components * self.n_parameters - (n_components - 1) * self.n_shared

    @final
    def _estimated_alone(self, rows: Array, weights: Array | None) -> Array:
        shares = np.ones((len(rows), 1)) if weights is None else weights[:, None]
        return self.weighted_estimate(rows, shares, None, None, None)


# Numbers with bounds as coordinates without ---------------------------------------------------------------------------


def coordinate_of(domain: Support, value: Array) -> Array:
    """A number of a domain as a coordinate: itself, its logarithm, or its log-odds."""
    if not isinstance(domain, Interval) or not np.isfinite(domain.lower):
        return value
    with np.errstate(divide="ignore"):
        if not np.isfinite(domain.upper):
            return np.clip(np.log(value - domain.lower), -LARGEST_LOGARITHM, LARGEST_LOGARITHM)
        share = (value - domain.lower) / (domain.upper - domain.lower)
        return np.clip(np.log(share) - np.log1p(-share), -LARGEST_LOGARITHM, LARGEST_LOGARITHM)


def value_at(domain: Support, coordinate: Array) -> Array:
    """The inverse of `coordinate_of`."""
    if not isinstance(domain, Interval) or not np.isfinite(domain.lower):
        return coordinate
    bounded = np.clip(coordinate, -LARGEST_LOGARITHM, LARGEST_LOGARITHM)
    if not np.isfinite(domain.upper):
        return domain.lower + np.exp(bounded)
    return domain.lower + (domain.upper - domain.lower) / (1 + np.exp(-bounded))
