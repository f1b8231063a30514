"""EM of many mixtures of Gaussians together, each under a covariance model of its own.

Every mixture is one of full Gaussians, so one pass and one compiled estimate serve all of them, and where nothing is at
a bound the whole way up is compiled. Steps have momentum (Nesterov, 1983) in the statistics: what is estimated from a
point beyond the last statistics is always in the model.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._kernels import backend
from .._kernels.climb import BOUND, NOTHING, ClimbSetting, ClimbState, can_climb, climb
from .._kernels.gaussian import MOST_COLUMNS
from ..algorithms.acceleration import DELAY, LARGEST
from ..data.table import Rows
from ..engines.panels.engine import PanelsEngine
from ..families.gaussian import ROUNDING_VARIANCE, SMALLEST_CORRELATION, mean_covariance
from ..families.model_estimates import compiled_estimates, estimates_of_models
from ..numerics.arrays import Array
from .batch import SEARCH_ERROR, Batch, Learner

# Mixtures whose last few steps gained less than this together, in nats per row, have arrived.
ARRIVED, RECENT = 1.5e-6, 4
# Products of one compiled call at most, so that it can be interrupted.
PRODUCTS, FEWEST_STEPS = 2e9, 10


@dataclass
class Climb:
    """Mixtures (S,) under models, numbered as `COVARIANCE_MODELS`, and what led to them."""

    models: NDArray[np.int32]
    batch: Batch
    histories: list[list[float]]

    def take(self, chosen: NDArray[np.intp]) -> "Climb":
        """Some of the mixtures."""
        histories = [self.histories[place] for place in chosen]
        return Climb(self.models[chosen], self.batch.take(chosen), histories)

    def put(self, places: NDArray[np.intp], other: "Climb") -> None:
        """Other mixtures in the places of some."""
        self.batch.put(places, other.batch)
        for place, history in zip(places, other.histories, strict=True):
            self.histories[place] = history

    def best(self, count: int = 1) -> "Climb":
        """The best mixtures of every model; the first of equal ones."""
        kept: dict[int, list[int]] = {}
        for place in np.argsort(-self.batch.objective, kind="stable").tolist():
            own = kept.setdefault(int(self.models[place]), [])
            if len(own) < count:
                own.append(place)
        return self.take(np.array([place for model in sorted(kept) for place in kept[model]], dtype=np.intp))

    def distinct(self, within: float = 0.0) -> "Climb":
        """The mixtures; of those whose objectives differ by no more under the same model the first."""
        kept: dict[int, list[float]] = {}
        places: list[int] = []
        for place, (model, value) in enumerate(zip(self.models.tolist(), self.batch.objective.tolist(), strict=True)):
            seen = kept.setdefault(model, [])
            if all(abs(value - other) > within for other in seen if np.isfinite(other)):
                seen.append(value)
                places.append(place)
        return self.take(np.array(places, dtype=np.intp))

    def joined(self, other: "Climb | None") -> "Climb":
        """These mixtures, and those of another climb."""
        if other is None:
            return self
        theirs = vars(other.batch)
        both = {name: np.concatenate([values, theirs[name]]) for name, values in vars(self.batch).items()}
        return Climb(np.concatenate([self.models, other.models]), Batch(**both), self.histories + other.histories)


class Climber:
    """Makes steps of mixtures with the rows of a learner; the family of its problem is the full Gaussian."""

    def __init__(self, learner: Learner, arrived: float = ARRIVED) -> None:
        self.learner = learner
        self.arrived = arrived * float(learner.problem.total)
        self.momentum = True
        self.problem = problem = learner.problem
        resolution = problem.resolution
        self.bounded = (resolution is not None and bool(resolution.steps.any())) or backend() != "compiled"
        assert isinstance(problem.rows, Rows)  # no sparse ones are admitted
        self.rows = problem.rows
        self.compiled = not isinstance(problem.engine, PanelsEngine) and can_climb(problem.rows.packed)

    def begun(self, models: NDArray[np.int32], counts: Array, sums: Array) -> Climb:
        """Mixtures from statistics, each under a model."""
        return self.at(models, *self.estimated(models, counts, sums, None))

    def at(self, models: NDArray[np.int32], natural: Array, log_weights: Array) -> Climb:
        """Mixtures where they are."""
        batch = self.learner.expected(natural, log_weights)
        return Climb(models, batch, [[float(value)] for value in batch.objective])

    def climbed(self, start: Climb, steps: int, *, momentum: bool = True) -> Climb:
        """The mixtures after at most `steps` steps, fewer where they have converged."""
        self.momentum = momentum and not self.learner.hard
        finite = np.flatnonzero(np.isfinite(start.batch.objective))
        reached = start.take(np.arange(len(start.models)))
        if not self.compiled or len(finite) == 0:
            return self._climbed_by_steps(reached, steps)
        own, left = self._compiled_climb(start.take(finite), steps)
        reached.put(finite, own)
        for made in np.unique(left[left >= 0]):
            rest = finite[left == made]
            reached.put(rest, self._climbed_by_steps(reached.take(rest), int(steps - made)))
        return reached

    # Compiled ---------------------------------------------------------------------------------------------------------

    def _setting(self) -> ClimbSetting:
        problem = self.problem
        d = self.rows.X.shape[1]
        return ClimbSetting(
            np.ascontiguousarray(problem.prior_moment, dtype=float),
            np.ascontiguousarray(problem.largest_statistic, dtype=float),
            np.zeros(d) if problem.spread is None else np.ascontiguousarray(problem.spread, dtype=float),
            float(problem.prior_strength),
            float(problem.prior_top),
            10 * SMALLEST_CORRELATION,
            ROUNDING_VARIANCE,
            float(problem.sum_log_carrier),
            SEARCH_ERROR,
            self.arrived,
            RECENT,
            DELAY,
            LARGEST if self.momentum else 0.0,
            self.learner.hard,
        )

    def _compiled_climb(self, start: Climb, steps: int) -> tuple[Climb, NDArray[np.intp]]:
        """The mixtures after compiled steps, and for those at a bound how many were made, -1 for the others."""
        batch, setting = start.batch, self._setting()
        mixtures, k, order = batch.natural.shape
        flat = (mixtures * k, order)
        copies = {name: np.array(vars(batch)[name]) for name in ("natural", "log_weights", "counts", "sums")}
        natural, sums = copies["natural"].reshape(flat), copies["sums"].reshape(flat)
        objective, histories = batch.objective.copy(), [list(history) for history in start.histories]
        state = ClimbState(
            start.models.copy(), natural, copies["log_weights"], copies["counts"], sums, objective,
            copies["counts"].copy(), sums.copy(), np.zeros(mixtures),
        )  # fmt: skip
        left: NDArray[np.intp] = np.full(mixtures, -1)
        active, done = np.arange(mixtures), 0
        while len(active) and done < steps:
            each = len(active) * self.learner.cost(k)
            count = min(steps - done, max(FEWEST_STEPS, int(PRODUCTS / each)))
            own = state if len(active) == mixtures else _part(state, active)
            history, made, reached = climb(self.rows.packed, setting, own, count)
            self.learner.work += float(made.sum()) * self.learner.cost(k)
            _put_part(state, own, active)
            for place, values, number in zip(active, history, made, strict=True):
                histories[place] += values[:number].tolist()
            at_bound = reached == BOUND
            left[active[at_bound]] = done + made[at_bound]
            active, done = active[reached == NOTHING], done + count
        self.learner.ascent.append(max([*self.learner.ascent[-1:], float(objective.max())]))
        found = replace(batch, natural=natural.reshape(batch.natural.shape), log_weights=copies["log_weights"])
        found = replace(found, counts=copies["counts"], sums=sums.reshape(batch.sums.shape), objective=objective)
        return Climb(start.models, found, histories), left

    # In NumPy, and at bounds ------------------------------------------------------------------------------------------

    def _climbed_by_steps(self, start: Climb, steps: int) -> Climb:
        places = np.arange(len(start.models))
        histories = [list(history) for history in start.histories]
        active, batch = start.batch, start.batch.take(places)
        previous = active.counts, active.sums
        streak: Array = np.zeros(len(places))
        for _ in range(steps):
            moving = np.flatnonzero([_is_moving(histories[place], self.arrived) for place in places])
            if len(moving) < len(places):
                batch.put(places, active)
                active, places, streak = active.take(moving), places[moving], streak[moving]
                previous = previous[0][moving], previous[1][moving]
            if len(places) == 0:
                break
            following, streak = self._stepped(start.models[places], active, previous, streak)
            previous, active = (active.counts, active.sums), following
            for place, value in zip(places, following.objective, strict=True):
                histories[place].append(float(value))
        batch.put(places, active)
        return Climb(start.models, batch, histories)

    def _stepped(
        self, models: NDArray[np.int32], batch: Batch, previous: tuple[Array, Array], streak: Array
    ) -> tuple[Batch, Array]:
        """One step of every mixture, with momentum where that gains; a step that would lose is not made."""
        factors = np.minimum(streak / (streak + DELAY), LARGEST) if self.momentum else np.zeros(len(batch))
        counts = batch.counts + factors[:, None] * (batch.counts - previous[0])
        sums = batch.sums + factors[:, None, None] * (batch.sums - previous[1])
        kept = ((counts > 0) | (batch.counts <= 0)).all(axis=1)
        counts[~kept], sums[~kept] = batch.counts[~kept], batch.sums[~kept]
        natural, safe = compiled_estimates(models, *self._moments(counts, sums), batch.natural, self.problem.spread)
        factors = np.where(kept & safe, factors, 0.0)
        if not safe.all():
            counts[~safe] = batch.counts[~safe]
            natural[~safe] = self.estimated(models[~safe], counts[~safe], batch.sums[~safe], batch.natural[~safe])[0]
        following = self.learner.expected(natural, log_shares(counts))
        streak = np.where(factors > 0, streak, 0) + 1
        lost = np.flatnonzero((factors > 0) & ~(following.objective >= batch.objective))
        if len(lost):
            own = batch.counts[lost], batch.sums[lost], batch.natural[lost]
            following.put(lost, self.learner.expected(*self.estimated(models[lost], *own)))
            streak[lost] = 1
        worse = np.flatnonzero(
            ~(following.objective >= batch.objective) & ~np.isnan(following.natural).any(axis=(1, 2))
        )
        if len(worse):
            following.put(worse, batch.take(worse))
        return following, streak

    def _moments(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        """Counts and moments with the prior; components without rows have the prior's moment, and count nothing."""
        problem = self.problem
        occupied, n0 = counts > 0, problem.prior_strength
        observed = np.where(occupied, counts + n0, 1.0)
        moments = (sums + n0 * problem.prior_moment) / observed[..., None]
        return np.where(occupied, observed, 0.0), np.where(occupied[..., None], moments, problem.prior_moment)

    def estimated(
        self, models: NDArray[np.int32], counts: Array, sums: Array, before: Array | None
    ) -> tuple[Array, Array]:
        """Natural parameters (S, k, D) and log-weights that are best for statistics, each under its model.

        Where nothing bounds how narrow components may be, those of singular covariances are no numbers: the likelihood
        has no bound there, and such a mixture is given up.
        """
        given = models, *self._moments(counts, sums), before, self.problem.spread
        if self.bounded:
            return estimates_of_models(*given), log_shares(counts)
        if self.rows.X.shape[1] > MOST_COLUMNS:
            natural = estimates_of_models(*given)
            safe = ~_has_singular(natural, counts)
        else:
            natural, safe = compiled_estimates(*given)
        natural[~safe] = np.nan
        return natural, log_shares(counts)


