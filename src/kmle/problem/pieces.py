"""One chunk prepared for passes, and what is asked of it. All answers add up over chunks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.batches import Chunk
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..engines.base import Engine
from ..engines.choose import choose, passing_engine
from ..engines.panels.engine import PanelsEngine
from ..engines.partition import Partition
from ..engines.patterns.engine import PatternsEngine
from ..engines.precise import PreciseEngine
from ..engines.statistics import ClusterStatistics
from ..families import ExponentialFamily
from ..numerics.arrays import Array, Labels
from .objective import DataSummary

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """What every chunk must know: the family, where rows are measured from, and how to pass over them."""

    family: ExponentialFamily
    center: Array | None
    n_components: int
    engine: str = "auto"
    n_threads: int = 1
    stays: bool = True
    """Whether a chunk is passed over many times, so that ordering its rows pays."""
    weight_factor: float = 1.0
    """What the weights of rows are multiplied by, to count rows."""
    single: bool | None = None
    """Whether single precision holds what the kernels see of all rows; None: each chunk finds out."""
    hard: bool = False
    """Whether passes will be hard."""


@dataclass(frozen=True)
class Task:
    """The parameters of a pass, as they are sent to where the chunks are."""

    natural: Array
    log_weights: Array
    bias: Array
    direct: bool
    """Whether packed scores would lose too many digits."""


@dataclass(frozen=True)
class Answer:
    """What a hard pass over chunks leaves: statistics, and for each chunk a digest of its labels."""

    statistics: ClusterStatistics
    digests: tuple[bytes, ...]

    def __add__(self, other: "Answer") -> "Answer":
        return Answer(self.statistics + other.statistics, self.digests + other.digests)


@dataclass(frozen=True)
class Sums:
    """What the objective needs to know of chunks, and the rows of theirs that are in the sample."""

    weight: float
    statistic: Array
    largest: Array
    log_carrier: float
    sampled: tuple[Chunk, ...]
    engines: frozenset[str]

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(
            self.weight + other.weight,
            self.statistic + other.statistic,
            np.maximum(self.largest, other.largest),
            self.log_carrier + other.log_carrier,
            self.sampled + other.sampled,
            self.engines | other.engines,
        )

    @property
    def summary(self) -> DataSummary:
        """The same as the objective wants it."""
        return DataSummary(self.weight, self.statistic / self.weight, self.largest, self.log_carrier)


class Piece:
    """A chunk with its engine. What an engine remembers of the last pass makes the next one faster, never different, so
    a piece may be made anew at any time, on any machine."""

    def __init__(self, chunk: Chunk, settings: Settings, all_rows: bool = False) -> None:
        self.chunk = chunk
        self.all_rows = all_rows
        self.settings = settings
        self._last: tuple[Task, Partition] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"chunk": self.chunk, "settings": self.settings, "all_rows": self.all_rows, "_last": None}

    def __sizeof__(self) -> int:
        # The rows and their packed copy: schedulers weigh what it would cost to move or to make it.
        return 2 * self.chunk.nbytes

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def rows(self) -> Rows | SparseRows:
        """The rows to learn from, or all of them, measured from the common center."""
        weighty, settings = self.chunk if self.all_rows else self.chunk.weighty, self.settings
        weights = None if weighty.weights is None else settings.weight_factor * weighty.weights
        if weighty.sparse:
            return SparseRows(settings.family, weighty.X, weights, settings.n_threads)
        return Rows(settings.family, weighty.X, weights, settings.center, settings.n_threads, settings.single)

    @cached_property
    def engine(self) -> Engine:
        """What passes over them."""
        settings = self.settings
        if settings.stays and isinstance(self.rows, Rows):
            return choose(self.rows, settings.n_components, settings.engine, settings.hard)
        return passing_engine(self.rows)

    @cached_property
    def precise(self) -> PreciseEngine:
        """What passes over them where packed scores would lose too many digits."""
        assert isinstance(self.rows, Rows)  # sparse rows have no better scores
        return PreciseEngine(self.rows, self.engine)

    def sums(self, places: NDArray[np.intp]) -> Sums:
        """The chunk's part in the fixed parameters, and its rows at these places."""
        n_statistics = self.settings.family.n_statistics_for(self.chunk.X.shape[1])
        if len(self) == 0:
            return Sums(0.0, np.zeros(n_statistics), np.zeros(n_statistics), 0.0, (), frozenset())
        rows = self.rows
        # An engine that sorts its rows knows their sums already; made first, it leaves them with the rows.
        engines = frozenset([self.engine.name])
        weights = None if rows.weights is None else rows.weights[places]
        sampled = (Chunk(rows.X[places], weights),) if len(places) else ()
        return Sums(
            rows.total,
            rows.total * rows.mean_statistic,
            rows.largest_statistic,
            rows.sum_log_carrier(),
            sampled,
            engines,
        )

    def hard(self, task: Task) -> Answer:
        """Who belongs where, and the statistics."""
        if len(self) == 0:
            return Answer(ClusterStatistics.zeros(*task.natural.shape), (b"",))
        partition, statistics = self._hard(task)
        self._last = task, partition
        return Answer(statistics, (partition.digest,))

    def _hard(self, task: Task) -> tuple[Partition, ClusterStatistics]:
        if self._is_direct(task):
            return self.precise.hard_pass(task.natural, task.bias, task.log_weights)
        return self.engine.hard_pass(task.natural, task.bias)

    def soft(self, task: Task, n_responsibilities: int | None) -> ClusterStatistics:
        """Statistics by responsibility."""
        if len(self) == 0:
            return ClusterStatistics.zeros(*task.natural.shape)
        if self._is_direct(task):
            return self.precise.soft_pass(task.natural, task.bias, task.log_weights, n_responsibilities)
        return self.engine.soft_pass(task.natural, task.bias, n_responsibilities)

    def log_likelihood(self, task: Task) -> Array:
        """The sums of the rows' log sum_j exp(score_j), and of the entropies of their responsibilities, (2,)."""
        if len(self) == 0:
            return np.zeros(2)
        if self._is_direct(task):
            return np.array(self.precise.log_likelihood(task.natural, task.bias, task.log_weights))
        found = self.engine.log_likelihood(task.natural, task.bias)
        if found is not None:
            return np.array(found)
        softened, active = self.engine.soft_pass(task.natural, task.bias), np.isfinite(task.bias)
        expected = np.einsum("kd,kd->", softened.sums[active], task.natural[active])
        return np.array([softened.score, softened.score - expected - softened.counts[active] @ task.bias[active]])

    def direct_fits(self, task: Task, naturals: Sequence[Array]) -> Array:
        """For each of several parameters the sum of log p(x) - k(x) over the rows that a pass gives each component."""
        if len(self) == 0:
            return np.zeros((len(naturals), len(task.natural)))
        assert isinstance(self.rows, Rows)  # sparse rows have no direct densities
        partition = self._partition(task)
        if isinstance(self.engine, PatternsEngine):
            return np.array([self.engine.fits(natural, partition) for natural in naturals])
        return np.array([self.precise.fits(natural, partition.labels) for natural in naturals])

    def _is_direct(self, task: Task) -> bool:
        return task.direct and not isinstance(self.engine, PanelsEngine | PatternsEngine)

    def labels(self, task: Task) -> Labels:
        """The component of every row of the chunk, also of those without weight."""
        chunk = self.chunk
        if len(self) < len(chunk):
            return Piece(Chunk(chunk.X, None, chunk.first_row), self.settings, all_rows=True).labels(task)
        return self._partition(task).labels

    def _partition(self, task: Task) -> Partition:
        """The outcome of a hard pass over the rows that have weight: that of the last one, where it was the same."""
        if self._last is None or not _same(self._last[0], task):
            self._last = task, self._hard(task)[0]
        return self._last[1]

    def on_rows(self, function: Callable[[Rows | SparseRows, int], T], first: int) -> T:
        """What a function of rows says of these, the first of which is that many from the start."""
        return function(self.rows, first)


def _same(one: Task, other: Task) -> bool:
    return np.array_equal(one.natural, other.natural) and np.array_equal(one.log_weights, other.log_weights)
