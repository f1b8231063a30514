"""Role conflict: 216 students answer four questions, a mixture of products of Bernoulli laws (latent classes).

S. A. Stouffer and J. Toby (1951), "Role conflict and personality", American Journal of Sociology 56, 395-406;
L. A. Goodman (1974), Biometrika 61, 215-231. The log-likelihoods are those the R package poLCA prints for its data set
`values` (D. A. Linzer and J. B. Lewis, 2011, Journal of Statistical Software 42(10)).
"""

from itertools import product

import numpy as np
import pytest

from kmle import ExponentialFamilyMixture

ANSWERS = np.array(list(product([0.0, 1.0], repeat=4)))  # 1111, 1112, ..., 2222, the last question fastest
STUDENTS = np.array([20, 2, 9, 2, 6, 1, 4, 1, 38, 7, 24, 6, 25, 6, 23, 42], dtype=float)


def classes(k):
    model = ExponentialFamilyMixture(
        k, family="bernoulli", prior_strength=0, tol=1e-11, max_iter=20_000, random_state=0
    )
    return model.fit(ANSWERS, sample_weight=STUDENTS)


@pytest.mark.parametrize(
    ("k", "printed", "converged"),
    [(1, -543.6498, -543.649825), (2, -504.4677, -504.467670), (3, -503.3011, -503.301137)],
)
def test_latent_classes(k, printed, converged):
    likelihood = classes(k).result_.log_likelihood
    assert likelihood == pytest.approx(printed, abs=6e-5)
    assert likelihood == pytest.approx(converged, abs=2e-6)


def test_two_classes():
    model = classes(2)
    np.testing.assert_allclose(np.sort(model.weights_), [0.27925, 0.72075], atol=1e-5)
    assert model.mixture_.n_parameters == 9
