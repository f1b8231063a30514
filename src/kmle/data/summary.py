"""The summary of data in chunks: is it legal, how much is there, where is its center, do rows repeat."""

from dataclasses import dataclass

import numpy as np

from ..families import ExponentialFamily
from ..families.sparse import check_sparse
from ..families.validation import check_learnable, check_rows
from ..numerics.arrays import Array
from .batches import Chunk
from .centering import Extent, all_single, blocks_of, centered_exactly, data_center, exact_center, merged_centers
from .distinct import SHARE, compressed, distinct
from .holes import Holes, family_with_holes, holes_of

# Distinct rows are collected while they are no more than this many numbers: a table that is cheap to send and to keep.
MOST_NUMBERS = 1 << 21


@dataclass(frozen=True)
class Table:
    """Distinct rows of all chunks so far with their weights; `X` is None once there are too many."""

    X: Array | None
    weights: Array | None

    def __add__(self, other: "Table") -> "Table":
        if self.X is None or other.X is None:
            return Table(None, None)
        assert self.weights is not None
        assert other.weights is not None
        few = distinct(np.concatenate([self.X, other.X]), np.concatenate([self.weights, other.weights]))
        assert few is not None  # all rows are a share of one
        return Table(few.X, few.weights) if few.X.size <= MOST_NUMBERS else Table(None, None)


@dataclass(frozen=True)
class ChunkSummary:
    """What chunks have told so far; two of them add to that of all chunks."""

    family: ExponentialFamily
    n_rows: tuple[int, ...]
    """Rows of each chunk."""
    n_weighty: tuple[int, ...]
    """Those of them that have weight."""
    weight: float
    middle: Array | None
    """Where the family would measure rows from."""
    table: Table
    extent: Extent | None = None
    """None unless single precision holds all rows."""
    checksums: tuple[int, ...] = ()
    """Of each chunk what tells it from others."""
    holes: Holes | None = None
    """The missing entries; None for sparse rows."""

    def __add__(self, other: "ChunkSummary") -> "ChunkSummary":
        return ChunkSummary(
            self.family.merge(other.family),
            self.n_rows + other.n_rows,
            self.n_weighty + other.n_weighty,
            self.weight + other.weight,
            merged_centers(self.middle, self._entries, other.middle, other._entries),
            self.table + other.table,
            None if self.extent is None or other.extent is None else self.extent + other.extent,
            self.checksums + other.checksums,
            None if self.holes is None or other.holes is None else self.holes + other.holes,
        )

    @property
    def _entries(self) -> Array | float:
        """How much the entries of each column weigh, about."""
        if self.holes is None or not self.holes:
            return self.weight
        return np.maximum(self.weight * (1 - self.holes.missing / self.holes.n_rows), 1e-300)

    @property
    def learned_family(self) -> ExponentialFamily:
        """The family, for rows with missing entries where there are any."""
        return self.family if self.holes is None else family_with_holes(self.family, self.holes)

    @property
    def center(self) -> Array | None:
        """Where rows are measured from: without rounding where single precision holds them."""
        if self.middle is None or self.extent is None:
            return self.middle
        return exact_center(self.family, self.middle, self.extent)

    @property
    def single(self) -> bool | None:
        """Whether single precision holds all rows as the kernels see them, where that is known."""
        center = self.center
        if center is None or self.extent is None or self.family.kernel_shift(center) is None:
            return None
        return centered_exactly(center, self.extent.lowest, self.extent.highest)

    @property
    def distinct(self) -> Table | None:
        """The distinct rows, if they are few enough beside all to be learned from instead."""
        X = self.table.X
        return None if X is None or len(X) > SHARE * sum(self.n_weighty) else self.table


def summarize_chunk(
    chunk: Chunk, family: ExponentialFamily, columns: list[str] | None, may_compress: bool
) -> ChunkSummary:
    """Reads one chunk; what is not legal there is refused with its row and column."""
    family_of_chunk = family.for_data(chunk.X)
    if chunk.sparse:
        return _summarize_sparse(
            Chunk(check_sparse(family_of_chunk, chunk.X, chunk.first_row), chunk.weights), family_of_chunk
        )
    X, summary = check_rows(family_of_chunk, chunk.X, columns, chunk.first_row, missing=True)
    check_learnable(family_of_chunk, summary, columns)
    holes = holes_of(X, summary)
    weighty = Chunk(X, chunk.weights, chunk.first_row).weighty
    extent = Extent.of(X, summary) if not holes and all_single(blocks_of(X)) else None
    n = len(weighty.X)
    if n == 0:
        return ChunkSummary(
            family_of_chunk, (len(X),), (0,), 0.0, None, Table(X[:0], np.zeros(0)), extent, (chunk.checksum,), holes
        )
    weight = _weight(weighty)
    known = summary if weighty.X is X else None
    few = compressed(weighty.X, weighty.weights, share=1.0, summary=known) if may_compress else None
    table = Table(None, None) if few is None or few.X.size > MOST_NUMBERS else Table(few.X, few.weights)
    middle = data_center(family_of_chunk, weighty.X.astype(float, copy=False), weighty.weights, known)
    return ChunkSummary(family_of_chunk, (len(X),), (n,), weight, middle, table, extent, (chunk.checksum,), holes)


def _summarize_sparse(chunk: Chunk, family_of_chunk: ExponentialFamily) -> ChunkSummary:
    """Sparse rows are not centered, and not searched for distinct ones."""
    weighty = chunk.weighty
    return ChunkSummary(
        family_of_chunk,
        (len(chunk),),
        (len(weighty),),
        _weight(weighty),
        None,
        Table(None, None),
        checksums=(chunk.checksum,),
    )


def _weight(chunk: Chunk) -> float:
    return float(len(chunk) if chunk.weights is None else chunk.weights.sum())
