"""kmle's variants: hard, soft, hard then soft, k-means; float64, float32, and the NumPy twin of the kernels."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle import _kernels as kernels
from kmle.algorithms import Algorithm, HardEM, KMLELloyd, SoftEM, State
from kmle.problem.problem import Parameters, Problem

from .competitors import Competitor, Outcome, Run, Task


@dataclass
class Recorder:
    """An algorithm that does what another does and notes when each step was done and what it had learned by then."""

    inner: Algorithm
    goal: float = np.inf
    """The mean log-likelihood at which to stop."""
    limit: float = np.inf
    """Seconds after which to stop."""
    keep: bool = False
    """Whether to keep the parameters of every step."""
    began: float = field(default_factory=time.perf_counter)
    stamps: list[float] = field(default_factory=list)
    parameters: list[Parameters] = field(default_factory=list)
    problem: Problem | None = None

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def monotone(self) -> bool:
        return self.inner.monotone

    def init(self, problem: Problem, parameters: Parameters) -> State:
        self.problem = problem
        return self._noted(problem, self.inner.init(problem, parameters))

    def step(self, problem: Problem, state: State) -> State:
        return self._noted(problem, self.inner.step(problem, state))

    def _noted(self, problem: Problem, state: State) -> State:
        self.stamps.append(time.perf_counter() - self.began)
        if self.keep:
            self.parameters.append(state.parameters)
        if state.finished is None and state.objective / problem.total >= self.goal:
            return state.ended("goal reached")
        if state.finished is None and self.stamps[-1] > self.limit:
            return state.ended("time limit")
        return state

    def mixtures(self) -> list[Mixture]:
        """What had been learned after each step kept."""
        assert self.problem is not None
        return [self.problem.to_mixture(parameters) for parameters in self.parameters]


@dataclass(frozen=True)
class Variant:
    """One way of using kmle: the stages to run one after the other, each from where the last one ended."""

    stages: tuple[str, ...]
    dtype: DTypeLike = np.float64
    version: str | None = None
    """The version of the kernels; None is the best."""

    def prepare(self, task: Task) -> Run:
        """Ready to run on this task."""
        X = task.X.astype(self.dtype, copy=False)

        def run(max_iter: int, tol: float) -> Outcome:
            recorders, model, seconds = self._learned(task, X, max_iter, tol)
            return Outcome(
                seconds,
                sum(len(recorder.stamps) - 1 for recorder in recorders),
                lambda: model.mixture_,
                tuple(recorders[-1].stamps),
                self._note(task, model),
            )

        return run

    def trail(self, task: Task, goal: float, limit: float, max_iter: int) -> tuple[list[float], list[Mixture]]:
        """Seconds and mixtures step by step until the goal, the end or the time limit."""
        X = task.X.astype(self.dtype, copy=False)
        recorders, _, _ = self._learned(task, X, max_iter, 0.0, goal, limit, keep=True)
        stamps = [stamp for recorder in recorders for stamp in recorder.stamps]
        return stamps, [mixture for recorder in recorders for mixture in recorder.mixtures()]

    def _learned(
        self,
        task: Task,
        X: Any,
        max_iter: int,
        tol: float,
        goal: float = np.inf,
        limit: float = np.inf,
        keep: bool = False,
    ) -> tuple[list[Recorder], Any, float]:
        recorders: list[Recorder] = []
        model: Any = None
        with backend(self.version):
            began = time.perf_counter()
            for place, stage in enumerate(self.stages):
                recorder = Recorder(algorithm_of(stage), goal, limit, keep, began)
                estimator = ExponentialFamilyMixture if stage == "soft" else KMLE
                # A hard stage before a soft one need not be exact: it stops where EM's own tolerance would.
                last = place == len(self.stages) - 1
                model = estimator(
                    task.start.n_components,
                    family=task.start.family,
                    algorithm=recorder,
                    init=task.start if model is None else model.mixture_,
                    weights="uniform" if task.k_means else None,
                    max_iter=max_iter,
                    tol=tol if last else max(tol, 1e-3),
                    n_jobs=task.n_threads,
                ).fit(X)
                recorders.append(recorder)
            seconds = time.perf_counter() - began
        return recorders, model, seconds

    def _note(self, task: Task, model: Any) -> str:
        notes = [f"{model.result_.engine} engine"]
        lost = task.start.n_components - model.mixture_.n_components
        if lost:
            notes.append(f"{lost} components lost")
        return ", ".join(notes)


def algorithm_of(stage: str) -> Algorithm:
    """By its name here."""
    return {"hard": HardEM(), "soft": SoftEM(), "k-means": KMLELloyd()}[stage]


@contextmanager
def backend(version: str | None) -> Iterator[None]:
    """A version of the kernels for a while."""
    kernels.use(version)
    try:
        yield
    finally:
        kernels.use(None)


VARIANTS = {
    "kmle hard": Variant(("hard",)),
    "kmle hard float32": Variant(("hard",), np.float32),
    "kmle soft": Variant(("soft",)),
    "kmle soft float32": Variant(("soft",), np.float32),
    "kmle hard then soft": Variant(("hard", "soft")),
    "kmle hard NumPy": Variant(("hard",), version="numpy"),
    "kmle soft NumPy": Variant(("soft",), version="numpy"),
    "kmle k-means": Variant(("k-means",)),
    "kmle k-means float32": Variant(("k-means",), np.float32),
}
OURS = {name: Competitor(name, variant.prepare, is_peer=False) for name, variant in VARIANTS.items()}
