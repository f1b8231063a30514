"""Packed symmetric matrices, and batched helpers that answer NaN instead of failing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kmle.numerics.linear_algebra import (
    LARGE,
    cholesky_or_nan,
    floor_eigenvalues,
    inverse_from_cholesky,
    log_determinant,
    low_rank_difference,
)
from kmle.numerics.packing import pack, pack_dual, pack_products, packed_length, size_from_packed, unpack, unpack_dual


def symmetric(size):
    raw = arrays(float, (2, 3, size, size), elements=st.floats(-100, 100))
    return raw.map(lambda m: m + np.swapaxes(m, -1, -2))


matrices = st.integers(1, 6).flatmap(symmetric)
pairs = st.integers(1, 6).flatmap(lambda size: st.tuples(symmetric(size), symmetric(size)))


@given(matrices)
def test_packing_comes_back(m):
    size = m.shape[-1]
    assert pack(m).shape == (2, 3, packed_length(size))
    np.testing.assert_array_equal(unpack(pack(m)), m)
    np.testing.assert_allclose(unpack_dual(pack_dual(m)), m, rtol=1e-15)
    assert size_from_packed(packed_length(size)) == size


@given(pairs)
def test_the_dot_product_is_the_trace_inner_product(pair):
    a, b = pair
    trace = np.trace(a @ b, axis1=-2, axis2=-1)
    np.testing.assert_allclose((pack(a) * pack_dual(b)).sum(axis=-1), trace, rtol=1e-10, atol=1e-8)


@given(arrays(float, (4, 3), elements=st.floats(-100, 100)))
def test_products_are_the_packed_outer_product(rows):
    np.testing.assert_array_equal(pack_products(rows), pack(rows[:, :, None] * rows[:, None, :]))


@pytest.mark.parametrize("length", [2, 4, 5, 7, 11])
def test_lengths_that_pack_nothing(length):
    with pytest.raises(ValueError, match=f"{length} numbers do not pack a symmetric matrix"):
        unpack(np.zeros(length))


@pytest.fixture
def batch():
    raw = np.random.default_rng(0).normal(size=(2, 3, 4, 4))
    return raw @ np.swapaxes(raw, -1, -2) + 0.1 * np.eye(4)


def test_inverse_and_determinant(batch):
    factors = cholesky_or_nan(batch)
    np.testing.assert_allclose(
        inverse_from_cholesky(factors) @ batch, np.broadcast_to(np.eye(4), batch.shape), atol=1e-9
    )
    np.testing.assert_array_equal(inverse_from_cholesky(factors), np.swapaxes(inverse_from_cholesky(factors), -1, -2))
    np.testing.assert_allclose(log_determinant(factors), np.linalg.slogdet(batch)[1], rtol=1e-10)


def test_a_bad_matrix_spoils_only_itself(batch):
    batch[1, 2] = -np.eye(4)
    factors = cholesky_or_nan(batch)
    assert np.isnan(factors[1, 2]).all()
    assert np.isnan(log_determinant(factors)[1, 2])
    good = np.ones((2, 3), dtype=bool)
    good[1, 2] = False
    np.testing.assert_allclose(factors[good], np.linalg.cholesky(batch[good]))


def test_eigenvalues_are_floored_in_units_of_the_scales():
    scales = np.array([1e-3, 1.0, 1e6])
    correlation = np.ones((3, 3))  # rank one
    matrix = (correlation * np.outer(scales, scales))[None]
    lifted = floor_eigenvalues(matrix, scales[None], 1e-6)[0]
    np.testing.assert_allclose(np.linalg.eigvalsh(lifted / np.outer(scales, scales)), [1e-6, 1e-6, 3.0], rtol=1e-6)
    np.testing.assert_allclose(lifted, matrix[0], rtol=3e-6)


def test_matrices_above_the_floor_are_left_alone(batch):
    scales = np.sqrt(np.diagonal(batch, axis1=-2, axis2=-1))
    np.testing.assert_array_equal(floor_eigenvalues(batch, scales, 1e-13), batch)
    one_bad = batch.copy()
    one_bad[0, 0] = np.outer(scales[0, 0], scales[0, 0])
    lifted = floor_eigenvalues(one_bad, scales, 1e-3)
    assert not np.array_equal(lifted[0, 0], one_bad[0, 0])
    np.testing.assert_array_equal(lifted[1], batch[1])


def test_of_large_matrices_only_those_below_the_floor_are_lifted():
    rng = np.random.default_rng(1)
    size = LARGE + 3
    axes = np.linalg.qr(rng.standard_normal((3, size, size)))[0]
    values = rng.uniform(2.0, 5.0, (3, size))
    values[1, :4] = 0.01
    matrices = (axes * values[:, None]) @ np.swapaxes(axes, 1, 2)
    lifted = floor_eigenvalues(matrices, np.ones((3, size)), 1.0)
    np.testing.assert_array_equal(lifted[[0, 2]], matrices[[0, 2]])
    expected = (axes[1] * np.maximum(values[1], 1.0)) @ axes[1].T
    np.testing.assert_allclose(lifted[1], expected, atol=1e-12)


@pytest.mark.parametrize("rank", [1, 7, 38])
def test_low_rank_differences_are_taken_apart(rank):
    rng = np.random.default_rng(rank)
    roots = rng.standard_normal((2, 40, rank)) * 10.0 ** -rng.uniform(0, 6, rank)
    matrices = np.array([1000.0, 1500.0])[:, None, None] * np.eye(40) - roots @ np.swapaxes(roots, 1, 2)
    found = low_rank_difference(matrices, rank)
    assert found is not None
    np.testing.assert_allclose(found[1], [1000.0, 1500.0], rtol=1e-14)
    np.testing.assert_allclose(found[0] @ np.swapaxes(found[0], 1, 2), roots @ np.swapaxes(roots, 1, 2), atol=1e-10)
    matrices[1] += np.diag(np.linspace(0, 1, 40))
    assert low_rank_difference(matrices, rank) is None
