"""Labelled rows with many missing entries: covariances that labels alone give are legal, and no fit falls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmle import KMLE
from kmle.data.holes import statistics_of_entries
from kmle.families import Gaussian
from kmle.families.gaussian import legal_covariances
from kmle.families.hidden_scales import factors_of


def few_rows(seed):
    """A few rows of three classes, 40 % of whose entries are missing."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 31)), int(rng.integers(2, 4))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    X[rng.random((n, d)) < 0.4] = np.nan
    X[0] = np.nan_to_num(X[0])
    labels = rng.integers(-1, 3, n)
    labels[:3] = [0, 1, 2]
    return X, labels


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), away=st.sampled_from([0.0, 3.0, 1e4]))
def test_moments_of_entries_are_those_of_a_legal_covariance(seed, away):
    X, _ = few_rows(seed)
    X, weights = X + away, np.random.default_rng(seed).exponential(size=len(X))
    hole, (n, d) = np.isnan(X), X.shape
    blocks = [(np.nan_to_num(X[part]), hole[part], weights[part]) for part in (slice(0, 4), slice(4, n))]
    mean_statistic = statistics_of_entries(Gaussian(n_features=d), blocks, np.full(d, away))[0]
    mean, covariance = mean_statistic[:d], np.empty((d, d))
    covariance[np.triu_indices(d)] = mean_statistic[d:]
    covariance = np.triu(covariance) + np.triu(covariance, 1).T - np.outer(mean, mean)
    seen = (weights[:, None] * ~hole).sum(axis=0)
    np.testing.assert_allclose(mean, np.nansum(weights[:, None] * (X - away), axis=0) / seen, rtol=0, atol=1e-9)
    variances = weights @ np.where(hole, 0.0, X - away - mean) ** 2 / seen
    np.testing.assert_allclose(np.diagonal(covariance), variances, rtol=1e-9, atol=1e-9)
    assert np.linalg.eigvalsh(covariance).min() > -1e-12 * np.trace(covariance)
    assert np.isfinite(legal_covariances(mean_statistic)[1]).all()


# Two had no covariance to begin with; the objective of the third fell where its covariance was nearly singular.
@pytest.mark.filterwarnings("ignore:The fit reached max_iter")
@pytest.mark.parametrize(("family", "seed"), [("gaussian-eee", 23), ("gaussian-vve", 27), ("gaussian", 14)])
def test_fits_of_few_labelled_rows_with_many_holes_never_fall(family, seed):
    X, labels = few_rows(seed)
    model = KMLE(3, family=family, prior_strength=0, random_state=0, max_iter=120).fit(X, labels=labels)
    assert np.isfinite(model.mixture_.natural).all()
    history = np.array(model.history_)
    assert np.diff(history).min() >= -1e-9 * np.abs(history).max()


# Moments of far-away values leave a variance just below zero in a component that has one entry of a column.
def test_student_t_begins_from_variances_that_rounding_leaves_below_zero():
    X = np.full((8, 2), np.nan)
    X[:, 0] = [0.3, -0.3, 1.0, 0.5, -0.1, 0.7, -0.6, 0.2]
    X[[2, 3, 5], 1] = [58.0838239, -120.389565, 56.3257336]
    model = KMLE(2, family="student-t", prior_strength=0, resolution=None, random_state=0)
    model.fit(X, labels=[0, 1, 0, 1, 0, 0, 1, 0])
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(factors_of(np.array([[[1.0, 0.0], [0.0, -1e-13]]]), None, np.ones(2))).all()
