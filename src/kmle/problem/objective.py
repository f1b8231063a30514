"""What learning maximises and how parameters follow from statistics: everything that needs no examine the rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._kernels import Meter, backend
from ..engines.direct import SCORE_ERROR, score_error, worst_of
from ..engines.partition import Partition
from ..engines.statistics import ClusterStatistics
from ..families import ExponentialFamily
from ..families.resolution import Resolution, unknown_resolution
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.blas import blas_on_one_thread

if TYPE_CHECKING:
    from ..data.sparse import SparseRows
    from ..data.table import Rows
    from .problem import Problem

T = TypeVar("T")

# Arrays of natural parameters whose log-normalisers are remembered: those of this step and of the last.
REMEMBERED = 4
# Gaussians of 32 columns have more: matrices of that size are where BLAS begins to use threads.
MANY_STATISTICS = 512
# Relative rounding error of a sum of a few products.
ROUNDING = 4 * np.finfo(float).eps
# A cluster with less than this share of the rows has none: what rounding leaves behind.
EMPTY = 1e-14


@dataclass(frozen=True)
class DataSummary:
    """What the objective needs to know of the rows: one pass over them finds it."""

    total: float
    """How many there are, or what they weigh."""
    mean_statistic: Array
    largest_statistic: Array
    """The largest |t_i(x)| of each coordinate, or a bound on it: what bounds the rounding of a score."""
    sum_log_carrier: float


@dataclass(frozen=True)
class Parameters:
    """Natural parameters (k, D) relative to the center of the rows, and log-weights (k,); an inactive component has
    -inf.
    """

    natural: Array
    log_weights: Array

    @cached_property
    def active(self) -> NDArray[np.bool_]:
        """True for components that still have weight."""
        return np.isfinite(self.log_weights)


class Known(NamedTuple):
    """What is remembered of natural parameters (k, D)."""

    natural: Array
    normalizer: Array
    prior_fit: Array
    """<prior_moment, theta> - F(theta): how well the prior's observations fit, each."""


@dataclass(frozen=True)
class SoftSummary:
    """What a mixture says of all rows together."""

    log_likelihood: float
    mean_entropy: float
    """Of the responsibilities, in nats: zero when no row is uncertain."""


def _smallest_spread(family: ExponentialFamily, resolution: Resolution | None, center: Array | None) -> Array | None:
    """How narrow components may be in each column; None where nothing bounds them."""
    known = unknown_resolution(family.n_features or 1) if resolution is None else resolution
    spread = family.smallest_spread(known, center)
    return spread if spread is not None and spread.any() else None


class Values(NamedTuple):
    """What clusters are worth (m,), the rounding error of that at most, their moments and estimates (m, D)."""

    values: Array
    errors: Array
    moments: Array
    natural: Array


def undisturbed(n_statistics: int) -> AbstractContextManager[object]:
    """A context for linear algebra: with so many statistics BLAS would use threads, which spin between the passes."""
    return blas_on_one_thread() if n_statistics >= MANY_STATISTICS and backend() == "compiled" else nullcontext()


