"""The search for the best optimum: many starts of different kinds on a sample, losers dropped early, then moves.

Biernacki, Celeux and Govaert (2003) compare starts by short runs; here the runs are batched, and the number of those
that go on is cut in several rounds (successive halving, Jamieson and Talwalkar, 2016). The budget counts products,
never seconds, so the outcome is the same on every machine.
"""

from collections import Counter
from copy import copy
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ..algorithms import Hartigan, SoftEM, Starts
from ..algorithms.loop import after_steps, stop_requested
from ..algorithms.loop import steps as each_step
from ..problem.problem import LearningProblem, Parameters, Problem
from ..seeding.partitions import Table, kinds_for, tables
from ..seeding.sample import representative, sample_rows
from ..seeding.strata import strata_of
from .batch import CONVERGED, Batch, Learner
from .comparing import SAME, alike_on, ordered, same, value
from .crossing import crossed
from .moves import Moves
from .starts import portfolio

# Starts are compared under a prior, at least this one. A component on a few rows that rounding made equal has an
# enormous likelihood, and of many starts the best would be of that kind.
SEARCH_PRIOR = 0.001
# Sparse rows leave most parameters of a component without an observation, and one row that has what the others lack is
# then impossible. Their starts have half an observation of each parameter (Krichevsky and Trofimov, 1981), but at most
# LARGEST_PART of the rows that a component has: first on the sample, then on all rows for up to SMOOTH_STEPS steps,
# until a step gains less than SMOOTHED nats per row.
EACH_PARAMETER, LARGEST_PART = 0.5, 0.5
SMOOTH_STEPS, SMOOTHED = 10, 1e-3
MOST_STARTS, FEWEST_STARTS = 32, 4
# How many optima are combined from this number of components on, where the sample is all rows; two otherwise.
PARENTS, MANY_COMPONENTS = 4, 4
# Steps of all mixtures, and how many go on after them; then steps of those, and so on.
Rounds: TypeAlias = tuple[tuple[int, int], ...]
ROUNDS: Rounds = ((3, 16), (3, 8), (14, 3), (150, 2))
# The same where steps are cheap: then longer runs tell more.
CHEAP_ROUNDS: Rounds = ((3, 16), (6, 8), (14, 4), (150, PARENTS))
# The same where steps cost so much that there are few starts.
FEW_ROUNDS: Rounds = ((1, 2), (27, 1), (150, 1))
# Where estimates cost more than passes and the budget is short, starts are compared after this many steps.
SHORT_STEPS = 2
# Trials of a round of moves, and how many rounds in a row may bring nothing, by whether learning is hard: hard optima
# are many. Then the same where steps are cheap, and the rounds of the steps of trials.
EFFORT = {False: (24, 2), True: (24, 4)}
CHEAP_EFFORT = {False: (72, 3), True: (72, 3)}
# Soft steps that hard learning begins with: they pass by many poor partitions.
SOFT_STEPS = 5
TRIAL_ROUNDS: Rounds = ((3, 12), (3, 8), (12, 2), (100, 1))
CHEAP_TRIAL_ROUNDS: Rounds = ((3, 14), (6, 8), (20, 3), (100, 1))
# Steps that a trial costs, on average; with fewer trials than this a round of moves is not worth its preparation.
TRIAL_STEPS, FEWEST_TRIALS = 8, 4
# Steps of one mixture that take fewer products than this are cheap.
CHEAP = 2.5e5
# Mixtures that have components of two optima, at most, and how often these are sought.
CROSSES, CROSSINGS = 48, 3
# Shares of agreeing starts from which one round is enough, and none is made where steps are not cheap.
CLEAR, CERTAIN = 0.25, 0.4
# Products: what any search may cost, and the steps on all rows that a search on many rows may cost.
BUDGET = 1.5e9
FULL_STEPS = 10
# Hard searches end with at most SWEEPS sweeps of Hartigan's moves of single rows, where the sample is all rows and the
# scores take at most FEW_PRODUCTS products. On a part of the rows the gains would be those of that part only.
FEW_PRODUCTS, SWEEPS = 2e6, 30
# The winner goes on on samples that grow by this factor, as long as there are as many times more rows, for some steps.
GROWTH, REFINING_STEPS = 5, 100
# The same on strata of one column, where steps are cheap and go where those on all rows go.
STRATA_STEPS, STRATA_CONVERGED = 1000, 1e-5


