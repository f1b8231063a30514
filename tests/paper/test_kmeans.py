"""The paper's appendix on Bregman k-means with a mass for each cluster, and its seeding."""

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from kmle.families import Exponential, FixedCovarianceGaussian, Poisson
from paper.truth import bregman

# F(x) = <x, x> / 2 is the conjugate of the Gaussian of covariance one; -log of the exponential, up to affine terms.
EUCLID = FixedCovarianceGaussian(1.0, n_features=2)
EXPONENTIAL = Exponential(n_features=1)


def half_square(x):
    return 0.5 * x @ x


def identity(x):
    return x


def clouds():
    rng = np.random.default_rng(11)
    sizes = (5, 12, 20)
    labels = np.repeat([0, 1, 2], sizes)
    return rng.normal(size=(sum(sizes), 2)) + np.array([[0.0, 0.0], [4.0, 1.0], [-2.0, 5.0]])[labels], labels


def diversity(rows):
    """J of <x, x> / 2: half the variance."""
    return 0.5 * ((rows - rows.mean(axis=0)) ** 2).sum(axis=1).mean()


def test_the_mean_is_the_best_centre_whatever_the_generator():
    rows = np.random.default_rng(0).exponential(2.0, (30, 1))
    center = rows.mean(axis=0, keepdims=True)
    best = EXPONENTIAL.dual_bregman(rows, center).mean()
    assert best == pytest.approx(EXPONENTIAL.bregman_information(rows), rel=1e-10)
    assert best == pytest.approx(-np.log(rows).mean() + np.log(rows.mean()), rel=1e-10)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert EXPONENTIAL.dual_bregman(rows, factor * center).mean() > best


def test_a11_seeding_probabilities_sum_to_one():
    rows, _ = clouds()
    seeds = rows[[0, 20]]
    nearest = np.min([EUCLID.dual_bregman(rows, seed[None]) for seed in seeds], axis=0)
    truth = np.min([[bregman(half_square, identity, row, seed) for row in rows] for seed in seeds], axis=0)
    np.testing.assert_allclose(nearest, truth, atol=1e-12)
    average_loss = nearest.mean()
    assert (nearest / nearest.sum()).sum() == pytest.approx(1.0)
    assert (nearest / average_loss).sum() == pytest.approx(len(rows))  # the second expression, row by row


def test_a11_the_generator_is_the_conjugate():
    # Two Poisson laws: the divergence of their moments is their KL divergence, the same formula with F is not.
    family = Poisson(n_features=1)
    x = np.arange(200)
    truth = float((stats.poisson(2.0).pmf(x) * (stats.poisson(2.0).logpmf(x) - stats.poisson(5.0).logpmf(x))).sum())
    assert family.dual_bregman(np.array([[2.0]]), np.array([[5.0]])).item() == pytest.approx(truth, rel=1e-10)
    printed = bregman(lambda m: np.exp(m).sum(), np.exp, 2.0, 5.0)  # B_F on the statistics
    assert printed > 100 * truth


def test_a12_the_bound_holds_for_the_mean_over_seedings_only():
    rows = np.array([[0.0, 0.0], [0.5, 0.0], [1000.0, 0.0], [1000.5, 0.0]])
    optimum = np.mean([0.0625] * 4) / 2  # two pairs, each row a quarter from its centre
    bound = 8 * (2 + np.log(2)) * optimum  # the similarity mu of squared distances is one
    costs, probabilities = [], []
    for first, second in permutations(range(4), 2):
        from_first = EUCLID.dual_bregman(rows, rows[[first]])
        probabilities.append(0.25 * from_first[second] / from_first.sum())
        costs.append(np.minimum(from_first, EUCLID.dual_bregman(rows, rows[[second]])).mean())
    assert sum(probabilities) == pytest.approx(1.0)
    assert np.dot(probabilities, costs) <= bound
    assert max(costs) > bound  # two seeds in one pair: rare, but it happens


def test_a13_the_mass_belongs_to_the_centre():
    rows = np.linspace(-1.0, 5.0, 60)[:, None]
    means, weights = np.array([[0.0], [4.0]]), np.array([0.95, 0.05])
    truth = np.argmax(
        [stats.norm(m.item()).logpdf(rows[:, 0]) + np.log(w) for m, w in zip(means, weights, strict=True)], 0
    )
    family = FixedCovarianceGaussian(n_features=1)
    divergences = np.array([family.dual_bregman(rows, m[None]) for m in means])
    np.testing.assert_array_equal((divergences - np.log(weights)[:, None]).argmin(axis=0), truth)
    # A mass that depends on the row alone cannot move any label.
    by_row = -np.log(np.resize(weights, len(rows)))
    assert np.any((divergences + by_row).argmin(axis=0) != truth)


