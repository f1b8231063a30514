"""How the algorithms stand to each other: special cases agree step by step, refinements never end lower."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from algorithms.drawing import K, drawn_rows, fitted, problems, started
from cases import BY_ID, CASES, case_id, for_all
from kmle import Mixture
from kmle.algorithms import HardEM, Hartigan, Online, SoftEM, Swap, hartigan, run
from kmle.problem.problem import Problem


def parameters_agree(state, other):
    np.testing.assert_array_equal(state.parameters.active, other.parameters.active)
    active = state.parameters.active
    np.testing.assert_allclose(
        state.parameters.natural[active], other.parameters.natural[active], rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(state.parameters.log_weights[active], other.parameters.log_weights[active], atol=1e-12)
    assert state.objective == pytest.approx(other.objective, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_keeping_one_responsibility_is_hard_em(case):
    def step_by_step(problem):
        sparse, hard = SoftEM(1, accelerated=False), HardEM()
        start = started(problem)
        one, other = sparse.init(problem, start), hard.init(problem, start)
        for _ in range(8):
            one, other = sparse.step(problem, one), hard.step(problem, other)
            # A component without rows leaves at once in hard EM, and at its next update here.
            active = other.parameters.active
            np.testing.assert_allclose(one.statistics.counts, other.statistics.counts, rtol=1e-10)
            np.testing.assert_allclose(
                one.parameters.natural[active], other.parameters.natural[active], rtol=1e-8, atol=1e-10
            )
            if active.all():
                assert one.objective == pytest.approx(other.objective, rel=1e-10, abs=1e-10)
            if one.finished or other.finished:
                break

    for_all(problems(case, priors=[1e-3]), step_by_step, examples=2)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_keeping_all_responsibilities_is_em(case):
    def step_by_step(problem):
        sparse, full = SoftEM(K), SoftEM()
        start = started(problem)
        one, other = sparse.init(problem, start), full.init(problem, start)
        for _ in range(4):
            one, other = sparse.step(problem, one), full.step(problem, other)
            if one.finished or other.finished:
                break
            parameters_agree(one, other)

    for_all(problems(case), step_by_step, examples=2)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_keeping_more_responsibilities_explains_more(case):
    problem = Problem(case.family, drawn_rows(case, seed=11), None, 1e-3)
    start = started(problem)
    objectives = [SoftEM(n).init(problem, start).objective for n in (1, 2, 3)]
    assert objectives == sorted(objectives)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_hartigan_and_swap_never_end_below_hard_em(case):
    def never_below(problem):
        start = started(problem)
        lloyd = run(HardEM(), problem, start, max_iter=500).objective
        for refined in (Hartigan(), Swap(np.random.default_rng(0), trials=3)):
            assert run(refined, problem, start, max_iter=500).objective >= lloyd - 1e-9 * abs(lloyd)

    for_all(problems(case), never_below, examples=2)


def test_hartigan_and_swap_sometimes_end_above():
    case = BY_ID["gaussian-2"]
    gains = {"hartigan": 0, "swap": 0}
    for seed in range(10):
        problem = Problem(case.family, drawn_rows(case, 90, seed, k=5), None, 1e-3)
        lloyd = fitted(problem, "hard-em", k=5, seed=seed).objective
        for name in gains:
            gains[name] += fitted(problem, name, k=5, seed=seed).objective > lloyd + 1e-6
    assert min(gains.values()) >= 3


def test_hartigan_with_few_candidates_is_still_monotone(monkeypatch):
    monkeypatch.setattr(hartigan, "ALL_PAIRS", 10)
    problem = Problem(BY_ID["gaussian-2"].family, drawn_rows(BY_ID["gaussian-2"], 120, 1, k=6), None, 1e-3)
    lloyd, few = fitted(problem, "hard-em", k=6), fitted(problem, "hartigan", k=6)
    assert np.all(np.diff(few.objectives) >= -1e-9 * abs(few.objective))
    assert few.objective >= lloyd.objective


def test_no_single_move_gains_where_hartigan_ends():
    case = BY_ID["poisson-1"]
    X = drawn_rows(case, 45, seed=12)
    fit = fitted(Problem(case.family, X), "hartigan")
    t, k = X[:, 0], fit.mixture.n_components

    def complete(labels):
        total = 0.0
        for j in range(k):
            own = t[labels == j]
            if len(own):
                total += len(own) * (case.family.conjugate(own.mean().reshape(1, 1))[0] + np.log(len(own) / len(t)))
        return total

    here = complete(fit.labels)
    for row in range(len(t)):
        for j in range(k):
            moved = fit.labels.copy()
            moved[row] = j
            assert complete(moved) <= here + 1e-8


# Families whose likelihood has no bound where a cluster is a single row.
UNBOUNDED = ["gaussian-1", "gaussian-2", "diagonal-gaussian-2", "spherical-gaussian-3", "log-normal", "gamma-1", "beta"]
UNBOUNDED += ["inverse-gamma", "inverse-gaussian", "dirichlet-3", "von-mises", "von-mises-fisher-3"]
UNBOUNDED += ["wishart-1", "wishart-2", "inverse-wishart-2"]


@pytest.mark.parametrize("case", UNBOUNDED)
def test_hartigan_makes_no_single_row_a_cluster_where_that_gains_without_bound(case):
    case = BY_ID[case]
    for seed in range(3):
        X = drawn_rows(case, 45, seed)
        weights = np.random.default_rng(seed).choice([0.5, 1.0, 2.5], len(X))
        problem = Problem(case.family, X, weights)
        sizes = [np.bincount(fitted(problem, name, seed=seed).labels).min() for name in ("hard-em", "hartigan")]
        assert sizes[0] == 1 or sizes[1] > 1


# Online ---------------------------------------------------------------------------------------------------------------

SEPARATED = {
    "gaussian": Mixture.from_source(
        "gaussian", [0.2, 0.3, 0.5], mean=[[0, 0], [30, 0], [0, 30]], covariance=[np.eye(2), 2 * np.eye(2), np.eye(2)]
    ),
    "poisson": Mixture.from_source("poisson", [0.2, 0.3, 0.5], rate=[2.0, 60.0, 400.0]),
    "exponential": Mixture.from_source("exponential", [0.5, 0.5], rate=[1e-4, 1e4]),
}


@pytest.mark.parametrize("truth", SEPARATED.values(), ids=SEPARATED)
def test_online_is_near_the_batch_result_on_separated_data(truth):
    X = truth.sample(6000, random_state=0)
    problem = Problem(truth.family, X, None, 1e-3)
    start = started(problem, truth.n_components, seed=1)
    batch = run(HardEM(), problem, start)
    online = run(Online(np.random.default_rng(0), batch_size=256), problem, start, max_iter=10**6)
    assert online.n_iter == -(-(6000 - 256) // 256) + 1
    assert (online.labels == batch.labels).mean() > 0.995
    kl = truth.family.kl(batch.mixture.natural[:, None], online.mixture.natural[None])
    rows, columns = linear_sum_assignment(kl)
    assert kl[rows, columns].max() < 0.01
    np.testing.assert_allclose(online.mixture.weights[columns], batch.mixture.weights[rows], atol=0.01)


def test_more_passes_are_no_worse_on_average():
    case = BY_ID["gaussian-2"]
    totals = {1: 0.0, 4: 0.0}
    for seed in range(8):
        problem = Problem(case.family, drawn_rows(case, 900, seed), None, 1e-3)
        for passes in totals:
            learner = Online(np.random.default_rng(seed), batch_size=100, passes=passes)
            totals[passes] += run(learner, problem, started(problem), max_iter=10**6).objective
    assert totals[4] > totals[1]
