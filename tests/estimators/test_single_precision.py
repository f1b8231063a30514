"""Data in float32 give the fit of the same numbers in float64, whatever the family and the engine."""

import numpy as np
import pytest

from kmle import KMLE, Batches, ExponentialFamilyMixture
from kmle.data.table import Rows
from kmle.families import Gamma, Gaussian, Laplace

N = 70_000


def groups(n_columns, k=6, spread=2.0, at=10.0, n=N):
    rng = np.random.default_rng(n_columns)
    centers = at + spread * rng.normal(size=(k, n_columns))
    return centers[rng.integers(k, size=n)] + rng.normal(size=(n, n_columns))


def gammas(n_columns):
    rng = np.random.default_rng(n_columns)
    return rng.gamma(2.0 + 3 * rng.integers(3, size=(N, n_columns))) + 1e-3


# Enough values, in those of several columns, that a cluster's sums follow the rows that move.
CASES = [
    ("gaussian", groups(1), ["dense", "sorted", "boxes"], 4),
    ("gaussian", groups(3, at=2.0, n=90_000), ["dense"], 4),
    ("gaussian", groups(12, at=0.5)[:22_000], ["dense", "panels"], 4),
    ("diagonal-gaussian", groups(2), ["dense", "boxes"], 4),
    ("diagonal-gaussian", groups(2, at=-300.0), ["dense"], 4),
    ("spherical-gaussian", groups(3, n=90_000), ["dense"], 4),
    ("fixed-covariance-gaussian", groups(8, k=60)[:33_000], ["dense", "bounds"], 60),
    ("gamma", gammas(1), ["dense", "sorted", "boxes"], 4),
    ("gamma", gammas(2), ["dense"], 3),
    ("log-normal", np.exp(groups(2, at=1.0)), ["dense"], 4),
    ("inverse-gaussian", gammas(1), ["sorted"], 3),
    ("laplace", groups(2, at=0.0), ["dense"], 4),
    ("dirichlet", np.random.default_rng(0).dirichlet([2.0, 3.0, 4.0], size=24_000), ["dense"], 3),
]


@pytest.mark.parametrize(
    ("family", "X", "engine", "k"),
    [pytest.param(f, X, engine, k, id=f"{f}-{X.shape[1]}-{engine}") for f, X, names, k in CASES for engine in names],
)
@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_labels_and_parameters_are_those_of_double_precision(kind, family, X, engine, k):
    single = X.astype(np.float32)
    if family == "dirichlet":
        single = single / single.sum(axis=1, keepdims=True)
    double = single.astype(float)
    model = kind(k, family=family, engine=engine, init="k-means", n_init=1, random_state=0, max_iter=30)
    one = model.fit(single).result_
    other = model.fit(double).result_
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.mixture.natural, other.mixture.natural)
    np.testing.assert_allclose(one.log_likelihood, other.log_likelihood, rtol=1e-13)


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_also_by_default(kind):
    single = groups(2, n=8000).astype(np.float32)
    one, other = (kind(4, random_state=0).fit(X).result_ for X in (single, single.astype(float)))
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.mixture.natural, other.mixture.natural)
    assert one.starts == other.starts


def test_streams_too():
    single = groups(2, at=3.0).astype(np.float32)

    def fitted(X):
        batches = Batches(lambda: iter(np.array_split(X, 5)))
        return KMLE(4, init="k-means", n_init=1, random_state=0, max_iter=12).fit(batches).result_

    one, other = fitted(single), fitted(single.astype(float))
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.mixture.natural, other.mixture.natural)


@pytest.mark.parametrize("at", [0.0, 0.3, 3.0, -50.0, 1e6])
def test_gaussians_are_packed_in_single_precision_without_rounding(at):
    X = groups(2, at=at, n=5000).astype(np.float32)
    X[:, 1] = at
    rows = Rows(Gaussian().for_data(X), X)
    assert rows.precision == np.float32
    exact = X.astype(float) - rows.center
    np.testing.assert_array_equal(rows.kernel_columns(slice(None))[0], exact)


def test_rows_far_from_zero_keep_their_digits_beside_one_at_zero():
    X = (1e6 + np.random.default_rng(0).normal(size=(3000, 1))).astype(np.float32)
    X[0] = 0
    rows = Rows(Gaussian().for_data(X), X)
    assert rows.precision == np.float64
    assert abs(rows.center[0] - 1e6) < 1000


def test_statistics_that_single_precision_would_round_are_not():
    X = gammas(1)[:500].astype(np.float32)
    assert Rows(Gamma().for_data(X), X).precision == np.float64
    assert Rows(Laplace(location=0.0).for_data(X), X).precision == np.float32


def test_rows_seen_from_an_origin_of_others_are_not_rounded():
    X = groups(2, n=500).astype(np.float32)
    rows = Rows(Gaussian().for_data(X), X, center=np.array([0.1, 1e5]))
    np.testing.assert_array_equal(rows.kernel_columns(slice(None))[0], X.astype(float) - rows.center)
