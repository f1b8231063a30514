"""Data, starts and algorithms to try the laws of learning on."""

import numpy as np
from hypothesis import strategies as st

from kmle.algorithms import Exact, HardEM, Hartigan, KMLELloyd, SoftEM, Swap, run
from kmle.problem.problem import Problem
from kmle.seeding import SEEDINGS

K = 3
HARD = ("k-mle", "hard-em", "hartigan", "swap")
SOFT = ("em", "sparse-em-1", "sparse-em-2", f"sparse-em-{K}")
ALGORITHMS = (*HARD, *SOFT)


def algorithm(name, reseed=False):
    """A fresh algorithm by its name."""
    if name.startswith("sparse-em-"):
        return SoftEM(int(name.rsplit("-", 1)[1]))
    kinds = {
        "k-mle": KMLELloyd(reseed),
        "hard-em": HardEM(reseed),
        "hartigan": Hartigan(reseed),
        "swap": Swap(np.random.default_rng(1), trials=5, reseed=reseed),
        "em": SoftEM(),
        "exact": Exact(),
    }
    return kinds[name]


def drawn_rows(case, n=60, seed=0, k=K):
    """Rows of k typical laws in equal parts, in random order; matrices that are singular as floats are left out."""
    rng = np.random.default_rng(seed)
    parts = [case.family.sample(dist, n // k + 2, rng) for dist in case.naturals(k, seed)]
    legal = [part[~case.family.support.outside(part).reshape(len(part), -1).any(axis=1)][: n // k] for part in parts]
    return rng.permutation(np.concatenate(legal))


def started(problem, k=K, seed=0, init="k-mle++"):
    return SEEDINGS[init](problem, k, np.random.default_rng(seed))


def fitted(problem, name, k=K, seed=0, start=None, **options):
    """The fit of an algorithm from k-MLE++ seeds; EM, which creeps to its optimum, stops a little before it."""
    limits = {"max_iter": 200, "tol": 1e-7} if name in SOFT else {"max_iter": 500}
    start = started(problem, k, seed) if start is None else start
    return run(algorithm(name), problem, start, **{**limits, **options})


@st.composite
def problems(draw, case, n=45, priors=(0.0, 1e-3)):
    """Problems of a family with all that may come along: sample weights, a prior, rows that stand more than once."""
    seed = draw(st.integers(0, 4))
    X = drawn_rows(case, n, seed)
    if draw(st.booleans()):
        X = np.concatenate([X, X[: n // 3], X[: n // 3]])
    weights = None
    if draw(st.booleans()):
        weights = np.array(draw(st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.7]), min_size=len(X), max_size=len(X))))
    return Problem(case.family, X, weights, draw(st.sampled_from(priors)))


def assert_never_falls(objectives):
    """Up to rounding, and with every value a number."""
    assert np.isfinite(objectives).all()
    assert np.all(np.diff(objectives) >= -1e-9 * np.abs(objectives[1:])), objectives


def matched(labels, other):
    """`other` renamed so that it agrees with `labels` where the two are the same up to the order of components."""
    names = {}
    return np.array([names.setdefault(new, old) for old, new in zip(labels, other, strict=True)])
