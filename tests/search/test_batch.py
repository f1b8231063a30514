"""Mixtures learned together are those learned one by one."""

import numpy as np
import pytest

from cases import CASES, case_id
from kmle.families import FixedCovarianceGaussian, Gaussian
from kmle.problem.problem import Parameters, Problem
from kmle.search.batch import Learner


def problem_of(case, n=60, prior_strength=1e-3):
    naturals = case.naturals(2, seed=3)
    rows = np.concatenate([case.sample(natural, n // 2, seed) for seed, natural in enumerate(naturals)])
    family = case.family.for_data(rows)
    return Problem(family, family.check(rows), None, prior_strength)


def starts(problem, k, count, seed=0):
    rng = np.random.default_rng(seed)
    statistics = [problem.gather(rng.integers(k, size=len(problem.rows)).astype(np.int32), k) for _ in range(count)]
    return np.stack([s.counts for s in statistics]), np.stack([s.sums for s in statistics])


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_pass_with_several_equals_passes_with_each(case, hard):
    problem = problem_of(case)
    batch = Learner(problem, hard).from_statistics(*starts(problem, 2, 3))
    for place in range(3):
        parameters = batch.parameters(place)
        alone = problem.soften(parameters, 1 if hard else None)
        np.testing.assert_allclose(batch.counts[place], alone.counts, rtol=1e-6, atol=1e-6)
        expected = problem.incomplete_objective(parameters, alone)
        np.testing.assert_allclose(batch.objective[place], expected, rtol=1e-8, atol=1e-3)


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_steps_never_lower_the_objective(case, hard):
    problem = problem_of(case)
    learner = Learner(problem, hard)
    batch = learner.from_statistics(*starts(problem, 2, 3))
    for _ in range(12):
        following = learner.stepped(batch)
        assert np.all(following.objective >= batch.objective - 1e-6 * np.abs(batch.objective) - 1e-3)
        batch = following


def test_work_is_counted_by_steps():
    problem = problem_of(CASES[0])
    learner = Learner(problem)
    learner.from_statistics(*starts(problem, 2, 3))
    assert learner.work == pytest.approx(3 * learner.cost(2))


def test_mixtures_that_have_arrived_wait():
    problem = problem_of(CASES[0])
    learner = Learner(problem)
    batch = learner.run(learner.from_statistics(*starts(problem, 2, 3)), 500)
    before = learner.work
    again = learner.run(batch, 500)
    assert learner.work == before
    np.testing.assert_array_equal(again.objective, batch.objective)


def test_no_mixtures_are_learned_without_complaint():
    problem = problem_of(CASES[0])
    natural, log_weights = Learner(problem).maximized(np.zeros((0, 2)), np.zeros((0, 2, problem.n_statistics)))
    assert natural.shape == (0, 2, problem.n_statistics)
    assert log_weights.shape == (0, 2)


def test_soft_steps_of_hard_learning_end_with_labels():
    problem = problem_of(CASES[0])
    hard = Learner(problem, hard=True)
    batch = hard.softly(hard.from_statistics(*starts(problem, 2, 3)), 4)
    alone = problem.soften(Parameters(batch.natural[0], batch.log_weights[0]), 1)
    np.testing.assert_allclose(batch.counts[0], alone.counts)


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("weighted", [False, True], ids=["equal", "weighted"])
@pytest.mark.parametrize("whole", [False, True], ids=["fractions", "whole"])
@pytest.mark.parametrize("d", [1, 3])
def test_steps_in_one_call_are_steps_one_by_one(d, whole, weighted, hard):
    rng = np.random.default_rng(d)
    X = np.concatenate([rng.normal(0, 1, (90, d)), rng.normal(2, 2, (70, d))])
    X = np.round(4 * X) if whole else X  # whole numbers are packed in single precision
    problem = Problem(Gaussian().for_data(X), X, rng.uniform(0.5, 2, 160) if weighted else None, 1e-3)
    together, alone = Learner(problem, hard), Learner(problem, hard)
    batch = together.from_statistics(*starts(problem, 3, 6))
    alone.work = together.work
    limit = 150 * 6 * together.cost(3)
    found = together.run(batch, 60, 20, limit, -1e6)
    expected = alone.run_by_steps(batch, 60, 20, limit, -1e6)
    assert together.work == pytest.approx(alone.work)
    for name, values in vars(expected).items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-6, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("hard", [False, True], ids=["soft", "hard"])
@pytest.mark.parametrize("prescribed", [False, True], ids=["estimated", "prescribed"])
@pytest.mark.parametrize("covariance", [1.0, (0.5, 2.0, 1.0)], ids=["spherical", "diagonal"])
def test_steps_of_means_in_one_call_are_steps_one_by_one(covariance, prescribed, hard):
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(0, 1, (90, 3)), rng.normal(2, 1, (70, 3))])
    weights = np.array([0.2, 0.5, 0.3]) if prescribed else None
    family = FixedCovarianceGaussian(covariance).for_data(X)
    problem = Problem(family, X, rng.uniform(0.5, 2, 160), 1e-3, weights)
    together, alone = Learner(problem, hard), Learner(problem, hard)
    batch = together.from_statistics(*starts(problem, 3, 6))
    alone.work = together.work
    found, expected = together.run(batch, 60, 20, np.inf, -1e6), alone.run_by_steps(batch, 60, 20, np.inf, -1e6)
    assert together.work == pytest.approx(alone.work)
    for name, values in vars(expected).items():
        np.testing.assert_allclose(getattr(found, name), values, rtol=1e-6, atol=1e-6, err_msg=name)


def test_prescribed_weights_are_held_in_one_call():
    X = np.random.default_rng(0).normal(size=(80, 2))
    problem = Problem(Gaussian().for_data(X), X, None, 1e-3, np.array([0.7, 0.3]))
    together, alone = Learner(problem), Learner(problem)
    batch = together.from_statistics(*starts(problem, 2, 3))
    found, expected = together.run(batch, 30), alone.run_by_steps(batch, 30, 0, np.inf, -np.inf)
    np.testing.assert_array_equal(found.log_weights, np.log([[0.7, 0.3]] * 3))
    np.testing.assert_allclose(found.objective, expected.objective)


def test_a_long_run_is_made_in_several_calls(monkeypatch):
    X = np.random.default_rng(0).normal(size=(80, 2))
    problem = Problem(Gaussian().for_data(X), X, None, 1e-3)
    whole, pieces = Learner(problem), Learner(problem)
    batch = whole.from_statistics(*starts(problem, 2, 3))
    pieces.work = whole.work
    expected = whole.run(batch, 40)
    monkeypatch.setattr("kmle.search.batch.WORK_AT_ONCE", 2 * whole.cost(2))
    found = pieces.run(batch, 40)
    assert pieces.work == whole.work
    np.testing.assert_array_equal(found.objective, expected.objective)


def test_steps_that_are_not_safe_are_made_by_the_formulas():
    # The third column is the sum of the others: covariances are singular.
    X = np.random.default_rng(0).normal(size=(80, 2))
    X = np.column_stack([X, X.sum(axis=1)])
    problem = Problem(Gaussian().for_data(X), X, None, 1e-3)
    together, alone = Learner(problem), Learner(problem)
    batch = together.from_statistics(*starts(problem, 2, 3))
    found, expected = together.run(batch, 10), alone.run_by_steps(batch, 10, 0, np.inf, -np.inf)
    np.testing.assert_allclose(found.objective, expected.objective)
