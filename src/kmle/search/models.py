"""Many covariance models and numbers of components at once, from shared starts: what a table of criteria needs.

Every mixture is one of full Gaussians under a model of its own, so one pass and one compiled estimate serve all of
them. Starts are partitions by model-based agglomeration (Fraley, 1998), as in mclust, and by k-means. Steps have
momentum (Nesterov, 1983) in the statistics: what is estimated from a point beyond the last statistics is always in the
model. In the end models try what others of the same size have found: what a nested model has reached is never missed.
"""

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._kernels import backend
from ..algorithms.acceleration import DELAY, LARGEST
from ..data.table import Rows
from ..families.gaussian import mean_covariance
from ..families.structured_gaussian import MODELS, compiled_estimates, estimates_of_models
from ..numerics.arrays import Array, Labels
from ..problem.problem import Parameters, Problem
from ..seeding.model_based import agglomeration
from ..seeding.partitions import partitions_of, tables
from ..seeding.sample import representative
from .batch import Batch, Learner

NAMES = tuple(MODELS)
# Steps of all starts before the best of each model goes on, and steps of those at most.
FIRST_STEPS, STEPS = 8, 400
# Mixtures whose last few steps gained less than this together, in nats per row, have arrived.
ARRIVED, RECENT = 1.5e-6, 4
# Of more rows a sample of so many is searched.
MOST_ROWS = 2000
# A model takes over what another one found if that is better by so much, in nats; so many rounds.
BETTER, ROUNDS = 1e-3, 2
# Mixtures of other models, not nested in it, that a model tries.
DONORS = 2
# Ways to cut a component of a smaller mixture in two that go on, for each model.
CUTS = 3
# Components of fewer rows are not cut.
FEWEST_TO_CUT = 4


@dataclass
class Climb:
    """Mixtures (S,) under models, and what led to them."""

    models: NDArray[np.int32]
    batch: Batch
    histories: list[list[float]]

    def take(self, chosen: NDArray[np.intp]) -> "Climb":
        """Some of the mixtures."""
        histories = [self.histories[place] for place in chosen]
        return Climb(self.models[chosen], self.batch.take(chosen), histories)


@dataclass(frozen=True)
class ModelFit:
    """Where a model with so many components ended: parameters of full Gaussians, and the objective at every step."""

    parameters: Parameters
    history: tuple[float, ...]


def search_models(
    problem: Problem, structures: Sequence[str], sizes: Sequence[int], rng: np.random.Generator, *, hard: bool = False
) -> dict[tuple[str, int], ModelFit]:
    """The best mixtures found for each model and number of components; the family of the problem is the full Gaussian.

    Of many rows a sample is searched, and what is found there goes on with all rows. Parameters are relative to the
    center of the rows.
    """
    key = int(rng.integers(2**63))
    sample = representative(problem, MOST_ROWS, key) if problem.total > MOST_ROWS else problem
    search = _ModelSearch(Learner(sample, hard), [NAMES.index(name) for name in structures], rng)
    found: dict[tuple[str, int], ModelFit] = {}
    smaller: Climb | None = None
    for k in sizes:
        smaller = climb = search.run(k, smaller)
        if sample is not problem:
            climb = search.on_rows_of(Learner(problem, hard), climb)
        for place, model in enumerate(climb.models):
            if np.isfinite(climb.batch.objective[place]):
                fit = ModelFit(climb.batch.parameters(place), tuple(climb.histories[place]))
                found[NAMES[model], k] = fit
    return found


