"""Where data may lie, said as data: each support describes itself and finds the first value outside.

A support examines rows (n, d) and marks the offenders, either single values (a boolean (n, d) array) or whole rows
(a boolean (n,) array).

>>> Interval(0, closed_lower=False).first_outsider(np.array([[1.0, 2.0], [3.0, -4.0]]))
(1, 1)
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .._kernels import ColumnSummary
from ..numerics.arrays import Array
from ..numerics.linear_algebra import cholesky_or_nan

# How far a row of proportions may miss one in its sum, and a direction one in its length, and be taken as rounding.
TOLERANCE = 1e-6
# A finite stand-in for the log-density of a row outside a support: zero times minus infinity is not a number in a
# product of statistics and parameters, so packed rows hold this instead. A power of two, which single precision holds
# exactly: no likelihood of real data reaches it.
OUTSIDE = -(2.0**100)


def without_outside(size: Array) -> Array:
    """Sizes of statistics, with zero where they are those of the stand-in: its rounding does not matter."""
    return np.where(size == -OUTSIDE, 0.0, size)


def as_infinite(log_density: Array) -> Array:
    """Log-densities with minus infinity where they hold the stand-in."""
    return np.where(log_density <= 0.5 * OUTSIDE, -np.inf, log_density)


class Support(ABC):
    """A set of legal rows."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What is legal, in words that end the sentence "this family accepts ..."."""

    @abstractmethod
    def outside(self, X: Array) -> NDArray[np.bool_]:
        """True where a value (n, d) or a row (n,) is not legal; X is finite."""

    @abstractmethod
    def example(self, n_features: int) -> Array:
        """One legal row (n_features,)."""

    def holds_all(self, summary: ColumnSummary) -> bool:
        """Whether extremes and wholeness alone tell that finite values are legal; False may mean that they do not."""
        return False

    def extremes(self, summary: ColumnSummary) -> Array:
        """Two rows (2, d) as large as the data gets: every column at its lower and at its upper end."""
        return np.stack([summary.lowest, summary.highest]).astype(float)

    @property
    def entries(self) -> "Support":
        """Where each value by itself may lie."""
        return self

    def first_outsider(self, X: Array) -> tuple[int, int | None] | None:
        """Row and column (None: the whole row) of the first offender, or None when all is well."""
        outside = self.outside(X)
        if not outside.any():
            return None
        row = int(np.argmax(outside.any(axis=1) if outside.ndim == 2 else outside))
        return row, int(np.argmax(outside[row])) if outside.ndim == 2 else None


@dataclass(frozen=True)
class Interval(Support):
    """Real numbers between two bounds, each reached or not."""

    lower: float = -np.inf
    upper: float = np.inf
    closed_lower: bool = True
    closed_upper: bool = True

    @property
    def description(self) -> str:
        bounds = []
        if np.isfinite(self.lower):
            bounds.append(f"{'at least' if self.closed_lower else 'above'} {self.lower:.6g}")
        if np.isfinite(self.upper):
            bounds.append(f"{'at most' if self.closed_upper else 'below'} {self.upper:.6g}")
        return "numbers " + " and ".join(bounds) if bounds else "all real numbers"

    def holds_all(self, summary: ColumnSummary) -> bool:
        return not self.outside(np.stack([summary.lowest, summary.highest])).any()

    def outside(self, X: Array) -> NDArray[np.bool_]:
        low = self.lower > X if self.closed_lower else self.lower >= X
        high = self.upper < X if self.closed_upper else self.upper <= X
        return np.asarray(low | high)

    def example(self, n_features: int) -> Array:
        low, high = max(self.lower, -1e100), min(self.upper, 1e100)
        if np.isfinite(self.lower) and np.isfinite(self.upper):
            return np.full(n_features, 0.5 * (self.lower + self.upper))
        return np.full(n_features, np.clip(1.0, low + 1, high - 1))


