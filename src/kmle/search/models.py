"""Many covariance models and numbers of components at once, from shared starts: what a table of criteria needs.

Starts are partitions by model-based agglomeration (Fraley, 1998), as in mclust, and by k-means, mixtures of one
component less with one cut in two, and mixtures of one component more without one. Models try what others of the same
size have found: what a nested model has reached is never missed. One component is removed and another one cut (Ueda
et al., 2000). Every number of components from one to one more than the largest asked for is searched, with draws of its
own, so that what is found for a number does not depend on which others are asked for; only a race ends where the range
does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ..engines.statistics import ClusterStatistics
from ..families.gaussian import mean_covariance
from ..families.structured_gaussian import MODELS
from ..numerics.arrays import Array, Labels
from ..problem.problem import Parameters, Problem
from ..seeding.model_based import agglomeration
from ..seeding.partitions import RANDOM, partitions_of, tables
from ..seeding.sample import representative
from .batch import Learner
from .climbing import ARRIVED, Climb, Climber, log_shares
from .race import Race

NAMES = tuple(MODELS)
# Steps of all starts before the best of each model go on, and the steps of those at most.
FIRST_STEPS, STEPS = 8, 400
# Steps without momentum from the partition by agglomeration, so that EM's own way from there is not missed; not on a
# sample, whose optima are others.
PLAIN_STEPS = 25
# All rows are searched where they have at most this many statistics together. Of more rows, and of more than MOST_ROWS
# in a race, a sample of MOST_ROWS is searched: there mixtures count as converged at larger gains, in nats per row.
MOST_STATISTICS, MOST_ROWS, ARRIVED_ON_SAMPLE = 300_000, 2000, 2e-4
# What was found on a sample goes on with all rows: of each model the best few whose objectives differ by at least SAME,
# in nats. Few steps with all rows tell which one is best.
KEPT_WITH_ALL, SAME, FIRST_STEPS_WITH_ALL = 3, 0.5, 1
# Of its rows this many are agglomerated.
AGGLOMERATED_OF_SAMPLE = 400
# With all rows they converge at these gains, in nats per row and at most in all; what is left to gain is assumed to be
# below TAIL times that.
ARRIVED_WITH_ALL, MOST_ARRIVED_WITH_ALL, TAIL = 5e-5, 5.0, 10
# A model takes over what another one found if that is better by BETTER nats; at most ROUNDS rounds.
BETTER, ROUNDS = 1e-3, 2
# What others found goes on after first steps unless it is the same or BEHIND nats behind.
BEHIND = 200.0
# Components of fewer rows are not cut.
FEWEST_TO_CUT = 4


@dataclass(frozen=True)
class Effort:
    """How many ways a search tries for each model."""

    kept: int
    """Starts that go on after first steps."""
    cuts: int
    """Ways to cut a component of a smaller mixture in two."""
    removals: int
    """Ways to remove a component of a larger mixture."""
    donors: int
    """Mixtures of other models, not nested in it."""
    tried: int = 0
    """Of these, and of nested ones, how many make first steps though they are not better at once."""


# Of few rows all are agglomerated, which leaves little to find; in a race there is little time.
FEW, SAMPLED, MANY = Effort(2, 3, 2, 2), Effort(2, 4, 3, 5), Effort(4, 6, 5, 5, 3)


@dataclass(frozen=True)
class ModelFit:
    """Where a model ended with one number of components: parameters of full Gaussians, objective at every step."""

    parameters: Parameters
    history: tuple[float, ...]


def search_models(
    problem: Problem,
    structures: Sequence[str],
    sizes: Sequence[int],
    rng: np.random.Generator,
    *,
    hard: bool = False,
    race: Race | None = None,
) -> dict[tuple[str, int], ModelFit]:
    """The best mixtures found for each model and number of components; the family of the problem is the full Gaussian.

    Of many rows a sample is searched, and what is found there goes on with all rows. Parameters are relative to the
    center of the rows. A race leaves out what cannot win.
    """
    key = int(rng.integers(2**63))
    sample = representative(problem, MOST_ROWS, key) if on_sample(problem, race is not None) else problem
    arrived = ARRIVED if sample is problem else ARRIVED_ON_SAMPLE
    numbers = [NAMES.index(name) for name in structures]
    if race is not None:
        race.scale = float(problem.total) / float(sample.total)
    search = _ModelSearch(Climber(Learner(sample, hard), arrived), numbers, rng, sample is not problem, race)
    reached = search.run(sizes)
    found: dict[tuple[str, int], ModelFit] = {}
    for k, climb in reached.items():
        if sample is not problem:
            on_all = Climber(Learner(problem, hard), unsettled_gain(problem, race is not None) / float(problem.total))
            climb = _on_rows_of(on_all, climb.joined(_of_models(search.others[k], climb.models)), race is not None)
        for place, model in enumerate(climb.models):
            if np.isfinite(climb.batch.objective[place]):
                fit = ModelFit(climb.batch.parameters(place), tuple(climb.histories[place]))
                found[NAMES[model], k] = fit
    return found


def on_sample(problem: Problem, races: bool) -> bool:
    """Whether a sample of the rows is searched first."""
    statistics = len(problem.rows) * problem.n_statistics
    return bool(problem.total > MOST_ROWS and (races or statistics > MOST_STATISTICS))


def unsettled_gain(problem: Problem, races: bool) -> float:
    """The gain, in nats, with which mixtures have arrived that were searched on a sample; zero where all rows were."""
    n = float(problem.total)
    return min(ARRIVED_WITH_ALL * n, MOST_ARRIVED_WITH_ALL) if on_sample(problem, races) else 0.0


def _on_rows_of(climber: Climber, climb: Climb, raced: bool) -> Climb:
    """The best mixtures of every model after steps on the rows of another learner, of the best few of a sample."""
    finite = np.flatnonzero(np.isfinite(climb.batch.objective))
    if len(finite) == 0:
        return climb
    climb = climb.take(finite).distinct(SAME).best(KEPT_WITH_ALL)
    begun = climber.at(climb.models, climb.batch.natural, climb.batch.log_weights)
    begun = climber.climbed(begun, FIRST_STEPS_WITH_ALL).best()
    return exchanged(climber, climber.climbed(begun, STEPS), STEPS, FEW if raced else SAMPLED)


def _of_models(climb: Climb, models: NDArray[np.int32]) -> Climb:
    return climb.take(np.flatnonzero(np.isin(climb.models, models)))


def _leaders(race: Race, found: dict[int, Climb]) -> dict[int, Climb]:
    """The mixtures that are searched further."""
    leaders = race.leaders()
    own = {k: np.array([NAMES.index(model) for model, size in leaders if size == k], dtype=np.int32) for k in found}
    return {k: _of_models(climb, own[k]) for k, climb in found.items() if len(own[k])}


class _ModelSearch:
    def __init__(
        self,
        climber: Climber,
        models: list[int],
        rng: np.random.Generator,
        sampled: bool = False,
        race: Race | None = None,
    ) -> None:
        self.climber = climber
        self.problem = climber.problem
        self.models = np.array(models, dtype=np.int32)
        self.race, self.on_sample = race, sampled
        self.key = int(rng.integers(2**63))
        self.rng = np.random.default_rng(self.key)
        self.tables = tables(self.problem)
        self.points = climber.rows.kernel_columns(slice(None))[0].astype(float)
        self.agglomerated = agglomeration(self.problem, self.rng, AGGLOMERATED_OF_SAMPLE if sampled else MOST_ROWS)
        many = sampled or climber.problem.total > MOST_ROWS
        self.effort = FEW if race is not None or not many else SAMPLED if sampled else MANY
        self.others: dict[int, Climb] = {}
        """All mixtures that were learned to their end, by their number of components."""

    def run(self, sizes: Sequence[int]) -> dict[int, Climb]:
        """All models with the numbers of components: upwards, where components are cut, then from one more."""
        reached: dict[int, Climb] = {}
        for k in self._numbers(sizes):
            self._draw_for(k)
            reached[k] = self._searched(k, reached.get(k - 1))
            if self.race is None and k > 1:
                reached[k] = self._improved(reached[k], self._cut(self._without_one(reached[k], 1)))
            if self.race is not None:
                self._leave(self.race, reached[k], k)
            if len(self.models) == 0:
                break
        if self.race is not None:
            return self._downwards(_leaders(self.race, reached))
        without = {
            k: self._without_one(reached[k + 1], self.effort.removals) for k in sizes if k > 1 and k + 1 in reached
        }
        return {k: self._improved(reached[k], without.get(k)) for k in sizes if k in reached}

    def _downwards(self, found: dict[int, Climb]) -> dict[int, Climb]:
        """The mixtures, or better ones, the largest first: what a larger one gains serves the smaller ones."""
        for k in reversed(found):
            if k > 1:
                moved = self._cut(self._without_one(found[k], 1))
                larger = self._without_one(found[k + 1], self.effort.removals) if k + 1 in found else None
                found[k] = self._improved(found[k], larger if moved is None else moved.joined(larger))
        return found

    def _numbers(self, sizes: Sequence[int]) -> list[int]:
        """The numbers of components that are searched."""
        if self.race is not None:
            return list(sizes)
        return [k for k in range(1, max(sizes) + 2) if k <= max(len(self.problem.rows), *sizes)]

    def _draw_for(self, k: int) -> None:
        """Lets draws depend on the number of components alone, not on what was drawn before."""
        self.rng = np.random.default_rng([self.key, k])

    def _leave(self, race: Race, climb: Climb, k: int) -> None:
        """Leaves the models that cannot win with more components."""
        for model, objective in zip(climb.models, climb.batch.objective, strict=True):
            race.enter(NAMES[model], k, float(objective))
        remaining = race.remaining([NAMES[model] for model in self.models], k)
        self.models = np.array([NAMES.index(name) for name in remaining], dtype=np.int32)

    def _searched(self, k: int, smaller: Climb | None) -> Climb:
        """All models with k components; those of a smaller mixture, if there is one, are cut in two."""
        counts, sums = self._statistics(k)
        models = np.repeat(self.models, len(counts))
        several = np.tile(np.arange(len(counts)), len(self.models))
        begun = self.climber.begun(models, counts[several], sums[several])
        smaller = None if smaller is None else _of_models(smaller, self.models)
        climb = self.climber.climbed(begun.joined(self._cut(smaller)), FIRST_STEPS)
        # What agglomeration leads to is learned to its end, whatever the others are worth by now.
        agglomerated = np.flatnonzero(several == 0)
        going_on = climb.take(agglomerated).joined(climb.best(self.effort.kept))
        if not self.on_sample:
            going_on = going_on.joined(
                self.climber.climbed(begun.take(agglomerated), PLAIN_STEPS, momentum=False)
            ).distinct()
        self.others[k] = self.climber.climbed(going_on, STEPS)
        return exchanged(self.climber, self.others[k].best(), STEPS, self.effort)

    def _improved(self, climb: Climb, trials: Climb | None) -> Climb:
        """The mixtures, or what others lead to if that is better."""
        if trials is None:
            return climb
        tried = self.climber.climbed(self.climber.climbed(trials, FIRST_STEPS).best(self.effort.kept), STEPS)
        k = climb.batch.counts.shape[1]
        self.others[k] = self.others[k].joined(tried)
        return exchanged(self.climber, climb.joined(tried).best(), STEPS, self.effort)

    # Starts -----------------------------------------------------------------------------------------------------------

    def _partitions(self, k: int) -> list[Labels]:
        """First partitions of the rows in k clusters."""
        if k == 1:
            return [np.zeros(len(self.problem.rows), dtype=np.int32)]
        found = [self.agglomerated.labels(k)]
        for kind in (*self.tables, RANDOM):
            found += partitions_of(kind, self.tables, k, 1, self.rng, careful=True)
        return found

    def _statistics(self, k: int) -> tuple[Array, Array]:
        """Counts (P, k) and sums (P, k, D) of the first partitions."""
        found = [self.problem.gather(labels, k) for labels in self._partitions(k)]
        return np.array([s.counts for s in found]), np.array([s.sums for s in found])

    def _cut(self, smaller: Climb | None) -> Climb | None:
        """Mixtures with one component of a smaller one cut in two, the most promising ways for each model."""
        if smaller is None or not np.isfinite(smaller.batch.objective).any():
            return None
        smaller = smaller.take(np.flatnonzero(np.isfinite(smaller.batch.objective)))
        halves = list(self._halves(smaller))
        places, counts, sums = _with_one_cut(np.array([h.counts for h in halves]), np.array([h.sums for h in halves]))
        if len(places) == 0:
            return None
        return self.climber.begun(smaller.models[places], counts, sums).best(self.effort.cuts)

    def _halves(self, climb: Climb) -> Iterator[ClusterStatistics]:
        """Of every mixture the statistics (2 k, D) of components cut at their means, across their longest axes."""
        batch, k = climb.batch, climb.batch.counts.shape[1]
        means, covariances = mean_covariance(batch.natural)
        axes = np.linalg.eigh(covariances)[1][..., -1]
        ends = np.einsum("skd,skd->sk", means, axes)
        biases = self.climber.learner.terms(batch.natural, batch.log_weights)[0]
        packed, labels = self.climber.rows.packed, np.empty(len(self.points), dtype=np.int32)
        for natural, bias, own_axes, own_ends in zip(batch.natural, biases, axes, ends, strict=True):
            packed.label_rows(natural, bias, labels)
            beyond = (self.points * own_axes[labels]).sum(axis=1) > own_ends[labels]
            yield ClusterStatistics(*packed.label_sums(2 * labels + beyond, 2 * k), 0.0)

    def _without_one(self, climb: Climb, count: int) -> Climb | None:
        """Mixtures without one of their components, the best few for each model."""
        finite = climb.take(np.flatnonzero(np.isfinite(climb.batch.objective)))
        if len(finite.models) == 0:
            return None
        batch, k = finite.batch, climb.batch.counts.shape[1]
        others = np.array([[i for i in range(k) if i != j] for j in range(k)])
        natural = batch.natural[:, others].reshape(-1, k - 1, batch.natural.shape[2])
        counts = batch.counts[:, others].reshape(-1, k - 1)
        return self.climber.at(np.repeat(finite.models, k), natural, log_shares(counts)).best(count)


def _with_one_cut(counts: Array, sums: Array) -> tuple[NDArray[np.intp], Array, Array]:
    """Statistics (m, k + 1), (m, k + 1, D) with one component in halves, from all halves (S, 2 k) and (S, 2 k, D).

    And the places (m,) of their mixtures. Components of few rows and those with all rows on one side are left out.
    """
    mixtures, k = counts.shape[0], counts.shape[1] // 2
    both, parts = counts.reshape(mixtures, k, 2), sums.reshape(mixtures, k, 2, -1)
    places, cut = np.nonzero((both.sum(axis=2) >= FEWEST_TO_CUT) & (both.min(axis=2) > 0))
    found_counts = np.concatenate([both.sum(axis=2)[places], both[places, cut, 1][:, None]], axis=1)
    found_sums = np.concatenate([parts.sum(axis=2)[places], parts[places, cut, 1][:, None]], axis=1)
    each = np.arange(len(places))
    found_counts[each, cut], found_sums[each, cut] = both[places, cut, 0], parts[places, cut, 0]
    return places, found_counts, found_sums


# What others found ----------------------------------------------------------------------------------------------------


def exchanged(climber: Climber, climb: Climb, steps: int, effort: Effort) -> Climb:
    """The mixtures, one of each model, after a few rounds in which models try what others have found."""
    for number in range(ROUNDS if len(climb.models) > 1 else 0):
        following = _taken_over(climber, climb, effort, effort.tried if number == 0 else 0)
        if following is None:
            break
        climb = climb.joined(climber.climbed(following, steps)).best()
    return climb


def _taken_over(climber: Climber, climb: Climb, effort: Effort, tried_further: int) -> Climb | None:
    """Starts of models from the statistics of others, where these promise more: at once, or some after first steps."""
    pairs = np.array(list(_donors(climb, effort.donors)), dtype=np.intp).reshape(-1, 3)
    if len(pairs) == 0:
        return None
    own, donors, nested = pairs[:, 0], pairs[:, 1], pairs[:, 2] > 0
    models = climb.models[own]
    natural, log_weights = climb.batch.natural[donors], climb.batch.log_weights[donors]
    others = np.flatnonzero(~nested)
    if len(others):
        there = climb.batch.counts[donors[others]], climb.batch.sums[donors[others]]
        natural[others], log_weights[others] = climber.estimated(models[others], *there, None)
    tried = climber.at(models, natural, log_weights)
    if tried_further:
        tried = climber.climbed(tried.best(tried_further), FIRST_STEPS)
        present = climb.batch.objective[np.searchsorted(climb.models, tried.models)]
        apart = np.abs(tried.batch.objective - present) > SAME
        better = np.flatnonzero(apart & (tried.batch.objective > present - BEHIND))
    else:
        better = np.flatnonzero(tried.batch.objective > climb.batch.objective[own] + BETTER)
    return tried.take(better).best() if len(better) else None


def _donors(climb: Climb, count: int) -> Iterator[tuple[int, int, bool]]:
    """For every mixture those that it may learn from: the best of a nested model, and the best few of others."""
    order = [place for place in np.argsort(-climb.batch.objective, kind="stable") if climb.batch.counts[place].any()]
    for own, model in enumerate(climb.models):
        inside = [place for place in order if place != own and contains(int(model), int(climb.models[place]))]
        if inside and climb.batch.objective[inside[0]] > climb.batch.objective[own] + BETTER:
            yield own, inside[0], True
        others = [place for place in order if place != own and place not in inside]
        yield from ((own, place, False) for place in others[:count])


@cache
def contains(model: int, other: int) -> bool:
    """Whether every mixture of another model is one of this model.

    >>> contains(NAMES.index("VEV"), NAMES.index("EEE")), contains(NAMES.index("EEE"), NAMES.index("VEI"))
    (True, False)
    """
    return all("IEV".index(a) >= "IEV".index(b) for a, b in zip(NAMES[model], NAMES[other], strict=True))
