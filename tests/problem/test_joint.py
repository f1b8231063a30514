"""Families whose components are estimated together: the hook, with Gaussians that share one covariance."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from kmle import KMLE, ExponentialFamilyMixture, Mixture, certify, simplify
from kmle.families import Gaussian
from kmle.numerics.packing import pack, unpack
from kmle.problem.problem import Problem
from kmle.selection import merge_path_from_fit


@dataclass(frozen=True)
class OneCovariance(Gaussian):
    """Gaussians with the same covariance."""

    name: ClassVar = "one-covariance"
    joint: ClassVar = True

    def joint_estimate(self, counts, moments, before, spread):
        d = self.n_features
        mean = moments[..., :d]
        own = unpack(moments[..., d:]) - mean[..., :, None] * mean[..., None, :]
        pooled = np.einsum("...k,...kij->...ij", counts, own) / counts.sum(axis=-1)[..., None, None]
        second = pooled[..., None, :, :] + mean[..., :, None] * mean[..., None, :]
        shared = np.concatenate([mean, pack(second)], axis=-1)
        if spread is None:
            return self.natural_from_moment(shared)
        flat = shared.reshape(-1, shared.shape[-1])
        return self.natural_with_spread(flat, spread).reshape(shared.shape)

    def mixture_step(self, *given):
        raise AssertionError("steps in one call estimate each component alone")

    def n_parameters_for(self, n_components):
        d = self.n_features
        return n_components * d + d * (d + 1) // 2


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    shape = np.array([[1.0, 0.3, 0.0], [0.0, 0.7, 0.2], [0.0, 0.0, 0.4]])
    means = np.array([[0, 0, 0], [4, 0, 1], [0, 5, -2]])
    return means[rng.integers(3, size=400)] + rng.standard_normal((400, 3)) @ shape


def covariances(mixture):
    return mixture.source["covariance"]


def share_one(mixture):
    own = covariances(mixture)
    return np.allclose(own, own[0], rtol=1e-9, atol=0)


def test_em_finds_what_scikit_learn_finds_with_a_tied_covariance(rows):
    peer = GaussianMixture(3, covariance_type="tied", tol=1e-12, max_iter=2000, reg_covar=0, random_state=0).fit(rows)
    model = ExponentialFamilyMixture(
        3, family=OneCovariance(), prior_strength=0, resolution=None, random_state=0, tol=1e-12
    ).fit(rows)
    assert share_one(model.mixture_)
    assert model.score(rows) == pytest.approx(peer.score(rows), abs=1e-8)
    assert model.bic(rows) == pytest.approx(peer.bic(rows), abs=1e-4)


@pytest.mark.parametrize("algorithm", ["em", "sparse-em", "k-mle", "hard-em", "online"])
@pytest.mark.parametrize("weights", [None, "uniform"])
def test_every_algorithm_stays_in_the_model_and_never_lowers_the_objective(rows, algorithm, weights):
    estimator = ExponentialFamilyMixture if algorithm in ("em", "sparse-em") else KMLE
    model = estimator(4, family=OneCovariance(), algorithm=algorithm, weights=weights, random_state=1).fit(rows)
    assert share_one(model.mixture_)
    if algorithm != "online":
        objectives = np.array([step.objective for step in model.result_.history])
        assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[1:])).all()
        assert certify(model, rows).stable


@pytest.mark.parametrize("init", ["k-mle++", "k-means", "grid", "agglomerative", "short-em", "quantile", "random"])
def test_every_seeding_starts_in_the_model(rows, init):
    model = KMLE(3, family=OneCovariance(), init=init, n_init=1, random_state=2, max_iter=1).fit(rows)
    assert share_one(model.mixture_)


def test_a_start_outside_the_model_is_moved_into_it(rows):
    free = ExponentialFamilyMixture(3, family="gaussian", random_state=0).fit(rows).mixture_
    start = Mixture(OneCovariance(n_features=3), free.weights, free.natural)
    model = ExponentialFamilyMixture(3, family=OneCovariance(), init=start, max_iter=1).fit(rows)
    assert share_one(model.mixture_)


def test_a_reseeded_component_shares_the_covariance(rows):
    labels = np.zeros(len(rows), dtype=int)
    labels[:1] = 1
    model = KMLE(3, family=OneCovariance(), init=labels, empty_components="reseed", random_state=0).fit(rows)
    assert share_one(model.mixture_)


def test_points_beyond_the_estimate_are_moved_into_the_model(rows):
    problem = Problem(OneCovariance(n_features=3), rows, n_components=2)
    family = problem.family
    apart = family.natural_from_source(mean=np.zeros((2, 3)), covariance=np.array([np.eye(3), 3 * np.eye(3)]))
    before = family.natural_from_source(mean=np.ones((2, 3)), covariance=np.array([np.eye(3)] * 2))
    moved = problem.confined(apart, before, np.log([0.25, 0.75]))
    np.testing.assert_allclose(family.source_from_natural(moved)["covariance"], [2.5 * np.eye(3)] * 2, atol=1e-12)
    illegal = apart.copy()
    illegal[0, 3:] *= -1
    np.testing.assert_array_equal(problem.confined(illegal, before, np.log([0.25, 0.75])), before)


@pytest.mark.parametrize("algorithm", ["hartigan", "swap", "exact"])
def test_algorithms_that_value_single_clusters_are_refused(rows, algorithm):
    with pytest.raises(ValueError, match="estimated together"):
        KMLE(2, family=OneCovariance(), algorithm=algorithm).fit(rows)


def test_merges_are_refused(rows):
    model = KMLE(2, family=OneCovariance(), random_state=0).fit(rows)
    with pytest.raises(ValueError, match="estimated together"):
        merge_path_from_fit(model, rows)
    with pytest.raises(ValueError, match="estimated together"):
        simplify(model.mixture_, 1)
