"""Missing values: the maximum of the likelihood of the observed entries, by an independent plain-loop EM.

New York air quality (Chambers, Cleveland, Kleiner and Tukey, 1983).
"""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture
from published.datasets import table

AIR = table("airquality.csv", (0, 1, 2, 3))


@pytest.mark.parametrize("estimator", [ExponentialFamilyMixture, KMLE])
def test_air_quality(estimator):
    model = estimator(1, family="gaussian", prior_strength=0, resolution=None, tol=0, max_iter=1000).fit(AIR)
    assert model.result_.log_likelihood == pytest.approx(-2326.69738, abs=5e-6)
    assert model.score_samples(AIR).sum() == pytest.approx(-2326.69738, abs=5e-6)
    np.testing.assert_allclose(model.mixture_.source["mean"][0], [41.87117, 184.84681, 9.95752, 77.88235], atol=5e-6)
