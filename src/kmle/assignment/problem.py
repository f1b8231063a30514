"""The learning problem: rows, a prior, perhaps prescribed weights; and what every algorithm asks of them."""

from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..families.sparse import issparse
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..statistics import ClusterStatistics
from .choose import choose, plain_engine
from .direct import SCORE_ERROR, DirectEngine, score_error
from .engine import Engine
from .partition import Labels, Partition
from .rows import Rows
from .sparse import SparseEngine, SparseRows
from .wide import WideEngine

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Arrays of natural parameters whose log-normalisers are remembered: those of this step and of the last.
REMEMBERED = 4


@dataclass(frozen=True)
class Parameters:
    """Natural parameters (k, D) seen from the rows' origin, and log-weights (k,); a dead component has -inf."""

    natural: Array
    log_weights: Array

    @property
    def alive(self) -> NDArray[np.bool_]:
        """True for components that still have weight."""
        return np.isfinite(self.log_weights)


class Problem:
    """Maximise the complete (or incomplete) log-likelihood of rows, plus a conjugate prior.

    The prior is `prior_strength` pseudo-observations at the mean statistic of the data for each component. It enters
    the objective as -prior_strength * B_F*(prior_moment : moment_j), which is never positive, so dropping an empty
    component never lowers the objective.
    """

    def __init__(
        self,
        family: ExponentialFamily,
        X: "Array | csr_array",
        sample_weight: Array | None = None,
        prior_strength: float = 0.0,
        weights: Array | None = None,
        origin: Array | None = None,
        n_threads: int = 1,
        n_components: int = 1,
        assignment: str = "auto",
    ) -> None:
        self.family = family
        self._known_normalizers: list[tuple[Array, Array]] = []
        self.rows: Rows | SparseRows
        self.engine: Engine
        if issparse(X):
            self.rows = SparseRows(family, X, sample_weight)
            self.engine, has_direct = SparseEngine(self.rows), False
        else:
            self.rows = Rows(family, X, sample_weight, origin, n_threads)
            self.engine = choose(self.rows, n_components, assignment)
            natural = family.natural_from_moment(self.rows.mean_statistic[None])
            has_direct = family.direct_log_density(X[:1].astype(float), natural) is not None
        self.total = self.rows.total
        self.sum_log_carrier = self.rows.sum_log_carrier()
        self.prior_strength = prior_strength
        self.prior_moment = self.rows.mean_statistic
        self.prior_natural = family.natural_from_moment(self.prior_moment[None])[0]
        # At the global law itself the prior costs nothing: F*(prior_moment) is where the penalty is measured from.
        self._prior_top = float(self.prior_natural @ self.prior_moment - family.log_normalizer(self.prior_natural))
        self.weights = weights
        self._has_direct = has_direct

    # The objective ----------------------------------------------------------------------------------------------------

    def log_normalizer(self, natural: Array) -> Array:
        """F(theta), remembered for the latest arrays: an iteration asks for the same ones again and again."""
        for array, known in self._known_normalizers:
            if array is natural:
                return known
        with np.errstate(invalid="ignore"):
            return self._remembered(natural, self.family.log_normalizer(natural))

    def _remembered(self, natural: Array, value: Array) -> Array:
        natural.flags.writeable = False
        self._known_normalizers = [*self._known_normalizers[-REMEMBERED + 1 :], (natural, value)]
        return value

    def penalty(self, parameters: Parameters) -> float:
        """What the prior takes off the objective: zero or negative."""
        if self.prior_strength == 0:
            return 0.0
        with np.errstate(invalid="ignore"):
            fit = parameters.natural @ self.prior_moment - self.log_normalizer(parameters.natural)
        return float(self.prior_strength * np.minimum(fit[parameters.alive] - self._prior_top, 0.0).sum())

    def complete_objective(self, parameters: Parameters, statistics: ClusterStatistics) -> float:
        """Complete log-likelihood of labels with these statistics, plus the penalty; no pass over the data."""
        living = (statistics.counts > 0) & parameters.alive
        natural, counts = parameters.natural[living], statistics.counts[living]
        normalizer = self.log_normalizer(parameters.natural)[living]
        fit = np.einsum("kd,kd->k", statistics.sums[living], natural) - counts * normalizer
        total = float(np.sum(fit + counts * parameters.log_weights[living]))
        return total + self.sum_log_carrier + self.penalty(parameters)

    def incomplete_objective(self, parameters: Parameters, statistics: ClusterStatistics) -> float:
        """Log-likelihood from a soft pass made with these parameters, plus the penalty."""
        return statistics.score + self.sum_log_carrier + self.penalty(parameters)

    # Passes -----------------------------------------------------------------------------------------------------------

    def bias(self, parameters: Parameters) -> Array:
        """b_j = log w_j - F(theta_j), so that scores are <t, theta_j> + b_j."""
        with np.errstate(invalid="ignore"):
            bias = parameters.log_weights - self.log_normalizer(parameters.natural)
        return np.where(parameters.alive, bias, -np.inf)

    def _needs_direct(self, parameters: Parameters, bias: Array) -> bool:
        """Whether packed scores are not good enough, and the family has better ones."""
        if not self._has_direct or isinstance(self.engine, WideEngine):
            return False
        return score_error(self.rows.largest_statistic, parameters.natural, bias) > SCORE_ERROR

    def assign(
        self, parameters: Parameters, batch: Rows | SparseRows | None = None
    ) -> tuple[Partition, ClusterStatistics]:
        """Hard pass over all rows, or over others seen from the same origin: who belongs where, and the statistics."""
        bias = self.bias(parameters)
        rows = self.rows if batch is None else batch
        if isinstance(rows, Rows) and self._needs_direct(parameters, bias):
            return DirectEngine(rows).hard_pass(parameters.natural, parameters.log_weights)
        engine = self.engine if batch is None else plain_engine(batch)
        return engine.hard_pass(parameters.natural, bias)

    def soften(self, parameters: Parameters, n_kept: int | None = None) -> ClusterStatistics:
        """Soft pass: statistics by responsibility, of the `n_kept` largest a row or of all."""
        bias = self.bias(parameters)
        if isinstance(self.rows, Rows) and self._needs_direct(parameters, bias):
            return DirectEngine(self.rows).soft_pass(parameters.natural, parameters.log_weights, n_kept)
        return self.engine.soft_pass(parameters.natural, bias, n_kept)

    def gather(self, labels: Labels, n_components: int) -> ClusterStatistics:
        """The statistics of given labels."""
        return ClusterStatistics(*self.rows.label_sums(labels, n_components), 0.0)

    def mean_entropy(self, parameters: Parameters, statistics: ClusterStatistics) -> float:
        """Mean entropy of the responsibilities behind a full soft pass, in nats: zero when no row is in doubt."""
        alive = parameters.alive
        expected = np.einsum("kd,kd->", statistics.sums[alive], parameters.natural[alive])
        expected += statistics.counts[alive] @ self.bias(parameters)[alive]
        return max(0.0, float(statistics.score - expected) / self.total)

    # Updates ----------------------------------------------------------------------------------------------------------

    def updated_natural(self, parameters: Parameters, statistics: ClusterStatistics) -> Array:
        """The best natural parameters for these statistics; a component keeps its own where those are no better.

        The comparison makes numerically solved families as monotone as closed-form ones. Empty components keep theirs.
        """
        natural, normalizer = parameters.natural.copy(), self.log_normalizer(parameters.natural).copy()
        living = np.flatnonzero((statistics.counts > 0) & parameters.alive)
        moments = statistics.moments(self.prior_strength, self.prior_moment)[living]
        proposed = self.family.natural_from_moment(moments)
        proposed_normalizer = self.family.log_normalizer(proposed)
        with np.errstate(invalid="ignore"):
            after = np.einsum("kd,kd->k", moments, proposed) - proposed_normalizer
            before = np.einsum("kd,kd->k", moments, natural[living]) - normalizer[living]
        better = (after >= before) | np.isnan(before)
        natural[living[better]] = proposed[better]
        normalizer[living[better]] = proposed_normalizer[better]
        self._remembered(natural, normalizer)
        return natural

    def first_parameters(self, statistics: ClusterStatistics) -> Parameters:
        """Parameters from labels alone; empty clusters are dead from the start."""
        k = len(statistics.counts)
        blank = np.tile(self.prior_natural, (k, 1))
        parameters = Parameters(blank, self.log_weights(statistics.weights()))
        moments = statistics.moments(self.prior_strength, self.prior_moment)
        living = statistics.counts > 0
        blank[living] = self.family.natural_from_moment(moments[living])
        return parameters

    def log_weights(self, weights: Array) -> Array:
        """Logarithms of the weights: the prescribed ones for components that live, if there are any.

        Fewer components than prescribed weights (there were no more distinct rows to seed) have the first of them.
        """
        chosen = weights if self.weights is None else np.where(weights > 0, self.weights[: len(weights)], 0.0)
        with np.errstate(divide="ignore"):
            return np.log(chosen)

    def without_rows(self) -> "Problem":
        """The same problem with its first row only: family, prior, origin and weights without the data."""
        return self.on_rows(np.array([0]))

    def with_prior_strength(self, prior_strength: float) -> "Problem":
        """The same problem, rows and engine shared, with another weight on the prior."""
        other = copy(self)
        other.prior_strength = prior_strength
        return other

    def on_rows(self, indices: NDArray[np.intp]) -> "Problem":
        """The same problem on chosen rows: family, prior, origin and weights are those of all."""
        part = copy(self)
        part.rows = self.rows.subset(indices)
        part.engine = plain_engine(part.rows)
        part.total = part.rows.total
        part.sum_log_carrier = part.rows.sum_log_carrier()
        return part

    # Between the rows' origin and the user's coordinates -------------------------------------------------------------

    def to_mixture(self, parameters: Parameters) -> Mixture:
        """The living components as a mixture in the data's own coordinates."""
        alive = parameters.alive
        natural = parameters.natural[alive]
        if self.rows.origin is not None:
            natural = self.family.natural_at_origin(natural, self.rows.origin)
        weights = np.exp(parameters.log_weights[alive])
        return Mixture(self.family, weights / weights.sum(), natural)

    def from_mixture(self, mixture: Mixture) -> Parameters:
        """A mixture's parameters, seen from the rows' origin."""
        natural = np.array(mixture.natural)
        if self.rows.origin is not None:
            natural = self.family.natural_at_origin(natural, -self.rows.origin)
        return Parameters(natural, self.log_weights(mixture.weights))
