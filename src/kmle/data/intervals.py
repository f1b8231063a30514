"""Values that are known to lie in an interval: censored, grouped or rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..families import ComponentFamilies, ExponentialFamily
from ..families.blocks import Block, blocks_of
from ..families.support import Angles, Integers, Interval
from ..numerics.arrays import Array


class Intervals:
    """Rows of values that are known to lie between two bounds, both included.

    Bounds are equal where a value is exact, and infinite where it is open: `upper` is infinite for a time that was
    still running (right-censored), `lower` is minus infinite for a value below a limit of detection (left-censored).
    Where both are NaN nothing is known. Left truncation (rows that would not have been recorded at all) is out of
    scope.

    Parameters
    ----------
    lower : array (n,) or (n, d)
        The lower bounds.
    upper : array (n,) or (n, d)
        The upper bounds.

    Examples
    --------
    >>> Intervals([1.0, 4.0, 2.0], [1.0, np.inf, 3.0])
    <Intervals of 3 rows: 1 of 3 values exact>
    """

    def __init__(self, lower: ArrayLike, upper: ArrayLike) -> None:
        bounds = [_column(name, bound) for name, bound in (("lower", lower), ("upper", upper))]
        if bounds[0].shape != bounds[1].shape:
            raise ValueError(f"lower has shape {bounds[0].shape} and upper {bounds[1].shape}: they must be the same")
        low, high = bounds
        unknown = np.isnan(low) & np.isnan(high)
        _refuse(
            np.isnan(low) != np.isnan(high), "has one bound that is NaN: use -inf or inf for an open side", low, high
        )
        self.lower: Array = np.where(unknown, -np.inf, low)
        self.upper: Array = np.where(unknown, np.inf, high)
        _refuse(self.lower > self.upper, "has its lower bound above its upper bound", low, high)
        same = np.isinf(self.lower) & (self.lower == self.upper)
        _refuse(same, "has two bounds that are the same infinity", low, high)

    @classmethod
    def from_events(cls, times: ArrayLike, events: ArrayLike) -> Intervals:
        """Makes intervals from survival times and what happened then.

        Parameters
        ----------
        times : array (n,)
            The times.
        events : array (n,)
            1 (or True) where the event was seen, 0 where the time was still running: right-censored.

        Returns
        -------
        Intervals
            The times, (n, 1).

        Examples
        --------
        >>> Intervals.from_events([5.0, 8.0], [1, 0]).upper.ravel().tolist()
        [5.0, inf]
        """
        column = _column("times", times)
        seen = _column("events", events)
        if seen.shape != column.shape:
            raise ValueError(f"times has shape {column.shape} and events {seen.shape}: they must be the same")
        wrong = ~np.isin(seen, (0.0, 1.0))
        if wrong.any():
            row = int(np.argmax(wrong.any(axis=1)))
            raise ValueError(f"row {row} has event {seen[row, 0]:.6g}: it must be 1 (seen) or 0 (censored)")
        return cls(column, np.where(seen == 1, column, np.inf))

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Where values are exact (n, d)."""
        return np.asarray(self.lower == self.upper)

    @property
    def known(self) -> Array | None:
        """The values (n, d), with NaN where nothing is known; None where some are known to lie between bounds."""
        exact = self.exact
        if not (exact | (np.isinf(self.lower) & np.isinf(self.upper))).all():
            return None
        return self.lower if exact.all() else np.where(exact, self.lower, np.nan)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.lower.shape[0], self.lower.shape[1]

    @property
    def ndim(self) -> int:
        """Two."""
        return 2

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, rows: Any) -> Intervals:
        """Some rows; scikit-learn's cross-validation indexes with (rows, ...)."""
        if isinstance(rows, tuple):
            rows = rows[0]
        if isinstance(rows, int | np.integer):
            rows = [rows]
        return Intervals(self.lower[rows], self.upper[rows])

    def __repr__(self) -> str:
        n, d = self.shape
        columns = "" if d == 1 else f" and {d} columns"
        return f"<Intervals of {n} rows{columns}: {int(self.exact.sum())} of {n * d} values exact>"


def as_intervals(X: Any) -> Intervals | None:
    """Intervals, or a `scipy.stats.CensoredData` as such (uncensored, left, right, interval); None for all else."""
    if isinstance(X, Intervals):
        return X
    parts = [getattr(X, name, None) for name in ("_uncensored", "_left", "_right", "_interval")]
    if any(part is None for part in parts):
        return None
    exact, left, right, between = (np.asarray(part, dtype=float) for part in parts)
    between = between.reshape(-1, 2)
    lower = np.concatenate([exact, np.full(len(left), -np.inf), right, between[:, 0]])
    upper = np.concatenate([exact, left, np.full(len(right), np.inf), between[:, 1]])
    return Intervals(lower, upper)


