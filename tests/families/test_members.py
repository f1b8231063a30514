"""Laws by their usual parameters: shapes, domains, and sentences for what is wrong."""

import numpy as np
import pytest
from scipy import stats

from kmle import families as f
from kmle.families import layout, resolve


def test_the_first_axis_counts_laws():
    assert f.Poisson().member(rate=3.0).natural.shape == (1, 1)
    assert f.Poisson().member(rate=[1.0, 2.0]).natural.shape == (2, 1)
    assert f.Poisson().member(rate=[[1.0, 2.0]]).natural.shape == (1, 2)
    assert f.Gaussian().member(mean=[[0.0, 1.0]] * 3, covariance=[np.eye(2)] * 3).natural.shape == (3, 5)


@pytest.mark.parametrize("covariance", [[[2.0, 0.5], [0.5, 1.0]], [[[2.0, 0.5], [0.5, 1.0]]], [[2.0, 0.5, 0.5, 1.0]]])
def test_one_matrix_may_come_as_a_table(covariance):
    dist = f.Gaussian().member(mean=[[1.0, 2.0]], covariance=covariance)
    np.testing.assert_allclose(dist.source["covariance"], [[[2.0, 0.5], [0.5, 1.0]]], rtol=1e-12)
    expected = stats.multivariate_normal([1.0, 2.0], [[2.0, 0.5], [0.5, 1.0]]).logpdf([0.0, 0.0])
    assert dist.log_density([[0.0, 0.0]]).item() == pytest.approx(expected)


def test_matrices_of_size_one_are_numbers():
    dist = f.Wishart().member(degrees=[3.0, 5.0], scale=[1.0, 2.0])
    np.testing.assert_allclose(dist.source["scale"], [[[1.0]], [[2.0]]])


@pytest.mark.parametrize(
    ("family", "source", "sentence"),
    [
        (f.Poisson(), {"rate": -1.0}, "component 0 of rate is -1; poisson needs numbers at least 0"),
        (f.Poisson(), {"lam": 1.0}, "poisson takes the parameters rate: unknown lam"),
        (f.Gamma(), {"shape": 1.0}, "gamma takes the parameters shape, scale: missing scale"),
        (
            f.Gamma(),
            {"shape": [1.0, 0.0], "scale": [1.0, 1.0]},
            "component 1 of shape is 0; gamma needs numbers above 0",
        ),
        (f.Bernoulli(), {"probability": 1.5}, "component 0 of probability is 1.5"),
        (f.Geometric(), {"probability": 0.0}, "component 0 of probability is 0"),
        (f.Poisson(), {"rate": np.nan}, "the parameter rate of poisson is empty or holds a value that is not finite"),
        (f.Poisson(), {"rate": []}, "the parameter rate of poisson is empty or holds a value that is not finite"),
        (
            f.Gaussian(),
            {"mean": [[0.0, 0.0]], "covariance": [[1.0, 2.0], [2.0, 1.0]]},
            r"component 0 of covariance is \[1, 2, 2, 1\]; gaussian needs symmetric positive definite",
        ),
        (f.VonMisesFisher(), {"direction": [[1.0, 1.0]], "concentration": 1.0}, "needs rows of length one"),
        (f.Multinomial(), {"probabilities": [[0.5, 0.6]]}, "proportions that sum to one"),
        (f.Wishart(), {"degrees": 1.0, "scale": np.eye(2)}, "wishart needs degrees above 1 for 2 x 2 matrices; got 1"),
        (
            f.Poisson(n_features=2),
            {"rate": [1.0, 2.0]},
            "poisson with 2 columns has 2 natural coordinates; these parameters give 1",
        ),
    ],
)
def test_wrong_parameters(family, source, sentence):
    with pytest.raises(ValueError, match=sentence):
        family.member(**source)