class _ModelSearch:
    def __init__(self, learner: Learner, models: list[int], rng: np.random.Generator) -> None:
        self.learner = learner
        self.problem = learner.problem
        self.models = np.array(models, dtype=np.int32)
        self.rng = rng
        resolution = self.problem.resolution
        self.bounded = (resolution is not None and bool(resolution.steps.any())) or backend() != "compiled"
        self.tables = tables(self.problem)
        assert isinstance(self.problem.rows, Rows)  # no sparse ones are admitted
        self.points = self.problem.rows.kernel_columns(slice(None))[0].astype(float)
        self.agglomerated = agglomeration(self.problem, rng)

    def run(self, k: int, smaller: Climb | None) -> Climb:
        """All models with k components; those of a smaller mixture, if there is one, are cut in two."""
        counts, sums = self._statistics(k)
        models = np.repeat(self.models, len(counts))
        several = np.tile(np.arange(len(counts)), len(self.models))
        climb = self._begun(models, counts[several], sums[several])
        cut = None if smaller is None or smaller.batch.counts.shape[1] != k - 1 else self._cut(smaller)
        if cut is not None:
            climb = _joined(climb, cut)
        climb = self.climbed(climb, FIRST_STEPS)
        # What agglomeration leads to is learned to its end, whatever the others are worth by now.
        climb = _best(self.climbed(_distinct(_joined(climb.take(np.flatnonzero(several == 0)), _best(climb))), STEPS))
        for _ in range(ROUNDS if len(self.models) > 1 else 0):
            following = self._exchanged(climb)
            if following is None:
                break
            climb = _best(_joined(climb, self.climbed(following, STEPS)))
        return climb

    def on_rows_of(self, learner: Learner, climb: Climb) -> Climb:
        """The mixtures after steps on the rows of another learner."""
        other = copy(self)
        other.learner, other.problem = learner, learner.problem
        going_on = climb.take(np.flatnonzero(np.isfinite(climb.batch.objective)))
        return other.climbed(other._at(going_on.models, going_on.batch.natural, going_on.batch.log_weights), STEPS)

    # Starts -----------------------------------------------------------------------------------------------------------

    def _partitions(self, k: int) -> list[Labels]:
        """First partitions of the rows in k clusters."""
        if k == 1:
            return [np.zeros(len(self.problem.rows), dtype=np.int32)]
        found = [self.agglomerated.labels(k)]
        for kind in self.tables:
            found += partitions_of(kind, self.tables, k, 1, self.rng, careful=True)
        return found

    def _statistics(self, k: int) -> tuple[Array, Array]:
        """Counts (P, k) and sums (P, k, D) of the first partitions."""
        found = [self.problem.gather(labels, k) for labels in self._partitions(k)]
        return np.array([s.counts for s in found]), np.array([s.sums for s in found])

    def _begun(self, models: NDArray[np.int32], counts: Array, sums: Array) -> Climb:
        """Mixtures from statistics, each under a model."""
        return self._at(models, *self._estimated(models, counts, sums, None))

    def _at(self, models: NDArray[np.int32], natural: Array, log_weights: Array) -> Climb:
        """Mixtures where they are."""
        batch = self.learner.expected(natural, log_weights)
        return Climb(models, batch, [[float(value)] for value in batch.objective])

    def _cut(self, smaller: Climb) -> Climb | None:
        """Mixtures with one component of a smaller one cut in two, the most promising ways for each model."""
        models, counts, sums = [], [], []
        for place, model in enumerate(smaller.models):
            if not np.isfinite(smaller.batch.objective[place]):
                continue
            for own_counts, own_sums in self._cuts(smaller.batch.parameters(place)):
                models.append(model)
                counts.append(own_counts)
                sums.append(own_sums)
        if not models:
            return None
        climb = self._begun(np.array(models, dtype=np.int32), np.array(counts), np.array(sums))
        return _best(climb, CUTS)

    def _cuts(self, parameters: Parameters) -> Iterator[tuple[Array, Array]]:
        """Statistics (k + 1,), (k + 1, D) after each component was cut at its mean, across its longest axis."""
        k, d = len(parameters.natural), self.points.shape[1]
        labels = self.problem.assign(parameters)[0].labels
        means, covariances = mean_covariance(parameters.natural)
        axes = np.linalg.eigh(covariances)[1][:, :, -1]
        beyond = np.einsum("nd,nd->n", self.points - means[labels][:, :d], axes[labels]) > 0
        halves = self.problem.gather((2 * labels + beyond).astype(np.int32), 2 * k)
        both = halves.counts.reshape(k, 2)
        sums = halves.sums.reshape(k, 2, -1)
        whole_counts, whole_sums = both.sum(axis=1), sums.sum(axis=1)
        for j in np.flatnonzero((both.sum(axis=1) >= FEWEST_TO_CUT) & (both.min(axis=1) > 0)):
            counts, own = np.append(whole_counts, both[j, 1]), np.concatenate([whole_sums, sums[j, 1:]])
            counts[j], own[j] = both[j, 0], sums[j, 0]
            yield counts, own

    # Steps ------------------------------------------------------------------------------------------------------------

    def _moments(self, counts: Array, sums: Array) -> tuple[Array, Array]:
        """Counts and moments with the prior; components without rows have the prior's moment, and count nothing."""
        problem = self.problem
        occupied, n0 = counts > 0, problem.prior_strength
        observed = np.where(occupied, counts + n0, 1.0)
        moments = (sums + n0 * problem.prior_moment) / observed[..., None]
        return np.where(occupied, observed, 0.0), np.where(occupied[..., None], moments, problem.prior_moment)

    def _estimated(
        self, models: NDArray[np.int32], counts: Array, sums: Array, before: Array | None
    ) -> tuple[Array, Array]:
        """Natural parameters (S, k, D) and log-weights that are best for statistics, each under its model.

        Where nothing bounds how narrow components may be, those of singular covariances are no numbers: the likelihood
        has no bound there, and such a mixture is given up.
        """
        given = models, *self._moments(counts, sums), before, self.problem.spread
        if self.bounded:
            return estimates_of_models(*given), _shares(counts)
        natural, safe = compiled_estimates(*given)
        natural[~safe] = np.nan
        return natural, _shares(counts)

    def climbed(self, climb: Climb, steps: int) -> Climb:
        """The mixtures after at most so many steps, fewer where they have arrived."""
        places = np.arange(len(climb.models))
        active, batch = climb.batch, climb.batch.take(places)
        previous = active.counts, active.sums
        streak: Array = np.zeros(len(places))
        for _ in range(steps):
            histories = [climb.histories[place] for place in places]
            moving = np.flatnonzero([_is_moving(history, self.problem.total) for history in histories])
            if len(moving) < len(places):
                batch.put(places, active)
                active, places, streak = active.take(moving), places[moving], streak[moving]
                previous = previous[0][moving], previous[1][moving]
            if len(places) == 0:
                break
            following, streak = self._stepped(climb.models[places], active, previous, streak)
            previous, active = (active.counts, active.sums), following
            for place, value in zip(places, following.objective, strict=True):
                climb.histories[place].append(float(value))
        batch.put(places, active)
        return replace(climb, batch=batch)

    def _stepped(
        self, models: NDArray[np.int32], batch: Batch, previous: tuple[Array, Array], streak: Array
    ) -> tuple[Batch, Array]:
        """One step of every mixture, with momentum where that gains; a step that would lose is not made."""
        factors = np.zeros(len(batch)) if self.learner.hard else np.minimum(streak / (streak + DELAY), LARGEST)
        counts = batch.counts + factors[:, None] * (batch.counts - previous[0])
        sums = batch.sums + factors[:, None, None] * (batch.sums - previous[1])
        kept = ((counts > 0) | (batch.counts <= 0)).all(axis=1)
        counts[~kept], sums[~kept] = batch.counts[~kept], batch.sums[~kept]
        natural, safe = compiled_estimates(models, *self._moments(counts, sums), batch.natural, self.problem.spread)
        factors = np.where(kept & safe, factors, 0.0)
        if not safe.all():
            counts[~safe] = batch.counts[~safe]
            natural[~safe] = self._estimated(models[~safe], counts[~safe], batch.sums[~safe], batch.natural[~safe])[0]
        following = self.learner.expected(natural, _shares(counts))
        streak = np.where(factors > 0, streak, 0) + 1
        lost = np.flatnonzero((factors > 0) & ~(following.objective >= batch.objective))
        if len(lost):
            own = batch.counts[lost], batch.sums[lost], batch.natural[lost]
            following.put(lost, self.learner.expected(*self._estimated(models[lost], *own)))
            streak[lost] = 1
        worse = np.flatnonzero(
            ~(following.objective >= batch.objective) & ~np.isnan(following.natural).any(axis=(1, 2))
        )
        if len(worse):
            following.put(worse, batch.take(worse))
        return following, streak

    # What others found ------------------------------------------------------------------------------------------------

    def _exchanged(self, climb: Climb) -> Climb | None:
        """Starts of models from the statistics of others of the same size, where these promise more."""
        pairs = np.array(list(_donors(climb)), dtype=np.intp).reshape(-1, 3)
        if len(pairs) == 0:
            return None
        own, donors, nested = pairs[:, 0], pairs[:, 1], pairs[:, 2] > 0
        models = climb.models[own]
        natural, log_weights = climb.batch.natural[donors], climb.batch.log_weights[donors]
        others = np.flatnonzero(~nested)
        if len(others):
            there = climb.batch.counts[donors[others]], climb.batch.sums[donors[others]]
            natural[others], log_weights[others] = self._estimated(models[others], *there, None)
        tried = self._at(models, natural, log_weights)
        better = np.flatnonzero(tried.batch.objective > climb.batch.objective[own] + BETTER)
        return _best(tried.take(better)) if len(better) else None


