"""Mixtures of every family of the table of cases, drawn by Hypothesis or at random."""

import numpy as np

from kmle import Mixture
from kmle import families as f

SEVERAL = {
    "gaussian": f.Gaussian(n_features=4),
    "diagonal-gaussian": f.DiagonalGaussian(n_features=4),
    "spherical-gaussian": f.SphericalGaussian(n_features=4),
    "fixed-covariance": f.FixedCovarianceGaussian(np.eye(4) + 0.4),
    "poisson": f.Poisson(n_features=4),
    "gamma": f.Gamma(n_features=4),
    "categorical": f.Categorical((2, 3, 4, 2)),
    "dirichlet": f.Dirichlet(n_features=4),
    "multinomial": f.Multinomial(7, n_features=4),
    "student-t": f.StudentT(n_features=4),
    "product": f.Product((f.Poisson(), f.Gaussian(n_features=2), f.Gamma(n_features=1))),
    "families": f.ComponentFamilies(
        (f.Gaussian(n_features=4), f.DiagonalGaussian(n_features=4), f.Uniform(low=(-9.0,) * 4, high=(9.0,) * 4))
    ),
    "product-of-proportions": f.Product((f.Gaussian(n_features=1), f.Dirichlet(n_features=3))),
}


def mixture_of(name, seed=0, k=3):
    """A mixture of k typical components of four columns."""
    rng = np.random.default_rng(seed)
    family = SEVERAL[name]
    weights = rng.dirichlet(np.full(k, 3.0))
    return Mixture(family, weights, _naturals(family, k, rng))


def _naturals(family, k, rng):
    if isinstance(family, f.Product):
        return np.concatenate([_naturals(own, k, rng) for own in family.families], axis=1)
    if isinstance(family, f.ComponentFamilies):
        return family.natural_of([(own, _naturals(own, 1, rng)[0]) for own in family.families])
    if isinstance(family, f.Uniform):
        return np.zeros((k, 0))
    d = family.n_features
    if isinstance(family, f.Gaussian | f.StudentT):
        factors = rng.normal(size=(k, d, d + 2))
        if isinstance(family, f.StudentT):
            scale = factors @ factors.swapaxes(1, 2)
            degrees = rng.uniform(3, 9, k)
            return family.natural_from_source(location=rng.normal(size=(k, d)) * 2, scale=scale, degrees=degrees)
        return family.natural_from_source(mean=rng.normal(size=(k, d)) * 2, covariance=factors @ factors.swapaxes(1, 2))
    sources = {
        f.DiagonalGaussian: lambda: {"mean": rng.normal(size=(k, d)), "variance": rng.uniform(0.5, 2, (k, d))},
        f.SphericalGaussian: lambda: {"mean": rng.normal(size=(k, d)), "variance": rng.uniform(0.5, 2, k)},
        f.FixedCovarianceGaussian: lambda: {"mean": rng.normal(size=(k, d))},
        f.Poisson: lambda: {"rate": rng.uniform(0.5, 9, (k, d))},
        f.Gamma: lambda: {"shape": rng.uniform(1.5, 9, (k, d)), "scale": rng.uniform(0.5, 2, (k, d))},
        f.Categorical: lambda: {
            "probabilities": np.concatenate([rng.dirichlet(np.ones(c), k) for c in (2, 3, 4, 2)], 1)
        },
        f.Dirichlet: lambda: {"concentration": rng.uniform(1.2, 6, (k, d))},
        f.Multinomial: lambda: {"probabilities": rng.dirichlet(np.ones(d), k)},
    }
    return family.natural_from_source(**sources[type(family)]())


def mixture_at(case, points):
    """The mixture of the case with components at these points of the cube, with unequal weights."""
    weights = np.arange(1, len(points) + 1, dtype=float)
    return Mixture(case.family, weights / weights.sum(), case.naturals_at(points))
