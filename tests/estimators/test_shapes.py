"""Mixtures with estimated shapes: ascent, truth, intervals, standard errors and what is refused."""

import numpy as np
import pytest
from scipy.special import logsumexp

import kmle.families as f
from kmle import KMLE, ExponentialFamilyMixture, Intervals, Mixture, select
from kmle.data import gathered
from kmle.estimators.learn import learn
from kmle.estimators.plan import Plan
from kmle.estimators.prepare_shapes import prepare_shapes
from kmle.estimators.shape_moves import moved
from kmle.inspection import standard_errors

TRUTHS = {
    "weibull": Mixture.from_source("weibull", [0.6, 0.4], scale=[2.0, 15.0], shape=[1.5, 4.0]),
    "negative-binomial": Mixture.from_source("negative-binomial", [0.6, 0.4], mean=[3.0, 40.0], size=[2.0, 8.0]),
    "laplace": Mixture.from_source("laplace", [0.6, 0.4], location=[0.0, 9.0], scale=[1.0, 2.0]),
}


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("seed", [0, 1])
def test_parameters_are_within_four_standard_errors(name, seed):
    truth = TRUTHS[name]
    X = truth.sample(800, seed)
    model = ExponentialFamilyMixture(2, family=name, random_state=seed).fit(X)
    errors = standard_errors(model, X)
    for key, value in truth.source.items():
        assert (np.abs(model.mixture_.source[key] - value) < 4 * errors.source[key]).all()
    assert (np.abs(model.weights_ - truth.weights) < 4 * errors.weights).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "families"),
    [("weibull", ["weibull", "gamma", "exponential"]), ("negative-binomial", ["negative-binomial", "poisson"])],
)
def test_the_right_family_and_number_are_found(name, families):
    right = 0
    for seed in range(2):
        chosen = select(TRUTHS[name].sample(1000, seed), families, range(1, 4), random_state=seed)
        right += chosen.best.name == name and chosen.best.n_components == 2
    assert right == 2


def test_a_hard_fit():
    X = TRUTHS["weibull"].sample(400, 0)
    model = KMLE(2, family="weibull", random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert model.result_.objective == pytest.approx(model.mixture_.complete_log_likelihood(X), abs=0.05)


def test_shared_shapes_have_one_value_and_one_error():
    X = TRUTHS["weibull"].sample(300, 0)
    model = ExponentialFamilyMixture(2, family=f.Weibull("shared"), random_state=0).fit(X)
    assert np.ptp(model.mixture_.source["shape"]) < 1e-9
    assert model.mixture_.n_parameters == 4
    errors = standard_errors(model, X).source["shape"]
    assert errors[0] == pytest.approx(errors[1])


def test_standard_errors_of_one_weibull_are_those_of_the_fisher_information():
    X = Mixture.from_source("weibull", [1.0], scale=[2.0], shape=[1.5]).sample(5000, 0)
    model = ExponentialFamilyMixture(1, family="weibull").fit(X)
    shape = model.mixture_.source["shape"].item()
    # The inverse information on the shape is 0.6079 shape^2 (Johnson, Kotz and Balakrishnan, 1994).
    assert standard_errors(model, X).source["shape"].item() == pytest.approx(np.sqrt(0.6079 / 5000) * shape, rel=0.05)


def test_censored_values_of_a_mixture():
    rng = np.random.default_rng(0)
    x = TRUTHS["weibull"].sample(300, 0)[:, 0]
    limit = rng.uniform(2, 30, len(x))
    X = Intervals.from_events(np.minimum(x, limit), (x <= limit).astype(int))
    fit = learn(X, Plan(2, family="weibull", random_state=0))
    objectives = np.array([step.objective for step in fit.history])
    assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[:-1])).all()
    assert fit.log_likelihood == pytest.approx(fit.mixture.log_density(X).sum(), rel=1e-9)
    errors = standard_errors(fit, X)
    assert (np.abs(fit.mixture.source["scale"].ravel() - [2.0, 15.0]) < 4 * errors.source["scale"].ravel()).all()


