"""Chunks that stay on the workers of a Dask cluster, or wherever the active Dask scheduler keeps them.

Everything is said in Dask's own terms: pieces are persisted, passes are tasks on them, sums are a tree of tasks. A
worker that dies takes its pieces with it; Dask makes them again from the data, and the pass goes on.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import Any, TypeVar, cast

import numpy as np

from ..data.batches import Chunk, as_chunk
from ..families import ExponentialFamily
from .chunked import Chunks
from .pieces import Piece, Settings, Task

try:
    import dask.array
    from dask.base import annotate, compute, persist
    from dask.delayed import Delayed, delayed
except ModuleNotFoundError as error:  # pragma: no cover - the extra is installed where this is tested
    raise ModuleNotFoundError("Dask data needs Dask: pip install 'kmle[dask]'", name="dask") from error

T = TypeVar("T")

# Answers are added this many at a time, so that no machine has to hold those of all chunks.
FAN_IN = 8
# Parameters are sent with each of so few tasks; of more tasks, those on one worker share what was sent once.
FEW_TASKS = 64
# A cluster without a single worker for this many seconds is lost.
PATIENCE = 60.0
# How often, in seconds, a pass that takes long looks whether there are still workers.
WATCH = 1.0

REMEDY = ": restart it and fit with resume=True to continue from the checkpoint, if there is one"


class ClusterLostError(RuntimeError):
    """There is no cluster left to finish the fit."""


class DaskChunks(Chunks):
    """The blocks of a Dask array or the partitions of a DataFrame."""

    name = "Dask"
    stays = True

    def __init__(self, X: Any, sample_weight: Any, family: ExponentialFamily) -> None:
        table = as_table(X, lengths=True)
        self._lengths = table.chunks[0]
        firsts = np.concatenate([[0], np.cumsum(self._lengths)])
        blocks = list(table.to_delayed().ravel())
        weights = _blocks_of_weights(sample_weight, self._lengths, firsts)
        make = delayed(partial(as_chunk, family=family), pure=False)
        blocks_and_weights = zip(self._lengths, blocks, weights, firsts[:-1].tolist(), strict=True)
        self._chunks: list[Delayed] = [make(*block) for length, *block in blocks_and_weights if length]
        self._pieces: list[Delayed] = []
        self._workers: list[list[str]] = []
        self._client = _client()
        if not self._chunks:
            raise ValueError("there are no rows: at least one is needed")

    def threads(self, n_threads: int) -> int:
        """One: Dask gives every core a chunk of its own."""
        return 1

    def summarize(self, function: Callable[[Chunk], T]) -> T:
        """One pass over the chunks as they come: the sum of the answers, in the order of the chunks."""
        # The rows are kept where they were read, so that they are read once.
        self._chunks = list(persist(*self._chunks))
        task = delayed(partial(_guarded, function), pure=False)
        answer = _summed([task(chunk) for chunk in self._chunks], self._client)
        if isinstance(answer, Refusal):
            raise ValueError(answer.reason)
        return cast(T, answer)

    def prepare(self, settings: Settings) -> None:
        """Makes the pieces that passes go over."""
        make = delayed(Piece, pure=False)
        shared = delayed(settings, pure=False, traverse=False)
        self._pieces = list(persist(*[make(chunk, shared) for chunk in self._chunks]))
        self._workers = _workers(self._pieces, self._client)

    def summed(self, function: Callable[..., T], *arguments: Any, each: Sequence[Any] | None = None) -> T:
        """The sum of function(piece, *arguments, each[i]) over the pieces, in their order."""
        task = delayed(function, pure=False)
        shared = _shared(arguments, len(self._pieces))
        own = [()] * len(self._pieces) if each is None else [(value,) for value in each]
        answers = [self._asked(place, task, *shared, *mine) for place, mine in enumerate(own)]
        return cast(T, _summed(answers, self._client))

    def at(self, place: int, function: Callable[..., T], *arguments: Any) -> T:
        """function(piece, *arguments) for one piece."""
        answer = self._asked(place, delayed(function, pure=False), *arguments)
        return cast(T, _computed([answer], self._client)[0])

    def _asked(self, place: int, task: Any, *arguments: Any) -> Delayed:
        """A task on one piece, where that piece is."""
        # A scheduler may think that a piece is quickly moved; what its engine remembers would be lost. Where its home
        # is gone, any other worker will do.
        workers = self._workers[place]
        with annotate(workers=workers, allow_other_workers=True) if workers else nullcontext():
            return cast(Delayed, task(self._pieces[place], *arguments))

    def labels(self, task: Task, n_rows: Sequence[int]) -> Any:
        """The labels of all rows as a Dask array; they stay with the rows until they are asked for."""
        ask = delayed(Piece.labels, pure=False)
        shared = delayed(task, pure=False, traverse=False)
        parts = [
            dask.array.from_delayed(ask(piece, shared), (length,), dtype=np.int32)
            for piece, length in zip(self._pieces, n_rows, strict=True)
        ]
        return dask.array.concatenate(parts)


def by_block(function: Callable[[Any], Any], X: Any, dtype: Any, n_columns: int | None = None) -> Any:
    """A function of rows, block by block, as a Dask array with as many rows: one number per row, or several columns."""
    table = as_table(X, lengths=None)
    if n_columns is None:
        return table.map_blocks(function, dtype=dtype, drop_axis=1, meta=np.zeros(0, dtype=dtype))
    chunks = (table.chunks[0], (n_columns,))
    return table.map_blocks(function, dtype=dtype, chunks=chunks, meta=np.zeros((0, n_columns), dtype=dtype))


def as_table(X: Any, lengths: bool | None) -> Any:
    """A Dask array (n, d) in blocks of whole rows, of known lengths if those are asked for."""
    table = X if isinstance(X, dask.array.Array) else X.to_dask_array(lengths=lengths)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2:
        raise ValueError(f"a Dask array of {table.ndim} dimensions is not a table: give an array of two dimensions")
    if len(table.chunks[1]) > 1:
        table = table.rechunk({1: -1})
    if lengths and any(np.isnan(length) for length in table.chunks[0]):
        table = table.compute_chunk_sizes()
    return table


def _blocks_of_weights(sample_weight: Any, lengths: Sequence[int], firsts: Any) -> list[Any]:
    """The weights of each block of rows, wherever they are."""
    if sample_weight is None:
        return [None] * len(lengths)
    n = int(firsts[-1])
    if not isinstance(sample_weight, dask.array.Array):
        sample_weight = getattr(sample_weight, "to_dask_array", partial(_as_dask, sample_weight, n))()
    if sample_weight.shape[0] != n and not np.isnan(sample_weight.shape[0]):
        raise ValueError(f"sample_weight has shape {sample_weight.shape}; one weight per row is needed, shape ({n},)")
    if np.isnan(sample_weight.shape[0]):
        sample_weight = sample_weight.compute_chunk_sizes()
    return list(sample_weight.rechunk({0: tuple(lengths)}).to_delayed().ravel())


def _as_dask(sample_weight: Any, n: int) -> Any:
    values = np.full(n, float(sample_weight)) if np.ndim(sample_weight) == 0 else np.asarray(sample_weight, dtype=float)
    return dask.array.from_array(values)


@dataclass(frozen=True)
class Refusal:
    """Why a chunk is not legal. It is an answer like any other, so that no worker reports a failure of its own."""

    reason: str


def _guarded(function: Callable[[Chunk], T], chunk: Chunk) -> T | Refusal:
    try:
        return function(chunk)
    except ValueError as error:
        return Refusal(str(error))


def _added(parts: list[Any]) -> Any:
    """The sum of answers, or the first refusal among them."""
    for part in parts:
        if isinstance(part, Refusal):
            return part
    return reduce(add, parts)


def _shared(arguments: Sequence[Any], n_tasks: int) -> Sequence[Any]:
    """Arguments of many tasks: made a task of their own where they would otherwise be sent very often."""
    if n_tasks <= FEW_TASKS:
        return arguments
    return [delayed(argument, pure=False, traverse=False) for argument in arguments]


def _summed(parts: list[Delayed], client: Any | None) -> Any:
    """The sum of answers, by a tree whose root is here; they are added in their order."""
    merged = delayed(_added, pure=False)
    while len(parts) > FAN_IN:
        parts = [merged(parts[start : start + FAN_IN]) for start in range(0, len(parts), FAN_IN)]
    return _added(_computed(parts, client))


# Waiting for a cluster ------------------------------------------------------------------------------------------------


def _client() -> Any | None:
    """The client that Dask would use, if there is one."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _computed(values: list[Delayed], client: Any | None) -> list[Any]:
    """The values, or one sentence when there is no cluster left to compute them."""
    if client is None:
        return list(compute(*values))
    with _one_sentence(client):
        return list(client.gather(_awaited(client, client.compute(values))))