@pytest.mark.parametrize(
    ("family", "source"),
    [
        (f.Poisson(), {"rate": 0.0}),
        (f.Bernoulli(), {"probability": [0.0, 1.0]}),
        (f.Binomial(4), {"probability": [0.0, 1.0]}),
        (f.Geometric(), {"probability": 1.0}),
        (f.NegativeBinomial(2.5), {"probability": 1.0}),
        (f.Categorical(3), {"probabilities": [[0.0, 0.4, 0.6]]}),
        (f.Multinomial(4), {"probabilities": [[0.0, 0.4, 0.6]]}),
        (f.VonMises(), {"mean": 0.3, "concentration": 0.0}),
        (f.VonMisesFisher(), {"direction": [[0.6, 0.8]], "concentration": 0.0}),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_ends_of_a_domain_are_legal(family, source):
    dist = family.member(**source)
    assert np.isfinite(dist.natural).all()
    assert np.isfinite(dist.moment).all()
    for name in set(source) - {"mean", "direction"}:  # nothing points anywhere without a concentration
        np.testing.assert_allclose(dist.source[name].ravel(), np.ravel(source[name]), atol=2e-12)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: f.Binomial((3,)), r"trials is \(3,\): binomial needs a single number"),
        (lambda: f.Binomial("3"), "trials is '3': binomial needs a single number"),
        (lambda: f.Binomial(True), "trials is True: binomial needs a single number"),
        (lambda: f.Binomial(0), "trials is 0: binomial needs whole numbers 1, 2, 3, ..."),
        (lambda: f.Binomial(2.5), "trials is 2.5"),
        (lambda: f.Weibull(-1.0), "shape is -1.0: weibull needs numbers above 0"),
        (lambda: f.NegativeBinomial(np.nan), "size is nan"),
        (lambda: f.Pareto(0.0), "minimum is 0.0: pareto needs numbers above 0"),
        (lambda: f.Poisson(n_features=2.0), "n_features is 2.0: poisson needs a whole number of columns, at least 1"),
        (lambda: f.Poisson(n_features=True), "n_features is True: poisson needs a whole number of columns, at least 1"),
        (lambda: f.Poisson(n_features=0), "n_features is 0: poisson needs a whole number of columns, at least 1"),
        (lambda: f.Poisson(n_features=1.5), "n_features is 1.5"),
        (lambda: f.FixedCovarianceGaussian([[1.0, 2.0], [2.0, 1.0]]), "symmetric and positive definite"),
        (lambda: f.FixedCovarianceGaussian([[1.0, 0.0]]), r"covariance has shape \(1, 2\)"),
        (lambda: f.FixedCovarianceGaussian(np.eye(2), n_features=3), "covariance has 2 columns, n_features is 3"),
        (lambda: f.FixedDegreesWishart(1.0).mle([np.eye(3)]), "needs degrees above 2 for 3 x 3 matrices"),
        (lambda: f.Wishart().mle([[1.0, 2.0, 3.0]]), "3 columns are not a flattened square matrix"),
        (lambda: f.Dirichlet().mle([[1.0]]), "dirichlet needs at least two columns"),
        (lambda: f.VonMisesFisher().mle([[1.0]]), "needs at least two columns; for a column of angles use von-mises"),
        (lambda: f.Poisson().n_statistics, "has no number of columns yet"),
    ],
)
def test_wrong_facts(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()


def test_short_names():
    assert resolve("poisson") == f.Poisson()
    assert resolve("binomial", trials=4) == f.Binomial(4)
    assert resolve(f.Gamma()) == f.Gamma()
    with pytest.raises(ValueError, match="unknown family 'Poison'; did you mean 'poisson'"):
        resolve("Poison")
    with pytest.raises(ValueError, match="needs its trials: use Binomial"):
        resolve("binomial")
    with pytest.raises(TypeError, match="family is a int"):
        resolve(3)


def test_samples_by_seed():
    dist = f.Gamma().member(shape=2.0, scale=3.0)
    np.testing.assert_array_equal(dist.sample(5, random_state=1), dist.sample(5, random_state=1))
    assert dist.sample(5, random_state=1).shape == (5, 1)


@pytest.mark.parametrize("d", [2, 3, 10, 500])
@pytest.mark.parametrize("concentration", [0.0, 1e-6, 1.0, 1e3, 1e10])
def test_directions_are_drawn_at_every_concentration(d, concentration):
    family = f.VonMisesFisher(n_features=d)
    natural = concentration * np.eye(1, d)[0]
    rows = family.check(family.sample(natural, 2000, np.random.default_rng(0)))
    along = rows[:, 0]
    expected = family.moment_from_natural(natural)[0]
    assert along.mean() == pytest.approx(expected, abs=6 * along.std() / 2000**0.5 + 1e-15)


@pytest.mark.parametrize("rate", [1e3, 16_000.0, 16_384.0, 16_512.0, 1e5, 1e6])
def test_entropies_of_large_counts(rate):
    """Against the asymptotic series; terms as large as rate log(rate) cancel, at a price of 1e-11 times the rate."""
    exact = 0.5 * np.log(2 * np.pi * np.e * rate) - 1 / (12 * rate) - 1 / (24 * rate**2) - 19 / (360 * rate**3)
    assert f.Poisson().entropy(np.log([[rate]])).item() == pytest.approx(exact, abs=1e-8 + 1e-11 * rate)


def test_entropies_of_large_totals():
    mass = stats.binom(100_000, 0.3).pmf(np.arange(100_001))
    expected = -mass @ np.log(np.maximum(mass, np.finfo(float).tiny))
    assert f.Binomial(100_000, n_features=1).member(probability=0.3).family.entropy(
        np.log([[0.3 / 0.7]])
    ).item() == pytest.approx(expected, rel=1e-8)


def test_wide_gaussians_are_factored_once_for_many_rows_and_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    mean, root = rng.normal(size=(3, 60)), rng.normal(size=(3, 60, 60))
    dists = f.Gaussian().member(mean=mean, covariance=root @ np.swapaxes(root, 1, 2) + np.eye(60))
    rows = rng.normal(size=(2000, 60))
    calls = []
    direct = f.Gaussian.direct_log_density
    monkeypatch.setattr(f.Gaussian, "direct_log_density", lambda *arguments: calls.append(1) or direct(*arguments))
    merge = dists.log_density(rows)
    assert len(calls) == 1
    monkeypatch.setattr(layout, "BLOCK_NUMBERS", 7 * 60)
    np.testing.assert_allclose(dists.log_density(rows), merge, rtol=1e-12)
    assert len(calls) == 1 + 286
