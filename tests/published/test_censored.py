"""Censored values: log-likelihoods and parameters of R's `survival` (survreg) and `fitdistrplus` (fitdistcens).

Lung cancer trial of the Veterans' Administration (Kalbfleisch and Prentice, 1980); salinity tolerance of river animals
(Kefford et al., 2007).
"""

import numpy as np
import pytest
from scipy import stats

from kmle import ExponentialFamilyMixture, Intervals
from kmle.data.intervals import as_intervals
from published.datasets import table

VETERAN = Intervals.from_events(*table("veteran.csv", (2, 3)).T)
LEFT, RIGHT = table("salinity.csv").T
SALINITY = Intervals(np.where(np.isnan(LEFT), -np.inf, LEFT), np.where(np.isnan(RIGHT), np.inf, RIGHT))


def fitted(family, X):
    return ExponentialFamilyMixture(family=family, prior_strength=0, resolution=None, tol=1e-12).fit(X)


@pytest.mark.parametrize(("family", "expected"), [("exponential", -751.22121), ("log-normal", -749.47398)])
def test_veteran(family, expected):
    model = fitted(family, VETERAN)
    assert model.result_.log_likelihood == pytest.approx(expected, abs=5e-6)
    assert model.score_samples(VETERAN).sum() == pytest.approx(expected, abs=5e-6)


@pytest.mark.parametrize(
    ("family", "expected", "parameters"),
    [
        ("gamma", -138.77628, {"shape": 4.91728, "scale": 1 / 0.152042}),
        ("log-normal", -139.05496, {"log_mean": 3.38537, "log_std": 0.496138}),
        ("gaussian", -141.23982, {"mean": 31.57572, "covariance": 12.40066**2}),
    ],
)
def test_salinity(family, expected, parameters):
    model = fitted(family, SALINITY)
    assert model.result_.log_likelihood == pytest.approx(expected, abs=5e-6)
    for name, value in parameters.items():
        assert model.mixture_.source[name].item() == pytest.approx(value, rel=2e-4)


def test_scipys_censored_data_is_the_same():
    times, status = table("veteran.csv", (2, 3)).T
    data = stats.CensoredData.right_censored(times, status == 0)
    model = fitted("exponential", data)
    assert model.result_.log_likelihood == pytest.approx(-751.22121, abs=5e-6)
    # Labels follow the order of its arguments: uncensored, left, right, interval.
    assert as_intervals(data).lower.ravel().tolist() == [*times[status == 1], *times[status == 0]]


def test_narrow_gamma_components_of_intervals_stay_finite():
    # A shape above 1e5 had an infinite density near zero.
    for k in range(2, 6):
        model = ExponentialFamilyMixture(k, family="gamma", random_state=0).fit(SALINITY)
        assert np.isfinite(model.score(SALINITY))
        assert np.isfinite(model.predict_proba(SALINITY)).all()
