"""Survival curves and standard errors of censored data, against R's survival and SciPy."""

import numpy as np
import pytest
from scipy import optimize, stats

from kmle import ExponentialFamilyMixture, Intervals, Mixture
from kmle.inspection import product_limit, standard_errors, survival
from kmle.inspection.survival import _turnbull
from published.datasets import table

TIMES, STATUS = table("veteran.csv", (2, 3)).T
VETERAN = Intervals.from_events(TIMES, STATUS)


def test_the_product_limit_is_that_of_r():
    """survfit(Surv(time, status) ~ 1, conf.type = "log-log") of R's survival."""
    found = product_limit(VETERAN)
    np.testing.assert_allclose(found.survival[:5], [0.9854015, 0.9781022, 0.9708029, 0.9635036, 0.9416058], atol=5e-8)
    np.testing.assert_allclose(found.lower[:5], [0.9428931, 0.9336518, 0.9240824, 0.9145454, 0.8866312], atol=5e-8)
    np.testing.assert_allclose(found.upper[:5], [0.9963288, 0.9928846, 0.9889407, 0.9846450, 0.9703611], atol=5e-8)
    assert found.censored.tolist() == sorted(TIMES[STATUS == 0])


def test_without_censoring_it_is_the_empirical_distribution():
    x = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    found = product_limit(x)
    assert found.times.tolist() == [1.0, 3.0, 4.0, 5.0]
    np.testing.assert_allclose(found.survival, [0.6, 0.4, 0.2, 0.0], atol=1e-15)
    np.testing.assert_allclose(found.at([0.0, 1.0, 3.5, 9.0]), [1.0, 0.6, 0.4, 0.0], atol=1e-15)


def test_weights_count_rows():
    twice = product_limit(VETERAN, np.full(len(TIMES), 2.0))
    np.testing.assert_allclose(twice.survival, product_limit(VETERAN).survival, rtol=1e-12)
    assert (twice.lower[3:] > product_limit(VETERAN).lower[3:])[:50].all()


def test_turnbull_is_the_product_limit_on_right_censored_values():
    known = product_limit(VETERAN)
    lower, upper = VETERAN.lower[:, 0], VETERAN.upper[:, 0]
    found = _turnbull(lower, upper, np.ones(len(lower)), known.censored)
    np.testing.assert_allclose(found.at(known.times[:60]), known.survival[:60], atol=2e-3)


def test_turnbull_on_groups():
    """Grouped data: the masses of disjoint intervals are their shares."""
    X = Intervals([0.0, 0.0, 1.0, 2.0], [1.0, 1.0, 2.0, 3.0])
    found = product_limit(X)
    np.testing.assert_allclose(found.at([1.0, 2.0, 3.0]), [0.5, 0.25, 0.0], atol=1e-6)
    assert np.isnan(found.lower).all()


def test_the_curve_of_a_mixture():
    mixture = Mixture.from_source("gamma", [0.3, 0.7], shape=[2.0, 9.0], scale=[1.0, 2.0])
    found = survival(mixture, times=[0.0, 1.0, 20.0])
    twin = [stats.gamma(2.0, scale=1.0), stats.gamma(9.0, scale=2.0)]
    expected = np.stack([own.sf([0.0, 1.0, 20.0]) for own in twin], axis=1)
    np.testing.assert_allclose(found.components, expected, rtol=1e-10)
    np.testing.assert_allclose(found.survival, expected @ [0.3, 0.7], rtol=1e-10)
    density = np.stack([own.pdf([1.0, 20.0]) for own in twin], axis=1) @ [0.3, 0.7]
    np.testing.assert_allclose(found.hazard[1:], density / (expected @ [0.3, 0.7])[1:], rtol=1e-8)
    b10 = optimize.brentq(lambda t: 0.3 * twin[0].cdf(t) + 0.7 * twin[1].cdf(t) - 0.1, 0.0, 50.0)
    assert found.quantiles[0.1] == pytest.approx(b10, rel=1e-6)


def test_the_hazard_of_counts_is_a_probability():
    mixture = Mixture.from_source("geometric", [1.0], probability=[0.25])
    found = survival(mixture, times=[0.0, 1.0, 7.0])
    np.testing.assert_allclose(found.hazard, 0.25, rtol=1e-9)


def test_a_fit_is_close_to_the_data():
    model = ExponentialFamilyMixture(2, family="log-normal", random_state=0).fit(VETERAN)
    found = survival(model, VETERAN)
    assert found.largest_gap < 0.07
    assert (np.diff(found.survival) <= 0).all()


@pytest.mark.parametrize(("options", "message"), [({"level": 1.5}, "level is 1.5"), ({"column": 3}, "column is 3")])
def test_bad_arguments_are_refused(options, message):
    mixture = Mixture.from_source("exponential", [1.0], rate=[1.0])
    with pytest.raises(ValueError, match=message):
        survival(mixture, VETERAN, **options)


# Standard errors ------------------------------------------------------------------------------------------------------


def test_the_error_of_a_censored_rate():
    """The rate of d events has the standard error rate / sqrt(d), however many times are censored."""
    model = ExponentialFamilyMixture(1, family="exponential", prior_strength=0).fit(VETERAN)
    found = standard_errors(model, VETERAN).source["rate"].item()
    assert found == pytest.approx(model.mixture_.source["rate"].item() / np.sqrt(STATUS.sum()), rel=1e-6)


def test_exact_values_have_the_errors_of_values():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 200), rng.normal(5, 1, 100)])
    model = ExponentialFamilyMixture(2, prior_strength=0, random_state=0, tol=1e-12).fit(x[:, None])
    plain, intervals = standard_errors(model, x[:, None]), standard_errors(model, Intervals(x, x))
    np.testing.assert_allclose(intervals.weights, plain.weights, rtol=1e-5)
    for name, value in plain.source.items():
        np.testing.assert_allclose(intervals.source[name], value, rtol=1e-5)


def test_errors_are_those_of_the_hessian():
    model = ExponentialFamilyMixture(1, family="log-normal", prior_strength=0, resolution=None, tol=1e-12).fit(VETERAN)
    mean, deviation = (model.mixture_.source[name].item() for name in ("log_mean", "log_std"))

    def loss(p):
        own = stats.lognorm(p[1], scale=np.exp(p[0]))
        return -np.where(STATUS == 1, own.logpdf(TIMES), own.logsf(TIMES)).sum()

    h, point = 1e-4, np.array([mean, deviation])
    hessian = np.array(
        [
            [
                sum(a * b * loss(point + a * h * np.eye(2)[i] + b * h * np.eye(2)[j]) for a in (1, -1) for b in (1, -1))
                for j in range(2)
            ]
            for i in range(2)
        ]
    ) / (4 * h * h)
    expected = np.sqrt(np.diag(np.linalg.inv(hessian)))
    found = standard_errors(model, VETERAN)
    assert found.source["log_mean"].item() == pytest.approx(expected[0], rel=1e-4)
    assert found.source["log_std"].item() == pytest.approx(expected[1], rel=1e-4)


def test_other_methods_are_refused():
    model = ExponentialFamilyMixture(1, family="exponential").fit(VETERAN)
    with pytest.raises(ValueError, match="on intervals it must be 'observed'"):
        standard_errors(model, VETERAN, method="complete")
