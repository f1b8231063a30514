"""The learning problem of mixtures with components that are no exponential families.

Estimated shapes (ECM, Meng and Rubin, 1993; ECME, Liu and Rubin, 1994) need the rows and their shares, not sums of
statistics. A pass therefore leaves the shares of all rows behind. Estimates of a component are kept only where they are
not worse than its present parameters, so the objective never falls.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from .._kernels import Meter, Work
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..engines.partition import Labelled, Partition
from ..engines.statistics import ClusterStatistics
from ..families import ComponentFamilies, ExponentialFamily
from ..families.coordinates import CoordinateFamily
from ..families.parameterless import Parameterless
from ..families.resolution import Reach, Resolution
from ..numerics.arrays import Array, Labels
from ..numerics.blas import blas_on_one_thread
from ..numerics.linear_algebra import weighted_sum
from ..numerics.threads import for_each
from .kinds import kinds_of
from .model import EMPTY, Parameters, smallest_spread
from .objective import LearningProblem, SoftSummary
from .observed import ObservedRows, blocks_of_rows
from .problem import Problem
from .row_kinds import Units, shares_of

T = TypeVar("T")
Value = TypeVar("Value", bound=np.generic)

# Scores of the latest parameters are kept: an estimate needs those from before and makes those of the next pass.
KEPT = 2
# The log-density of a row that no component holds.
LOWEST = -1e10


@dataclass(frozen=True)
class SharedRows(ClusterStatistics):
    """Statistics of a pass with the weighted shares (n, k) of all rows."""

    shares: Array | None = None
    labelled: float = 0.0
    """What prior probabilities of the components add to the complete log-likelihood of these shares."""


@dataclass(eq=False)
class Scored:
    """Parameters with the log-densities (n, k) of all rows, and what followed from these."""

    natural: Array
    density: Array
    prior_fits: Array | None = None
    fits: tuple[Array, Array] | None = None
    """Shares, and the log-likelihood of each component by them."""


class ShapedProblem(LearningProblem):
    """Maximise the likelihood of rows in memory under a family that is no exponential family, or has such components.

    The prior is `prior_strength` pseudo-observations for each component, spread over the typical rows as the rows
    themselves are: for exponential families the same as pseudo-observations at the mean statistic.
    """

    def __init__(
        self,
        family: ExponentialFamily,
        rows: ObservedRows,
        row_weights: Array | None = None,
        prior_strength: float = 0.0,
        weights: Array | None = None,
        resolution: Resolution | None = None,
        units: Units | None = None,
    ) -> None:
        self.family, self.rows, self.units = family, rows, units
        self.row_weights = np.ones(len(rows)) if row_weights is None else row_weights
        self._starts = None if units is None else units.starts
        self._unit_weights = self.row_weights if self._starts is None else self.row_weights[self._starts]
        self.total = float(self._unit_weights.sum())
        self.prior_strength, self.weights, self.resolution = prior_strength, weights, resolution
        self.center, self.frozen, self.sum_log_carrier = None, None, 0.0
        self.n_statistics, self.meter = family.n_statistics, Meter()
        self.spread = smallest_spread(family, resolution, None)
        typical = Reach.of(rows.X, row_weights).holds(rows.X)
        prior = self.row_weights * typical if typical.any() else self.row_weights
        self.kinds = kinds_of(family, rows, prior, resolution)
        self._latest: list[Scored] = []

    @property
    def engine_name(self) -> str:
        """What finds the labels, as users call it."""
        return "scored rows"

    @property
    def sample(self) -> Problem:
        raise NotImplementedError("starts are found with another family")

    @property
    def needs_rows(self) -> bool:
        return True

    @property
    def data_mean(self) -> Array:
        return np.asarray(self.row_weights @ self.rows.X / self.row_weights.sum())

    @property
    def updates_fully(self) -> bool:
        families = (kind.family for kind in self.kinds if isinstance(kind.family, CoordinateFamily))
        return self.rows.all_exact and all(family.in_one_step for family in families)

    def over_rows(self, function: Callable[[Rows | SparseRows, int], T]) -> T:
        raise NotImplementedError("these rows have no statistics")

    def undisturbed(self) -> AbstractContextManager[object]:
        """Threads of BLAS would spin between its calls, which are many and short."""
        return blas_on_one_thread()

    def on_rows(self, places: NDArray[np.intp]) -> "ShapedProblem":
        """The problem of some of the rows."""
        settings = self.prior_strength, self.weights, self.resolution
        return ShapedProblem(self.family, self.rows.subset(places), self.row_weights[places], *settings)

    def without_knowledge(self) -> "ShapedProblem":
        """The problem of the same rows, of which nothing is known but their values."""
        settings = self.prior_strength, self.weights, self.resolution
        return ShapedProblem(self.family, self.rows, self.row_weights, *settings)

    def on_values(self, X: Array, row_weights: Array) -> "ShapedProblem":
        """The problem of other rows (n, d) with weights."""
        settings = self.prior_strength, self.weights, self.resolution
        return ShapedProblem(self.family, ObservedRows.exactly(X, self.rows.n_threads), row_weights, *settings)

    # Scores -----------------------------------------------------------------------------------------------------------

    def kind_of(self, natural: Array) -> NDArray[np.intp]:
        """The kind of each component (k,)."""
        if isinstance(self.family, ComponentFamilies):
            return self.family.kind_of(natural)
        return np.zeros(len(natural), dtype=np.intp)

    def log_densities(self, natural: Array) -> Array:
        """log p_j of every row (n, k)."""
        return self._scored(natural).density

    def _scored(self, natural: Array) -> "Scored":
        """What the latest parameters say of all rows, without computing it again."""
        for known in self._latest:
            if known.natural is natural:
                return known
        self.meter.add(Work(passes=1, scored=natural.shape[0] * len(self.rows)))
        return self._remember(natural, self.rows.log_densities(self.family, natural))

    def _remember(self, natural: Array, density: Array) -> "Scored":
        natural.flags.writeable = False
        self._latest = [*self._latest[-KEPT + 1 :], Scored(natural, density)]
        return self._latest[-1]

    def _unit_scores(self, parameters: Parameters, rows: slice) -> Array:
        """Scores (u, k) of some rows, or of all groups of rows; finite for one component of each at least."""
        scores, log_weights, units = self.log_densities(parameters.natural)[rows], parameters.log_weights, self.units
        if units is not None:
            if units.starts is not None:
                scores = np.add.reduceat(scores, units.starts, axis=0)
            if units.offsets is not None and units.kinds is not None:
                kinds = units.kinds[rows]
                log_weights = log_weights + np.where((kinds >= 0)[:, None], units.offsets[kinds], 0.0)
        found = scores + log_weights
        if np.isfinite(found.max(axis=1)).all():
            return found
        held = np.asarray(np.isfinite(found).any(axis=1))
        return np.where(held[:, None], found, LOWEST + log_weights)

    def _blocks(self) -> list[slice]:
        """Rows that are scored together: groups are not cut."""
        return list(blocks_of_rows(len(self.rows))) if self._starts is None else [slice(None)]

    def _to_rows(self, values: NDArray[Value]) -> NDArray[Value]:
        """What units have (u, ...), for each of their rows (n, ...)."""
        if self._starts is None:
            return values
        return np.repeat(values, np.diff(np.append(self._starts, len(self.rows))), axis=0)

    def _shares(self, parameters: Parameters, n_responsibilities: int | None) -> tuple[SharedRows, Labels, float]:
        """Statistics, the best component of each row (n,), and the sum of the entropies of the shares."""
        n, k, density = len(self._unit_weights), len(parameters.log_weights), self.log_densities(parameters.natural)
        shares = np.empty((k, n)).T
        values, entropies, best = np.empty(n), np.zeros(n), np.empty(n, dtype=np.int32)

        def share(rows: slice) -> None:
            scores = self._unit_scores(parameters, rows)
            found, values[rows] = shares_of(scores, n_responsibilities)
            entropies[rows] = scipy.special.entr(found).sum(axis=1)
            best[rows] = np.argmax(scores, axis=1)
            shares[rows] = found * self._unit_weights[rows, None]

        assert density.shape[1] == k
        for_each(share, self._blocks(), self.rows.n_threads, 1)
        statistics = self._of_units(shares, float(self._unit_weights @ values))
        return statistics, self._to_rows(best), float(self._unit_weights @ entropies)

    def _of_units(self, shares: Array, score: float) -> SharedRows:
        """The statistics of weighted shares of the units (u, k)."""
        units, labelled, sums = shares.sum(axis=0), 0.0, np.zeros((shares.shape[1], self.n_statistics))
        if self.units is not None and self.units.offsets is not None and self.units.kinds is not None:
            kinds = self.units.kinds
            known = np.where((kinds >= 0)[:, None] & (shares > 0), self.units.offsets[kinds], 0.0)
            labelled = float((shares * np.where(np.isfinite(known), known, 0.0)).sum())
        if self._starts is None:
            return SharedRows(units, sums, score, None, shares, labelled)
        by_row = self._to_rows(shares)
        return SharedRows(by_row.sum(axis=0), sums, score, units, by_row, labelled)

    # Passes -----------------------------------------------------------------------------------------------------------

    def assign(self, parameters: Parameters) -> tuple[Partition, ClusterStatistics]:
        statistics, labels, _ = self._shares(parameters, 1)
        return Labelled(labels), statistics

    def soften(self, parameters: Parameters, n_responsibilities: int | None = None) -> ClusterStatistics:
        return self._shares(parameters, n_responsibilities)[0]

    def log_likelihood(self, parameters: Parameters) -> SoftSummary:
        statistics, _, entropy = self._shares(parameters, None)
        return SoftSummary(statistics.score, entropy / self.total)

    def soft_summary_in(self, parameters: Parameters, softened: ClusterStatistics) -> SoftSummary:
        return self.log_likelihood(parameters)

    def restricted(self, active: NDArray[np.bool_]) -> "ShapedProblem":
        if self.units is None or self.units.offsets is None:
            return self
        other = copy(self)
        other.units = replace(self.units, offsets=self.units.offsets[:, active])
        return other

    # The objective ----------------------------------------------------------------------------------------------------

    def penalty(self, parameters: Parameters) -> float:
        if self.prior_strength == 0:
            return 0.0
        fits = self._prior_fits(parameters.natural)
        return float(self.prior_strength * np.minimum(fits[parameters.active], 0.0).sum())

    def _prior_fits(self, natural: Array) -> Array:
        """How much worse the prior's observation fits each component (k,) than it does at best."""
        scored, kinds = self._scored(natural), self.kind_of(natural)
        if scored.prior_fits is not None:
            return scored.prior_fits
        density = scored.density
        fits = np.zeros(len(natural))
        for place, kind in enumerate(self.kinds):
            own = np.flatnonzero(kinds == place)
            if len(own) and not isinstance(kind.family, Parameterless):
                fits[own] = kind.prior_fit(natural[own][:, kind.block], density[:, own]) - kind.top
        scored.prior_fits = fits
        return fits

    def _fits(self, shares: Array, natural: Array) -> Array:
        """sum_i shares_ij log p_j(x_i), (k,)."""
        scored = self._scored(natural)
        if scored.fits is None or scored.fits[0] is not shares:
            fits = [weighted_sum(own, values) for own, values in zip(shares.T, scored.density.T, strict=True)]
            scored.fits = shares, np.array(fits)
        return scored.fits[1]

    def complete_objective(
        self, parameters: Parameters, statistics: ClusterStatistics, partition: Partition | None = None
    ) -> float:
        assert isinstance(statistics, SharedRows)
        assert statistics.shares is not None
        occupied = (statistics.counts > 0) & parameters.active
        fit = self._fits(statistics.shares, parameters.natural)[occupied]
        units = statistics.counts if statistics.units is None else statistics.units
        fit = fit + units[occupied] * parameters.log_weights[occupied]
        return float(fit.sum()) + statistics.labelled + self.penalty(parameters)

    def sure_gain(self, statistics: ClusterStatistics, before: Parameters, after: Parameters) -> float:
        assert isinstance(statistics, SharedRows)
        assert statistics.shares is not None
        active = before.active & after.active
        gain = self._fits(statistics.shares, after.natural) - self._fits(statistics.shares, before.natural)
        with np.errstate(invalid="ignore"):
            units = statistics.counts if statistics.units is None else statistics.units
            gain = gain + units * (after.log_weights - before.log_weights)
        return max(0.0, float(gain[active].sum()) + self.penalty(after) - self.penalty(before))

    # Estimates --------------------------------------------------------------------------------------------------------

    def estimates_of_shares(self, shares: Array, before: Array | None) -> Array:
        """Parameters (k, D) for shares (n, k) of the rows; components without rows get those of all rows."""
        k, occupied = shares.shape[1], shares.sum(axis=0) > EMPTY * self.total
        natural = self.overall(k, filled=~occupied) if before is None else before.copy()
        kinds = self.kind_of(natural)
        for place, kind in enumerate(self.kinds):
            own = np.flatnonzero((kinds == place) & occupied)
            if len(own) and not isinstance(kind.family, Parameterless):
                start = None if before is None else before[own][:, kind.block]
                natural[own, kind.block] = kind.estimate(shares[:, own], self.prior_strength, start)
        return natural

    def overall(
        self, n_components: int, pattern: NDArray[np.intp] | None = None, filled: NDArray[np.bool_] | bool = True
    ) -> Array:
        """Components (k, D) that each have the distribution of all rows; `filled` says which ones get parameters."""
        natural = np.zeros((n_components, self.n_statistics))
        places = np.zeros(n_components, dtype=np.intp)
        if isinstance(self.family, ComponentFamilies):
            places = np.resize(self.family.pattern if pattern is None else pattern, n_components)
            natural[np.arange(n_components), self.n_statistics - len(self.kinds) + places] = 1.0
        for place, kind in enumerate(self.kinds):
            if (own := (places == place) & filled).any():
                natural[own, kind.block] = kind.overall
        return natural

    def updated_natural(
        self,
        parameters: Parameters,
        statistics: ClusterStatistics,
        partition: Partition | None = None,
        surely: bool = False,
    ) -> Array:
        assert isinstance(statistics, SharedRows)
        assert statistics.shares is not None
        shares, before = statistics.shares, parameters.natural
        natural = self.estimates_of_shares(shares, before)
        if self.weights is not None:
            empty = statistics.counts == 0
            natural[empty] = self.overall(len(natural), self.kind_of(natural))[empty]
        gain = self._fits(shares, natural) - self._fits(shares, before)
        if self.prior_strength > 0:
            gain = gain + self.prior_strength * (self._prior_fits(natural) - self._prior_fits(before))
        kept = ~(gain >= 0)
        if self.frozen is not None:
            kept |= self.frozen.natural
        for place, kind in enumerate(self.kinds):
            own = self.kind_of(natural) == place
            if isinstance(kind.family, CoordinateFamily) and kind.family.n_shared:
                # Components that share a shape change together.
                kept[own] = not np.nansum(gain[own]) >= 0
        if not kept.any():
            return natural
        after, density = np.where(kept[:, None], before, natural), self.log_densities(natural).copy(order="A")
        density[:, kept] = self.log_densities(before)[:, kept]
        self._remember(after, density)
        return after

    def first_parameters(self, statistics: ClusterStatistics) -> Parameters:
        assert isinstance(statistics, SharedRows)
        assert statistics.shares is not None
        return Parameters(self.estimates_of_shares(statistics.shares, None), self.log_weights(statistics.weights()))

    def gather(self, labels: Labels, n_components: int) -> SharedRows:
        """The statistics of given labels; a group has that of its first row."""
        own = labels if self._starts is None else labels[self._starts]
        shares = np.zeros((n_components, len(own))).T
        shares[np.arange(len(own)), own] = self._unit_weights
        return self._of_units(shares, 0.0)

    def of_shares(self, shares: Array) -> SharedRows:
        """The statistics of weighted shares (n, k) of the rows."""
        return SharedRows(shares.sum(axis=0), np.zeros((shares.shape[1], self.n_statistics)), 0.0, None, shares)

    # Model ------------------------------------------------------------------------------------------------------------

    def within_model(self, parameters: Parameters) -> Parameters:
        return parameters

    def confined(self, natural: Array, otherwise: Array, log_weights: Array) -> Array:
        if isinstance(self.family, ComponentFamilies):
            return self.family.joint_projection(np.exp(log_weights), natural, otherwise, self.spread)
        with np.errstate(all="ignore"):
            legal = np.asarray(np.isfinite(natural).all(axis=-1))
            legal &= self.family.has_spread(natural, self.spread)  # type: ignore[arg-type]
        if isinstance(self.family, CoordinateFamily) and self.family.n_shared:
            legal = np.full(legal.shape, bool(legal.all()))
        return np.where(legal[..., None], natural, otherwise)

    def legal(self, natural: Array, active: NDArray[np.bool_]) -> bool:
        with np.errstate(all="ignore"):
            return bool(np.isfinite(self.family.log_normalizer(natural)[active]).all())

    def with_prescribed(self, parameters: Parameters) -> Parameters:
        if self.weights is None or (len(parameters.natural) == len(self.weights) and parameters.active.all()):
            return parameters
        natural = self.overall(len(self.weights))
        places = np.flatnonzero(parameters.active)
        natural[places] = parameters.natural[places]
        return Parameters(natural, np.log(self.weights))

    def bias(self, parameters: Parameters) -> Array:
        return parameters.log_weights
