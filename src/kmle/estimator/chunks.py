"""Fits on data in chunks: streams, arrays on disk, Dask collections."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..assignment.problem import LearningProblem, Problem
from ..execution import Batches, ChunkedProblem, Chunks, Settings, StreamedChunks, is_dask
from ..execution.batches import as_batches
from ..execution.look import Look, look_at
from ..execution.piece import Task
from ..families import ExponentialFamily
from ..families.checking import relative_factor
from ..families.resolution import Asked
from ..families.sparse import check_sparse, issparse
from ..learning import Fit
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..numerics.digest import merged
from .notes import overfit_notes

# Algorithms that go from row to row.
AT_HAND_ONLY = ("hartigan", "exact")


@dataclass(frozen=True)
class Looked:
    """Chunks after the first look at them."""

    chunks: Chunks
    look: Look
    columns: list[str] | None

    @property
    def n_features(self) -> int:
        """How many columns there are."""
        columns = self.look.family.n_features
        assert columns is not None  # settled by the look
        return columns

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return sum(self.look.n_rows)

    @property
    def weight_factor(self) -> float:
        """What the weights of rows are multiplied by, to count rows."""
        return relative_factor(self.look.weight, sum(self.look.n_weighty))


@dataclass(frozen=True)
class PreparedChunks:
    """A learning problem of data in chunks, and the way back from its rows to those of the data."""

    looked: Looked
    problem: LearningProblem
    few: bool
    """Whether the problem is that of the distinct rows."""

    @property
    def seen(self) -> slice:
        """All rows that the problem has."""
        return slice(None)

    @property
    def engine(self) -> str:
        """What finds the labels, in words."""
        name = self.problem.engine_name
        if not self.few:
            return name
        rows = self.looked.look.table.X
        assert rows is not None  # few
        return f"{name} on {len(rows)} distinct rows"

    @property
    def content(self) -> str:
        """What tells the data from other data."""
        return merged(self.looked.look.checksums)

    def completed(self, fit: Fit) -> Fit:
        """The fit with a label for every row of the data."""
        labels: Any = fit.labels
        if self.few:
            parameters = self.problem.from_mixture(fit.mixture)
            task = Task(parameters.natural, parameters.log_weights, self.problem.bias(parameters), False)
            labels = self.looked.chunks.labels(task, self.looked.look.n_rows)
        fit = replace(fit, labels=labels, engine=self.engine)
        return replace(fit, notes=overfit_notes(fit, self.problem))


def looked(X: Any, sample_weight: Any, family: ExponentialFamily, may_compress: bool) -> Looked:
    """The first look: one pass in which every row is checked."""
    chunks: Chunks
    if is_dask(X):
        from ..execution.cluster import DaskChunks  # Dask is an extra

        chunks, columns = DaskChunks(X, sample_weight, family), getattr(X, "columns", None)
    else:
        chunks, columns = StreamedChunks(as_batches(X, sample_weight), family), getattr(X, "columns", None)
    names = None if columns is None else [str(name) for name in columns]
    look: Look = chunks.look(partial(look_at, family=family, columns=names, may_compress=may_compress))
    if look.weight == 0:
        raise ValueError("all sample weights are zero: at least one must be positive")
    return Looked(chunks, look, names)


def prepared_chunks(
    looked: Looked,
    *,
    prior_strength: float,
    prescribed_weights: Array | None,
    n_threads: int,
    n_components: int,
    assignment: str,
    sampling: np.random.Generator,
    resolution: Asked = None,
    hard: bool = False,
) -> PreparedChunks:
    """The problem of the distinct rows where they are few, else of all chunks."""
    look, chunks = looked.look, looked.chunks
    engine = "auto" if assignment == "compressed" else assignment
    factor, threads = looked.weight_factor, chunks.threads(n_threads)
    settings = Settings(
        look.family, look.origin, n_components, engine, threads, chunks.stays, factor, look.single, hard
    )
    chunks.settle(settings)
    table = look.distinct if assignment in ("auto", "compressed") else None
    if table is None or table.X is None:
        problem = ChunkedProblem(chunks, settings, look, prior_strength, prescribed_weights, sampling, resolution)
        return PreparedChunks(looked, problem, few=False)
    few = Problem(
        look.family,
        table.X,
        None if table.weights is None else factor * table.weights,
        prior_strength,
        prescribed_weights,
        look.origin,
        n_threads,
        n_components,
        engine,
        sampling,
        hard,
        resolution,
    )
    return PreparedChunks(looked, few, few=True)


def check_algorithm(name: str) -> None:
    """Refuses what chunks cannot do, before anything is read."""
    if name in AT_HAND_ONLY:
        raise ValueError(
            f"algorithm is {name!r}, which goes from row to row, so all must be in memory: on chunks use 'k-mle', "
            "'hard-em', 'swap' or 'online'"
        )


def of_block(mixture: Mixture, method: str, X: Any, first_row: int = 0) -> Array:
    """What a mixture says of the rows of one block, dense or sparse, after they have been checked."""
    family = mixture.family
    rows = check_sparse(family, X, first_row) if issparse(X) else family.check(X, first_row=first_row)
    return getattr(mixture, method)(rows)


def opened(X: Any) -> Any:
    """Batches to be read once, from anything that comes in batches."""
    return iter(X() if callable(X) and not isinstance(X, Batches) else X)