def _column(name: str, values: ArrayLike) -> Array:
    try:
        table = np.array(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, one per row or one per row and column") from None
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.shape[1] == 0:
        raise ValueError(f"{name} has shape {np.shape(values)}: it must be (n,) or (n, d)")
    return table


def _refuse(wrong: NDArray[np.bool_], message: str, lower: Array, upper: Array) -> None:
    if wrong.any():
        row, column = (int(place) for place in np.argwhere(wrong)[0])
        where = f"row {row}" if lower.shape[1] == 1 else f"row {row}, column {column}"
        raise ValueError(f"{where} {message} ({lower[row, column]:.6g}, {upper[row, column]:.6g})")


# For a family ---------------------------------------------------------------------------------------------------------


def check_blocks(family: ExponentialFamily, X: Intervals, columns: list[str] | None = None) -> None:
    """Refuses intervals in columns whose family cannot have them."""
    inexact = ~X.exact
    if inexact.any() and isinstance(family, ComponentFamilies):
        raise ValueError("components of different families cannot have intervals: use one family for all components")
    for block in blocks_of(family):
        own = inexact[:, block.columns]
        if not own.any():
            continue
        name = block.family.name
        row, column = (int(place) for place in np.argwhere(own)[0])
        place = block.columns.start + column
        unknown = np.isinf(X.lower[row, place]) and np.isinf(X.upper[row, place])
        where = f"row {row}, column {_name(columns, place)} {'has no value' if unknown else 'is an interval'}"
        if own.shape[1] > 1:
            raise ValueError(
                f"{where}, but the columns of {name} depend on each other: use a family of independent "
                "columns, such as 'diagonal-gaussian'"
            )
        support = block.family.support
        if not isinstance(support, Integers | Interval) or isinstance(support, Angles):
            raise ValueError(f"{where}, which {name} cannot have: it accepts {support.description}")


def within_support(family: ExponentialFamily, X: Intervals, columns: list[str] | None = None) -> Intervals:
    """The intervals cut down to the support of a family; those that lie outside are refused with their row."""
    check_blocks(family, X, columns)
    lower, upper = X.lower.copy(), X.upper.copy()
    for block in blocks_of(family):
        rows = np.flatnonzero(~X.exact[:, block.columns].all(axis=1))
        if not len(rows):
            continue
        column = block.columns.start
        low, high = _cut(block, lower[rows, column], upper[rows, column])
        if (wrong := (low > high) | _outside(block, low, high)).any():
            row = rows[np.argmax(wrong)]
            raise ValueError(
                f"row {row}, column {_name(columns, column)} is known to lie between {X.lower[row, column]:.6g} and "
                f"{X.upper[row, column]:.6g}, but {block.family.name} accepts {block.family.support.description}"
            )
        lower[rows, column], upper[rows, column] = low, high
    return Intervals(lower, upper)


def _cut(block: Block, lower: Array, upper: Array) -> tuple[Array, Array]:
    support: Any = block.family.support
    low, high = np.maximum(lower, support.lower), np.minimum(upper, support.upper)
    return (np.ceil(low), np.floor(high)) if isinstance(support, Integers) else (low, high)


def _outside(block: Block, lower: Array, upper: Array) -> NDArray[np.bool_]:
    """Intervals that a cut has left with one number, of no probability."""
    return np.asarray((lower == upper) & (not isinstance(block.family.support, Integers)))


def _name(columns: list[str] | None, place: int) -> str:
    return str(place) if columns is None else repr(columns[place])


def stand_ins(family: ExponentialFamily, X: Intervals, rng: np.random.Generator | None = None) -> Array:
    """One legal value (n, d) for each interval: where seeds are sought, and what the prior is centred on.

    A value that is bounded on both sides is in the middle. One that is open is like the exact values beyond its bound:
    their mean, or one of them drawn at random.
    """
    values = X.lower.copy()
    for block in blocks_of(family):
        column = block.columns.start
        rows = np.flatnonzero(~X.exact[:, block.columns].all(axis=1))
        if len(rows):
            known = np.sort(np.delete(X.lower[:, column], rows))
            own = _stand_in(X.lower[rows, column], X.upper[rows, column], known, rng)
            values[rows, column] = np.floor(own) if isinstance(block.family.support, Integers) else own
    return values


def _stand_in(lower: Array, upper: Array, known: Array, rng: np.random.Generator | None) -> Array:
    finite = np.concatenate([lower[np.isfinite(lower)], upper[np.isfinite(upper)], known])
    typical = float(np.median(finite)) if len(finite) else 0.0
    scale = float(finite.std()) if len(finite) > 1 else 1.0
    first, last = np.searchsorted(known, lower), np.searchsorted(known, upper, side="right")
    inside = last > first
    with np.errstate(all="ignore"):
        middle = 0.5 * (lower + upper)
        beyond = np.where(
            np.isfinite(lower), lower + 0.5 * scale, np.where(np.isfinite(upper), upper - 0.5 * scale, typical)
        )
    values = np.where(np.isfinite(middle), middle, beyond)
    if rng is None:
        sums = np.concatenate([[0.0], np.cumsum(known)])
        like = (sums[last] - sums[first]) / np.maximum(last - first, 1)
    else:
        places = first + np.floor(rng.random(len(first)) * (last - first)).astype(np.intp)
        like = known[np.minimum(places, len(known) - 1)] if len(known) else values
    open_side = ~np.isfinite(middle)
    chosen = np.where(inside & (open_side if rng is None else True), like, values)
    # Rounding must not move a value out of its interval.
    return np.clip(chosen, np.where(np.isfinite(lower), lower, chosen), np.where(np.isfinite(upper), upper, chosen))
