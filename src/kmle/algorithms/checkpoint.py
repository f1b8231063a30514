"""Checkpoints: what a fit needs to go on where it was, written so that a crash at any moment leaves a whole one."""

import json
import os
import time
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from ..engines.partition import Labelled, Partition, Remembered
from ..engines.statistics import ClusterStatistics
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Parameters
from .acceleration import Acceleration
from .contract import Algorithm, Remembering
from .state import HalfStep, Run, Starts, State

FORMAT = 2
# Seconds between two writes: less than anyone minds to lose, much more than a write takes.
EVERY = 5.0
# How closely the data must agree with that of the checkpoint; sums over other chunks round otherwise.
SAME_DATA = 1e-8


class NewerError(ValueError):
    """The checkpoint was written by a kmle that knows more."""


@dataclass(frozen=True)
class Checkpoint:
    """What a checkpoint holds: the latest state of the start that was under way, and the best finished one before."""

    restart: int
    starts: Starts
    """How the start under way was found."""
    seed: Mapping[str, Any]
    run: Run
    best: Run | None
    generator: Mapping[str, Any]
    memory: Mapping[str, Any]
    about: Mapping[str, Any]
    content: str
    """What tells the data from other data."""
    mean_statistic: Array

    def resume(self, algorithm: Algorithm, problem: LearningProblem, rng: np.random.Generator) -> Run:
        """The run to go on with; algorithm and generator are put where they were."""
        if isinstance(algorithm, Remembering):
            algorithm.restore(problem, self.run.state.parameters, self.memory)
        rng.bit_generator.state = self.generator
        state = self.run.state
        if state.partition is not None and (problem.expects or problem.needs_rows):
            # Expected statistics do not tell what other parameters are worth: the labels are needed themselves.
            partition, statistics = problem.assign(state.parameters)
            return replace(self.run, state=replace(state, partition=partition, statistics=statistics))
        if problem.needs_rows:
            statistics = problem.soften(state.parameters, state.n_responsibilities)
            return replace(self.run, state=replace(state, statistics=statistics))
        return self.run

    def check(self, about: Mapping[str, Any], content: str, problem: LearningProblem, path: Path) -> None:
        """Refuses to go on with another fit than the one that was saved."""
        for name, value in about.items():
            if self.about.get(name) != value:
                raise ValueError(
                    f"the checkpoint {path} belongs to another fit: {name} was {self.about.get(name)!r} and is "
                    f"{value!r} "
                    "now; use the same settings, or another checkpoint"
                )
        # A digest may not see all rows, a mean does.
        mean = problem.data_mean
        scale = np.abs(mean).max() + np.abs(self.mean_statistic).max(initial=0.0)
        same = self.content == content and self.mean_statistic.shape == mean.shape
        if not same or np.abs(self.mean_statistic - mean).max() > SAME_DATA * scale:
            raise ValueError(f"the checkpoint {path} belongs to other data: give the same data, or another checkpoint")


class CheckpointWriter:
    """Writes checkpoints of the starts of one fit, every few seconds and at the end of each."""

    def __init__(
        self,
        path: Path,
        seed: Mapping[str, Any],
        about: Mapping[str, Any],
        content: str,
        problem: LearningProblem,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.path = path
        self._seed = seed
        self._about = about
        self._content = content
        self._mean_statistic = problem.data_mean
        self._written = time.monotonic()
        self.best = None if checkpoint is None else checkpoint.best

    def keep(
        self,
        restart: int,
        starts: Starts,
        algorithm: Algorithm,
        rng: np.random.Generator,
        run: Run,
        last: bool = False,
    ) -> None:
        """Writes the state if it is time to, and always the last one of a start."""
        if not last and time.monotonic() - self._written < EVERY:
            return
        memory = algorithm.memory() if isinstance(algorithm, Remembering) else {}
        checkpoint = Checkpoint(
            restart,
            starts,
            self._seed,
            run,
            self.best,
            rng.bit_generator.state,
            memory,
            self._about,
            self._content,
            self._mean_statistic,
        )
        write(self.path, checkpoint, algorithm.name == "hartigan")
        self._written = time.monotonic()
        if last and (self.best is None or run.state.objective > self.best.state.objective):
            self.best = run


def seed_of(rng: np.random.Generator) -> dict[str, Any]:
    """What makes the same generator again, with the same children to come."""
    sequence = rng.bit_generator.seed_seq
    assert isinstance(sequence, SeedSequence)  # every generator that default_rng makes has one
    return {
        "entropy": sequence.entropy,
        "spawn_key": list(sequence.spawn_key),
        "n_children_spawned": sequence.n_children_spawned,
    }


def generator_of(seed: Mapping[str, Any]) -> np.random.Generator:
    """The generator again."""
    return np.random.default_rng(SeedSequence(**{**seed, "spawn_key": tuple(seed["spawn_key"])}))


# Files --------------------------------------------------------------------------------------------------------------


def write(path: Path, checkpoint: Checkpoint, with_labels: bool = False) -> None:
    """Writes beside the old checkpoint first and then takes its place, so that one of the two is always whole."""
    arrays: dict[str, Any] = {"mean_statistic": checkpoint.mean_statistic}
    header = {
        "format": FORMAT,
        "restart": checkpoint.restart,
        "starts": asdict(checkpoint.starts),
        "seed": checkpoint.seed,
        "generator": checkpoint.generator,
        "memory": checkpoint.memory,
        "about": checkpoint.about,
        "content": checkpoint.content,
        "run": _described(checkpoint.run, "run", arrays, with_labels),
        "best": None if checkpoint.best is None else _described(checkpoint.best, "best", arrays, with_labels=False),
    }
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as file:
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def read(path: Path) -> Checkpoint | None:
    """What a checkpoint holds; None if there is no such file. Nothing in it is ever executed."""
    if not path.exists():
        return None
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is not a valid checkpoint (possibly truncated): delete it to start from the beginning"
        )
    try:
        with np.load(path, allow_pickle=False) as arrays:
            header = json.loads(arrays["header"].tobytes())
            if header["format"] > FORMAT:
                raise NewerError(f"the checkpoint {path} is from a newer version: update kmle to continue it")
            if header["format"] < FORMAT:
                raise ValueError("it is from an older version; delete it to start from the beginning")
            best = None if header["best"] is None else _run(header["best"], "best", arrays)
            return Checkpoint(
                header["restart"],
                Starts(**header["starts"] | {"ascent": tuple(header["starts"].get("ascent", ()))}),
                header["seed"],
                _run(header["run"], "run", arrays),
                best,
                header["generator"],
                header["memory"],
                header["about"],
                header["content"],
                arrays["mean_statistic"],
            )
    except NewerError:
        raise
    except (OSError, KeyError, TypeError, ValueError, zipfile.BadZipFile, EOFError) as error:
        raise ValueError(f"{path} is not a valid checkpoint (possibly truncated): {error}") from None