def _workers(pieces: list[Delayed], client: Any | None) -> list[list[str]]:
    """The worker of each piece, once it is made; none where there is no cluster."""
    if client is None:
        return [[] for _ in pieces]
    with _one_sentence(client):
        futures = _awaited(client, client.compute(pieces))
        where = client.who_has(futures)
    return [list(where.get(future.key, ()))[:1] for future in futures]


@contextmanager
def _one_sentence(client: Any) -> Iterator[None]:
    """Turns the many ways in which a cluster can be lost into one error."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    if client.status != "running":
        raise ClusterLostError(f"the Dask cluster was lost (its client is {client.status}){REMEDY}")
    try:
        yield
    except (KilledWorker, FutureCancelledError, CommClosedError) as error:
        raise ClusterLostError(f"the Dask cluster was lost ({type(error).__name__}){REMEDY}") from error


def _awaited(client: Any, futures: list[Any]) -> list[Any]:
    """The futures, done; a cluster that has had no worker for long will not bring them."""
    from distributed import wait

    alone_since: float | None = None
    while True:
        try:
            wait(futures, timeout=WATCH)
        except TimeoutError:
            active = client.status == "running" and bool(client.scheduler_info(n_workers=-1)["workers"])
            now = time.monotonic()
            alone_since = None if active else (alone_since or now)
            if alone_since is not None and now - alone_since > PATIENCE:
                client.cancel(futures)
                message = f"the Dask cluster has had no worker for {PATIENCE:.0f} seconds{REMEDY}"
                raise ClusterLostError(message) from None
        else:
            return futures
