"""Chunks are passed over as rows in memory are: the same engines, and the same digits for narrow components."""

import numpy as np
import pytest
import scipy.stats

from kmle import KMLE, Batches, ExponentialFamilyMixture, Mixture
from kmle.problem import stream as local


def line(n, k):
    """Values of k overlapping normals."""
    rng = np.random.default_rng(0)
    return (rng.integers(k, size=n) + rng.standard_normal(n))[:, None]


@pytest.mark.parametrize(("k", "engine"), [(8, "sorted"), (17, "dense")])
def test_hard_fits_choose_their_engine_as_in_memory(k, engine):
    """Hard passes over a line are sorted where that pays, which soft ones of values that do not repeat never are."""
    X = line(60_000, k)
    settings = {"init": "quantile", "n_init": 1, "max_iter": 2}
    cut = Batches([X[:30_000], X[30_000:]])
    assert KMLE(k, **settings).fit(X).result_.engine == engine
    assert KMLE(k, **settings).fit(cut).result_.engine == f"{engine} on 2 chunks of a stream"
    assert ExponentialFamilyMixture(k, **settings).fit(X).result_.engine == "dense"
    assert ExponentialFamilyMixture(k, **settings).fit(cut).result_.engine == "dense on 2 chunks of a stream"


def needles(n=1500):
    """Two clusters ten million times narrower than they are apart, and a broad one."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3 * n, 2))
    X[:n] = 1e3 + 1e-4 * X[:n]
    X[n : 2 * n] = -1e3 + 1e-4 * X[n : 2 * n]
    return X


START = Mixture.from_source(
    "gaussian", np.full(3, 1 / 3), mean=[[1e3, 1e3], [-1e3, -1e3], [0, 0]], covariance=[np.eye(2) * 0.1] * 3
)


def by_differences(model, X):
    """The complete log-likelihood of the fitted labels, from differences to the means."""
    total = 0.0
    for j, weight in enumerate(model.weights_):
        own, source = X[model.labels_ == j], model.mixture_.source
        dist = scipy.stats.multivariate_normal(np.zeros(2), source["covariance"][j])
        total += dist.logpdf(own - source["mean"][j]).sum() + len(own) * np.log(weight)
    return total


@pytest.mark.parametrize("stays", [True, False])
def test_narrow_clusters_without_a_prior(stays, monkeypatch):
    """Their variances are 1e-8, and packed sums of squares are known to 1e-10: hundreds of nats in the objective."""
    monkeypatch.setattr(local, "KEPT_BYTES", (1 << 28) * stays)
    X = needles()
    settings = {"init": START, "prior_strength": 0.0, "resolution": None, "engine": "dense"}
    whole = KMLE(3, **settings).fit(X)
    cut = KMLE(3, **settings).fit(lambda: iter(np.array_split(X, 4)))
    np.testing.assert_array_equal(whole.labels_, cut.labels_)
    assert whole.result_.complete_log_likelihood == pytest.approx(by_differences(whole, X), abs=1e-3)
    assert cut.result_.complete_log_likelihood == pytest.approx(by_differences(cut, X), abs=1e-3)
    assert cut.objective_ == pytest.approx(cut.result_.complete_log_likelihood, abs=1e-3)
    assert (np.diff(cut.history_) >= -1e-6).all()
    assert cut.result_.mean_entropy == pytest.approx(0.0, abs=1e-9)


def test_one_extreme_row_in_a_stream_that_is_read_again(monkeypatch):
    """The prior leaves extreme rows out; what a pass must sum to does not."""
    monkeypatch.setattr(local, "KEPT_BYTES", 0)
    X = np.random.default_rng(0).standard_normal((5000, 2))
    X[0, 0] = 1e6
    settings = {"engine": "dense", "random_state": 0}
    whole, cut = KMLE(3, **settings).fit(X), KMLE(3, **settings).fit(lambda: iter(np.array_split(X, 3)))
    np.testing.assert_array_equal(whole.labels_, cut.labels_)
    assert cut.objective_ == pytest.approx(whole.objective_, abs=1e-6)
