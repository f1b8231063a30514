"""The objective never falls, at no half-step, and every algorithm ends."""

import numpy as np
import pytest

from algorithms.drawing import ALGORITHMS, HARD, K, algorithm, assert_never_falls, drawn_rows, fitted, problems, started
from cases import BY_ID, CASES, case_id, for_all
from each import for_each
from kmle.algorithms import Online, run
from kmle.algorithms.lloyd import handle_empty
from kmle.problem.problem import Parameters, Problem


@for_each("name", ALGORITHMS)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_objective_never_falls(case, name):
    def never_falls(problem):
        fit = fitted(problem, name, max_iter=15)
        assert_never_falls(fit.objectives)
        assert fit.objective == fit.objectives[-1]

    for_all(problems(case), never_falls, examples=3)


@for_each("name", ALGORITHMS)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_algorithm_ends(case, name):
    problem = Problem(case.family, drawn_rows(case, seed=1), None, 1e-3)
    tol = 0.0 if name in HARD else 1e-4
    fit = fitted(problem, name, max_iter=300, tol=tol)
    assert fit.converged
    assert len(fit.history) >= fit.n_iter
    assert 1 <= fit.mixture.n_components <= K
    assert set(fit.labels) <= set(range(fit.mixture.n_components))


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_online_sees_every_batch_and_ends(case):
    X = drawn_rows(case, seed=2)
    problem = Problem(case.family, X, None, 1e-3)
    fit = run(Online(np.random.default_rng(0), batch_size=30, passes=3), problem, started(problem), max_iter=100)
    assert fit.stop_reason == "every batch seen"
    assert fit.n_iter == 1 + 2 + 2 + 1  # the rest of the first pass, two passes of two batches, and the last look
    assert np.isfinite(fit.objective)
    assert fit.complete_log_likelihood == pytest.approx(fit.mixture.complete_log_likelihood(X), rel=1e-8, abs=1e-8)


@for_each("name", HARD)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_reseeding_an_empty_component_never_lowers_the_objective(case, name):
    X = drawn_rows(case, 30, seed=3)
    problem = Problem(case.family, X, None, 1e-3)
    fit = run(algorithm(name, reseed=True), problem, started(problem, 8, init="random"), max_iter=200)
    assert_never_falls(fit.objectives)
    assert fit.converged


def test_reseeding_sometimes_keeps_more_components():
    kept = {True: [], False: []}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = np.concatenate([rng.poisson(rate, 30) for rate in (1, 20, 80, 200, 500)]).astype(float)[:, None]
        problem = Problem(BY_ID["poisson-1"].family, X)
        start = started(problem, 8, seed, init="random")
        for reseed, counts in kept.items():
            counts.append(run(algorithm("hard-em", reseed), problem, start).mixture.n_components)
    assert np.all(np.array(kept[True]) >= np.array(kept[False]))
    assert sum(kept[True]) > sum(kept[False])


@pytest.mark.parametrize("prior", [1e-3, 20.0])
@pytest.mark.parametrize("case", ["poisson-1", "gaussian-2", "exponential", "bernoulli-3"])
def test_a_reseeded_component_must_pay_for_itself(case, prior):
    case, gains = BY_ID[case], []
    for seed in range(12):
        problem = Problem(case.family, drawn_rows(case, 60, seed), None, prior)
        found = problem.from_mixture(fitted(problem, "hard-em", k=2, seed=seed).mixture)
        # At an optimum, and a component more that is its first over again: it gets no row.
        shares = np.append(np.exp(found.log_weights), 0.5 * np.exp(found.log_weights[0]))
        parameters = Parameters(np.vstack([found.natural, found.natural[:1]]), np.log(shares))
        labels, statistics = problem.assign(parameters)
        assert statistics.counts[-1] == 0
        objectives = []
        for reseed in (False, True):
            settled, _, counted = handle_empty(problem, parameters, labels, statistics, reseed)
            objectives.append(problem.complete_objective(settled, counted))
            assert settled.active.tolist() == (counted.counts > 0).tolist()
        gains.append(objectives[1] - objectives[0])
    # A prior this strong costs more than most of the rows won are worth; two exponentials leave little to a third.
    assert min(gains) >= 0
    assert max(gains) > 0 or prior > 1 or case.id == "exponential"


def test_a_caller_can_stop_a_fit():
    case = BY_ID["gaussian-2"]
    problem = Problem(case.family, drawn_rows(case), None, 1e-3)
    calls = []
    fit = fitted(problem, "em", progress=lambda iteration, objective: calls.append((iteration, objective)) or False)
    assert fit.stop_reason == "stopped by the caller"
    assert not fit.converged
    assert calls == [(1, fit.objective)]
