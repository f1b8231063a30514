"""Sufficient statistics of packed rows: how they follow from the columns, and what clusters of rows add up to.

`Totals` and `Clusters` are what passes read and write. Those in NumPy take them as they are, compiled ones as the
objects of the same names that `compiled` makes: they use the same memory.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

IDENTITY, DIAGONAL, QUADRATIC = range(3)
FEATURES = {"identity": IDENTITY, "diagonal": DIAGONAL, "quadratic": QUADRATIC}


def n_statistics_of(features: int, columns: int) -> int:
    """The number of statistics of that many columns."""
    return {IDENTITY: columns, DIAGONAL: 2 * columns, QUADRATIC: columns + columns * (columns + 1) // 2}[features]


def statistics_of(columns: NDArray[Any], features: int) -> Floats:
    """t(x) in float64: the columns as they are, with their squares, or with all their products.

    Each statistic lies together in memory, for all rows: sums over statistics and comparisons of components then run
    along whole arrays.
    """
    x = columns.astype(np.float64).T
    if features == IDENTITY:
        return np.ascontiguousarray(x).T
    t = np.empty((n_statistics_of(features, len(x)), x.shape[1]))
    t[: len(x)] = x
    place = len(x)
    for a in range(len(x)):
        others = t[a : a + 1] if features == DIAGONAL else t[a : len(x)]
        np.multiply(t[a], others, out=t[place : place + len(others)])
        place += len(others)
    return t.T


def bounds_on_statistics(largest: Floats, features: str) -> Floats:
    """Bounds on the size of each statistic (D,) of rows whose columns are no larger than these (d,).

    >>> bounds_on_statistics(np.array([2.0, 3.0]), "quadratic")
    array([2., 3., 4., 6., 9.])
    """
    if features == "diagonal":
        return np.concatenate([largest, largest**2])
    if features == "quadratic":
        return np.concatenate([largest, np.outer(largest, largest)[np.triu_indices(len(largest))]])
    return largest


@dataclass
class Totals:
    """Weights of components, `counts` (k,), and their weighted statistics, `sums` (k, D); passes add to them."""

    counts: Floats
    sums: Floats

    @staticmethod
    def zeros(n_components: int, n_statistics: int) -> "Totals":
        """Nothing is added up yet."""
        return Totals(np.zeros(n_components), np.zeros((n_components, n_statistics)))

    def part(self, components: slice) -> "Totals":
        """Those of some components."""
        return Totals(self.counts[components], self.sums[components])

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.Totals(self.counts, self.sums)


@dataclass
class Clusters:
    """Labels (n,) and what they add up to; a hard pass changes all of it in place, by the rows that move.

    `sizes` are numbers of rows, `counts` their weights, `sums` their weighted statistics (k, D). A label of -1 is none.
    """

    labels: NDArray[np.int32]
    sizes: NDArray[np.int64]
    counts: Floats
    sums: Floats

    @staticmethod
    def empty(n_rows: int, n_components: int, n_statistics: int) -> "Clusters":
        """No row has a label yet."""
        return Clusters(
            np.full(n_rows, -1, dtype=np.int32),
            np.zeros(n_components, dtype=np.int64),
            np.zeros(n_components),
            np.zeros((n_components, n_statistics)),
        )

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.Clusters(self.labels, self.sizes, self.counts, self.sums)

    def clear_empty(self) -> None:
        """A cluster without rows weighs nothing, whatever rounding left of it."""
        empty = self.sizes == 0
        self.counts[empty] = 0.0
        self.sums[empty] = 0.0


# Work -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Work:
    """Passes over rows, and the (row, component) pairs they scored.

    Pairs that an engine rules out for whole blocks of rows are not counted; the `sorted` and `boxes` engines do not
    count theirs at all.

    >>> print(Work(passes=3, scored=1200, rescored=7))
    3 passes, 1,200 pairs scored, 7 of them twice
    """

    passes: int = 0
    scored: int = 0
    rescored: int = 0
    """Pairs that were scored once more, as rounding left them uncertain."""
    in_numpy: int = 0
    """Pairs that were scored or added up in NumPy rather than by compiled kernels."""

    def __str__(self) -> str:
        text = f"{self.passes:,} {'pass' if self.passes == 1 else 'passes'}, {self.scored:,} pairs scored"
        text += f", {self.rescored:,} of them twice" if self.rescored else ""
        return text + (f", {self.in_numpy:,} in NumPy" if self.in_numpy else "")


class Meter:
    """A running count of work, shared by all who work on the same fit.

    >>> meter = Meter()
    >>> meter.add(Work(passes=1, scored=10))
    >>> meter.work.scored
    10
    """

    def __init__(self) -> None:
        self.work = Work()

    def add(self, work: Work) -> None:
        """Counts more work."""
        before = self.work
        self.work = Work(
            before.passes + work.passes,
            before.scored + work.scored,
            before.rescored + work.rescored,
            before.in_numpy + work.in_numpy,
        )
