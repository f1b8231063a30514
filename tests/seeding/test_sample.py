"""The sample of a search depends on the values of rows alone."""

import numpy as np
import pytest

from kmle.families import Gaussian
from kmle.problem.problem import Problem
from kmle.seeding.sample import representative

X = np.random.default_rng(0).normal(size=(400, 2))


def sampled(rows, weights=None, size=100, key=7):
    part = representative(Problem(Gaussian(n_features=2), rows, weights), size, key)
    weights = np.ones(len(part.rows)) if part.rows.weights is None else part.rows.weights
    order = np.lexsort(part.rows.X.T)
    return part.rows.X[order], weights[order]


def test_row_order_does_not_matter():
    places = np.random.default_rng(1).permutation(len(X))
    for one, other in zip(sampled(X), sampled(X[places]), strict=True):
        np.testing.assert_allclose(one, other)


def test_a_row_twice_is_a_row_of_weight_two():
    weights = np.random.default_rng(2).integers(1, 4, len(X))
    for one, other in zip(sampled(X, weights.astype(float)), sampled(np.repeat(X, weights, axis=0)), strict=True):
        np.testing.assert_allclose(one, other)


def test_few_rows_are_all_taken():
    rows, weights = sampled(X, size=400)
    np.testing.assert_array_equal(rows, X[np.lexsort(X.T)])
    np.testing.assert_array_equal(weights, np.ones(400))


def test_another_key_draws_other_rows():
    assert not np.array_equal(sampled(X, key=1)[0], sampled(X, key=2)[0])


def test_weighted_sums_over_the_sample_are_unbiased():
    rng = np.random.default_rng(3)
    weights = rng.gamma(1.0, 1.0, len(X))
    truth = weights @ X / weights.sum()
    means = [w @ rows / w.sum() for rows, w in (sampled(X, weights, key=key) for key in range(200))]
    error = np.std(means, axis=0) / np.sqrt(len(means))
    assert np.abs(np.mean(means, axis=0) - truth) == pytest.approx(0, abs=4.5 * error.max())
