"""Rows in blocks, scored column by column: values that are exact, or known to lie in an interval."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..families import ExponentialFamily
from ..families.blocks import Block, blocks_of
from ..numerics.arrays import Array

if TYPE_CHECKING:
    from scipy.sparse import csr_array

# Rows that are scored at a time: their expected statistics are held for all components.
ROWS_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class BlockOfRows:
    """One independent block of columns of some rows."""

    block: Block
    exact: NDArray[np.intp]
    """The rows whose values are exact."""
    X: Array
    """Their values, centered."""
    inexact: NDArray[np.intp]
    lower: Array
    """The distinct intervals of the others, centered."""
    upper: Array
    spread: "csr_array | None"
    """Which of the others have which interval (m, n); None where all are distinct."""


@dataclass(frozen=True)
class Expected:
    """Statistics of one block of columns, by component where values are not exact."""

    own: BlockOfRows
    statistics: Array
    """t(x) of the exact values (n, s)."""
    means: Array
    """E_j[t(X) | X in A] of the distinct intervals (m, k, s)."""


class PartlyKnownRows:
    """Rows of a family in coordinates seen from `center`, cut into slices; `starts` are where slices may begin.

    Parameters are relative to the same center. Scores lack the carrier k(x) of exact values, unless asked for.
    """

    def __init__(
        self,
        family: ExponentialFamily,
        lower: Array,
        upper: Array,
        center: Array | None,
        starts: NDArray[np.intp] | None = None,
        with_carrier: bool = False,
    ) -> None:
        self._with_carrier = with_carrier
        self.family, self.n_rows = family, len(lower)
        self._lower, self._upper = lower, upper
        self.blocks = blocks_of(family)
        if center is None:
            self._low, self._high = lower, upper
        else:
            self._low, self._high = (family.centered_rows(bound, center) for bound in (lower, upper))
            # Rounding must not make an exact value an interval, or the other way round.
            same = lower == upper
            # Components of different families see the rows from there each in its own way, one beside the other.
            same = same if self._low.shape == lower.shape else same.all(axis=1, keepdims=True)
            self._high = np.where(same, self._low, self._high)
        self._center = center
        self.cuts = cuts_between(self.n_rows, starts, ROWS_AT_ONCE)
        self._slices = [[_block_of_rows(self, block, rows) for block in self.blocks] for rows in self.slices()]

    @cached_property
    def is_exact(self) -> bool:
        """Whether no value is an interval."""
        return bool((self._low == self._high).all())

    def slices(self) -> Iterator[slice]:
        """The rows that are scored together."""
        for start, stop in zip(self.cuts[:-1], self.cuts[1:], strict=True):
            yield slice(int(start), int(stop))

    def sum_log_carrier(self, weights: Array | None) -> float:
        """The weighted sum of k(x) over exact values."""
        total = 0.0
        for block in self.blocks:
            exact = (self._lower[:, block.columns] == self._upper[:, block.columns]).all(axis=1)
            X = self._lower[exact, block.columns]
            if not len(X):
                continue
            center = None if self._center is None else self._center[block.columns]
            carrier = block.family.log_carrier(X) if center is None else block.family.log_carrier_from(X, center)
            total += float(carrier.sum() if weights is None else weights[exact] @ carrier)
        return total

    def scored(self, place: int, natural: Array) -> tuple[Array, list[Expected]]:
        """log p_j or log P_j (n, k) of the rows of a slice, carriers left out, and what their sums are made of."""
        own = self._slices[place]
        start, stop = self.cuts[place : place + 2]
        scores = np.zeros((stop - start, len(natural)))
        found = []
        for part in own:
            theta = natural[:, part.block.statistics]
            family = part.block.family
            t: Array = np.zeros((0, theta.shape[1]))
            means: Array = np.zeros((0, *theta.shape))
            if len(part.exact):
                t = family.sufficient_statistic(part.X)
                scores[part.exact] += t @ theta.T - family.log_normalizer(theta)
                if self._with_carrier:
                    scores[part.exact] += family.log_carrier(part.X)[:, None]
            if len(part.inexact):
                log_p, means = family.interval_expectations(part.lower, part.upper, theta)
                scores[part.inexact] += log_p if part.spread is None else part.spread.T @ log_p
            found.append(Expected(part, t, means))
        return scores, found

    def add_sums(self, sums: Array, responsibilities: Array, expected: list[Expected]) -> None:
        """Adds the expected statistics of a slice by responsibilities (n, k) to sums (k, D)."""
        for part in expected:
            own, places = part.own, part.own.block.statistics
            if len(own.exact):
                sums[:, places] += responsibilities[own.exact].T @ part.statistics
            if len(own.inexact):
                shares = responsibilities[own.inexact]
                shares = shares if own.spread is None else own.spread @ shares
                sums[:, places] += np.einsum("mk,mks->ks", shares, part.means)


def cuts_between(n_rows: int, starts: NDArray[np.intp] | None, size: int) -> NDArray[np.intp]:
    """Where slices of rows begin and end: about every `size` rows, at places where that is allowed.

    >>> cuts_between(10, np.array([0, 3, 7]), 4)
    array([ 0,  7, 10])
    """
    wanted = np.arange(size, n_rows, size)
    if starts is not None and len(wanted):
        wanted = np.unique(starts[np.minimum(np.searchsorted(starts, wanted), len(starts) - 1)])
    return np.concatenate([[0], wanted[(wanted > 0) & (wanted < n_rows)], [n_rows]]).astype(np.intp)


def _block_of_rows(table: PartlyKnownRows, block: Block, rows: slice) -> BlockOfRows:
    columns = block.columns if len(table.blocks) > 1 else slice(None)
    low, high = table._low[rows, columns], table._high[rows, columns]
    exact = (low == high).all(axis=1)
    inexact = np.flatnonzero(~exact)
    bounds, spread = np.column_stack([low[inexact, :1], high[inexact, :1]]), None
    if len(inexact):
        distinct, group = np.unique(bounds, axis=0, return_inverse=True)
        if len(distinct) < len(bounds):
            from scipy.sparse import csr_array  # slow to import, and few rows need it

            ones = np.ones(len(bounds))
            spread = csr_array((ones, (group.ravel(), np.arange(len(bounds)))), shape=(len(distinct), len(bounds)))
            bounds = distinct
    return BlockOfRows(block, np.flatnonzero(exact), low[exact], inexact, bounds[:, 0], bounds[:, 1], spread)
