"""`learn` does without scikit-learn, and learns what the estimators learn."""

import subprocess
import sys

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture
from kmle._kernels import summarize_columns
from kmle.data import centering, distinct, table
from kmle.estimators.learn import learn
from kmle.estimators.plan import Plan
from kmle.families import validation

X = np.random.default_rng(0).normal([[0.0, 1.0]], 1.0, (400, 2)) + 6 * np.arange(400)[:, None] % 12
SETTINGS = [{}, {"n_init": 3}, {"weights": "uniform"}, {"init": "random", "prior_strength": 1.0, "max_iter": 3}]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(("algorithm", "kind"), [("k-mle", KMLE), ("em", ExponentialFamilyMixture)])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_fit(algorithm, kind, settings, weighted):
    weights = np.random.default_rng(1).random(len(X)) if weighted else None
    fit = learn(X, Plan(2, algorithm=algorithm, random_state=5, **settings), sample_weight=weights)
    known = kind(2, random_state=5, **settings).fit(X, sample_weight=weights)
    assert fit.mixture == known.mixture_
    np.testing.assert_array_equal(fit.labels, known.labels_)
    np.testing.assert_array_equal(fit.objectives, known.history_)
    assert list(fit.notes) == known.notes_


@pytest.mark.parametrize("algorithm", ["k-mle", "em"])
@pytest.mark.parametrize("labelled", [False, True])
def test_a_fit_that_is_looked_at_is_the_same(algorithm, labelled):
    overlapping = np.random.default_rng(2).normal(size=(300, 2)) * [[1.0, 3.0]]
    labels = np.where(np.arange(300) < 20, np.arange(300) % 2, -1) if labelled else None
    looks = []
    plan = Plan(4, algorithm=algorithm, init="random", n_init=1, random_state=5)
    fit = learn(overlapping, plan, labels=labels, preview=lambda make: looks.append(make()))
    alone = learn(overlapping, plan, labels=labels)
    np.testing.assert_array_equal(fit.mixture.natural, alone.mixture.natural)
    np.testing.assert_array_equal(fit.objectives, alone.objectives)
    assert len(looks) == fit.n_iter > 1
    assert [look.n_iter for look in looks] == list(range(1, fit.n_iter + 1))
    assert not any(look.converged for look in looks)
    assert looks[0].labels.shape == (300,)
    assert np.diff([look.objective for look in looks]).min() >= -1e-9
    np.testing.assert_allclose(looks[-1].mixture.natural, fit.mixture.natural)


@pytest.mark.parametrize("seed", [0, 2**32 - 1, np.int64(7), None, np.random.RandomState(3), np.random.default_rng(3)])
def test_every_kind_of_seed(seed):
    assert learn(X, Plan(2, algorithm="k-mle", random_state=seed)).converged


def test_a_seed_that_is_none():
    with pytest.raises(ValueError, match="random_state is -1"):
        learn(X, Plan(2, random_state=-1))


def test_bad_rows_are_named():
    with pytest.raises(ValueError, match="row 1, column 0 is infinite"):
        learn([[1.0], [np.inf]], Plan(1))
    with pytest.raises(ValueError, match="n_components is 3 but there are only n_samples = 2 rows"):
        learn([[1.0], [2.0]], Plan(3))


def test_scikit_learn_is_loaded_by_what_needs_it():
    code = """
import sys
from kmle.estimators.learn import learn
from kmle.estimators.plan import Plan
from kmle.families import validation
from kmle._kernels import backend
learn([[0.0], [1.0], [9.0], [11.0]], Plan(2, random_state=0))
needed = () if backend() == "compiled" else ("scipy.special", "scipy.sparse")  # by the NumPy kernels
slow = ("sklearn", "pandas", "scipy.special", "scipy.sparse", "scipy.linalg")
print([name for name in slow if name in sys.modules and name not in needed])
from kmle import KMLE
print("sklearn" in sys.modules, KMLE.__mro__[-2].__module__.split(".")[0] in ("sklearn", "abc"))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "True True"]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("columns", [1, 3])
def test_columns_are_summarized_once(columns, dtype, monkeypatch):
    X = np.random.default_rng(0).normal(size=(500, columns)).astype(dtype)
    summarized = []

    def counted(table, n_threads=1):
        summarized.append(len(table))
        return summarize_columns(table, n_threads)

    for module in (validation, distinct, centering, table):
        monkeypatch.setattr(module, "summarize_columns", counted)
    learn(X, Plan(2, random_state=0, n_init=1))
    assert summarized.count(len(X)) == 1
