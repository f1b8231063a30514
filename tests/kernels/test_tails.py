"""Passes with heavy-tailed components, in every version this machine can run, against SciPy and plain sums."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import entr, logsumexp, softmax

from kmle._kernels import Tailed, TailedRows


def drawn(n, d, k):
    rng = np.random.default_rng(n + d)
    whitening = np.tril(rng.normal(size=(k, d, d)) + 2 * np.eye(d))
    degrees = np.resize([1.5, 30.0, np.inf, 0.7], k)
    components = Tailed(rng.normal(size=(k, d)), whitening, degrees, rng.normal(size=k))
    if k > 2:
        components.constant[k // 2] = -np.inf
    return rng.standard_t(2, (n, d)), rng.exponential(size=n), components


def plain(X, components):
    """Scores (n, k), y (k, n, d), expected hidden scales and log(1 + q / degrees) (n, k)."""
    degrees, d = components.degrees, X.shape[1]
    y = np.stack([(X - m) @ W.T for m, W in zip(components.location, components.whitening, strict=True)])
    q = (y**2).sum(axis=2).T
    with np.errstate(invalid="ignore"):
        scales = np.where(np.isinf(degrees), 1.0, (degrees + d) / (degrees + q))
        logs = np.where(np.isinf(degrees), 0.0, np.log1p(q / degrees))
        scores = np.where(np.isinf(degrees), -q / 2, -(degrees + d) / 2 * logs) + components.constant
    return scores, y, scales, logs


def cells(shares, y, scales, logs):
    tri = np.tril_indices(y.shape[2])
    return np.stack(
        [
            np.concatenate(
                [
                    [shares[:, j].sum(), (w := shares[:, j] * scales[:, j]).sum(), shares[:, j] @ logs[:, j]],
                    w @ y[j],
                    ((w[:, None] * y[j]).T @ y[j])[tri],
                ]
            )
            for j in range(len(y))
        ]
    )


@pytest.mark.parametrize(("n", "d", "k"), [(1, 1, 1), (70, 3, 4), (2500, 5, 7)])
@pytest.mark.parametrize("weighted", [False, True])
def test_passes_add_up_what_rows_say(n, d, k, weighted):
    X, weights, components = drawn(n, d, k)
    own = weights if weighted else np.ones(n)
    rows = TailedRows(X, weights if weighted else None, n_threads=2)
    scores, *others = plain(X, components)
    sums, score = rows.soft_pass(components)
    shares = softmax(scores, axis=1)
    np.testing.assert_allclose(sums, cells(shares * own[:, None], *others), rtol=1e-10, atol=1e-9)
    log_likelihood = own @ logsumexp(scores, axis=1)
    assert score == pytest.approx(log_likelihood, rel=1e-11)
    assert rows.log_likelihood(components) == pytest.approx((log_likelihood, own @ entr(shares).sum(axis=1)), rel=1e-9)
    labels = np.empty(n, np.int32)
    sums, score = rows.hard_pass(components, labels)
    assert labels.tolist() == scores.argmax(axis=1).tolist()
    of_labels = np.eye(k)[labels] * own[:, None]
    np.testing.assert_allclose(sums, cells(of_labels, *others), rtol=1e-10, atol=1e-9)
    assert score == pytest.approx(own @ scores.max(axis=1), rel=1e-11)
    labels[0] = -1
    held = np.where(of_labels > 0, scores * own[:, None], 0.0)
    np.testing.assert_allclose(rows.own_scores(components, labels), held[1:].sum(axis=0), rtol=1e-10, atol=1e-10)
    if k > 3:
        sums, _ = rows.soft_pass(components, 2)
        least = np.sort(scores, axis=1)[:, [-2]]
        few = softmax(np.where(scores >= least, scores, -np.inf), axis=1)
        np.testing.assert_allclose(sums, cells(few * own[:, None], *others), rtol=1e-10, atol=1e-9)


def test_scores_are_densities_of_scipy():
    X = np.random.default_rng(0).normal(size=(50, 2))
    W = np.array([[1.0, 0.0], [0.5, 2.0]])
    scale, location = np.linalg.inv(W.T @ W), np.array([1.0, -1.0])
    density = stats.multivariate_t(location, scale, df=3.0)
    one = Tailed(location[None], W[None], np.array([3.0]), density.logpdf(location)[None])
    assert TailedRows(X).log_likelihood(one)[0] == pytest.approx(density.logpdf(X).sum(), rel=1e-12)


def test_rows_far_away_stay_finite():
    far = TailedRows(np.array([[1e200], [0.0]]))
    sums, score = far.soft_pass(Tailed(np.zeros((2, 1)), np.ones((2, 1, 1)), np.array([1.0, 1000.0]), np.zeros(2)))
    assert np.isfinite(score)
    assert np.isfinite(sums[:, :4]).all()
