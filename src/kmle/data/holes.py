"""Which entries of a table are missing: how many in each column, and in which patterns."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary, has_missing
from ..families import ExponentialFamily
from ..families.incomplete import Incomplete
from ..families.support import REALS
from ..numerics.arrays import Array

# Tables are examined in blocks of about this many entries.
BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class Holes:
    """Missing entries of some rows. Those of two sets of rows add."""

    n_rows: int
    missing: NDArray[np.int64]
    """Missing entries of each column (d,)."""
    patterns: NDArray[np.bool_]
    """The different patterns (p, d) of rows: True where an entry is missing."""
    n_empty: int
    """Rows without a single entry."""

    def __add__(self, other: "Holes") -> "Holes":
        patterns = np.unique(np.concatenate([self.patterns, other.patterns]), axis=0)
        missing, n_empty = self.missing + other.missing, self.n_empty + other.n_empty
        return Holes(self.n_rows + other.n_rows, missing, patterns, n_empty)

    @property
    def n_entries(self) -> int:
        """How many entries are missing."""
        return int(self.missing.sum())

    def __bool__(self) -> bool:
        return self.n_entries > 0


def holes_of(X: Array, summary: ColumnSummary | None = None) -> Holes:
    """The missing entries of a table (n, d), whose summary tells if there are any."""
    n, d = X.shape
    if not (has_missing(X) if summary is None else summary.missing):
        return Holes(n, np.zeros(d, dtype=np.int64), np.zeros((1, d), dtype=bool), 0)
    missing, empty, found = np.zeros(d, dtype=np.int64), 0, []
    step = max(1, BLOCK_ENTRIES // d)
    for start in range(0, n, step):
        hole = np.isnan(X[start : start + step])
        missing += hole.sum(axis=0)
        empty += int(hole.all(axis=1).sum())
        found.append(unique_patterns(hole)[0])
    return Holes(n, missing, unique_patterns(np.concatenate(found))[0], empty)


def unique_patterns(hole: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
    """The different rows (p, d) of a table of truth values (n, d), and which of them each row is (n,)."""
    packed = np.packbits(hole, axis=1)
    keys = np.zeros((len(packed), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    keys[:, : packed.shape[1]] = packed
    words = keys.view(np.uint64)
    if words.shape[1] == 1:
        _, first, group = np.unique(words[:, 0], return_index=True, return_inverse=True)
    else:
        _, first, group = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return hole[first], group.ravel()


def with_entries(X: Array) -> NDArray[np.bool_] | slice:
    """Which rows have at least one entry."""
    if not has_missing(X):
        return slice(None)
    seen: NDArray[np.bool_] = ~np.asarray(np.isnan(X).all(axis=1))
    return slice(None) if seen.all() else seen


def family_with_holes(family: ExponentialFamily, holes: Holes) -> ExponentialFamily:
    """The family for rows with these missing entries.

    Independent columns are learned from extended statistics. Where some columns of a Gaussian are missing the family
    stays what it is: its rows are passed over by pattern.
    """
    if not holes or family.joint or not family.exponential:
        return family
    units = family.units()
    places = []
    for place, unit in enumerate(units):
        hole = holes.patterns[:, list(unit.columns)]
        if (hole.any(axis=1) & ~hole.all(axis=1)).any():
            return family
        if hole.any():
            places.append(place)
    if len(units) == 1 and len(units[0].columns) > 1:
        return family
    return Incomplete(family, tuple(places))


def filled(family: ExponentialFamily, X: Array, weights: Array | None = None) -> Array:
    """Legal rows with the mean of its column at each missing entry, in float64: a copy, for what is only a start."""
    return np.where(np.isnan(X), stand_in_row(family, X, weights), X).astype(float, copy=False)


def stand_in_row(
    family: ExponentialFamily, X: Array, weights: Array | None = None, center: Array | None = None
) -> Array:
    """A legal row (d,): the mean of each column where that is legal; in real columns the center, where it is given."""
    total, weight = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    step = max(1, BLOCK_ENTRIES // 16 // X.shape[1])
    for start in range(0, len(X), step):
        block = X[start : start + step].astype(float, copy=False)
        hole = np.isnan(block)
        shares = np.ones(len(block)) if weights is None else weights[start : start + step]
        total += shares @ np.where(hole, 0.0, block)
        weight += shares @ ~hole
    row = total / np.maximum(weight, 1e-300)
    for unit in family.units():
        columns, support = list(unit.columns), unit.family.support
        if center is not None and support == REALS:
            row[columns] = center[columns]
            continue
        own = row[columns]
        for legal in (np.round(own), support.example(len(columns))):
            own = np.where(support.outside(own[None])[0], legal, own)
        row[columns] = own
    return row


def with_middles(X: Array) -> Array:
    """Rows (n, d) in float64 with the middle one of the column's entries for each that is missing."""
    filled = X.astype(float)
    for column in filled.T:
        hole = np.isnan(column)
        if hole.any():
            column[hole] = np.quantile(column[~hole], 0.5, method="inverted_cdf")
    return filled


