"""The best optimum known of each cell: the best of 200 starts of different kinds, and whatever was found since.

Objectives are penalised log-likelihoods (EM) or complete log-likelihoods (hard) with the default prior. Optima that
owe their likelihood to a few rows close together, or to rounding, are known but not asked for
(`benchmarks/regular.py`).
"""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from kmle import KMLE, ExponentialFamilyMixture
from kmle.algorithms import Fit, HardEM, SoftEM, run
from kmle.estimators.prepare import prepare
from kmle.problem.problem import Parameters, Problem
from kmle.search.batch import Batch, Learner
from kmle.search.starts import portfolio
from kmle.seeding.partitions import kinds_for, tables

from .cells import Cell
from .regular import is_regular

FILE = Path(__file__).with_name("best_known.json")
STARTS, STARTS_AT_A_TIME = 200, 25
STEPS = 400
# Starts have arrived where a step gains less, in nats.
CONVERGED = 1e-4
# The best different ones are learned to the very end.
REFINED = 12
MODELS = {"em": ExponentialFamilyMixture, "k-mle": KMLE}


@dataclass
class Reference:
    """Best objectives by kind of learning ("em", "k-mle"): of all optima, and of regular ones; and who found them."""

    best: dict[str, float] = field(default_factory=dict)
    regular: dict[str, float] = field(default_factory=dict)
    found_by: dict[str, str] = field(default_factory=dict)

    def improve(self, kind: str, objective: float, regular: bool, finder: str) -> None:
        """Takes a better optimum."""
        if objective > self.best.get(kind, -np.inf):
            self.best[kind] = objective
        if regular and objective > self.regular.get(kind, -np.inf):
            self.regular[kind], self.found_by[kind] = objective, finder

    def merge(self, other: "Reference") -> None:
        """Takes what another one knows better."""
        for kind, objective in other.best.items():
            self.improve(kind, objective, False, "")
        for kind, objective in other.regular.items():
            self.improve(kind, objective, True, other.found_by[kind])


def read(path: Path = FILE) -> dict[str, Reference]:
    if not path.exists():
        return {}
    return {name: Reference(**values) for name, values in json.loads(path.read_text(encoding="utf-8")).items()}


def write(references: dict[str, Reference], path: Path = FILE) -> None:
    values = {name: asdict(reference) for name, reference in sorted(references.items())}
    path.write_text(json.dumps(values, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def reference(cell: Cell, seed: int = 0, starts: int = STARTS) -> Reference:
    """The best of many starts."""
    found = Reference()
    for kind in MODELS:
        problem = problem_of(cell, kind)
        for fit in optima(problem, cell.k, kind == "k-mle", np.random.default_rng(seed), starts):
            found.improve(kind, fit.objective, is_regular(fit.mixture, cell.X), f"{starts} starts, seed {seed}")
    return found


def problem_of(cell: Cell, kind: str) -> Problem:
    """The learning problem as the estimator's defaults make it."""
    model = MODELS[kind](cell.k, family=cell.model_family())
    problem = prepare(cell.X, model._plan(), None, None, np.random.default_rng(0))[0].problem
    assert isinstance(problem, Problem)
    return problem


def optima(problem: Problem, k: int, hard: bool, rng: np.random.Generator, starts: int) -> list[Fit]:
    """The best different ones of many starts, learned to the end."""
    learner, views = Learner(problem, hard, CONVERGED), tables(problem)
    kinds = kinds_for(problem, views, starts)
    ends: list[tuple[float, Parameters]] = []
    for place in range(0, starts, STARTS_AT_A_TIME):
        batch, _ = portfolio(learner, views, kinds[place : place + STARTS_AT_A_TIME], k, rng)
        ends += _ends(learner.run(batch, STEPS))
    ends.sort(key=lambda end: -end[0])
    chosen = [end for place, end in enumerate(ends) if place == 0 or ends[place - 1][0] - end[0] > 1e-2][:REFINED]
    algorithm = HardEM() if hard else SoftEM()
    return [run(algorithm, problem, start, max_iter=5000, tol=1e-9 / problem.total) for _, start in chosen]


def _ends(batch: Batch) -> list[tuple[float, Parameters]]:
    return [(float(batch.objective[place]), batch.parameters(place)) for place in range(len(batch))]
