"""Measuring: every contestant on the same data from the same start, in turns."""

import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from kmle import Mixture

from .competitors import Array, Competitor, Outcome, Run, Task
from .ours import OURS, VARIANTS
from .peers import PEERS
from .results import Result, Row
from .workloads import Workload

CONTESTANTS = PEERS | OURS
# Everyone is run once on this many rows before the clock starts: imports, thread pools, compilation.
WARM_UP_ROWS = 5_000
# Iterations from which the cost of one is estimated.
PROBE_ITERATIONS = 4
# A pause before each run, so that no one inherits threads still spinning for work.
PAUSE = 0.1
# Runs shorter than this many seconds are repeated in each round: a hiccup of the machine outlasts them.
QUICK_RUN = 1.0
QUICK_REPEATS = 5
# A likelihood counts as reached within this many nats per row: far less than the tolerance at which competitors stop.
REACHED = 1e-4


@dataclass(frozen=True)
class Settings:
    """How to measure."""

    quick: bool = False
    repeats: int = 3
    time_limit: float = 60.0
    n_threads: int = 1
    competitors: tuple[str, ...] | None = None
    """Only these of a workload's competitors; None is all."""
    peers: bool = True
    memory: bool = True
    seed: int = 0


@dataclass
class Trial:
    """One contestant's runs."""

    competitor: Competitor
    run: Run | None = None
    error: str = ""
    limit: int = 0
    """Iterations that fit into the time limit."""
    setup_and_one: list[float] = field(default_factory=list)
    probe: list[float] = field(default_factory=list)
    probe_iterations: int = 0
    full: list[float] = field(default_factory=list)
    outcome: Outcome | None = None
    step_seconds: list[float] = field(default_factory=list)
    log_likelihood: float | None = None
    memory: float | None = None
    remark: str = ""

    @property
    def can_run(self) -> bool:
        return self.run is not None and not self.error

    def attempt(self, max_iter: int, tol: float) -> Outcome | None:
        """A run, or None and the reason in `error`."""
        if not self.can_run:
            return None
        assert self.run is not None
        gc.collect()
        time.sleep(PAUSE)
        try:
            return self.run(max_iter, tol)
        except Exception as error:
            self.error = shortened(error)
            return None

    @property
    def seconds_per_iteration(self) -> float | None:
        """From time stamps where there are any, else from the difference of a long and a one-iteration run."""
        if self.step_seconds:
            return statistics.median(self.step_seconds)
        if self.outcome is None:
            return None
        one = statistics.median(self.setup_and_one)
        long, iterations = statistics.median(self.full), self.outcome.iterations
        if iterations < PROBE_ITERATIONS and self.probe_iterations > iterations:
            long, iterations = statistics.median(self.probe), self.probe_iterations
        return (long - one) / (iterations - 1) if iterations > 1 and long > one else long / iterations


def measure(workload: Workload, settings: Settings) -> Result:
    """All competitors of a workload."""
    measured = f"{date.today()}, threads: {settings.n_threads}, load before: {os.getloadavg()[0]:.1f}"
    X = workload.data(settings.quick, settings.seed)
    start = workload.start(X, settings.seed)
    task = Task(X, start, settings.n_threads, workload.k_means)
    names = (*workload.peers, *workload.ours) if settings.peers else workload.ours
    chosen = [name for name in names if settings.competitors is None or name in settings.competitors]
    trials = [Trial(CONTESTANTS[name]) for name in chosen]
    with quietly(settings.n_threads):
        for trial in trials:
            make_ready(trial, task)
        for trial in trials:
            find_limit(trial, workload, settings)
        for _ in range(settings.repeats):
            for trial in trials:
                run_once(trial, workload)
                if trial.full and trial.full[-1] < QUICK_RUN:
                    for _ in range(QUICK_REPEATS - 1):
                        run_once(trial, workload)
        for trial in trials:
            judge(trial, workload, X)
        if settings.memory:
            measure_memory(trials, workload, task)
        trails = run_trails(trials, workload, task, settings)
    rows = [row_of(trial, trials, trails, workload) for trial in trials]
    return Result(
        workload.name,
        workload.title,
        X.shape,
        start.n_components,
        settings.quick,
        measured,
        workload.k_means,
        rows,
    )


@contextmanager
def quietly(n_threads: int) -> Iterator[None]:
    """BLAS and OpenMP held to as many threads as everyone gets; peers' warnings go unheard."""
    with warnings.catch_warnings(), threadpool_limits(n_threads):
        warnings.simplefilter("ignore")
        yield


def shortened(error: Exception) -> str:
    """The first line of an error."""
    first = (str(error).strip() or "no message").splitlines()[0]
    return f"{type(error).__name__}: {first[:80]}"


def make_ready(trial: Trial, task: Task) -> None:
    """Warms up on few rows and prepares for all."""
    trial.error = trial.competitor.missing() or ""
    if trial.error:
        return
    few = task.first_rows(WARM_UP_ROWS)
    try:
        trial.run = trial.competitor.prepare(few)
    except Exception as error:
        trial.error = shortened(error)
        return
    # Trouble on the few rows alone is no verdict.
    trial.attempt(2, 0.0)
    trial.error = ""
    try:
        trial.run = trial.competitor.prepare(task)
    except Exception as error:
        trial.error = shortened(error)


def find_limit(trial: Trial, workload: Workload, settings: Settings) -> None:
    """How many iterations fit into the time limit, judged by a few."""
    first = trial.attempt(1, 0.0)
    if first is None:
        return
    trial.limit = 1
    if first.seconds * 2 > settings.time_limit:
        return
    few = trial.attempt(min(PROBE_ITERATIONS, max(2, int(settings.time_limit / first.seconds))), 0.0)
    if few is None:
        return
    trial.probe_iterations = few.iterations
    each = max((few.seconds - first.seconds) / max(1, few.iterations - 1), 1e-6)
    trial.limit = int(np.clip((settings.time_limit - first.seconds) / each, 1, workload.max_iter))