def _described(run: Run, name: str, arrays: dict[str, Any], with_labels: bool) -> dict[str, Any]:
    state = run.state
    arrays[f"{name}_natural"] = state.parameters.natural
    arrays[f"{name}_log_weights"] = state.parameters.log_weights
    arrays[f"{name}_counts"] = state.statistics.counts
    arrays[f"{name}_sums"] = state.statistics.sums
    arrays[f"{name}_history"] = np.array([half.objective for half in run.history])
    if with_labels and state.partition is not None:
        arrays[f"{name}_labels"] = state.partition.labels
    if state.acceleration is not None:
        arrays.update({f"{name}_{what}": value for what, value in _acceleration_arrays(state.acceleration).items()})
    return {
        "n_iter": run.n_iter,
        "idle": run.idle,
        "seconds": run.seconds,
        "kinds": [half.kind for half in run.history],
        "objective": state.objective,
        "score": state.statistics.score,
        "digest": None if state.partition is None else state.partition.digest.hex(),
        "finished": state.finished,
        "n_kept": state.n_responsibilities,
        "softened": state.softened,
        "acceleration": None if state.acceleration is None else _acceleration_numbers(state.acceleration),
    }


def _run(header: Mapping[str, Any], name: str, arrays: Mapping[str, Array]) -> Run:
    history = tuple(
        HalfStep(kind, float(value)) for kind, value in zip(header["kinds"], arrays[f"{name}_history"], strict=True)
    )
    partition: Partition | None = None
    if f"{name}_labels" in arrays:
        partition = Labelled(arrays[f"{name}_labels"].astype(np.int32))
    elif header["digest"] is not None:
        partition = Remembered(bytes.fromhex(header["digest"]))
    state = State(
        Parameters(arrays[f"{name}_natural"], arrays[f"{name}_log_weights"]),
        header["objective"],
        ClusterStatistics(arrays[f"{name}_counts"], arrays[f"{name}_sums"], header["score"]),
        partition,
        finished=header["finished"],
        n_responsibilities=header["n_kept"],
        softened=header["softened"],
        acceleration=_acceleration(header, name, arrays),
    )
    return Run(state, history, header["n_iter"], header["idle"], header["seconds"])


def _acceleration_arrays(acceleration: Acceleration) -> dict[str, Array]:
    plain = {"plain_natural": acceleration.plain.natural, "plain_log_weights": acceleration.plain.log_weights}
    return plain if acceleration.residuals is None else plain | {"residuals": acceleration.residuals}


def _acceleration_numbers(acceleration: Acceleration) -> dict[str, Any]:
    return {what: getattr(acceleration, what) for what in ("streak", "pause", "refused", "left")}


def _acceleration(header: Mapping[str, Any], name: str, arrays: Mapping[str, Array]) -> Acceleration | None:
    numbers = header.get("acceleration")
    if numbers is None:
        return None
    plain = Parameters(arrays[f"{name}_plain_natural"], arrays[f"{name}_plain_log_weights"])
    residuals = arrays.get(f"{name}_residuals")
    return Acceleration(plain, residuals=residuals, **{**numbers, "left": tuple(numbers["left"])})
