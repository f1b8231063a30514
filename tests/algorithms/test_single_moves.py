"""Moves of single rows: the screen by rank-one updates leaves out no move that gains."""

import numpy as np
import pytest

from kmle import KMLE
from kmle.algorithms.hard_em import HardEM
from kmle.algorithms.screening import Screen
from kmle.algorithms.single_moves import SMALLEST_GAIN, Clusters
from kmle.families import DiagonalGaussian, Gamma, Gaussian, LogNormal, SphericalGaussian
from kmle.problem.problem import Problem

FAMILIES = [Gaussian, DiagonalGaussian, SphericalGaussian, LogNormal]


def clusters(family, seed, prior_strength=0.0, weights=None, held=None, floor=None, d=3, n=300, k=4):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2, (k, d))[rng.integers(k, size=n)]
    X = np.exp(X) if family is LogNormal else X
    sample_weight = None if weights is None else rng.uniform(0, 3, n).round(weights)
    problem = Problem(family(n_features=d), X, sample_weight, prior_strength, held, n_components=k, resolution=floor)
    labels = rng.integers(k, size=n).astype(np.int32)
    algorithm = HardEM()
    state = algorithm.init(problem, problem.first_parameters(problem.gather(labels, k)))
    return Clusters(problem, algorithm.step(problem, state))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "options",
    [{}, {"prior_strength": 2.0}, {"weights": 1}, {"held": np.full(4, 0.25)}, {"floor": 0.5}, {"d": 1}],
    ids=lambda options: next(iter(options), "plain"),
)
def test_bounds_lie_above_every_gain(family, options):
    for seed in range(3):
        found = clusters(family, seed, **options)
        problem, components = found.problem, np.arange(len(found.counts))
        held = None if problem.weights is None else found.parameters.log_weights
        screen = Screen.of(problem, found.counts, found.values(components), held)
        for block, t in problem.rows.blocks():
            places = block.start + np.arange(len(t))
            weights = found.weights(places)
            bounds = screen.largest_gains(t, found.labels[places].astype(np.intp), weights, components)
            leaving = found.leaving(places, t)
            gains = np.stack([found.moving(places, t, leaving, np.full(len(t), j)).gains for j in components], axis=1)
            assert np.all(bounds >= gains - 1e-12 * np.abs(gains, where=np.isfinite(gains), out=np.zeros_like(gains)))
            if family is Gaussian and not options:
                legal = np.isfinite(gains) & np.isfinite(bounds)
                np.testing.assert_allclose(bounds[legal], gains[legal], atol=1e-7)


def test_bounds_are_sharp_where_a_covariance_is_full():
    found = clusters(Gaussian, 5)
    screen = Screen.of(found.problem, found.counts, found.values(np.arange(4)), None)
    _, t = next(iter(found.problem.rows.blocks()))
    bounds = screen.largest_gains(t, found.labels.astype(np.intp), np.ones(len(t)), np.arange(4))
    assert np.isfinite(bounds).mean() > 0.99
    possible = (bounds > SMALLEST_GAIN) & (found.labels[:, None] != np.arange(4))
    assert possible.mean() < 0.1


def test_families_without_a_bound_try_every_pair():
    problem = Problem(Gamma(n_features=1), np.random.default_rng(0).gamma(2, 1, (50, 1)), n_components=2)
    state = HardEM().init(problem, problem.first_parameters(problem.gather(np.arange(50, dtype=np.int32) % 2, 2)))
    found = Clusters(problem, HardEM().step(problem, state))
    _, t = next(iter(problem.rows.blocks()))
    assert sum(len(rows) for rows, _, _ in found.possible_moves(np.arange(50), t, found.targets())) == 100


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("prior_strength", [0.0, 1.0])
def test_sweeps_with_the_screen_end_as_those_without(family, prior_strength, monkeypatch):
    """The slow twin tries every pair."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((400, 2)) + 2 * rng.integers(3, size=(400, 1))
    X = np.exp(0.3 * X) if family is LogNormal else X
    labels = rng.integers(5, size=400)

    def fitted():
        model = KMLE(5, family=family(), algorithm="hartigan", init=labels, prior_strength=prior_strength)
        return model.fit(X)

    fast = fitted()
    monkeypatch.setattr(Clusters, "_screened", lambda self, *arguments: None)
    slow = fitted()
    np.testing.assert_array_equal(fast.labels_, slow.labels_)
    np.testing.assert_array_equal(fast.history_, slow.history_)
    assert np.all(np.diff(fast.history_) >= -1e-9)
