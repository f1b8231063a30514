"""Different kinds of first partitions of the rows, many at a time: none of them needs the family.

k-means on raw columns finds clusters that differ in the columns with large values, on scaled columns those that differ
in any; statistics t(x) see what the family sees. Seeds are spread (k-means++, Arthur and Vassilvitskii, 2007) or plain
random rows; quantiles along an axis cut the rows in groups of equal size.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import chain, cycle, islice

import numpy as np
from numpy.typing import NDArray

from .._kernels import PackedRows
from ..data.sparse import SparseRows
from ..data.table import Rows
from ..numerics.arrays import Array, Labels
from ..problem.problem import LearningProblem, Parameters, Problem
from ..problem.shrinking import drawn
from .k_mle_plus_plus import spread_over
from .sample import representative, sample_rows

LLOYD_STEPS = 12
# Sparse rows are examined through this many random projections (Johnson and Lindenstrauss, 1984).
PROJECTIONS = 32
# k-MLE++ estimates a distribution for every candidate row: for this many of the sample, in random order. With more
# numbers than this it is left out.
K_MLE_ROWS = 256
K_MLE_NUMBERS = 100_000
# Up to this many starts are all of the kinds that are best alone.
FEW_STARTS = 4
RANDOM, QUANTILE, K_MLE = "random", "quantile", "k-mle++"


@dataclass(frozen=True)
class Table:
    """Columns (n, d) in which rows are near or far, and the weight of each row."""

    columns: Array
    weights: Array

    @cached_property
    def squares(self) -> Array:
        """The squared length of each row."""
        return np.einsum("nd,nd->n", self.columns, self.columns)

    @cached_property
    def packed(self) -> PackedRows:
        """The rows as the kernels want them."""
        rows = PackedRows(len(self.columns), self.columns.shape[1], "identity", self.weights)
        rows.load(0, self.columns)
        return rows

    def distances(self, centers: Array) -> Array:
        """Squared distances (m, n) of all rows to m centers."""
        values = self.squares + np.einsum("md,md->m", centers, centers)[:, None] - 2 * centers @ self.columns.T
        return np.maximum(values, 0.0)


def tables(problem: Problem) -> dict[str, Table]:
    """The rows as given, with scaled columns, and as scaled statistics, by the name of k-means on them."""
    rows = problem.rows
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    if isinstance(rows, SparseRows):
        directions = np.random.default_rng(0).standard_normal((rows.X.shape[1], PROJECTIONS))
        projected = np.asarray(rows.X @ directions)
        return {"k-means": Table(projected, weights), "scaled k-means": Table(scaled(projected, weights), weights)}
    rows = rows.filled()
    given = rows.X.astype(float, copy=False)
    shares = weights / weights.sum()
    found = {"k-means": Table(given - shares @ given, weights)}
    if given.shape[1] > 1:
        found["scaled k-means"] = Table(scaled(given, weights), weights)
    if not _shows_columns(rows):
        statistics = rows.kernel_columns(slice(None))[0].astype(float)
        found["k-means of statistics"] = Table(scaled(statistics, weights), weights)
    return found


def _shows_columns(rows: Rows) -> bool:
    """Whether the kernels see the columns as they are, but for a shift."""
    first = rows.X[:1]
    return rows.family.kernel_columns(first)[0] is first


def scaled(columns: Array, weights: Array) -> Array:
    """Columns of mean zero and variance one; constant ones become zero."""
    shares = weights / weights.sum()
    centered = columns - shares @ columns
    deviation = np.sqrt(shares @ centered**2)
    constant = deviation <= 1e-12 * np.abs(columns).max(axis=0, initial=0.0)
    return np.where(constant, 0.0, centered / np.where(constant, 1.0, deviation))


def spread_seeds(table: Table, k: int, count: int, rng: np.random.Generator, candidates: int = 1) -> NDArray[np.intp]:
    """Places of k seeds for each of `count` starts, (count, k): each next one drawn by its squared distance.

    Of several candidates the one that leaves the least squared distance is taken.
    """
    seeds = np.empty((count, k), dtype=np.intp)
    seeds[:, 0] = drawn(np.tile(table.weights, (count, 1)), rng)[:, 0]
    nearest = table.distances(table.columns[seeds[:, 0]])
    for j in range(1, k):
        places = drawn(np.repeat(nearest * table.weights, candidates, axis=0), rng)[:, 0]
        following = np.minimum(np.repeat(nearest, candidates, axis=0), table.distances(table.columns[places]))
        left = (following @ table.weights).reshape(count, candidates)
        taken = left.argmin(axis=1) + candidates * np.arange(count)
        seeds[:, j], nearest = places[taken], following[taken]
    return seeds


def random_seeds(table: Table, k: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Places of k seeds for each of `count` starts, drawn by weight."""
    cumulative = np.cumsum(table.weights)
    places = np.searchsorted(cumulative, rng.random((count, k)) * cumulative[-1], side="right")
    return np.minimum(places, len(cumulative) - 1)


