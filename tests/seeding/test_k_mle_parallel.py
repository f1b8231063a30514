"""Divergences to the nearest seeds that k-MLE|| finds on the kernels, against those of the family itself."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from cases import CASES, case_id
from kmle.families import Poisson
from kmle.problem.problem import Problem
from kmle.problem.shrinking import shrunk
from kmle.seeding.k_mle_parallel import _gathered, _Pass, _Scores, _Seeds
from mixture.drawing import typical


def check(problem):
    """New seeds only are compared with rows; the outcome is that of comparing all, by the family's own divergence."""
    rows, mean, family = problem.rows, problem.prior_moment, problem.family
    points = shrunk(rows.take(slice(0, len(rows))), mean)
    places = np.unique(np.linspace(0, len(rows) - 1, 6).astype(np.intp))
    first, further = np.split(places, [2 * len(places) // 3])
    seeds = _Seeds.at(family, points[first])
    kept = _Scores.of(rows, mean)
    _Pass(seeds.after(0), 0, mean, kept).at(rows)
    more = seeds + _Seeds.at(family, points[further])
    following = _Pass(more, len(seeds), mean, kept)
    found = following.divergences(following.at(rows), slice(0, len(rows)))
    elsewhere = _Pass(more, 0, mean, None)
    np.testing.assert_allclose(
        elsewhere.divergences(elsewhere.at(rows), slice(0, len(rows))), found, rtol=1e-9, atol=1e-9
    )
    divergence = np.array([family.dual_bregman(points, moment) for moment in more.moments]).T
    np.testing.assert_allclose(found, divergence.min(axis=1), rtol=1e-7, atol=1e-7 * max(1.0, np.median(kept.size)))
    assert (found[places] == 0).all()
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    ordered = np.sort(divergence, axis=1)
    if (ordered[:, 1] - ordered[:, 0] > 1e-6).all():
        counts = np.bincount(divergence.argmin(axis=1), weights, len(places))
        np.testing.assert_allclose(_gathered(rows, 0, more, mean).counts, counts)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_divergences_are_those_of_the_family(case):
    mixture, _ = typical(case, k=3, seed=6)
    X = np.unique(mixture.sample(400, random_state=1), axis=0)
    order = np.random.default_rng(0).permutation(len(X))
    check(Problem(mixture.family, X[order], np.linspace(1.0, 2.0, len(X))))


def test_sparse_rows_too():
    X = np.unique(np.random.default_rng(2).poisson(1.0, (200, 6)).astype(float), axis=0)
    check(Problem(Poisson(n_features=6), csr_array(X)))
