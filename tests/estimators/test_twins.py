"""What scikit-learn has already: its KMeans and its GaussianMixture, reproduced from the same start."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.families import FixedCovarianceGaussian


def blobs(n=300, d=3, k=4, seed=0, spread=4.0):
    """Overlapping clouds of different shapes."""
    rng = np.random.default_rng(seed)
    centers = spread * rng.standard_normal((k, d))
    shapes = rng.standard_normal((k, d, d)) + 1.5 * np.eye(d)
    labels = rng.integers(0, k, n)
    return centers[labels] + np.einsum("nij,nj->ni", shapes[labels], rng.standard_normal((n, d)))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("algorithm", ["k-mle", "hard-em"])
def test_a_fixed_spherical_gaussian_is_k_means(seed, algorithm):
    X = blobs(seed=seed, spread=1.5)
    n, d, k = *X.shape, 4
    centers = X[np.random.default_rng(seed).choice(n, k, replace=False)]
    theirs = KMeans(k, init=centers, n_init=1, tol=0, algorithm="lloyd", max_iter=300).fit(X)
    start = Mixture.from_source(FixedCovarianceGaussian(), np.full(k, 1 / k), mean=centers)
    ours = KMLE(
        k, family=FixedCovarianceGaussian(), algorithm=algorithm, init=start, weights="uniform", prior_strength=0
    ).fit(X)
    np.testing.assert_array_equal(ours.labels_, theirs.labels_)
    np.testing.assert_allclose(ours.mixture_.source["mean"], theirs.cluster_centers_, rtol=1e-9, atol=1e-9)
    inertia = -2 * (ours.objective_ + n * d / 2 * np.log(2 * np.pi) + n * np.log(k))
    assert inertia == pytest.approx(theirs.inertia_, rel=1e-10)
    new = blobs(100, seed=seed + 100, spread=1.5)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


def test_weighted_k_means():
    X = blobs(spread=1.5)
    weights = np.random.default_rng(1).random(len(X)) + 0.1
    centers = X[[3, 60, 130, 250]]
    theirs = KMeans(4, init=centers, n_init=1, tol=0, algorithm="lloyd").fit(X, sample_weight=weights)
    start = Mixture.from_source(FixedCovarianceGaussian(), np.full(4, 0.25), mean=centers)
    ours = KMLE(4, family=FixedCovarianceGaussian(), init=start, weights="uniform", prior_strength=0)
    np.testing.assert_array_equal(ours.fit(X, sample_weight=weights).labels_, theirs.labels_)


def start_of(kind, X, k, seed):
    """Rows as means, the spread of all rows as covariances: for them as precisions, for us as a mixture."""
    means = X[np.random.default_rng(seed).choice(len(X), k, replace=False)]
    weights = np.arange(1.0, k + 1) / np.arange(1.0, k + 1).sum()
    covariance = np.cov(X.T, bias=True)
    if kind == "full":
        source = {"covariance": np.tile(covariance, (k, 1, 1))}
        precisions, family = np.tile(np.linalg.inv(covariance), (k, 1, 1)), "gaussian"
    elif kind == "diag":
        source = {"variance": np.tile(np.diag(covariance), (k, 1))}
        precisions, family = 1 / source["variance"], "diagonal-gaussian"
    else:
        source = {"variance": np.full(k, np.trace(covariance) / len(covariance))}
        precisions, family = 1 / source["variance"], "spherical-gaussian"
    return means, weights, precisions, Mixture.from_source(family, weights, mean=means, **source)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_em_is_that_of_scikit_learn(kind, seed):
    X = blobs(seed=seed)
    means, weights, precisions, start = start_of(kind, X, 4, seed)
    theirs = GaussianMixture(
        4, covariance_type=kind, tol=1e-10, reg_covar=0, max_iter=2000,
        weights_init=weights, means_init=means, precisions_init=precisions,
    ).fit(X)  # fmt: skip
    ours = ExponentialFamilyMixture(4, family=start.family, init=start, prior_strength=0, tol=1e-10, max_iter=2000).fit(
        X
    )
    total = theirs.score(X) * len(X)
    assert ours.result_.log_likelihood == pytest.approx(total, rel=1e-6)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-6)
    assert ours.bic(X) == pytest.approx(theirs.bic(X), rel=1e-6)
    assert ours.aic(X) == pytest.approx(theirs.aic(X), rel=1e-6)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, atol=1e-4)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-3)


@pytest.mark.parametrize("kind", ["full", "diag", "spherical"])
def test_one_step_of_em_is_one_step_of_theirs(kind):
    X = blobs(seed=5)
    means, weights, precisions, start = start_of(kind, X, 3, 5)
    with pytest.warns(UserWarning, match="did not converge"):
        theirs = GaussianMixture(
            3, covariance_type=kind, tol=0, reg_covar=0, max_iter=1,
            weights_init=weights, means_init=means, precisions_init=precisions,
        ).fit(X)  # fmt: skip
    ours = ExponentialFamilyMixture(3, family=start.family, init=start, prior_strength=0, max_iter=1).fit(X)
    np.testing.assert_allclose(ours.weights_, theirs.weights_, rtol=1e-10)
    np.testing.assert_allclose(ours.mixture_.source["mean"], theirs.means_, rtol=1e-8, atol=1e-10)
    spread = ours.mixture_.source["covariance" if kind == "full" else "variance"]
    np.testing.assert_allclose(spread, theirs.covariances_, rtol=1e-8, atol=1e-10)
