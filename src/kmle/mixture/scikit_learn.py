"""Mixtures of Gaussians as scikit-learn's fitted estimators, and back."""

from typing import Any

import numpy as np

from ..families import DiagonalGaussian, ExponentialFamily, FixedCovarianceGaussian, Gaussian, SphericalGaussian
from ..numerics.arrays import Array
from ..queries.moments import covariances, means

Parameters = tuple[ExponentialFamily, Array, Array]


def parameters_from_sklearn(model: Any) -> Parameters:
    """The family, weights and natural parameters of a fitted GaussianMixture, BayesianGaussianMixture or KMeans."""
    if hasattr(model, "cluster_centers_"):
        return _from_k_means(model)
    if not hasattr(model, "covariance_type"):
        raise ValueError(
            f"{type(model).__name__} is not a mixture that kmle has: give a fitted GaussianMixture, "
            "BayesianGaussianMixture or KMeans"
        )
    if not hasattr(model, "means_"):
        raise ValueError(f"this {type(model).__name__} is not fitted: call fit first")
    mean, table = np.asarray(model.means_, dtype=float), np.asarray(model.covariances_, dtype=float)
    weights = np.asarray(model.weights_, dtype=float)
    k, d = mean.shape
    family: ExponentialFamily
    if model.covariance_type == "diag":
        family = DiagonalGaussian(n_features=d)
        source = {"mean": mean, "variance": table}
    elif model.covariance_type == "spherical":
        family = SphericalGaussian(n_features=d)
        source = {"mean": mean, "variance": table}
    else:
        tied = model.covariance_type == "tied"
        family = Gaussian(structure="EEE", n_features=d) if tied and d > 1 else Gaussian(n_features=d)
        source = {"mean": mean, "covariance": np.broadcast_to(table, (k, d, d))}
    return family, weights / weights.sum(), family.natural_from_source(**source)


def _from_k_means(model: Any) -> Parameters:
    """Round Gaussians of equal weights with the variance of the rows around their centers: the same labels."""
    centers = np.asarray(model.cluster_centers_, dtype=float)
    k, d = centers.shape
    labels = getattr(model, "labels_", None)
    variance = 0.0 if labels is None else float(model.inertia_) / (len(labels) * d)
    family = FixedCovarianceGaussian(variance if variance > 0 else 1.0, n_features=d)
    return family, np.full(k, 1 / k), family.natural_from_source(mean=centers)


def sklearn_from_parameters(family: ExponentialFamily, weights: Array, natural: Array) -> Any:
    """A fitted KMeans for round Gaussians of one known variance and equal weights, a GaussianMixture for others."""
    kinds = (Gaussian, DiagonalGaussian, SphericalGaussian, FixedCovarianceGaussian)
    if not isinstance(family, kinds):
        raise ValueError(f"scikit-learn has no mixtures of {family.name}: only Gaussians can be converted")
    mean, covariance = means(family, natural), covariances(family, natural)
    round_one = isinstance(family, FixedCovarianceGaussian) and np.ndim(family.covariance) == 0
    if round_one and np.ptp(weights) <= 1e-12:
        return _k_means(mean)
    from sklearn.mixture import GaussianMixture
    from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky

    if isinstance(family, FixedCovarianceGaussian) or getattr(family, "structure", "VVV") == "EEE":
        kind, table = "tied", covariance[0]
    elif isinstance(family, DiagonalGaussian):
        kind, table = "diag", np.diagonal(covariance, axis1=1, axis2=2).copy()
    elif isinstance(family, SphericalGaussian):
        kind, table = "spherical", covariance[:, 0, 0].copy()
    else:
        kind, table = "full", np.array(covariance)
    model = GaussianMixture(len(weights), covariance_type=kind)
    model.weights_, model.means_, model.covariances_ = np.array(weights), mean.copy(), table
    model.precisions_cholesky_ = _compute_precision_cholesky(table, kind)
    root = model.precisions_cholesky_
    model.precisions_ = root @ np.swapaxes(root, -1, -2) if kind in ("full", "tied") else root**2
    model.converged_, model.n_iter_, model.lower_bound_ = True, 0, -np.inf
    model.n_features_in_ = mean.shape[1]
    return model


def _k_means(centers: Array) -> Any:
    """KMeans on its centers as the only rows: nothing moves."""
    from sklearn.cluster import KMeans

    return KMeans(len(centers), init=centers, n_init=1).fit(centers)
