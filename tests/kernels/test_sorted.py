"""Values put into runs along a line, and passes over them: runs in order are the line sorted, in every version."""

from itertools import pairwise

import numpy as np
import pytest

from each import for_each
from kmle._kernels import PackedRows
from kmle.engines.sorted.kernel import Buckets, SortedRows

DRAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "many sizes": lambda rng, n: rng.lognormal(0, 8, n),
    "in order": lambda rng, n: np.arange(float(n)),
    "few values": lambda rng, n: rng.integers(0, 5, n).astype(float),
    "one value": lambda rng, n: np.zeros(n),
    "half one value": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.normal(size=n)),
    "largest numbers": lambda rng, n: rng.choice([-1.7e308, 1.7e308, 1.0], n),
    "smallest numbers": lambda rng, n: rng.normal(size=n) * 1e-310,
}


@pytest.fixture(params=[4, 1024])
def run_values(request, monkeypatch):
    """How many values runs have."""
    monkeypatch.setattr("kmle.engines.sorted.kernel.BUCKET_VALUES", request.param)


def in_runs(values, weights=None, block=512, n_threads=2):
    """The line, its weights and where runs begin."""
    n = len(values)
    sample = values[np.random.default_rng(0).integers(n, size=Buckets.sample_size(n))]
    buckets, line = Buckets(sample, n, block), np.empty(n)
    line_weights = None if weights is None else np.empty(n)
    blocks = [slice(start, start + block) for start in range(0, n, block)]
    for part in blocks:
        buckets.count(part.start, values[part])
    buckets.lay_out()
    for part in reversed(blocks):
        buckets.place(part.start, values[part], line, None if weights is None else weights[part], line_weights)
    return line, line_weights, buckets.finish(line, line_weights, n_threads)


@pytest.mark.usefixtures("run_values")
@for_each("weighted", [False, True])
@for_each("n", [1, 2, 3, 16, 17, 1000, 5003])
@for_each("draw", DRAWS)
def test_runs_are_those_of_the_sorted_line(draw, n, weighted):
    rng = np.random.default_rng(n)
    values = DRAWS[draw](rng, n)
    weights = rng.permutation(n) + 1.0 if weighted else None
    line, line_weights, starts = in_runs(values, weights)
    assert starts[0] == 0
    assert starts[-1] == n
    assert (np.diff(starts) > 0).all()
    in_order = np.sort(values)
    for first, last in pairwise(starts):
        assert line[first] == in_order[first]
        np.testing.assert_array_equal(np.sort(line[first:last]), in_order[first:last])
        assert last == n or in_order[last - 1] < in_order[last]
    if weighted:  # every value still has its own
        place = np.argsort(weights)
        np.testing.assert_array_equal(line, values[place][line_weights.astype(int) - 1])


@pytest.mark.usefixtures("run_values")
@for_each("weighted", [False, True])
@for_each("features", ["identity", "quadratic"])
@for_each("draw", ["normal", "heavy tails", "few values", "half one value"])
def test_cells_are_those_of_sorted_rows_whatever_was_asked_before(draw, features, weighted):
    rng = np.random.default_rng(1)
    values = DRAWS[draw](rng, 3000)
    weights = rng.random(3000) if weighted else None
    line, line_weights, starts = in_runs(values, weights)
    packed = PackedRows(3000, 1, features, line_weights)
    packed.load(0, line[:, None])
    passes = SortedRows(packed, line, starts)
    columns = [values, values**2][: packed.n_statistics]
    own = np.ones(3000) if weights is None else weights
    for _ in range(10):
        k = int(rng.integers(1, 7))
        natural, bias = rng.normal(size=(k, packed.n_statistics)), rng.normal(size=k)
        best = (natural @ np.array(columns) + bias[:, None]).argmax(axis=0)
        cuts, owners, counts, sums = passes.hard_pass(natural, bias)
        found = owners[np.searchsorted(line[cuts[1:-1]], values, side="right")]
        np.testing.assert_array_equal(found, best)
        np.testing.assert_allclose(counts, np.bincount(best, own, k), rtol=1e-9, atol=1e-9)
        for f, column in enumerate(columns):
            scale = np.abs(own * column).sum()
            np.testing.assert_allclose(sums[:, f], np.bincount(best, own * column, k), rtol=1e-9, atol=1e-13 * scale)