class LearningProblem(ABC):
    """Maximise the complete (or incomplete) log-likelihood of rows, plus a conjugate prior.

    No component is narrower than the `resolution` of the data allows, so none gains by rounding. The prior is
    `prior_strength` pseudo-observations at the mean statistic of the data for each component. It enters the objective
    as -prior_strength * B_F*(prior_moment : moment_j), which is never positive, so dropping an empty component never
    lowers the objective. Where the rows are (in memory, in chunks, on other machines) is the business
    of those who implement the passes.
    """

    def __init__(
        self,
        family: ExponentialFamily,
        summary: DataSummary,
        center: Array | None,
        prior_strength: float = 0.0,
        weights: Array | None = None,
        resolution: Resolution | None = None,
    ) -> None:
        self.family = family
        self.resolution = resolution
        self.spread = _smallest_spread(family, resolution, center)
        self.center = center
        self.n_statistics = len(summary.mean_statistic)
        self.total = summary.total
        self.largest_statistic = summary.largest_statistic
        self.sum_log_carrier = summary.sum_log_carrier
        self.prior_strength = prior_strength
        self.prior_moment = summary.mean_statistic
        self.prior_natural = self.estimate(self.prior_moment[None])[0]
        # At the distribution of all rows itself the prior costs nothing: F*(prior_moment) is where the penalty is
        # measured from.
        self.prior_top = float(self.prior_natural @ self.prior_moment - family.log_normalizer(self.prior_natural))
        self.weights = weights
        self._known: list[Known] = []
        self.meter = Meter()

    # What implementations add -----------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def engine_name(self) -> str:
        """What finds the labels, as users call it."""

    @property
    @abstractmethod
    def sample(self) -> "Problem":
        """The problem on some of its rows, few enough to be held and examined often; on all where they are few."""

    @abstractmethod
    def assign(self, parameters: Parameters) -> tuple[Partition, ClusterStatistics]:
        """Hard pass over all rows: who belongs where, and the statistics."""

    @abstractmethod
    def soften(self, parameters: Parameters, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Soft pass: statistics by responsibility, of the `n_responsibilities` largest per row or of all."""

    @abstractmethod
    def over_rows(self, function: Callable[["Rows | SparseRows", int], T]) -> T:
        """The sum of what a function of rows, and of the place of their first one among all, says of all."""

    @property
    def row_values(self) -> float:
        """How many numbers a pass reads for each row, on average."""
        return float(self.n_statistics)

    def undisturbed(self) -> AbstractContextManager[object]:
        """Where steps are to be made."""
        return undisturbed(self.n_statistics)

    # Passes in other words --------------------------------------------------------------------------------------------

    def log_likelihood(self, parameters: Parameters) -> SoftSummary:
        """The log-likelihood, and how much uncertain labels are."""
        return self.soft_summary_in(parameters, self.soften(parameters))

    def worst_statistic(self, parameters: Parameters) -> Array:
        """t(x) of the row with the lowest best log-density: the one these components explain worst."""
        return self.over_rows(partial(worst_of, natural=parameters.natural, bias=self.bias(parameters))).statistic

    # The objective ----------------------------------------------------------------------------------------------------

    def log_normalizer(self, natural: Array) -> Array:
        """F(theta), remembered for the latest arrays: an iteration asks for the same ones again and again."""
        return self._about(natural).normalizer

    def _about(self, natural: Array) -> Known:
        for known in self._known:
            if known.natural is natural:
                return known
        with np.errstate(invalid="ignore"):
            return self._remembered(natural, self.family.log_normalizer(natural))

    def _remembered(self, natural: Array, normalizer: Array) -> Known:
        natural.flags.writeable = False
        with np.errstate(invalid="ignore"):
            known = Known(natural, normalizer, natural @ self.prior_moment - normalizer)
        self._known = [*self._known[-REMEMBERED + 1 :], known]
        return known

    def penalty(self, parameters: Parameters) -> float:
        """What the prior takes off the objective: zero or negative."""
        if self.prior_strength == 0:
            return 0.0
        fit = self._about(parameters.natural).prior_fit[parameters.active]
        return float(self.prior_strength * np.minimum(fit - self.prior_top, 0.0).sum())

    def complete_objective(
        self, parameters: Parameters, statistics: ClusterStatistics, partition: Partition | None = None
    ) -> float:
        """Complete log-likelihood of labels with these statistics, plus the penalty; no pass over the data.

        Where statistics do not have the digits for it, problems that know the rows compute it from the labels.
        """
        occupied = np.flatnonzero((statistics.counts > 0) & parameters.active)
        terms = statistics.counts, statistics.sums, parameters.natural, parameters.log_weights
        normalizer = self.log_normalizer(parameters.natural)
        if len(occupied) < len(normalizer):
            counts, sums, natural, log_weights = (term[occupied] for term in terms)
            normalizer = normalizer[occupied]
        else:
            counts, sums, natural, log_weights = terms
        fit = np.einsum("kd,kd->k", sums, natural) + counts * (log_weights - normalizer)
        return float(fit.sum()) + self.sum_log_carrier + self.penalty(parameters)

    def incomplete_objective(self, parameters: Parameters, statistics: ClusterStatistics) -> float:
        """Log-likelihood from a soft pass made with these parameters, plus the penalty."""
        return statistics.score + self.sum_log_carrier + self.penalty(parameters)

    def bias(self, parameters: Parameters) -> Array:
        """b_j = log w_j - F(theta_j), so that scores are <t, theta_j> + b_j."""
        with np.errstate(invalid="ignore"):
            bias = parameters.log_weights - self.log_normalizer(parameters.natural)
        return np.where(parameters.active, bias, -np.inf)

    def soft_summary_in(self, parameters: Parameters, softened: ClusterStatistics) -> SoftSummary:
        """The log-likelihood that a full soft pass with these parameters found."""
        active = parameters.active
        expected = np.einsum("kd,kd->", softened.sums[active], parameters.natural[active])
        expected += softened.counts[active] @ self.bias(parameters)[active]
        return SoftSummary(softened.score + self.sum_log_carrier, float(softened.score - expected) / self.total)

    # Clusters ---------------------------------------------------------------------------------------------------------

    def cluster_values(self, counts: Array, sums: Array, log_weights: Array | None = None) -> Values:
        """What clusters of these counts (m,) and sums (m, D) add to the complete objective at their best.

        With profiled weights a cluster of n rows with sum of t equal to S adds (n + n0) (<eta, theta> - F(theta)) -
        n0 F*(eta0) + n log(n / N), theta being the estimate at eta = (S + n0 eta0) / (n + n0), n0 pseudo-observations
        at eta0 the prior; prescribed weights replace n / N. Inside the moment space no value is larger. On its
        boundary the estimate stands on a floor of the family, and the value is that of the floor: the limit where the
        likelihood has one, and the likelihood of the component that a fit hands back in any case.
        """
        empty = counts <= EMPTY * self.total
        n, n0 = np.where(empty, 1.0, counts), self.prior_strength
        moments = np.where(empty[:, None], self.prior_moment, (sums + n0 * self.prior_moment) / (n + n0)[:, None])
        natural = self.estimate(moments)
        normalizer = self.family.log_normalizer(natural)
        fit = np.einsum("nd,nd->n", natural, moments) - normalizer
        size = np.einsum("nd,nd->n", np.abs(natural), np.abs(moments)) + np.abs(normalizer)
        shares = np.log(n / self.total) if log_weights is None else log_weights
        values = (n + n0) * fit - n0 * self.prior_top + n * shares
        return Values(
            np.where(empty, 0.0, values), np.where(empty, 0.0, 2 * ROUNDING * (n + n0) * size), moments, natural
        )

    # Updates ----------------------------------------------------------------------------------------------------------

    def updated_natural(
        self,
        parameters: Parameters,
        statistics: ClusterStatistics,
        partition: Partition | None = None,
        surely: bool = False,
    ) -> Array:
        """The best natural parameters for these statistics; a component keeps its own where those are worse.

        The comparison makes numerically solved families as monotone as closed-form ones. What rounding cannot tell
        apart counts as no worse, so that the outcome does not hang on the order of sums; with `surely` it counts as no
        better. Empty components keep theirs, except with prescribed weights, where the prior alone decides on them.
        """
        natural, normalizer = parameters.natural, self.log_normalizer(parameters.natural)
        occupied = (statistics.counts > 0) & parameters.active
        chosen = slice(None) if occupied.all() else np.flatnonzero(occupied)
        moments = statistics.moments(self.prior_strength, self.prior_moment)[chosen]
        proposed = self.estimate(moments)
        proposed_normalizer = self.family.log_normalizer(proposed)
        with np.errstate(invalid="ignore"):
            after = np.einsum("kd,kd->k", moments, proposed) - proposed_normalizer
            before = np.einsum("kd,kd->k", moments, natural[chosen]) - normalizer[chosen]
            size = np.einsum("kd,kd->k", np.abs(moments), np.abs(proposed)) + np.abs(proposed_normalizer)
        better = (after >= before + (1 if surely else -1) * ROUNDING * size) | np.isnan(before)
        if isinstance(chosen, slice) and better.all():
            natural, normalizer = proposed, proposed_normalizer
        else:
            places = np.flatnonzero(occupied)[better]
            natural, normalizer = natural.copy(), normalizer.copy()
            natural[places], normalizer[places] = proposed[better], proposed_normalizer[better]
            if self.weights is not None:
                empty = statistics.counts == 0
                natural[empty] = self.prior_natural
                normalizer[empty] = self.family.log_normalizer(self.prior_natural[None])
        self._remembered(natural, normalizer)
        return natural

    def estimate(self, moments: Array) -> Array:
        """The natural parameters (k, D) of the components with these moments, none narrower than the data's resolution.

        Floors are applied here and nowhere later, so that the mixture handed back is the one that was learned.
        """
        if self.spread is None:
            natural = self.family.natural_from_moment(moments)
        else:
            natural = self.family.natural_with_spread(moments, self.spread)
        return natural if self.center is None else self.family.resolvable(natural, self.center)

    def confined(self, natural: Array, otherwise: Array) -> Array:
        """Natural parameters (..., D) where they are no narrower than the data's resolution, others elsewhere."""
        if self.spread is None:
            return natural
        with np.errstate(all="ignore"):
            wide = self.family.has_spread(natural.reshape(-1, self.n_statistics), self.spread)
        return natural if wide.all() else np.where(wide.reshape(natural.shape[:-1])[..., None], natural, otherwise)

    def legal(self, natural: Array, active: NDArray[np.bool_]) -> bool:
        """Whether these (k, D) are natural parameters of the family, those of inactive components aside.

        They are not where components are so narrow that scores lose their digits: floors begin there.
        """
        with np.errstate(all="ignore"):
            normalizer = self.log_normalizer(natural)[active]
        precise = score_error(self.largest_statistic, natural[active], normalizer) <= SCORE_ERROR
        return precise and bool(np.isfinite(normalizer).all())

    def first_parameters(self, statistics: ClusterStatistics) -> Parameters:
        """Parameters from labels alone; empty clusters are inactive from the start, unless their weights are
        prescribed.
        """
        k = len(statistics.counts)
        blank = np.tile(self.prior_natural, (k, 1))
        parameters = Parameters(blank, self.log_weights(statistics.weights()))
        moments = statistics.moments(self.prior_strength, self.prior_moment)
        occupied = statistics.counts > 0
        blank[occupied] = self.estimate(moments[occupied])
        return parameters

    def log_weights(self, weights: Array) -> Array:
        """Logarithms of the weights, or of the prescribed ones if there are any: also of components without rows.

        Fewer components than prescribed weights (there were no more distinct rows to seed) have the first of them.
        """
        with np.errstate(divide="ignore"):
            return np.log(weights if self.weights is None else self.weights[: len(weights)])

    def with_prescribed(self, parameters: Parameters) -> Parameters:
        """The same with a component for every prescribed weight: the distribution of all rows where one is missing."""
        if self.weights is None or (len(parameters.natural) == len(self.weights) and parameters.active.all()):
            return parameters
        natural = np.tile(self.prior_natural, (len(self.weights), 1))
        places = np.flatnonzero(parameters.active)
        natural[places] = parameters.natural[places]
        return Parameters(natural, np.log(self.weights))

    # Between the center of the rows and the user's coordinates
    # -------------------------------------------------------------

    def to_mixture(self, parameters: Parameters) -> Mixture:
        """The active components as a mixture in the data's own coordinates."""
        active = parameters.active
        natural = parameters.natural[active]
        if self.center is not None:
            natural = self.family.natural_at_center(natural, self.center)
        weights = np.exp(parameters.log_weights[active])
        return Mixture(self.family, weights / weights.sum(), natural)

    def as_handed_back(self, parameters: Parameters) -> Parameters:
        """The same after the way to the data's own coordinates and back, which rounds means far from the center."""
        if self.center is None:
            return parameters
        natural = parameters.natural.copy()
        there = self.family.natural_at_center(natural[parameters.active], self.center)
        natural[parameters.active] = self.family.natural_at_center(there, -self.center)
        return Parameters(natural, parameters.log_weights)

    def from_mixture(self, mixture: Mixture) -> Parameters:
        """A mixture's parameters, relative to the center of the rows."""
        natural = np.array(mixture.natural)
        if self.center is not None:
            natural = self.family.natural_at_center(natural, -self.center)
        return Parameters(natural, self.log_weights(mixture.weights))
