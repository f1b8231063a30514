"""How finely each column was measured, and how narrow a component may be because of it.

Most real columns are rounded. A density has no bound on a value that repeats, so a component as narrow as the rounding
gains likelihood from the rounding alone. On a grid of step h a comb of Gaussians, one of standard deviation s at every
value, gains log(1 + 2 exp(-2 pi^2 s^2 / h^2)) nats per row, by Poisson summation. That is 0.08 at s = 0.4 h, which no
criterion pays for: one rounded Gaussian stays one component. Families with a shape are held to 0.6 h: 0.002 nats.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from ..numerics.grid import grid_step

# The smallest standard deviation of a component, in steps: of Gaussians and scales, and of families with a shape.
NARROWEST, NARROWEST_SHAPED = 0.4, 0.6
# Where columns depend on each other, the direction in which they do not vary is as wide as this share of their scale.
COLLINEAR = 1e-5
# A constant column gets a step of this share of the other columns' scale: the same for every component.
CONSTANT = 1e-4
# Steps below this share of a column's scale are not worth a word.
FINE = 0.01
# The share of the distinct values that a scale is measured on: a few extreme ones do not count.
CENTRAL = (0.1, 0.9)
# A grid that matters shows in repeats among this many values; scales are measured on as many.
ENOUGH = 512
# Values further from the median than this many times the span of the central ones are extreme.
REACH = 50.0
# Rounding of a sum of weights.
ROUNDING = 1e-12
# What that share of a Gaussian sample spans, in standard deviations.
CENTRAL_SPAN = 2.5631


@dataclass(frozen=True, eq=False)
class Resolution:
    """Steps of the columns' grids (d,), zero where there is none, and their scales (d,)."""

    steps: Array
    scales: Array

    @cached_property
    def spread(self) -> Array:
        """The smallest standard deviation of a component in each column (d,), where columns are independent."""
        return NARROWEST * self.steps

    @cached_property
    def shaped_spread(self) -> Array:
        """The same for families with a shape, such as the gamma family."""
        return NARROWEST_SHAPED * self.steps

    @cached_property
    def joint_spread(self) -> Array:
        """The same where columns may depend on each other, as in a full Gaussian."""
        return np.maximum(self.spread, COLLINEAR * self.scales)

    @cached_property
    def coarse_steps(self) -> Array:
        """The steps that are coarse enough to matter (d,), zero elsewhere."""
        return np.where(self.steps > FINE * self.scales, self.steps, 0.0)

    def take(self, columns: slice) -> "Resolution":
        """The resolution of some columns."""
        return Resolution(self.steps[columns], self.scales[columns])


# What is asked for: "auto" finds the grids, None knows of none, numbers (d,) are steps.
Asked: TypeAlias = str | Array | Resolution | None


def unknown_resolution(n_features: int) -> Resolution:
    """No grids, no scales: components may be as narrow as numbers can tell."""
    return Resolution(np.zeros(n_features), np.zeros(n_features))


def resolution_of(X: Array, asked: Asked = "auto") -> Resolution:
    """The resolution of the columns of X (n, d), with the steps found or given. Copies of rows do not change it.

    >>> found = resolution_of(np.array([[0.1, 2.0], [0.4, 4.0], [0.2, 8.0], [0.2, 2.0]]))
    >>> found.steps, found.spread
    (array([0.1, 1. ]), array([0.04, 0.4 ]))
    """
    if asked is None or isinstance(asked, Resolution):
        return unknown_resolution(X.shape[1]) if asked is None else asked
    some = np.sort(X[:: max(1, len(X) // ENOUGH)].astype(float, copy=False), axis=0)
    repeats = (some[1:] == some[:-1]).any(axis=0)
    scales = np.array(
        [_scale(distinct_of(column) if again else column) for column, again in zip(_seen(some), repeats, strict=True)]
    )
    varying = _varying(X)
    scales[varying & (scales == 0)] = 1.0
    typical = float(np.median(scales[varying])) if varying.any() else 1.0
    if isinstance(asked, str):
        steps: Array = np.zeros(X.shape[1])
        for column in np.flatnonzero(varying & (repeats | (len(X) <= ENOUGH))):
            steps[column] = grid_step(next(_seen(X[:, [column]])))
        steps[~varying] = CONSTANT * typical
    else:
        steps = asked
    return Resolution(steps, np.where(varying, scales, typical))


def _seen(X: Array) -> Iterator[Array]:
    """The entries of each column that are not missing; a single zero where there are none."""
    for column in X.T:
        hole = np.isnan(column)
        yield column[~hole] if not hole.all() else np.zeros(1)


def _varying(X: Array) -> NDArray[np.bool_]:
    """Whether the entries of each column (d,) differ."""
    first = X[np.argmax(~np.isnan(X), axis=0), np.arange(X.shape[1])]
    return np.asarray(((first != X) & ~np.isnan(X)).any(axis=0))


@dataclass(frozen=True)
class Reach:
    """How far typical values of columns (d,) lie from their medians: an extreme value is no sign of what others are.

    >>> column = np.append(np.arange(10.0), 1e9)[:, np.newaxis]
    >>> np.flatnonzero(~Reach.of(column).holds(column))
    array([10])
    """

    middle: Array
    reach: Array

    @staticmethod
    def of(X: Array, weights: Array | None = None) -> "Reach":
        """The reach of the columns of some rows (n, d); missing entries do not count, a weight of two counts twice."""
        stride = max(1, len(X) // ENOUGH)
        some, own = X[::stride].astype(float, copy=False), None if weights is None else weights[::stride]
        low, middle, high = _quantiles(some, (CENTRAL[0], 0.5, CENTRAL[1]), own)
        return Reach(middle, np.where(high > low, REACH * (high - low), np.inf))

    def holds(self, X: Array) -> NDArray[np.bool_]:
        """Which rows (n,) have no extreme value; missing entries are not extreme."""
        return np.asarray(~(np.abs(X - self.middle) > self.reach).any(axis=1))

    def may_hold(self, largest: Array) -> bool:
        """Whether all values may be typical where the largest of each column have this size (d,)."""
        return bool((largest <= np.abs(self.middle) + self.reach).all())


def _quantiles(X: Array, shares: tuple[float, ...], weights: Array | None) -> list[Array]:
    """The least entries (d,) that these shares of a column do not exceed, by weight; missing entries do not count."""
    order = np.argsort(X, axis=0)  # what is missing is last
    entries = np.take_along_axis(X, order, axis=0)
    counted = np.where(np.isnan(entries), 0.0, 1.0 if weights is None else weights[order]).cumsum(axis=0)
    needed = counted[-1] * (1 - ROUNDING)
    return [np.take_along_axis(entries, (counted >= q * needed).argmax(axis=0)[None], axis=0)[0] for q in shares]


def distinct_of(values: Array) -> Array:
    """Sorted values (n,), each once."""
    return values[np.append(True, values[1:] != values[:-1])]


def _scale(distinct: Array) -> float:
    """The standard deviation of distinct values in order, or that of the central ones if it is smaller and not zero."""
    low, high = np.interp(np.multiply(CENTRAL, len(distinct) - 1), np.arange(len(distinct)), distinct)
    central = float(high - low) / CENTRAL_SPAN
    deviation = float(distinct.std())
    return min(central, deviation) if central > 0 else deviation
