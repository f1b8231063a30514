"""What a fitted estimator offers: labels, posteriors, criteria, samples, starts of every kind, notes, progress."""

import numpy as np
import pytest
from scipy import stats

from algorithms.drawing import drawn_rows, matched
from cases import CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle.algorithms import HardEM, SoftEM
from kmle.seeding import SEEDINGS

BOTH = pytest.mark.parametrize("Model", [KMLE, ExponentialFamilyMixture])
APART = Mixture.from_source("poisson", [0.3, 0.7], rate=[2.0, 50.0])
COUNTS = APART.sample(300, random_state=0)


@BOTH
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_labels_posteriors_and_densities_agree(case, Model):
    X = drawn_rows(case)
    model = Model(3, family=case.family, random_state=0, max_iter=20).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    posterior = model.predict_proba(X)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0, rtol=1e-9)
    assert np.all(posterior[np.arange(len(X)), model.labels_] >= posterior.max(axis=1) - 1e-9)
    assert model.score(X) == pytest.approx(model.score_samples(X).mean(), rel=1e-12)
    assert model.score(X) * len(X) == pytest.approx(model.result_.log_likelihood, rel=1e-7, abs=1e-7)
    complete = model.complete_log_likelihood(X)
    assert complete == pytest.approx(model.result_.complete_log_likelihood, rel=1e-7, abs=1e-7)
    assert complete <= model.score(X) * len(X) + 1e-9
    assert model.family_ == case.family
    assert model.weights_.sum() == pytest.approx(1.0, rel=1e-12)


@BOTH
def test_fit_predict_is_fit_then_predict(Model):
    labels = Model(2, family="poisson", random_state=0).fit_predict(COUNTS)
    np.testing.assert_array_equal(labels, Model(2, family="poisson", random_state=0).fit(COUNTS).labels_)


def test_criteria_by_hand():
    X = np.array([[0.0], [1.0], [1.0], [9.0], [12.0]])
    model = KMLE(2, family="poisson", init=np.array([0, 0, 0, 1, 1]), prior_strength=0).fit(X)
    # Two clusters with means 2/3 and 21/2, and shares 3/5 and 2/5.
    p = 0.6 * stats.poisson(2 / 3).pmf(X[:, 0]), 0.4 * stats.poisson(10.5).pmf(X[:, 0])
    likelihood, complete = np.log(p[0] + p[1]).sum(), np.log(np.maximum(*p)).sum()
    free = 2 + 1
    assert model.score(X) == pytest.approx(likelihood / 5, rel=1e-12)
    assert model.aic(X) == pytest.approx(-2 * likelihood + 2 * free, rel=1e-12)
    assert model.bic(X) == pytest.approx(-2 * likelihood + free * np.log(5), rel=1e-12)
    assert model.icl(X) == pytest.approx(-2 * complete + free * np.log(5), rel=1e-12)
    assert model.aicc(X) == pytest.approx(
        -2 * likelihood + 2 * free + 2 * free * (free + 1) / (5 - free - 1), rel=1e-12
    )
    for name in ("aic", "aicc", "bic", "icl"):
        assert getattr(model.result_.criteria, name) == pytest.approx(getattr(model, name)(X), rel=1e-12)
    assert model.complete_log_likelihood(X) == pytest.approx(complete, rel=1e-12)


@BOTH
def test_samples_are_reproducible_and_labelled(Model):
    model = Model(2, family="poisson", random_state=0).fit(COUNTS)
    X, labels = model.sample(500)
    again, _ = model.sample(500)
    np.testing.assert_array_equal(X, again)
    assert X.shape == (500, 1)
    rates = model.mixture_.source["rate"].ravel()
    for j in range(2):
        own = X[labels == j]
        assert own.mean() == pytest.approx(rates[j], abs=5 * np.sqrt(rates[j] / len(own)))


# Starts ---------------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("init", SEEDINGS)
def test_every_seeding_has_a_name(Model, init):
    model = Model(2, family="poisson", init=init, random_state=0).fit(COUNTS)
    np.testing.assert_allclose(np.sort(model.mixture_.source["rate"].ravel()), [2.0, 50.0], rtol=0.2)