@pytest.mark.parametrize("algorithm", ["em", "hard-em"])
def test_censored_lifetimes_are_estimated_by_a_formula_as_they_are_step_by_step(monkeypatch, algorithm):
    x, rng = TRUTHS["weibull"].sample(300, 1)[:, 0], np.random.default_rng(1)
    limit = np.where(rng.random(300) < 0.05, 0.0, rng.uniform(2, 30, 300))  # above zero: nothing is known
    X, weights = Intervals.from_events(np.minimum(x, limit), (x <= limit).astype(int)), rng.exponential(size=300)
    plan = Plan(2, family="weibull", algorithm=algorithm, random_state=0)
    fit = learn(X, plan, sample_weight=weights)
    objectives = np.array([step.objective for step in fit.history])
    assert (np.diff(objectives) >= -1e-9 * np.abs(objectives[:-1])).all()
    monkeypatch.setattr(f.weibull.ShapedWeibull, "censored_estimate", lambda *_: None)
    assert fit.objective == pytest.approx(learn(X, plan, sample_weight=weights).objective, abs=0.02)


def test_a_component_of_censored_lifetimes_alone_keeps_its_distribution():
    before = {"scale": np.array([2.0, 9.0]), "shape": np.array([1.5, 3.0])}
    shares = np.array([[1.0, 0.0]] * 3)
    found = f.Weibull().censored_estimate(
        np.array([1.0, 2.0, 3.0]), shares, np.array([8.0, 9.0]), shares[:2, ::-1], before, 0.0
    )
    alone = f.Weibull().mle([[1.0], [2.0], [3.0]]).source
    assert found["scale"] == pytest.approx([alone["scale"].item(), 9.0])
    assert found["shape"] == pytest.approx([alone["shape"].item(), 3.0])


def test_grouped_counts():
    counts = Mixture.from_source("negative-binomial", [1.0], mean=[6.0], size=[2.0]).sample(400, 0)[:, 0]
    low = 3 * np.floor(counts / 3)
    fit = learn(Intervals(low, low + 2), Plan(1, family="negative-binomial"))
    assert fit.mixture.source["mean"].item() == pytest.approx(counts.mean(), rel=0.02)
    assert fit.mixture.source["size"].item() == pytest.approx(2.0, rel=0.3)


# What is known of rows, and rows in chunks ----------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["negative-binomial", "student-t"])
@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
def test_labels_and_groups_hold(family, estimator):
    rng, truth = np.random.default_rng(1), np.arange(120) % 2
    X = (rng.negative_binomial(3, 0.5, 120) + 20 * truth * rng.integers(1, 3, 120)).astype(float)[:, None]
    labels = np.where(rng.random(120) < 0.3, 1 - truth, -1)
    labels[0] = 0  # against what its value says
    model = estimator(2, family=family, random_state=0).fit(X, labels=labels)
    assert (model.labels_[labels >= 0] == labels[labels >= 0]).all()
    assert np.mean(model.labels_ == 1 - truth) > 0.9
    objectives = [step.objective for step in model.result_.history]
    assert (np.diff(objectives) >= -1e-9).all()
    if estimator is ExponentialFamilyMixture:
        density = model.mixture_.log_joint(X)
        density[labels >= 0, 1 - labels[labels >= 0]] = -np.inf
        assert model.result_.log_likelihood == pytest.approx(logsumexp(density, axis=1).sum(), rel=1e-9)
    groups = np.arange(120) // 6 * 2 + truth
    grouped = estimator(2, family=family, random_state=0).fit(X, groups=groups)
    for members in (grouped.labels_[groups == group] for group in range(40)):
        assert len(set(members.tolist())) == 1
    np.testing.assert_allclose(grouped.weights_, [0.5, 0.5], atol=0.05)


@pytest.mark.parametrize("family", ["weibull", ["student-t", "gaussian"]])
def test_streams_and_dask_are_fitted_as_rows_in_memory_are(family):
    dask = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.weibull(1.5, 200), 8 * rng.weibull(4.0, 150)]).round(2)[:, None] + 0.01
    plan = Plan(2, family=family, random_state=0)
    fit = learn(X, plan)
    streamed = learn(lambda: (X[start : start + 100] for start in range(0, 350, 100)), plan)
    collected = learn(dask.from_array(X, chunks=(100, 1)), plan)
    for other in (streamed, collected):
        assert other.log_likelihood == pytest.approx(fit.log_likelihood, abs=0.1)
        np.testing.assert_array_equal(np.asarray(other.labels), other.mixture.predict(X))
    weighted = learn(lambda: iter([(X, np.full(350, 0.5))]), plan)
    assert weighted.log_likelihood == pytest.approx(streamed.log_likelihood, abs=0.1)


