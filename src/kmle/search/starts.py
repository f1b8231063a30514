"""The portfolio: starts of different kinds, as mixtures that learning can begin from."""

from collections import Counter

import numpy as np
from numpy.typing import NDArray

from ..engines.statistics import ClusterStatistics
from ..numerics.arrays import Array, Labels
from ..problem.problem import Parameters, Problem
from ..seeding import SEEDINGS
from ..seeding.partitions import FEW_STARTS, K_MLE, QUANTILE, RANDOM, Table, partitions_of, spread_starts
from .batch import Batch, Learner


def portfolio(
    learner: Learner, tables: dict[str, Table], kinds: list[str], k: int, rng: np.random.Generator
) -> tuple[Batch, list[str]]:
    """One mixture for each kind named, and the kinds in the order of the mixtures."""
    problem = learner.problem
    wanted = Counter(kinds)
    labels: list[Labels] = []
    order: list[str] = []
    spare: list[Parameters] = []
    for kind, count in wanted.items():
        generator = rng.spawn(1)[0]
        if kind in (*tables, RANDOM, QUANTILE):
            labels += partitions_of(kind, tables, k, count, generator, careful=len(kinds) <= FEW_STARTS)
            order += [kind] * count
        elif kind == K_MLE:
            spare += [padded(problem, start, k) for start in spread_starts(problem, k, count, generator)]
        else:
            spare += [seeded(problem, kind, k, generator) for _ in range(count)]
    statistics = [problem.gather(own, k) for own in labels]
    counts = np.array([s.counts for s in statistics]).reshape(-1, k)
    sums = np.array([s.sums for s in statistics]).reshape(-1, k, problem.n_statistics)
    first, places = distinct(counts, sums)
    natural, log_weights = learner.maximized(*_matched(problem, counts[first], sums[first]))
    del statistics, sums  # which may be as large as what a pass will find
    if spare:
        natural = np.concatenate([natural, [start.natural for start in spare]])
        log_weights = np.concatenate([log_weights, [start.log_weights for start in spare]])
        order += [kind for kind in wanted if kind not in (*tables, RANDOM, QUANTILE) for _ in range(wanted[kind])]
    places = np.concatenate([places, np.arange(len(first), len(natural))])
    found = learner.expected(natural, log_weights)
    if not np.array_equal(places, np.arange(len(found))):
        return found.take(places), order
    found.before, found.weights_before = found.before.copy(), found.weights_before.copy()  # to be changed by itself
    return found, order


def _matched(problem: Problem, counts: Array, sums: Array) -> tuple[Array, Array]:
    """Clusters (S, k) and (S, k, D) in the order of the components that they suit best."""
    shape = sums.shape
    statistics = ClusterStatistics(counts.reshape(-1), sums.reshape(-1, shape[-1]), 0.0)
    moments = statistics.moments(problem.prior_strength, problem.prior_moment).reshape(shape)
    order = problem.family.matched(counts, moments, problem.spread)
    if order is None:
        return counts, sums
    return np.take_along_axis(counts, order, axis=1), np.take_along_axis(sums, order[:, :, None], axis=1)


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
