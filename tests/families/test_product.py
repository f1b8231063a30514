"""Mixed rows: blocks that know nothing of each other."""

import numpy as np
import pytest

from cases import MIXED
from kmle.families import (
    Bernoulli,
    Categorical,
    Dirichlet,
    Gamma,
    Gaussian,
    LogNormal,
    Poisson,
    Product,
    VonMises,
    VonMisesFisher,
)

BLOCKS = (Poisson(n_features=1), Gamma(n_features=1), Gaussian(n_features=2))
COLUMNS = (slice(0, 1), slice(1, 2), slice(2, 4))
ORDERS = (slice(0, 1), slice(1, 3), slice(3, 8))
PARTS = list(zip(BLOCKS, COLUMNS, ORDERS, strict=True))


@pytest.fixture
def dists():
    return MIXED.naturals(3, seed=0)


@pytest.fixture
def rows(dists):
    return MIXED.sample(dists[0], 30)


def test_densities_add(dists, rows):
    expected = sum(block.log_density(rows[:, x], dists[:, theta]) for block, x, theta in PARTS)
    np.testing.assert_allclose(MIXED.family.log_density(rows, dists), expected, rtol=1e-12)


def test_formulas_add_or_stand_side_by_side(dists, rows):
    family, other = MIXED.family, MIXED.naturals(3, seed=1)
    for name in ("log_normalizer", "entropy", "mean_log_carrier"):
        expected = sum(getattr(block, name)(dists[:, theta]) for block, _, theta in PARTS)
        np.testing.assert_allclose(getattr(family, name)(dists), expected, rtol=1e-12, err_msg=name)
    expected = sum(block.kl(dists[:, theta], other[:, theta]) for block, _, theta in PARTS)
    np.testing.assert_allclose(family.kl(dists, other), expected, rtol=1e-9)
    expected = [block.sufficient_statistic(rows[:, x]) for block, x, _ in PARTS]
    np.testing.assert_array_equal(family.sufficient_statistic(rows), np.hstack(expected))


def test_blocks_are_fitted_alone(rows):
    weights = np.random.default_rng(0).exponential(size=len(rows))
    fitted = MIXED.family.mle(rows, weights)
    expected = [block.mle(rows[:, x], weights).natural for block, x, _ in PARTS]
    np.testing.assert_allclose(fitted.natural, np.hstack(expected), rtol=1e-9)


def test_parameters_carry_the_name_of_their_block():
    assert list(MIXED.family.parameters) == [
        "poisson_rate",
        "gamma_shape",
        "gamma_scale",
        "gaussian_mean",
        "gaussian_covariance",
    ]


@pytest.mark.parametrize(
    ("families", "names"),
    [
        ((Poisson(), Poisson(), Poisson()), ("poisson", "poisson_2", "poisson_3")),
        ((Poisson(), LogNormal(), Poisson()), ("poisson", "log_normal", "poisson_2")),
        ((VonMisesFisher(n_features=2), VonMises()), ("von_mises_fisher", "von_mises")),
        ((VonMises(), VonMisesFisher(n_features=2), VonMises()), ("von_mises", "von_mises_fisher", "von_mises_2")),
    ],
)
def test_blocks_of_one_family_are_numbered(families, names):
    assert Product(families).block_names == names


def test_members_by_name():
    dist = Product((Poisson(), Poisson())).member(poisson_rate=2.0, poisson_2_rate=5.0)
    np.testing.assert_allclose(dist.moment, [[2.0, 5.0]])
    with pytest.raises(ValueError, match="takes the parameters poisson_rate, poisson_2_rate: missing poisson_2_rate"):
        Product((Poisson(), Poisson())).member(poisson_rate=2.0)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        ((1, 0), -2.0, "row 1, column 0 holds -2; product accepts whole numbers 0, 1, 2, ... in column 0"),
        ((2, 1), 0.0, "row 2, column 1 holds 0; product accepts .*numbers above 0 in column 1"),
        ((0, 3), np.nan, r"row 0, column 3 is missing \(NaN\)"),
    ],
)
def test_a_wrong_value_is_named_by_its_own_column(rows, place, value, sentence):
    rows = rows.copy()
    rows[place] = value
    for attempt in (MIXED.family.mle, MIXED.family.check):
        with pytest.raises(ValueError, match=sentence):
            attempt(rows)


def test_a_wrong_block_of_columns_is_named_by_its_first():
    family = Product((Bernoulli(), Dirichlet(n_features=2)))
    with pytest.raises(ValueError, match=r"row 0, column 1 holds 0\.5; product accepts .*sum to one in columns 1 to 2"):
        family.mle([[1, 0.5, 0.6]])


def test_widths():
    with pytest.raises(ValueError, match="the blocks of this product have 4 columns; the data has 3"):
        MIXED.family.mle(np.ones((2, 3)))
    with pytest.raises(ValueError, match="the blocks have 4 columns, n_features is 5"):
        Product(BLOCKS, n_features=5)
    with pytest.raises(ValueError, match="at least one family"):
        Product(())


def test_blocks_learn_their_facts_from_the_data():
    family = Product((Poisson(), Categorical())).for_data([[3, 0], [1, 2]])
    assert family.families[1].n_categories == (3,)
    assert family.n_parameters == 1 + 2
