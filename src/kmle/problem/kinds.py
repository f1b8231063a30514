"""The different families of a mixture's components, each with its rows, its prior and its floors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..engines.patterns.entries import TailEntries
from ..families import ComponentFamilies, ExponentialFamily
from ..families.coordinates import CoordinateFamily
from ..families.hidden_scales import weighted_moments
from ..families.parameterless import Parameterless
from ..families.resolution import Resolution, unknown_resolution
from ..families.student_t import StudentT
from ..numerics.arrays import Array
from .observed import ObservedRows


@dataclass(frozen=True, eq=False)
class Kind:
    """One family among those of the components: how its components are estimated from shares of the rows."""

    family: ExponentialFamily
    block: slice
    """Where the parameters of its components stand among all."""
    rows: ObservedRows
    inside: NDArray[np.intp] | slice
    """The rows in its support."""
    prior: Array
    """The weights of the prior's single observation on the rows (n,); zero outside the support."""
    resolution: Resolution | None

    @cached_property
    def spread(self) -> Array | None:
        """How narrow its components may be."""
        known = unknown_resolution(self.family.n_features or 1) if self.resolution is None else self.resolution
        spread = self.family.smallest_spread(known, None)
        return spread if spread is not None and spread.any() else None

    @cached_property
    def _own_rows(self) -> ObservedRows:
        if self.rows.has_holes:
            return self.rows.inside(self.family)[1]
        return self.rows if isinstance(self.inside, slice) else self.rows.subset(self.inside)

    @cached_property
    def _statistics(self) -> tuple[Array | None, Array]:
        """The center of the rows and their statistics seen from there, for exponential families."""
        X = self._own_rows.X
        center = self.family.data_center(X)
        return center, self.family.sufficient_statistic(X if center is None else self.family.centered_rows(X, center))

    def estimate(self, shares: Array, strength: float, before: Array | None) -> Array:
        """Parameters (m, D) of its components for shares (n, m) of all rows, and a prior of this strength."""
        if isinstance(self.family, Parameterless):
            return np.zeros((shares.shape[1], 0))
        own, prior = shares[self.inside], strength * self.prior[self.inside] if strength > 0 else None
        if isinstance(self.family, CoordinateFamily):
            return self._own_rows.estimate(self.family, own, prior, before, self.spread)
        if self._own_rows.has_holes:
            return self._own_rows.entries(self.family).estimate(own, prior, before, self.spread)
        center, statistics = self._statistics
        weights = own if prior is None else own + prior[:, None]
        moments = weights.T @ statistics / weights.sum(axis=0)[:, None]
        return self.family.natural_from_centered(moments, center, self.spread)

    @cached_property
    def overall(self) -> Array:
        """The distribution (D,) that the prior's observation fits best."""
        return self.estimate(self.prior[:, None], 0.0, None)[0]

    @cached_property
    def top(self) -> float:
        """How well it fits there."""
        peak = None
        if isinstance(self.family, CoordinateFamily):
            peak = self.family.prior_peak(self.prior_summary, self._own_rows.X)
        best = self.overall if peak is None else peak
        return float(self.prior_fit(best[None], self.rows.log_densities(self.family, best[None]))[0])

    def prior_fit(self, natural: Array, density: Array) -> Array:
        """How well the prior's observation fits components (m,) with these log-densities (n, m) of all rows."""
        if isinstance(self.family, CoordinateFamily) and self.prior_summary is not None:
            return self.family.prior_fit(self.prior_summary, natural)
        return self.prior[self.inside] @ np.maximum(density[self.inside], np.finfo(float).min / 1e10)

    @cached_property
    def prior_moments(self) -> tuple[Array, ...]:
        """The mean and the covariance of the prior's observation."""
        return weighted_moments(self._own_rows.X, self.prior[self.inside])

    @cached_property
    def prior_summary(self) -> tuple[Array, ...] | None:
        """What the family needs to know of the prior's observation, if that is all it needs."""
        if not isinstance(self.family, CoordinateFamily):
            return None
        if self._own_rows.has_holes and isinstance(self.family, StudentT):
            entries = self._own_rows.entries(self.family)
            assert isinstance(entries, TailEntries)  # those of this family
            return entries.moments(self.prior[self.inside])
        return self.family.prior_summary(self._own_rows.X, self.prior[self.inside])


def kinds_of(
    family: ExponentialFamily, rows: ObservedRows, prior: Array, resolution: Resolution | None
) -> tuple[Kind, ...]:
    """The kinds of a family: of components of different families one for each of them."""
    listed = family.kinds if isinstance(family, ComponentFamilies) else (family,)
    ends = np.cumsum([0, *(kind.n_statistics for kind in listed)])
    found = []
    for kind, first, last in zip(listed, ends[:-1], ends[1:], strict=True):
        outside = kind.support.outside(rows.X)
        if rows.has_holes and outside.ndim == 2:
            outside = outside & ~np.isnan(rows.known)
        outside = np.asarray(outside.any(axis=1) if outside.ndim == 2 else outside)
        inside: NDArray[np.intp] | slice = np.flatnonzero(~outside) if outside.any() else slice(None)
        weights = np.where(outside, 0.0, prior)
        total = weights.sum()
        weights = weights / total if total > 0 else np.where(outside, 0.0, 1.0) / max(1, (~outside).sum())
        found.append(Kind(kind, slice(int(first), int(last)), rows, inside, weights, resolution))
    return tuple(found)
