"""Data that comes in batches: what counts as such, and how it is read once more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy

from ..families import ExponentialFamily
from ..families.sparse import as_csr, check_takes_sparse
from ..families.validation import as_rows, check_weights, issparse, unmasked, unmasked_weights
from ..numerics.arrays import Array
from ..numerics.digest import checksum
from .holes import with_entries

# One batch: rows, or rows and their weights.
Batch: TypeAlias = Any

# Arrays on disk are read in batches of about this many bytes: long enough to pay for the call, small beside memory.
BATCH_BYTES = 16 << 20


@dataclass(frozen=True)
class Chunk:
    """Rows in memory, dense or sparse, with their weights if they have any; `first_row` is their place among all."""

    X: Any
    weights: Array | None
    first_row: int = 0

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __sizeof__(self) -> int:
        # Schedulers compare what it costs to move it.
        return self.nbytes

    @property
    def sparse(self) -> bool:
        """Whether the rows are in compressed sparse form."""
        return issparse(self.X)

    @property
    def nbytes(self) -> int:
        """The memory of the rows."""
        parts = (self.X.data, self.X.indices, self.X.indptr) if self.sparse else (self.X,)
        return sum(int(part.nbytes) for part in parts)

    @cached_property
    def checksum(self) -> int:
        """What tells these rows and weights from others."""
        return checksum(self.X, self.weights)

    @property
    def weighty(self) -> Chunk:
        """Without rows of no weight or without any entry, which have no part in learning."""
        seen: Any = slice(None) if self.weights is None or self.weights.all() else self.weights > 0
        if not self.sparse and not isinstance(entries := with_entries(self.X), slice):
            seen = entries if isinstance(seen, slice) else seen & entries
        if isinstance(seen, slice):
            return self
        return Chunk(self.X[seen], None if self.weights is None else self.weights[seen], self.first_row)


class Batches:
    """Batches of rows that can be read several times: the input of `fit` for rows that do not fit in memory.

    A batch is an array (m, d), sparse if the family takes sparse rows, or a pair of rows and their weights.

    Parameters
    ----------
    source : callable, sequence, iterable or array
        A function that opens the stream, a sequence of batches, any object that starts again with every `iter`, or an
        array (such as a memory map or a SciPy sparse array) that is read in slices.
    batch_rows : int, default=None
        The rows of a slice of an array.
    sample_weight : array (n,), default=None
        The weights of the rows of an array.

    Examples
    --------
    >>> from kmle import KMLE
    >>> stream = Batches(lambda: ([[number], [40 * number]] for number in (1, 2, 3)))
    >>> KMLE(2, family="poisson", random_state=0).fit(stream).weights_.tolist()
    [0.5, 0.5]
    """

    def __init__(
        self,
        source: Callable[[], Iterable[Batch]] | Iterable[Batch] | Array,
        batch_rows: int | None = None,
        sample_weight: Array | None = None,
    ) -> None:
        if isinstance(source, Iterator):
            raise ValueError(
                "this iterator can be read only once, but the fit reads the data several times: give a function that "
                "opens it again, a list of batches, or use algorithm='online'"
            )
        self._source = unmasked(source)
        self._batch_rows = batch_rows
        self._sample_weight = unmasked_weights(sample_weight)

    def __iter__(self) -> Iterator[Batch]:
        if issparse(self._source) or (isinstance(self._source, np.ndarray) and self._source.ndim > 1):
            return self._slices(self._source)
        return iter(self._source() if callable(self._source) else self._source)

    def _slices(self, X: Any) -> Iterator[Batch]:
        sparse = issparse(X)
        X = scipy.sparse.csr_array(X) if sparse else X
        row_bytes = 12 * X.nnz // max(1, X.shape[0]) if sparse else X.itemsize * int(np.prod(X.shape[1:]))
        step = self._batch_rows or max(1, BATCH_BYTES // max(1, row_bytes))
        for start in range(0, X.shape[0], step):
            part = X[start : start + step]
            # A copy, so that the pages of a memory map are not held on to.
            rows = part if sparse else np.array(part)
            weights = None if self._sample_weight is None else self._sample_weight[start : start + step]
            yield rows if weights is None else (rows, weights)

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in memory anyway: in a list or tuple, or as one sparse array."""
        return isinstance(self._source, Sequence) or issparse(self._source)


