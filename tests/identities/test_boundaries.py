"""Data without an interior maximum: the answer is the documented bound, finite in every product, and silent.

Warnings are errors in these tests, so "silent" needs no line of its own.
"""

import numpy as np
import pytest

from kmle import families as f

IDENTICAL = [
    (f.Poisson(), [[0], [0], [0]]),
    (f.Poisson(), [[7], [7]]),
    (f.Bernoulli(), [[1, 0], [1, 1], [1, 0]]),
    (f.Bernoulli(), [[0], [0]]),
    (f.Binomial(9), [[0], [0]]),
    (f.Binomial(9), [[9], [9]]),
    (f.Categorical(4), [[0], [2], [2]]),
    (f.Categorical((2, 3)), [[0, 1], [0, 1]]),
    (f.Multinomial(), [[3, 0, 1], [4, 0, 0]]),
    (f.Multinomial(), [[5, 0], [7, 0]]),
    (f.Geometric(), [[0], [0]]),
    (f.NegativeBinomial(0.5), [[0], [0]]),
    (f.Exponential(), [[0.0], [0.0]]),
    (f.HalfNormal(), [[0.0], [0.0]]),
    (f.Laplace(2.0), [[2.0], [2.0]]),
    (f.GeneralizedGaussian(3.0, 0.0), [[0.0], [0.0]]),
    (f.Pareto(1.5), [[1.5], [1.5]]),
    (f.Rayleigh(), [[1e-200], [1e-200]]),
    (f.Maxwell(), [[1e-200], [1e-200]]),
    (f.Weibull(3.0), [[1e-200], [1e-200]]),
    (f.FixedShapeGamma(0.3), [[1e-200], [1e-200]]),
    (f.Gaussian(), [[1.0, 2.0, 3.0]]),
    (f.Gaussian(), [[0.0, 0.0]]),
    (f.Gaussian(), [[0.0, 0.0], [1.0, 2.0], [2.0, 4.0]]),
    (f.Gaussian(), [[1e5, 1e5], [1e5 + 1, 1e5 + 2], [1e5 + 2, 1e5 + 4]]),
    (f.Gaussian(), [[5.0, 1.0], [5.0, 2.0], [5.0, 4.0]]),
    (f.Gaussian(), [[1e5, 1.0], [1e5, 2.0], [1e5, 4.0]]),
    (f.Gaussian(), np.random.default_rng(0).normal(size=(3, 20))),
    (f.Gaussian(), np.random.default_rng(0).normal(size=(3, 20)) + 1e6),
    (f.DiagonalGaussian(), [[3.0, 1.0], [3.0, 2.0]]),
    (f.DiagonalGaussian(), [[1e5], [1e5]]),
    (f.DiagonalGaussian(), [[0.0]]),
    (f.SphericalGaussian(), [[1e5, 1.0], [1e5, 1.0]]),
    (f.SphericalGaussian(), [[0.0, 0.0]]),
    (f.LogNormal(), [[1e8], [1e8]]),
    (f.LogNormal(), [[1.0]]),
    (f.Gamma(), [[2.5], [2.5]]),
    (f.Gamma(), [[1e-300], [1e-300]]),
    (f.InverseGamma(), [[2.5], [2.5]]),
    (f.InverseGamma(), [[1e100], [1e100]]),
    (f.InverseGaussian(), [[2.5], [2.5]]),
    (f.InverseGaussian(), [[1e-100], [1e-100]]),
    (f.ChiSquare(), [[1e-300]]),
    (f.ChiSquare(), [[1e8]]),
    (f.Beta(), [[0.3], [0.3]]),
    (f.Beta(), [[1e-12], [1e-12]]),
    (f.Beta(), [[1e-300], [0.5]]),
    (f.Dirichlet(), [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5]]),
    (f.Dirichlet(), [[1e-12, 1 - 1e-12]]),
    (f.Dirichlet(), [np.full(100, 0.01), np.full(100, 0.01)]),
    (f.VonMises(), [[0.4], [0.4]]),
    (f.VonMises(), [[0.0], [np.pi]]),
    (f.VonMisesFisher(), [[0.6, 0.0, 0.8], [0.6, 0.0, 0.8]]),
    (f.VonMisesFisher(), [[1.0, 0.0], [-1.0, 0.0]]),
    (f.VonMisesFisher(), [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]]),
    (f.VonMisesFisher(), np.repeat(np.eye(1, 1000), 3, axis=0)),
    (f.Wishart(), [[2.0, 0.5, 0.5, 1.0]] * 3),
    (f.Wishart(), [[2.0]]),
    (f.FixedDegreesWishart(5.0), [[2.0, 0.5, 0.5, 1.0]]),
    (f.InverseWishart(), [[2.0, 0.5, 0.5, 1.0]] * 3),
    (f.FixedDegreesInverseWishart(5.0), [[2.0, 0.5, 0.5, 1.0]]),
    (f.Product((f.Poisson(), f.Gamma(), f.Gaussian(n_features=2))), [[0, 2.5, 1e5, 0.0]] * 2),
]


