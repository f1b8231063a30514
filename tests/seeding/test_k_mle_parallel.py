"""Divergences to the nearest seeds that k-MLE|| finds on the kernels, against those of the family itself."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from cases import CASES, case_id
from kmle.families import Gamma, Gaussian, Poisson
from kmle.problem.problem import Problem
from kmle.problem.shrinking import seed_candidates, shrunk
from kmle.seeding.k_mle_parallel import (
    _drawn,
    _gathered,
    _Guess,
    _Pass,
    _Reference,
    _Scores,
    _Seeds,
)
from mixture.drawing import typical

FAMILIES = {
    "poisson": Poisson(),
    "gamma": Gamma(),
    "gaussian": Gaussian(n_features=1),
    "gaussian-2": Gaussian(n_features=2),
}


def check(problem):
    """New seeds only are compared with rows; the outcome is that of comparing all, by the family's own divergence."""
    rows, mean, family = problem.rows, problem.prior_moment, problem.family
    points = shrunk(rows.take(slice(0, len(rows))), mean)
    places = np.unique(np.linspace(0, len(rows) - 1, 6).astype(np.intp))
    first, further = (_Seeds.at(family, points[part]) for part in np.split(places, [2 * len(places) // 3]))
    every, more, all_of_them = _Guess(0.0, 0.0, None), first + further, np.arange(len(rows))
    kept = _Scores.of(rows)
    _Pass(first, first, mean, every, kept).at(rows)
    following, elsewhere = _Pass(more, further, mean, every, kept), _Pass(more, further, mean, every, None)
    found = following.divergences(rows, all_of_them, following.at(rows).top)
    again = elsewhere.divergences(rows, all_of_them, elsewhere.at(rows).top)
    np.testing.assert_allclose(again, found, rtol=1e-9, atol=1e-9)
    divergence = np.array([family.dual_bregman(points, moment) for moment in more.moments]).T
    size = np.median(np.abs(_Seeds.at(family, points).conjugate))
    np.testing.assert_allclose(found, divergence.min(axis=1), rtol=1e-7, atol=1e-7 * max(1.0, size))
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


@pytest.mark.parametrize("family", ["poisson", "gamma", "gaussian"])
def test_rows_are_drawn_by_their_divergence_whatever_the_guess(family):
    X = np.random.default_rng(3).poisson(np.repeat([2.0, 30.0], 3000))[:, np.newaxis] + (family != "poisson") * 0.5
    problem = Problem(FAMILIES[family], X, n_components=2)
    rows, mean = problem.rows, problem.prior_moment
    seeds = _Seeds.at(problem.family, shrunk(rows.take(np.array([0])), mean))
    guess = _Reference.of(problem, seed_candidates(problem, 2, np.random.default_rng(0))).beside(seeds).guess(6000, 300)
    scoring = _Pass(seeds, seeds, mean, guess, None)
    scores = scoring.at(rows)
    levels = scores.top if scores.carrier is None else scores.top + scores.carrier
    # About as many rows are examined as were asked for.
    assert 150 < guess.probability(levels, None).sum() < 600
    divergence = scoring.divergences(rows, np.arange(len(rows)), scores.top)
    far = np.unique(rows.take(slice(3000, None)), axis=0)
    draws = [_drawn(rows, 0, scoring, key, 1).statistics[0] for key in range(300)]
    share = np.mean([(far == draw).all(axis=1).any() for draw in draws])
    own = (rows.take(slice(None))[:, None] == far).all(axis=2).any(axis=1)
    expected = divergence[own].sum() / divergence.sum()
    assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / 300) + 1e-3


def test_a_few_far_rows_of_many_are_drawn():
    X = np.random.default_rng(0).standard_normal((60_000, 2))
    places = np.setdiff1d(np.arange(len(X)), Problem(FAMILIES["gaussian-2"], X, n_components=2)._places)[:6]
    X[places] += 300.0
    problem = Problem(FAMILIES["gaussian-2"], X, n_components=2)
    assert not (problem.sample.rows.X > 100).any()
    seeds = _Seeds.at(problem.family, shrunk(problem.rows.take(np.array([0])), problem.prior_moment))
    guess = _Reference.of(problem, seed_candidates(problem, 2, np.random.default_rng(0))).beside(seeds).guess(6e4, 1000)
    scoring = _Pass(seeds, seeds, problem.prior_moment, guess, None)
    far = problem.rows.take(places)
    for key in range(5):
        found = _drawn(problem.rows, 0, scoring, key, 20).statistics
        assert (found[:, np.newaxis] == far).all(axis=2).any(axis=0).all()