def _donors(climb: Climb) -> Iterator[tuple[int, int, bool]]:
    """For every mixture those that it may learn from: the best of a nested model, and the best few of others."""
    order = [place for place in np.argsort(-climb.batch.objective, kind="stable") if climb.batch.counts[place].any()]
    for own, model in enumerate(climb.models):
        inside = [place for place in order if place != own and contains(model, climb.models[place])]
        if inside and climb.batch.objective[inside[0]] > climb.batch.objective[own] + BETTER:
            yield own, inside[0], True
        others = [place for place in order if place != own and place not in inside]
        yield from ((own, place, False) for place in others[:DONORS])


def contains(model: int, other: int) -> bool:
    """Whether every mixture of another model is one of this model.

    >>> contains(NAMES.index("VEV"), NAMES.index("EEE")), contains(NAMES.index("EEE"), NAMES.index("VEI"))
    (True, False)
    """
    return all("IEV".index(a) >= "IEV".index(b) for a, b in zip(NAMES[model], NAMES[other], strict=True))


def _shares(counts: Array) -> Array:
    """The logarithms of weights (S, k)."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(counts, 0.0) / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300))


def _is_moving(history: list[float], total: float) -> bool:
    return len(history) <= RECENT or history[-1] - history[-1 - RECENT] > ARRIVED * total


def _best(climb: Climb, count: int = 1) -> Climb:
    """The best mixtures of every model; the first of equal ones."""
    kept: dict[int, list[int]] = {}
    for place in np.argsort(-climb.batch.objective, kind="stable").tolist():
        own = kept.setdefault(int(climb.models[place]), [])
        if len(own) < count:
            own.append(place)
    return climb.take(np.array([place for model in sorted(kept) for place in kept[model]]))


def _distinct(climb: Climb) -> Climb:
    """The mixtures, of those that have the same objective under the same model the first."""
    seen: dict[tuple[int, float], int] = {}
    for place, key in enumerate(zip(climb.models.tolist(), climb.batch.objective.tolist(), strict=True)):
        seen.setdefault(key, place)
    return climb.take(np.array(list(seen.values())))


def _joined(first: Climb, second: Climb) -> Climb:
    both = {name: np.concatenate([values, getattr(second.batch, name)]) for name, values in vars(first.batch).items()}
    return Climb(
        np.concatenate([first.models, second.models]),
        Batch(**both),
        first.histories + second.histories,
    )
