"""Our log-densities are SciPy's, on rows drawn from the law itself and on rows drawn from others."""

import numpy as np
import pytest

from cases import CASES, case_id, for_all


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_log_density_is_that_of_scipy(case):
    """Both ways to it: the one that keeps digits, and the formula <t(x), theta> - F(theta) + k(x) kernels use."""

    def agrees(points):
        dists = case.naturals_at(points)
        rows = np.concatenate([case.sample(natural, 5) for natural in dists])
        theirs = np.stack([twin.log_density(rows) for twin in case.twins_at(points)], axis=1)
        np.testing.assert_allclose(case.family.log_density(rows, dists), theirs, rtol=1e-10, atol=1e-10)
        inner = case.family.sufficient_statistic(rows) @ dists.T - case.family.log_normalizer(dists)
        formula = inner + case.family.log_carrier(rows)[:, None]
        # Its terms may be larger than their sum, and each has its own rounding.
        np.testing.assert_allclose(formula, theirs, rtol=1e-10, atol=1e-12 * (1 + np.abs(inner).max()))

    for_all(case.points(4), agrees)