def _has_singular(natural: Array, counts: Array) -> NDArray[np.bool_]:
    """Which mixtures (S,) have a component of some rows whose covariance is singular, but for rounding."""
    covariances = mean_covariance(natural)[1]
    deviations = np.sqrt(np.einsum("...dd->...d", covariances))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = covariances / (deviations[..., :, None] * deviations[..., None, :])
    known = np.isfinite(correlations).all(axis=(-2, -1))
    correlations[~known] = 0.0
    smallest = np.linalg.eigvalsh(correlations)[..., 0]
    return np.asarray(((smallest < 10 * SMALLEST_CORRELATION) & (counts > 0)).any(axis=1))


def _part(state: ClimbState, chosen: NDArray[np.intp]) -> ClimbState:
    """Some of the mixtures, as copies."""
    copies: list[Any] = [np.ascontiguousarray(values[_lines(values, state, chosen)]) for values in _arrays(state)]
    return ClimbState(*copies)


def _put_part(state: ClimbState, part: ClimbState, chosen: NDArray[np.intp]) -> None:
    """The copies in the places of the mixtures."""
    for values, own in zip(_arrays(state), _arrays(part), strict=True):
        if own is not values:
            values[_lines(values, state, chosen)] = own


def _arrays(state: ClimbState) -> list[Array]:
    return list(vars(state).values())


def _lines(values: Array, state: ClimbState, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """The lines of an array, of which a mixture has one, or one for each component."""
    each = len(values) // len(state.models)
    return (each * chosen[:, None] + np.arange(each)).ravel()


def log_shares(counts: Array) -> Array:
    """The logarithms of weights (S, k)."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(counts, 0.0) / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300))


def _is_moving(history: list[float], arrived: float) -> bool:
    return len(history) <= RECENT or history[-1] - history[-1 - RECENT] > arrived
