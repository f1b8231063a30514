"""What must change nothing: the order of rows, weights or copies, threads, chunks, units, affine maps."""

import numpy as np
import pytest

from algorithms.drawing import ALGORITHMS, HARD, drawn_rows, fitted, matched, started
from cases import BY_ID, CASES, case_id
from each import for_each
from kmle.data import table as rows_module
from kmle.problem.problem import Problem

# Hartigan visits rows one after the other and moves a weighted row as one: another order, or copies, may lead it to
# another optimum.
IN_ANY_ORDER = [name for name in ALGORITHMS if name != "hartigan"]


def assert_same(fit, other, labels=None):
    """The same labels, and the same parameters to ten digits.

    EM ends at the step where rounding, which is chance, lowers the objective. That is flat there: parameters that
    differ by the root of the rounding error are the same to it.
    """
    labels = other.labels if labels is None else labels
    digits = 1e-7 if fit.algorithm == "em" else 1e-10
    np.testing.assert_array_equal(fit.labels, labels)
    np.testing.assert_allclose(other.mixture.weights, fit.mixture.weights, rtol=digits)
    scale = np.abs(fit.mixture.moment).max(axis=0) + 1e-300
    np.testing.assert_allclose(other.mixture.moment / scale, fit.mixture.moment / scale, rtol=0, atol=digits)
    assert other.objective == pytest.approx(fit.objective, rel=1e-10, abs=1e-10)


def few_steps(problem, name):
    """A fit of a hard algorithm to its end, of a soft one for a few steps."""
    return fitted(problem, name) if name in HARD else fitted(problem, name, max_iter=5)


def integer_weights(n):
    return np.random.default_rng(0).integers(1, 4, n)


@for_each("name", IN_ANY_ORDER)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_order_of_the_rows(case, name):
    X = drawn_rows(case, 45)
    weights = integer_weights(len(X)).astype(float)
    order = np.random.default_rng(1).permutation(len(X))
    fit = few_steps(Problem(case.family, X, weights, 1e-3), name)
    other = few_steps(Problem(case.family, X[order], weights[order], 1e-3), name)
    there = np.empty_like(other.labels)
    there[order] = other.labels
    assert_same(fit, other, matched(fit.labels, there))


@for_each("name", IN_ANY_ORDER)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_weights_are_copies(case, name):
    X = drawn_rows(case, 45, seed=1)
    weights = integer_weights(len(X))
    fit = few_steps(Problem(case.family, X, weights.astype(float), 1e-3), name)
    copies = few_steps(Problem(case.family, np.repeat(X, weights, axis=0), None, 1e-3), name)
    first = np.cumsum(weights) - weights
    assert_same(fit, copies, copies.labels[first])
    np.testing.assert_array_equal(np.repeat(fit.labels, weights), copies.labels)


@for_each("name", IN_ANY_ORDER)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_the_size_of_the_chunks(case, name, monkeypatch):
    X = drawn_rows(case, 45, seed=2)
    whole = few_steps(Problem(case.family, X, None, 1e-3), name)
    with monkeypatch.context() as patch:
        patch.setattr(rows_module, "BLOCK_BYTES", 7 * 8 * case.family.n_statistics)  # seven rows
        problem = Problem(case.family, X, None, 1e-3)
        assert len(list(problem.rows.blocks())) == -(-len(X) // 7)
        assert_same(whole, few_steps(problem, name))


@for_each("name", ALGORITHMS)
@pytest.mark.parametrize("case", [BY_ID["gaussian-3"], BY_ID["poisson-2"], BY_ID["gamma-1"]], ids=case_id)
def test_the_number_of_threads(case, name):
    X = drawn_rows(case, 4500, seed=3)  # enough for two tasks
    one, two = (fitted(Problem(case.family, X, None, 1e-3, n_threads=n), name, max_iter=5) for n in (1, 2))
    # Tasks are added in their order whichever thread did them: not a bit differs.
    assert one.mixture == two.mixture
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.objectives, two.objectives)


@for_each("name", ["k-mle", "hard-em", "hartigan"])
@pytest.mark.parametrize("prior", [0.0, 1e-3])
def test_affine_maps_of_gaussian_data(name, prior):
    case = BY_ID["gaussian-3"]
    X = drawn_rows(case, 240, seed=4)
    A = np.array([[2.0, 0.3, 0.0], [0.0, 0.5, -1.0], [0.4, 0.0, 30.0]])
    Y = X @ A.T + np.array([100.0, -7.0, 0.01])
    labels = np.argmax(X @ np.array([[1.0, 0.2, 0.0], [-1.0, 0.2, 0.0], [0.0, -0.5, 0.3]]).T, axis=1).astype(np.int32)
    fits = []
    for rows in (X, Y):
        problem = Problem(case.family, rows, None, prior)
        start = problem.first_parameters(problem.gather(labels, 3))
        fits.append(fitted(problem, name, start=start))
    before, after = fits
    np.testing.assert_array_equal(before.labels, after.labels)
    assert before.n_iter == after.n_iter > 1
    shift = -len(X) * np.log(abs(np.linalg.det(A)))
    assert after.complete_log_likelihood == pytest.approx(before.complete_log_likelihood + shift, rel=1e-10)
    means = before.mixture.source["mean"] @ A.T + np.array([100.0, -7.0, 0.01])
    np.testing.assert_allclose(after.mixture.source["mean"], means, rtol=1e-8)
    covariances = A @ before.mixture.source["covariance"] @ A.T
    np.testing.assert_allclose(after.mixture.source["covariance"], covariances, rtol=1e-6, atol=1e-8)


SCALES = ["exponential", "rayleigh", "weibull", "half-normal", "maxwell", "fixed-shape-gamma", "gamma-1"]


@for_each("name", ["k-mle", "hard-em", "hartigan"])
@pytest.mark.parametrize("case", [*SCALES, "inverse-gamma", "inverse-gaussian", "log-normal", "diagonal-gaussian-2"])
def test_units_of_scale_families(case, name):
    case, c = BY_ID[case], 1000.0
    X = drawn_rows(case, 90, seed=5)
    labels = (np.argsort(np.argsort(X[:, 0])) // 30).astype(np.int32)
    fits = []
    for rows in (X, c * X):
        problem = Problem(case.family, rows, None, 1e-3)
        fits.append(fitted(problem, name, start=problem.first_parameters(problem.gather(labels, 3))))
    np.testing.assert_array_equal(fits[0].labels, fits[1].labels)
    shift = -X.size * np.log(c)
    assert fits[1].complete_log_likelihood == pytest.approx(fits[0].complete_log_likelihood + shift, rel=1e-9)


@pytest.mark.parametrize("init", ["k-mle++", "random", "restricted", "k-means", "quantile"])
def test_seeds_do_not_depend_on_the_order_of_the_rows(init):
    case = BY_ID["gaussian-2"]
    X = drawn_rows(case, 90, seed=6)
    order = np.random.default_rng(2).permutation(90)
    seeds = [started(Problem(case.family, rows, None, 1e-3), 5, init=init).natural for rows in (X, X[order])]
    np.testing.assert_allclose(seeds[0], seeds[1], rtol=1e-9)