def partitions_at(table: Table, seeds: NDArray[np.intp], steps: int) -> list[Labels]:
    """Labels of the rows after a few Lloyd steps from seeds (count, k), all starts together."""
    centers = table.columns[seeds]
    for _ in range(steps):
        bias = -0.5 * np.einsum("skd,skd->sk", centers, centers)
        counts, sums, _ = table.packed.soft_passes(centers, bias, 1)
        moved = np.where(counts[:, :, None] > 0, sums / np.maximum(counts, 1e-300)[:, :, None], centers)
        if np.array_equal(moved, centers):
            break
        centers = moved
    labels = []
    for own in centers:
        labels.append(np.empty(len(table.columns), dtype=np.int32))
        table.packed.label_rows(own, -0.5 * np.einsum("kd,kd->k", own, own), labels[-1])
    return labels


def quantile_partitions(table: Table, k: int, count: int, rng: np.random.Generator) -> list[Labels]:
    """Groups of equal weight along axes: the longest one first, then random ones; on a line, of random sizes."""
    labels = []
    for number in range(count):
        if table.columns.shape[1] == 1:
            line = table.columns[:, 0]
        else:
            line = table.columns @ (
                principal_axis(table) if number == 0 else rng.standard_normal(table.columns.shape[1])
            )
        sizes = np.ones(k) if number == 0 else rng.dirichlet(np.full(k, 2.0))
        labels.append(cut(line, table.weights, np.cumsum(sizes / sizes.sum())[:-1]))
    return labels


def cut(line: Array, weights: Array, shares: Array) -> Labels:
    """Labels by the shares of weight at or below each value; equal values stay together."""
    order = np.argsort(line, kind="stable")
    values = line[order]
    below = np.cumsum(weights[order]) - weights[order]
    first = np.maximum.accumulate(np.where(np.append(True, values[1:] != values[:-1]), np.arange(len(line)), 0))
    labels = np.empty(len(line), dtype=np.int32)
    labels[order] = np.searchsorted(shares * weights.sum(), below[first], side="right")
    return labels


def principal_axis(table: Table) -> Array:
    """The direction in which the rows vary most; its largest entry is positive."""
    scatter = (table.columns * table.weights[:, None]).T @ table.columns
    axis = np.linalg.eigh(scatter)[1][:, -1]
    return axis * np.sign(axis[np.argmax(np.abs(axis))])


# Starts ---------------------------------------------------------------------------------------------------------------


def single_start(
    problem: LearningProblem, n_components: int, rng: np.random.Generator, place: int = 0
) -> tuple[str, Parameters]:
    """A start of the kind that has this place in the portfolio, from a small sample, and the name of the kind."""
    sample = representative(problem, sample_rows(problem, n_components), int(rng.integers(2**63)))
    seen = tables(sample)
    kind = kinds_for(sample, seen, place + 1)[place]
    generator = rng.spawn(1)[0]
    if kind == K_MLE:
        return kind, spread_starts(sample, n_components, 1, generator)[0]
    (labels,) = partitions_of(kind, seen, n_components, 1, generator, careful=True)
    return kind, sample.first_parameters(sample.gather(labels, n_components))


def kinds_for(problem: Problem, tables: dict[str, Table], count: int) -> list[str]:
    """The kinds of `count` starts: k-means on each table twice, as its starts are much alike, the others in turn."""
    affordable = min(len(problem.rows), K_MLE_ROWS) * problem.n_statistics <= K_MLE_NUMBERS
    if count <= FEW_STARTS:
        return list(islice(cycle(tables), count))
    others = [RANDOM, QUANTILE, *((K_MLE,) if affordable else ())]
    return list(islice(chain([*tables, *others, *tables], cycle(others)), count))


def partitions_of(
    kind: str, tables: dict[str, Table], k: int, count: int, rng: np.random.Generator, careful: bool
) -> list[Labels]:
    """Labels of the rows by starts of a kind; `careful` ones spread their seeds further."""
    last = list(tables.values())[-1]
    if kind == RANDOM:
        return partitions_at(last, random_seeds(last, k, count, rng), 1)
    if kind == QUANTILE:
        return quantile_partitions(last, k, count, rng)
    seeds = spread_seeds(tables[kind], k, count, rng, 2 + int(np.log(k)) if careful else 1)
    return partitions_at(tables[kind], seeds, LLOYD_STEPS)


def spread_starts(problem: Problem, k: int, count: int, rng: np.random.Generator) -> list[Parameters]:
    """k-MLE++ starts on a part of the rows."""
    some = problem.on_rows(np.arange(min(len(problem.rows), K_MLE_ROWS)))
    return spread_over(some, k, rng).starts(some, k, count, rng)