def test_a14_the_mass_is_in_the_loss_but_not_in_the_information():
    rows, _ = clouds()
    mass = 0.7
    loss = np.mean([bregman(half_square, identity, row, rows.mean(axis=0)) + mass for row in rows])
    information = EUCLID.bregman_information(rows)
    assert information == pytest.approx(diversity(rows), rel=1e-12)
    assert loss == pytest.approx(information + mass, rel=1e-12)


def test_a15_the_loss_is_bounded_by_the_smallest_mass():
    rows = np.array([[0.0, 0.0], [0.2, 0.0], [3.0, 0.0], [3.2, 0.0]])
    masses = np.array([-1.0, -0.5])
    centers = np.array([[0.1, 0.0], [3.1, 0.0]])
    each = [EUCLID.dual_bregman(rows, c[None]) + m for c, m in zip(centers, masses, strict=True)]
    loss = np.min(each, axis=0).mean()
    assert loss >= masses.min()
    assert loss < masses.min() / len(rows)  # so the printed bound is none when masses may be negative


def test_a16_the_square_of_the_mean_comes_back_with_a_plus():
    rows, _ = clouds()
    mean = rows.mean(axis=0)
    truth = ((rows - mean) ** 2).sum(axis=1).mean()
    products = rows @ mean
    squares = (rows**2).sum(axis=1)
    assert (squares - 2 * products + mean @ mean).mean() == pytest.approx(truth, rel=1e-12)
    assert (squares - 2 * products - mean @ mean).mean() == pytest.approx(truth - 2 * mean @ mean, rel=1e-12)
    assert mean @ mean > 0.1
    assert 2 * EUCLID.bregman_information(rows) == pytest.approx(truth, rel=1e-12)


def test_a17_the_diversity_of_the_centres_is_weighted():
    rows, labels = clouds()
    sizes = np.bincount(labels)
    centers = np.array([rows[labels == j].mean(axis=0) for j in range(3)])
    within = 0.5 * ((rows - centers[labels]) ** 2).sum(axis=1).mean()
    total = EUCLID.bregman_information(rows)
    assert total - EUCLID.bregman_information(centers, weights=sizes) == pytest.approx(within, rel=1e-10)
    assert total - EUCLID.bregman_information(centers) != pytest.approx(within, rel=0.01)
    within_each = [EUCLID.bregman_information(rows[labels == j]) for j in range(3)]
    assert sizes @ within_each / len(rows) == pytest.approx(within, rel=1e-10)
    np.testing.assert_allclose(sizes @ centers / len(rows), rows.mean(axis=0), atol=1e-12)


def test_a17_for_another_generator_too():
    rows = np.random.default_rng(2).exponential(1.0, (40, 1)) * np.repeat([1.0, 10.0], [30, 10])[:, None]
    labels = np.repeat([0, 1], [30, 10])
    centers = np.array([rows[labels == j].mean(axis=0) for j in (0, 1)])
    ratio = rows / centers[labels]
    within = (ratio - np.log(ratio) - 1).mean()  # Itakura-Saito by hand
    total = EXPONENTIAL.bregman_information(rows)
    assert total - EXPONENTIAL.bregman_information(centers, weights=[30, 10]) == pytest.approx(within, rel=1e-10)
    assert total - EXPONENTIAL.bregman_information(centers) != pytest.approx(within, rel=0.01)


def test_a26_the_ratio_along_directions_is_not_a_similarity_constant():
    # Three quadratic forms of condition 20, turned by 60 degrees each.
    def turned(degrees):
        c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        turn = np.array([[c, -s], [s, c]])
        return turn @ np.diag([1.0, 20.0]) @ turn.T

    hessians = np.array([turned(degrees) for degrees in (0, 60, 120)])
    angles = np.linspace(0, np.pi, 20001)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    forms = np.einsum("ia,hij,ja->ha", directions, hessians, directions)
    printed = (forms.min(axis=0) / forms.max(axis=0)).min()
    # mu for one matrix Q is the smallest over the largest eigenvalue of Q^-1 H; the best Q, by search.
    b, c = np.meshgrid(np.linspace(-0.9, 0.9, 181), np.linspace(0.2, 5.0, 241))
    legal = c > b**2 + 1e-3
    candidates = np.stack([np.ones(legal.sum()), b[legal], b[legal], c[legal]], axis=-1).reshape(-1, 2, 2)
    half = np.linalg.inv(np.linalg.cholesky(candidates))
    values = np.linalg.eigvalsh(half[:, None] @ hessians @ np.swapaxes(half, 1, 2)[:, None])
    best = (values.min(axis=(1, 2)) / values.max(axis=(1, 2))).max()
    assert printed == pytest.approx(0.0646, abs=1e-4)
    assert best == pytest.approx(0.05, rel=1e-6)
