"""Far from the origin, in single precision, and on degenerate data: the same labels, and never a NaN."""

from itertools import pairwise

import numpy as np
import pytest

from algorithms.drawing import ALGORITHMS, assert_never_falls, drawn_rows, fitted
from cases import BY_ID, CASES, case_id
from each import for_each
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle import families as f
from kmle.problem.problem import Parameters, Problem

GAUSSIANS = ["gaussian", "diagonal-gaussian", "spherical-gaussian", "fixed-covariance-gaussian"]


def clusters(n=300, d=2, spread=10.0, seed=0):
    """Three round clusters of unit width, and which one each row is of."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, n)
    centers = spread * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    means = np.zeros((3, d))
    means[:, :2] = centers
    return means[labels] + rng.standard_normal((n, d)), labels


# Far from the origin --------------------------------------------------------------------------------------------------


@for_each("algorithm", ["k-mle", "hard-em", "hartigan", "swap", "online"])
@pytest.mark.parametrize("family", GAUSSIANS)
def test_an_offset_of_1e8_changes_no_label(family, algorithm):
    X, truth = clusters(spread=4.0)
    X = np.round(X * 2.0**20) / 2.0**20  # so that adding the offset loses no digit
    shifted = X + 2.0**27  # 1.3e8
    assert np.array_equal(shifted - 2.0**27, X)
    options = {"family": family, "algorithm": algorithm, "init": truth, "random_state": 0}
    near, far = KMLE(3, **options).fit(X), KMLE(3, **options).fit(shifted)
    np.testing.assert_array_equal(near.labels_, far.labels_)
    np.testing.assert_array_equal(far.predict(shifted), far.labels_)
    assert far.objective_ == pytest.approx(near.objective_, rel=1e-7)
    np.testing.assert_allclose(far.mixture_.source["mean"], near.mixture_.source["mean"] + 2.0**27, rtol=1e-15)


@pytest.mark.parametrize("weights", [[0.2, 0.3, 0.5], [0.0, 0.5, 0.5]])
def test_direct_densities_take_over_where_packed_scores_have_no_digits_left(weights):
    X, _ = clusters(spread=3.0)
    X = np.round(X * 2.0**20) / 2.0**20
    means = 3.0 * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    # Measured from zero, <x, theta> is about 1e16 here, where doubles are whole numbers.
    problem = Problem(f.FixedCovarianceGaussian(n_features=2), X + 2.0**27, center=np.zeros(2))
    with np.errstate(divide="ignore"):
        parameters = Parameters(means + 2.0**27, np.log(weights))
        joint = np.log(weights) - 0.5 * ((X[:, None] - means) ** 2).sum(axis=2)
    np.testing.assert_array_equal(problem.assign(parameters)[0].labels, joint.argmax(axis=1))
    shares = np.exp(joint - joint.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(problem.soften(parameters).counts, shares.sum(axis=0), rtol=1e-10)


@pytest.mark.parametrize("family", GAUSSIANS)
def test_an_offset_of_1e8_changes_no_density(family):
    X, _ = clusters(spread=4.0)
    X = np.round(X * 2.0**20) / 2.0**20
    near, far = (
        ExponentialFamilyMixture(3, family=family, random_state=0, tol=1e-9).fit(rows) for rows in (X, X + 2.0**27)
    )
    assert far.score(X + 2.0**27) == pytest.approx(near.score(X), rel=1e-6)
    np.testing.assert_allclose(np.sort(far.weights_), np.sort(near.weights_), rtol=1e-4)


@pytest.mark.parametrize("family", GAUSSIANS)
def test_tight_clusters_far_apart_keep_their_labels(family):
    # A million widths away a variance keeps four digits, and packed scores would keep none after the point.
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2, 3], 100)
    centers = np.array([[0.0, 0.0], [1e3, 0.0], [1e3 + 8e-3, 0.0], [0.0, 1e3]])
    X = centers[truth] + 1e-3 * rng.standard_normal((400, 2))
    model = KMLE(4, family=family, init=truth, algorithm="hard-em", prior_strength=0).fit(X)
    means = np.array([X[truth == j].mean(axis=0) for j in range(4)])
    nearest = np.argmin(((X[:, None] - means) ** 2).sum(axis=2), axis=1)
    np.testing.assert_array_equal(model.labels_, nearest)


# Single precision -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*GAUSSIANS, f.FixedCovarianceGaussian()], ids=str)
@pytest.mark.parametrize("spread", [3.0, 30.0, 90.0])
def test_single_precision_gives_the_labels_of_double(family, spread):
    X, truth = clusters(3000, 5, spread)
    single = X.astype(np.float32)
    a = KMLE(3, family=family, init=truth, random_state=0).fit(single)
    b = KMLE(3, family=family, init=truth, random_state=0).fit(single.astype(float))
    joint = b.mixture_.log_joint(single.astype(float))
    uncertain = np.diff(np.sort(joint, axis=1)[:, -2:], axis=1)[:, 0] < 0.02
    np.testing.assert_array_equal(a.labels_[~uncertain], b.labels_[~uncertain])
    assert uncertain.mean() < 0.01
    assert a.score(single) == pytest.approx(b.score(single), rel=1e-5)


@pytest.mark.parametrize("case", ["poisson-1", "exponential", "gamma-1", "von-mises-fisher-3", "multinomial", "beta"])
def test_single_precision_of_other_families(case):
    case = BY_ID[case]
    X = drawn_rows(case, 300, seed=1)
    single = X.astype(np.float32)
    a, b = (KMLE(3, family=case.family, random_state=0).fit(rows) for rows in (single, single.astype(float)))
    assert a.score(single) == pytest.approx(b.score(single), rel=1e-3, abs=1e-3)


def test_sums_of_single_precision_are_kept_in_double():
    # Added one by one in single precision, half a million numbers near 1000 would lose the third digit.
    x = (1000 + np.random.default_rng(0).random(500_000)).astype(np.float32)[:, None]
    rate = KMLE(1, family="exponential").fit(x).mixture_.source["rate"].item()
    assert rate == pytest.approx(1 / x.astype(float).mean(), rel=1e-12)
    soft = ExponentialFamilyMixture(1, family="exponential").fit(x).mixture_.source["rate"].item()
    assert soft == pytest.approx(1 / x.astype(float).mean(), rel=1e-12)


# Degenerate data ------------------------------------------------------------------------------------------------------

PLANE = np.random.default_rng(0).standard_normal((60, 2))
DEGENERATE = {
    "collinear columns": np.column_stack([PLANE, PLANE @ [1.0, -2.0]]),
    "a constant column": np.column_stack([PLANE, np.full(60, 7.3)]),
    "a constant column far out": np.column_stack([PLANE, np.full(60, 1e9)]),
    "every row five times": np.repeat(np.random.default_rng(0).standard_normal((12, 3)), 5, axis=0),
    "three distinct rows": np.tile(np.random.default_rng(0).standard_normal((3, 3)), (20, 1)),
    "fewer rows than columns": np.random.default_rng(0).standard_normal((5, 12)),
    "one far row": np.vstack([PLANE, [[1e7, -1e7]]]),
    "tiny": 1e-12 * PLANE,
    "huge": 1e12 * PLANE,
    "zeros": np.zeros((20, 2)),
}


@for_each("algorithm", [*ALGORITHMS, "online"])
@pytest.mark.parametrize("family", GAUSSIANS)
@pytest.mark.parametrize("X", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_rows_are_survived_with_the_default_prior(X, family, algorithm):
    if algorithm.startswith("sparse-em"):
        model = ExponentialFamilyMixture(3, family=family, algorithm="sparse-em", n_responsibilities=int(algorithm[-1]))
    elif algorithm == "em":
        model = ExponentialFamilyMixture(3, family=family)
    else:
        model = KMLE(3, family=family, algorithm=algorithm, batch_size=8)
    model.set_params(random_state=0, max_iter=100).fit(X)  # warnings are errors here
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.score_samples(X)).all()
    assert all(np.isfinite(value).all() for value in model.mixture_.source.values())
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-9)
    if algorithm != "online":
        # The determinant of a singular covariance is its floor and rounding: of that much the objective is in doubt.
        assert np.all(np.diff(model.history_) >= -1e-3 * np.abs(model.history_[1:]))
        # Labels that only rounding prefers are not taken.
        steps = pairwise(model.result_.history)
        assert all(after.objective >= before.objective for before, after in steps if after.kind == "labels")


@for_each("algorithm", ALGORITHMS)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_few_distinct_rows_are_survived_by_every_family(case, algorithm):
    few = drawn_rows(case, 6, seed=2)
    X = np.repeat(few, 6, axis=0)
    for prior in (0.0, 1e-3):
        fit = fitted(Problem(case.family, X, None, prior), algorithm, k=4, max_iter=30)
        assert np.isfinite(fit.objectives).all()
        assert np.isfinite(fit.mixture.natural).all()
        # A likelihood without a bound and without a prior has no rounding error worth the name.
        if prior > 0:
            assert_never_falls(fit.objectives)


def test_a_mixture_far_out_still_tells_its_components_apart():
    near = Mixture.from_source("diagonal-gaussian", [0.5, 0.5], mean=[-1.0, 1.0], variance=[1.0, 1.0])
    far = Mixture.from_source("diagonal-gaussian", [0.5, 0.5], mean=[2.0**27 - 1, 2.0**27 + 1], variance=[1.0, 1.0])
    x = np.linspace(-4, 4, 65)[:, None]
    np.testing.assert_allclose(far.log_density(x + 2.0**27), near.log_density(x), rtol=1e-6)
