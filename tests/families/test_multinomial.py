"""Rows of counts whose totals differ, and columns of categories read off the data."""

import numpy as np
import pytest
from scipy import stats

from kmle.families import Categorical, Multinomial

ROWS = np.array([[1, 3, 0], [6, 2, 1], [0, 1, 0], [10, 0, 5]])


def test_probabilities_are_sums_over_sums():
    fitted = Multinomial().mle(ROWS)
    assert fitted.family.trials is None
    np.testing.assert_allclose(fitted.source["probabilities"][0], ROWS.sum(axis=0) / ROWS.sum(), rtol=1e-12)


def test_weights_multiply_counts():
    weights = np.array([0.5, 2.0, 3.0, 0.25])
    fitted = Multinomial().mle(ROWS, weights)
    np.testing.assert_allclose(fitted.source["probabilities"][0], weights @ ROWS / (weights @ ROWS).sum(), rtol=1e-12)


def test_densities_of_rows_with_their_own_totals():
    fitted = Multinomial().mle(ROWS)
    expected = [stats.multinomial.logpmf(row, row.sum(), fitted.source["probabilities"][0]) for row in ROWS]
    np.testing.assert_allclose(fitted.log_density(ROWS)[:, 0], expected, rtol=1e-10)


def test_the_estimate_is_the_most_likely_whatever_the_totals():
    fitted = Multinomial().mle(ROWS)
    best = fitted.log_density(ROWS).sum()
    rng = np.random.default_rng(0)
    for _ in range(50):
        p = fitted.source["probabilities"][0] * np.exp(0.1 * rng.normal(size=3))
        assert sum(stats.multinomial.logpmf(row, row.sum(), p / p.sum()) for row in ROWS) < best


def test_equal_totals_are_noticed():
    fitted = Multinomial().mle([[1, 3], [2, 2]])
    assert fitted.family.trials == 4
    np.testing.assert_allclose(fitted.moment, [[1.5, 2.5]])
    assert Multinomial().mle([[1, 0], [0, 1]]).family.trials == 1
    assert fitted.sample(5, random_state=0).sum(axis=1).tolist() == [4.0] * 5


def test_rows_of_different_totals_cannot_be_drawn():
    with pytest.raises(ValueError, match="different totals: sample from a Multinomial with `trials` set"):
        Multinomial().mle(ROWS).sample(3)


def test_a_law_with_known_totals_refuses_others():
    with pytest.raises(ValueError, match=r"row 1 holds \[6, 2, 1\]; multinomial accepts rows of counts .* sum to 4"):
        Multinomial(4).mle(ROWS)


def test_categories_are_read_off_the_data():
    fitted = Categorical().mle([[0, 4], [2, 0], [1, 4]])
    assert fitted.family.n_categories == (3, 5)
    expected = [1 / 3, 1 / 3, 1 / 3, 1 / 3, 0, 0, 0, 2 / 3]
    np.testing.assert_allclose(fitted.source["probabilities"][0], expected, atol=1e-11)
    assert fitted.family.n_parameters == 2 + 4


def test_one_number_of_categories_serves_every_column():
    family = Categorical(3).for_data([[0, 2], [1, 1]])
    assert family.n_statistics == 6
    assert family.log_density([[0, 2]], np.log([[0.2, 0.3, 0.5, 0.1, 0.1, 0.8]])).item() == pytest.approx(np.log(0.16))


@pytest.mark.parametrize("levels", [0, (3, 0)])
def test_a_column_needs_a_category(levels):
    with pytest.raises(ValueError, match="each column needs at least one category"):
        Categorical(levels)


def test_columns_are_counted_once():
    with pytest.raises(ValueError, match="n_categories has 2 columns, n_features is 3"):
        Categorical((2, 2), n_features=3)
