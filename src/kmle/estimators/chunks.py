"""From data in chunks (Dask collections, streams) and a plan to a learning problem: every row is checked once."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..algorithms import Fit
from ..data.batches import as_batches, is_dask
from ..data.holes import Holes
from ..data.summary import ChunkSummary, summarize_chunk
from ..families import resolve
from ..families.validation import no_entry, relative_factor
from ..mixture import Mixture
from ..numerics.digest import merged
from ..problem.chunked import ChunkedProblem, Chunks
from ..problem.pieces import Settings, Task
from ..problem.problem import LearningProblem, Problem
from ..problem.stream import StreamedChunks
from .notes import overfit_notes
from .plan import Plan

# Algorithms that go from row to row.
IN_MEMORY_ONLY = ("hartigan", "exact")


@dataclass(frozen=True)
class CheckedChunks:
    """Chunks whose rows have all been checked once."""

    chunks: Chunks
    summary: ChunkSummary
    columns: list[str] | None

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.summary.n_rows)

    @property
    def weight_factor(self) -> float:
        """What the weights of rows are multiplied by, to count rows."""
        return relative_factor(self.summary.weight, sum(self.summary.n_weighty))


def check_chunks(X: Any, sample_weight: Any, plan: Plan) -> CheckedChunks:
    """One pass in which every row is checked."""
    if plan.algorithm_name in IN_MEMORY_ONLY:
        raise ValueError(
            f"algorithm is {plan.algorithm_name!r}, which works row by row and needs all rows in memory: on chunks "
            "use 'k-mle', 'hard-em', 'swap' or 'online'"
        )
    if not isinstance(plan.init, str | Mixture):
        raise ValueError("labels as init need the rows in memory: on chunks give a name or a Mixture")
    family = resolve(plan.family)
    chunks: Chunks
    if is_dask(X):
        from ..problem.dask import DaskChunks  # Dask is an extra

        chunks = DaskChunks(X, sample_weight, family)
    else:
        chunks = StreamedChunks(as_batches(X, sample_weight), family)
    columns = getattr(X, "columns", None)
    names = None if columns is None else [str(name) for name in columns]
    summary: ChunkSummary = chunks.summarize(
        partial(summarize_chunk, family=family, columns=names, may_compress=plan.may_compress)
    )
    if summary.holes is not None and (unseen := summary.holes.missing == summary.holes.n_rows).any():
        raise ValueError(no_entry(int(np.argmax(unseen)), names))
    if summary.weight == 0:
        raise ValueError("all sample weights are zero: at least one must be positive")
    return CheckedChunks(chunks, summary, names)


@dataclass(frozen=True)
class PreparedChunks:
    """A learning problem of data in chunks, and the way back from its rows to those of the data."""

    checked: CheckedChunks
    problem: LearningProblem
    few: bool
    """Whether the problem is that of the distinct rows."""
    keeps_order: bool = False

    @property
    def used(self) -> slice:
        """All rows that the problem has."""
        return slice(None)

    @property
    def weight_factor(self) -> float:
        """What sample weights were multiplied by, to count rows."""
        return self.checked.weight_factor

    @property
    def holes(self) -> Holes | None:
        """The missing entries; None for sparse rows."""
        return self.checked.summary.holes

    @property
    def engine(self) -> str:
        """What finds the labels, in words."""
        name = self.problem.engine_name
        if not self.few:
            return name
        rows = self.checked.summary.table.X
        assert rows is not None  # few
        return f"{name} on {len(rows)} distinct rows"

    @property
    def content(self) -> str:
        """A digest of the data."""
        return merged(self.checked.summary.checksums)

    def completed(self, fit: Fit) -> Fit:
        """The fit with a label for every row of the data."""
        labels: Any = fit.labels
        if self.few:
            parameters = self.problem.from_mixture(fit.mixture)
            task = Task(parameters.natural, parameters.log_weights, self.problem.bias(parameters), False)
            labels = self.checked.chunks.labels(task, self.checked.summary.n_rows)
        fit = replace(fit, labels=labels, engine=self.engine)
        return replace(fit, notes=overfit_notes(fit, self.problem))


def prepare_chunks(checked: CheckedChunks, plan: Plan, sampling: np.random.Generator) -> PreparedChunks:
    """The problem of the distinct rows where they are few, else of all chunks."""
    summary, chunks = checked.summary, checked.chunks
    engine = "auto" if plan.engine == "compressed" else plan.engine
    family = summary.learned_family
    factor, resolution = checked.weight_factor, plan.resolution_for(summary.family)
    settings = Settings(
        family,
        summary.center,
        plan.n_components,
        engine,
        chunks.threads(plan.n_threads),
        chunks.stays,
        factor,
        summary.single,
        plan.hard,
    )
    chunks.prepare(settings)
    table = summary.distinct if engine == "auto" else None
    if table is None or table.X is None:
        problem = ChunkedProblem(
            chunks, settings, summary, plan.strength, plan.prescribed_weights, sampling, resolution
        )
        return PreparedChunks(checked, problem, few=False)
    few = Problem(
        family,
        table.X,
        None if table.weights is None else factor * table.weights,
        plan.strength,
        plan.prescribed_weights,
        summary.center,
        plan.n_threads,
        plan.n_components,
        engine,
        sampling,
        plan.hard,
        resolution,
    )
    return PreparedChunks(checked, few, few=True)
