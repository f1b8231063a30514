"""Differences of F keep their digits far from zero: divergences, entropies and centroids do not depend on the place.

A natural parameter holds the mean as P mean, so a mean of size `offset` is known to about `offset` u, u = 2.2e-16 the
unit of rounding, times the condition number of the covariance. That, in standard deviations, is what any function of
the natural parameters may be off by; the tests ask for a few of these units and no more.
"""

import numpy as np
import pytest

from cases import BY_ID, CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, Mixture, inspection
from kmle.divergences import kl_bounds
from kmle.inspection.bootstrap import matched

LOCATED = [case for case in CASES if case.family.locations(case.naturals(1, 0)) is not None]
OFFSETS = [1e3, 1e4, 1e6, 1e8, -1e8, 1e10]
UNITS = 64 * np.finfo(float).eps


def moved(source, offset):
    """The usual parameters with every mean moved."""
    return {name: value + offset * name.endswith("mean") for name, value in source.items()}


def dists(case, offset, seed=3, k=4):
    source = case.sources_at(np.random.default_rng(seed).random((k, case.size)))
    # Rounded, so that near and far away the means differ by the offset exactly.
    source = {name: np.round(value * 1024) / 1024 if name.endswith("mean") else value for name, value in source.items()}
    return case.family.natural_from_source(**moved(source, offset))


def volume(case, offset):
    """The logarithm of how much a move stretches space: only logarithms that are moved stretch their columns."""
    return offset * (case.family.n_features if case.family.name == "log-normal" else 0)


def test_every_gaussian_has_a_location():
    names = {case.family.name for case in LOCATED}
    gaussians = {"gaussian", "diagonal-gaussian", "spherical-gaussian", "fixed-covariance-gaussian", "log-normal"}
    assert names == gaussians | {"product"}


def test_the_textbook_pair():
    far = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[1e8], [1e8 + 1]], covariance=[[[1.0]], [[1.0]]])
    p, q = far.natural
    assert far.family.kl(p, q) == pytest.approx(0.5, rel=1e-7)
    assert far.family.entropy(p) == pytest.approx(0.5 * np.log(2 * np.pi * np.e), rel=1e-12)
    assert far.family.bhattacharyya_coefficient(p, q) == pytest.approx(np.exp(-1 / 8), rel=1e-7)
    assert far.family.chernoff_information(p, q) == pytest.approx(1 / 8, rel=1e-7)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("case", LOCATED, ids=case_id)
def test_divergences_do_not_depend_on_the_place(case, offset):
    tolerance = 1e-9 + UNITS * abs(offset)
    family, near, far = case.family, dists(case, 0.0), dists(case, offset)
    functions = {
        "bregman": family.bregman,
        "kl": family.kl,
        "chernoff_coefficient": lambda p, q: family.chernoff_coefficient(p, q, 0.3),
        "bhattacharyya_coefficient": family.bhattacharyya_coefficient,
        "chernoff_information": family.chernoff_information,
    }
    for name, function in functions.items():
        pairs = [function(theta[:, None], theta[None]) for theta in (near, far)]
        np.testing.assert_allclose(pairs[1], pairs[0], rtol=tolerance, atol=tolerance, err_msg=name)
    weights = [0.1, 0.2, 0.3, 0.4]
    jensen = [family.jensen_diversity(theta, weights) for theta in (near, far)]
    np.testing.assert_allclose(jensen[1], jensen[0], rtol=tolerance)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("case", LOCATED, ids=case_id)
