"""Labels, groups and frozen components."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis

from kmle import KMLE, ExponentialFamilyMixture, Mixture

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"], dtype=object)
PLAIN = {"prior_strength": 0.0, "resolution": None}


def partly(share, seed=0):
    return np.where(np.random.default_rng(seed).random(len(Y)) < share, Y, -1)


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_all_labels_are_discriminant_analysis(kind):
    model = kind(3, **PLAIN).fit(X, labels=Y)
    twin = QuadraticDiscriminantAnalysis().fit(X, Y)
    assert model.n_iter_ == 1
    np.testing.assert_allclose(model.mixture_.source["mean"], twin.means_, rtol=1e-12)
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.predict_class(X) == twin.predict(X)).all()
    assert (model.labels_ == Y).all()


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_a_few_labels_name_the_components(kind):
    labels = partly(0.2)
    names = np.append(NAMES, None)[labels]
    model = kind(3).fit(X, labels=names)
    assert (model.predict_class(X) == NAMES[Y]).mean() > 0.95
    assert (model.labels_ == Y)[labels >= 0].all()
    assert model.classes_.tolist() == NAMES.tolist()


def test_the_likelihood_is_that_of_rows_and_classes():
    labels = partly(0.5)
    model = ExponentialFamilyMixture(6, random_state=0).fit(X, labels=labels)
    joint = np.exp(model.mixture_.log_joint(X))
    own = np.where(labels[:, None] < 0, True, model.component_classes_ == labels[:, None])
    assert model.result_.log_likelihood == pytest.approx(np.log((joint * own).sum(axis=1)).sum(), rel=1e-10)
    known = model.predict_proba(X, labels=labels)
    np.testing.assert_allclose(known, joint * own / (joint * own).sum(axis=1, keepdims=True), atol=1e-12)
    assert (np.asarray(model.component_classes_)[model.labels_] == labels)[labels >= 0].all()


def test_probabilities_that_are_sure_are_labels():
    labels = partly(0.5)
    table = np.full((len(Y), 3), 1 / 3)
    table[labels >= 0] = np.eye(3)[labels[labels >= 0]]
    by_labels = ExponentialFamilyMixture(3).fit(X, labels=labels)
    by_table = ExponentialFamilyMixture(3).fit(X, labels=table)
    assert by_table.result_.log_likelihood == pytest.approx(by_labels.result_.log_likelihood, abs=1e-6)
    np.testing.assert_allclose(by_table.weights_, by_labels.weights_, atol=1e-4)


def test_a_component_of_no_class():
    labels = np.where(partly(0.6) == 2, -1, partly(0.6))
    model = ExponentialFamilyMixture(3, component_classes=[0, 1, None], random_state=0).fit(X, labels=labels)
    assert (model.predict_class(X) == np.where(Y == 2, -1, Y)).mean() > 0.9


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (Y[:10], r"labels has shape \(10,\): one label per row is needed, shape \(150,\)"),
        (np.zeros((150, 2)), r"labels has shape \(150, 2\): probabilities need one row per row and 3 columns"),
        (np.zeros((150, 3)), "row 0 of labels is"),
        (Y + 0.5, "row 0 has the label 0.5: labels must be whole numbers or names"),
        (Y - 2, "row 0 has the label -2: whole numbers must be -1"),
        (np.full(150, -1), "no row has a label"),
        (np.minimum(Y, 1), r"labels have 2 classes \(0, 1\) and n_components is 3"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        ExponentialFamilyMixture(3).fit(X, labels=labels)


def test_unknown_classes_are_refused_at_predict():
    model = ExponentialFamilyMixture(3).fit(X, labels=NAMES[Y])
    with pytest.raises(ValueError, match="row 1 has the label 'rose': the classes are 'setosa', 'versicolor', 'virg"):
        model.predict(X[:2], labels=["setosa", "rose"])
    with pytest.raises(ValueError, match="fitted without labels"):
        ExponentialFamilyMixture(3).fit(X).predict_class(X)


# Groups ---------------------------------------------------------------------------------------------------------------


def repeated(seed=0, n_groups=60, each=8):
    """Subjects of two kinds that single rows cannot tell apart."""
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, n_groups)
    groups = np.repeat(np.arange(n_groups), each)
    return rng.normal(kinds[groups] * 1.5, 1.0)[:, None], groups, kinds


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_groups_share_a_component(kind):
    rows, groups, kinds = repeated()
    model = kind(2, random_state=0).fit(rows, groups=groups)
    labels = model.labels_.reshape(len(kinds), -1)
    assert (labels == labels[:, :1]).all()
    agree = (labels[:, 0] == kinds).mean()
    assert max(agree, 1 - agree) > 0.9
    assert (model.predict(rows, groups=groups) == model.labels_).all()
    assert model.result_.n == len(kinds)


def test_the_likelihood_of_groups_is_that_of_a_plain_loop():
    rows, groups, _ = repeated()
    model = ExponentialFamilyMixture(2, random_state=0).fit(rows, groups=groups)
    densities = model.mixture_.log_joint(rows) - np.log(model.weights_)
    total = sum(
        np.logaddexp.reduce(np.log(model.weights_) + densities[groups == g].sum(axis=0)) for g in range(max(groups) + 1)
    )
    assert model.result_.log_likelihood == pytest.approx(total, rel=1e-10)


def test_groups_of_one_row_change_nothing():
    start = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[0.0], [2.0]], covariance=[[[1.0]], [[1.0]]])
    rows = repeated()[0]
    alone = ExponentialFamilyMixture(2, init=start, tol=1e-12).fit(rows, groups=np.arange(len(rows)))
    plain = ExponentialFamilyMixture(2, init=start, tol=1e-12).fit(rows)
    assert alone.result_.log_likelihood == pytest.approx(plain.result_.log_likelihood, abs=1e-7)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"groups": [1, 2]}, r"groups has shape \(2,\)"),
        ({"groups": [None] * 150}, "row 0 has no group"),
        ({"groups": Y, "labels": np.append([1], Y[1:])}, "rows with different labels"),
        ({"groups": Y, "sample_weight": np.append([2.0], np.ones(149))}, "the sample weights of the group of row 0"),
    ],
)
def test_bad_groups_are_refused(more, message):
    with pytest.raises(ValueError, match=message):
        ExponentialFamilyMixture(3).fit(X, **more)


# Frozen components ----------------------------------------------------------------------------------------------------

START = ExponentialFamilyMixture(3, random_state=0).fit(X).mixture_


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_weights_only(kind):
    model = kind(3, init=START, update_weights_only=True).fit(X[50:])
    kept = np.delete(np.arange(3), model.result_.removed)
    assert np.array_equal(model.mixture_.natural, START.natural[kept])
    assert np.diff(model.history_).min(initial=0) >= 0
    assert model.result_.criteria.n_parameters == len(kept) - 1


def test_prevalence_is_that_of_a_plain_loop():
    density = np.exp(START.log_joint(X[20:90]) - np.log(START.weights))
    weights = START.weights.copy()
    for _ in range(20_000):
        share = weights * density
        weights = (share / share.sum(axis=1, keepdims=True)).mean(axis=0)
    model = ExponentialFamilyMixture(3, init=START, update_weights_only=True, tol=1e-12).fit(X[20:90])
    np.testing.assert_allclose(model.weights_, weights, atol=1e-4)


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_some_parameters_and_weights_are_held(kind):
    model = kind(3, init=START, frozen=[1], frozen_weights=[2]).fit(X[::2])
    assert np.array_equal(model.mixture_.natural[1], START.natural[1])
    assert not np.array_equal(model.mixture_.natural[0], START.natural[0])
    assert model.weights_[2] == pytest.approx(START.weights[2], abs=1e-12)
    assert model.weights_.sum() == pytest.approx(1.0)
    assert np.diff(model.history_).min(initial=0) >= 0
    assert model.result_.criteria.n_parameters == START.n_parameters - 14 - 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": START, "frozen": [3]}, "frozen has 3: components are numbered from 0 to 2"),
        ({"init": START, "frozen": [0.5]}, "it must be indices of components"),
        ({"frozen": [0]}, "give init a Mixture"),
        ({"init": START, "frozen_weights": [0], "weights": "uniform"}, "leave frozen_weights out"),
    ],
)
def test_bad_frozen_components_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ExponentialFamilyMixture(3, **options).fit(X)


def test_algorithms_that_cannot_hold_components_are_named():
    with pytest.raises(ValueError, match="algorithm='hartigan' cannot hold components"):
        KMLE(3, init=START, algorithm="hartigan", frozen=[0]).fit(X)


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
def test_labels_of_rows_with_missing_answers(kind):
    """Bernoulli rows have no densities but those by their statistics."""
    rng = np.random.default_rng(0)
    truth = np.arange(60) % 2
    answers = np.where(rng.random((60, 4)) < 0.2, np.nan, rng.random((60, 4)) < 0.1 + 0.8 * truth[:, None])
    model = kind(2, family="bernoulli", random_state=0).fit(answers, labels=np.where(np.arange(60) < 20, truth, -1))
    assert (np.diff(model.history_) >= -1e-9 * abs(model.objective_)).all()
    assert (model.predict_class(answers) == truth).mean() > 0.8


@pytest.mark.parametrize("family", ["gamma", "gaussian"])
def test_a_class_may_lack_a_column(family):
    rows, labels = np.random.default_rng(0).gamma(3.0, size=(24, 2)), np.repeat([0, 1, -1], 8)
    rows[labels == 0, 1] = np.nan
    model = ExponentialFamilyMixture(2, family=family, random_state=0).fit(rows, labels=labels)
    assert np.isfinite(model.mixture_.natural).all()
    assert (np.diff(model.history_) >= -1e-9 * abs(model.objective_)).all()


def test_a_class_of_tied_covariances_may_have_a_singular_one():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(12, 2))
    X[rng.random((12, 2)) < 0.4] = np.nan
    labels = np.array([1, 1, 1, 0, 0, 0, 2, 2, -1, -1, -1, -1])
    # One value of the second column is known in class 1.
    X[:3, 1] = [np.nan, np.nan, 0.5]
    X[:3, 0] = [1.4, -0.5, -0.5]
    model = KMLE(3, family="gaussian-eee", prior_strength=0, random_state=0).fit(X, labels=labels)
    assert np.isfinite(model.mixture_.natural).all()
    # The covariance becomes singular on the way, so objectives have fewer digits.
    assert np.diff(model.history_).min() > -1e-6


@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "gaussian-eee"])
@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
def test_many_prior_probabilities_with_missing_entries(family, estimator, monkeypatch):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 120)
    X = rng.normal(size=(120, 3)) + 4.0 * group[:, None]
    X[rng.random(X.shape) < 0.2] = np.nan
    shares = np.where(group[:, None] == [0, 1], 0.8, 0.2) * rng.uniform(0.5, 1.5, (120, 2))
    model = estimator(2, family=family, random_state=0).fit(X, labels=shares / shares.sum(axis=1, keepdims=True))
    assert np.diff(model.history_).min(initial=0.0) >= -1e-9 * abs(model.objective_)
    # Rows of a few different probabilities go by these, of many row by row: with the same outcome.
    rounded = np.round(shares / shares.sum(axis=1, keepdims=True), 1)
    by_pattern = estimator(2, family=family, random_state=0).fit(X, labels=rounded).objective_
    monkeypatch.setattr("kmle.estimators.prepare_parts.MOST_PATTERNS", 1)
    by_row = estimator(2, family=family, random_state=0).fit(X, labels=rounded).objective_
    np.testing.assert_allclose(by_row, by_pattern, rtol=1e-12)
