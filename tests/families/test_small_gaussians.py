"""Small Gaussians: the compiled formulas agree with those in NumPy."""

import numpy as np
import pytest

from kmle._kernels import backend, gaussian_has_spread, gaussian_natural, instruction_set, use, versions
from kmle.families import Gaussian
from kmle.families import gaussian as formulas
from kmle.families.resolution import resolution_of
from kmle.problem.problem import Problem
from kmle.search.batch import Learner

pytestmark = pytest.mark.skipif(backend() != "compiled", reason="there is only one version without a compiler")
SMALLEST, ROUNDING = 1e-9, 1e-14


def moments(rng, m, d, scale):
    """Of narrow and wide clusters of rows."""
    clusters = [
        rng.normal(size=(4 * d, d)) * scale ** rng.uniform(-1, 1, size=(d,)) @ rng.normal(size=(d, d)) for _ in range(m)
    ]
    family = Gaussian()
    return np.stack([family.sufficient_statistic(X + rng.normal(size=d)).mean(axis=0) for X in clusters])


@pytest.mark.parametrize("d", [1, 2, 5, 13])
@pytest.mark.parametrize("scale", [2.0, 100.0])
def test_narrow_covariances_are_widened_as_in_numpy(d, scale):
    rng = np.random.default_rng([d, int(scale)])
    eta, spread = moments(rng, 40, d, scale), rng.uniform(0.3, 1.0, d)
    natural, safe = gaussian_natural(eta, spread, SMALLEST, ROUNDING)
    assert safe.mean() > 0.9
    expected = formulas._lifted_natural(eta, spread)
    size = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(natural[safe] / size[safe], expected[safe] / size[safe], atol=1e-7)
    assert gaussian_has_spread(natural[safe], spread, 1e-6).all()
    narrower = Gaussian().natural_from_moment(eta)
    with_numpy = np.linalg.eigvalsh(formulas._split(narrower)[1] * np.outer(spread, spread))[:, -1]
    clear = np.abs(with_numpy - 1) > 1e-3
    np.testing.assert_array_equal(gaussian_has_spread(narrower, spread, 1e-6)[clear], (with_numpy <= 1)[clear])
    assert (with_numpy > 1).sum() > 0


def test_a_spread_of_zero_is_left_to_numpy():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2)) * [1.0, 0.01]
    eta = Gaussian().sufficient_statistic(X).mean(axis=0)[None]
    assert not gaussian_natural(eta, np.array([0.0, 0.5]), SMALLEST, ROUNDING)[1].any()


def steps_of(X, resolution, count=5, k=3, strength=1e-3):
    family = Gaussian().for_data(X)
    problem = Problem(family, family.check(X), None, strength, resolution=resolution)
    rng = np.random.default_rng(1)
    found = [problem.gather(rng.integers(k, size=len(X)).astype(np.int32), k) for _ in range(count)]
    learner = Learner(problem)
    return learner, learner.from_statistics(np.stack([s.counts for s in found]), np.stack([s.sums for s in found]))


@pytest.fixture(params=versions()[1:])
def version(request):
    use(request.param)
    yield request.param
    use(None)


@pytest.mark.parametrize("digits", [0, 3])
@pytest.mark.parametrize("d", [1, 2, 5, 13])
def test_a_step_in_one_call_is_that_of_the_formulas(version, d, digits):
    assert instruction_set() == version
    rng = np.random.default_rng(d)
    X = rng.normal(size=(300, d)) @ rng.normal(size=(d, d)) + 7.0
    X[:150] += 4.0
    X[:, 0] = np.round(X[:, 0] / 5)
    X = np.round(X, digits)
    learner, batch = steps_of(X, resolution_of(X))
    for _ in range(8):
        factors = np.minimum(batch.streak / (batch.streak + 1.5), 0.9)
        given = batch.counts, batch.sums, batch.before, batch.weights_before, factors
        fast = learner.problem.family.mixture_step(*given, learner._setting)
        slow = learner.step_by_formulas(batch, factors)
        assert fast is not None
        for name, values in vars(slow).items():
            scale = np.abs(values[np.isfinite(values)]).max()
            np.testing.assert_allclose(getattr(fast, name), values, rtol=1e-6, atol=1e-8 * scale, err_msg=name)
        batch = learner.stepped(batch)
