"""The step of the grid that values lie on."""

import numpy as np
import pytest

from kmle.numerics.grid import grid_step

NUMBERS = np.round(np.random.default_rng(0).normal(200.0, 60.0, 400))


@pytest.mark.parametrize("step", [1.0, 0.5, 0.1, 0.01, 1e-6, 10.0, 250.0, 1 / 16, 1 / 3, np.pi])
@pytest.mark.parametrize("offset", [0.0, 0.25, -1e3])
def test_any_grid_is_found(step, offset):
    assert grid_step(NUMBERS * step + offset * step) == pytest.approx(step, rel=1e-9)


def test_scaled_columns_keep_their_grid():
    values = np.round(NUMBERS, -1)
    scaled = (values - values.mean()) / values.std()
    assert grid_step(scaled) == pytest.approx(10.0 / values.std(), rel=1e-9)


def test_single_precision():
    assert grid_step((NUMBERS / 10).astype(np.float32)) == pytest.approx(0.1, rel=1e-5)


def test_timestamps():
    assert grid_step(1.7e12 + 1000 * NUMBERS) == 1000.0


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_measured_numbers_have_no_grid(seed, dtype):
    rng = np.random.default_rng(seed)
    for values in (rng.normal(size=300), rng.lognormal(size=300) * 1e5, rng.standard_cauchy(300), rng.random(20)):
        assert grid_step(values.astype(dtype)) == 0.0


def test_one_value_has_no_grid():
    assert grid_step(np.array([2.5, 2.5])) == 0.0


def test_order_and_copies_do_not_matter():
    values = np.random.default_rng(1).permutation(NUMBERS) / 20
    assert grid_step(np.concatenate([values, values[:7]])) == grid_step(NUMBERS / 20)
