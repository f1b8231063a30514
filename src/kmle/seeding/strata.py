"""Rows of one column as a few hundred weighted values, the means of strata between quantiles of a sample.

Steps on strata cost next to nothing, and unlike a sample of rows they lead to where steps on all rows lead (block EM,
Neal and Hinton, 1998; Verbeek, Nunnink and Vlassis, 2006). Sums of strata add up over chunks, so data in chunks have
the same strata as the same data in memory.
"""

from dataclasses import dataclass

import numpy as np

from ..data.sparse import SparseRows
from ..data.table import Rows
from ..families.measures import REAL_NUMBERS, measure_of
from ..numerics.arrays import Array
from ..problem.problem import LearningProblem, Problem

# Strata between the tails, and the values of the sample in each tail that all are borders.
MIDDLE, TAIL = 512, 32
BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class StrataSums:
    """The weights of strata, and the weighted sums of what their values are above the border below them."""

    weights: Array
    excess: Array

    def __add__(self, other: "StrataSums") -> "StrataSums":
        return StrataSums(self.weights + other.weights, self.excess + other.excess)


@dataclass(frozen=True)
class Strata:
    """Strata of a line: values from each border on, up to the next; those below the first border come first."""

    borders: Array

    @property
    def lowest(self) -> Array:
        """What the values of each stratum are measured from."""
        return np.concatenate([self.borders[:1], self.borders])

    def __call__(self, rows: Rows | SparseRows, first: int) -> StrataSums:
        assert isinstance(rows, Rows)  # sparse rows have no strata
        number, lowest = len(self.borders) + 1, self.lowest
        weights, excess = np.zeros(number), np.zeros(number)
        for start in range(0, len(rows), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            values = rows.X[block, 0].astype(float, copy=False)
            # Values in order: a search for each border takes less than one for each value.
            order = slice(None) if rows.weights is None else np.argsort(values)
            values = np.sort(values) if rows.weights is None else values[order]
            first_ones = np.append(0, np.searchsorted(values, self.borders))
            counts = np.diff(np.append(first_ones, len(values)))
            above = values - np.repeat(lowest, counts)
            filled = np.flatnonzero(counts)
            if rows.weights is None:
                weights += counts
            else:
                own = rows.weights[block][order]
                above *= own
                weights[filled] += np.add.reduceat(own, first_ones[filled])
            excess[filled] += np.add.reduceat(above, first_ones[filled])
        return StrataSums(weights, excess)


@dataclass(frozen=True)
class Line:
    """Weighted values that stand for the rows of a problem of one column."""

    values: Array
    weights: Array

    def problem(self, like: Problem, total: float | None = None) -> Problem:
        """The problem on them, with family, prior and weights of another one; their weights may have another total."""
        scale = 1.0 if total is None else total / self.weights.sum()
        rows = Rows(like.family, self.values[:, np.newaxis], scale * self.weights, like.center, like.rows.n_threads)
        return Problem.like(like, rows)


def strata_of(problem: LearningProblem, sample: Problem, size: int) -> Line | None:
    """Strata of all rows with borders from a sample, which is to be of a size.

    None where rows have several columns, are no real numbers, or so few that the sample holds all that differ.
    """
    rows = sample.rows
    if isinstance(rows, SparseRows) or rows.X.shape[1] != 1 or len(rows) < size or problem.total <= size:
        return None
    if measure_of(problem.family.support) != REAL_NUMBERS or problem.expects or not np.isfinite(rows.X).all():
        return None
    strata = Strata(_borders(rows.X[:, 0].astype(float)))
    found = problem.over_rows(strata)
    filled = found.weights > 0
    values = strata.lowest[filled] + found.excess[filled] / found.weights[filled]
    # Missing values are in no stratum.
    return Line(values, found.weights[filled]) if np.isfinite(values).all() else None


def _borders(values: Array) -> Array:
    """Values at equal distances in the order of all, and all of both tails."""
    values = np.unique(values)
    middle = np.linspace(TAIL, len(values) - 1 - TAIL, MIDDLE).astype(int)
    places = np.concatenate([np.arange(TAIL), middle, np.arange(len(values) - TAIL, len(values))])
    return values[np.unique(np.clip(places, 0, len(values) - 1))]