def test_streams_of_too_many_different_rows_are_refused(monkeypatch):
    monkeypatch.setattr(gathered, "MOST_ROWS", 20)
    X = np.random.default_rng(0).weibull(1.5, (30, 1))
    with pytest.raises(ValueError, match="more than 4000000 are different"):
        learn(lambda: iter([X[:15], X[15:]]), Plan(1, family="weibull"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X: KMLE(2, family="weibull", algorithm="hartigan").fit(X), "cannot estimate weibull"),
        (lambda X: KMLE(2, family="weibull", empty_components="reseed").fit(X), "use 'drop'"),
        (lambda X: ExponentialFamilyMixture(2, family="weibull").fit(-X), "weibull accepts numbers above 0"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call(np.random.default_rng(0).weibull(1.5, (30, 1)))


def test_bounds_are_noted():
    counts = np.random.default_rng(0).binomial(10, 0.5, (200, 1)).astype(float)
    fit = learn(counts, Plan(1, family="negative-binomial"))
    assert any("size 1e+07 (in effect Poisson)" in note for note in fit.notes)
    beside = np.column_stack([np.arange(200.0), counts])
    product = learn(beside, Plan(1, family=f.Product((f.Gaussian(), f.NegativeBinomial(None)))))
    assert (
        "Component 0 has size 1e+07 (in effect Poisson) in column 1, the bound of what is estimated." in product.notes
    )


def test_counts_that_are_poisson_in_effect_are_noted():
    rng = np.random.default_rng(0)
    poisson = rng.negative_binomial(200.0, 200 / 204, (400, 1)).astype(float)
    fit = learn(poisson, Plan(1, family="negative-binomial"))
    size = fit.mixture.source["size"].item()
    assert 40 < size < 1e6
    assert f"Component 0 has size {size:.3g} (in effect Poisson)." in fit.notes
    overdispersed = rng.negative_binomial(3.0, 3 / 7, (400, 1)).astype(float)
    assert not learn(overdispersed, Plan(1, family="negative-binomial")).notes


@pytest.mark.parametrize("seed", [100, 101])
def test_moves_leave_poor_optima(seed):
    # Without moves both seeds end at -1170.57.
    rng = np.random.default_rng(2)
    component = rng.integers(4, size=400)
    X = (rng.uniform(1, 20, 4)[component] * rng.weibull(rng.uniform(1, 6, 4)[component]))[:, None]
    fit = KMLE(4, family="weibull", random_state=seed).fit(X).result_
    assert fit.starts.improved > 0
    assert fit.objective > -1167.0
    assert len(fit.mixture.weights) == 4
    twice = KMLE(4, family="weibull", random_state=seed).fit(X, sample_weight=np.full(400, 2.0)).result_
    copies = KMLE(4, family="weibull", random_state=seed).fit(np.concatenate([X, X])).result_
    assert twice.objective == pytest.approx(copies.objective, rel=1e-9)


def test_moves_keep_the_kinds_of_components():
    rng = np.random.default_rng(5)
    X = np.concatenate([8 * rng.weibull(4.0, 80), rng.weibull(1.5, 80), rng.gamma(30, 0.5, 80)])[:, None]
    plan = Plan(4, ["weibull", "weibull", "gamma", "gamma"])
    problem = prepare_shapes(X, plan, None, None).problem
    start = problem.first_parameters(problem.gather(np.repeat([0, 1, 2, 3], 60).astype(np.int32), 4))
    trials = moved(problem, start, 100)
    assert len(trials) > 4
    for trial in trials:
        np.testing.assert_array_equal(problem.kind_of(trial.natural), problem.kind_of(start.natural))
        assert np.exp(trial.log_weights).sum() == pytest.approx(1.0)
