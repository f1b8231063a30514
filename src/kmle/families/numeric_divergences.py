"""Divergences of distributions that are not of one exponential family: integrals and means over draws.

An expectation is a sum over quadrature nodes where rows have one column, and a mean over draws with a fixed seed
elsewhere: about two digits.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ..numerics.arrays import Array
from .derived import ExponentialFamily
from .tails import growth_of, kl_is_infinite, tails_of

DRAWS = 8192
# Exponents at which the Chernoff coefficient is computed to find the least.
EXPONENTS = np.linspace(0.02, 0.98, 49)


@dataclass(frozen=True)
class NumericDivergences(ExponentialFamily):
    """Replaces the formulas of exponential families by expectations."""

    @abstractmethod
    def family_of(self, natural: Array) -> tuple[ExponentialFamily, Array]:
        """Returns the exponential family of one distribution.

        Parameters
        ----------
        natural : array (D,)
            Natural parameters.

        Returns
        -------
        family : ExponentialFamily
            The family; this one where the distribution is of no exponential family.
        natural : array (D',)
            The natural parameters in that family.
        """

    def member_of(self, natural: Array) -> tuple[ExponentialFamily, Array]:
        """Returns the family of one distribution: of components of different families, its own.

        Parameters
        ----------
        natural : array (D,)
            Natural parameters.

        Returns
        -------
        family : ExponentialFamily
            The family.
        natural : array (D',)
            The natural parameters in that family.
        """
        return self, natural

    def _points(self, natural: Array) -> tuple[Array, Array]:
        """Rows (m, d) and weights (m,) such that the weighted sum of a function of the rows is its expectation."""
        family, theta = self.family_of(natural)
        if family.n_features == 1 and family.exponential and family.n_statistics > 0:
            x, weights = family.nodes(theta)
            log_density = _log_density(family, x[:, None], theta[None])[:, 0]
            weights = weights * np.exp(log_density)
            return x[:, None], weights / weights.sum()
        rows = family.sample(theta, DRAWS, np.random.default_rng(0))
        return rows, np.full(len(rows), 1 / len(rows))

    def _pairs(self, natural: Array, other: Array) -> tuple[Array, Array, tuple[int, ...]]:
        shape = np.broadcast_shapes(natural.shape, other.shape)
        flat = [np.broadcast_to(part, shape).reshape(-1, shape[-1]) for part in (natural, other)]
        return flat[0], flat[1], shape[:-1]

    def _bregman(self, natural: Array, other: Array) -> Array:
        """KL(other : natural), which B_F(natural : other) is in an exponential family."""
        first, second, shape = self._pairs(natural, other)
        values = np.empty(len(first))
        for place, (there, here) in enumerate(zip(first, second, strict=True)):
            if kl_is_infinite(tails_of(*self.member_of(here))[None], growth_of(*self.member_of(there))[None]):
                values[place] = np.inf
                continue
            rows, weights = self._points(here)
            with np.errstate(invalid="ignore"):
                density = _log_density(self, rows, np.stack([here, there]))
                gap = np.where(np.isfinite(density[:, 0]), density[:, 0] - density[:, 1], 0.0)
            values[place] = max(0.0, float(weights @ gap))
        return values.reshape(shape)

    def chernoff_coefficient(self, natural: Array, other: Array, alpha: float = 0.5) -> Array:
        return self._coefficients(natural, other, np.array([alpha]))[..., 0]

    def _coefficients(self, natural: Array, other: Array, alpha: Array) -> Array:
        """The integrals (..., a) of p^alpha q^(1 - alpha): of p's share of it over p, of q's over q."""
        first, second, shape = self._pairs(natural, other)
        values = np.zeros((len(first), len(alpha)))
        for place, pair in enumerate(zip(first, second, strict=True)):
            for own in (0, 1):
                rows, weights = self._points(pair[own])
                with np.errstate(invalid="ignore", divide="ignore"):
                    p, q = _log_density(self, rows, np.stack(pair)).T[:, :, None]
                    terms = alpha * p + (1 - alpha) * q - np.logaddexp(p, q)
                values[place] += weights @ np.exp(np.where(np.isnan(terms), -np.inf, terms))
        return np.minimum(values, 1.0).reshape(*shape, len(alpha))

    def chernoff_information(self, natural: Array, other: Array) -> Array:
        with np.errstate(divide="ignore"):
            return -np.log(self._coefficients(natural, other, EXPONENTS).min(axis=-1))


def _log_density(family: ExponentialFamily, X: Array, natural: Array) -> Array:
    direct = family.direct_log_density(X, natural)
    return family.packed_log_density(X, natural) if direct is None else direct
