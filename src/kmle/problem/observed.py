"""Rows as components that are no exponential families see them: values, or intervals that they lie in."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data.holes import with_middles
from ..data.partly_known import PartlyKnownRows
from ..engines.patterns.entries import Entries, Places, densities_by_kind, entries_of, rows_inside
from ..families import ComponentFamilies, ExponentialFamily
from ..families.blocks import Block, blocks_of
from ..families.coordinates import CoordinateFamily
from ..families.shaped import Shaped
from ..families.shaped_product import estimate_of_rows
from ..numerics.arrays import Array
from ..numerics.ascent import ascend
from ..numerics.threads import for_each

# Rows that a thread scores at a time: their scores stay in the cache.
ROWS_AT_ONCE = 1 << 14
# Newton steps of an estimate from intervals, for a first estimate and for a better one.
FIRST_STEPS, STEPS = 40, 2


@dataclass(frozen=True)
class Column:
    """One column: which rows have an interval there, the exact values of the others, and the distinct intervals."""

    between: NDArray[np.bool_]
    exact: Array
    distinct: Array
    places: NDArray[np.intp]
    """Which of the distinct intervals each of those rows has."""

    @property
    def is_exact_or_missing(self) -> bool:
        """Whether no interval says anything: the missing values have intervals without ends."""
        return bool(np.isinf(self.distinct).all())


def _column(rows: "ObservedRows", column: int) -> Column:
    between = np.asarray(rows.lower[:, column] != rows.upper[:, column])
    bounds = np.column_stack([rows.lower[between, column], rows.upper[between, column]])
    distinct, places = np.unique(bounds, axis=0, return_inverse=True)
    return Column(between, rows.X[~between, column], distinct, places.ravel())


@dataclass(frozen=True, eq=False)
class ObservedRows:
    """Rows (n, d) between bounds, which are equal where values are exact; X has a legal value for each."""

    X: Array
    lower: Array
    upper: Array
    n_threads: int = 1

    def __len__(self) -> int:
        return len(self.X)

    @classmethod
    def exactly(cls, X: Array, n_threads: int = 1) -> "ObservedRows":
        """Rows of exact values."""
        return cls(X, X, X, n_threads)

    @classmethod
    def of(cls, X: Array, n_threads: int = 1) -> "ObservedRows":
        """Rows with NaN where nothing is known."""
        hole = np.isnan(X)
        if not hole.any():
            return cls.exactly(X, n_threads)
        return cls(with_middles(X), np.where(hole, -np.inf, X), np.where(hole, np.inf, X), n_threads)

    def raw(self, places: NDArray[np.intp]) -> Array:
        """The values of some rows, with NaN where nothing is known."""
        return self.known[places] if self.has_holes else self.X[places]

    @cached_property
    def _columns(self) -> "list[Column]":
        return [_column(self, column) for column in range(self.X.shape[1])]

    @cached_property
    def all_exact(self) -> bool:
        """Whether no value is an interval."""
        return bool((self.lower == self.upper).all())

    @cached_property
    def has_holes(self) -> bool:
        """Whether values are missing, and none lies in an interval."""
        return not self.all_exact and bool(
            (np.isinf(self.lower) & np.isinf(self.upper))[self.lower != self.upper].all()
        )

    @cached_property
    def known(self) -> Array:
        """The rows with NaN for what is not exact."""
        return np.where(self.lower == self.upper, self.X, np.nan)

    def entries(self, family: ExponentialFamily) -> Entries:
        """The rows as one family sees them where values are missing."""
        if family not in self._entries:
            self._entries[family] = entries_of(family, self.known, self.n_threads)
        return self._entries[family]

    @cached_property
    def _entries(self) -> dict[ExponentialFamily, Entries]:
        return {}

    def inside(self, family: ExponentialFamily) -> "tuple[NDArray[np.intp] | slice, ObservedRows]":
        """The rows in the support of a family."""
        if family not in self._inside:
            places = rows_inside(family, self.known)
            whole = len(places) == len(self)
            self._inside[family] = (slice(None), self) if whole else (places, self.subset(places))
        return self._inside[family]

    @cached_property
    def _inside(self) -> "dict[ExponentialFamily, tuple[NDArray[np.intp] | slice, ObservedRows]]":
        return {}

    def subset(self, places: NDArray[np.intp]) -> "ObservedRows":
        """Some of the rows."""
        return ObservedRows(self.X[places], self.lower[places], self.upper[places], self.n_threads)

    def log_densities(self, family: ExponentialFamily, natural: Array) -> Array:
        """log p_j or log P_j (n, k) of all rows, each component in one piece."""
        density = np.empty((len(natural), len(self))).T
        if isinstance(family, ComponentFamilies) and self.has_holes:
            return densities_by_kind(family, natural, len(self), self._of_kind)
        if self.has_holes:
            return self.entries(family).log_densities(natural)
        if not self.all_exact and isinstance(family, Shaped):
            density[...] = 0.0
            for column in range(self.X.shape[1]):
                density += self.column_scores(family, column, natural)
            return density
        if not self.all_exact:
            return self._between(family, natural) if family.exponential else self._of_blocks(family, natural)

        def score(rows: slice) -> None:
            found = family.direct_log_density(self.X[rows], natural)
            if found is None:
                found = family.packed_log_density(self.X[rows], natural)
            density[rows] = np.where(np.isnan(found), -np.inf, found)

        for_each(score, blocks_of_rows(len(self)), self.n_threads, 1)
        return density

    def _of_kind(self, kind: ExponentialFamily, natural: Array) -> "tuple[Places, Array]":
        inside, rows = self.inside(kind)
        return inside, rows.log_densities(kind, natural) if len(rows) else np.empty((0, len(natural)))

    # Columns of different kinds, of which some have intervals --------------------------------------------------------

    def blocks(self, family: ExponentialFamily) -> "list[tuple[Block, ObservedRows]]":
        """The rows by independent blocks of columns of a family."""
        if family not in self._blocks:
            self._blocks[family] = [(block, self._of_columns(block.columns)) for block in blocks_of(family)]
        return self._blocks[family]

    @cached_property
    def _blocks(self) -> "dict[ExponentialFamily, list[tuple[Block, ObservedRows]]]":
        return {}

    def _of_columns(self, columns: slice) -> "ObservedRows":
        return ObservedRows(self.X[:, columns], self.lower[:, columns], self.upper[:, columns], self.n_threads)

    def _of_blocks(self, family: ExponentialFamily, natural: Array) -> Array:
        parts = (rows.log_densities(block.family, natural[:, block.statistics]) for block, rows in self.blocks(family))
        return np.asarray(sum(parts))

    @cached_property
    def _partly_known(self) -> dict[ExponentialFamily, tuple[Array | None, PartlyKnownRows]]:
        return {}

    def _known_by(self, family: ExponentialFamily, natural: Array) -> tuple[Array, Array | None, PartlyKnownRows]:
        """Natural parameters of an exponential family seen from a center, that center, and the rows seen from there."""
        if family not in self._partly_known:
            center = family.data_center(self.X)
            self._partly_known[family] = center, PartlyKnownRows(family, self.lower, self.upper, center)
        center, rows = self._partly_known[family]
        return natural if center is None else family.natural_at_center(natural, -center), center, rows

    def _between(self, family: ExponentialFamily, natural: Array) -> Array:
        """log p_j or log P_j (n, k) of rows of an exponential family."""
        seen, _, rows = self._known_by(family, natural)
        density = np.concatenate([rows.scored(place, seen)[0] for place in range(len(rows.cuts) - 1)])
        exact = (self.lower == self.upper).all(axis=1)
        density[exact] += family.log_carrier(self.lower[exact])[:, None]
        return np.where(np.isnan(density), -np.inf, density)

    def _estimate_between(
        self, family: ExponentialFamily, shares: Array, before: Array | None, spread: Array | None
    ) -> Array:
        """A step of EM from `before` (k, D) for an exponential family; a first estimate takes the stand-ins."""
        if before is None or self.all_exact:
            return estimate_of_rows(family, self.X, shares, spread)
        seen, center, rows = self._known_by(family, before)
        sums = np.zeros(before.shape)
        for place, own in enumerate(rows.slices()):
            rows.add_sums(sums, shares[own], rows.scored(place, seen)[1])
        moments = sums / shares.sum(axis=0)[:, None]
        return family.natural_from_centered(moments, center, spread)

    def _estimate_blocks(
        self, family: CoordinateFamily, shares: Array, prior: Array | None, before: Array | None, spread: Array | None
    ) -> Array:
        natural = np.empty((shares.shape[1], family.n_statistics))
        for block, rows in self.blocks(family):
            start = None if before is None else before[:, block.statistics]
            narrow = None if spread is None or not spread[block.columns].any() else spread[block.columns]
            if isinstance(block.family, CoordinateFamily):
                found = rows.estimate(block.family, shares, prior, start, narrow)
            elif rows.has_holes:
                found = rows.entries(block.family).estimate(shares, prior, start, narrow)
            else:
                own = shares if prior is None else shares + prior[:, None]
                found = rows._estimate_between(block.family, own, start, narrow)
            natural[:, block.statistics] = found
        return natural

    # Columns of one kind ----------------------------------------------------------------------------------------------

    def column_scores(self, family: Shaped, column: int, natural: Array) -> Array:
        """log p_j or log P_j (n, k) of one column."""
        values, own = family.column_values(natural, column), self._columns[column]
        scores = np.empty((len(self), len(natural)))
        scores[~own.between] = family.column_log_density(own.exact, values)
        if len(own.distinct):
            found = family.column_log_probability(own.distinct[:, 0], own.distinct[:, 1], values)
            scores[own.between] = found[own.places]
        return np.where(np.isnan(scores), -np.inf, scores)

    def estimate(
        self,
        family: CoordinateFamily,
        shares: Array,
        prior: Array | None,
        before: Array | None,
        spread: Array | None,
    ) -> Array:
        """Coordinates (k, D) for shares (n, k) of the rows; see `CoordinateFamily.weighted_estimate`."""
        if self.all_exact:
            return family.weighted_estimate(self.X, shares, prior, before, spread)
        if self.has_holes:
            return self.entries(family).estimate(shares, prior, before, spread)
        if not isinstance(family, Shaped):
            return self._estimate_blocks(family, shares, prior, before, spread)
        natural = family.weighted_estimate(self.X, shares, prior, None, spread) if before is None else before.copy()
        own = shares if prior is None else shares + prior[:, None]
        for column in range(self.X.shape[1]):
            places = np.arange(column, natural.shape[1], self.X.shape[1])
            if self._columns[column].is_exact_or_missing:
                natural[:, places] = self._estimate_of_known(family, column, own, natural[:, places], spread)
                continue
            found = self._estimate_of_censored(family, column, own, natural, spread)
            if found is not None:
                natural[:, places] = found
                continue
            natural = ascend(
                lambda at, column=column: self._column_fit(family, column, own, at, spread),  # type: ignore[misc]
                natural,
                places,
                FIRST_STEPS if before is None else STEPS,
            )
        return natural

    def _estimate_of_known(
        self, family: Shaped, column: int, shares: Array, before: Array, spread: Array | None
    ) -> Array:
        """Coordinates (k, D / d) of one column from its exact values; a component that has none keeps its own."""
        own = self._columns[column]
        known = shares[~own.between]
        occupied = known.sum(axis=0) > 0
        found = before.copy()
        found[occupied] = replace(family, n_features=1).weighted_estimate(
            own.exact[:, None],
            known[:, occupied],
            None,
            before[occupied],
            None if spread is None else spread[column : column + 1],
        )
        return found

    def _estimate_of_censored(
        self, family: Shaped, column: int, shares: Array, before: Array, spread: Array | None
    ) -> Array | None:
        """Coordinates (k, D / d) of one column whose values are exact or censored on the right, by a formula."""
        own = self._columns[column]
        if not np.isposinf(own.distinct[:, 1]).all():
            return None
        between, narrow = own.between, 0.0 if spread is None else float(spread[column])
        values, above = family.column_values(before, column), own.distinct[own.places, 0]
        found = family.censored_estimate(own.exact, shares[~between], above, shares[between], values, narrow)
        if found is None:
            return None
        columns = {name: np.asarray(found[name], dtype=float)[:, None] for name in family.parameters}
        return replace(family, n_features=1).natural_from_source(**columns)

    def _column_fit(self, family: Shaped, column: int, shares: Array, natural: Array, spread: Array | None) -> Array:
        """The log-likelihood (k,) of one column; minus infinity where coordinates are beyond their bounds."""
        scores = self.column_scores(family, column, natural)
        fit = np.einsum("nk,nk->k", shares, np.where(shares > 0, scores, 0.0))
        return np.where(family.has_spread(natural, spread) & np.isfinite(fit), fit, -np.inf)


def blocks_of_rows(n_rows: int) -> Iterator[slice]:
    """Rows that are scored at a time."""
    return (slice(start, start + ROWS_AT_ONCE) for start in range(0, n_rows, ROWS_AT_ONCE))
