"""Estimated shapes: log-likelihoods and parameters of R's MASS, survival and fitdistrplus.

Days absent from school (Quine, 1978), lung cancer trial of the Veterans' Administration (Kalbfleisch and Prentice,
1980), salinity tolerance of river animals (Kefford et al., 2007), copper in wholemeal flour (Analytical Methods
Committee, 1989).
"""

import numpy as np
import pytest

from kmle import ExponentialFamilyMixture, Intervals
from published.datasets import table

QUINE = table("quine.csv", (4,))
TIMES = table("veteran.csv", (2,))
VETERAN = Intervals.from_events(*table("veteran.csv", (2, 3)).T)
LEFT, RIGHT = table("salinity.csv").T
CHEM = table("chem.csv")[:, -1:]
SALINITY = Intervals(np.where(np.isnan(LEFT), -np.inf, LEFT), np.where(np.isnan(RIGHT), np.inf, RIGHT))


@pytest.mark.parametrize(
    ("family", "X", "expected", "parameters"),
    [
        ("negative-binomial", QUINE, -559.13348, {"mean": 16.45890, "size": 1.06678}),
        ("weibull", TIMES, -792.06426, {"shape": 0.867012, "scale": 112.44347}),
        ("weibull", VETERAN, -748.09121, {"shape": 0.852085, "scale": 120.68039}),
        ("weibull", SALINITY, -139.09972, {"shape": 2.64707, "scale": 35.85709}),
    ],
    ids=["quine", "veteran times", "veteran censored", "salinity"],
)
def test_one_component(family, X, expected, parameters):
    model = ExponentialFamilyMixture(family=family, prior_strength=0, resolution=None).fit(X)
    # R's optimizers stop a little below the maximum.
    assert expected - 5e-6 <= model.result_.log_likelihood <= expected + 1e-5
    assert model.score_samples(X).sum() == pytest.approx(model.result_.log_likelihood, abs=1e-9)
    assert model.mixture_.n_parameters == 2
    for name, value in parameters.items():
        assert model.mixture_.source[name].item() == pytest.approx(value, rel=2e-5)


def test_two_components_of_veteran():
    model = ExponentialFamilyMixture(2, family="weibull", prior_strength=0, random_state=0).fit(VETERAN)
    assert model.result_.log_likelihood == pytest.approx(-745.94501, abs=5e-6)
    np.testing.assert_allclose(model.weights_, [0.8946, 0.1054], atol=2e-4)
    np.testing.assert_allclose(model.mixture_.source["shape"].ravel(), [0.902, 2.760], atol=2e-3)
    np.testing.assert_allclose(model.mixture_.source["scale"].ravel(), [138.324, 19.983], rtol=2e-4)


def test_zero_inflated_counts():
    plain = ExponentialFamilyMixture(family="zero-inflated-poisson", prior_strength=0, random_state=0).fit(QUINE)
    assert plain.result_.log_likelihood == pytest.approx(-1211.90653, abs=5e-6)
    family = "zero-inflated-negative-binomial"
    model = ExponentialFamilyMixture(family=family, prior_strength=0, random_state=0).fit(QUINE)
    # It has the negative binomial in it, whose zeros are not too few.
    assert model.result_.log_likelihood >= -559.13348 - 1e-4


def test_copper_in_wholemeal_flour():
    """The chem data of MASS: fitdistr(chem, "t")."""
    model = ExponentialFamilyMixture(family="student-t", prior_strength=0, resolution=None).fit(CHEM)
    assert model.result_.log_likelihood == pytest.approx(-34.48599, abs=5e-6)
    source = model.mixture_.source
    assert source["location"].item() == pytest.approx(3.24848, abs=1e-5)
    assert np.sqrt(source["scale"].item()) == pytest.approx(0.455274, abs=1e-5)
    assert source["degrees"].item() == pytest.approx(1.36692, abs=1e-4)
