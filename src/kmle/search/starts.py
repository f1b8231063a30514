"""The portfolio: starts of different kinds, as mixtures that learning can begin from."""

from collections import Counter
from itertools import chain, cycle, islice

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array, Labels
from ..problem.problem import Parameters, Problem
from ..seeding import SEEDINGS
from ..seeding.k_mle_plus_plus import spread_over
from .batch import Batch, Learner
from .partitions import LLOYD_STEPS, Table, partitions_at, quantile_partitions, random_seeds, spread_seeds

# k-MLE++ estimates a distribution for every candidate row: for so many of the sample, which come in random order. With
# more numbers than this it is left out.
K_MLE_ROWS = 256
K_MLE_NUMBERS = 100_000
# Up to so many starts are all of the kinds that are best alone.
FEW_STARTS = 4
RANDOM, QUANTILE, K_MLE = "random", "quantile", "k-mle++"


def kinds_for(problem: Problem, tables: dict[str, Table], count: int) -> list[str]:
    """The kinds of so many starts: k-means on each table twice, as its starts are much alike, the others in turn."""
    affordable = min(len(problem.rows), K_MLE_ROWS) * problem.n_statistics <= K_MLE_NUMBERS
    if count <= FEW_STARTS:
        return list(islice(cycle(tables), count))
    others = [RANDOM, QUANTILE, *((K_MLE,) if affordable else ())]
    return list(islice(chain([*tables, *others, *tables], cycle(others)), count))


def portfolio(
    learner: Learner, tables: dict[str, Table], kinds: list[str], k: int, rng: np.random.Generator
) -> tuple[Batch, list[str]]:
    """One mixture for each kind named, and the kinds in the order of the mixtures."""
    problem = learner.problem
    wanted = Counter(kinds)
    labels: list[Labels] = []
    order: list[str] = []
    last = list(tables.values())[-1]
    spare: list[Parameters] = []
    for kind, count in wanted.items():
        generator = rng.spawn(1)[0]
        if kind in tables:
            candidates = 2 + int(np.log(k)) if len(kinds) <= FEW_STARTS else 1
            seeds = spread_seeds(tables[kind], k, count, generator, candidates)
            found = partitions_at(tables[kind], seeds, LLOYD_STEPS)
        elif kind == RANDOM:
            found = partitions_at(last, random_seeds(last, k, count, generator), 1)
        elif kind == QUANTILE:
            found = quantile_partitions(last, k, count, generator)
        elif kind == K_MLE:
            some = problem.on_rows(np.arange(min(len(problem.rows), K_MLE_ROWS)))
            spread = spread_over(some, k, generator)
            spare += [padded(problem, spread.parameters(some, k, generator), k) for _ in range(count)]
            continue
        else:
            spare += [seeded(problem, kind, k, generator) for _ in range(count)]
            continue
        labels += found
        order += [kind] * count
    statistics = [problem.gather(own, k) for own in labels]
    counts = np.array([s.counts for s in statistics]).reshape(-1, k)
    sums = np.array([s.sums for s in statistics]).reshape(-1, k, problem.n_statistics)
    first, places = distinct(counts, sums)
    natural, log_weights = learner.maximized(counts[first], sums[first])
    if spare:
        natural = np.concatenate([natural, [start.natural for start in spare]])
        log_weights = np.concatenate([log_weights, [start.log_weights for start in spare]])
        order += [kind for kind in wanted if kind not in (*tables, RANDOM, QUANTILE) for _ in range(wanted[kind])]
    places = np.concatenate([places, np.arange(len(first), len(natural))])
    return learner.expected(natural, log_weights).take(places), order


def distinct(counts: Array, sums: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Of partitions with these statistics those that differ from all before, and for each its place among them.

    Partitions are the same if their clusters are, in any order.
    """
    shapes = np.sort(np.concatenate([counts[:, :, np.newaxis], sums[:, :, :2]], axis=2).round(9), axis=1)
    _, first, places = np.unique(
        shapes.reshape(len(counts), np.prod(shapes.shape[1:])), axis=0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    return first[order], np.argsort(order)[places.ravel()]


def seeded(problem: Problem, kind: str, k: int, rng: np.random.Generator) -> Parameters:
    """A start of a named kind, with inactive components where it has fewer than k."""
    return padded(problem, SEEDINGS[kind](problem, k, rng), k)


def padded(problem: Problem, start: Parameters, k: int) -> Parameters:
    """The start with inactive components up to k."""
    missing = k - len(start.natural)
    if missing == 0:
        return start
    natural: Array = np.concatenate([start.natural, np.tile(problem.prior_natural, (missing, 1))])
    return Parameters(natural, np.append(start.log_weights, np.full(missing, -np.inf)))
