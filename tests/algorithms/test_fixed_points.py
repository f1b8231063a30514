"""What holds where learning ends: the objective in closed form, labels and parameters that agree, k = 1."""

import numpy as np
import pytest

from algorithms.drawing import ALGORITHMS, HARD, drawn_rows, fitted, started
from cases import CASES, case_id
from each import for_each
from kmle import Mixture
from kmle.algorithms import Online, run
from kmle.problem.problem import Problem

ORDER_ONE = [case for case in CASES if case.family.n_statistics == 1]


def sample_weights(n, seed=0):
    return np.random.default_rng(seed).choice([0.5, 1.0, 2.5], n)


def closed_form(family, X, labels, weights, log_weight=None):
    """sum_j n_j (F*(eta_j) + log w_j) + sum_i k(x_i) at the clusters' own means and shares, from the labels alone."""
    t = family.sufficient_statistic(X)
    total = weights @ family.log_carrier(X)
    for j in np.unique(labels):
        own = labels == j
        n = weights[own].sum()
        share = np.log(n / weights.sum()) if log_weight is None else log_weight
        total += n * (family.conjugate(np.average(t[own], axis=0, weights=weights[own])[None])[0] + share)
    return total


def rounding_of(mixture, n):
    """What rounding may do to sum_j n_j <eta_j, theta_j>: much, without a prior, where a cluster is a single row."""
    largest = np.abs(mixture.natural * mixture.moment).sum(axis=1)
    return 16 * np.finfo(float).eps * n * (mixture.weights @ largest)


@for_each("name", [*HARD, "sparse-em-1"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_complete_likelihood_in_closed_form(case, name):
    X = drawn_rows(case, 60)
    for weights in (None, sample_weights(len(X))):
        fit = fitted(Problem(case.family, X, weights), name, tol=0.0)
        counted = np.ones(len(X)) if weights is None else weights
        truth = closed_form(case.family, X, fit.labels, counted)
        rounding = 1e-9 * max(1.0, abs(truth)) + rounding_of(fit.mixture, counted.sum())
        assert fit.converged
        assert fit.objective == pytest.approx(truth, rel=0, abs=rounding)
        assert fit.complete_log_likelihood == pytest.approx(truth, rel=0, abs=rounding)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_complete_likelihood_with_equal_weights_held(case):
    X = drawn_rows(case)
    fit = fitted(Problem(case.family, X, weights=np.full(3, 1 / 3)), "k-mle")
    truth = closed_form(case.family, X, fit.labels, np.ones(len(X)), np.log(1 / 3))
    assert fit.objective == pytest.approx(truth, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("case", ORDER_ONE, ids=case_id)
def test_the_complete_likelihood_of_the_exact_optimum(case):
    X, weights = drawn_rows(case), sample_weights(60)
    fit = fitted(Problem(case.family, X, weights), "exact")
    assert fit.objective == pytest.approx(closed_form(case.family, X, fit.labels, weights), rel=1e-9, abs=1e-9)


@for_each("name", HARD)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_fit_says_what_its_mixture_says(case, name):
    X = drawn_rows(case, seed=4)
    fit = fitted(Problem(case.family, X, None, 1e-3), name)
    joint = fit.mixture.log_joint(X)
    clear = joint.max(axis=1) - np.partition(joint, -2, axis=1)[:, -2] > 1e-7 if joint.shape[1] > 1 else slice(None)
    np.testing.assert_array_equal(fit.labels[clear], joint.argmax(axis=1)[clear])
    assert fit.complete_log_likelihood == pytest.approx(joint.max(axis=1).sum(), rel=1e-8, abs=1e-8)
    assert fit.log_likelihood == pytest.approx(fit.mixture.log_density(X).sum(), rel=1e-8, abs=1e-8)
    posterior = fit.mixture.posterior(X)
    entropy = -(posterior * np.log(np.maximum(posterior, 1e-300))).sum(axis=1).mean()
    assert fit.mean_entropy == pytest.approx(entropy, abs=1e-6)


@for_each("name", ["hard-em", "em"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_prior_costs_the_divergence_from_the_law_of_all_rows(case, name):
    X, strength = drawn_rows(case, seed=5), 0.5
    fit = fitted(Problem(case.family, X, None, strength), name, tol=0.0, max_iter=20)
    everything = case.family.mle(X).natural
    penalty = strength * case.family.kl(everything, fit.mixture.natural).sum()
    likelihood = fit.complete_log_likelihood if name == "hard-em" else fit.log_likelihood
    assert fit.includes_penalty
    assert fit.objective == pytest.approx(likelihood - penalty, rel=1e-7, abs=1e-7)


@for_each("name", [*ALGORITHMS, "online", "exact"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_component_is_the_maximum_likelihood_law(case, name):
    if name == "exact" and case not in ORDER_ONE:
        return  # it needs a line
    X = drawn_rows(case, seed=6)
    weights = sample_weights(len(X), 1)
    truth = case.family.mle(X, weights)
    for prior in (0.0, 1e-3):  # the prior sits at the law of all rows, so it moves nothing here
        problem = Problem(case.family, X, weights, 0.0 if name in ("exact", "online") else prior)
        if name == "online":
            fit = run(Online(np.random.default_rng(0), batch_size=20), problem, started(problem, 1), max_iter=10)
        else:
            fit = fitted(problem, name, k=1)
        np.testing.assert_allclose(fit.mixture.natural, truth.natural, rtol=1e-8, atol=1e-8)
        assert fit.mixture.weights.tolist() == [1.0]
        assert not fit.labels.any()
        assert fit.log_likelihood == pytest.approx(weights @ truth.log_density(X)[:, 0], rel=1e-9, abs=1e-9)


@for_each("name", ALGORITHMS)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_prescribed_weights_stay(case, name):
    prescribed = np.array([0.2, 0.3, 0.5])
    X = drawn_rows(case, seed=7)
    problem = Problem(case.family, X, None, 1e-3, prescribed)
    start = problem.from_mixture(Mixture(case.family, prescribed, case.naturals(3, 7)))
    fit = fitted(problem, name, start=start, max_iter=30)
    occupied = np.delete(prescribed, fit.removed)
    np.testing.assert_allclose(fit.mixture.weights, occupied / occupied.sum(), rtol=1e-12)
