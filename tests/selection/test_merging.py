"""Merges are those of a plain loop over all pairs; neighbours and rounds are those of their definitions."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from cases import CASES, case_id
from kmle import families as f
from kmle import merging
from kmle.merging import Likelihood, agglomerate
from kmle.problem.model import Model
from mixture.drawing import typical


def plainly_merged(criterion, counts, sums, n_clusters=1):
    """Pairs and losses of merging the cheapest of all pairs."""

    clusters = dict(enumerate(zip(counts, sums, strict=True)))

    @cache
    def value(*members):
        own = [clusters[member] for member in members]
        return criterion.value(np.array([sum(m[0] for m in own)]), np.array([sum(m[1] for m in own)]))[0]

    pairs, losses = [], []
    while len(clusters) > n_clusters:
        costs = {(a, b): value(a) + value(b) - value(a, b) for a, b in combinations(clusters, 2)}
        (a, b), loss = min(costs.items(), key=lambda item: item[1])
        one, other = clusters.pop(a), clusters.pop(b)
        clusters[len(counts) + len(pairs)] = one[0] + other[0], one[1] + other[1]
        pairs.append((a, b))
        losses.append(loss)
    return np.array(pairs), np.array(losses)


@pytest.mark.parametrize("free_weights", [False, True])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_merge_is_the_cheapest_there_is(case, free_weights):
    mixture, _ = typical(case, k=9, seed=5)
    counts = 100 * mixture.weights
    sums = counts[:, None] * mixture.moment
    criterion = Likelihood(
        Model(mixture.family, 100.0, mixture.weights @ mixture.moment, prior_strength=2.0), free_weights
    )
    merges, values = agglomerate(criterion, counts, sums, 2)
    pairs, losses = plainly_merged(criterion, counts, sums, 2)
    assert np.sort(merges.pairs, axis=1).tolist() == np.sort(pairs, axis=1).tolist()
    np.testing.assert_allclose(merges.losses, losses, rtol=1e-9, atol=1e-9 * np.abs(values).max())


@pytest.mark.parametrize("free_weights", [False, True])
def test_merges_among_neighbours_are_close_to_the_best(free_weights, monkeypatch):
    rng = np.random.default_rng(0)
    family, counts = f.Poisson(n_features=2), rng.uniform(1, 5, 80)
    sums = counts[:, None] * rng.gamma(2.0, 5.0, (80, 2))
    criterion = Likelihood(Model(family, counts.sum(), sums.sum(axis=0) / counts.sum()), free_weights)
    _, best = plainly_merged(criterion, counts, sums, 5)
    for limit in (0, 100):
        monkeypatch.setattr(merging, "COMPLETE_NUMBERS", 2 * limit)
        merges, values = agglomerate(criterion, counts, sums, 5)
        assert sorted(np.bincount(merges.labels(5), minlength=5) > 0) == [True] * 5
        # Losses add up to what the labels say, and the total is not far from that of the best merges.
        labels = merges.labels(5)
        after = criterion.value(
            np.bincount(labels, counts), np.array([np.bincount(labels, column) for column in sums.T]).T
        )
        assert merges.losses.sum() == pytest.approx(values.sum() - after.sum(), rel=1e-9, abs=1e-9)
        assert merges.losses.sum() <= best.sum() + 0.1 * abs(best.sum())


def test_neighbours_in_trees_are_those_among_all():
    rng = np.random.default_rng(1)
    counts, mean = rng.uniform(1, 2, 60), rng.gamma(3.0, 1.0, (60, 2))
    criterion = Likelihood(Model(f.Poisson(n_features=2), counts.sum(), mean.mean(axis=0)))
    # Enough candidates for the trees to leave none out.
    near = [
        find(criterion, counts, mean, np.log(mean), 30) for find in (merging._near_in_trees, merging._near_among_all)
    ]
    assert np.array_equal(*(np.sort(found, axis=1) for found in near))


@pytest.mark.parametrize("seed", range(20))
def test_a_round_merges_pairs_that_are_each_others_cheapest(seed):
    rng = np.random.default_rng(seed)
    edges = merging._distinct(*rng.integers(0, 12, (2, 30)), 12)
    losses = rng.integers(0, 6, edges.shape[1]) / 2.0  # many ties
    chosen = merging._cheapest_for_both(edges, losses, 100)
    ends = edges[:, chosen].ravel().tolist()
    assert len(set(ends)) == len(ends) > 0
    assert (np.diff(losses[chosen]) >= 0).all()
    for a, b, loss in zip(*edges[:, chosen], losses[chosen], strict=True):
        assert loss == losses[np.isin(edges, [a, b]).any(axis=0)].min()
    assert merging._cheapest_for_both(edges, losses, 1).tolist() == chosen[:1].tolist()


def test_new_clusters_keep_their_cheapest_partners():
    owners, costs = np.repeat([3, 7], [merging.PARTNERS + 5, 4]), np.random.default_rng(2).random(merging.PARTNERS + 9)
    kept = merging._cheapest_of_each(owners, costs)
    assert kept[owners == 7].all()
    assert kept.sum() == merging.PARTNERS + 4
    assert costs[kept & (owners == 3)].max() < costs[~kept].min()


def test_losses_that_are_no_numbers_come_last():
    class Odd:
        def value(self, counts, sums):
            return np.where(counts > 3, np.nan, -(sums[:, 0] ** 2))

    merges, _ = agglomerate(Odd(), np.ones(6), np.arange(6.0)[:, None])
    assert len(merges.pairs) == 5
    assert sorted({*merges.pairs.ravel().tolist(), 10}) == list(range(11))
