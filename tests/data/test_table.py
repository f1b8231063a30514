"""Short cuts to packed rows and to sums of carriers, against the long way round."""

import numpy as np
import pytest

from kmle.data.table import Rows
from kmle.families import DiagonalGaussian, FixedCovarianceGaussian, Gaussian

FAMILIES = [FixedCovarianceGaussian(), FixedCovarianceGaussian([2.0, 0.5, 1.0]), Gaussian(), DiagonalGaussian()]


def drawn(dtype, n=1500):
    return (np.random.default_rng(0).normal(size=(n, 3)) * [1.0, 5.0, 0.2] + 40).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_are_packed_as_the_family_measures_them(family, dtype):
    X = drawn(dtype)
    rows = Rows(family.for_data(X), X, n_threads=2)
    labels = np.random.default_rng(1).integers(0, 4, len(X))
    columns = rows.kernel_columns(slice(None))[0].astype(float)
    for places in (None, np.random.default_rng(2).permutation(len(X)).astype(np.int32)):
        packed = rows.packed if places is None else rows.packed_in_order(places, rows.release_packed())
        seen = columns if places is None else columns[places]
        np.testing.assert_array_equal(packed.largest()[:3], np.abs(seen).max(axis=0))
        sums = np.array([seen[labels == label].sum(axis=0) for label in range(4)])
        np.testing.assert_allclose(packed.label_sums(labels, 4)[1][:, :3], sums, rtol=1e-12, atol=1e-10)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("family", FAMILIES[:2])
def test_sums_of_carriers_are_those_of_all_rows(family, weighted, dtype):
    X = drawn(dtype)
    weights = np.random.default_rng(3).random(len(X)) if weighted else np.ones(len(X))
    rows = Rows(family.for_data(X), X, weights if weighted else None)
    carriers = rows.family.log_carrier(X.astype(float) - rows.center)
    np.testing.assert_allclose(rows.sum_log_carrier(), weights @ carriers, rtol=1e-12)
