"""The learning problem of data in chunks: every pass goes to where the chunks are, statistics come back and add up."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..data.batches import Chunk, stacked
from ..data.sparse import SparseRows
from ..data.summary import ChunkSummary
from ..data.table import Rows
from ..engines.partition import Compact, Partition
from ..engines.statistics import ClusterStatistics
from ..families.incomplete import Incomplete
from ..families.resolution import Asked
from ..families.validation import issparse
from ..numerics.arrays import Array
from ..numerics.reservoir import reservoir_places
from .model import Parameters
from .parts import PartedProblem
from .pieces import Piece, Settings, Sums, Task
from .problem import Problem, has_direct, sample_size, sampled_resolution, without_extremes

T = TypeVar("T")

# Sums of the statistics of all components are those of all rows, but for rounding of this size beside their largest.
SAME_SUMS = 1e-9
SAME_EVERY_TIME = "it must give the same batches in every pass"


class Chunks(ABC):
    """Where the chunks are. What is asked of each is a function that can be sent there; answers add up with `+`."""

    name: str

    @property
    @abstractmethod
    def stays(self) -> bool:
        """Whether chunks are held, so that what is prepared for one pass serves the next."""

    @abstractmethod
    def threads(self, n_threads: int) -> int:
        """How many of the threads work on one chunk."""

    @abstractmethod
    def summarize(self, function: Callable[[Chunk], T]) -> T:
        """One pass over the chunks as they come: the sum of the answers, in the order of the chunks."""

    @abstractmethod
    def prepare(self, settings: Settings) -> None:
        """Makes the pieces that passes go over."""

    @abstractmethod
    def summed(self, function: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None) -> T:
        """The sum of function(piece, *arguments, each[i]) over the pieces, in their order."""

    @abstractmethod
    def at(self, place: int, function: Callable[..., T], *arguments: Any) -> T:
        """function(piece, *arguments) for one piece."""

    @abstractmethod
    def labels(self, task: Task, n_rows: Sequence[int]) -> Any:
        """The labels of all rows, as an array of whatever kind the data came in."""


class ChunkedProblem(PartedProblem):
    """A learning problem whose rows are elsewhere. `firsts` are the places of the pieces' first rows among all."""

    def __init__(
        self,
        chunks: Chunks,
        settings: Settings,
        look: ChunkSummary,
        prior_strength: float,
        weights: Array | None,
        sampling: np.random.Generator,
        resolution: Asked = None,
    ) -> None:
        self.chunks = chunks
        self.n_rows = look.n_rows
        self.firsts = np.concatenate([[0], np.cumsum(look.n_weighty)[:-1]]).astype(int)
        self._places = reservoir_places(sum(look.n_weighty), sample_size(settings.n_components), sampling)
        sums: Sums = chunks.summed(Piece.sums, each=_split(self._places, self.firsts))
        self._sampled, self._settings, self._engines = sums.sampled, settings, sorted(sums.engines)
        summary, known, sampled = sums.summary, None, self._sampled_rows
        holes = look.holes is not None and bool(look.holes)
        expects = holes and not isinstance(settings.family, Incomplete)
        if isinstance(sampled, Rows):
            known = sampled_resolution(settings.family, sampled.X, resolution)
            if expects:
                # Chunks that lack a column know nothing of it.
                summary = replace(summary, mean_statistic=sampled.mean_statistic)
            summary = without_extremes(summary, sampled)
        super().__init__(settings.family, summary, settings.center, prior_strength, weights, known)
        self._expects = expects
        self._sums_of_all = sums.statistic
        self.has_direct = has_direct(self, self._sampled_rows)

    @property
    def expects(self) -> bool:
        """Whether statistics are expectations given the parameters of a pass, as missing entries make them."""
        return self._expects

    @property
    def engine_name(self) -> str:
        """What finds the labels, as users call it."""
        return f"{' and '.join(self._engines)} on {len(self.n_rows)} chunks of {self.chunks.name}"

    @cached_property
    def _sampled_rows(self) -> Rows | SparseRows:
        X = stacked([chunk.X for chunk in self._sampled])
        parts = [chunk.weights for chunk in self._sampled if chunk.weights is not None]
        settings, weights = self._settings, np.concatenate(parts) if parts else None
        if issparse(X):
            return SparseRows(settings.family, X, weights, settings.n_threads)
        return Rows(settings.family, X, weights, settings.center, settings.n_threads)

    @cached_property
    def sample(self) -> Problem:
        """The problem on a random sample of its rows, held in memory; on all of them if they are few."""
        return Problem.like(self, self._sampled_rows)

    @property
    def row_values(self) -> float:
        """How many numbers a pass reads for each row, on average: of sparse rows those that are stored."""
        return self.sample.row_values

    def _task(self, parameters: Parameters) -> Task:
        bias = self.bias(parameters)
        return Task(parameters.natural, parameters.log_weights, bias, self._loses_digits(parameters, bias))

    def assign(self, parameters: Parameters) -> tuple[Partition, ClusterStatistics]:
        """Hard pass over all rows: who belongs where, and the statistics."""
        task = self._task(parameters)
        answer = self.chunks.summed(Piece.hard, task)
        self._check_unchanged(answer.statistics)
        digests = np.frombuffer(b"".join(answer.digests), dtype=np.uint8)
        write = partial(self.chunks.labels, task, self.n_rows)
        return Compact(lambda: (digests,), write, self.chunks, found_by=task), answer.statistics

    def soften(self, parameters: Parameters, n_responsibilities: int | None = None) -> ClusterStatistics:
        """Soft pass: statistics by responsibility, of the `n_responsibilities` largest per row or of all."""
        statistics = self.chunks.summed(Piece.soft, self._task(parameters), n_responsibilities)
        self._check_unchanged(statistics)
        return statistics

    def row_log_likelihood(self, parameters: Parameters) -> tuple[float, float]:
        """Sums over rows of log sum_j exp(score_j) and of posterior entropies."""
        score, entropy = self.chunks.summed(Piece.log_likelihood, self._task(parameters))
        return float(score), float(entropy)

    def direct_fits(self, partition: Partition, *naturals: Array) -> Array:
        """For each of several parameters (k, D) the sum of log p(x) - k(x) over the rows of each component, (m, k)."""
        assert isinstance(partition, Compact)  # the only partitions of rows in chunks
        return self.chunks.summed(Piece.direct_fits, partition.found_by, naturals)

    def _check_unchanged(self, statistics: ClusterStatistics) -> None:
        """Refuses statistics that are not of the rows that were there at first, where these are read again."""
        if self.chunks.stays:
            return
        if self.expects:
            if abs(statistics.counts.sum() - self.total) > SAME_SUMS * self.total:
                raise ValueError(f"the rows of the stream have changed since the first pass: {SAME_EVERY_TIME}")
            return
        scale = SAME_SUMS * self.total * self.largest_statistic
        if (np.abs(statistics.sums.sum(axis=0) - self._sums_of_all) > scale).any():
            raise ValueError(f"the sums over the stream have changed since the first pass: {SAME_EVERY_TIME}")

    def over_rows(self, function: Callable[[Rows | SparseRows, int], T]) -> T:
        """The sum of what a function of rows, and of where they begin, says of all."""
        return self.chunks.summed(Piece.on_rows, function, each=self.firsts.tolist())

    @property
    def n_parts(self) -> int:
        """How many chunks there are."""
        return len(self.n_rows)

    def over_part(self, part: int, function: Callable[[Rows | SparseRows, int], T]) -> T:
        """What a function of rows, and of where they begin, says of one chunk."""
        return self.chunks.at(part, Piece.on_rows, function, int(self.firsts[part]))

    def places_in_parts(self, sampled: NDArray[np.intp]) -> list[NDArray[np.intp]]:
        """Which rows of each chunk are the rows of `sample` with these indices, in ascending order."""
        return _split(self._places[sampled], self.firsts)


def _split(places: NDArray[np.intp], firsts: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """For each piece which of its rows are at these places among all."""
    cuts = np.searchsorted(places, firsts)
    return [part - first for part, first in zip(np.split(places, cuts[1:]), firsts, strict=True)]