def statistics_of_entries(
    family: ExponentialFamily, blocks: Iterable[tuple[Array, NDArray[np.bool_], Array | None]], center: Array | None
) -> tuple[Array, Array]:
    """The mean of t over the entries that rows have (D,), and a bound on |t| (D,).

    Blocks are rows with legal values for missing entries, which entries are missing, and weights. Missing entries of
    Gaussians are taken to have the mean and the variance of the others of their column, and no covariances: the moments
    are those of a legal covariance whatever the pattern is.
    """
    units = family.units()
    sums, largest = np.zeros(family.n_statistics), np.zeros(family.n_statistics)
    pairs = [Pairs.none(len(unit.columns)) for unit in units]
    total = 0.0
    for X, hole, weights in blocks:
        shares = np.ones(len(X)) if weights is None else weights
        seen = X if center is None else family.centered_rows(X, center)
        statistic = family.sufficient_statistic(seen)
        np.maximum(largest, np.abs(statistic).max(axis=0), out=largest)
        total += float(shares.sum())
        for place, unit in enumerate(units):
            columns, places = list(unit.columns), list(unit.statistics)
            if unit.family.is_gaussian:
                pairs[place] += Pairs.of(seen[:, columns], ~hole[:, columns], shares)
            else:
                observed = _observed(~hole[:, columns[0]], shares)
                sums[places] += shares.sum() / observed.sum() * observed @ statistic[:, places]
    for unit, own in zip(units, pairs, strict=True):
        if unit.family.is_gaussian:
            sums[list(unit.statistics)] = unit.family.expected_statistic(*own.completed(total))
    return sums / total, largest


def _observed(seen: NDArray[np.bool_], shares: Array) -> Array:
    """The shares of rows that have an entry; of all such rows alike where these have none, of all rows without any."""
    for observed in (shares * seen, seen.astype(float)):
        if observed.sum() > 1e-300:
            return np.asarray(observed)
    return np.ones(len(seen))


@dataclass(frozen=True)
class Pairs:
    """Weighted sums over the rows that have both columns of a pair (a, b), each (d, d); those of two blocks add."""

    counts: Array
    sums: Array
    """Of x_a."""
    products: Array
    """Of x_a x_b."""

    @staticmethod
    def none(n_columns: int) -> "Pairs":
        """Those of no rows."""
        zeros = np.zeros((n_columns, n_columns))
        return Pairs(zeros, zeros, zeros)

    @staticmethod
    def of(X: Array, observed: NDArray[np.bool_], weights: Array) -> "Pairs":
        """Those of some rows (n, d)."""
        own = np.where(observed, X, 0.0)
        weighted = weights[:, None] * observed
        return Pairs(weighted.T @ observed, own.T @ weighted, own.T @ (weights[:, None] * own))

    def __add__(self, other: "Pairs") -> "Pairs":
        return Pairs(self.counts + other.counts, self.sums + other.sums, self.products + other.products)

    def completed(self, total: float) -> tuple[Array, Array]:
        """The sums (d,) and products (d, d) of all rows, of this total weight.

        A missing entry counts as its column's mean in covariances, and as one more typical entry in variances.
        """
        count = np.maximum(np.diagonal(self.counts), 1e-300)
        mean = np.diagonal(self.sums) / count
        scatter = self.products - self.sums * mean - self.sums.T * mean[:, None] + self.counts * np.outer(mean, mean)
        variances = np.maximum(np.diagonal(scatter), 0.0) * (total / count)
        scatter[np.diag_indices_from(scatter)] = np.where(np.diagonal(self.counts) > 0, variances, 0.0)
        return total * mean, scatter + total * np.outer(mean, mean)
