"""What a fit reports is true: of its mixture, of its labels, of its weights, also where clusters lie on a boundary."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from algorithms.drawing import ALGORITHMS, HARD, algorithm, assert_never_falls, drawn_rows, fitted, started
from cases import CASES, case_id
from each import for_each
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle import families as f
from kmle.algorithms import run
from kmle.algorithms.certificate import certificate
from kmle.engines.partition import Labelled
from kmle.problem.problem import Parameters, Problem

# Families with clusters on the boundary: constant ones, counts of zero, singular covariances.
BOUNDARY = {
    "poisson": f.Poisson(),
    "bernoulli": f.Bernoulli(),
    "geometric": f.Geometric(),
    "gaussian": f.Gaussian(),
    "diagonal-gaussian": f.DiagonalGaussian(),
    "spherical-gaussian": f.SphericalGaussian(),
    "exponential": f.Exponential(),
    "gamma": f.Gamma(),
    "log-normal": f.LogNormal(),
}


DISCRETE = ("bernoulli", "binomial", "categorical", "multinomial", "poisson", "geometric", "negative-binomial")


def rounded_rows(name, seed, n=40, d=2):
    """Few distinct values, many ties."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(scale=1.5, size=(n, d)))
    if name == "bernoulli":
        return (X > 0).astype(float)
    return X if "gaussian" in name else np.abs(X) + (name in ("gamma", "log-normal", "exponential"))


# The objective --------------------------------------------------------------------------------------------------------


@for_each("name", ALGORITHMS)
@pytest.mark.parametrize("family", BOUNDARY)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_the_objective_never_falls_on_rounded_rows(family, name, data):
    seed, k = data.draw(st.integers(0, 10_000)), data.draw(st.integers(2, 7))
    X = rounded_rows(family, seed)
    if data.draw(st.booleans()):
        X = X[:, :1]
    if data.draw(st.booleans()):
        X = np.column_stack([X, np.ones(len(X))])
    weights = data.draw(st.sampled_from([None, "whole", "half"]))
    drawn = np.random.default_rng(seed).integers(1, 4, len(X)) * (0.5 if weights == "half" else 1.0)
    settled = BOUNDARY[family].for_data(X)
    problem = Problem(settled, X, None if weights is None else drawn, data.draw(st.sampled_from([0.0, 1e-3])))
    init = data.draw(st.sampled_from(["k-mle++", "random"]))
    fit = run(algorithm(name), problem, started(problem, k, seed, init), max_iter=30, tol=0.0)
    assert_never_falls(fit.objectives)


@for_each("name", ["k-mle", "hard-em", "hartigan", "swap"])
@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian"])
def test_seven_gaussians_on_whole_numbers_without_a_prior(family, name):
    X = np.round(np.random.default_rng(4).normal(size=(400, 2)))
    for seed in range(6):
        model = KMLE(7, family=family, algorithm=name, random_state=seed, prior_strength=0, init="k-mle++", n_init=1)
        model.set_params(tol=0.0).fit(X)
        assert_never_falls(model.history_)
        assert model.result_.log_likelihood == pytest.approx(model.mixture_.log_density(X).sum(), rel=1e-7)
        assert model.objective_ == pytest.approx(model.complete_log_likelihood(X), rel=1e-7)
        assert model.certify(X).stable


# Certificates ---------------------------------------------------------------------------------------------------------


def poisson_value(X, labels):
    """The complete log-likelihood at the best rates and weights, without log x!; zeros by their limits."""
    total = 0.0
    for j in np.unique(labels):
        mine = X[labels == j]
        total += xlogy(mine.sum(axis=0), mine.mean(axis=0)).sum() - mine.sum() + len(mine) * np.log(len(mine) / len(X))
    return total


def bernoulli_value(X, labels):
    total = 0.0
    for j in np.unique(labels):
        mine = X[labels == j]
        ones = mine.sum(axis=0)
        total += (xlogy(ones, ones / len(mine)) + xlogy(len(mine) - ones, 1 - ones / len(mine))).sum()
        total += len(mine) * np.log(len(mine) / len(X))
    return total


