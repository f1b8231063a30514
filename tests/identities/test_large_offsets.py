"""Data far from the origin keep their digits: a mean of 1e8 and a standard deviation of one."""

import numpy as np
import pytest
from scipy import stats

from kmle import families as f

OFFSET = 1e8
# The mean is known to 1e8 u = 1e-8 standard deviations, so densities of rows three of them away to about 1e-7.
TOLERANCE = 1e-6


def centered(d, correlated, n=400):
    rng = np.random.default_rng(21)
    # On a grid that 1e8 + z represents exactly, so that both computations see the same rows.
    rows = np.round(rng.normal(size=(n, d)) * 2**20) / 2**20
    return rows + 0.5 * rows[:, :1] if correlated else rows


@pytest.mark.parametrize("dtype", [float, np.longdouble])
@pytest.mark.parametrize("family", [f.Gaussian(), f.DiagonalGaussian(), f.SphericalGaussian()], ids=lambda x: x.name)
@pytest.mark.parametrize("d", [1, 3])
def test_gaussians_do_not_notice(family, d, dtype):
    rows = centered(d, correlated=family.name == "gaussian")
    near, far = family.mle(rows), family.mle((rows + OFFSET).astype(dtype))
    spread = "covariance" if family.name == "gaussian" else "variance"
    np.testing.assert_allclose(far.source[spread], near.source[spread], rtol=TOLERANCE, atol=TOLERANCE)
    np.testing.assert_allclose(far.source["mean"] - OFFSET, near.source["mean"], atol=TOLERANCE)
    np.testing.assert_allclose(far.log_density(rows + OFFSET), near.log_density(rows), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8, -1e8])
def test_weighted_rows_and_several_components(offset):
    rows = centered(2, correlated=True)
    weights = np.random.default_rng(22).exponential(size=len(rows))
    family = f.Gaussian(n_features=2)
    near, far = family.mle(rows, weights), family.mle(rows + offset, weights)
    np.testing.assert_allclose(far.source["covariance"], near.source["covariance"], rtol=TOLERANCE, atol=TOLERANCE)
    dist = stats.multivariate_normal(near.source["mean"][0], near.source["covariance"][0])
    np.testing.assert_allclose(far.log_density(rows + offset)[:, 0], dist.logpdf(rows), rtol=TOLERANCE, atol=TOLERANCE)


def test_fixed_covariance():
    rows = centered(2, correlated=True)
    family = f.FixedCovarianceGaussian(((2.0, 0.6), (0.6, 0.5)))
    near, far = family.mle(rows), family.mle(rows + OFFSET)
    np.testing.assert_allclose(far.log_density(rows + OFFSET), near.log_density(rows), rtol=TOLERANCE, atol=TOLERANCE)


def test_logarithms_close_together():
    """Log-normal rows of 1e8 +- 1: logarithms of 18.4 that differ by 1e-8, known to 4e-15."""
    rows = centered(1, correlated=False)
    logarithms = np.log1p(rows / OFFSET)
    fitted = f.LogNormal().mle(rows + OFFSET)
    assert fitted.source["log_std"].item() == pytest.approx(logarithms.std(), rel=TOLERANCE)
    assert fitted.source["log_mean"].item() == pytest.approx(np.log(OFFSET) + logarithms.mean(), abs=1e-14)
    expected = stats.norm.logpdf(logarithms, logarithms.mean(), logarithms.std()) - logarithms - np.log(OFFSET)
    # A mean off by its last digit, 4e-15 or 4e-7 standard deviations, is all that separates them.
    np.testing.assert_allclose(fitted.log_density(rows + OFFSET), expected, rtol=TOLERANCE, atol=3e-6)


def test_a_product_keeps_the_digits_of_its_blocks():
    rows = centered(2, correlated=True)
    counts = np.random.default_rng(23).poisson(4.0, (len(rows), 1))
    family = f.Product((f.Poisson(), f.Gaussian(n_features=2)))
    near, far = (family.mle(np.hstack([counts, rows + offset])) for offset in (0.0, OFFSET))
    covariances = [dist.source["gaussian_covariance"] for dist in (near, far)]
    np.testing.assert_allclose(*covariances, rtol=TOLERANCE, atol=TOLERANCE)
    densities = [dist.log_density(np.hstack([counts, rows + offset])) for dist, offset in ((near, 0.0), (far, OFFSET))]
    np.testing.assert_allclose(*densities, rtol=TOLERANCE, atol=TOLERANCE)
