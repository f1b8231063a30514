"""From data and a plan to a learning problem, in memory or in chunks: every row is checked on the way."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._kernels import shared_summaries
from ..algorithms import Fit
from ..data.batches import as_batches, is_dask, is_streamed
from ..data.distinct import Compressed, compressed
from ..data.summary import ChunkSummary, summarize_chunk
from ..families import ExponentialFamily, resolve
from ..families.sparse import check_sparse, issparse
from ..families.validation import as_rows, check_learnable, check_sample_weight, relative_factor
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.digest import digest, merged
from ..problem.chunked import ChunkedProblem, Chunks
from ..problem.pieces import Settings, Task
from ..problem.problem import LearningProblem, Problem
from ..problem.stream import StreamedChunks
from .arguments import weights_of
from .notes import overfit_notes
from .plan import Plan

# Which rows a fit learns from: all, or those of positive weight.
Used: TypeAlias = slice | NDArray[np.bool_]
# Algorithms that go from row to row.
IN_MEMORY_ONLY = ("hartigan", "exact")


# Rows in memory -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CheckedRows:
    """Rows inside the family's support, with their weights; the family knows the data's columns."""

    family: ExponentialFamily
    X: Array
    weights: Array | None
    weight_factor: float = 1.0
    """What sample weights were multiplied by, to count rows."""


def check_rows(
    X: ArrayLike, family: ExponentialFamily, sample_weight: ArrayLike | None, columns: Sequence[str] | None
) -> CheckedRows:
    """Legal rows and weights; what is not legal is refused with its row and column."""
    table: Any = X if issparse(X) or _is_table(X) else as_rows(family, X)
    known = family.for_data(table)
    if issparse(table):
        rows: Any = check_sparse(known, table)
    else:
        names = None if columns is None else list(columns)
        rows = known.check(table, names)
        check_learnable(known, rows, names)
    n_rows = rows.shape[0]
    given = weights_of(sample_weight, n_rows)
    weights = check_sample_weight(given, n_rows)
    factor = 1.0 if weights is None else float(weights.sum() / np.sum(np.asarray(given, dtype=float)))
    return CheckedRows(known, rows, weights, factor)


def _is_table(X: Any) -> bool:
    # No subclass: those may be masked.
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in (np.float32, np.float64)


@dataclass(frozen=True)
class Prepared:
    """A learning problem, and the way back from its rows to those of the data."""

    problem: Problem
    rows: Array
    """The rows the problem was made from: those of the data, or the distinct ones among them."""
    used: Used
    few: Compressed | None
    weight_factor: float = 1.0

    @property
    def engine(self) -> str:
        """What finds the labels, in words."""
        name = self.problem.engine.name
        return name if self.few is None else f"{name} on {self.rows.shape[0]} distinct rows"

    @property
    def content(self) -> str:
        """A digest of the data."""
        return digest(self.problem.rows.X, self.problem.rows.weights)

    def completed(self, fit: Fit) -> Fit:
        """The fit with a label for every row of the data."""
        labels = fit.labels if isinstance(self.used, slice) else fit.mixture.predict(self.rows)
        fit = replace(fit, labels=labels if self.few is None else self.few.spread(labels), engine=self.engine)
        return replace(fit, notes=overfit_notes(fit, self.problem))

    def relabelled(self, fit: Fit) -> Fit:
        """A fit whose labels were not kept, with a label for every row of the data."""
        partition, _ = self.problem.assign(self.problem.from_mixture(fit.mixture))
        return self.completed(replace(fit, labels=partition.labels))


def prepare_rows(checked: CheckedRows, plan: Plan, sampling: np.random.Generator, n_threads: int) -> Prepared:
    """The problem of legal rows: on the distinct ones where that is asked for or pays, without rows of no weight."""
    compressible = plan.may_compress and not issparse(checked.X) and plan.engine in ("auto", "compressed")
    few = compressed(checked.X, checked.weights, n_threads) if compressible else None
    X, multiplicity = (checked.X, checked.weights) if few is None else (few.X, few.weights)
    used: Used = slice(None) if multiplicity is None or multiplicity.all() else multiplicity > 0
    problem = Problem(
        checked.family,
        X if isinstance(used, slice) else X[used],  # a slice of all sparse rows would be a copy
        None if multiplicity is None else multiplicity[used],
        plan.strength,
        plan.prescribed_weights,
        n_threads=n_threads,
        n_components=plan.n_components,
        engine="auto" if plan.engine == "compressed" else plan.engine,
        sampling=sampling,
        hard=plan.hard,
        resolution=plan.resolution_for(checked.family),
    )
    return Prepared(problem, X, used, few, checked.weight_factor)


# Rows in chunks -------------------------------------------------------------------------------------------------------


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

    @property
    def used(self) -> slice:
        """All rows that the problem has."""
        return slice(None)

    @property
    def weight_factor(self) -> float:
        """What sample weights were multiplied by, to count rows."""
        return self.checked.weight_factor

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
    factor, resolution = checked.weight_factor, plan.resolution_for(summary.family)
    settings = Settings(
        summary.family,
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
        summary.family,
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


# Both -----------------------------------------------------------------------------------------------------------------

AnyPrepared: TypeAlias = Prepared | PreparedChunks


def prepare(
    X: Any, plan: Plan, sample_weight: Any, columns: Sequence[str] | None, rng: np.random.Generator
) -> tuple[AnyPrepared, list[np.random.Generator]]:
    """The learning problem of the data, wherever it is, and a generator for each start."""
    if is_dask(X) or is_streamed(X):
        plan.check(sys.maxsize)
        chunks = check_chunks(X, sample_weight, plan)
        plan.check(chunks.n_rows)
        generators, sampling = generators_of(plan, rng)
        return prepare_chunks(chunks, plan, sampling), generators
    n_threads = plan.n_threads
    with shared_summaries(n_threads):
        rows = check_rows(X, resolve(plan.family), sample_weight, columns)
        plan.check(rows.X.shape[0])
        generators, sampling = generators_of(plan, rng)
        return prepare_rows(rows, plan, sampling, n_threads), generators


def generators_of(plan: Plan, rng: np.random.Generator) -> tuple[list[np.random.Generator], np.random.Generator]:
    """A generator for each start, and the one that draws the sample."""
    return rng.spawn(plan.n_runs), rng.spawn(1)[0]
