"""Divergences of mixtures: estimates agree with quadrature, bounds hold, closed forms are exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cases import BY_ID, CASES, UNIVARIATE, case_id
from kmle import Mixture, divergences
from kmle import families as f
from kmle.divergences import cauchy_schwarz, jeffreys, jensen_shannon, kl, kl_bounds, kl_variational
from mixture.drawing import typical

LINEAR_CARRIERS = [
    case
    for case in UNIVARIATE
    if case.family.name
    in {
        "gaussian",
        "diagonal-gaussian",
        "spherical-gaussian",
        "log-normal",
        "bernoulli",
        "geometric",
        "exponential",
        "laplace",
        "generalized-gaussian",
        "half-normal",
        "pareto",
        "beta",
        "von-mises",
    }
]


def pair(case, k=3, seed=0):
    """Two different mixtures, and nodes that integrate both."""
    p, points = typical(case, k, seed)
    q, more = typical(case, k + 1, seed + 100)
    return p, q, np.concatenate([points, more])


def integrals(case, p, q, points):
    rows, weight = case.nodes_at(points)
    return p.log_density(rows), q.log_density(rows), weight


@pytest.mark.parametrize("case", UNIVARIATE, ids=case_id)
def test_estimates_agree_with_quadrature(case):
    p, q, points = pair(case)
    log_p, log_q, weight = integrals(case, p, q, points)
    middle = np.logaddexp(log_p, log_q) - np.log(2)
    there = np.sum(weight * np.exp(log_p) * (log_p - log_q))
    back = np.sum(weight * np.exp(log_q) * (log_q - log_p))
    shared = 0.5 * np.sum(weight * (np.exp(log_p) * (log_p - middle) + np.exp(log_q) * (log_q - middle)))
    for function, exact in ((kl, there), (jeffreys, there + back), (jensen_shannon, shared)):
        estimate = function(p, q, 4000, random_state=0)
        assert abs(estimate.value - exact) <= 5 * estimate.standard_error + 1e-9
        assert 0 < estimate.standard_error < np.inf
    bounds = kl_bounds(p, q)
    assert 0 <= bounds.lower <= there * (1 + 1e-9)
    assert there * (1 - 1e-9) <= bounds.upper


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_bounds_hold(case):
    for seed in (1, 2):
        p, q, _ = pair(case, k=2, seed=seed)
        estimate, bounds = kl(p, q, 2000, random_state=seed), kl_bounds(p, q)
        assert 0 <= bounds.lower <= bounds.upper < np.inf
        assert bounds.lower - 5 * estimate.standard_error <= estimate.value
        assert estimate.value <= bounds.upper + 5 * estimate.standard_error


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_mixture_is_at_no_distance_from_itself(case):
    p, _ = typical(case)
    for function in (kl, jeffreys, jensen_shannon):
        assert function(p, p) == divergences.Estimate(0.0, 0.0)
    assert kl_bounds(p, p) == divergences.Bounds(0.0, 0.0)
    assert kl_variational(p, p) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_single_laws_are_exact(case):
    a, b = case.naturals(2, seed=3)
    p, q = Mixture(case.family, [1.0], [a]), Mixture(case.family, [1.0], [b])
    exact = float(case.family.kl(a, b))
    assert kl(p, q).standard_error == 0
    assert kl(p, q).value == pytest.approx(exact, rel=1e-9, abs=1e-12)
    assert kl_bounds(p, q).lower == kl_bounds(p, q).upper == kl(p, q).value
    # Two halves of one law are that law, which the bounds do not know beforehand.
    halves = Mixture(case.family, [0.5, 0.5], [a, a])
    bounds = kl_bounds(halves, q)
    assert bounds.lower == pytest.approx(exact, rel=1e-3, abs=1e-6)
    assert bounds.upper == pytest.approx(exact, rel=1e-6, abs=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.sampled_from(["gaussian-1", "poisson-1", "exponential", "bernoulli-3"]))
def test_bounds_are_ordered_and_permutations_change_nothing(seed, name):
    p, q, _ = pair(BY_ID[name], k=3, seed=seed)
    order = np.random.default_rng(seed).permutation(3)
    same = Mixture(p.family, p.weights[order], p.natural[order])
    first, second = kl_bounds(p, q), kl_bounds(same, q)
    assert 0 <= first.lower <= first.upper
    assert second.upper == pytest.approx(first.upper, rel=1e-6, abs=1e-9)
    # A mixture with its components in another order is the same: matching finds that out.
    assert kl_bounds(p, same).lower <= 1e-9
    assert kl_bounds(p, same).upper <= 1e-9


def test_the_bounds_are_of_use():
    p = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[0.0], [8.0]], covariance=[[[1.0]], [[2.0]]])
    q = Mixture.from_source("gaussian", [0.4, 0.6], mean=[[1.0], [11.0]], covariance=[[[1.5]], [[1.0]]])
    bounds, estimate = kl_bounds(p, q), kl(p, q, random_state=0)
    assert estimate.value > 1
    assert bounds.upper < 1.25 * estimate.value
    assert bounds.lower > 0.3 * estimate.value
    assert kl_variational(p, q) == pytest.approx(estimate.value, rel=0.25)


def test_an_offset_costs_no_digits():
    source = {"mean": np.array([[0.0, 1.0], [4.0, -2.0]]), "covariance": np.array([np.eye(2), 0.5 * np.eye(2)])}
    other = {"mean": source["mean"] + 0.5, "covariance": source["covariance"] * 1.5}

    def bounds(offset):
        p = Mixture.from_source("gaussian", [0.3, 0.7], **source | {"mean": source["mean"] + offset})
        q = Mixture.from_source("gaussian", [0.4, 0.6], **other | {"mean": other["mean"] + offset})
        return np.array([kl_bounds(p, q).lower, kl_bounds(p, q).upper, cauchy_schwarz(p, q), kl_variational(p, q)])

    np.testing.assert_allclose(bounds(1e5), bounds(0.0), rtol=1e-4)


@pytest.mark.parametrize("case", LINEAR_CARRIERS, ids=case_id)
def test_cauchy_schwarz_is_that_of_quadrature(case):
    p, q, points = pair(case)
    log_p, log_q, weight = integrals(case, p, q, points)
    cross, own_p, own_q = (np.sum(weight * np.exp(a + b)) for a, b in ((log_p, log_q), (log_p, log_p), (log_q, log_q)))
    expected = 0.5 * np.log(own_p * own_q) - np.log(cross)
    assert cauchy_schwarz(p, q) == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert cauchy_schwarz(q, p) == pytest.approx(cauchy_schwarz(p, q), rel=1e-9)
    assert cauchy_schwarz(p, p) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("case", ["poisson-1", "rayleigh", "fixed-covariance-gaussian-scalar", "chi-square", "product"])
def test_cauchy_schwarz_says_where_it_has_no_closed_form(case):
    p, q, _ = pair(BY_ID[case])
    with pytest.raises(ValueError, match="cauchy_schwarz has no closed form for"):
        cauchy_schwarz(p, q)


def test_a_square_without_an_integral_is_refused():
    p = Mixture.from_source("gamma", [1.0], shape=[0.4], scale=[1.0])
    with pytest.raises(ValueError, match="infinite integral"):
        cauchy_schwarz(p, p)


def test_families_on_the_same_rows_can_be_compared():
    gamma = Mixture.from_source("gamma", [1.0], shape=[3.0], scale=[2.0])
    same = Mixture.from_source(f.FixedShapeGamma(3.0), [1.0], scale=[2.0])
    assert kl(gamma, same, 1000, random_state=0).value == pytest.approx(0.0, abs=1e-12)
    normal = Mixture.from_source("gaussian", [1.0], mean=[[6.0]], covariance=[[[9.0]]])
    assert 0 < kl(gamma, normal, random_state=0).value < 1
    # A Gaussian draws rows below zero, where a gamma has no density.
    assert kl(normal, gamma, random_state=0).value == np.inf
    assert 0 < jensen_shannon(normal, gamma, random_state=0).value < np.log(2)


def test_laws_far_apart_reach_the_largest_jensen_shannon_divergence():
    p, q = (Mixture.from_source("gaussian", [1.0], mean=[[m]], covariance=[[[1.0]]]) for m in (0.0, 1e3))
    assert jensen_shannon(p, q, 1000, random_state=0).value == pytest.approx(np.log(2), rel=1e-12)


@pytest.mark.parametrize(
    ("function", "other", "options", "words"),
    [
        (kl, Mixture.from_source("poisson", [1.0], rate=[2.0]), {}, "densities of different kinds"),
        (kl, Mixture.from_source("gamma", [1.0], shape=[[1.0, 2.0]], scale=[[1.0, 1.0]]), {}, "columns"),
        (kl_bounds, Mixture.from_source("exponential", [1.0], rate=[2.0]), {}, "one family"),
        (cauchy_schwarz, Mixture.from_source("exponential", [1.0], rate=[2.0]), {}, "one family"),
        (kl, Mixture.from_source("exponential", [1.0], rate=[2.0]), {"n_samples": 1}, "n_samples is 1"),
    ],
)
def test_bad_input_gets_one_sentence(function, other, options, words):
    p = Mixture.from_source("gamma", [1.0], shape=[2.0], scale=[1.0])
    with pytest.raises(ValueError, match=words):
        function(p, other, **options)


# Tails that make a divergence infinite -------------------------------------------------------------------------------

BELL = f.DiagonalGaussian().member(mean=[0.0], variance=[1.0])
GAUSSIAN = f.Gaussian().member(mean=[[0.0]], covariance=[[[1.0]]])


def heavy(degrees):
    return f.StudentT().member(location=[[0.0]], scale=[[[1.0]]], degrees=[degrees])


@pytest.mark.parametrize(
    ("p", "q", "infinite"),
    [
        ([heavy(1.9)], [GAUSSIAN], True),
        ([heavy(2.1)], [GAUSSIAN], False),
        ([GAUSSIAN, heavy(1.0)], [BELL, GAUSSIAN], True),
        ([heavy(1.0)], [GAUSSIAN, heavy(30.0)], False),
        ([heavy(1.5)], [f.Laplace(location=0.0).member(scale=[1.0])], False),
        ([heavy(0.9)], [f.Laplace(location=0.0).member(scale=[1.0])], True),
        ([f.StudentT(1.5).member(location=[[0.0]], scale=[[[1.0]]])], [GAUSSIAN], True),
        ([f.InverseGamma().member(shape=[0.8], scale=[1.0])], [f.Exponential().member(rate=[1.0])], True),
        ([f.InverseGamma().member(shape=[0.8], scale=[1.0])], [f.Weibull().member(scale=[1.0], shape=[0.5])], False),
        ([f.Exponential().member(rate=[1.0])], [f.InverseGamma().member(shape=[3.0], scale=[1.0])], True),
        ([f.Gamma().member(shape=[1.5], scale=[1.0])], [f.InverseGamma().member(shape=[3.0], scale=[1.0])], False),
        ([f.Weibull().member(scale=[1.0], shape=[0.7])], [f.InverseGaussian().member(mean=[1.0], shape=[1.0])], True),
    ],
)
def test_kl_is_infinite_where_tails_are_too_heavy(p, q, infinite):
    first, second = (Mixture.from_members(np.full(len(each), 1 / len(each)), each) for each in (p, q))
    found = kl(first, second, 2000, random_state=0)
    assert np.isinf(found.value) == infinite
    assert infinite == (found.standard_error == 0)
    assert np.isinf(jeffreys(first, second, 100, random_state=0).value) >= infinite
    assert jensen_shannon(first, second, 100, random_state=0).value <= np.log(2)


def test_components_of_one_mixture_have_infinite_divergences():
    mixture = Mixture.from_members([0.5, 0.5], [heavy(1.5), GAUSSIAN])
    theta = mixture.natural
    between = mixture.family.kl(theta[:, None], theta[None])
    assert np.isinf(between).tolist() == [[False, True], [False, False]]
    two = Mixture.from_members(
        [0.5, 0.5],
        [
            f.StudentT(n_features=2).member(location=[[0, 0]], scale=[np.eye(2)], degrees=[2.0]),
            f.Gaussian(n_features=2).member(mean=[[0, 0]], covariance=[np.eye(2)]),
        ],
    )
    assert np.isinf(two.family.kl(two.natural[[0]], two.natural[[1]])[0])