def test_entropies_do_not_depend_on_the_place(case, offset):
    tolerance = 1e-9 + UNITS * abs(offset)
    family, near, far = case.family, dists(case, 0.0), dists(case, offset)
    np.testing.assert_allclose(
        family.entropy(far) - volume(case, offset), family.entropy(near), rtol=tolerance, atol=tolerance
    )
    crosses = [family.cross_entropy(theta[:, None], theta[None]) for theta in (near, far)]
    np.testing.assert_allclose(crosses[1] - volume(case, offset), crosses[0], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("name", ["left_centroid", "right_centroid", "symmetrised_centroid"])
@pytest.mark.parametrize("case", LOCATED, ids=case_id)
def test_centroids_move_with_the_laws(case, name, offset):
    # A descent by values of a loss is as sharp as the root of their rounding.
    tolerance = (1e-6 if name == "symmetrised_centroid" else 1e-9) + UNITS * abs(offset)
    centroids = [getattr(case.family, name)(dists(case, place), [0.1, 0.2, 0.3, 0.4]) for place in (0.0, offset)]
    near, far = (case.family.source_from_natural(centroid[None]) for centroid in centroids)
    for key, value in moved(near, offset).items():
        np.testing.assert_allclose(far[key], value, rtol=tolerance, atol=tolerance, err_msg=key)


@pytest.mark.parametrize("offset", [1e3, 1e4, 1e6])
@pytest.mark.parametrize("case", LOCATED, ids=case_id)
def test_moments_tell_as_much_as_they_hold(case, offset):
    """A second moment of offset^2 + variance holds the variance to offset^2 u: so near is the divergence."""
    tolerance = 1e-8 + UNITS * offset**2
    family, near, far = case.family, dists(case, 0.0), dists(case, offset)
    moment = family.moment_from_natural(far)
    divergence = family.dual_bregman(moment[:, None], moment[None])
    np.testing.assert_allclose(divergence, family.kl(near[:, None], near[None]), rtol=tolerance, atol=tolerance)
    information = family.bregman_information(moment)
    expected = family.kl(near, family.right_centroid(near)).mean()
    assert information == pytest.approx(expected, rel=tolerance, abs=tolerance)


def test_neighbours_among_far_components():
    """Each pair is seen from its own place: one at zero and two at 1e8 leave the two as near as they are."""
    mean = [[0.0], [1e8], [1e8 + 1]]
    family = BY_ID["gaussian-1"].family
    natural = family.member(mean=mean, covariance=np.ones((3, 1, 1))).natural
    assert family.kl(natural[:, None], natural[None])[1, 2] == pytest.approx(0.5, rel=1e-7)
    assert family.bhattacharyya_coefficient(natural[:, None], natural[None])[2, 1] == pytest.approx(np.exp(-1 / 8))


def two_groups(offset):
    rng = np.random.default_rng(5)
    rows = np.concatenate([rng.normal(0.0, 1.0, (300, 2)), rng.normal(5.0, 0.5, (200, 2))])
    return np.round(rows * 2**20) / 2**20 + offset


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian", "fixed-covariance-gaussian"])
def test_inspection_does_not_depend_on_the_place(family):
    offset = 1e8
    start = np.repeat([0, 1], [300, 200])
    models = [KMLE(2, family=family, init=start, n_init=1).fit(two_groups(place)) for place in (0.0, offset)]
    near, far = (
        inspection.separation(model, two_groups(place)) for model, place in zip(models, (0.0, offset), strict=True)
    )
    for name in ("overlap", "kl", "chernoff", "confusion"):
        np.testing.assert_allclose(getattr(far, name), getattr(near, name), rtol=1e-5, atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(far.nearest, near.nearest)
    np.testing.assert_allclose(inspection.overlap(models[1]), near.overlap, rtol=1e-5, atol=1e-9)
    message = inspection.diagnose(models[1], two_groups(offset))
    assert message.mean_log_density == pytest.approx(inspection.diagnose(models[0], two_groups(0.0)).mean_log_density)


@pytest.mark.parametrize("family", ["gaussian", "gaussian-vve", "gaussian-eee"])
@pytest.mark.parametrize("offset", [1e6, 1e8])
def test_collinear_columns_far_away_have_true_numbers(family, offset):
    """The narrow direction is orthogonal to the offset, so that P mean is small beside its terms."""
    X = two_groups(offset)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    model = ExponentialFamilyMixture(2, family=family, random_state=0).fit(X)
    # Means are known to a thousandth of their spread.
    assert model.score(X) * len(X) == pytest.approx(model.result_.log_likelihood, abs=1e-5 * len(X))
    means = np.average(X[model.labels_ == 0], axis=0), np.average(X[model.labels_ == 1], axis=0)
    np.testing.assert_allclose(model.mixture_.source["mean"], means, rtol=0, atol=0.1)


def test_the_bootstrap_matches_components_far_away():
    offset, step = 1e8, np.arange(6.0)[:, None]
    far = Mixture.from_source("gaussian", np.full(6, 1 / 6), mean=step + offset, covariance=np.ones((6, 1, 1)))
    order = np.array([3, 0, 5, 1, 4, 2])
    other = Mixture(far.family, far.weights, far.natural[order])
    assert matched(far, other)[1].tolist() == np.argsort(order).tolist()


def test_bootstrap_errors_far_away_are_those_near():
    start = np.repeat([0, 1], [300, 200])
    errors = [
        inspection.bootstrap(KMLE(2, init=start, n_init=1).fit(rows), rows, n_resamples=10, random_state=0)
        for rows in (two_groups(0.0), two_groups(1e8))
    ]
    for name, near in errors[0].source.items():
        np.testing.assert_allclose(errors[1].source[name], near, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("offset", OFFSETS)
def test_bounds_between_mixtures_do_not_depend_on_the_place(offset):
    def pair(place):
        covariance = np.ones((2, 1, 1))
        return (
            Mixture.from_source("gaussian", weights, mean=np.array(mean) + place, covariance=covariance)
            for weights, mean in (([0.5, 0.5], [[0.0], [3.0]]), ([0.25, 0.75], [[0.5], [2.0]]))
        )

    near, far = kl_bounds(*pair(0.0)), kl_bounds(*pair(offset))
    tolerance = 1e-5 + UNITS * abs(offset)
    assert (far.lower, far.upper) == pytest.approx((near.lower, near.upper), rel=tolerance)
