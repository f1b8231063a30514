"""Classifier, regressor and outlier detector inside scikit-learn: its own checks, and its estimators as references."""

import numpy as np
import pytest
import sklearn
from sklearn.covariance import EllipticEnvelope
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from kmle import (
    KMLE,
    ExponentialFamilyMixture,
    Mixture,
    MixtureClassifier,
    MixtureOutlierDetector,
    MixtureRegressor,
)

# The rows of that check are 15 with 30 columns: the covariance is singular, and densities on it amplify rounding by
# 1e10. `test_weights_count_rows` is the same check on rows that determine a covariance.
SINGULAR = {"check_sample_weight_equivalence_on_dense_data": "fewer rows than columns: a singular covariance"}


def expected_failures(estimator):
    return SINGULAR if isinstance(estimator, MixtureRegressor | MixtureOutlierDetector) else {}


@parametrize_with_checks(
    [MixtureClassifier(), MixtureClassifier(1), MixtureRegressor(), MixtureOutlierDetector()],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


BLOBS, CLASSES = make_blobs([60, 80, 70], 3, random_state=0, cluster_std=2.0)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (MixtureClassifier(1), "predict_proba"),
        (MixtureClassifier(2, random_state=0), "predict_proba"),
        (MixtureRegressor(1), "predict"),
        (MixtureOutlierDetector(1, contamination=0.1), "score_samples"),
    ],
)
def test_weights_count_rows(model, method):
    weights = np.random.default_rng(0).integers(0, 4, len(BLOBS))
    target = BLOBS[:, 0] ** 2 if isinstance(model, MixtureRegressor) else CLASSES
    weighted = getattr(model.fit(BLOBS, target, sample_weight=weights), method)(BLOBS)
    repeated = np.repeat(np.arange(len(BLOBS)), weights)
    copies = getattr(model.fit(BLOBS[repeated], target[repeated]), method)(BLOBS)
    np.testing.assert_allclose(weighted, copies, rtol=1e-5, atol=1e-6)


# Classifier -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", [load_iris, load_wine, lambda return_X_y: (BLOBS, CLASSES)])
def test_equal_covariances_are_linear_discriminant_analysis(data):
    X, y = data(return_X_y=True)
    linear = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y)
    model = MixtureClassifier(1, family="gaussian-eee").fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), linear.predict_proba(X), atol=1e-8)
    shifted = MixtureClassifier(1, family="gaussian-eee", priors=[0.2, 0.5, 0.3]).fit(X, y)
    expected = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.2, 0.5, 0.3]).fit(X, y)
    # scikit-learn weights the covariances of the classes by the priors; with given ones these are not their shares.
    assert np.mean(shifted.predict(X) == expected.predict(X)) > 0.97


@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_own_covariances_are_quadratic_discriminant_analysis(data):
    X, y = data(return_X_y=True)
    quadratic = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    model = MixtureClassifier(1, family="gaussian").fit(X, y)
    scores = []
    for label, (mean, covariance) in enumerate(zip(quadratic.means_, quadratic.covariance_, strict=True)):
        n = (y == label).sum()
        # Versions of scikit-learn divide by n or by n - 1; maximum likelihood divides by n.
        likelihood = covariance * np.trace(np.cov(X[y == label].T, bias=True)) / np.trace(covariance)
        offset = X - mean
        distance = np.einsum("ni,ni->n", offset, np.linalg.solve(likelihood, offset.T).T)
        scores.append(np.log(n / len(y)) - 0.5 * distance - 0.5 * np.linalg.slogdet(likelihood)[1])
    joint = np.exp(np.array(scores).T - np.max(scores, axis=0)[:, None])
    np.testing.assert_allclose(model.predict_proba(X), joint / joint.sum(axis=1, keepdims=True), atol=1e-8)


