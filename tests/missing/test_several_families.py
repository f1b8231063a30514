"""Missing entries in mixtures of different families, beside noise and in Student t distributions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, multivariate_t
from scipy.stats import t as student

from kmle import KMLE, Batches, ExponentialFamilyMixture, Mixture, inspection, select
from kmle import families as f
from kmle.engines.patterns.entries import entries_of
from kmle.families.component_lists import component_families

SCALE = np.array([[1.0, 0.5, 0.2], [0.5, 2.0, 0.3], [0.2, 0.3, 0.5]])
ESTIMATORS = [ExponentialFamilyMixture, KMLE]


def rows_of(n, seed=0, share=0.2):
    """Two groups of correlated columns, and a few rows anywhere."""
    rng = np.random.default_rng(seed)
    groups = [rng.multivariate_normal(mean, SCALE, n) for mean in ([100.0, 0.0, 5.0], [108.0, 8.0, 8.0])]
    X = np.concatenate([*groups, rng.uniform([90, -10, 0], [115, 15, 12], (n // 8, 3))])
    X[rng.random(X.shape) < share] = np.nan
    X[0] = [100.0, 0.0, 5.0]
    return X


def mixture_of_three():
    members = [
        f.Gaussian().member(mean=[[100.0, 0.0, 5.0]], covariance=[SCALE]),
        f.StudentT().member(location=[[108.0, 8.0, 8.0]], scale=[SCALE], degrees=[3.0]),
        f.Uniform((90.0, -10.0, 0.0), (115.0, 15.0, 12.0)).member(),
    ]
    return Mixture.from_members([0.5, 0.4, 0.1], members)


def plain_joint(X):
    """log(w_j p_j(observed entries)) row by row, by SciPy."""
    joint = np.tile(np.log([0.5, 0.4, 0.1]), (len(X), 1))
    low, high = np.array([90.0, -10.0, 0.0]), np.array([115.0, 15.0, 12.0])
    for i, row in enumerate(X):
        there = np.flatnonzero(~np.isnan(row))
        if len(there):
            scale, x = SCALE[np.ix_(there, there)], row[there]
            joint[i, 0] += multivariate_normal.logpdf(x, np.array([100.0, 0.0, 5.0])[there], scale)
            joint[i, 1] += multivariate_t.logpdf(x, np.array([108.0, 8.0, 8.0])[there], scale, df=3)
            inside = ((x >= low[there]) & (x <= high[there])).all()
            joint[i, 2] += -np.log((high - low)[there]).sum() if inside else -np.inf
    return joint


def test_densities_are_those_of_the_observed_entries():
    X = np.vstack([rows_of(20), [[np.nan] * 3, [80.0, np.nan, np.nan]]])
    mixture, joint = mixture_of_three(), plain_joint(X)
    np.testing.assert_allclose(mixture.log_joint(X), joint, rtol=1e-10)
    np.testing.assert_allclose(mixture.log_density(X), np.logaddexp.reduce(joint, axis=1), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(mixture.predict(X), joint.argmax(axis=1))
    np.testing.assert_allclose(mixture.posterior(X)[-2], mixture.weights, rtol=1e-12)
    # Without a column they are those of the marginal mixture.
    X[:, 1] = np.nan
    np.testing.assert_allclose(mixture.log_density(X), mixture.marginal([0, 2]).log_density(X[:, [0, 2]]), rtol=1e-10)


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "gamma", "poisson", "student-t"])
def test_complete_rows_through_the_code_for_holes_give_the_same_numbers(family):
    rng = np.random.default_rng(0)
    X = rng.poisson(5.0, (60, 3)) + 1.0
    X = X if family == "poisson" else X + rng.exponential(size=X.shape)
    shares = rng.dirichlet([1.0, 1.0], 60)
    known = f.resolve(family).for_data(X)
    entries = entries_of(known, X)
    if known.exponential:
        moments = (shares.T @ known.sufficient_statistic(X)) / shares.sum(axis=0)[:, None]
        expected = known.natural_from_moment(moments)
        for before in (None, expected):
            np.testing.assert_allclose(entries.estimate(shares, None, before, None), expected, rtol=1e-10)
        np.testing.assert_allclose(entries.log_densities(expected), known.log_density(X, expected), rtol=1e-10)
        return
    natural = known.weighted_estimate(X, shares, None, None, None)
    np.testing.assert_allclose(entries.log_densities(natural), known.log_density(X, natural), rtol=1e-10)
    # Both ways of stepping have the same fixpoint.
    mine = theirs = natural
    for _ in range(300):
        mine = entries.estimate(shares, None, mine, None)
        theirs = known.weighted_estimate(X, shares, None, theirs, None)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)


REAL = ["gaussian", "diagonal-gaussian", "laplace", "student-t", "uniform"]
COUNTS = ["poisson", "geometric", "negative-binomial", "point-mass"]
POSITIVE = ["gamma", "exponential", "weibull", "log-normal"]


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from([REAL, COUNTS, POSITIVE]),
    places=st.lists(st.integers(0, 4), min_size=2, max_size=4),
    seed=st.integers(0, 10**6),
    estimator=st.sampled_from(ESTIMATORS),
    known=st.sampled_from(["nothing", "weights", "labels", "groups"]),
    prior_strength=st.sampled_from([0.0, 0.001]),
)
def test_the_objective_never_falls_and_nothing_is_nan(kind, places, seed, estimator, known, prior_strength):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 50)), int(rng.integers(1, 4))
    X = {
        "gaussian": lambda: rng.normal(rng.choice([0.0, 6.0], (n, 1)), 1.0, (n, d)),
        "poisson": lambda: rng.poisson(rng.choice([0.2, 6.0], (n, 1)), (n, d)).astype(float),
        "gamma": lambda: rng.gamma(2.0, rng.choice([1.0, 6.0], (n, 1)), (n, d)),
    }[kind[0]]()
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:2] = np.abs(np.nan_to_num(X[:2], nan=1.0)) + np.array([[0.0], [1.0]])
    names = [kind[place % len(kind)] for place in places]
    names = [name for i, name in enumerate(names) if name not in ("uniform", "point-mass") or name not in names[:i]]
    if all(name in ("uniform", "point-mass") for name in names):
        names.append(kind[0])
    about = {
        "nothing": {},
        "weights": {"sample_weight": rng.exponential(size=n)},
        "labels": {"labels": rng.dirichlet(np.ones(len(names)), n)},
        "groups": {"groups": np.arange(n) // 2},
    }[known]
    model = estimator(family=names, random_state=0, prior_strength=prior_strength, max_iter=60)
    model = model.set_params(n_components=len(names)).fit(X, **about)
    history = np.array(model.history_)
    assert np.diff(history).min(initial=0.0) >= -1e-9 * np.abs(history).max()
    assert np.isfinite(model.mixture_.natural).all()
    assert np.isfinite(model.score_samples(X)).all()
    assert np.isfinite(model.mixture_.impute(X)).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_noise_beside_rows_with_holes(estimator):
    X = rows_of(150)
    model = estimator(2, noise=True, random_state=0).fit(X)
    assert "entries" in model.notes_[0]
    np.testing.assert_allclose(model.weights_[-1], 1 / 17, atol=0.03)
    means = model.mixture_.source["gaussian_mean"][:2]
    np.testing.assert_allclose(np.sort(means[:, 0]), [100.0, 108.0], atol=0.4)
    np.testing.assert_allclose(model.score_samples(X).sum(), model.result_.log_likelihood, rtol=1e-10)
    # A row without any entry says nothing, and is as likely in each component as its weight says.
    more = estimator(2, noise=True, random_state=0).fit(np.vstack([X, np.full(3, np.nan)]))
    np.testing.assert_allclose(more.objective_, model.objective_, rtol=1e-6)
    np.testing.assert_allclose(more.predict_proba(np.full((1, 3), np.nan))[0], more.weights_, rtol=1e-12)


def test_standard_errors_and_certificates():
    rng = np.random.default_rng(4)
    X = np.array([3.0, -2.0]) + rng.multivariate_normal([0, 0], SCALE[:2, :2], 800) / np.sqrt(
        rng.chisquare(4, (800, 1)) / 4
    )
    X[rng.random(X.shape) < 0.3] = np.nan
    model = ExponentialFamilyMixture(1, family="student-t").fit(X)
    errors, found = inspection.standard_errors(model, X), model.mixture_.source
    for name, truth in (("location", [3.0, -2.0]), ("scale", SCALE[:2, :2]), ("degrees", 4.0)):
        assert (np.abs(found[name][0] - truth) < 3 * errors.source[name][0]).all()
    # With independent columns errors of each are those of its own entries.
    one, seen = f.StudentT(degrees=4.0), ~np.isnan(X[:, 0])
    alone = ExponentialFamilyMixture(1, family=one, prior_strength=0).fit(X[seen][:, :1])
    own = inspection.standard_errors(alone, X[seen][:, :1]).source["location"]
    assert errors.source["location"][0, 0] < 1.05 * own.item()
    assert "fixpoint" in str(model.result_.certify(X))
    noisy = rows_of(60)
    hard = KMLE(2, noise=True, random_state=0).fit(noisy)
    assert "Lloyd-stable" in str(hard.result_.certify(noisy))
    with pytest.raises(ValueError, match="on rows with missing entries it must be 'observed'"):
        inspection.standard_errors(hard, noisy, method="complete")
    assert len(inspection.bootstrap(hard, noisy, n_resamples=2, random_state=0).weights) == 3


def test_imputation_is_by_conditional_distributions():
    family = f.StudentT()
    member = family.member(location=[[1.0, 2.0, 3.0]], scale=[SCALE], degrees=[5.0])
    mixture = Mixture.from_members([1.0], [member])
    rows = np.tile([[2.0, np.nan, 1.0]], (20_000, 1))
    there, gap = np.ix_([0, 2], [0, 2]), np.array([1.0, -2.0])
    slope = SCALE[1, [0, 2]] @ np.linalg.inv(SCALE[there])
    mean, rest = 2.0 + slope @ gap, SCALE[1, 1] - slope @ SCALE[[0, 2], 1]
    np.testing.assert_allclose(mixture.impute(rows[:1])[0, 1], mean, rtol=1e-12)
    width = np.sqrt(rest * (5 + gap @ np.linalg.solve(SCALE[there], gap)) / 7)
    draws = mixture.impute(rows, sample=True, random_state=0)[:, 1]
    for level in (0.1, 0.5, 0.9):
        assert abs((draws < student.ppf(level, 7, mean, width)).mean() - level) < 0.01
    # Of several families each adds its own mean by its posterior.
    three, row = mixture_of_three(), np.array([[104.0, np.nan, np.nan]])
    share = three.posterior(row)[0]
    normal, tail = ([0.0, 5.0] + SCALE[1:, 0] * 4.0, [8.0, 8.0] - SCALE[1:, 0] * 4.0)
    expected = share[0] * normal + share[1] * tail + share[2] * np.array([2.5, 6.0])
    np.testing.assert_allclose(three.impute(row)[0, 1:], expected, rtol=1e-10)
    assert np.isfinite(three.impute(np.full((50, 3), np.nan), sample=True, random_state=0)).all()


def test_streams_selection_and_checkpoints(tmp_path):
    X = rows_of(60)
    chunks = Batches(lambda: iter([X[:50], X[50:]]))
    streamed, whole = (
        ExponentialFamilyMixture(2, noise=True, random_state=0, tol=1e-9).fit(data) for data in (chunks, X)
    )
    np.testing.assert_allclose(streamed.objective_, whole.objective_, rtol=1e-5)
    chosen = select(X, families=[("gaussian", "uniform"), "gaussian"], n_components=[1, 2], random_state=0)
    assert (chosen.best.name, chosen.best.n_components) == ("gaussian,uniform", 2)
    for family in ("student-t", ["weibull", "gamma"]):
        data = X if family == "student-t" else np.abs(X[:, 2:])
        model = ExponentialFamilyMixture(2, family=family, random_state=0, max_iter=2)
        path = tmp_path / f"{family[0]}.ckpt"
        model.fit(data, checkpoint=path)
        resumed = model.set_params(max_iter=500).fit(data, checkpoint=path, resume=True)
        assert resumed.objective_ >= model.objective_ - 1e-9
        with pytest.raises(ValueError, match="belongs to other data"):
            model.fit(data + 1.0, checkpoint=path, resume=True)


@pytest.mark.parametrize("holes", [False, True])
def test_labels_and_frozen_components_beside_noise(holes):
    X, moved = rows_of(60, share=0.2 if holes else 0.0), np.array([1.0, 0.0, 0.0])
    labels = np.full(len(X), -1)
    labels[:20], labels[60:80] = 1, 0
    model = ExponentialFamilyMixture(2, noise=True, random_state=0).fit(X, labels=labels)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    assert (model.predict_class(X[:20]) == 1).mean() > 0.9
    means = model.mixture_.source["gaussian_mean"]
    assert means[0, 0] > 106 > 102 > means[1, 0]
    frozen = ExponentialFamilyMixture(2, noise=True, init=model.mixture_, frozen=[0], prior_strength=0)
    held = frozen.fit(X + moved).mixture_
    np.testing.assert_array_equal(held.natural[0], model.mixture_.natural[0])
    assert held.source["gaussian_mean"][1, 0] > means[1, 0] + 0.5
    # Frozen noise keeps its box.
    shares = ExponentialFamilyMixture(2, noise=True, init=model.mixture_, update_weights_only=True).fit(X + moved)
    assert shares.mixture_.family == model.mixture_.family


def test_families_that_cannot_lack_entries_say_so():
    X = np.random.default_rng(0).dirichlet([1, 2, 3], 20)
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="dirichlet needs complete rows"):
        ExponentialFamilyMixture(2, family="dirichlet").fit(X)
    family = component_families([f.Gaussian(), f.StudentT()])
    assert family.takes_missing


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_products_with_estimated_shapes(estimator):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 200)
    X = np.column_stack([rng.negative_binomial(3, 0.3, 200) + 9 * group, rng.normal(5 * group[:, None], 1.0, (200, 2))])
    X[rng.random(X.shape) < 0.2] = np.nan
    family = f.Product((f.NegativeBinomial(), f.StudentT(n_features=2)))
    model = estimator(2, family=family, random_state=0).fit(X)
    assert np.diff(model.history_).min(initial=0.0) >= -1e-9 * abs(model.objective_)
    mixture = model.mixture_
    counts, places = mixture.marginal([0]), mixture.marginal([1, 2])
    joint = counts.log_joint(X[:, [0]]) + places.log_joint(X[:, 1:]) - np.log(mixture.weights)
    np.testing.assert_allclose(mixture.log_joint(X), joint, rtol=1e-10)
    assert np.isfinite(mixture.impute(X, sample=True, random_state=0)).all()
