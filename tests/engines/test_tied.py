"""Tied covariances are scored linearly: the passes are those of the dense engine, and the estimates the same."""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture
from kmle.engines.dense import DenseEngine
from kmle.engines.panels.engine import PanelsEngine
from kmle.families import Gaussian
from kmle.problem.problem import Problem


def problem_of(structure, d=4, n=900, k=5, seed=0):
    rng = np.random.default_rng(seed)
    which = rng.integers(k, size=n)
    X = 3 * rng.standard_normal((k, d))[which] + rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 7.0
    weights = rng.uniform(0.5, 2.0, n)
    problem = Problem(Gaussian(structure=structure, n_features=d), X, weights, n_components=k)
    parameters = problem.first_parameters(problem.gather(which.astype(np.int32), k))
    return problem, parameters.natural, problem.bias(parameters)


@pytest.mark.parametrize(("structure", "d"), [("EII", 4), ("EEI", 4), ("EEE", 4), ("EEE", 35), ("EII", 1)])
def test_passes_are_those_of_the_dense_engine(structure, d):
    problem, natural, bias = problem_of(structure, d)
    assert problem.engine.name == "linear"
    plain = (PanelsEngine if d > 30 else DenseEngine)(problem.rows)
    ours, theirs = problem.engine.hard_pass(natural, bias), plain.hard_pass(natural, bias)
    np.testing.assert_array_equal(ours[0].labels, theirs[0].labels)
    for kept in (None, 2):
        one, other = problem.engine.soft_pass(natural, bias, kept), plain.soft_pass(natural, bias, kept)
        np.testing.assert_allclose(one.counts, other.counts, rtol=1e-8)
        np.testing.assert_allclose(one.sums[:, :d], other.sums[:, :d], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(one.sums.sum(axis=0), other.sums.sum(axis=0), rtol=1e-8, atol=1e-6)
        assert one.score == pytest.approx(other.score, rel=1e-9)
        estimates = [problem.estimates(s.counts, s.moments()) for s in (one, other)]
        np.testing.assert_allclose(*estimates, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        problem.engine.log_likelihood(natural, bias), plain.log_likelihood(natural, bias), rtol=1e-9, atol=1e-9
    )


def test_components_that_are_not_tied_are_scored_as_before():
    problem, natural, bias = problem_of("EEE")
    other = natural.copy()
    other[0] *= 1.5
    ours = problem.engine.soft_pass(other, bias)
    theirs = DenseEngine(problem.rows).soft_pass(other, bias)
    np.testing.assert_allclose(ours.sums, theirs.sums)


def test_scores_that_would_round_are_left_to_the_dense_engine():
    problem, natural, bias = problem_of("EEE")
    narrow = natural * 1e12
    np.testing.assert_array_equal(
        problem.engine.hard_pass(narrow, bias)[0].labels, DenseEngine(problem.rows).hard_pass(narrow, bias)[0].labels
    )


@pytest.mark.parametrize("structure", ["EII", "EEI", "EEE"])
@pytest.mark.parametrize("algorithm", ["em", "hard-em", "k-mle"])
def test_fits_are_those_of_the_dense_engine(structure, algorithm):
    X = problem_of(structure)[0].rows.X
    estimator = ExponentialFamilyMixture if algorithm == "em" else KMLE
    options = {"family": Gaussian(structure=structure), "algorithm": algorithm, "random_state": 0, "n_init": 1}
    linear = estimator(4, **options).fit(X)
    dense = estimator(4, engine="dense", **options).fit(X)
    assert linear.result_.objective == pytest.approx(dense.result_.objective, rel=1e-7)
    np.testing.assert_array_equal(linear.labels_, dense.labels_)
