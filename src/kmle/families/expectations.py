"""Expectations by quadrature, for families of one column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..numerics.cells import Densities, Line, integrals, sums
from ..numerics.quadrature import integer_nodes, interval_nodes
from .layout import Layout
from .support import Integers, Interval

# How many times the known effects of rounding an integral may be off by, and the most that is put down to it.
SLACK, MOST_SLACK = 4.0, 0.1
# Densities of packed statistics are good enough up to this rounding error, in nats.
PACKED_ERROR = 1e-11


@dataclass(frozen=True)
class Expectations(Layout):
    """Integrals over the density of one distribution at a time."""

    @final
    def nodes(self, natural: Array) -> tuple[Array, Array]:
        """Returns quadrature nodes: the weighted sum of g over them is the integral of g.

        Parameters
        ----------
        natural : array (D,)
            Natural parameters of one distribution of one column.

        Returns
        -------
        x : array (m,)
            The nodes.
        weight : array (m,)
            Their weights.
        """
        support = self.support
        one = replace(self, n_features=1)

        def log_density(x: Array) -> Array:
            return one._log_height(x[:, None], natural)

        if isinstance(support, Integers) and not isinstance(support.upper, tuple):
            return integer_nodes(log_density, float(support.lower), float(support.upper))
        if isinstance(support, Interval):
            return interval_nodes(log_density, support.lower, support.upper)
        raise ValueError(f"{self.name} has no quadrature: its support is {support.description}")

    def _log_height(self, X: Array, natural: Array) -> Array:
        """The log-density (n,) of one distribution, up to a constant unless it is direct."""
        direct = self.direct_log_density(X, natural[None])
        return self.sufficient_statistic(X) @ natural + self.log_carrier(X) if direct is None else direct[:, 0]

    @final
    def interval_expectations(self, lower: Array, upper: Array, natural: Array) -> tuple[Array, Array]:
        """Returns probabilities of intervals of one column, and means over them, by formula or by quadrature.

        Whole numbers may be ends.

        Parameters
        ----------
        lower : array (m,)
            Lower ends.
        upper : array (m,)
            Upper ends.
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        log_probability : array (m, k)
            log P(X in A).
        mean : array (m, k, D)
            E[t(X) | X in A].
        """
        closed = self.interval_formula(lower, upper, natural)
        if closed is not None:
            return closed
        densities, support = self._densities(natural), self.support
        if isinstance(support, Integers) and not isinstance(support.upper, tuple):
            return sums(densities, lower, upper, (float(support.lower), float(support.upper)))
        if isinstance(support, Interval):
            return integrals(densities, Line(support.lower, support.upper), lower, upper)
        raise ValueError(f"{self.name} has no intervals: its support is {support.description}")

    def _densities(self, natural: Array) -> Densities:
        """The densities of one column, direct where rounding of the packed ones would show."""
        normalizer, size = self.log_normalizer(natural), np.abs(natural)

        def is_rounded(t: Array) -> bool:
            return bool(np.finfo(float).eps * (size @ np.abs(t).max(axis=0)).max() > PACKED_ERROR)

        def is_far_off(density: Array, terms: Array) -> NDArray[np.bool_]:
            return ~(np.finfo(float).eps * terms <= PACKED_ERROR * np.maximum(1.0, np.abs(density)))

        def each(x: Array) -> tuple[Array, Array]:
            column = x[:, None]
            t = self.sufficient_statistic(column)
            density = t @ natural.T - normalizer
            density = density + self.log_carrier(column)[:, None] if self.has_carrier else density
            if is_rounded(t):
                rows = np.flatnonzero(is_far_off(density, np.abs(t) @ size.T).any(axis=1))
                direct = self.direct_log_density(column[rows], natural) if len(rows) else None
                if direct is not None:
                    density[rows] = direct
            return density, t

        def own(x: Array, which: NDArray[np.intp]) -> tuple[Array, Array]:
            column = x[:, None]
            t = self.sufficient_statistic(column)
            density = np.einsum("ns,ns->n", t, natural[which]) - normalizer[which]
            density = density + self.log_carrier(column) if self.has_carrier else density
            if is_rounded(t):
                rows = np.flatnonzero(is_far_off(density, np.einsum("ns,ns->n", np.abs(t), size[which])))
                for j in np.unique(which[rows]):
                    chosen = rows[which[rows] == j]
                    direct = self.direct_log_density(column[chosen], natural[j : j + 1])
                    density[chosen] = density[chosen] if direct is None else direct[:, 0]
            return density, t

        return Densities(each, own)

    @final
    def integrate_entropy(self, natural: Array) -> Array:
        """Returns the entropy as the mean of -log p by quadrature, for families of one statistic in each independent
        column.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k,)
            The entropies, in nats.
        """
        one = replace(self, n_features=1)
        entropies = np.empty(natural.shape)
        for index in np.ndindex(natural.shape):
            theta = natural[index].reshape(1)
            x, weight = one.nodes(theta)
            # Long sums are integrals, whose nodes are no whole numbers: the support is not asked.
            log_density = one._log_height(x[:, None], theta)
            if one.direct_log_density(x[:1, None], theta[None]) is None:
                log_density = log_density - one.log_normalizer(theta)
            p = weight * np.exp(log_density)
            entropies[index] = -(p @ np.where(p > 0, log_density, 0.0)) / p.sum()
        return np.asarray(entropies.sum(axis=-1))

    @final
    def integrate_log_carrier(self, natural: Array) -> Array:
        """Returns E[k(x)] by quadrature, for families of independent columns.

        Parameters
        ----------
        natural : array (k, D)
            Natural parameters, one row per distribution.

        Returns
        -------
        array (k,)
            The means.
        """
        natural = np.asarray(natural, dtype=float)
        columns = natural.shape[-1] // self.n_statistics_for(1)
        thetas = np.moveaxis(natural.reshape(*natural.shape[:-1], self.n_statistics_for(1), columns), -1, -2)
        one = replace(self, n_features=1)
        means = np.empty(thetas.shape[:-1])
        # Each distribution has its own nodes, so this goes distribution by distribution.
        for index in np.ndindex(means.shape):
            x, weight = one.nodes(thetas[index])
            k = one.log_carrier(x[:, None])
            t = one.sufficient_statistic(x[:, None])
            log_density = t @ thetas[index] + k
            p = weight * np.exp(log_density - log_density.max())
            # Measured from its value at the mode: k may be many times larger than the digits wanted of its mean.
            base = k[np.argmax(p)]
            means[index] = base + p @ np.where(p > 0, k - base, 0.0) / p.sum()
        return np.asarray(means.sum(axis=-1))


def total_and_mean(family: Expectations, natural: Array) -> tuple[Array, Array]:
    """The integrals (1 + D,) of the density and of t times it at one natural parameter (D,), and their slack."""
    x, weight = family.nodes(natural)
    here, rounding = _at(family, natural, x, weight)
    # Next to a finite end numbers are sparse: what the neighbour of a node would give instead tells how much is lost.
    nearby = x if isinstance(family.support, Integers) else np.nextafter(x, x[np.argmax(here[:, 0])])
    there, _ = _at(family, natural, nearby, weight)
    slack = SLACK * (np.abs(here - there) + rounding[:, None] * np.abs(here)).sum(axis=0)
    return here.sum(axis=0), np.nan_to_num(np.minimum(slack, MOST_SLACK * np.abs(here).sum(axis=0)))


def _at(family: Expectations, natural: Array, x: Array, weight: Array) -> tuple[Array, Array]:
    """The integrands (m, 1 + D) at numbers x (m,), and the rounding of the log-density (m,)."""
    statistic, carrier = family.sufficient_statistic(x[:, None]), family.log_carrier(x[:, None])
    normalizer = family.log_normalizer(natural)
    density = weight * np.exp(statistic @ natural - normalizer + carrier)
    terms = np.abs(statistic) @ np.abs(natural) + np.abs(normalizer) + np.abs(carrier)
    return density[:, None] * np.column_stack([np.ones(len(x)), statistic]), np.finfo(float).eps * terms