def is_streamed(X: Any) -> bool:
    """Whether X comes in batches: `Batches`, an iterator, a function, a large memory map, or any other iterable that is
    neither an array nor a table nor a sequence."""
    if isinstance(X, Batches | Iterator) or callable(X):
        return True
    if isinstance(X, np.memmap):
        return X.ndim > 1 and X.nbytes > BATCH_BYTES
    others = ("__len__", "__array__", "__array_interface__", "__dataframe__")
    return hasattr(X, "__iter__") and not any(hasattr(X, name) for name in others)


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array or DataFrame; Dask is not imported to find out."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr") and hasattr(X, "__dask_graph__")


def with_large_first(chunks: Iterator[Chunk], n_rows: int) -> Iterator[Chunk]:
    """The chunks, the first ones joined until they have enough rows (or there are no more)."""
    gathered: list[Chunk] = []
    for chunk in chunks:
        gathered.append(chunk)
        n_rows -= len(chunk)
        if n_rows <= 0:
            yield _merged(gathered)
            gathered = []
    if gathered:
        yield _merged(gathered)


def _merged(chunks: list[Chunk]) -> Chunk:
    weights = [chunk.weights for chunk in chunks if chunk.weights is not None]
    return Chunk(
        stacked([chunk.X for chunk in chunks]), np.concatenate(weights) if weights else None, chunks[0].first_row
    )


def stacked(parts: Sequence[Any]) -> Any:
    """Rows one below the other: all dense or all sparse."""
    return scipy.sparse.vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def as_batches(X: Any, sample_weight: Array | None) -> Batches:
    """Anything that `is_streamed`, ready to be read several times."""
    if isinstance(X, np.memmap):
        return Batches(X, sample_weight=sample_weight)
    if sample_weight is not None:
        raise ValueError("sample_weight cannot be combined with batches: make each batch a pair of rows and weights")
    return X if isinstance(X, Batches) else Batches(X)


def chunks_of(batches: Iterable[Batch], family: ExponentialFamily) -> Iterator[Chunk]:
    """The batches as chunks: tables of numbers of one width, all dense or all sparse, all or none with weights."""
    first: Chunk | None = None
    first_row = 0
    for batch in batches:
        table, given = batch if isinstance(batch, tuple) and len(batch) == 2 else (batch, None)
        if np.shape(table)[:1] == (0,):
            continue
        chunk = as_chunk(table, given, first_row, family)
        first = chunk if first is None else first
        _check_alike(chunk, first)
        yield chunk
        first_row += len(chunk)
    if first is None:
        raise ValueError("there are no rows: at least one batch is needed")


def as_chunk(table: Any, weights: Any, first_row: int, family: ExponentialFamily) -> Chunk:
    """A batch of rows, dense or sparse, with their weights or None, as a chunk."""
    if issparse(table):
        check_takes_sparse(family)
        X = as_csr(table)
    else:
        X = as_rows(family, unmasked(table))
    return Chunk(X, None if weights is None else check_weights(weights, X.shape[0], first_row), first_row)


def _check_alike(chunk: Chunk, first: Chunk) -> None:
    """Refuses a batch that is not like the first one."""
    begins = f"the batch that begins at row {chunk.first_row}"
    if chunk.X.shape[1] != first.X.shape[1]:
        raise ValueError(
            f"{begins} has {chunk.X.shape[1]} columns, earlier ones have {first.X.shape[1]}: every batch needs the "
            "same columns"
        )
    if (chunk.weights is None) != (first.weights is None):
        raise ValueError(
            f"{begins} has weights and earlier ones have none, or the other way round: give weights with all batches "
            "or none"
        )
    if chunk.sparse != first.sparse:
        kinds = ("sparse", "dense") if chunk.sparse else ("dense", "sparse")
        raise ValueError(f"{begins} is {kinds[0]}, earlier ones are {kinds[1]}: give all batches in one form")
