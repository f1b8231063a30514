"""The first look at the data: is it legal, how much is there, where is it measured from, does it repeat itself."""

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from ..assignment.compression import SHARE, compressed, distinct
from ..families import ExponentialFamily
from ..families.checking import check_learnable
from ..numerics.arrays import Array
from .batches import Chunk

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
class Look:
    """What chunks have told so far; two of them add to that of all chunks."""

    family: ExponentialFamily
    n_rows: tuple[int, ...]
    """Rows of each chunk."""
    n_weighty: tuple[int, ...]
    """Those of them that have weight."""
    weight: float
    origin: Array | None
    table: Table

    def __add__(self, other: "Look") -> "Look":
        return Look(
            self.family.together(other.family),
            self.n_rows + other.n_rows,
            self.n_weighty + other.n_weighty,
            self.weight + other.weight,
            self._origin_with(other),
            self.table + other.table,
        )

    def _origin_with(self, other: "Look") -> Array | None:
        """The middle of both; what they agree on exactly stays so, that nothing is left of a constant column."""
        if self.origin is None or other.origin is None:
            return self.origin if other.origin is None else other.origin
        share = other.weight / (self.weight + other.weight)
        return np.where(self.origin == other.origin, self.origin, self.origin + share * (other.origin - self.origin))

    @property
    def distinct(self) -> Table | None:
        """The distinct rows, if they are few enough beside all to be learned from instead."""
        X = self.table.X
        return None if X is None or len(X) > SHARE * sum(self.n_weighty) else self.table


def look_at(chunk: Chunk, family: ExponentialFamily, columns: list[str] | None, may_compress: bool) -> Look:
    """A look at one chunk; what is not legal there is refused with its row and column."""
    settled = family.for_data(chunk.X)
    X = settled.check(chunk.X, columns, chunk.first_row)
    check_learnable(settled, X, columns)
    weighty = Chunk(X, chunk.weights, chunk.first_row).weighty
    n = len(weighty.X)
    if n == 0:
        return Look(settled, (len(X),), (0,), 0.0, None, Table(X[:0], np.zeros(0)))
    weight = float(n if weighty.weights is None else weighty.weights.sum())
    few = compressed(weighty.X, weighty.weights, share=1.0) if may_compress else None
    table = Table(None, None) if few is None or few.X.size > MOST_NUMBERS else Table(few.X, few.weights)
    return Look(settled, (len(X),), (n,), weight, settled.origin(weighty.X, weighty.weights), table)


def look_at_all(looks: list[Look]) -> Look:
    """The looks at several chunks as one."""
    return reduce(add, looks)
