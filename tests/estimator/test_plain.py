"""The estimators without scikit-learn learn what those with it learn."""

import subprocess
import sys

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture
from kmle.estimator.plain import PlainKMLE, PlainMixture

X = np.random.default_rng(0).normal([[0.0, 1.0]], 1.0, (400, 2)) + 6 * np.arange(400)[:, None] % 12
SETTINGS = [{}, {"n_init": 3}, {"weights": "uniform"}, {"init": "random", "prior_strength": 1.0, "max_iter": 3}]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("kinds", [(PlainKMLE, KMLE), (PlainMixture, ExponentialFamilyMixture)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_fit(kinds, settings, weighted):
    weights = np.random.default_rng(1).random(len(X)) if weighted else None
    plain, known = (kind(2, random_state=5, **settings).fit(X, sample_weight=weights) for kind in kinds)
    assert plain.mixture_ == known.mixture_
    np.testing.assert_array_equal(plain.labels_, known.labels_)
    np.testing.assert_array_equal(plain.history_, known.history_)
    assert plain.notes_ == known.notes_


@pytest.mark.parametrize("seed", [0, 2**32 - 1, np.int64(7), None, np.random.RandomState(3), np.random.default_rng(3)])
def test_every_kind_of_seed(seed):
    assert PlainKMLE(2, random_state=seed).fit(X).converged_


def test_a_seed_that_is_none():
    with pytest.raises(ValueError, match="random_state is -1"):
        PlainKMLE(2, random_state=-1).fit(X)


def test_bad_rows_are_named():
    with pytest.raises(ValueError, match="row 1, column 0 is missing"):
        PlainKMLE(1).fit([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="n_components is 3 but there are only n_samples = 2 rows"):
        PlainKMLE(3).fit([[1.0], [2.0]])


def test_scikit_learn_is_loaded_by_what_needs_it():
    code = """
import sys
from kmle.estimator.plain import PlainKMLE
from kmle.kernels import backend
PlainKMLE(2, random_state=0).fit([[0.0], [1.0], [9.0], [11.0]])
needed = () if backend() == "compiled" else ("scipy.special", "scipy.sparse")  # by the NumPy kernels
slow = ("sklearn", "pandas", "scipy.special", "scipy.sparse", "scipy.linalg")
print([name for name in slow if name in sys.modules and name not in needed])
from kmle import KMLE
print("sklearn" in sys.modules, KMLE.__mro__[-2].__module__.split(".")[0] in ("sklearn", "abc"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True True"]
