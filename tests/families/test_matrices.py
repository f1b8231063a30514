"""Random positive definite matrices close to the edge of their laws, and the widths that orders settle."""

import numpy as np
import pytest
from scipy import stats

from kmle import families as f


@pytest.mark.parametrize("family", [f.Wishart(), f.InverseWishart()], ids=lambda family: family.name)
@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("excess", [1e-8, 0.02, 0.3])
def test_draws_near_the_least_degrees_are_legal_data(family, size, excess):
    dist = family.member(degrees=size - 1 + excess, scale=np.eye(size)[None])
    rows = dist.sample(300, random_state=0)
    assert not dist.family.support.outside(rows).any()
    assert np.isfinite(dist.log_density(rows)).all()
    assert np.isfinite(dist.family.mle(rows).natural).all()


def test_inverse_wishart_draws_have_the_mean_of_their_law():
    scale = np.array([[2.0, 0.6], [0.6, 0.5]])
    rows = f.InverseWishart().member(degrees=9.0, scale=scale[None]).sample(40_000, random_state=1)
    np.testing.assert_allclose(rows.mean(axis=0), stats.invwishart(9.0, scale).mean().ravel(), rtol=0.03)


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_the_order_settles_the_width(size):
    square = size * size
    for family in (f.Wishart(), f.FixedDegreesWishart(size + 1.0), f.InverseWishart()):
        assert family.fixed_from_n_statistics(family.n_statistics_for(square)) == {"n_features": square}
    assert f.Gaussian().fixed_from_n_statistics(size * (size + 3) // 2) == {"n_features": size}
    assert f.SphericalGaussian().fixed_from_n_statistics(size + 1) == {"n_features": size}


def test_an_order_no_width_has_is_refused():
    with pytest.raises(ValueError, match="no number of columns gives wishart 3000 natural coordinates"):
        f.Wishart().fixed_from_n_statistics(3000)