def test_the_model_mclust_chooses_for_iris():
    """mclust 6: MclustDA(iris[, 1:4], iris$Species, modelType = "EDDA") chooses VEV and errs on 3 rows of 150."""
    X, y = load_iris(return_X_y=True)
    names = ["eii", "vii", "eei", "vei", "evi", "vvi", "eee", "vee", "eve", "vve", "eev", "vev", "evv", "vvv"]
    model = MixtureClassifier(1, family=[f"gaussian-{name}" for name in names]).fit(X, y)
    assert model.mixtures_[0].family.name == "gaussian-vev"
    assert (model.predict(X) != y).sum() == 3


def test_classes_of_several_components():
    """A class around another one: no single Gaussian tells them apart."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 5 + rng.normal(size=(400, 2)) * 0.3
    bars = np.concatenate([rng.normal(size=(200, 2)) * [4, 0.3], rng.normal(size=(200, 2)) * [0.3, 4]])
    X, y = np.concatenate([ring, bars]), np.repeat(["ring", "bars"], 400)
    several = MixtureClassifier(random_state=0).fit(X, y)
    assert [mixture.n_components for mixture in several.mixtures_] == [2, 5]
    assert several.score(X, y) > 0.92
    assert several.score(X, y) > MixtureClassifier(1).fit(X, y).score(X, y) + 0.05


def test_counts_are_classified_by_naive_bayes():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.poisson(2, (100, 4)), rng.poisson(5, (100, 4))])
    y = np.repeat([0, 1], 100)
    model = MixtureClassifier(1, family="poisson", priors="uniform").fit(X, y)
    rates = np.array([X[y == label].mean(axis=0) for label in (0, 1)])
    joint = X @ np.log(rates).T - rates.sum(axis=1)
    expected = np.exp(joint - np.logaddexp(joint[:, 0], joint[:, 1])[:, None])
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-8)


def test_rejected_rows_are_those_without_a_probable_class():
    X, y = load_iris(return_X_y=True)
    model = MixtureClassifier(1, reject=0.9).fit(X, y)
    unsure = model.predict_proba(X).max(axis=1) < 0.9
    assert unsure.any()
    np.testing.assert_array_equal(model.predict(X) == -1, unsure)
    named = MixtureClassifier(1, reject=0.9).fit(X, np.array(["a", "b", "c"])[y])
    np.testing.assert_array_equal(named.predict(X) == "rejected", unsure)
    other = MixtureClassifier(1, reject=0.9, reject_label=99).fit(X, y)
    np.testing.assert_array_equal(other.predict(X) == 99, unsure)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"priors": [0.5, 0.5]}, "priors must be 3 numbers"),
        ({"priors": "equal"}, "priors is 'equal'"),
        ({"reject": 2}, "reject is 2"),
        ({"n_components": "many"}, "n_components is 'many'"),
        ({"n_components": 1000}, "class 0: n_components is 1000"),
    ],
)
def test_wrong_settings_of_the_classifier(arguments, sentence):
    with pytest.raises(ValueError, match=sentence):
        MixtureClassifier(**arguments).fit(BLOBS, CLASSES)


# Regressor ------------------------------------------------------------------------------------------------------------


def test_one_gaussian_is_linear_regression():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(200, 2)) * 0.3
    model = MixtureRegressor(1, prior_strength=0).fit(X, Y)
    linear = LinearRegression().fit(X, Y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, linear.predict(X), atol=1e-9)
    residual = (Y - linear.predict(X)).std(axis=0)
    np.testing.assert_allclose(std, np.broadcast_to(residual, std.shape), rtol=1e-9)
    assert model.predict_quantile(X[:5], [0.1, 0.9]).shape == (5, 2, 2)
    np.testing.assert_allclose(model.predict_quantile(X[:5], 0.5), mean[:5], rtol=1e-6)


def test_a_curve_and_its_noise_are_learned():
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 2000)
    y = np.sin(2 * x) + rng.normal(size=2000) * np.where(x > 0, 0.3, 0.05)
    model = MixtureRegressor(random_state=0).fit(x[:, None], y)
    grid = np.linspace(-2.8, 2.8, 200)[:, None]
    mean, std = model.predict(grid, return_std=True)
    assert np.abs(mean - np.sin(2 * grid[:, 0])).mean() < 0.1
    assert std[grid[:, 0] > 0.5].mean() > 1.8 * std[grid[:, 0] < -0.5].mean()
    low, high = model.predict_quantile(x[:, None], [0.05, 0.95]).T
    assert np.mean((y > low) & (y < high)) == pytest.approx(0.9, abs=0.03)


def test_the_regressor_is_the_conditional_of_its_mixture():
    model = MixtureRegressor(3, random_state=0).fit(BLOBS[:, :1], BLOBS[:, 1])
    expected = [model.mixture_.condition({0: x}).mean()[0] for x in BLOBS[:10, 0]]
    np.testing.assert_allclose(model.predict(BLOBS[:10, :1]), expected, rtol=1e-9)
    assert isinstance(model.mixture_, Mixture)


def test_counts_are_predicted_by_a_product():
    from kmle import families as f

    rng = np.random.default_rng(0)
    x = rng.normal(size=400) + np.repeat([0.0, 6.0], 200)
    y = rng.poisson(np.repeat([2.0, 20.0], 200))
    family = f.Product((f.Gaussian(n_features=1), f.Poisson()))
    model = MixtureRegressor(2, family=family, random_state=0).fit(x[:, None], y)
    np.testing.assert_allclose(model.predict([[0.0], [6.0]]), [2.0, 20.0], rtol=0.1)
    np.testing.assert_array_equal(model.predict_quantile([[0.0]], 0.5), [2.0])


# Outlier detector -----------------------------------------------------------------------------------------------------


def contaminated(seed, shape):
    """Rows of three different Gaussians and 5 % uniform noise around them."""
    rng = np.random.default_rng(seed)
    n, d = shape
    centers = rng.uniform(-8, 8, (3, d))
    factors = rng.normal(size=(3, d, d)) / np.sqrt(d) + np.eye(d)
    labels = rng.integers(0, 3, n)
    rows = centers[labels] + np.einsum("nij,nj->ni", factors[labels], rng.normal(size=(n, d)))
    noise = rng.uniform(-16, 16, (n // 20, d))
    return np.concatenate([rows, noise]), np.repeat([0, 1], [n, n // 20])


def test_detectors_beside_scikit_learns():
    """The mean area under the ROC curve over seeds and shapes: no lower than that of any of scikit-learn's."""
    table = {}
    for seed in range(3):
        for shape in ((600, 2), (600, 5)):
            X, outlier = contaminated(seed, shape)
            detectors = {
                "mixture": MixtureOutlierDetector(random_state=0),
                "forest": IsolationForest(random_state=0),
                "envelope": EllipticEnvelope(random_state=0, support_fraction=0.9),
                "factor": LocalOutlierFactor(novelty=True),
            }
            for name, detector in detectors.items():
                scores = detector.fit(X).score_samples(X)
                table.setdefault(name, []).append(roc_auc_score(outlier, -scores))
    means = {name: np.mean(areas) for name, areas in table.items()}
    assert means["mixture"] > 0.95
    assert all(means["mixture"] >= means[name] - 0.005 for name in means), means