def run_once(trial: Trial, workload: Workload) -> None:
    """A run of one iteration, one of a few, and one to the end."""
    if trial.competitor.is_peer:
        one = trial.attempt(1, 0.0)
        if one is not None:
            trial.setup_and_one.append(one.seconds)
        if trial.probe_iterations > 1 and (trial.outcome is None or trial.outcome.iterations < PROBE_ITERATIONS):
            few = trial.attempt(trial.probe_iterations, 0.0)
            if few is not None:
                trial.probe.append(few.seconds)
    outcome = trial.attempt(trial.limit, workload.tol)
    if outcome is None:
        return
    trial.outcome = outcome
    trial.full.append(outcome.seconds)
    if len(outcome.stamps) > 1:
        trial.step_seconds.append((outcome.stamps[-1] - outcome.stamps[0]) / (len(outcome.stamps) - 1))


def judge(trial: Trial, workload: Workload, X: Array) -> None:
    """The likelihood reached, by the one function for all."""
    if trial.outcome is None or trial.error or workload.floored or not trial.competitor.same_model:
        return
    try:
        mixture = trial.outcome.mixture()
        if mixture is None:
            return
        if workload.is_singular(mixture):
            trial.remark = "a covariance became singular, so its likelihood is not compared"
            return
        trial.log_likelihood = workload.log_likelihood(mixture, X)
    except Exception as error:
        trial.error = f"outcome refused, {shortened(error)}"


def measure_memory(trials: list[Trial], workload: Workload, task: Task) -> None:
    """Peak memory beyond the data, each contestant in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "rows.npy", task.X)
        (Path(folder) / "start.json").write_text(task.start.to_json(), encoding="utf-8")
        for trial in trials:
            if trial.outcome is None or trial.error:
                continue
            iterations = min(trial.limit, 2)
            command = [sys.executable, "-m", "benchmarks.memory", trial.competitor.name, folder, str(iterations)]
            command += [str(task.n_threads), "k-means" if workload.k_means else "mixture"]
            child = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[1])
            if child.returncode == 0:
                trial.memory = json.loads(child.stdout.splitlines()[-1])


# Reaching a peer's likelihood -----------------------------------------------------------------------------------------


@dataclass
class Trail:
    """What a variant of kmle had learned, and when; likelihoods are computed when asked."""

    seconds: list[float]
    mixtures: list[Mixture]
    workload: Workload
    X: Array
    known: dict[int, float] = field(default_factory=dict)

    def log_likelihood(self, place: int) -> float:
        if place not in self.known:
            mixture = self.mixtures[place]
            singular = self.workload.is_singular(mixture)
            self.known[place] = -np.inf if singular else self.workload.log_likelihood(mixture, self.X)
        return self.known[place]

    def seconds_to(self, goal: float) -> float | None:
        """When the goal was first reached, by bisection: likelihoods grow along the trail."""
        low, high = 0, len(self.mixtures) - 1
        if self.log_likelihood(high) < goal - REACHED:
            return None
        while low < high:
            middle = (low + high) // 2
            if self.log_likelihood(middle) < goal - REACHED:
                low = middle + 1
            else:
                high = middle
        return self.seconds[high]


def run_trails(trials: list[Trial], workload: Workload, task: Task, settings: Settings) -> dict[str, Trail]:
    """Every variant of kmle goes on until it has passed every peer, or to its own end."""
    goals = [t.log_likelihood for t in trials if t.competitor.is_peer and t.log_likelihood is not None]
    if not goals:
        return {}
    trails = {}
    for trial in trials:
        if trial.competitor.is_peer or trial.outcome is None or trial.error:
            continue
        variant = VARIANTS[trial.competitor.name]
        runs: list[tuple[list[float], list[Mixture]]] = []
        while len(runs) < settings.repeats * (QUICK_REPEATS if runs and runs[0][0][-1] < QUICK_RUN else 1):
            time.sleep(PAUSE)
            runs.append(variant.trail(task, max(goals), settings.time_limit, 10 * workload.max_iter))
        length = min(len(stamps) for stamps, _ in runs)
        seconds = [statistics.median(stamps[place] for stamps, _ in runs) for place in range(length)]
        trails[trial.competitor.name] = Trail(seconds, runs[-1][1][:length], workload, task.X)
    return trails


def row_of(trial: Trial, trials: list[Trial], trails: dict[str, Trail], workload: Workload) -> Row:
    """A line of the table."""
    competitor, outcome = trial.competitor, trial.outcome
    if outcome is None or trial.error:
        return Row(competitor.name, competitor.is_peer, competitor.same_model, error=trial.error or "no result")
    stopped = trial.limit < workload.max_iter and outcome.iterations >= trial.limit
    goals = {
        t.competitor.name: t.log_likelihood for t in trials if t.competitor.is_peer and t.log_likelihood is not None
    }
    trail = trails.get(competitor.name)
    times = {} if trail is None else {name: trail.seconds_to(goal) for name, goal in goals.items()}
    return Row(
        competitor.name,
        competitor.is_peer,
        competitor.same_model,
        seconds_per_iteration=trial.seconds_per_iteration,
        iterations=outcome.iterations,
        seconds=statistics.median(trial.full),
        stopped=stopped,
        log_likelihood=trial.log_likelihood,
        reached={name: seconds for name, seconds in times.items() if seconds is not None},
        memory=trial.memory,
        note="; ".join(filter(None, [outcome.note, trial.remark])),
    )
