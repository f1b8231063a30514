"""Summaries of columns, and counting: every version agrees with plain NumPy."""

import numpy as np
import pytest

from kmle._kernels import look_up, squares, summarize_columns, tabulate


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (8, 1), (100, 7), (1000, 17), (200_003, 3)])
def test_extremes_and_totals(shape, dtype):
    table = np.random.default_rng(0).normal(size=shape).astype(dtype)
    seen = summarize_columns(table, 2)
    np.testing.assert_array_equal(seen.lowest, table.min(axis=0))
    np.testing.assert_array_equal(seen.highest, table.max(axis=0))
    np.testing.assert_allclose(seen.totals, table.sum(axis=0, dtype=float), rtol=1e-9, atol=1e-9)
    assert seen.finite
    assert not seen.whole


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (1000, 17), (50_003, 3)])
def test_squares_seen_from_an_origin(shape, dtype):
    rng = np.random.default_rng(1)
    table, center = (100 + rng.normal(size=shape)).astype(dtype), 100 + rng.normal(size=shape[1])
    expected = ((table - center) ** 2).sum(axis=0)
    for lying in (table, np.asfortranarray(table), np.repeat(table, 2, axis=0)[::2]):
        found = squares(lying, center, 2)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_array_equal(found, squares(lying, center, 1))


@pytest.mark.parametrize("n", [50, 100_003])
def test_no_digit_depends_on_how_a_table_lies_in_memory(n, version):
    table = np.random.default_rng(0).normal(size=(n, 4))[::2, 1:]
    for other in (table, np.asfortranarray(table)):
        seen, plain = summarize_columns(other), summarize_columns(np.ascontiguousarray(table))
        np.testing.assert_array_equal(seen.lowest, plain.lowest)
        np.testing.assert_allclose(seen.totals, plain.totals, rtol=0 if version != "numpy" else 1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 31, 32, 98])
def test_what_is_not_finite_is_found_anywhere(place, value):
    table = np.zeros((33, 3))
    table.flat[place] = value
    assert not summarize_columns(table).finite


@pytest.mark.parametrize("place", [0, 15, 98])
def test_whole_numbers(place):
    table = np.arange(99.0).reshape(33, 3) - 50
    assert summarize_columns(table).whole
    table.flat[place] += 0.25
    assert not summarize_columns(table).whole
    table.flat[place] = 2.0**60  # too large to be sure of its neighbours
    assert not summarize_columns(table).whole


@pytest.mark.parametrize("size", [12, 9000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_counting_and_looking_up(dtype, size):
    rng = np.random.default_rng(1)
    values = rng.integers(-3, size - 3, 600_001).astype(dtype)
    weights = rng.random(len(values))
    places = (values + 3).astype(int)
    np.testing.assert_array_equal(tabulate(values, -3.0, size, n_threads=2), np.bincount(places, minlength=size))
    by_weight = tabulate(values, -3.0, size, weights, n_threads=2)
    np.testing.assert_allclose(by_weight, np.bincount(places, weights, size), rtol=1e-12)
    np.testing.assert_array_equal(by_weight, tabulate(values, -3.0, size, weights, n_threads=1))
    table = rng.permutation(size).astype(np.int32)
    np.testing.assert_array_equal(look_up(values, -3.0, table, n_threads=2), table[places])
    np.testing.assert_array_equal(look_up(values[::2], -3.0, table), table[places[::2]])