REALS = Interval()
POSITIVE = Interval(0.0, closed_lower=False)
NON_NEGATIVE = Interval(0.0)
UNIT_OPEN = Interval(0.0, 1.0, closed_lower=False, closed_upper=False)
UNIT_CLOSED = Interval(0.0, 1.0)


@dataclass(frozen=True)
class Angles(Interval):
    """Angles in radians: any real number, one turn (-pi to pi) being the whole circle."""

    lower: float = -np.pi
    upper: float = np.pi

    @property
    def description(self) -> str:
        return "angles in radians"

    def outside(self, X: Array) -> NDArray[np.bool_]:
        return np.zeros(X.shape, dtype=bool)


ANGLES = Angles()


@dataclass(frozen=True)
class Integers(Support):
    """Whole numbers from `lower` to `upper` (one bound for all columns, or one for each)."""

    lower: float = 0
    upper: float | tuple[int, ...] = np.inf

    @property
    def description(self) -> str:
        if self.upper == np.inf:
            return f"whole numbers {self.lower:.0f}, {self.lower + 1:.0f}, {self.lower + 2:.0f}, ..."
        if isinstance(self.upper, tuple):
            return f"whole numbers from {self.lower:.0f} to {', '.join(map(str, self.upper))} (column by column)"
        return f"whole numbers from {self.lower:.0f} to {self.upper:.0f}"

    def holds_all(self, summary: ColumnSummary) -> bool:
        return summary.whole and not self.outside(np.stack([summary.lowest, summary.highest])).any()

    def outside(self, X: Array) -> NDArray[np.bool_]:
        return np.asarray((self.lower > X) | (np.asarray(self.upper) < X) | (np.floor(X) != X))

    def example(self, n_features: int) -> Array:
        return np.broadcast_to(np.minimum(self.lower + 1.0, np.asarray(self.upper)), n_features).astype(float)


COUNTS = Integers()


@dataclass(frozen=True)
class Simplex(Support):
    """Rows of proportions: positive (or zero when `closed`) and summing to one."""

    closed: bool = False

    @property
    def description(self) -> str:
        sign = "non-negative" if self.closed else "strictly positive"
        return f"rows of {sign} proportions that sum to one"

    def outside(self, X: Array) -> NDArray[np.bool_]:
        sign = (X < 0) if self.closed else (X <= 0)
        return np.asarray(sign.any(axis=1) | (np.abs(X.sum(axis=1, dtype=float) - 1) > TOLERANCE))

    def example(self, n_features: int) -> Array:
        return np.full(n_features, 1 / n_features)


@dataclass(frozen=True)
class UnitSphere(Support):
    """Rows of length one."""

    @property
    def description(self) -> str:
        return "rows of length one (divide each row by its norm)"

    @property
    def entries(self) -> Support:
        return REALS

    def holds_all(self, summary: ColumnSummary) -> bool:
        seen = summary.square_lengths
        return seen is not None and max(1 - seen[0], seen[1] - 1) <= 2 * TOLERANCE

    def outside(self, X: Array) -> NDArray[np.bool_]:
        return np.asarray(np.abs(np.einsum("ij,ij->i", X, X, dtype=float) - 1) > 2 * TOLERANCE)

    def example(self, n_features: int) -> Array:
        return np.full(n_features, n_features**-0.5)


@dataclass(frozen=True)
class CountVectors(Support):
    """Rows of counts with at least one count, all with the same total when `total` is given."""

    total: int | None = None

    @property
    def entries(self) -> Support:
        return COUNTS

    @property
    def description(self) -> str:
        of_total = "" if self.total is None else f" that sum to {self.total}"
        return f"rows of counts (whole numbers 0, 1, 2, ..., not all zero){of_total}"

    def outside(self, X: Array) -> NDArray[np.bool_]:
        totals = X.sum(axis=1, dtype=float)
        wrong_total = totals == 0 if self.total is None else totals != self.total
        return np.asarray(COUNTS.outside(X).any(axis=1) | wrong_total)

    def example(self, n_features: int) -> Array:
        return np.eye(n_features)[0] * (self.total or 1)


