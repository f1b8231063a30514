"""Questions to mixtures of different families: errors, marginals, overlaps, simplification."""

import numpy as np
import pytest

import kmle.families as f
from kmle import ExponentialFamilyMixture, Mixture, simplify
from kmle.inspection import overlap, standard_errors

BELL = f.Gaussian().member(mean=[[0.0, 0.0], [0.4, 0.1], [9.0, 9.0]], covariance=[np.eye(2)] * 3)
BOX = f.Uniform((-10.0, -10.0), (20.0, 20.0))
NOISE = f.Member(BOX, np.zeros((1, 0)))


def test_standard_errors_are_those_of_the_family_alone():
    """A component without parameters and with hardly any weight changes nothing."""
    X = Mixture(BELL.family, [0.5, 0.0, 0.5], BELL.natural).sample(600, 0)
    plain = ExponentialFamilyMixture(2, family="gaussian", random_state=0).fit(X)
    parts = [*plain.mixture_.members, NOISE]
    mixed = Mixture.from_members([*(plain.weights_ * (1 - 1e-7)), 1e-7], parts)
    expected = standard_errors(plain, X)
    found = standard_errors(mixed, X, method="complete", weights_held=True)
    alone = standard_errors(plain, X, method="complete", weights_held=True)
    np.testing.assert_allclose(found.source["gaussian_mean"][:2], alone.source["mean"], rtol=1e-6)
    assert np.isnan(found.source["gaussian_mean"][2]).all()
    observed = standard_errors(mixed, X)
    np.testing.assert_allclose(observed.source["gaussian_mean"][:2], expected.source["mean"], rtol=1e-3)


def test_overlaps_of_different_families_are_symmetric_integrals():
    bell = f.Gaussian().member(mean=[[0.0]], covariance=[[[1.0]]])
    box = f.Member(f.Uniform((-1.0,), (1.0,)), np.zeros((1, 0)))
    shared = overlap(Mixture.from_members([0.5, 0.5], [bell, box]))
    x = np.linspace(-1, 1, 20001)
    density = np.sqrt(0.5 * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi))
    exact = float(np.sum((density[1:] + density[:-1]) / 2) * (x[1] - x[0]))
    assert shared[0, 1] == shared[1, 0] == pytest.approx(exact, abs=0.02)


def test_marginals_keep_the_families():
    mixture = Mixture.from_members([0.2, 0.2, 0.3, 0.3], [BELL, NOISE])
    part = mixture.marginal([1])
    assert part.family.name == "gaussian*3,uniform"
    np.testing.assert_allclose(part.mean(), mixture.mean()[[1]])


def test_only_components_of_one_family_are_put_together():
    mixture = Mixture.from_members([0.2, 0.2, 0.3, 0.3], [BELL, NOISE])
    simpler = simplify(mixture, 3)
    assert simpler.assignment.tolist() == [0, 0, 1, 2]
    assert simpler.mixture.family.name == "gaussian*2,uniform"
    np.testing.assert_allclose(simpler.mixture.weights, [0.4, 0.3, 0.3])
    gaussians = simplify(Mixture(BELL.family, [2 / 7, 2 / 7, 3 / 7], BELL.natural), 2)
    assert simpler.loss == pytest.approx(0.7 * gaussians.loss)
    assert simplify(mixture, 1).mixture.n_components == 2


def test_a_mode_of_a_mixture_of_families():
    mixture = Mixture.from_members([0.3, 0.1, 0.3, 0.3], [BELL, NOISE])
    place = mixture.mode()
    around = place + 0.01 * np.random.default_rng(0).standard_normal((50, 2))
    assert (mixture.log_density(around) <= mixture.log_density(place[None])).all()
