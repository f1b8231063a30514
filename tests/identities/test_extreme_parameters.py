"""Tiny and huge usual parameters are refused in one sentence, or right: densities, entropy and the way back."""

import mpmath
import numpy as np
import pytest

from kmle import Mixture
from kmle import families as f

exact = mpmath.mpf
SIZES = [1e-100, 1e-20, 1e-12, 1e-8, 1e8, 1e12, 1e20]


def log(value):
    return mpmath.log(exact(value))


def gaussian(variance):
    return lambda x: -(exact(x) ** 2) / (2 * exact(variance)) - mpmath.log(2 * mpmath.pi * exact(variance)) / 2


def power(scale, shape, factor=1):
    """log of shape / scale (x / scale)^(shape - 1) exp(-(x / scale)^shape), up to a constant factor."""
    return lambda x: log(factor) + log(x / scale) * (shape - 1) - log(scale) - mpmath.power(exact(x) / scale, shape)


def poisson(rate):
    return lambda x: exact(x) * log(rate) - exact(rate) - mpmath.loggamma(exact(x) + 1)


def geometric(p):
    return lambda x: log(p) + exact(x) * mpmath.log(1 - exact(p))


def gamma(shape, scale):
    a = exact(shape)
    return lambda x: (a - 1) * log(x) - exact(x) / exact(scale) - mpmath.loggamma(a) - a * log(scale)


def inverse_gaussian(shape):
    lam = exact(shape)

    def density(x):
        x = exact(x)
        return (mpmath.log(lam / (2 * mpmath.pi * x**3)) - lam * (x - 1) ** 2 / x) / 2

    return density


