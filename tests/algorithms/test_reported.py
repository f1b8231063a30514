"""A fit reports the likelihoods of the mixture that it hands back, whatever rounding its passes had."""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture

POSITIVE = np.random.default_rng(0).gamma(3.0, 2.0, (60, 1))
ROWS = {
    "a constant column": np.column_stack([np.full(60, 3.3), POSITIVE]),
    "a constant column far from zero": np.column_stack([np.full(60, 1e8), POSITIVE]),
    "far from zero": 1e6 + POSITIVE,
}


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", ["inverse-gamma", "gamma", "log-normal", "inverse-gaussian", "gaussian"])
@pytest.mark.parametrize("X", ROWS.values(), ids=ROWS)
def test_criteria_are_those_of_the_mixture(X, family, estimator):
    model = estimator(2, family=family, random_state=0).fit(X)
    own = model.mixture_.log_likelihoods(X)
    reported = model.result_.log_likelihood, model.result_.complete_log_likelihood
    np.testing.assert_allclose(reported, own, rtol=1e-12)
    assert model.result_.criteria.bic == pytest.approx(model.bic(X), rel=1e-12)