@dataclass(frozen=True)
class PositiveDefinite(Support):
    """Symmetric positive definite matrices, each flattened to a row of p * p numbers."""

    @property
    def description(self) -> str:
        return "symmetric positive definite matrices, as (n, p, p) or as rows of p * p numbers"

    def outside(self, X: Array) -> NDArray[np.bool_]:
        size = round(np.sqrt(X.shape[1]))
        if size * size != X.shape[1]:
            return np.ones(len(X), dtype=bool)
        matrices = X.reshape(-1, size, size)
        scale = np.abs(matrices).max(axis=(1, 2))
        skew = np.abs(matrices - np.swapaxes(matrices, 1, 2)).max(axis=(1, 2)) > TOLERANCE * scale
        factors = cholesky_or_nan(matrices.astype(float, copy=False))
        return np.asarray(skew | np.isnan(factors[:, -1, -1]))

    def extremes(self, summary: ColumnSummary) -> Array:
        # The diagonal says how large a matrix is; entries from different matrices would make no legal one.
        size = round(np.sqrt(len(summary.lowest)))
        ends = (np.diag(end.reshape(size, size)) for end in (summary.lowest, summary.highest))
        return np.stack([np.diag(end).ravel() for end in ends]).astype(float)

    def example(self, n_features: int) -> Array:
        return np.eye(round(np.sqrt(n_features))).ravel()


@dataclass(frozen=True)
class Blocks(Support):
    """Columns cut into consecutive blocks, each with a support of its own."""

    supports: tuple[Support, ...]
    widths: tuple[int, ...]

    @property
    def description(self) -> str:
        stops = np.cumsum(self.widths)
        return "; ".join(
            f"{support.description} in column{f' {stop - 1}' if width == 1 else f's {stop - width} to {stop - 1}'}"
            for support, width, stop in zip(self.supports, self.widths, stops, strict=True)
        )

    def outside(self, X: Array) -> NDArray[np.bool_]:
        blocks = np.split(X, np.cumsum(self.widths)[:-1], axis=1)
        marks = [support.outside(block) for support, block in zip(self.supports, blocks, strict=True)]
        wide = [
            np.broadcast_to(mark[:, None], block.shape) if mark.ndim == 1 else mark
            for mark, block in zip(marks, blocks, strict=True)
        ]
        return np.concatenate(wide, axis=1)

    def extremes(self, summary: ColumnSummary) -> Array:
        edges = np.cumsum([0, *self.widths])
        parts = []
        for support, first, last in zip(self.supports, edges, edges[1:], strict=False):
            lowest, highest, totals = (part[first:last] for part in (summary.lowest, summary.highest, summary.totals))
            parts.append(support.extremes(replace(summary, lowest=lowest, highest=highest, totals=totals)))
        return np.concatenate(parts, axis=1)

    def example(self, n_features: int) -> Array:
        return np.concatenate([s.example(width) for s, width in zip(self.supports, self.widths, strict=True)])


@dataclass(frozen=True)
class AnyOf(Support):
    """Rows that one of several supports holds."""

    supports: tuple[Support, ...]

    @property
    def description(self) -> str:
        return ", or ".join(dict.fromkeys(support.description for support in self.supports))

    @property
    def entries(self) -> Support:
        return AnyOf(tuple(support.entries for support in self.supports))

    def holds_all(self, summary: ColumnSummary) -> bool:
        return any(support.holds_all(summary) for support in self.supports)

    def outside(self, X: Array) -> NDArray[np.bool_]:
        marks = [support.outside(X) for support in self.supports]
        rows = np.all([mark.any(axis=1) if mark.ndim == 2 else mark for mark in marks], axis=0)
        return rows[:, None] if X.shape[1] == 1 else rows

    def example(self, n_features: int) -> Array:
        return self.supports[0].example(n_features)
