"""What families write whose components are estimated together, or of which each has a place of its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .formulas import Formulas


@dataclass(frozen=True)
class JointFormulas(Formulas):
    """Estimates of all components of a mixture; by default each is estimated alone."""

    @property
    def joint(self) -> bool:
        """Whether the estimate of a component depends on the others, or on its own present parameters.

        Such a family writes `joint_estimate`. Its `natural_from_moment` estimates a component that is alone.
        """
        return False

    def joint_estimate(self, counts: Array, moments: Array, before: Array | None, spread: Array | None) -> Array:
        """Estimates all components together.

        The estimate never lowers sum_j counts_j (<moments_j, theta_j> - F(theta_j)) from what it is at `before`, where
        that is a mixture of this model. Components with a count of zero take part in nothing, and get any legal
        distribution.

        Parameters
        ----------
        counts : array (..., k)
            The number or weight of the rows of each component.
        moments : array (..., k, D)
            The mean of t(x) over the rows of each component.
        before : array (..., k, D), default=None
            The natural parameters before the step; None at the start.
        spread : array (d,), default=None
            How narrow components may be in each column; None where nothing bounds them.

        Returns
        -------
        array (..., k, D)
            Natural parameters.
        """
        raise NotImplementedError(f"{self.name} has no joint estimate")

    def joint_projection(self, counts: Array, natural: Array, before: Array, spread: Array | None) -> Array:
        """Returns a mixture of the model close to given components.

        Unless a family says otherwise, the estimate for the moments of those components.

        Parameters
        ----------
        counts : array (..., k)
            The number or weight of the rows of each component.
        natural : array (..., k, D)
            The components, which need not be a mixture of the model.
        before : array (..., k, D)
            The mixture to return where the components are not legal.
        spread : array (d,), default=None
            How narrow components may be in each column; None where nothing bounds them.

        Returns
        -------
        array (..., k, D)
            Natural parameters.
        """
        with np.errstate(all="ignore"):
            moments = self.moment_from_natural(natural)
            legal = np.isfinite(moments).all(axis=-1) & np.isfinite(self.log_normalizer(natural))
        legal = np.asarray((legal | (counts <= 0)).all(axis=-1))[..., None, None]
        usable = np.where(legal & np.isfinite(moments), moments, self.moment_from_natural(before))
        return np.where(legal, self.joint_estimate(counts, usable, before, spread), before)

    @property
    def has_places(self) -> bool:
        """Whether a component's place decides what it may be, as in mixtures of different families."""
        return False

    def projected(self, counts: Array, natural: Array, spread: Array | None) -> Array:
        """Returns a mixture of the model close to given components, without a mixture before.

        Parameters
        ----------
        counts : array (..., k)
            The number or weight of the rows of each component.
        natural : array (..., k, D)
            The components, which need not be a mixture of the model.
        spread : array (d,), default=None
            How narrow components may be in each column; None where nothing bounds them.

        Returns
        -------
        array (..., k, D)
            Natural parameters.
        """
        return self.joint_estimate(counts, self.moment_from_natural(natural), None, spread)

    def matched(self, counts: Array, moments: Array, spread: Array | None) -> NDArray[np.intp] | None:
        """Returns the cluster from which each component is best started.

        Parameters
        ----------
        counts : array (..., k)
            The number or weight of the rows of each component.
        moments : array (..., k, D)
            The mean of t(x) over the rows of each component.
        spread : array (d,), default=None
            How narrow components may be in each column; None where nothing bounds them.

        Returns
        -------
        array (..., k) or None
            The index of a cluster for each component; None where all components are alike.
        """
        return None

    def presented(self, log_weights: Array, natural: Array) -> NDArray[np.intp]:
        """Returns the order in which components are handed back: a stable sort by weight, unless places matter.

        Parameters
        ----------
        log_weights : array (k,)
            The logarithms of the weights.
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k,)
            The indices of the components, in order.
        """
        return np.argsort(-log_weights, kind="stable")

    def prior_moment(self, mean_statistic: Array) -> Array:
        """Returns the moment at which the prior has its observations.

        Parameters
        ----------
        mean_statistic : array (D,)
            The mean of t(x) over all rows.

        Returns
        -------
        array (D,)
            The moment.
        """
        return mean_statistic