def penalised_value(problem, X, labels):
    """The objective at what the estimate makes of labels, by densities in the data's own coordinates."""
    k = labels.max() + 1
    parameters = problem.first_parameters(problem.gather(labels.astype(np.int32), k))
    names = np.flatnonzero(parameters.active)
    joint = problem.to_mixture(parameters).log_joint(X)
    likelihood = joint[np.arange(len(X)), np.searchsorted(names, labels)].sum()
    everything = problem.to_mixture(Parameters(problem.prior_natural[None], np.zeros(1))).natural
    divergence = problem.family.kl(everything, problem.to_mixture(parameters).natural)
    return likelihood - problem.prior_strength * divergence.sum()


def largest_gain(value, X, labels):
    """The most that any single row gains by moving to another component."""
    now, best = value(X, labels), -np.inf
    for row in range(len(X)):
        for target in range(labels.max() + 1):
            if target != labels[row] and (labels == target).any():
                moved = labels.copy()
                moved[row] = target
                best = max(best, value(X, moved) - now)
    return best


def judged(problem, labels, prior):
    """The certificate of the best parameters for labels, and the labels it is about; None if rows prefer others."""
    k = labels.max() + 1
    mixture = problem.to_mixture(problem.first_parameters(problem.gather(labels.astype(np.int32), k)))
    if mixture.n_components < k or not np.array_equal(mixture.predict(problem.rows.X), labels):
        return None
    return certificate(mixture, problem.rows.X, prior_strength=prior)


@for_each("prior", [0.0, 0.5])
@for_each("name", ["poisson", "bernoulli", "geometric", "diagonal-gaussian", "gaussian", "exponential"])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 100_000), n=st.integers(4, 9), k=st.integers(2, 3), d=st.integers(1, 2))
def test_hartigan_stable_is_said_only_where_no_single_move_gains(name, prior, seed, n, k, d):
    X = rounded_rows(name, seed, n, d)
    problem = Problem(BOUNDARY[name].for_data(X), X, None, prior)
    try:
        fit = fitted(problem, "hard-em", k, seed, tol=0.0)
    except ValueError:  # fewer distinct rows than components
        return
    labels = np.unique(fit.labels, return_inverse=True)[1]
    found = judged(problem, labels, prior)
    if found is None or found.kind == "not stable":
        return
    own = {"poisson": poisson_value, "bernoulli": bernoulli_value}.get(name) if prior == 0 else None
    gain = largest_gain(own or (lambda X, labels: penalised_value(problem, X, labels)), X, labels)
    tolerance = 1e-6 if own is None else 1e-8
    if found.kind == "Hartigan-stable":
        assert gain <= tolerance
    elif found.details["rows_gaining_alone"]:
        assert gain > -tolerance
        assert found.details["largest_gain"] == pytest.approx(gain, rel=1e-4, abs=1e-4)


def test_a_cluster_of_zeros_is_valued_by_its_limit():
    X, labels = np.array([18, 20, 5, 2, 21, 3, 0, 1.0])[:, None], np.array([1, 1, 2, 2, 1, 2, 0, 0])
    model = KMLE(3, family="poisson", init=labels, algorithm="hard-em", prior_strength=0).fit(X)
    moved = labels.copy()
    moved[7] = 2
    assert poisson_value(X, moved) - poisson_value(X, labels) == pytest.approx(0.6441, abs=1e-3)
    if np.array_equal(model.labels_, labels):
        assert model.certify(X).kind == "Lloyd-stable"
        assert model.certify(X).details["largest_gain"] >= 0.644
    better = KMLE(3, family="poisson", init=labels, algorithm="hartigan", prior_strength=0).fit(X)
    assert better.certify(X).kind == "Hartigan-stable"
    assert poisson_value(X, better.labels_) >= poisson_value(X, moved) - 1e-9


@for_each("name", ["hartigan", "swap"])
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_moves_make_no_spikes(case, name):
    """Without a prior a component on one row gains without end in most families; neither method goes there."""
    for seed in range(3):
        problem = Problem(case.family, drawn_rows(case, 60, seed))
        start = started(problem, 3, seed)
        fits = [run(algorithm(kind), problem, start, max_iter=500) for kind in ("hard-em", name)]
        spikes = [spikes_in(problem, fit) for fit in fits]
        assert spikes[1] <= spikes[0]