def test_contamination_is_the_share_of_outliers():
    X, _ = contaminated(0, (600, 2))
    model = MixtureOutlierDetector(contamination=0.08, random_state=0)
    found = model.fit_predict(X)
    assert set(found) == {-1, 1}
    assert np.mean(found == -1) == pytest.approx(0.08, abs=0.003)
    np.testing.assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)
    for share in (0.0, 0.6, "some"):
        with pytest.raises(ValueError, match="contamination"):
            MixtureOutlierDetector(contamination=share).fit(X)


def test_a_far_cluster_is_one_of_outliers():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(300, 2)), rng.normal(size=(200, 2)) + 6, rng.normal(size=(25, 2)) * 0.3 + 16])
    model = MixtureOutlierDetector([1, 2, 3], random_state=0).fit(X)
    assert model.mixture_.n_components == 3
    assert model.normal_.n_components == 2
    assert "Component 2 lies apart from all others and holds 4.8 % of the rows" in model.notes_[-1]
    assert (model.predict(X[500:]) == -1).all()
    assert (model.predict(X[:500]) == -1).mean() < 0.03
    normal = MixtureOutlierDetector([1, 2, 3], cluster_share=0, random_state=0).fit(X)
    assert normal.normal_ == normal.mixture_
    assert (normal.predict(X[500:]) == 1).mean() > 0.9
    # Small groups beside others are no clusters of outliers.
    beside = np.concatenate([X[:500], rng.normal(size=(25, 2)) * 0.3 + 2.5])
    near = MixtureOutlierDetector(3, random_state=0).fit(beside)
    assert near.normal_ == near.mixture_
    with pytest.raises(ValueError, match="cluster_share is 2"):
        MixtureOutlierDetector(cluster_share=2).fit(X)