@BOTH
def test_a_start_from_labels(Model):
    labels = (COUNTS[:, 0] > 20).astype(int)
    model = Model(2, family="poisson", init=labels).fit(COUNTS)
    np.testing.assert_array_equal(model.labels_, labels)
    flipped = Model(2, family="poisson", init=1 - labels).fit(COUNTS)
    np.testing.assert_array_equal(flipped.labels_, 1 - labels)


def test_a_start_from_labels_with_rows_of_no_weight():
    labels = (COUNTS[:, 0] > 20).astype(int)
    weights = (np.arange(len(COUNTS)) % 3 > 0).astype(float)
    model = KMLE(2, family="poisson", init=labels).fit(COUNTS, sample_weight=weights)
    np.testing.assert_array_equal(model.labels_, labels)
    heavy = weights > 0
    assert model.mixture_ == KMLE(2, family="poisson", init=labels[heavy]).fit(
        COUNTS[heavy], sample_weight=weights[heavy]
    ).mixture_  # fmt: skip


@BOTH
def test_a_start_from_a_mixture(Model):
    start = Mixture.from_source("poisson", [0.5, 0.5], rate=[60.0, 1.0])
    model = Model(2, family="poisson", init=start).fit(COUNTS)
    rates = model.mixture_.source["rate"].ravel()
    assert rates[0] > rates[1]


def test_more_starts_are_never_worse():
    X = Mixture.from_source("poisson", np.full(6, 1 / 6), rate=[1, 5, 15, 40, 90, 200]).sample(200, random_state=1)
    best = KMLE(6, family="poisson", init="random", n_init=20, random_state=0).fit(X).objective_
    single = [
        KMLE(6, family="poisson", init="random", n_init=1, random_state=seed).fit(X).objective_ for seed in range(20)
    ]
    assert best >= single[0]  # the first start of the twenty is the only one there
    assert best > np.mean(single)


@BOTH
def test_the_same_seed_gives_the_same_model(Model):
    for seed in (0, np.random.RandomState(5), np.random.default_rng(5)):
        models = [Model(3, family="poisson", random_state=0).fit(COUNTS) for _ in range(2)]
        assert models[0].mixture_ == models[1].mixture_
        Model(3, family="poisson", random_state=seed).fit(COUNTS)  # every kind of seed is taken


@BOTH
def test_warm_start_goes_on_from_where_it_was(Model):
    X = np.random.default_rng(0).gamma(np.repeat([2.0, 6.0, 12.0], 100))[:, None]
    settings = {"family": "gamma", "init": "random", "n_init": 1, "random_state": 0, "tol": 0.0}
    model = Model(3, max_iter=2, warm_start=True, **settings).fit(X)
    first = model.objective_
    assert not model.converged_
    objectives = [model.fit(X).objective_ for _ in range(4)]
    assert first <= objectives[0] <= objectives[-1]
    at_once = Model(3, max_iter=10, **settings).fit(X)
    # Momentum begins anew with every fit.
    assert objectives[-1] == pytest.approx(at_once.objective_, rel=1e-3)
    cold = Model(3, max_iter=2, **settings).fit(X)
    assert cold.fit(X).objective_ == pytest.approx(first, rel=1e-12)


def test_an_algorithm_may_be_an_object():
    named = KMLE(2, family="poisson", algorithm="hard-em", random_state=0).fit(COUNTS)
    assert KMLE(2, family="poisson", algorithm=HardEM(), random_state=0).fit(COUNTS).mixture_ == named.mixture_
    model = ExponentialFamilyMixture(2, family="poisson", algorithm=SoftEM(1), random_state=0, tol=0).fit(COUNTS)
    np.testing.assert_array_equal(matched(named.labels_, model.labels_), named.labels_)


def test_sparse_em_lies_between_hard_and_soft():
    X = np.random.default_rng(0).poisson(np.repeat([3, 8, 15], 80))[:, None]
    start = Mixture.from_source("poisson", np.full(3, 1 / 3), rate=[3.0, 8.0, 15.0])
    shared = {"n_components": 3, "family": "poisson", "init": start, "tol": 1e-10}
    scores = [
        ExponentialFamilyMixture(algorithm="sparse-em", n_responsibilities=n, **shared).fit(X).score(X)
        for n in (1, 2, 3)
    ]
    assert scores == sorted(scores)
    assert scores[-1] == pytest.approx(ExponentialFamilyMixture(**shared).fit(X).score(X), rel=1e-12)


