"""Several mixtures learned from the same rows together: one pass and one batched estimate for all of them.

Every formula of a family is vectorised over leading axes, so a step of S mixtures of k components takes little more
time in Python than a step of one (see `PackedRows.soft_passes`). That is why this loop is not the one of
`algorithms.loop`, which takes one mixture at a time: a search makes some 80 steps of 4 to 32 mixtures, and by itself
each would take as long as all together.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .._kernels import DONE, NOT_SAFE, Mixtures, MixtureStep, Pace, StepSetting
from ..algorithms.acceleration import DELAY, LARGEST
from ..algorithms.loop import stop_requested
from ..data.table import Rows
from ..engines.panels.engine import PanelsEngine
from ..engines.patterns.engine import PatternsEngine
from ..engines.precise import PreciseEngine
from ..engines.statistics import ClusterStatistics
from ..numerics.arrays import Array
from ..problem.problem import Parameters, Problem

# Scores are compared to find good starts, not to report them: packed ones are precise enough up to this error, in nats.
SEARCH_ERROR = 1e-3
EPSILON = float(np.finfo(float).eps)
# Cost of the estimate of a parameter, in products; it matters where rows are sparse.
SPARSE_ESTIMATE = 40
# Rows with missing entries are completed in NumPy: each product of a pass costs EXPECTING products then, and a pass at
# least FEW_EXPECTING, however few rows there are.
EXPECTING, FEW_EXPECTING = 8, 1000
# A mixture whose last step gained less than this, in nats, waits until the others have arrived.
CONVERGED = 1e-3
# Products of a call that makes several steps: longer ones would keep Ctrl-C waiting.
WORK_AT_ONCE = 5e8
# While even the best mixture still gains, this many times the work is allowed.
PATIENCE = 3


@dataclass
class Batch(Mixtures):
    """Some mixtures and what a pass with them found."""

    def __len__(self) -> int:
        return len(self.objective)

    def take(self, chosen: NDArray[np.intp]) -> "Batch":
        """Some of the mixtures."""
        return Batch(**{name: values[chosen] for name, values in vars(self).items()})

    def put(self, places: NDArray[np.intp], other: "Batch") -> None:
        """Other mixtures in the places of some."""
        for name, values in vars(self).items():
            values[places] = getattr(other, name)

    def parameters(self, place: int) -> Parameters:
        """One of the mixtures."""
        return Parameters(self.natural[place].copy(), self.log_weights[place].copy())


def joined(batches: list[Batch]) -> Batch:
    """All mixtures of several batches."""
    return Batch(**{name: np.concatenate([vars(batch)[name] for batch in batches]) for name in vars(batches[0])})


class Learner:
    """Learns batches of mixtures from the rows of a problem: softly, or with `hard` labels.

    Mixtures have arrived where a step gains no more than `converged`.
    """

    def __init__(self, problem: Problem, hard: bool = False, converged: float = CONVERGED) -> None:
        self.problem = problem
        self.hard = hard
        self.converged = converged
        self.work = 0.0
        """Products formed so far: what a budget counts."""
        self.ascent: list[float] = []
        """The best objective so far after every pass."""

    def cost(self, n_components: int) -> float:
        """Products of one step of one mixture."""
        order = self.problem.n_statistics
        if self.problem.expects:
            return EXPECTING * 4.0 * n_components * order * (len(self.problem.rows) + FEW_EXPECTING)
        if self.problem.row_values < order:
            return 4.0 * n_components * (len(self.problem.rows) * self.problem.row_values + SPARSE_ESTIMATE * order)
        return 4.0 * n_components * order * (len(self.problem.rows) + 4 * order**0.5)

    def expected(self, natural: Array, log_weights: Array) -> Batch:
        """The mixtures with what a pass over the rows finds."""
        return self._seen(natural, log_weights, *self.terms(natural, log_weights))

    def terms(self, natural: Array, log_weights: Array) -> tuple[Array, Array, Array]:
        """What a pass with mixtures needs: `bias`, `penalty` and `size` of a MixtureStep."""
        problem = self.problem
        shape = log_weights.shape
        flat = natural.reshape(-1, problem.n_statistics)
        active = np.isfinite(log_weights)
        with np.errstate(all="ignore"):
            normalizer = problem.family.log_normalizer(flat).reshape(shape)
            bias = np.where(active, log_weights - normalizer, -np.inf)
            fit = (flat @ problem.prior_moment).reshape(shape) - normalizer - problem.prior_top
            penalty = np.where(active, np.minimum(fit, 0.0), 0.0).sum(axis=1)
            size = np.abs(natural) @ problem.largest_statistic + np.abs(bias)
        return bias, penalty, np.where(np.isfinite(bias), size, 0.0).max(axis=1)

    def _seen(self, natural: Array, log_weights: Array, bias: Array, penalty: Array, size: Array) -> Batch:
        """The mixtures with what a pass over the rows finds, given what it needs."""
        problem = self.problem
        mixtures, k = log_weights.shape
        broken = np.isnan(bias).any(axis=1)
        bias[broken] = -np.inf
        counts, sums, scores = self._passes(natural, log_weights, bias, EPSILON * size)
        objective = scores + (problem.sum_log_carrier + problem.prior_strength * penalty)
        objective[broken | np.isnan(objective)] = -np.inf
        self.work += mixtures * self.cost(k)
        self.ascent.append(max([*self.ascent[-1:], float(objective.max(initial=-np.inf))]))
        streak, gain = np.zeros(mixtures, dtype=np.intp), np.full(mixtures, np.inf)
        return Batch(natural, log_weights, counts, sums, objective, natural, log_weights, streak, gain)

    def _passes(self, natural: Array, log_weights: Array, bias: Array, errors: Array) -> tuple[Array, Array, Array]:
        """Counts, sums and scores; `errors` (S,) are bounds on the rounding errors of packed scores, in nats."""
        kept = 1 if self.hard else None
        rows, engine = self.problem.rows, self.problem.engine
        if isinstance(engine, PanelsEngine | PatternsEngine):
            return _stacked(natural.shape, engine.soft_passes(natural, bias, kept))
        if not isinstance(rows, Rows):
            return _stacked(
                natural.shape, (engine.soft_pass(theta, b, kept) for theta, b in zip(natural, bias, strict=True))
            )
        counts, sums, scores = rows.packed.soft_passes(natural, bias, kept)
        if self.problem.has_direct:
            # Steps beyond an update may leave the family's parameters; such components have no bias.
            log_weights = np.where(np.isfinite(bias), log_weights, -np.inf)
            for s in np.flatnonzero((errors > SEARCH_ERROR) & np.isfinite(bias).any(axis=1)):
                found = self._precise.soft_pass(natural[s], bias[s], log_weights[s], kept)
                counts[s], sums[s], scores[s] = found.counts, found.sums, found.score
        return counts, sums, scores

    @cached_property
    def _precise(self) -> PreciseEngine:
        """What makes passes where packed scores would lose too many digits."""
        assert isinstance(self.problem.rows, Rows)  # sparse rows have no better scores
        return PreciseEngine(self.problem.rows)

    def maximized(self, counts: Array, sums: Array, before: Array | None = None) -> tuple[Array, Array]:
        """Natural parameters and log-weights that are best for statistics (S, k) and (S, k, D).

        The estimates of a joint family go on from those `before`.
        """
        problem = self.problem
        mixtures, k = counts.shape
        statistics = ClusterStatistics(counts.reshape(-1), sums.reshape(mixtures * k, problem.n_statistics), 0.0)
        moments = statistics.moments(problem.prior_strength, problem.prior_moment).reshape(sums.shape)
        observed = np.where(counts > 0, counts + problem.prior_strength, 0.0)
        natural = problem.estimates(observed, moments, before)
        with np.errstate(divide="ignore"):
            log_weights = np.log(counts * (1 / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)))
        if problem.weights is not None:
            log_weights = np.where(counts > 0, np.log(problem.weights[:k]), -np.inf)
        return natural, log_weights

    def from_statistics(self, counts: Array, sums: Array) -> Batch:
        """Mixtures of clusters with these statistics, and a pass with them."""
        return self.expected(*self.maximized(counts, sums))

    def stepped(self, batch: Batch) -> Batch:
        """One step of every mixture, with momentum where that gains at least as much as it did last time."""
        factors = np.zeros(len(batch)) if self.hard else np.minimum(batch.streak / (batch.streak + DELAY), LARGEST)
        step = self._step(batch, factors)
        following = self._seen(step.beyond, step.weights_beyond, step.bias, step.penalty, step.size)
        following.streak = np.where(factors > 0, batch.streak + 1, 1)
        lost = np.flatnonzero((factors > 0) & ~(following.objective >= batch.objective))
        if len(lost) == len(batch) > 0:
            del following  # what a pass finds may be large
            following = self.expected(step.natural, step.log_weights)
            following.streak[:] = 1
        elif len(lost):
            plain = self.expected(step.natural[lost], step.log_weights[lost])
            plain.streak[:] = 1
            following.put(lost, plain)
        following.before, following.weights_before = step.natural, step.log_weights
        following.gain = following.objective - batch.objective
        return following

    def _step(self, batch: Batch, factors: Array) -> MixtureStep:
        """Estimates, and the points beyond them by some factors (S,) of their change."""
        given = batch.counts, batch.sums, batch.before, batch.weights_before, factors
        fast = None if self._setting is None else self.problem.family.mixture_step(*given, self._setting)
        return self.step_by_formulas(batch, factors) if fast is None else fast

    @cached_property
    def _setting(self) -> StepSetting | None:
        """What steps in one call need; None where rows are sparse or estimates joint."""
        problem = self.problem
        if problem.family.joint or not isinstance(problem.rows, Rows):
            return None
        none = np.zeros(problem.family.n_features or 1)
        return StepSetting(
            problem.prior_moment,
            problem.prior_strength,
            problem.prior_top,
            problem.largest_statistic,
            none if problem.spread is None else problem.spread,
            none if problem.center is None else problem.center,
            problem.rows.n_threads,
            np.zeros(0) if problem.weights is None else np.log(problem.weights),
        )

    def step_by_formulas(self, batch: Batch, factors: Array) -> MixtureStep:
        """The same by the family's formulas."""
        natural, log_weights = self.maximized(batch.counts, batch.sums, batch.natural)
        ahead = np.flatnonzero(factors > 0)
        beyond, weights = natural, log_weights
        if len(ahead):
            beyond, weights = natural.copy(), log_weights.copy()
            share = factors[ahead, np.newaxis]
            beyond[ahead] += share[:, :, np.newaxis] * (natural[ahead] - batch.before[ahead])
            if self.problem.weights is None:
                with np.errstate(invalid="ignore"):
                    moved = log_weights[ahead] + share * (log_weights[ahead] - batch.weights_before[ahead])
                moved = np.where(np.isnan(moved), -np.inf, moved)
                moved -= moved.max(axis=1, keepdims=True)
                weights[ahead] = moved - np.log(np.exp(moved).sum(axis=1, keepdims=True))
            beyond = self.problem.confined(beyond, natural, weights)
        return MixtureStep(natural, log_weights, beyond, weights, *self.terms(beyond, weights))

    def run(self, batch: Batch, steps: int, later: int = 0, limit: float = np.inf, least: float = -np.inf) -> Batch:
        """The mixtures after a number of steps, or when the limit on the work is reached.

        Those wait that gain next to nothing, or too little to catch up with the best, or with the `least` objective
        that is worth something: if every step, `later` ones included, gained as much as the last one, they would still
        be behind.
        """
        rows, family = self.problem.rows, self.problem.family
        if self._setting is None or not self._packed or not isinstance(rows, Rows):
            return self.run_by_steps(batch, steps, later, limit, least)
        batch = batch.take(np.arange(len(batch)))  # a copy, to change
        while steps > 0 and not stop_requested():
            pace = self._pace(batch, steps, later, limit, least)
            progress = family.mixture_steps(rows.packed, batch, self._setting, pace, self.work)
            if progress is None:
                return self.run_by_steps(batch, steps, later, limit, least)
            self.work, steps = progress.work, steps - progress.steps
            self.ascent += np.maximum.accumulate([*self.ascent[-1:], *progress.best]).tolist()
            if progress.ended == NOT_SAFE:
                steps -= 1
                batch = self.run_by_steps(batch, 1, later + steps, limit, least)
            elif progress.ended == DONE:
                break
        return batch

    @property
    def _packed(self) -> bool:
        """Whether passes score packed rows."""
        return not isinstance(self.problem.engine, PanelsEngine | PatternsEngine)

    def _pace(self, batch: Batch, steps: int, later: int, limit: float, least: float) -> Pace:
        k = batch.log_weights.shape[1]
        return Pace(
            steps=steps,
            later=later,
            kept=1 if self.hard else k,
            cost=self.cost(k),
            limit=limit,
            least=least,
            converged=self.converged,
            patience=PATIENCE,
            delay=DELAY,
            largest_factor=LARGEST,
            offset=self.problem.sum_log_carrier,
            most_rounding=SEARCH_ERROR if self.problem.has_direct else np.inf,
            work_at_once=WORK_AT_ONCE,
        )

    def run_by_steps(self, batch: Batch, steps: int, later: int, limit: float, least: float) -> Batch:
        """The same, one step after the other."""
        places = np.arange(len(batch))
        active, given = batch, batch
        for step in range(steps):
            with np.errstate(invalid="ignore"):
                reached = active.objective + (steps - step + later) * active.gain
            best = max(active.objective.max(), batch.objective.max(), least)
            moving = np.flatnonzero((active.gain > self.converged) & (reached >= best))
            if len(moving) < len(active):
                batch = batch.take(np.arange(len(batch))) if batch is given else batch  # a copy, to put into
                batch.put(places, active)
                active, places = active.take(moving), places[moving]
            if len(active) == 0 or self._spent(active, batch, limit) or stop_requested():
                break
            active = self.stepped(active)
        if len(active) == len(batch):
            return active
        batch.put(places, active)
        return batch

    def _spent(self, active: Batch, batch: Batch, limit: float) -> bool:
        """Whether the limit leaves no room for a step; there is more while the best mixture has not arrived."""
        best = active if active.objective.max() >= batch.objective.max() else batch
        arrived = best.gain[np.argmax(best.objective)] <= self.converged
        return self.work + len(active) * self.cost(active.natural.shape[1]) > limit * (1 if arrived else PATIENCE)

    def softly(self, batch: Batch, steps: int) -> Batch:
        """The mixtures after a few soft steps, seen with this learner's labels: these pass by many poor partitions."""
        soft = Learner(self.problem)
        batch = soft.run(soft.expected(batch.natural, batch.log_weights), steps)
        self.work += soft.work
        return self.expected(batch.natural, batch.log_weights)


def _stacked(shape: tuple[int, ...], found: Iterable[ClusterStatistics]) -> tuple[Array, Array, Array]:
    if shape[0] == 1:
        (only,) = found
        return only.counts[np.newaxis], only.sums[np.newaxis], np.array([only.score])
    counts, sums, scores = np.empty(shape[:2]), np.empty(shape), np.empty(shape[0])
    for place, statistics in enumerate(found):
        counts[place], sums[place], scores[place] = statistics.counts, statistics.sums, statistics.score
    return counts, sums, scores