def test_incomplete_rows_are_outliers_as_often_as_complete_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 3)) @ [[1, 0.8, 0], [0, 0.6, 0], [0, 0, 9]]
    holed = np.where(rng.random(X.shape) < 0.4, np.nan, X)
    model = MixtureOutlierDetector(1, random_state=0).fit(holed)
    found, known = model.predict(holed) == -1, 3 - np.isnan(holed).sum(axis=1)
    for count in (1, 2, 3):
        assert found[known == count].mean() == pytest.approx(0.01, abs=0.005)
    assert not found[known == 0].any()
    np.testing.assert_array_equal(model.score_samples(holed), model.score_samples(holed))


# In scikit-learn ------------------------------------------------------------------------------------------------------


def test_in_pipelines_and_searches():
    search = GridSearchCV(
        make_pipeline(StandardScaler(), MixtureClassifier(random_state=0)),
        {"mixtureclassifier__n_components": [1, 2]},
        cv=3,
    ).fit(BLOBS, CLASSES)
    assert search.best_score_ > 0.9
    assert cross_val_score(MixtureRegressor(1), BLOBS, BLOBS[:, 0] * 2 + BLOBS[:, 1], cv=3).min() > 0.99


@pytest.mark.parametrize(
    "model",
    [KMLE(2), ExponentialFamilyMixture(2), MixtureClassifier(1), MixtureRegressor(1), MixtureOutlierDetector(1)],
)
def test_sample_weights_are_routed(model):
    weights = np.random.default_rng(0).integers(1, 4, len(BLOBS)).astype(float)
    target = BLOBS[:, 0] if isinstance(model, MixtureRegressor) else CLASSES
    with sklearn.config_context(enable_metadata_routing=True):
        asked = model.set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        pipeline.fit(BLOBS, target, sample_weight=weights)
        routed = pipeline[-1]
    scaled = StandardScaler().fit_transform(BLOBS)
    plain = type(model)(**model.get_params()).fit(scaled, target, sample_weight=weights)
    np.testing.assert_allclose(routed.predict(scaled), plain.predict(scaled))


@pytest.mark.parametrize("Model", [KMLE, ExponentialFamilyMixture])
def test_responsibilities_are_features(Model):
    model = Model(3, random_state=0).fit(BLOBS)
    shares = model.transform(BLOBS)
    np.testing.assert_array_equal(shares, model.predict_proba(BLOBS))
    stem = Model.__name__.lower()
    assert model.get_feature_names_out().tolist() == [f"{stem}{place}" for place in range(3)]
    frame = model.set_output(transform="pandas").transform(BLOBS)
    assert frame.columns.tolist() == model.get_feature_names_out().tolist()
    pipeline = make_pipeline(Model(3, random_state=0), LogisticRegression()).fit(BLOBS, CLASSES)
    assert pipeline.score(BLOBS, CLASSES) > 0.9
