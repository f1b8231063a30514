"""Sums kept from pass to pass."""

import numpy as np

from kmle._kernels import PackedRows
from kmle.engines.statistics import PASSES, Tally


def test_a_cluster_that_shrinks_keeps_its_digits():
    """Large numbers leave small ones behind, whose sum would be lost in what rounding left of the large ones."""
    rng = np.random.default_rng(0)
    small, large = rng.random(1000), 1e12 * rng.random(300_000)
    values = rng.permutation(np.concatenate([small, large]))
    packed = PackedRows(len(values), 1)
    packed.load(0, values[:, None])
    tally = Tally(packed)
    natural = np.array([[0.0], [1.0], [-1.0]])
    for first_cut in (1e13, 2.0):  # the first cluster has all rows, then only the small ones
        packed.hard_pass(natural, np.array([0.0, -first_cut, -1e14]), tally.opened(3))
        statistics = tally.statistics()
    np.testing.assert_array_equal(statistics.counts, [1000, 300_000, 0])
    np.testing.assert_allclose(statistics.sums[:2, 0], [small.sum(), large.sum()], rtol=1e-13)
    for _ in range(PASSES):
        packed.hard_pass(natural, np.array([0.0, -2.0, -1e14]), tally.opened(3))
        np.testing.assert_allclose(tally.statistics().sums[:2, 0], [small.sum(), large.sum()], rtol=1e-13)
