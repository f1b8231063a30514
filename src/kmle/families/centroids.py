"""Centroids of distributions (Nielsen and Nock, 2009), derived from F and its gradient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from ..numerics.arrays import Array
from .divergences import Divergences, normalised

DESCENT_STEPS = 200


@dataclass(frozen=True)
class Centroids(Divergences):
    """The distributions in the middle of others, by the divergences to and from them."""

    @final
    def right_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """Returns the theta that minimises the mean of KL(p_i : p_theta): the distribution with the mean moment.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters of the distributions.
        weights : array (k,), default=None
            The weights of the distributions; equal by default.

        Returns
        -------
        array (D,)
            Natural parameters of the centroid.
        """
        center = self.center(natural, weights)
        return self._moved_back(self._right_centroid(self.centered(center, natural)[0], weights), center)

    def _right_centroid(self, natural: Array, weights: ArrayLike | None) -> Array:
        moment = normalised(weights, len(natural)) @ self.moment_from_natural(natural)
        return self.natural_from_moment(moment[None])[0]

    def _moved_back(self, natural: Array, center: Array | None) -> Array:
        return natural if center is None else self.shifted(natural, center)

    @final
    def left_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """Returns the theta that minimises the mean of KL(p_theta : p_i): the mean natural parameter.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters of the distributions.
        weights : array (k,), default=None
            The weights of the distributions; equal by default.

        Returns
        -------
        array (D,)
            Natural parameters of the centroid.
        """
        return np.asarray(normalised(weights, len(natural)) @ natural)

    @final
    def symmetrised_centroid(self, natural: Array, weights: ArrayLike | None = None) -> Array:
        """Returns the theta that minimises the mean of KL(p_i : p_theta) + KL(p_theta : p_i).

        Up to a constant that mean is B_F(left : theta) + B_F(theta : right), left and right being the one-sided
        centroids: a descent with twice the Fisher information as its metric, halving any step that does not pay.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters of the distributions.
        weights : array (k,), default=None
            The weights of the distributions; equal by default.

        Returns
        -------
        array (D,)
            Natural parameters of the centroid.
        """
        center = self.center(natural, weights)
        return self._moved_back(self._symmetrised_centroid(self.centered(center, natural)[0], weights), center)

    def _symmetrised_centroid(self, natural: Array, weights: ArrayLike | None) -> Array:
        right, left = self._right_centroid(natural, weights), self.left_centroid(natural, weights)
        right_moment = self.moment_from_natural(right[None])[0]

        def loss(theta: Array) -> float:
            with np.errstate(all="ignore"):
                value = float(self.bregman(left, theta) + self.bregman(theta, right))
            return value if np.isfinite(value) else np.inf

        # Both ends are legal; the better of them and their middle starts.
        center = min((right, left, 0.5 * (left + right)), key=loss)
        current = loss(center)
        for _ in range(DESCENT_STEPS):
            information = self.fisher_information(center)[0]
            slope = self.moment_from_natural(center[None])[0] - right_moment - information @ (left - center)
            step = np.linalg.lstsq(2 * information, -slope, rcond=1e-12)[0]
            while loss(center + step) > current and step @ information @ step > 1e-24:
                step = 0.5 * step
            if step @ information @ step <= 1e-24:
                break
            center = center + step
            current = loss(center)
        # Through the moment and back, so that redundant coordinates come out in their normal form.
        return self.natural_from_moment(self.moment_from_natural(center[None]))[0]
