"""Sums of products of columns, in every version this machine can run, against long doubles."""

import numpy as np
import pytest

from kmle.engines.panels.products import product_sums


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("d", [1, 2, 7, 8, 9, 16, 23, 40, 71])
def test_sums_of_shares_of_rows(d, dtype):
    rng = np.random.default_rng(d)
    table = (10 * rng.normal(size=(300, d))).astype(dtype)
    center = rng.normal(size=d) if dtype is not np.int64 else np.ones(d)
    places = rng.integers(0, 300, 500).astype(np.int32)
    components = rng.choice([0, 1, 3], 500).astype(np.int32)
    shares = rng.normal(size=500)
    for rows in (table, np.asfortranarray(table), np.repeat(table, 2, axis=0)[::2]):
        counts, sums = product_sums(rows, center, places, components, shares, 4, n_threads=2)
        x = (table - center).astype(dtype).astype(np.longdouble)[places]
        upper = np.triu_indices(d)
        statistics = np.hstack([np.ones((500, 1)), x, (x[:, :, None] * x[:, None, :])[:, upper[0], upper[1]]])
        for j in range(4):
            chosen = components == j
            expected = shares[chosen].astype(np.longdouble) @ statistics[chosen]
            np.testing.assert_allclose(counts[j], float(expected[0]), atol=1e-12)
            np.testing.assert_allclose(sums[j], expected[1:].astype(float), rtol=1e-11, atol=1e-10)