@dataclass(frozen=True)
class Found:
    """Where the search ended."""

    parameters: Parameters
    starts: Starts


def search(
    problem: LearningProblem,
    n_components: int,
    rng: np.random.Generator,
    *,
    hard: bool = False,
    kind: str | None = None,
) -> Found:
    """The best mixture found on a sample, from starts of one kind or of all."""
    size, key = sample_rows(problem, n_components), int(rng.integers(2**63))
    prior = search_prior(problem, min(size, problem.total) / n_components)
    sample = _comparable(representative(problem, size, key), prior)
    strata = strata_of(problem, sample, size)
    compared = sample if strata is None else strata.problem(sample, sample.total)
    budget = BUDGET + FULL_STEPS * 4.0 * problem.total * n_components * problem.row_values
    smooth = prior > SEARCH_PRIOR and problem.total > size
    arrived = SMOOTHED * sample.total if smooth else CONVERGED
    whole = strata is None and problem.total <= size
    learner = Learner(compared, hard, arrived)
    found = Search(learner, tables(compared), n_components, budget, rng, whole).run(kind)
    if strata is not None:
        learner = Learner(strata.problem(sample), hard, STRATA_CONVERGED)
        return replace(found, parameters=_refined(learner, found.parameters, STRATA_STEPS))
    if prior > SEARCH_PRIOR and problem.total <= size:
        # With few rows the prior hides what they say as often as it helps.
        plain = _comparable(sample, SEARCH_PRIOR)
        other = Search(Learner(plain, hard), tables(plain), n_components, budget, rng).run(kind)
        found = _better(Learner(plain, hard), found, other)
    few = problem.total <= size and not problem.family.joint and not sample.expects
    if hard and few and len(sample.rows) * n_components * problem.n_statistics <= FEW_PRODUCTS:
        found = replace(found, parameters=_without_gainful_moves(sample, found.parameters))
    while (size := GROWTH * size) * GROWTH <= problem.total and len(sample.rows) * GROWTH == size:
        sample = _comparable(representative(problem, size, key), prior)
        found = replace(found, parameters=_refined(Learner(sample, hard), found.parameters, REFINING_STEPS))
    if smooth:
        found = replace(found, parameters=_smoothed(problem, found.parameters, prior))
    return found


def search_prior(problem: LearningProblem, rows_each: float) -> float:
    """The weight of the prior under which starts are compared, in rows; `rows_each` is the mean size of components."""
    if problem.row_values == problem.n_statistics:
        return SEARCH_PRIOR
    observed = max(problem.row_values, 1.0) / problem.n_statistics
    return max(SEARCH_PRIOR, min(EACH_PARAMETER / observed, LARGEST_PART * rows_each))


def _better(learner: Learner, *found: Found) -> Found:
    """What leads to the higher objective, the first one on a tie."""
    batches = [learner.expected(each.parameters.natural[None], each.parameters.log_weights[None]) for each in found]
    ends = [learner.run(batch, REFINING_STEPS) for batch in batches]
    best = int(np.argmax([end.objective[0] for end in ends]))
    return replace(found[best], parameters=ends[best].parameters(0))


def _smoothed(problem: LearningProblem, parameters: Parameters, prior: float) -> Parameters:
    """Parameters after soft steps on all rows, wherever they are, with at least this prior."""
    other = copy(problem)
    other.prior_strength = max(prior, problem.prior_strength)
    algorithm = SoftEM(accelerated=False)
    state = algorithm.init(other, other.with_prescribed(parameters))
    for following in each_step(algorithm, other, state, SMOOTH_STEPS):
        gain, state = following.objective - state.objective, following
        if gain < SMOOTHED * problem.total:
            break
    return state.parameters


def _without_gainful_moves(sample: Problem, parameters: Parameters) -> Parameters:
    """Parameters after single rows were moved as long as that gains: far fewer partitions are stable then."""
    algorithm = Hartigan()
    return after_steps(algorithm, sample, algorithm.init(sample, parameters), SWEEPS).parameters


