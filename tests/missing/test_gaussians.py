"""Missing entries in Gaussians: the likelihood is that of the observed entries, by pattern or row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from kmle import KMLE, Batches, ExponentialFamilyMixture, Mixture
from kmle import families as f
from kmle.engines.patterns import engine as patterns
from kmle.families.structured_gaussian import MODELS
from kmle.problem.problem import Problem

SCALE = np.array([[1.0, 0.5, 0.2], [0.5, 2.0, 0.3], [0.2, 0.3, 0.5]])
FULL = ["gaussian", "spherical-gaussian", f.FixedCovarianceGaussian(SCALE)]
MIXED = f.Product((f.Poisson(), f.Gaussian(n_features=2), f.Gamma()))
ESTIMATORS = [ExponentialFamilyMixture, KMLE]


def pack(patch, room):
    """Patterns are packed for the kernels where there is room for this many rows; others go row by row."""
    patch.setattr(patterns, "MOST_ROOM", 0)
    patch.setattr(patterns, "ROOM_FOR_ALL", room)


def rows_of(n, seed=0, share=0.25, mixed=False):
    rng = np.random.default_rng(seed)
    groups = [rng.multivariate_normal(mean, SCALE, n) for mean in ([100.0, 0.0, 5.0], [104.0, 5.0, 8.0])]
    X = np.concatenate(groups)
    if mixed:
        X = np.column_stack([rng.poisson(np.repeat([2, 9], n)), X[:, :2], rng.gamma(np.repeat([2, 20], n))])
    X[rng.random(X.shape) < share] = np.nan
    X[0] = [3.0, 100.0, 0.0, 2.0] if mixed else [100.0, 0.0, 5.0]
    return X


def plain_joint(mixture, X):
    """log(w_j p_j(observed entries)) row by row, by SciPy."""
    joint = np.tile(np.log(mixture.weights), (len(X), 1))
    means, covariances = mixture.family.gaussian_form(mixture.natural)
    for i, row in enumerate(X):
        there = np.flatnonzero(~np.isnan(row))
        for j in range(mixture.n_components if len(there) else 0):
            covariance = covariances[j][np.ix_(there, there)]
            joint[i, j] += multivariate_normal.logpdf(row[there], means[j, there], covariance)
    return joint


@pytest.mark.parametrize("room", [10_000, 0])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("family", [*FULL, "gaussian-eee", "gaussian-vve"])
def test_likelihoods_are_those_of_the_observed_entries(family, estimator, room, monkeypatch):
    """By the kernels and row by row."""
    pack(monkeypatch, room)
    X = rows_of(40)
    model = estimator(2, family=family, prior_strength=0, resolution=None, random_state=0).fit(X)
    joint = plain_joint(model.mixture_, X)
    total = np.logaddexp.reduce(joint, axis=1)
    np.testing.assert_allclose(model.score_samples(X), total, rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(joint - total[:, None]), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), joint.argmax(axis=1))
    np.testing.assert_array_equal(model.labels_, joint.argmax(axis=1))
    used = ~np.isnan(X).all(axis=1)
    known = joint[used].max(axis=1).sum() if estimator is KMLE else total[used].sum()
    np.testing.assert_allclose(model.objective_, known, rtol=1e-10)


def expected_sums(mixture, X):
    """Responsibilities' sums of E[t | observed], one row at a time by the textbook's formulas."""
    joint = plain_joint(mixture, X)
    shares = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
    means, covariances = mixture.family.gaussian_form(mixture.natural)
    sums, products = np.zeros_like(means), np.zeros_like(covariances)
    for row, share in zip(X, shares, strict=True):
        o, u = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        for j, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
            slope = covariance[np.ix_(u, o)] @ np.linalg.inv(covariance[np.ix_(o, o)])
            x, extra = row.copy(), np.zeros_like(covariance)
            x[u] = mean[u] + slope @ (row[o] - mean[o])
            extra[np.ix_(u, u)] = covariance[np.ix_(u, u)] - slope @ covariance[np.ix_(o, u)]
            sums[j] += share[j] * x
            products[j] += share[j] * (np.outer(x, x) + extra)
    return mixture.family.expected_statistic(sums, products)


@pytest.mark.parametrize("room", [10_000, 0])
@pytest.mark.parametrize("family", FULL)
def test_expected_statistics_are_those_of_a_plain_loop(family, room, monkeypatch):
    pack(monkeypatch, room)
    X = rows_of(30, seed=1)
    X = X[~np.isnan(X).all(axis=1)] - [100.0, 0.0, 5.0]
    known = f.resolve(family).for_data(np.nan_to_num(X))
    natural = known.mle(np.nan_to_num(X)).natural
    natural = np.concatenate([natural, known.shifted(natural, np.array([1.0, 2.0, 1.0]))])
    mixture = Mixture(known, np.array([0.3, 0.7]), natural)
    problem = Problem(known, X, center=np.zeros(3), n_components=2)
    found = problem.soften(problem.from_mixture(mixture))
    np.testing.assert_allclose(found.sums, expected_sums(mixture, X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("apart", [1.0, 1e6])
def test_packed_patterns_agree_with_rows_one_by_one(apart, monkeypatch):
    """Components that are narrow for their distance are scored by differences to means."""
    X = rows_of(60, seed=3)
    X[60:] += apart
    X -= np.nanmean(X, axis=0)
    weights = np.random.default_rng(0).random(len(X))
    means = np.array([np.nanmean(X[:60], axis=0), np.nanmean(X[60:], axis=0)])
    mixture = Mixture.from_source("gaussian", [0.3, 0.7], mean=means, covariance=np.array([SCALE, SCALE + np.eye(3)]))
    found = []
    for room in (10_000, 0):
        pack(monkeypatch, room)
        problem = Problem(mixture.family, X, weights, center=np.zeros(3), n_components=2, hard=True)
        parameters = problem.from_mixture(mixture)
        partition, hard = problem.assign(parameters)
        soft, likelihood = problem.soften(parameters), problem.row_log_likelihood(parameters)
        fits = problem.direct_fits(partition, parameters.natural, parameters.natural * [[1.0], [1.1]])
        sums = [hard.counts, hard.sums, soft.counts, soft.sums, soft.score]
        found.append([partition.labels, *sums, *likelihood, *fits, problem.scores(parameters)])
    for packed, plain in zip(*found, strict=True):
        np.testing.assert_allclose(packed, plain, rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None)
@given(
    family=st.sampled_from(["fixed", "mixed", *(f"gaussian-{name.lower()}" for name in MODELS)]),
    share=st.floats(0, 0.8),
    seed=st.integers(0, 1000),
    soft=st.booleans(),
    weighted=st.booleans(),
    strength=st.sampled_from([0.0, 1e-3, 1.0]),
    init=st.sampled_from(["auto", "random", "k-mle++", "quantile", "k-means", "restricted", "short-em", "k-mle||"]),
    room=st.sampled_from([10_000, 0]),
)
def test_the_objective_never_falls_and_nothing_is_nan(family, share, seed, soft, weighted, strength, init, room):
    chosen = {"fixed": FULL[2], "mixed": MIXED, "gaussian-vvv": "gaussian"}.get(family, family)
    chosen = {"gaussian-vii": "spherical-gaussian", "gaussian-vvi": "diagonal-gaussian"}.get(family, chosen)
    X = rows_of(15, seed, share, mixed=family == "mixed")
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 3, len(X)) + (np.arange(len(X)) == 0) if weighted else None
    estimator = ExponentialFamilyMixture if soft else KMLE
    model = estimator(3, family=chosen, prior_strength=strength, init=init, n_init=1, random_state=seed, max_iter=40)
    with pytest.MonkeyPatch.context() as patch:
        pack(patch, room)
        model.fit(X, sample_weight=weights)
    history = np.asarray(model.history_, dtype=float)
    assert np.all(np.diff(history) >= -1e-9 * np.abs(history).max())
    for values in (*model.mixture_.source.values(), model.predict_proba(X), model.score_samples(X), history):
        assert np.isfinite(values).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("family", [*FULL, "gaussian-eee", "gaussian-vei", MIXED])
def test_chunks_and_weights_change_nothing(family, estimator):
    X = rows_of(150, seed=2, mixed=family is MIXED)
    X[:100, -1] = np.nan
    whole = estimator(2, family=family, random_state=0).fit(X)
    streamed = estimator(2, family=family, random_state=0).fit(Batches([X[i : i + 100] for i in range(0, 300, 100)]))
    np.testing.assert_allclose(streamed.objective_, whole.objective_, rtol=1e-8)
    np.testing.assert_array_equal(streamed.labels_, whole.labels_)
    doubled = estimator(2, family=family, random_state=0).fit(X, sample_weight=np.full(len(X), 2.0))
    copied = estimator(2, family=family, random_state=0).fit(np.vstack([X, X]))
    np.testing.assert_allclose(doubled.objective_, copied.objective_, rtol=1e-8)


def test_dask_agrees_with_memory():
    dask_array = pytest.importorskip("dask.array")
    X = rows_of(150, seed=2)
    for estimator in ESTIMATORS:
        whole = estimator(2, random_state=0).fit(X)
        found = estimator(2, random_state=0).fit(dask_array.from_array(X, chunks=(70, 3)))
        np.testing.assert_allclose(found.objective_, whole.objective_, rtol=1e-8)
        np.testing.assert_array_equal(np.asarray(found.labels_), whole.labels_)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("family", FULL)
def test_complete_rows_through_the_code_for_holes_give_the_same_numbers(family, estimator):
    X = rows_of(60, share=0.0)
    known = f.resolve(family).for_data(X)
    plain = Problem(known, X, n_components=2)
    start = plain.first_parameters(plain.gather(np.repeat([0, 1], 60).astype(np.int32), 2))
    engine = patterns.PatternsEngine(plain.rows)
    bias = plain.bias(start)
    for n_responsibilities in (None, 1):
        mine = engine.soft_pass(start.natural, bias, n_responsibilities)
        theirs = plain.engine.soft_pass(start.natural, bias, n_responsibilities)
        np.testing.assert_allclose(mine.sums, theirs.sums, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(mine.score, theirs.score, rtol=1e-12)
    # A row without any entry makes the table one with holes, and says nothing.
    settings = {"family": family, "init": "k-mle++", "n_init": 1, "random_state": 0}
    whole, holed = (estimator(2, **settings).fit(rows) for rows in (X, np.vstack([X, np.full(3, np.nan)])))
    np.testing.assert_allclose(holed.objective_, whole.objective_, rtol=1e-10)
    np.testing.assert_allclose(holed.predict_proba(np.full((1, 3), np.nan))[0], holed.weights_, rtol=1e-12)


def test_a_missing_column_at_predict_gives_the_posterior_of_the_marginal_mixture():
    X = rows_of(50, share=0.0)
    mixture = ExponentialFamilyMixture(2, random_state=0).fit(X).mixture_
    marginal = mixture.marginal([0, 2])
    X[:, 1] = np.nan
    np.testing.assert_allclose(mixture.posterior(X), marginal.posterior(X[:, [0, 2]]), atol=1e-10)
    np.testing.assert_allclose(mixture.log_density(X), marginal.log_density(X[:, [0, 2]]), atol=1e-10)


def test_hard_fits_go_on_until_parameters_have_settled():
    """No label can change with one component, yet one step does not reach the estimate."""
    X = rows_of(40)
    hard, soft = (e(1, prior_strength=0, tol=0, max_iter=1000).fit(X) for e in (KMLE, ExponentialFamilyMixture))
    assert hard.n_iter_ > 2
    np.testing.assert_allclose(hard.objective_, soft.objective_, rtol=1e-11)


def test_what_works_row_by_row_is_refused():
    with pytest.raises(ValueError, match="needs complete rows, and entries are missing"):
        KMLE(2, algorithm="hartigan").fit(rows_of(20))
    with pytest.raises(ValueError, match="engine='panels' needs complete rows"):
        KMLE(2, engine="panels").fit(rows_of(20))


@pytest.mark.parametrize("family", ["gaussian", MIXED])
@pytest.mark.parametrize("hard", [False, True])
def test_groups_share_a_component_by_the_entries_that_are_there(family, hard):
    X = rows_of(30, seed=3, mixed=family is MIXED)
    X = X[~np.isnan(X).all(axis=1)]
    groups = np.arange(len(X)) // 3
    estimator = KMLE if hard else ExponentialFamilyMixture
    settings = {"prior_strength": 0, "resolution": None, "random_state": 0}
    model = estimator(2, family=family, **settings).fit(X, groups=groups)
    assert (np.diff(model.history_) >= -1e-9 * abs(model.objective_)).all()
    mixture = model.mixture_
    joint = np.add.reduceat(mixture.log_joint(X) - np.log(mixture.weights), np.arange(0, len(X), 3))
    joint += np.log(mixture.weights)
    value = joint.max(axis=1) if hard else np.logaddexp.reduce(joint, axis=1)
    assert model.objective_ == pytest.approx(value.sum(), rel=1e-10)
    assert (model.labels_ == model.predict(X, groups=groups)).all()


def test_certificates_of_rows_with_missing_entries():
    X = rows_of(100, seed=4)
    for estimator, sentence in ((ExponentialFamilyMixture, "EM fixpoint"), (KMLE, "Lloyd-stable: no label changes")):
        model = estimator(2, family="gaussian", random_state=0).fit(X)
        assert str(model.certify(X)).startswith(sentence)
        assert model.certify(X[:60]).kind == "not stable"