# Family, the parameter that goes through the sizes, the others, the truth, and rows in units of the parameter.
DISTS = [
    (f.Gaussian(), "covariance", {"mean": 0.0}, gaussian, lambda v: np.sqrt(v) * np.array([0.0, 1.0, -2.5])),
    (f.DiagonalGaussian(), "variance", {"mean": 0.0}, gaussian, lambda v: np.sqrt(v) * np.array([0.0, 1.0, -2.5])),
    (f.SphericalGaussian(), "variance", {"mean": 0.0}, gaussian, lambda v: np.sqrt(v) * np.array([0.0, 1.0, -2.5])),
    (f.Poisson(), "rate", {}, poisson, lambda rate: np.round([rate, rate + np.sqrt(rate)])),
    (f.Geometric(), "probability", {}, geometric, lambda p: np.round([0.0, min(1 / p, 1e15)])),
    (f.Exponential(), "rate", {}, lambda rate: power(1 / exact(rate), 1), lambda rate: np.array([0.1, 3.0]) / rate),
    (f.Rayleigh(), "scale", {}, lambda s: power(exact(s) * mpmath.sqrt(2), 2, 2), lambda s: np.array([0.1, 3.0]) * s),
    (f.Weibull(1.5), "scale", {}, lambda s: power(exact(s), 1.5, 1.5), lambda s: np.array([0.1, 3.0]) * s),
    (f.Gamma(), "shape", {"scale": 2.0}, lambda a: gamma(a, 2.0), lambda a: np.array([2 * max(a, 1e-3), 3.0])),
    (f.Gamma(), "scale", {"shape": 2.0}, lambda s: gamma(2.0, s), lambda s: np.array([0.1, 3.0]) * s),
    (f.ChiSquare(), "degrees", {}, lambda n: gamma(0.5 * n, 2.0), lambda n: np.array([max(n, 1e-3)])),
    (f.InverseGaussian(), "shape", {"mean": 1.0}, inverse_gaussian, lambda s: np.array([0.9, 1.0, 2.0])),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dist", DISTS, ids=lambda dist: f"{dist[0].name}-{dist[1]}")
def test_densities_are_right_or_refused(dist, size):
    family, name, others, truth, rows = dist
    size = min(size, 0.5) if name == "probability" else size
    try:
        member = family.member(**{name: [size]}, **{key: [value] for key, value in others.items()})
        rows = rows(size)
        ours = member.log_density(rows)[:, 0]
    except ValueError as refusal:
        refused = str(refusal)
    else:
        with mpmath.workdps(60):
            expected = [float(truth(size)(row)) for row in rows]
        # A logarithm of a rate, or a shape less one, is rounded: by so much may the distribution have moved.
        rel = 1e-8 + (1e-14 * np.sqrt(size) if size > 1 else 0)
        np.testing.assert_allclose(ours, expected, rtol=rel, atol=1e-10)
        back = np.ravel(member.source[name])[0]
        assert back == pytest.approx(size, rel=1e-5)
        assert np.isfinite(member.family.entropy(member.natural)).all()
        return
    assert f"of {name} is" in refused or "column" in refused


@pytest.mark.parametrize("probability", [1e-300, 1e-20, 1e-13])
def test_small_probabilities_are_kept(probability):
    assert f.Bernoulli().member(probability=[probability]).log_density([[1]]).item() == pytest.approx(
        np.log(probability)
    )
    binomial = f.Binomial(5).member(probability=[probability]).log_density([[1]]).item()
    assert binomial == pytest.approx(np.log(5 * probability))
    both = [[probability, 1 - probability]]
    assert f.Categorical().member(probabilities=both).log_density([[0]]).item() == pytest.approx(np.log(probability))
    multinomial = f.Multinomial(1).member(probabilities=both).log_density([[1, 0]]).item()
    assert multinomial == pytest.approx(np.log(probability))


def test_zeros_stand_for_the_documented_bounds():
    assert f.Poisson().member(rate=[0.0]).source["rate"].item() == pytest.approx(1e-12)
    assert f.Bernoulli().member(probability=[0.0]).source["probability"].item() == pytest.approx(1e-12)
    assert f.Geometric().member(probability=[1.0]).source["probability"].item() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("family", "source", "named"),
    [
        ("gamma", {"shape": [1.0, 1e-20], "scale": [1.0, 1.0]}, "component 1 of shape is 1e-20"),
        ("inverse-gamma", {"shape": [1e-20], "scale": [1.0]}, "component 0 of shape is 1e-20"),
        ("beta", {"alpha": [2.0], "beta": [1e-20]}, "component 0 of beta is 1e-20"),
        ("dirichlet", {"concentration": [[1.0, 1e-20]]}, "component 0 of concentration is 1e-20"),
        ("chi-square", {"degrees": [1e-20]}, "component 0 of degrees is 1e-20"),
        ("diagonal-gaussian", {"mean": [1e200], "variance": [1.0]}, r"component 0 of mean is 1e\+200"),
        ("rayleigh", {"scale": [1.0, 1e-200]}, "component 1 of scale is 1e-200"),
    ],
)
def test_what_cannot_be_held_is_refused_by_name(family, source, named):
    weights = np.full(len(next(iter(source.values()))), 1.0)
    with pytest.raises(ValueError, match=named + ": .* cannot represent it"):
        Mixture.from_source(family, weights / weights.sum(), **source)


@pytest.mark.parametrize("concentration", [1e8, 1e14, 1e20])
def test_directions_of_a_huge_concentration(concentration):
    """Deviations across are Gaussian with a variance of one over the concentration."""
    rows = f.VonMisesFisher().member(direction=[[0.0, 0.0, 1.0]], concentration=[concentration]).sample(4000, 0)
    squares = (rows[:, :2] ** 2).sum(axis=1) * concentration
    assert squares.mean() == pytest.approx(2.0, abs=5 * 2 / 4000**0.5)


@pytest.mark.parametrize("mean", [1e12, 1e20])
def test_draws_of_huge_counts(mean):
    counts = f.Poisson().member(rate=[mean]).sample(4000, 0)
    assert (counts - mean).mean() / np.sqrt(mean) == pytest.approx(0.0, abs=5 / 4000**0.5)
    assert counts.std() == pytest.approx(np.sqrt(mean), rel=0.1)
    draws = f.NegativeBinomial(4.0).member(probability=[4 / mean]).sample(4000, 0)
    assert draws.mean() == pytest.approx(mean, rel=5 * 0.5 / 4000**0.5)