def _comparable(sample: Problem, prior: float) -> Problem:
    """The sample with at least this prior."""
    return sample.with_prior_strength(max(prior, sample.prior_strength))


def _refined(learner: Learner, parameters: Parameters, steps: int) -> Parameters:
    """The parameters after steps on a larger sample: far fewer remain to be made on all rows."""
    batch = learner.expected(parameters.natural[np.newaxis], parameters.log_weights[np.newaxis])
    return learner.run(batch, steps).parameters(0)


class Search:
    """A search with a learner, within a budget; `whole` says that its rows are all there are."""

    def __init__(
        self,
        learner: Learner,
        tables: dict[str, Table],
        k: int,
        budget: float,
        rng: np.random.Generator,
        whole: bool = False,
    ) -> None:
        self.learner = learner
        self.tables = tables
        self.k = k
        self.budget = budget
        self.rng = rng
        self.whole = whole

    def run(self, kind: str | None) -> Found:
        """Starts, then moves."""
        count = int(np.clip(0.5 * self.budget / (self.learner.cost(self.k) * 20), FEWEST_STARTS, MOST_STARTS))
        kinds = kinds_for(self.learner.problem, self.tables, count) if kind is None else [kind] * count
        if self._short():
            return self._one_by_one(kinds)
        batch, order = portfolio(self.learner, self.tables, kinds, self.k, self.rng)
        rounds = FEW_ROUNDS if len(order) <= FEWEST_STARTS else CHEAP_ROUNDS if self._cheap else ROUNDS
        best, agreeing = self._best_of(batch, rounds, self.budget)
        counted = {name: order.count(name) for name in dict.fromkeys(order)}
        moves = improved = 0
        if len(order) > FEWEST_STARTS or agreeing < len(order):
            best, moves, improved = self._improved(best, agreeing, len(order))
        return Found(best.parameters(0), Starts(counted, agreeing, moves, improved, self._ascent))

    @property
    def _cheap(self) -> bool:
        """Whether steps take so little that more of them are hardly noticed."""
        return self.learner.cost(self.k) < CHEAP

    @property
    def _effort(self) -> tuple[int, int]:
        """Trials of a round of moves, and how many rounds in a row may bring nothing."""
        return (CHEAP_EFFORT if self._cheap else EFFORT)[self.learner.hard]

    @property
    def _ascent(self) -> tuple[float, ...]:
        """The best objectives so far, per row."""
        total = self.learner.problem.total
        return tuple(objective / total for objective in self.learner.ascent if np.isfinite(objective))

    def _short(self) -> bool:
        """Whether sparse rows are so wide that a few steps of each start use up the budget."""
        problem = self.learner.problem
        return problem.row_values < problem.n_statistics and self.budget < FEWEST_STARTS * 20 * self.learner.cost(
            self.k
        )

    def _one_by_one(self, kinds: list[str]) -> Found:
        """The best of some starts, of which two are held at a time; there are no moves."""
        best: Batch | None = None
        agreeing = 0
        for kind in kinds:
            batch, _ = portfolio(self.learner, self.tables, [kind], self.k, self.rng)
            batch = self.learner.run(batch, SHORT_STEPS)
            if best is not None and same(batch, best):
                agreeing += 1
            elif best is None or batch.objective[0] > best.objective[0]:
                best, agreeing = batch, 1
            del batch
        assert best is not None  # there is a start at least
        return Found(
            self.learner.run(best, ROUNDS[-1][0]).parameters(0),
            Starts(dict(Counter(kinds)), agreeing, ascent=self._ascent),
        )

    def _best_of(self, batch: Batch, rounds: Rounds, limit: float, least: float = -np.inf) -> tuple[Batch, int]:
        """The best mixtures, and how many led to the first; each round may do an equal part of the work up to a limit.

        Mixtures that will not reach the `least` objective that is worth something are left as they are.
        """
        weights = np.ones(len(batch), dtype=np.intp)
        begun = self.learner.work
        if self.learner.hard:
            batch = self.learner.softly(batch, SOFT_STEPS)
        batch, weights = ordered(batch, weights)
        for place, (steps, kept) in enumerate(rounds):
            later = sum(steps for steps, _ in rounds[place + 1 :])
            end = begun + (limit - begun) * (place + 1) / len(rounds)
            batch = self.learner.run(batch, steps, later, end, least)
            batch, weights = ordered(batch, weights)
            batch, weights = batch.take(np.arange(min(kept, len(batch)))), weights[:kept]
        return batch, int(weights[0])

    def _improved(self, finalists: Batch, agreeing: int, count: int) -> tuple[Batch, int, int]:
        """The best mixture after moves, how many were tried, and how many led to it.

        Where many of the starts agree, or the best are alike, one round is enough. Where most agree and steps are not
        cheap there is none: it would seldom help, but where tails are heavy most starts may agree on the outliers.
        Where no two do the optima are many: the second best mixture may lead higher than the best, or have components
        that are better.
        """
        most = self._effort[1]
        alike = agreeing < CLEAR * count and alike_on(self.learner, finalists)
        if alike or agreeing >= CLEAR * count:
            most = 0 if agreeing >= CERTAIN * count and not self._cheap else 1
        best, tried, improved = self._moved(finalists.take(np.array([0])), most)
        if agreeing > 1 or alike or len(finalists) == 1 or not self._cheap:
            return best, tried, improved
        optima, leading = [best], [improved]
        for place in range(1, min(len(finalists), self._parents)):
            other, more, better = self._moved(finalists.take(np.array([place])), most // 2)
            optima.append(other)
            leading.append(better)
            tried += more
        order = np.argsort([-value(optimum)[0] for optimum in optima], kind="stable")
        best, crosses, crossings = self._crossed([optima[place] for place in order])
        return best, tried + crosses, leading[order[0]] + crossings

    @property
    def _parents(self) -> int:
        """How many optima are combined: more where the sample is all rows and there are many ways to differ."""
        return PARENTS if self.whole and self.k >= MANY_COMPONENTS else 2

    def _crossed(self, optima: list[Batch]) -> tuple[Batch, int, int]:
        """The best of some optima, the best one first, and of mixtures with components of it and another one."""
        tried = improved = 0
        for _ in range(CROSSINGS):
            before = improved
            for other in optima[1:]:
                better, trials = self._cross(optima[0], other)
                tried += trials
                if better is not None:
                    optima, improved = [better, *optima], improved + 1
            if improved == before:
                break
            if self._parents > 2:
                optima[0], trials, more = self._moved(optima[0], 1)
                tried, improved = tried + trials, improved + more
        return optima[0], tried, improved

    def _cross(self, best: Batch, other: Batch) -> tuple[Batch | None, int]:
        """A better mixture with components of both, if there is one, and how many were tried."""
        if self.k == 1 or self.learner.work >= self.budget or stop_requested():
            return None, 0
        trials = crossed(self.learner, best.parameters(0), other.parameters(0), CROSSES, self.rng)
        if trials is None:
            return None, 0
        count, enough = len(trials), float(value(best)[0]) + 0.1 * SAME
        trials, _ = self._best_of(trials, CHEAP_TRIAL_ROUNDS, self.budget, enough)
        return trials if value(trials)[0] > enough else None, count

    def _moved(self, best: Batch, most: int) -> tuple[Batch, int, int]:
        """The mixture after moves, until this many rounds in a row bring nothing or the budget is spent."""
        tried = improved = failures = 0
        table = list(self.tables.values())[-1]
        moves: Moves | None = None
        rounds = CHEAP_TRIAL_ROUNDS if self._cheap else TRIAL_ROUNDS
        while self.k > 1 and failures < most and self.learner.work < self.budget and not stop_requested():
            left = (self.budget - self.learner.work) / (TRIAL_STEPS * self.learner.cost(self.k))
            if left < FEWEST_TRIALS:
                break
            moves = moves or Moves(self.learner, table, best.parameters(0), self.rng)
            trials = moves.next(int(min(self._effort[0], left)))
            if trials is None:
                moves, failures = None, failures + 1
                continue
            tried += len(trials)
            enough = float(value(best)[0]) + 0.1 * SAME
            trials, _ = self._best_of(trials, rounds, self.budget, enough)
            if value(trials)[0] > enough:
                best, moves, failures, improved = trials, None, 0, improved + 1
            else:
                failures += 1
        return best, tried, improved