def spikes_in(problem, fit):
    """Components on a single row, or on copies of it, of laws that have densities without a bound."""
    if problem.family.name in DISCRETE:
        return 0
    rows = [np.unique(problem.rows.X[fit.labels == j], axis=0) for j in range(fit.mixture.n_components)]
    one_statistic = problem.family.n_statistics == problem.family.n_features or problem.family.name.startswith("fixed")
    return 0 if one_statistic else sum(len(distinct) == 1 for distinct in rows)


def test_a_fixpoint_is_one():
    rng = np.random.default_rng(2)
    X = np.concatenate([rng.normal(0, 1, (20_000, 1)), rng.normal(1.0, 1, (20_000, 1))])
    early = ExponentialFamilyMixture(2, tol=1e-6, init="k-means", n_init=1, random_state=0).fit(X)
    found = early.certify(X)
    if found.kind == "EM fixpoint":
        more = ExponentialFamilyMixture(2, tol=1e-12, init=early.mixture_, max_iter=5000).fit(X)
        assert more.objective_ - early.objective_ < 1.0
    else:
        assert found.details["left"] > 0.1
    assert ExponentialFamilyMixture(2, random_state=0).fit(X).certify(X).kind == "EM fixpoint"


# What a fit says of its mixture ---------------------------------------------------------------------------------------


def rounding_of(mixture, n):
    """What rounding may do to scores of components without a direct density that are next to a floor."""
    if mixture.family.direct_log_density(mixture.sample(1, random_state=0), mixture.natural) is not None:
        return 0.0
    return 16 * np.finfo(float).eps * n * (mixture.weights @ np.abs(mixture.natural * mixture.moment).sum(axis=1))


def assert_true(fit, X, weights, rel=1e-7):
    """A fit's numbers are those of its mixture on the rows."""
    counted = np.ones(len(X)) if weights is None else weights
    joint = fit.mixture.log_joint(X)
    allowed = rel * max(1.0, abs(fit.log_likelihood)) + rounding_of(fit.mixture, counted.sum())
    assert fit.log_likelihood == pytest.approx(counted @ fit.mixture.log_density(X), abs=allowed)
    assert fit.complete_log_likelihood == pytest.approx(counted @ joint.max(axis=1), abs=allowed)
    assert fit.n == pytest.approx(counted.sum())
    if fit.prior_strength == 0:
        soft = fit.algorithm in ("em", "sparse-em")
        reported = fit.log_likelihood if soft else fit.complete_log_likelihood
        if fit.n_responsibilities is None:
            assert fit.objective == pytest.approx(reported, abs=allowed)


@for_each("prior", [0.0, 1e-3])
@for_each("name", ALGORITHMS)
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_a_fit_says_what_its_mixture_says(case, name, prior):
    few = drawn_rows(case, 30, seed=3)
    X = np.concatenate([few, few[:10], few[:10]])
    for weights in (None, np.random.default_rng(0).integers(1, 4, len(X)).astype(float)):
        fit = fitted(Problem(case.family, X, weights, prior), name, max_iter=40)
        assert_true(fit, X, weights)


@pytest.mark.parametrize("constant", [7.3, 1e9, 0.0, -3e-5])
@for_each("prior", [0.0, 1e-3])
@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian"])
def test_a_constant_column(family, prior, constant):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(0, 1, (80, 2)) + 4 * (np.arange(80) % 2)[:, None], np.full(80, constant)])
    for model in (KMLE(3, family=family), ExponentialFamilyMixture(3, family=family)):
        model.set_params(prior_strength=prior, random_state=0).fit(X)
        assert_true(model.result_, X, None)
        assert model.score(X) * len(X) == pytest.approx(model.result_.log_likelihood, rel=1e-7)
        for criterion in ("aic", "aicc", "bic", "icl"):
            assert getattr(model, criterion)(X) == pytest.approx(model.result_.criteria.value(criterion), rel=1e-7)
        assert model.certify(X).stable


# Weights of components ------------------------------------------------------------------------------------------------