@pytest.mark.parametrize(("family", "rows"), IDENTICAL, ids=lambda value: getattr(value, "name", ""))
def test_everything_stays_finite(family, rows):
    fitted = family.mle(rows)
    density = fitted.log_density(rows)
    assert np.isfinite(fitted.natural).all()
    assert np.isfinite(fitted.moment).all()
    assert np.isfinite(density).all()
    assert all(np.isfinite(value).all() for value in fitted.source.values())
    # The law of these rows may not call them unlikely: no worse than one standard deviation from the mode.
    assert density.min() > -1e3
    again = fitted.family.natural_from_moment(fitted.moment)
    assert np.isfinite(again).all()


@pytest.mark.parametrize(
    ("family", "rows", "expected"),
    [
        (f.Poisson(), [[0], [0]], {"rate": 1e-12}),
        (f.Bernoulli(), [[1], [1]], {"probability": 1 - 1e-12}),
        (f.Bernoulli(), [[0], [0]], {"probability": 1e-12}),
        (f.Binomial(9), [[9]], {"probability": 1 - 1e-12}),
        (f.Categorical(3), [[0], [1]], {"probabilities": [0.5, 0.5, 1e-12]}),
        (f.Multinomial(), [[1, 3, 0]], {"probabilities": [0.25, 0.75, 1e-12]}),
        (f.Geometric(), [[0]], {"probability": 1 - 1e-12}),
        (f.Gamma(), [[2.5], [2.5]], {"shape": 1e12, "scale": 2.5e-12}),
        (f.InverseGamma(), [[2.5], [2.5]], {"shape": 1e12, "scale": 2.5e12}),
        (f.VonMisesFisher(), [[0.6, 0.8]] * 2, {"direction": [0.6, 0.8], "concentration": 1e10}),
        (f.VonMises(), [[0.5]] * 2, {"mean": 0.5, "concentration": 1e10}),
        (f.VonMisesFisher(), [[1.0, 0.0], [-1.0, 0.0]], {"direction": [1.0, 0.0], "concentration": 0.0}),
        (f.Wishart(), [[2.0, 0.5, 0.5, 1.0]], {"degrees": 2e12}),
        (f.InverseWishart(), [[2.0, 0.5, 0.5, 1.0]], {"degrees": 2e12}),
        (f.Dirichlet(), [[0.2, 0.3, 0.5]], {"concentration": [0.2e12, 0.3e12, 0.5e12]}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_bound_is_the_documented_one(family, rows, expected):
    source = family.mle(rows).source
    for name, value in expected.items():
        np.testing.assert_allclose(source[name][0], value, rtol=2e-3, err_msg=name)


@pytest.mark.parametrize("place", [0.0, 1.0, -3.0, 1e5, -1e12])
def test_a_constant_column_is_a_narrow_peak_at_its_value(place):
    """However far away: the law of identical rows must give them a high density, and no other place."""
    rows = np.array([[place, 1.0], [place, 2.0], [place, 4.0]])
    for family in (f.Gaussian(), f.DiagonalGaussian()):
        fitted = family.mle(rows)
        mean, spread = fitted.source["mean"][0, 0], 1e-13 * abs(place) + 1e-70
        assert mean == pytest.approx(place, rel=1e-14)
        elsewhere = rows + np.array([1e6 * spread, 0.0])
        if elsewhere[0, 0] != place:
            assert np.all(fitted.log_density(elsewhere) < fitted.log_density(rows) - 100)
        np.testing.assert_allclose(fitted.source["mean"][0, 1], 7 / 3, rtol=1e-9)


def test_scale_of_the_units_does_not_matter():
    """Lengths in light years or nanometres: the shape of a law is the same."""
    rows = np.random.default_rng(3).gamma(2.0, 1.0, (50, 1))
    for family, shape in ((f.Gamma(), "shape"), (f.InverseGamma(), "shape"), (f.LogNormal(), "log_std")):
        expected = family.mle(rows).source[shape]
        for unit in (1e-60, 1e60):
            np.testing.assert_allclose(family.mle(unit * rows).source[shape], expected, rtol=1e-9)
    ratio = [
        dist["shape"] / dist["mean"] for dist in (f.InverseGaussian().mle(u * rows).source for u in (1, 1e-60, 1e60))
    ]
    np.testing.assert_allclose(ratio[1:], ratio[:1] * 2, rtol=1e-9)
    for family in (f.Gaussian(), f.DiagonalGaussian(), f.SphericalGaussian()):
        near = family.mle(rows).log_density(rows)
        for unit in (1e-60, 1e60):
            far = family.mle(unit * rows).log_density(unit * rows)
            np.testing.assert_allclose(far + np.log(unit), near, rtol=1e-9, atol=1e-9)
