"""A family with its prior, floors and weights: how parameters follow from statistics, without looking at rows.

The prior is conjugate (Diaconis and Ylvisaker, 1979): pseudo-observations at the mean statistic of the data.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..engines.partition import Partition
from ..engines.statistics import ClusterStatistics
from ..families import ExponentialFamily
from ..families.resolution import Resolution, unknown_resolution
from ..mixture import Mixture
from ..numerics.arrays import Array

# Arrays of natural parameters whose log-normalisers are remembered: those of this step and of the last.
REMEMBERED = 4
# Relative rounding error of a sum of a few products.
ROUNDING = 4 * np.finfo(float).eps
# A cluster with less than this share of the rows has none: what rounding leaves behind.
EMPTY = 1e-14


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


@dataclass(frozen=True)
class Frozen:
    """Which components keep their parameters (k,), and which their weights: NaN where these are estimated (k,)."""

    natural: NDArray[np.bool_]
    weights: Array

    @property
    def holds_weights(self) -> bool:
        """Whether any weight is held."""
        return bool(np.isfinite(self.weights).any())


class PriorPoint(NamedTuple):
    """Where the observations of the prior are, as a moment (D,) and as natural parameters (D,).

    There the prior costs nothing: the penalty is measured from `top`, F* of the moment.
    """

    moment: Array
    natural: Array
    top: float


class Known(NamedTuple):
    """What is remembered of natural parameters (k, D)."""

    natural: Array
    normalizer: Array
    prior_fit: Array
    """<prior_moment, theta> - F(theta): how well the prior's observations fit, each."""


def smallest_spread(family: ExponentialFamily, resolution: Resolution | None, center: Array | None) -> Array | None:
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


