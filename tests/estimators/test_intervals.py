"""Fits to censored, grouped and rounded values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.model_selection import cross_val_score

from kmle import KMLE, ExponentialFamilyMixture, Intervals, Mixture, select
from kmle.families import Gamma, Gaussian, Poisson, Product

FAMILIES = {
    "exponential": lambda rng, n: rng.exponential(rng.choice([1.0, 8.0], n)),
    "gamma": lambda rng, n: rng.gamma(3.0, rng.choice([1.0, 4.0], n)) + 1e-3,
    "log-normal": lambda rng, n: np.exp(rng.normal(rng.choice([0.0, 2.0], n), 0.5)),
    "gaussian": lambda rng, n: rng.normal(rng.choice([-3.0, 3.0], n), 1.0),
    "poisson": lambda rng, n: rng.poisson(rng.choice([2.0, 9.0], n)).astype(float),
    "inverse-gaussian": lambda rng, n: rng.wald(rng.choice([1.0, 6.0], n), 3.0),
    "geometric": lambda rng, n: rng.geometric(rng.choice([0.2, 0.7], n)).astype(float) - 1,
    "rayleigh": lambda rng, n: rng.rayleigh(rng.choice([1.0, 5.0], n)),
}


def censored(x, rng, share=0.4):
    """Values of which some are known from below, from above or from both sides only."""
    kind = np.where(rng.random(len(x)) < share, rng.integers(1, 4, len(x)), 0)
    lower = np.where(kind == 1, np.floor(x * 0.7), np.where(kind == 3, np.floor(x), x))
    upper = np.where(kind == 3, np.floor(x) + 1, x)
    lower, upper = np.where(kind == 2, -np.inf, lower), np.where(kind == 1, np.inf, upper)
    return Intervals(lower, np.where(kind == 2, np.ceil(x) + 1, upper))


@settings(max_examples=40, deadline=None)
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    seed=st.integers(0, 10_000),
    k=st.integers(1, 3),
    algorithm=st.sampled_from(["em", "sparse-em", "k-mle", "hard-em"]),
    known=st.sampled_from(["nothing", "labels", "probabilities", "groups", "groups and labels"]),
    weighted=st.booleans(),
)
def test_the_objective_never_falls(family, seed, k, algorithm, known, weighted):
    rng = np.random.default_rng(seed)
    n = 40
    X = censored(FAMILIES[family](rng, n), rng)
    more = {}
    groups = rng.integers(0, 15, n)
    if "groups" in known:
        more["groups"] = groups
    if known == "labels":
        more["labels"] = np.append(np.arange(k), rng.integers(-1, k, n - k))
    if known == "groups and labels":
        more["labels"] = np.where(groups < k, groups, -1)
        if len(np.unique(more["labels"][more["labels"] >= 0])) < k:
            return
    if known == "probabilities":
        more["labels"] = rng.dirichlet(np.ones(k), n)
    if weighted:
        more["sample_weight"] = rng.integers(0, 3, 15)[groups] + (groups == groups[0])
    kind = KMLE if algorithm in ("k-mle", "hard-em") else ExponentialFamilyMixture
    model = kind(k, family=family, algorithm=algorithm, random_state=seed, n_init=1).fit(X, **more)
    slack = 1e-9 * (1 + np.abs(model.history_).max())
    assert np.diff(model.history_).min(initial=0.0) >= -slack
    assert np.isfinite(model.history_).all()
    assert np.isfinite(model.mixture_.natural).all()
    assert np.isfinite(model.predict_proba(X)).all()
    assert model.labels_.shape == (n,)
    if "groups" in known:
        used = np.ones(n, dtype=bool) if not weighted else more["sample_weight"] > 0
        assert all(len(set(model.labels_[used & (groups == g)])) <= 1 for g in range(15))
    if known in ("labels", "groups and labels") and not weighted:
        assert (model.labels_ == more["labels"])[more["labels"] >= 0].all()


@pytest.mark.parametrize("name", ["gamma", "log-normal", "gaussian", "poisson"])
def test_the_likelihood_is_that_of_scipy(name):
    rng = np.random.default_rng(1)
    X = censored(FAMILIES[name](rng, 80), rng)
    model = ExponentialFamilyMixture(2, family=name, random_state=0).fit(X)
    source, weights = {key: value.reshape(2) for key, value in model.mixture_.source.items()}, model.weights_
    twins = {
        "gamma": lambda: stats.gamma(source["shape"], scale=source["scale"]),
        "log-normal": lambda: stats.lognorm(source["log_std"], scale=np.exp(source["log_mean"])),
        "gaussian": lambda: stats.norm(source["mean"], np.sqrt(source["covariance"])),
        "poisson": lambda: stats.poisson(source["rate"]),
    }
    twin = twins[name]()
    low, high, exact = X.lower, X.upper, X.exact
    if name == "poisson":
        density, start = twin.pmf, np.ceil(low) - 1
    else:
        density, start = twin.pdf, low
    p = np.where(exact, density(np.where(exact, low, 1.0)), twin.cdf(high) - twin.cdf(start))
    expected = np.log(p @ weights)
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-7, atol=1e-13)
    assert model.result_.log_likelihood == pytest.approx(expected.sum(), rel=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), p * weights / np.exp(expected)[:, None], atol=1e-8)
    assert model.criteria(X).log_likelihood == pytest.approx(expected.sum(), rel=1e-9)


def test_all_exact_is_the_fit_to_the_values():
    rng = np.random.default_rng(0)
    x = FAMILIES["gamma"](rng, 200)
    start = Mixture.from_source("gamma", [0.5, 0.5], shape=[2.0, 4.0], scale=[1.0, 3.0])
    options = {"family": "gamma", "init": start, "tol": 1e-12, "resolution": None}
    plain = ExponentialFamilyMixture(2, **options).fit(x[:, None])
    intervals = ExponentialFamilyMixture(2, **options).fit(Intervals(x, x))
    assert intervals.result_.log_likelihood == pytest.approx(plain.result_.log_likelihood, abs=1e-8)
    np.testing.assert_allclose(intervals.mixture_.natural, plain.mixture_.natural, rtol=1e-5)


def test_censored_mixture_finds_the_truth():
    rng = np.random.default_rng(2)
    n = 4000
    times = np.where(rng.random(n) < 0.4, rng.gamma(8.0, 0.5, n), rng.gamma(8.0, 3.0, n))
    end = rng.uniform(5, 60, n)
    X = Intervals.from_events(np.minimum(times, end), times <= end)
    model = ExponentialFamilyMixture(2, family="gamma", random_state=0).fit(X)
    means = np.sort((model.mixture_.source["shape"] * model.mixture_.source["scale"]).ravel())
    np.testing.assert_allclose(means, [4.0, 24.0], rtol=0.05)
    np.testing.assert_allclose(np.sort(model.weights_), [0.4, 0.6], atol=0.03)


def test_one_column_of_a_product():
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 300)
    counts, times = rng.poisson([2, 12], (300, 2))[np.arange(300), label], rng.gamma(4.0, [1.0, 5.0], (300, 2))[:, 0]
    times = np.where(label == 1, times * 5, times)
    points = rng.normal(label[:, None] * 4, 1, (300, 2))
    lower = np.column_stack([counts, np.minimum(times, 12), points])
    upper = lower.copy()
    upper[times > 12, 1] = np.inf
    family = Product((Poisson(), Gamma(), Gaussian(n_features=2)))
    model = ExponentialFamilyMixture(2, family=family, random_state=0).fit(Intervals(lower, upper))
    agree = (model.labels_ == label).mean()
    assert max(agree, 1 - agree) > 0.97
    upper[5, 2] += 1
    with pytest.raises(ValueError, match="row 5, column 2 is an interval, but the columns of gaussian depend"):
        model.predict(Intervals(lower, upper))


def test_an_unknown_value_says_nothing():
    mixture = Mixture.from_source("gamma", [0.3, 0.7], shape=[2.0, 5.0], scale=[1.0, 2.0])
    np.testing.assert_allclose(mixture.posterior(Intervals([np.nan], [np.nan])), [[0.3, 0.7]])
    np.testing.assert_allclose(mixture.log_density(Intervals([np.nan], [np.nan])), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([1.0, 3.0], [1.0, 2.0], "row 1 has its lower bound above its upper bound"),
        ([1.0, np.nan], [1.0, 2.0], "row 1 has one bound that is NaN"),
        ([1.0, np.inf], [1.0, np.inf], "row 1 has two bounds that are the same infinity"),
        ([1.0, 2.0], [1.0], "they must be the same"),
        (["a"], ["b"], "lower must be numbers"),
    ],
)
def test_bad_bounds_are_refused(lower, upper, message):
    with pytest.raises(ValueError, match=message):
        Intervals(lower, upper)


@pytest.mark.parametrize(
    ("family", "X", "message"),
    [
        ("gamma", Intervals([1.0, -5.0], [1.0, -2.0]), "row 1, column 0 is known to lie between -5 and -2"),
        ("poisson", Intervals([1.0, 2.2], [1.0, 2.8]), "row 1, column 0 is known to lie between 2.2 and 2.8"),
        ("von-mises", Intervals([1.0, 0.0], [1.0, 1.0]), "which von-mises cannot have"),
        ("gaussian", Intervals([[1.0, 0.0]] * 2, [[1.0, 1.0]] * 2), "use a family of independent columns"),
    ],
)
def test_intervals_outside_the_support_are_refused(family, X, message):
    with pytest.raises(ValueError, match=message):
        ExponentialFamilyMixture(1, family=family).fit(X)


def test_algorithms_that_cannot_are_named():
    with pytest.raises(ValueError, match="algorithm is 'hartigan', which cannot use intervals"):
        KMLE(2, family="gamma", algorithm="hartigan").fit(Intervals([1.0, 2.0], [1.0, 3.0]))


def test_cross_validation_indexes_rows():
    rng = np.random.default_rng(4)
    X = censored(FAMILIES["gamma"](rng, 60), rng)
    scores = cross_val_score(ExponentialFamilyMixture(1, family="gamma"), X, cv=3)
    assert np.isfinite(scores).all()
    assert len(X[np.arange(5)]) == 5


def test_select_compares_families_on_intervals():
    times = np.random.default_rng(0).gamma(3, 10, 100)
    seen = Intervals(
        np.where(times < 5, -np.inf, np.minimum(times, 40)), np.where(times < 40, np.maximum(times, 5), np.inf)
    )
    found = select(seen, ("exponential", "weibull", "gaussian"), (1, 2), random_state=0)
    assert found.best.name == "weibull"
    assert found.best_estimator.bic(seen) == pytest.approx(found.best.value("bic"), rel=1e-9)
    # Bounds are cut down to the support of each family, not to that of those before.
    alone = ExponentialFamilyMixture(1, family="gaussian").fit(seen).bic(seen)
    assert next(c for c in found.candidates if c.name == "gaussian").value("bic") == pytest.approx(alone, abs=1e-3)
