"""Accelerated EM reaches the optima of plain EM, in fewer steps."""

from dataclasses import replace

import numpy as np
import pytest

from kmle.algorithms import SoftEM, run
from kmle.algorithms import acceleration as module
from kmle.algorithms.acceleration import Acceleration
from kmle.families import Gaussian, Poisson
from kmle.problem.problem import Parameters, Problem

OVERLAPPING = {
    "gaussian": (
        Gaussian(),
        np.random.default_rng(0).normal(np.repeat([[0.0, 0.0], [1.5, 1.0], [3.0, -0.5]], 400, axis=0), 1.0),
    ),
    "poisson": (Poisson(), np.random.default_rng(0).poisson(np.repeat([3.0, 5.0, 9.0], 400))[:, None].astype(float)),
}


def problem_and_start(name):
    family, X = OVERLAPPING[name]
    problem = Problem(family.for_data(X), X, None, 1e-3, n_components=3)
    labels = np.argsort(np.argsort(X[:, 0])) * 3 // len(X)
    return problem, problem.first_parameters(problem.gather(labels.astype(np.int32), 3))


@pytest.mark.parametrize("name", OVERLAPPING)
def test_the_optimum_of_plain_steps_in_fewer_of_them(name):
    problem, start = problem_and_start(name)
    plain = run(SoftEM(accelerated=False), problem, start, max_iter=20_000, tol=1e-13)
    quick = run(SoftEM(), problem, start, max_iter=20_000)
    assert plain.n_iter > 200
    assert quick.n_iter < plain.n_iter / 4
    assert quick.objective == pytest.approx(plain.objective, abs=0.1)
    assert (np.diff(quick.objectives) >= -1e-9).all()


def test_units_of_columns_do_not_matter():
    family, X = OVERLAPPING["gaussian"]
    steps = []
    for scale in (1.0, [1e-3, 1e4]):
        problem = Problem(family.for_data(X), X * scale, None, 0.0, n_components=3)
        labels = (np.argsort(np.argsort(X[:, 0])) * 3 // len(X)).astype(np.int32)
        start = problem.first_parameters(problem.gather(labels, 3))
        steps.append(np.diff(run(SoftEM(), problem, start, max_iter=25, tol=0.0).objectives))
    np.testing.assert_allclose(steps[0], steps[1], rtol=1e-3, atol=1e-6)


def test_long_vectors_are_not_remembered(monkeypatch):
    problem, start = problem_and_start("gaussian")
    parameters = Parameters(np.asarray(start.natural), start.log_weights)
    empty = Acceleration(parameters)
    assert empty.observed(problem, parameters, parameters).residuals.shape == (3, 1, 18)
    monkeypatch.setattr(module, "NUMBERS", 40)
    seen = empty
    for _ in range(5):
        seen = seen.observed(problem, parameters, parameters)
    assert seen.residuals.shape == (3, 3, 18)
    monkeypatch.setattr(module, "NUMBERS", 17)
    assert replace(empty).observed(problem, parameters, parameters).residuals is None


def test_a_point_that_goes_too_far_is_tried_at_a_shorter_way(monkeypatch):
    rng = np.random.default_rng(1)
    labels = rng.integers(4, size=2000)
    X = rng.normal(size=2000) * np.array([0.8, 0.3, 0.75, 0.8])[labels] + np.array([-1.2, -1.9, -2.5, 0.77])[labels]
    problem = Problem(Gaussian().for_data(X[:, None]), X[:, None], None, 1e-3, n_components=4)
    quarters = (np.argsort(np.argsort(X)) * 4 // len(X)).astype(np.int32)
    start = problem.first_parameters(problem.gather(quarters, 4))
    found = run(SoftEM(), problem, start, max_iter=5000)
    monkeypatch.setattr(module, "SHORTER", 1.0)
    without = run(SoftEM(), problem, start, max_iter=5000)
    assert found.n_iter < 0.5 * without.n_iter
    assert found.objective > without.objective - 0.1
    assert (np.diff(found.objectives) >= -1e-9).all()
