"""The learning problem of many rows with heavy-tailed components: Student t, and Gaussians or noise beside them.

Passes are compiled. They leave behind sums of the rows and of their expected hidden scales, never a table of rows and
components. Steps follow from these sums, and are made where they surely gain (EM; see `families.hidden_scales`).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels import Tailed, TailedRows
from ..engines.partition import Labelled, Partition
from ..engines.statistics import ClusterStatistics
from ..families import ComponentFamilies, ExponentialFamily
from ..families.hidden_scales import Parts, Prior, ScaleSums, gaussian_fit, largest_of, tailed
from ..families.light_tails import gaussian_estimate, gaussian_gain, gaussian_parts, has_light_tails, light_tailed
from ..families.resolution import Resolution
from ..families.student_t import StudentT
from ..families.uniform import Uniform
from ..numerics.arrays import Array, Labels
from .kinds import Kind
from .model import Parameters
from .objective import SoftSummary
from .observed import ObservedRows
from .row_kinds import Units
from .shaped import ShapedProblem

# Rows times components from which sums of passes serve; below, every estimate looks at the rows themselves.
MANY = 50_000


@dataclass(frozen=True)
class TailedStatistics(ClusterStatistics):
    """What a pass with some parameters added up; see `TailedRows`."""

    cells: Array | None = None
    parameters: Parameters | None = None


class TailedProblem(ShapedProblem):
    """Maximise the likelihood of exact rows in memory under Student t distributions, Gaussians and noise."""

    def __init__(
        self,
        family: ExponentialFamily,
        rows: ObservedRows,
        row_weights: Array | None = None,
        prior_strength: float = 0.0,
        weights: Array | None = None,
        resolution: Resolution | None = None,
        n_components: int = 1,
    ) -> None:
        super().__init__(family, rows, row_weights, prior_strength, weights, resolution)
        self._n_components = n_components
        self._tailed = TailedRows(rows.X, row_weights, rows.n_threads, self.meter)
        self._sizes = largest_of(rows.X)
        self._own: tuple[Array, Labels, Array] | None = None

    @property
    def engine_name(self) -> str:
        return "heavy tails"

    def on_rows(self, places: NDArray[np.intp]) -> ShapedProblem:
        settings = self.prior_strength, self.weights, self.resolution, None, self._n_components
        return problem_of_shapes(self.family, self.rows.subset(places), self.row_weights[places], *settings)

    # Passes -----------------------------------------------------------------------------------------------------------

    def _components(self, natural: Array, log_weights: Array) -> Tailed:
        """Components as passes take them; those without parameters have the same density everywhere."""
        k, d = len(natural), self.rows.X.shape[1]
        parts = Tailed(np.zeros((k, d)), np.zeros((k, d, d)), np.full(k, np.inf), np.full(k, -np.inf))
        kinds = self.kind_of(natural)
        for place, kind in enumerate(self.kinds):
            own = np.flatnonzero((kinds == place) & np.isfinite(log_weights))
            if _moves(kind.family):
                form = tailed if isinstance(kind.family, StudentT) else light_tailed
                found = form(_parts(kind.family, natural[own][:, kind.block]), log_weights[own])
                for name in ("location", "whitening", "degrees", "constant"):
                    getattr(parts, name)[own] = getattr(found, name)
            elif len(own):
                parts.constant[own] = kind.family.log_carrier(self.rows.X[:1])[0] + log_weights[own]
        return parts

    def _statistics(self, parameters: Parameters, cells: Array, score: float) -> TailedStatistics:
        parameters.natural.flags.writeable = False
        sums = np.zeros((len(cells), self.n_statistics))
        return TailedStatistics(cells[:, 0].copy(), sums, score, None, cells, parameters)

    def assign(self, parameters: Parameters) -> tuple[Partition, ClusterStatistics]:
        labels = np.empty(len(self.rows), dtype=np.int32)
        components = self._components(parameters.natural, parameters.log_weights)
        cells, score = self._tailed.hard_pass(components, labels)
        return Labelled(labels), self._statistics(parameters, cells, score)

    def soften(self, parameters: Parameters, n_responsibilities: int | None = None) -> ClusterStatistics:
        components = self._components(parameters.natural, parameters.log_weights)
        return self._statistics(parameters, *self._tailed.soft_pass(components, n_responsibilities))

    def log_likelihood(self, parameters: Parameters) -> SoftSummary:
        components = self._components(parameters.natural, parameters.log_weights)
        score, entropy = self._tailed.log_likelihood(components)
        return SoftSummary(score, entropy / self.total)

    # The objective ----------------------------------------------------------------------------------------------------

    def _prior_fits(self, natural: Array) -> Array:
        fits, kinds = np.zeros(len(natural)), self.kind_of(natural)
        for place, kind in enumerate(self.kinds):
            own = np.flatnonzero(kinds == place)
            if len(own) and _moves(kind.family):
                fits[own] = (
                    gaussian_fit(kind.prior_moments, _parts(kind.family, natural[own][:, kind.block])) - kind.top
                )
        return fits

    def complete_objective(
        self, parameters: Parameters, statistics: ClusterStatistics, partition: Partition | None = None
    ) -> float:
        if not isinstance(statistics, TailedStatistics):
            return super().complete_objective(parameters, statistics, partition)
        assert statistics.parameters is not None
        occupied = (statistics.counts > 0) & parameters.active
        counts, log_weights = statistics.counts[occupied], parameters.log_weights[occupied]
        if parameters.natural is statistics.parameters.natural:
            fit = statistics.score - float(counts @ statistics.parameters.log_weights[occupied])
        else:
            assert partition is not None  # soft statistics have the score of their own parameters
            fit = float(self._own_scores(parameters.natural, partition.labels)[occupied].sum())
        return fit + float(counts @ log_weights) + self.penalty(parameters)

    def _own_scores(self, natural: Array, labels: Labels) -> Array:
        """The log-likelihood (k,) of the rows of each component."""
        if self._own is None or self._own[0] is not natural or self._own[1] is not labels:
            natural.flags.writeable = False
            components = self._components(natural, np.zeros(len(natural)))
            self._own = natural, labels, self._tailed.own_scores(components, labels)
        return self._own[2]

    def sure_gain(self, statistics: ClusterStatistics, before: Parameters, after: Parameters) -> float:
        if not isinstance(statistics, TailedStatistics):
            return super().sure_gain(statistics, before, after)
        active = before.active & after.active & (statistics.counts > 0)
        gain = statistics.counts[active] @ (after.log_weights[active] - before.log_weights[active])
        for kind, own in self._moving(statistics, active):
            moved, sums = _parts(kind.family, after.natural[own][:, kind.block]), self._sums(kind, statistics, own)
            heavy = isinstance(kind.family, StudentT)
            gain += float((sums.gain(moved) if heavy else gaussian_gain(sums, moved)).sum())
        return max(0.0, float(gain) + self.penalty(after) - self.penalty(before))

    # Estimates --------------------------------------------------------------------------------------------------------

    def _moving(self, statistics: TailedStatistics, chosen: NDArray[np.bool_]) -> list[tuple[Kind, NDArray[np.intp]]]:
        """The kinds that have parameters, each with those of its components that are chosen."""
        assert statistics.parameters is not None
        kinds = self.kind_of(statistics.parameters.natural)
        found = [(kind, np.flatnonzero((kinds == place) & chosen)) for place, kind in enumerate(self.kinds)]
        return [(kind, own) for kind, own in found if len(own) and _moves(kind.family)]

    def _sums(self, kind: Kind, statistics: TailedStatistics, own: NDArray[np.intp]) -> ScaleSums:
        assert statistics.cells is not None
        assert statistics.parameters is not None
        before = _parts(kind.family, statistics.parameters.natural[own][:, kind.block])
        return ScaleSums.of(before, statistics.cells[own])

    def updated_natural(
        self,
        parameters: Parameters,
        statistics: ClusterStatistics,
        partition: Partition | None = None,
        surely: bool = False,
    ) -> Array:
        if not isinstance(statistics, TailedStatistics):
            return super().updated_natural(parameters, statistics, partition, surely)
        assert statistics.parameters is not None
        if parameters.natural is not statistics.parameters.natural:
            return parameters.natural  # labels of an earlier step stayed, as others were worse
        occupied = (statistics.counts > 0) & parameters.active
        if self.frozen is not None:
            occupied &= ~self.frozen.natural
        natural = parameters.natural.copy()
        for kind, own in self._moving(statistics, occupied):
            natural[own, kind.block] = self._estimated(
                kind, natural[own][:, kind.block], self._sums(kind, statistics, own)
            )
        if self.weights is not None:
            empty = statistics.counts == 0
            natural[empty] = self.overall(len(natural), self.kind_of(natural))[empty]
        return natural

    def _estimated(self, kind: Kind, before: Array, sums: ScaleSums) -> Array:
        """Components (m, D) of one kind after a step: those from before where it does not gain."""
        prior = Prior(self.prior_strength, *kind.prior_moments) if self.prior_strength > 0 else None
        if isinstance(kind.family, StudentT):
            return kind.family.estimate_from_sums(sums, prior, kind.spread, self._sizes)[0]
        found = gaussian_estimate(kind.family, sums, prior, kind.spread)
        after = _parts(kind.family, found)
        gain = gaussian_gain(sums, after)
        if prior is not None:
            moments = kind.prior_moments
            gain = gain + prior.strength * (gaussian_fit(moments, after) - gaussian_fit(moments, sums.before))
        return np.where((gain >= 0)[:, None], found, before)


def _moves(family: ExponentialFamily) -> bool:
    """Whether passes know its components, and these have parameters."""
    return isinstance(family, StudentT) or has_light_tails(family)


def _parts(family: ExponentialFamily, natural: Array) -> Parts:
    return family.parts(natural) if isinstance(family, StudentT) else gaussian_parts(family, natural)


def problem_of_shapes(
    family: ExponentialFamily,
    rows: ObservedRows,
    row_weights: Array | None,
    prior_strength: float,
    weights: Array | None,
    resolution: Resolution | None,
    units: Units | None,
    n_components: int,
) -> ShapedProblem:
    """The problem of rows in memory: with compiled passes where there are such for the family, and many rows."""
    if units is not None:
        return ShapedProblem(family, rows, row_weights, prior_strength, weights, resolution, units)
    settings = family, rows, row_weights, prior_strength, weights, resolution
    if len(rows) * n_components > MANY and rows.all_exact and has_passes(family, rows.X):
        return TailedProblem(*settings, n_components)
    return ShapedProblem(*settings)


def has_passes(family: ExponentialFamily, X: Array) -> bool:
    """Whether there are compiled passes for the components of a family: noise has the same density at all rows."""
    listed = family.kinds if isinstance(family, ComponentFamilies) else (family,)
    noise = [kind for kind in listed if isinstance(kind, Uniform)]
    if not any(isinstance(kind, StudentT) for kind in listed):
        return False
    if not all(isinstance(kind, Uniform) or _moves(kind) for kind in listed):
        return False
    corners = np.stack([X.min(axis=0), X.max(axis=0)])
    return all(np.ptp(kind.log_carrier(corners)) == 0 for kind in noise)
