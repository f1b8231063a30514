"""Fits of one problem for several numbers of components, each of which helps its neighbours to a better start."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from ..assignment.problem import Parameters, Problem
from ..learning import Fit
from ..seeding.k_mle_plus_plus import Spread, spread_over
from ..seeding.short_em import SETTLED, em_steps, several_starts
from .neighbours import grown, merged

# Starts grown from the mixture of the rung below, for each fresh start asked for.
GROWN = 5
# Starts are compared under at least this much prior. A component on a few rows that rounding made equal has an enormous
# likelihood, and of many starts the best would be of that kind.
SEARCH_PRIOR = 0.01
HARD_STEPS = 30

Learn = Callable[[Parameters], Fit]
ShortRun = Callable[[Problem, Parameters], tuple[Parameters, float]]


@dataclass
class Rung:
    """The best fit for one number of components so far, and the time spent on it."""

    n_components: int
    fit: Fit | None = None
    seconds: float = 0.0
    note: str = ""


@dataclass
class Ladder:
    """Climbs from few components to many and back down; the likelihood never falls with their number.

    `learn` takes a start to its end; `hard` says that the complete likelihood counts; `report` hears of every step.
    Fresh seeds are tried at every rung. On the way up the mixture of the rung below, with components added, is one
    more start; on the way down that of the rung above, with components merged. Starts are compared by short runs, on a
    sample when there are many rows; the most promising one is learned from.
    """

    problem: Problem
    sizes: Sequence[int]
    learn: Learn
    hard: bool
    n_init: int
    rng: np.random.Generator
    report: Callable[[Rung], None]
    rungs: list[Rung] = field(init=False)

    def __post_init__(self) -> None:
        self.rungs = [Rung(size) for size in sorted(self.sizes)]
        searched = self.problem.with_prior_strength(max(SEARCH_PRIOR, self.problem.prior_strength))
        self._sample: Problem = searched.sample
        self._spread: Spread = spread_over(self._sample, self.rungs[-1].n_components, self.rng)
        self._short_run: ShortRun = hard_steps if self.hard else em_steps

    def value(self, fit: Fit) -> float:
        """The likelihood that is to be high: complete for hard fits."""
        return fit.complete_log_likelihood if self.hard else fit.log_likelihood

    def climb(self) -> list[Rung]:
        """The rungs with their fits."""
        below: Rung | None = None
        for rung in self.rungs:
            with timing(rung):
                self._up(rung, below)
            self.report(rung)
            below = rung
        for lower, upper in zip(self.rungs[-2::-1], self.rungs[:0:-1], strict=True):
            with timing(lower):
                self._down(lower, upper)
            self.report(lower)
        for lower, upper in pairwise(self.rungs):
            with timing(upper):
                self._settle(lower, upper)
        return self.rungs

    def _up(self, rung: Rung, below: Rung | None) -> None:
        k = rung.n_components
        starts = [] if k > 1 else [self._spread.parameters(self._sample, 1, self.rng)]
        for _ in range(self.n_init if k > 1 else 0):
            starts += several_starts(self._sample, self._spread, k, self.rng)
            if below is not None and below.fit is not None:
                starts += [self._grown(below.fit, k) for _ in range(GROWN)]
        ends = [self._short_run(self._sample, start) for start in starts]
        self._keep(rung, max(ends, key=lambda end: end[1])[0])

    def _down(self, lower: Rung, upper: Rung) -> None:
        assert lower.fit is not None  # every rung was fitted on the way up
        assert upper.fit is not None
        if upper.fit.mixture.n_components <= lower.n_components:  # so many died that it belongs on either rung
            if self.value(upper.fit) > self.value(lower.fit):
                lower.fit = upper.fit
            return
        start = merged(self._sample, self.problem.from_mixture(upper.fit.mixture), lower.n_components)
        _, present = self._short_run(self._sample, self.problem.from_mixture(lower.fit.mixture))
        promising, reached = self._short_run(self._sample, start)
        if reached > present + SETTLED * self._sample.total:
            self._keep(lower, promising)

    def _settle(self, lower: Rung, upper: Rung) -> None:
        """What fewer components can do, more can too."""
        assert lower.fit is not None
        assert upper.fit is not None
        if self.value(upper.fit) < self.value(lower.fit):
            self._keep(upper, self._grown(lower.fit, upper.n_components))
        if self.value(upper.fit) <= self.value(lower.fit):
            upper.fit = lower.fit
            k = lower.fit.mixture.n_components
            upper.note = f"nothing gained over {k} component{'s' if k > 1 else ''}"

    def _grown(self, fit: Fit, n_components: int) -> Parameters:
        return grown(self._sample, self.problem.from_mixture(fit.mixture), self._spread, n_components, self.rng)

    def _keep(self, rung: Rung, start: Parameters) -> None:
        """Learns from a start, and keeps the outcome if it is the best so far."""
        fit = self.learn(start)
        if rung.fit is None or self.value(fit) > self.value(rung.fit):
            # Labels of many fits would take more room than the data; those of the winner are found again.
            rung.fit = replace(fit, labels=fit.labels[:0].copy())


@contextmanager
def timing(rung: Rung) -> Iterator[None]:
    """Adds the time spent inside to the rung's."""
    began = time.perf_counter()
    yield
    rung.seconds += time.perf_counter() - began


def hard_steps(problem: Problem, parameters: Parameters) -> tuple[Parameters, float]:
    """Parameters after a few steps of hard EM, and their complete objective."""
    statistics = problem.assign(parameters)[1]
    objective = problem.complete_objective(parameters, statistics)
    for _ in range(HARD_STEPS):
        log_weights = problem.log_weights(statistics.weights())
        parameters = Parameters(problem.updated_natural(parameters, statistics), log_weights)
        statistics = problem.assign(parameters)[1]
        before, objective = objective, problem.complete_objective(parameters, statistics)
        if objective <= before:
            break
    return parameters, objective