# Notes and progress ---------------------------------------------------------------------------------------------------


def test_overlapping_components_are_noted():
    X = np.random.default_rng(0).normal(np.repeat([-1.0, 1.0], 300))[:, None]
    assert any("overlap" in note for note in KMLE(2, init="k-means", n_init=1, random_state=0).fit(X).notes_)
    assert KMLE(2, family="poisson", random_state=0).fit(COUNTS).notes_ == []


def test_components_that_left_are_noted():
    model = KMLE(5, family="poisson", random_state=0).fit([[0], [0], [9], [9], [9], [0]])
    assert model.mixture_.n_components == 2
    assert any(note == "3 of 5 components ended up empty and were removed." for note in model.notes_)


@BOTH
def test_the_iteration_limit_is_noted(Model):
    X = np.random.default_rng(0).normal(size=(500, 2))
    model = Model(5, init="random", n_init=1, random_state=0, max_iter=1, tol=0.0).fit(X)
    assert not model.converged_
    assert any("raise max_iter above 1" in note for note in model.notes_)


def test_the_exact_optimum_knows_no_prior():
    model = KMLE(2, family="poisson", algorithm="exact", prior_strength=5.0).fit(COUNTS)
    assert model.result_.includes_penalty is False
    assert model.objective_ == pytest.approx(model.complete_log_likelihood(COUNTS), rel=1e-9)


@BOTH
def test_progress_goes_to_stderr_when_asked_for(Model, capsys):
    Model(2, family="poisson", random_state=0).fit(COUNTS)
    assert capsys.readouterr() == ("", "")
    Model(2, family="poisson", random_state=0, verbose=1).fit(COUNTS)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines()[0].startswith("iteration 1: objective -")
    Model(2, family="poisson", random_state=0, verbose=2, n_init=2).fit(COUNTS)
    assert "start 2 of 2, iteration 1: objective -" in capsys.readouterr().err


@BOTH
def test_progress_ends_with_the_engine_of_the_fit(Model, capsys):
    model = Model(2, family="poisson", random_state=0, verbose=1).fit(COUNTS)
    assert "distinct rows" in model.result_.engine
    assert f", {model.result_.engine} engine, " in capsys.readouterr().err.splitlines()[-1]


# Online ---------------------------------------------------------------------------------------------------------------


def test_learning_in_pieces():
    truth = Mixture.from_source("gaussian", [0.4, 0.6], mean=[[0, 0], [20, 5]], covariance=[np.eye(2), 3 * np.eye(2)])
    X = truth.sample(4000, random_state=0)
    model = KMLE(2, random_state=0)
    for piece in np.array_split(X, 16):
        model.partial_fit(piece)
    whole = KMLE(2, random_state=0).fit(X)
    assert model.n_iter_ == 16
    order, other = np.argsort(model.weights_), np.argsort(whole.weights_)
    np.testing.assert_allclose(model.weights_[order], whole.weights_[other], atol=5e-3)
    np.testing.assert_allclose(model.mixture_.source["mean"][order], whole.mixture_.source["mean"][other], atol=0.05)
    np.testing.assert_array_equal(matched(whole.labels_, model.predict(X)), whole.labels_)


def test_pieces_and_weights_add_up_exactly():
    # With one component the pieces add to the whole, whatever they are.
    X = np.random.default_rng(0).gamma(3.0, size=(90, 1))
    weights = np.random.default_rng(1).random(90)
    model = KMLE(1, family="gamma", prior_strength=0)
    for piece in np.split(np.arange(90), [7, 50]):
        model.partial_fit(X[piece], sample_weight=weights[piece])
    whole = KMLE(1, family="gamma", prior_strength=0).fit(X, sample_weight=weights)
    np.testing.assert_allclose(model.mixture_.natural, whole.mixture_.natural, rtol=1e-9)


def test_the_online_algorithm_as_a_fit():
    model = KMLE(2, family="poisson", algorithm="online", batch_size=50, random_state=0, max_iter=1).fit(COUNTS)
    assert model.converged_  # max_iter does not cut the data short
    np.testing.assert_allclose(np.sort(model.mixture_.source["rate"].ravel()), [2.0, 50.0], rtol=0.1)