@for_each("name", ALGORITHMS)
@pytest.mark.parametrize("family", ["poisson", "gaussian", "exponential"])
@for_each("prior", [0.0, 1e-3])
def test_prescribed_weights_stay_when_a_component_has_no_rows(family, prior, name):
    X = rounded_rows(family, 1, 12, 1) * 4 + (np.arange(12) % 2)[:, None]
    settled = BOUNDARY[family].for_data(X)
    prescribed = np.array([0.2, 0.3, 0.5])
    problem = Problem(settled, X, None, prior, prescribed)
    first = problem.estimate(np.repeat(problem.prior_moment[None], 3, axis=0))
    fit = fitted(problem, name, start=Parameters(first, np.log(prescribed)))
    np.testing.assert_allclose(fit.mixture.weights, prescribed)
    assert_never_falls(fit.objectives)
    assert_true(fit, X, None)
    if name in HARD:
        penalty = problem.penalty(problem.from_mixture(fit.mixture))
        assert fit.objective == pytest.approx(fit.complete_log_likelihood + penalty, rel=1e-9, abs=1e-9)
        statistics = problem.gather(fit.labels.astype(np.int32), 3)
        found = problem.from_mixture(fit.mixture)
        direct = problem.complete_objective(found, statistics, Labelled(fit.labels))
        assert direct == pytest.approx(fit.objective, rel=1e-9, abs=1e-9)


def test_an_estimator_keeps_prescribed_weights_and_says_so():
    X = np.array([[1.0], [2.0], [1.0], [30.0], [28.0], [33.0]])
    start = Mixture.from_source("poisson", [0.1, 0.45, 0.45], rate=[1.4, 1.4, 30.0])
    model = KMLE(3, family="poisson", weights=[0.1, 0.45, 0.45], init=start).fit(X)
    np.testing.assert_allclose(model.weights_, [0.1, 0.45, 0.45], rtol=1e-12)
    assert any("prescribed weights are kept" in note for note in model.notes_)


# Sample weights -------------------------------------------------------------------------------------------------------

POINTS = np.concatenate(
    [np.random.default_rng(0).normal(0, 1, (60, 2)), np.random.default_rng(0).normal(4, 1, (50, 2))]
)
COPIES = np.random.default_rng(0).integers(0, 4, len(POINTS))


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_relative_weights_may_be_scaled(kind):
    shares = COPIES / COPIES.sum()
    one, other = (kind(2, random_state=0).fit(POINTS, sample_weight=factor * shares) for factor in (1.0, 1 / 7))
    np.testing.assert_allclose(one.mixture_.natural, other.mixture_.natural, rtol=1e-9)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-12)
    assert one.result_.criteria.bic == pytest.approx(one.bic(POINTS, sample_weight=5e-3 * shares), rel=1e-12)
    assert any("relative" in note for note in one.notes_)
    assert one.certify(POINTS, shares).stable
    # The prior has no more say than with counts: a whole observation of it would be seen.
    counts = kind(2, random_state=0).fit(POINTS, sample_weight=COPIES)
    assert not any("relative" in note for note in counts.notes_)
    truth = counts.score(POINTS, sample_weight=COPIES)
    assert one.score(POINTS, sample_weight=shares) == pytest.approx(truth, abs=1e-3)


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_whole_weights_are_copies(kind):
    copied = np.repeat(POINTS, COPIES, axis=0)
    weighted = kind(3, random_state=0).fit(POINTS, sample_weight=COPIES)
    repeated = kind(3, random_state=0).fit(copied)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-9)
    for name in ("score", "aic", "aicc", "bic", "icl", "complete_log_likelihood"):
        value = getattr(weighted, name)(POINTS, sample_weight=COPIES)
        assert value == pytest.approx(getattr(weighted, name)(copied), rel=1e-12)
    assert weighted.bic(POINTS, sample_weight=COPIES) == pytest.approx(weighted.result_.criteria.bic, rel=1e-9)


def test_a_stream_is_scored_by_its_weights():
    model = KMLE(2, random_state=0).fit(POINTS)
    batches = [(POINTS[start : start + 30], COPIES[start : start + 30]) for start in range(0, len(POINTS), 30)]
    assert model.score(iter(batches)) == pytest.approx(model.score(POINTS, sample_weight=COPIES))


def test_relative_weights_of_a_stream():
    shares = COPIES / COPIES.sum()
    whole = KMLE(2, init="k-mle++", n_init=1, random_state=0, engine="dense").fit(POINTS, sample_weight=shares)
    batches = [(POINTS[start : start + 30], shares[start : start + 30]) for start in range(0, len(POINTS), 30)]
    parts = KMLE(2, init=whole.mixture_, engine="dense").fit(lambda: iter(batches))
    assert parts.result_.n == pytest.approx(np.count_nonzero(COPIES))
    assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-6)
    assert any("relative" in note for note in parts.notes_)
