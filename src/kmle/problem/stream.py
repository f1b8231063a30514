"""Chunks of this process: read again for every pass, or kept once they turn out to fit."""

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from itertools import islice
from operator import add
from typing import Any, TypeVar

import numpy as np

from ..data.batches import Batches, Chunk, chunks_of
from ..families import ExponentialFamily
from ..numerics.arrays import Labels
from .chunked import SAME_EVERY_TIME, Chunks
from .pieces import Piece, Settings, Task

T = TypeVar("T")

# Rows that take no more than this, with the copy that passes go over, are read once and kept.
KEPT_BYTES = 256 << 20
# Labels of more rows than this are not gathered: `predict` gives them batch by batch.
MOST_LABELS = 1 << 26


class StreamedChunks(Chunks):
    """Batches, one after the other; all cores work on each."""

    name = "a stream"

    def __init__(self, batches: Batches, family: ExponentialFamily) -> None:
        self._batches = batches
        self._family = family
        self._settings: Settings | None = None
        self._kept: list[Piece] | None = None
        self._first_read: list[tuple[int, int]] = []
        """Length and checksum of each batch when it was first read."""
        self._bytes = 0

    def summarize(self, function: Callable[[Chunk], T]) -> T:
        """One pass over the chunks as they come: the sum of the answers, in the order of the chunks."""
        self._first_read, self._bytes = [], 0
        total: T | None = None
        for chunk in chunks_of(self._batches, self._family):
            answer = function(chunk)
            total = answer if total is None else add(total, answer)
            self._first_read.append((len(chunk), chunk.checksum))
            self._bytes += chunk.nbytes
        assert total is not None  # a stream without rows is refused
        return total

    @property
    def stays(self) -> bool:
        """Whether all rows fit in memory, or are there anyway."""
        return self._bytes <= KEPT_BYTES or self._batches.in_memory

    def threads(self, n_threads: int) -> int:
        """All of them: chunks come one after the other."""
        return n_threads

    def prepare(self, settings: Settings) -> None:
        """Makes the pieces that passes go over."""
        self._settings, self._kept = settings, None
        if settings.stays:
            self._kept = list(self._pieces())

    def _pieces(self) -> Generator[Piece, None, None]:
        if self._kept is not None:
            yield from self._kept
            return
        assert self._settings is not None  # prepared
        place = 0
        for chunk in chunks_of(self._batches, self._family):
            if [(len(chunk), chunk.checksum)] != self._first_read[place : place + 1]:
                break
            place += 1
            yield Piece(chunk, self._settings)
        else:
            if place == len(self._first_read):
                return
        raise ValueError(
            f"the stream had {len(self._first_read)} batches in the first pass, and now batch {place} is "
            f"different: {SAME_EVERY_TIME}"
        )

    def summed(self, function: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None) -> T:
        """The sum of function(piece, *arguments, each[i]) over the pieces, in their order."""
        total: T | None = None
        for place, piece in enumerate(self._pieces()):
            own = () if each is None else (each[place],)
            answer = function(piece, *arguments, *own)
            total = answer if total is None else add(total, answer)
        assert total is not None  # there is at least one chunk
        return total

    def at(self, place: int, function: Callable[..., T], *arguments: Any) -> T:
        """function(piece, *arguments) for one piece; a stream is read up to there."""
        with closing(self._pieces()) as pieces:
            return function(next(islice(pieces, place, None)), *arguments)

    def labels(self, task: Task, n_rows: Sequence[int]) -> Labels:
        """The labels of all rows, or none where they would fill the memory."""
        if sum(n_rows) > MOST_LABELS:
            return np.zeros(0, dtype=np.int32)
        return np.concatenate([piece.labels(task) for piece in self._pieces()])
