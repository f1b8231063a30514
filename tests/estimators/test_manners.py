"""What users of scikit-learn expect: warnings, short reprs, components in an order that means something."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from kmle import KMLE, Batches, ExponentialFamilyMixture, Mixture, select
from kmle.estimators.learn import learn
from kmle.estimators.plan import Plan

TRUTH = Mixture.from_source("poisson", [0.1, 0.65, 0.25], rate=[2.0, 20.0, 60.0])
X = TRUTH.sample(600, random_state=0)
BOTH = pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])


@BOTH
def test_components_come_by_decreasing_weight(kind):
    for seed in range(3):
        model = kind(3, family="poisson", random_state=seed).fit(X)
        assert (np.diff(model.weights_) <= 0).all()
        np.testing.assert_array_equal(model.labels_, model.predict(X))
        assert model.mixture_.source["rate"].ravel() == pytest.approx([20.0, 60.0, 2.0], rel=0.2)


def test_an_order_that_the_user_gave_is_kept():
    labels = np.searchsorted([10, 40], X[:, 0])
    for init in (labels, TRUTH):
        model = KMLE(3, family="poisson", init=init).fit(X)
        assert (np.diff(model.mixture_.source["rate"].ravel()) > 0).all()
    again = KMLE(3, family="poisson", init=TRUTH, warm_start=True).fit(X).set_params(init="auto").fit(X)
    assert (np.diff(again.mixture_.source["rate"].ravel()) > 0).all()
    prescribed = ExponentialFamilyMixture(3, family="poisson", weights=[0.1, 0.65, 0.25], random_state=0).fit(X)
    np.testing.assert_allclose(prescribed.weights_, [0.1, 0.65, 0.25])


def test_labels_of_streams_and_selections_follow_the_order():
    batches = Batches(lambda: iter(np.array_split(X.astype(float) + 0.25, 4)))
    model = KMLE(3, family="gamma", random_state=0).fit(batches)
    assert (np.diff(model.weights_) <= 0).all()
    np.testing.assert_array_equal(model.labels_, model.mixture_.predict(X.astype(float) + 0.25))
    best = select(X, "poisson", [3], random_state=0).best_estimator
    assert (np.diff(best.weights_) <= 0).all()
    np.testing.assert_array_equal(best.labels_, best.predict(X))


@BOTH
def test_the_iteration_limit_warns(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 2))
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        model = kind(5, max_iter=1, init="random", n_init=1, random_state=0, tol=0.0).fit(rows)
    assert not model.converged_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kind(2, random_state=0).fit(rows)


def test_results_have_short_reprs():
    model = ExponentialFamilyMixture(3, family="poisson", random_state=0).fit(X)
    assert len(repr(model.result_)) < 160
    assert repr(model.result_).startswith("<Fit of 3 poisson components to 600 rows: log-likelihood ")
    assert len(repr(model.mixture_)) < 400
    assert len(repr(select(X, "poisson", [1, 2], random_state=0))) < 2000


def test_checkpoints_are_arguments_of_fit(tmp_path):
    path = tmp_path / "fit.ckpt"
    first = KMLE(3, family="poisson", random_state=0).fit(X, checkpoint=path)
    again = KMLE(3, family="poisson", random_state=1).fit(X, checkpoint=path, resume=True)
    assert again.objective_ == first.objective_
    with pytest.raises(ValueError, match="resume needs checkpoint"):
        KMLE(3, family="poisson").fit(X, resume=True)
    assert "checkpoint" not in KMLE().get_params()


@BOTH
def test_learn_is_what_the_estimators_do(kind):
    algorithm = {KMLE: "k-mle", ExponentialFamilyMixture: "em"}[kind]
    fit = learn(X.astype(float), Plan(3, family="poisson", algorithm=algorithm, random_state=5))
    model = kind(3, family="poisson", random_state=5).fit(X)
    np.testing.assert_array_equal(fit.mixture.natural, model.mixture_.natural)
    np.testing.assert_array_equal(fit.labels, model.labels_)
    assert list(fit.notes) == model.notes_
