"""The engine that is chosen for rows and components."""

import numpy as np
import pytest

from kmle import KMLE
from kmle._kernels import backend
from kmle.data.table import Rows
from kmle.engines import choose as choosing
from kmle.engines.boxes.engine import BoxesEngine
from kmle.engines.choose import can_sort, choose
from kmle.engines.sorted.engine import repeats
from kmle.families import FixedCovarianceGaussian, Gaussian, Laplace, VonMises, resolve


@pytest.mark.parametrize(("values", "expected"), [(0.05, True), (0.2, True), (1.0, False), (np.inf, False)])
@pytest.mark.parametrize("n", [20_000, 1_000_000])
def test_a_sample_tells_whether_values_repeat(n, values, expected):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 1)) if np.isinf(values) else rng.integers(int(values * n), size=(n, 1)).astype(float)
    assert repeats(Rows(Gaussian().for_data(x), x)) == expected


def test_the_choice():
    x = np.random.default_rng(9).normal(size=(30_000, 1))
    assert choose(Rows(Gaussian().for_data(x), x), 5, "auto", hard=True).name == "sorted"
    # A soft fit makes one hard pass: order does not pay unless values repeat.
    assert choose(Rows(Gaussian().for_data(x), x), 5, "auto").name == "dense"
    rounded = np.round(x, 2)
    assert choose(Rows(Gaussian().for_data(rounded), rounded), 5, "auto").name == "sorted"
    # There are few rows for that many pairs; fits that are soft need not look at them often.
    assert choose(Rows(Gaussian().for_data(x), x), 12, "auto", hard=True).name == "dense"
    assert choose(Rows(Gaussian().for_data(rounded), rounded), 12, "auto").name == "sorted"
    assert choose(Rows(Gaussian().for_data(rounded), rounded), 500, "auto").name == "dense"
    short = x[:1000]
    assert choose(Rows(Gaussian().for_data(short), short), 5, "auto").name == "dense"
    assert not can_sort(Rows(VonMises().for_data(x), x))
    with pytest.raises(ValueError, match="engine='sorted' needs one column"):
        choose(Rows(VonMises().for_data(x), x), 5, "sorted")
    with pytest.raises(ValueError, match="engine is 'magic'"):
        KMLE(2, engine="magic").fit(x)


@pytest.mark.skipif(backend() != "compiled", reason="the NumPy kernels do not prune")
def test_the_choice_of_pruning():
    X = np.random.default_rng(18).normal(size=(100_000, 3))
    assert isinstance(choose(Rows(Gaussian().for_data(X[:, :2]), X[:, :2]), 5, "auto"), BoxesEngine)
    known = FixedCovarianceGaussian()
    assert isinstance(choose(Rows(known.for_data(X), X), 128, "auto"), BoxesEngine)
    assert choose(Rows(known.for_data(X), X), 5, "auto").name == "dense"
    assert choose(Rows(Gaussian().for_data(X), X), 500, "auto").name == "dense"


@pytest.mark.skipif(backend() != "compiled", reason="the NumPy kernels do not skip")
def test_rows_of_different_families_are_not_put_in_order(monkeypatch):
    monkeypatch.setattr(choosing, "SKIP_FROM_TOTAL_WORK", 1)
    X = np.random.default_rng(18).normal(size=(5000, 20))
    assert choose(Rows(FixedCovarianceGaussian().for_data(X), X), 60, "auto", hard=True).name == "bounds"
    mixed = resolve(["diagonal-gaussian", Laplace(0.0)]).for_data(X)
    assert choose(Rows(mixed, X), 60, "auto", hard=True).name == "dense"
