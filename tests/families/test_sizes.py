"""Numbers near the ends of what a float holds are refused in one sentence, or right; nothing overflows on the way."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from cases import CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture
from kmle import families as f
from kmle._kernels import summarize_columns
from kmle.families.validation import check_learnable

SCALED = [
    f.Gaussian(),
    f.DiagonalGaussian(),
    f.SphericalGaussian(),
    f.LogNormal(),
    f.Gamma(),
    f.InverseGamma(),
    f.InverseGaussian(),
    f.Exponential(),
    f.Rayleigh(),
    f.Maxwell(),
    f.HalfNormal(),
    f.Laplace(),
    f.Weibull(1.5),
]


def fitted(estimator, family, X):
    labels = np.arange(len(X)) % 2
    return estimator(2, family=family, init=labels, n_init=1, max_iter=20).fit(X)


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("scale", [1e200, -1e200, 1e-200])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_sentence_or_a_finite_answer(case, scale, estimator):
    rows = np.concatenate([case.sample(natural, 20, seed) for seed, natural in enumerate(case.naturals(2, seed=2))])
    with warnings.catch_warnings():
        # Components may end up empty or at a bound, which is said; numbers must not overflow.
        warnings.simplefilter("ignore", UserWarning)
        refused = ""
        try:
            model = fitted(estimator, case.family, rows * scale)
        except ValueError as refusal:
            refused = str(refusal)
        else:
            assert np.isfinite(model.mixture_.natural).all()
            assert np.isfinite(model.score(rows * scale))
    assert not refused or "column" in refused or "row" in refused


@pytest.mark.parametrize("family", SCALED, ids=lambda family: family.name)
def test_the_column_is_named(family):
    X = np.random.default_rng(0).gamma(2.0, 1.0, (20, 3))
    X[7, 1] = 1e200
    names = ["height", "weight", "age"]
    with pytest.raises(ValueError, match=r"^column 'weight' holds 1e\+200: .*; rescale the column, or drop such rows$"):
        check_learnable(family, summarize_columns(X), names)
    with pytest.raises(ValueError, match="column 1 holds 1e\\+200"):
        fitted(KMLE, family, X)
    if family.name not in {"log-normal", "inverse-gamma"}:  # whose statistics of large numbers are not large
        with pytest.raises(ValueError, match="column 'weight' holds 1e\\+200"):
            family.check(X, names)


def test_streams_are_checked_too():
    X = np.ones((20, 2))
    X[13, 1] = 1e200
    with pytest.raises(ValueError, match="column 1 holds 1e\\+200"):
        KMLE(2, family="gamma").fit(lambda: iter([X[:10], X[10:]]))


def test_sparse_counts_and_codes():
    with pytest.raises(ValueError, match="column 2 holds 1e\\+200"):
        f.Poisson().log_density(csr_array([[1.0, 0.0, 1e200]]), np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"column 0 holds the category 1e\+200: number the categories 0, 1, 2"):
        f.Categorical().mle([[0.0], [1e200]])


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e20, 1e30])
@pytest.mark.parametrize("family", SCALED, ids=lambda family: family.name)
def test_units_do_not_matter(family, scale):
    """In other units every log-density changes by the logarithm of the unit, and nothing else does."""
    X = np.random.default_rng(1).gamma(3.0, 1.0, (60, 2))
    X[::2] *= 5
    near, far = (fitted(KMLE, family, rows) for rows in (X, X * scale))
    np.testing.assert_array_equal(near.labels_, far.labels_)
    assert far.score(X * scale) == pytest.approx(near.score(X) - 2 * np.log(scale), rel=1e-6)


@pytest.mark.parametrize(
    "family", [f.DiagonalGaussian(), f.Gamma(), f.Laplace(None), f.Weibull()], ids=lambda family: family.name
)
def test_tiny_differences_are_refused_or_right(family):
    X = np.random.default_rng(0).gamma(2.0, 1.0, (60, 2))
    expected = fitted(ExponentialFamilyMixture, family, X).result_.log_likelihood
    scaled = fitted(ExponentialFamilyMixture, family, X * 2.0**-230).result_.log_likelihood
    assert scaled - X.size * 230 * np.log(2) == pytest.approx(expected, abs=1e-3)
    with pytest.raises(
        ValueError, match=r"^values in column 0 differ by at most .*e-100: .* underflow in .*; rescale the column$"
    ):
        fitted(ExponentialFamilyMixture, family, X * 1e-100)


def test_large_values_are_refused_for_estimated_shapes_too():
    X = np.random.default_rng(0).gamma(2.0, 1e140, (60, 1))
    with pytest.raises(ValueError, match=r"column 0 holds .*; rescale the column"):
        fitted(ExponentialFamilyMixture, f.Weibull(), X)
