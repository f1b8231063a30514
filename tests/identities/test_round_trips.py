"""Natural, moment and usual parameters are three names of one law: every way round comes back."""

import numpy as np
import pytest

from cases import CASES, case_id, for_all
from kmle import families as f


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_natural_to_moment_and_back(case):
    def comes_back(natural):
        back = case.family.natural_from_moment(case.family.moment_from_natural(natural))
        np.testing.assert_allclose(back, natural, rtol=1e-8, atol=1e-8)

    for_all(case.dists(), comes_back)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_usual_parameters_to_natural_and_back(case):
    def comes_back(points):
        source = case.sources_at(points)
        back = case.family.source_from_natural(case.family.natural_from_source(**source))
        assert list(back) == list(case.family.parameters)
        for name, value in source.items():
            np.testing.assert_allclose(back[name], value, rtol=1e-8, atol=1e-8, err_msg=name)

    for_all(case.points(), comes_back)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_parameters_have_the_declared_shape(case):
    natural = case.naturals(3, seed=0)
    assert natural.shape == (3, case.family.n_statistics)
    assert case.family.moment_from_natural(natural).shape == natural.shape
    assert all(len(value) == 3 for value in case.family.source_from_natural(natural).values())


# The ends of what is promised. A moment is a float like any other, so what comes back is no better than its rounding
# u = 1.1e-16 allows; where that is the limit it stands beside the row, and the row stays below 1e-6.
EXTREMES = [
    (f.Poisson(), {"rate": [1e-11, 1e-3, 1e15]}),
    (f.Bernoulli(), {"probability": [1e-11, 1e-6, 1 - 1e-6]}),  # theta loses u / (1 - p) near one
    (f.Binomial(1000), {"probability": [1e-11, 1 - 1e-6]}),
    (f.Geometric(), {"probability": [1e-15, 1e-8, 1 - 1e-6]}),
    (f.NegativeBinomial(0.01), {"probability": [1e-15, 1e-8, 1 - 1e-6]}),
    (f.Exponential(), {"rate": [1e-140, 1e140]}),
    (f.Rayleigh(), {"scale": [1e-70, 1e70]}),
    (f.Weibull(0.2), {"scale": [1e-100, 1e100]}),
    (f.GeneralizedGaussian(20.0, 0.0), {"scale": [1e-7, 1e7]}),
    (f.Pareto(1e-3), {"shape": [1e-6, 1e6]}),
    (f.Gamma(), {"shape": [1e-6, 1e-3, 1e3, 1e6], "scale": [1e-30, 1e3, 1.0, 1e-3]}),  # 2 u shape |log x| above
    (f.InverseGamma(), {"shape": [1e-6, 1e-3, 1e3, 1e6], "scale": [1e-30, 1e3, 1.0, 1e3]}),
    (f.InverseGaussian(), {"mean": [1e-5, 1.0, 1e5], "shape": [1e-6, 1e8, 1e-5]}),  # u shape / mean
    (f.ChiSquare(), {"degrees": [1e-6, 1e-3, 1e8]}),
    (f.Beta(), {"alpha": [1e-3, 1e5, 1e-2, 1e6], "beta": [1e-3, 1e5, 1e5, 1e6]}),  # 2 u (alpha + beta)
    (f.Dirichlet(), {"concentration": [[1e-3, 1e-3, 1e-3], [1e5, 2e5, 3e5], [1e-2, 1.0, 1e5]]}),
    (f.DiagonalGaussian(), {"mean": [1e4, 1e-20, 0.0], "variance": [1.0, 1e-40, 1e100]}),  # u (mean / std)^2
    (f.SphericalGaussian(), {"mean": [[1e4, 0.0], [0.0, 0.0]], "variance": [1.0, 1e-100]}),
    (f.LogNormal(), {"log_mean": [600.0, -600.0], "log_std": [0.1, 100.0]}),
    (f.VonMises(), {"mean": [0.0, 3.0, 1.0], "concentration": [1e-6, 1.0, 1e6]}),  # u concentration
    (f.VonMisesFisher(), {"direction": [[0.6, 0.0, 0.8]] * 3, "concentration": [1e-6, 1.0, 1e6]}),
    (f.Wishart(), {"degrees": [1 + 1e-4, 4.0, 1e5], "scale": [[[1.0, 0.5], [0.5, 1.0]]] * 3}),  # u degrees
    (f.InverseWishart(), {"degrees": [1 + 1e-4, 4.0, 1e5], "scale": [[[1.0, 0.5], [0.5, 1.0]]] * 3}),
]


@pytest.mark.parametrize(("family", "source"), EXTREMES, ids=lambda value: getattr(value, "name", ""))
def test_extreme_laws_survive_the_moment(family, source):
    dists = family.member(**source)
    back = dists.family.source_from_natural(dists.family.natural_from_moment(dists.moment))
    for name, value in dists.source.items():
        np.testing.assert_allclose(value, np.reshape(source[name], value.shape), rtol=1e-9, err_msg=name)
        np.testing.assert_allclose(back[name], value, rtol=1e-6, atol=1e-12 * np.abs(value).max(), err_msg=name)
