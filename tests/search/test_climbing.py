"""EM of many mixtures under covariance models: the compiled way up, beside steps in NumPy, and what both promise."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmle import _kernels as kernels
from kmle.families import Gaussian
from kmle.families.structured_gaussian import MODELS
from kmle.problem.problem import Problem
from kmle.search.batch import Learner
from kmle.search.climbing import Climber

NAMES = list(MODELS)


def rows(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 3 * rng.integers(3, size=(n, 1))


def begun(climber, k, seed):
    """One mixture of each model, from the same partition."""
    labels = np.random.default_rng(seed).integers(k, size=len(climber.points)).astype(np.int32)
    found = climber.problem.gather(labels, k)
    models = np.arange(len(NAMES), dtype=np.int32)
    each = np.zeros(len(NAMES), dtype=int)
    return climber.begun(models, found.counts[None][each], found.sums[None][each])


def climber_on(X, hard=False, weights=None, strength=0.0):
    problem = Problem(Gaussian(n_features=X.shape[1]), X, weights, strength)
    climber = Climber(Learner(problem, hard))
    climber.points = X
    return climber


@pytest.mark.skipif(kernels.backend() != "compiled", reason="there is no compiled module")
@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("strength", [0.0, 2.0])
def test_compiled_steps_are_those_of_numpy(hard, strength):
    X = rows(300, 3, seed=1)
    weights = np.random.default_rng(2).integers(1, 4, size=300).astype(float)
    climber = climber_on(X, hard, weights, strength)
    start = begun(climber, 3, seed=3)
    fast, plain = climber.climbed(start, 12), climber._climbed_by_steps(start, 12)
    np.testing.assert_allclose(fast.batch.objective, plain.batch.objective, rtol=1e-6)
    for ours, theirs in zip(fast.histories, plain.histories, strict=True):
        shared = min(len(ours), len(theirs))
        np.testing.assert_allclose(ours[:shared], theirs[:shared], rtol=1e-6)
        assert shared > 2


@settings(max_examples=25, deadline=None)
@given(
    d=st.integers(1, 4),
    k=st.integers(1, 5),
    hard=st.booleans(),
    weighted=st.booleans(),
    strength=st.sampled_from([0.0, 0.1, 3.0]),
    seed=st.integers(0, 10**6),
)
def test_the_objective_never_falls(d, k, hard, weighted, strength, seed):
    X = rows(80, d, seed)
    weights = np.random.default_rng(seed + 1).uniform(0.2, 3.0, size=80) if weighted else None
    climber = climber_on(X, hard, weights, strength)
    reached = climber.climbed(begun(climber, k, seed + 2), 25)
    for name, history in zip(NAMES, reached.histories, strict=True):
        values = np.array(history)[np.isfinite(history)]
        assert np.all(np.diff(values) >= -1e-9 * np.abs(values[1:])), name
    again = climber.at(reached.models, reached.batch.natural, reached.batch.log_weights)
    np.testing.assert_allclose(reached.batch.objective, again.batch.objective, rtol=1e-9)
