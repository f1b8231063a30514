"""Seeding bounds against the definition of mu-similarity."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from kmle import families as f
from kmle.selection import seeding_certificate


def pairs_between(family, X, pairs=4000, seed=0):
    """Pairs p, q of points between the statistics of the rows, and B_F*(p : q)."""
    t = family.sufficient_statistic(np.asarray(X, dtype=float))
    p = np.random.default_rng(seed).dirichlet(np.full(len(t), 0.2), pairs) @ t
    q = p[::-1]
    return p, q, family.dual_bregman(p, q)


ONE_COLUMN = [
    (f.Poisson(n_features=1), [[2], [3], [9]], 2 / 9),
    (f.Exponential(n_features=1), [[0.5], [1.0], [2.0]], 1 / 16),
    (f.Rayleigh(n_features=1), [[1.0], [2.0]], 1 / 16),
    (f.FixedShapeGamma(3.0, n_features=1), [[1.0], [3.0]], 1 / 9),
    (f.Geometric(n_features=1), [[1], [4]], (1 * 2) / (4 * 5)),
    (f.NegativeBinomial(2.5, n_features=1), [[1], [4]], (1 * 3.5) / (4 * 6.5)),
    (f.Binomial(10, n_features=1), [[1], [8]], (10 / 25) / (10 / 9)),
    (f.Binomial(10, n_features=1), [[6], [8]], (10 / 24) / (10 / 16)),
    (f.ChiSquare(n_features=1), [[0.5], [6.0]], None),
]


@pytest.mark.parametrize(("family", "X", "mu"), ONE_COLUMN, ids=lambda value: getattr(value, "name", None))
def test_mu_is_that_of_the_definition(family, X, mu):
    """In one coordinate B / (p - q)^2 has mu as the quotient of its extremes: never less, and almost reached."""
    found = seeding_certificate(family, X, 3)
    if mu is not None:
        assert found.mu == pytest.approx(mu)
    grid = np.linspace(*np.sort(family.sufficient_statistic(np.array(X, dtype=float))[:, 0])[[0, -1]], 400)[:, None]
    near = family.dual_bregman(grid[:-1], grid[1:]) / (grid[1:, 0] - grid[:-1, 0]) ** 2
    p, q, divergence = pairs_between(family, X)
    far = np.abs(p - q)[:, 0] > 1e-3
    quotients = np.concatenate([near, divergence[far] / (p - q)[far, 0] ** 2])
    quotient = quotients.min() / quotients.max()
    assert found.mu <= quotient * (1 + 1e-3)
    assert found.mu == pytest.approx(quotient, rel=0.03)
    assert found.bound == pytest.approx(8 / found.mu**2 * (2 + np.log(3)))


def test_known_covariance_is_k_means():
    X = np.random.default_rng(0).normal(size=(20, 2))
    found = seeding_certificate(f.FixedCovarianceGaussian(((2.0, 0.6), (0.6, 0.5))), X, 5)
    assert found.mu == 1.0
    assert found.bound == pytest.approx(8 * (2 + np.log(5)))


@pytest.mark.parametrize(
    ("family", "X", "quadratic"),
    [
        (f.Poisson(), [[1, 20], [3, 30], [2, 25]], lambda low, high: np.diag(0.5 / low)),
        (f.Multinomial(), [[1, 3, 6], [4, 2, 4], [2, 6, 2]], lambda low, high: np.diag(0.5 / low)),
        (f.Product((f.Poisson(), f.Exponential())), [[1, 0.5], [3, 2.0]], lambda low, high: np.diag([0.5, 0.5 / 0.25])),
    ],
    ids=["poisson", "multinomial", "product"],
)
def test_divergences_lie_between_the_two_quadratic_forms(family, X, quadratic):
    mu = seeding_certificate(family, X, 2).mu
    family = family.for_data(X)
    t = family.sufficient_statistic(np.array(X, dtype=float))
    p, q, divergence = pairs_between(family, X)
    distance = np.einsum("ni,ij,nj->n", p - q, quadratic(t.min(axis=0), t.max(axis=0)), p - q)
    far = distance > 1e-4
    assert far.sum() > 500
    assert np.all(divergence[far] <= distance[far] * (1 + 1e-6))
    assert np.all(divergence[far] >= mu * distance[far] * (1 - 1e-6))


@pytest.mark.parametrize("family", [f.FixedDegreesWishart(5.0), f.FixedDegreesInverseWishart(5.0)])
def test_matrices_are_similar_to_a_quadratic_form(family):
    X = family.member(scale=np.diag([1.0, 3.0])[None]).sample(8, random_state=0)
    family = family.for_data(X)
    mu = seeding_certificate(family, X, 2).mu
    p, q, divergence = pairs_between(family, X)
    unpacked = (p - q)[:, [0, 1, 1, 2]].reshape(-1, 2, 2)
    mean = family.mean_statistic(X)[[0, 1, 1, 2]].reshape(2, 2)
    whitener = np.linalg.inv(np.linalg.cholesky(mean))
    distance = ((whitener @ unpacked @ whitener.T) ** 2).sum(axis=(1, 2))
    far = distance > 1e-4
    quotients = divergence[far] / distance[far]
    assert 0 < mu <= quotients.min() / quotients.max()


@pytest.mark.parametrize(
    ("family", "X"),
    [
        ("poisson", [[0], [3]]),
        ("bernoulli", [[0], [1]]),
        ("categorical", [[0], [1], [2]]),
        ("exponential", [[0.0], [1.0]]),
        (f.Binomial(4), [[2], [4]]),
        (f.Pareto(1.0), [[1.0], [2.0]]),
    ],
)
def test_data_on_the_boundary_voids_the_bound(family, X):
    found = seeding_certificate(family, X, 2)
    assert (found.mu, found.bound) == (0.0, None)
    assert "touches the boundary" in found.sentence


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian", "gamma", "log-normal"])
def test_a_row_without_spread_is_always_on_the_boundary(family):
    found = seeding_certificate(family, [[1.0], [2.0], [4.0]], 2)
    assert (found.mu, found.bound) == (0.0, None)
    assert "a single row lies on the boundary" in str(found)


def test_what_is_not_known_is_said():
    assert seeding_certificate("multinomial", [[1, 2], [3, 4]], 2).mu is None
    own = f.from_functions("own", lambda X: X, lambda theta: 0.5 * theta[..., 0] ** 2)
    assert "No bound is known for own" in seeding_certificate(own, [[1.0], [2.0]], 2).sentence


def test_sparse_rows_have_the_bound_of_dense_ones():
    X = np.array([[1.0, 4.0], [2.0, 3.0]])
    assert seeding_certificate("poisson", csr_array(X), 2) == seeding_certificate("poisson", X, 2)