class Model:
    """A family for data of a known mean statistic, with the prior and the floors that estimates are subject to.

    No component is narrower than the `resolution` of the data allows, so none gains by rounding. The prior is
    `prior_strength` pseudo-observations at the mean statistic of the data for each component. It enters the objective
    as -prior_strength * B_F*(prior_moment : moment_j), which is never positive, so dropping an empty component never
    lowers the objective. `total` is the number of rows, or what they weigh.
    """

    def __init__(
        self,
        family: ExponentialFamily,
        total: float,
        mean_statistic: Array,
        center: Array | None = None,
        prior_strength: float = 0.0,
        weights: Array | None = None,
        resolution: Resolution | None = None,
        prior: PriorPoint | None = None,
    ) -> None:
        self.family = family
        self.total = total
        self.resolution = resolution
        self.spread = smallest_spread(family, resolution, center)
        self.center = center
        self.n_statistics = len(mean_statistic)
        self.prior_strength = prior_strength
        self.weights = weights
        if prior is None:
            self.prior_moment = family.prior_moment(mean_statistic)
            natural = self.estimate(self.prior_moment[None])[0]
            top = float(natural @ self.prior_moment - family.log_normalizer(natural))
            prior = PriorPoint(self.prior_moment, natural, top)
        self.prior = prior
        self.prior_moment, self.prior_natural, self.prior_top = prior
        self.frozen: Frozen | None = None
        self._known: list[Known] = []

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

    def bias(self, parameters: Parameters) -> Array:
        """b_j = log w_j - F(theta_j), so that scores are <t, theta_j> + b_j."""
        with np.errstate(invalid="ignore"):
            bias = parameters.log_weights - self._about(parameters.natural).normalizer
        return np.where(parameters.active, bias, -np.inf)

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
        if self.family.joint:
            return self._updated_together(parameters, statistics, surely)
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
        if self.frozen is not None:
            better &= ~self.frozen.natural[chosen]
        if isinstance(chosen, slice) and better.all():
            natural, normalizer = proposed, proposed_normalizer
        else:
            places = np.flatnonzero(occupied)[better]
            natural, normalizer = natural.copy(), normalizer.copy()
            natural[places], normalizer[places] = proposed[better], proposed_normalizer[better]
            if self.weights is not None:
                empty = (statistics.counts == 0) & (True if self.frozen is None else ~self.frozen.natural)
                natural[empty] = self.prior_natural
                normalizer[empty] = self.family.log_normalizer(self.prior_natural[None])
        self._remembered(natural, normalizer)
        return natural

    def _updated_together(self, parameters: Parameters, statistics: ClusterStatistics, surely: bool) -> Array:
        """The same for a joint family: all components change, or none where their total is worse."""
        natural, normalizer = parameters.natural, self.log_normalizer(parameters.natural)
        taking_part = parameters.active & ((statistics.counts > 0) | (self.weights is not None))
        counts = np.where(taking_part, statistics.counts + self.prior_strength, 0.0)
        moments = statistics.moments(self.prior_strength, self.prior_moment)
        proposed = self.estimates(counts, moments, natural)
        if self.frozen is not None:
            # Only components of different families get here, which do not depend on each other.
            proposed = np.where(self.frozen.natural[:, None], natural, proposed)
        proposed_normalizer = self.family.log_normalizer(proposed)
        with np.errstate(invalid="ignore"):
            after = np.einsum("kd,kd->k", moments, proposed) - proposed_normalizer
            before = np.einsum("kd,kd->k", moments, natural) - normalizer
            size = np.einsum("kd,kd->k", np.abs(moments), np.abs(proposed)) + np.abs(proposed_normalizer)
            gain = counts @ np.where(counts > 0, after - before, 0.0)
        rounding = ROUNDING * float(counts @ np.where(counts > 0, size, 0.0))
        if gain < (1 if surely else -1) * rounding:
            return natural
        self._remembered(proposed, proposed_normalizer)
        return proposed

    def estimates(self, counts: Array, moments: Array, before: Array | None = None) -> Array:
        """The natural parameters (..., k, D) of mixtures whose components have these counts and moments.

        The components of a joint family are estimated together, from `before` on; others each alone. Counts hold the
        prior, as moments do.
        """
        if not self.family.joint:
            return self.estimate(moments.reshape(-1, self.n_statistics)).reshape(moments.shape)
        moments = np.where((counts > 0)[..., None], moments, self.prior_moment)
        return self.family.joint_estimate(counts, moments, before, self.spread)

    def within_model(self, parameters: Parameters) -> Parameters:
        """The mixture itself, or one close to it that a joint family can have."""
        if not self.family.joint:
            return parameters
        counts = self.total * np.exp(parameters.log_weights)
        natural = self.family.projected(counts, parameters.natural, self.spread)
        return Parameters(natural, parameters.log_weights)

    def estimate(self, moments: Array) -> Array:
        """The natural parameters (k, D) of the components with these moments, none narrower than the data's resolution.

        Each is estimated as if it were alone; `estimates` has those of mixtures of joint families. Floors are applied
        here and nowhere later, so that the mixture handed back is the one that was learned.
        """
        moments = self.family.completed(moments, self.prior_moment)
        if self.spread is None:
            natural = self.family.natural_from_moment(moments)
        else:
            natural = self.family.natural_with_spread(moments, self.spread)
        return natural if self.center is None else self.family.resolvable(natural, self.center)

    def confined(self, natural: Array, otherwise: Array, log_weights: Array) -> Array:
        """Natural parameters (..., k, D) where they are no narrower than the data's resolution, others elsewhere.

        Those of a joint family are moved to a mixture of the model.
        """
        if self.family.joint:
            return self.family.joint_projection(self.total * np.exp(log_weights), natural, otherwise, self.spread)
        natural = self.family.consistent(natural)
        if self.spread is None:
            return natural
        with np.errstate(all="ignore"):
            wide = self.family.has_spread(natural.reshape(-1, self.n_statistics), self.spread)
        return natural if wide.all() else np.where(wide.reshape(natural.shape[:-1])[..., None], natural, otherwise)

    def first_parameters(self, statistics: ClusterStatistics) -> Parameters:
        """Parameters from labels alone; empty clusters are inactive from the start, unless their weights are
        prescribed.
        """
        k = len(statistics.counts)
        blank = np.tile(self.prior_natural, (k, 1))
        parameters = Parameters(blank, self.log_weights(statistics.weights()))
        moments = statistics.moments(self.prior_strength, self.prior_moment)
        occupied = statistics.counts > 0
        if self.family.joint:
            taking_part = occupied | (self.weights is not None)
            counts = np.where(taking_part, statistics.counts + self.prior_strength, 0.0)
            return Parameters(self.estimates(counts, moments), parameters.log_weights)
        blank[occupied] = self.estimate(moments[occupied])
        return parameters

    def log_weights(self, weights: Array) -> Array:
        """Logarithms of the weights, or of the prescribed ones if there are any: also of components without rows.

        Fewer components than prescribed weights (there were no more distinct rows to seed) have the first of them.
        """
        if self.weights is None and self.frozen is not None and self.frozen.holds_weights:
            weights = self._sharing_the_rest(weights)
        with np.errstate(divide="ignore"):
            return np.log(weights if self.weights is None else self.weights[: len(weights)])

    def _sharing_the_rest(self, weights: Array) -> Array:
        """Frozen weights as they are; the others share what is left in proportion to these."""
        assert self.frozen is not None
        held = np.isfinite(self.frozen.weights)
        free = np.where(held, 0.0, weights)
        rest = 1 - self.frozen.weights[held].sum()
        return np.where(held, self.frozen.weights, free * (rest / max(free.sum(), np.finfo(float).tiny)))

    def normalized(self, log_weights: Array) -> Array:
        """Log-weights of components (k,) that sum to one; those of frozen ones stay."""
        log_weights = log_weights - np.log(np.exp(log_weights).sum())
        if self.frozen is None or not self.frozen.holds_weights:
            return log_weights
        with np.errstate(divide="ignore"):
            return np.log(self._sharing_the_rest(np.exp(log_weights)))

    def with_prescribed(self, parameters: Parameters) -> Parameters:
        """The same with a component for every prescribed weight: the distribution of all rows where one is missing."""
        if self.weights is None or (len(parameters.natural) == len(self.weights) and parameters.active.all()):
            return parameters
        k = len(self.weights)
        natural = self.estimates(np.ones(k), np.tile(self.prior_moment, (k, 1)))
        places = np.flatnonzero(parameters.active)
        natural[places] = parameters.natural[places]
        return self.within_model(Parameters(natural, np.log(self.weights)))

    # Between the center of the rows and the user's coordinates
    # -------------------------------------------------------------

    def to_mixture(self, parameters: Parameters) -> Mixture:
        """The active components as a mixture in the data's own coordinates."""
        active = parameters.active
        natural = parameters.natural[active]
        if self.center is not None:
            natural = self.family.natural_at_center(natural, self.center)
        weights = np.exp(parameters.log_weights[active])
        family, natural = self.family.for_components(natural)
        assert isinstance(family, ExponentialFamily)  # as the problem's
        return Mixture(family, weights / weights.sum(), natural)

    def resolved(self, parameters: Parameters) -> Parameters:
        """The same, or components as wide as the data's own coordinates can tell apart where some are narrower.

        Estimates of single components are as wide already. Those of a joint family may not be.
        """
        if self.center is None or not self.family.joint:
            return parameters
        natural = self.family.resolvable(parameters.natural, self.center)
        return parameters if natural is parameters.natural else Parameters(natural, parameters.log_weights)

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
        natural = self.family.from_components(mixture.family, np.array(mixture.natural))
        if self.center is not None:
            natural = self.family.natural_at_center(natural, -self.center)
        return Parameters(natural, self.log_weights(mixture.weights))
