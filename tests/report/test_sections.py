"""What the sections of the page say: columns, rows, correlations, choice, starts, ascent, calibration."""

import numpy as np
import pytest

from kmle import KMLE, ExponentialFamilyMixture, Mixture, select
from kmle.families import Gamma, Gaussian, Poisson, Product
from kmle.inspection import posterior_entropy, standard_errors
from kmle.report import document as document_module
from kmle.report import write_report
from kmle.report.figure import line_of, rounded, shared_lists
from kmle.report.parameters import parameters_of
from kmle.report.summary import warnings_of
from report.test_page import LIBRARY, Page, plane


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.setattr(document_module, "plotly", lambda: LIBRARY)

    def write(*args, **settings):
        return Page(write_report(tmp_path / "report.html", *args, **settings).read_text(encoding="utf-8"))

    return write


@pytest.fixture(scope="module")
def mixed():
    family = Product((Poisson(), Gamma(), Gaussian(n_features=2)))
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 300)
    normal = rng.normal(size=(300, 2)) @ [[1.0, 0.5], [0.0, 1.0]] + 6 * z[:, None]
    X = np.column_stack([rng.poisson(np.array([2, 20])[z]), rng.gamma(np.array([3, 30])[z]), normal])
    return ExponentialFamilyMixture(2, family=family, random_state=0).fit(X), X, ["visits", "amount", "temp", "wind"]


def test_mixed_columns_keep_their_names(mixed, written):
    model, X, names = mixed
    text = written(model, X, names).text
    assert "gamma_shape" not in text
    assert "amount shape" in text
    assert "visits rate" in text
    assert "temp mean" in text


def test_mixed_columns_have_contours_in_every_pair(mixed, written):
    model, X, names = mixed
    page = written(model, X, names)
    views = page.panels["data"]
    # All pairs together, six pairs, four columns.
    assert len(views) == 1 + 6 + 4
    for view in views[1:7]:
        lines = [trace for trace in view["data"] if trace["mode"] == "lines"]
        assert len(lines) == 2, view["layout"]["xaxis"]["title"]


def test_standard_deviations_and_correlations_stand_for_covariances(written):
    X = plane()
    model = ExponentialFamilyMixture(2, random_state=0).fit(X)
    page = written(model, X, ["a", "b"])
    assert "covariance" not in page.text
    covariance = model.mixture_.source["covariance"]
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    errors = standard_errors(model, X)
    parameters = {p.name: p for p in parameters_of(model.mixture_, errors, ("a", "b"))}
    np.testing.assert_allclose(parameters["std. dev."].values, deviation)
    # Delta method, checked by the errors of the variances themselves.
    spread = np.diagonal(errors.source["covariance"], axis1=1, axis2=2)
    np.testing.assert_allclose(parameters["std. dev."].errors * 2 * deviation, spread)
    (correlation,) = parameters["correlation"].entries
    np.testing.assert_allclose(correlation[1], covariance[:, 0, 1] / deviation.prod(axis=1))
    assert correlation[0] == "a, b"


def test_the_choice_of_components_and_family_is_shown(written):
    X = np.random.default_rng(0).gamma(4.0, size=(200, 1))
    found = select(X, ["gamma", "log-normal"], range(1, 4), random_state=0)
    page = written(found.best_estimator, X, selection=found)
    (view,) = page.panels["choice"]
    lines = {trace["name"]: trace for trace in view["data"]}
    assert {name.removesuffix(" (above)") for name in lines} == {"gamma", "log-normal", "best"}
    assert lines["gamma"]["x"] == [1, 2, 3]
    expected = [c.value("bic") for c in found.candidates if c.name == "gamma"]
    np.testing.assert_allclose(lines["gamma"]["y"], expected, rtol=1e-3)
    assert found.sentence in page.text
    assert "choice" not in written(found.best_estimator, X).panels


def test_the_learning_chart_shows_the_whole_ascent(written):
    X = np.random.default_rng(0).normal(size=(300, 2)) + np.repeat([[0, 0], [3, 1], [1, 4]], 100, axis=0)
    model = ExponentialFamilyMixture(3, random_state=0).fit(X)
    (view,) = written(model, X).panels["history"]
    search, steps = view["data"]
    assert search["name"] == "search"
    assert search["y"] == pytest.approx([len(X) * value for value in model.result_.starts.ascent])
    assert np.all(np.diff(search["y"]) >= 0)
    assert search["x"][-1] + 1 == steps["x"][0]
    assert steps["y"] == pytest.approx(list(model.result_.objectives))


def test_rows_in_doubt_are_listed_worst_first(written):
    X = np.random.default_rng(0).normal(size=(200, 1)) + np.repeat([[0.0], [3.0]], 100, axis=0)
    model = ExponentialFamilyMixture(2, random_state=0).fit(X)
    text = written(model, X, row_names=lambda row: f"line-{row}-").text
    listed = text.partition("Least certain rows")[2].partition("Least probable rows")[0]
    worst = np.argsort(-posterior_entropy(model, X))[:10]
    places = [listed.index(f"line-{row}-") for row in worst]
    assert places == sorted(places)
    improbable = text.partition("Least probable rows")[2].partition("Columns")[0]
    assert f"line-{np.argmin(model.score_samples(X))}-" in improbable


def test_certain_rows_are_not_in_doubt(written):
    X = np.repeat([[0.0], [100.0]], 50, axis=0) + np.random.default_rng(0).normal(size=(100, 1))
    assert "Every row has an almost certain component" in written(KMLE(2, random_state=0).fit(X), X).text


def test_quantiles_and_transforms_of_the_right_mixture_are_straight_and_flat(written):
    mixture = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[0.0], [8.0]], covariance=[[[1.0]], [[4.0]]])
    X = mixture.sample(4000, 0)
    page = written(ExponentialFamilyMixture(2, random_state=0).fit(X), X)
    (view,) = page.panels["quantiles"]
    dots = view["data"][1]
    np.testing.assert_allclose(dots["x"][10:-10], dots["y"][10:-10], atol=0.3)
    (view,) = page.panels["transforms"]
    bars = np.array(view["data"][0]["y"])
    assert bars.mean() == pytest.approx(1.0, abs=1e-3)
    assert np.abs(bars - 1).max() < 0.3


def test_well_apart_is_not_said_of_an_overfitted_model(written):
    X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    assert "well separated" in written(KMLE(3, random_state=0).fit(X), X).text
    text = written(KMLE(14, random_state=0).fit(X), X).text
    assert "well separated" not in text
    assert "too many components" in text


@pytest.mark.parametrize(
    ("values", "whole", "expected"),
    [
        (np.arange(50.0), False, "an index or an id?"),
        (np.arange(50.0), True, "an index or an id?"),
        (np.append(np.zeros(60), np.arange(100.0) ** 1.1), False, "of the values are 0"),
        (np.repeat([1.0, 2.0, 3.0], 20), False, "only 3 distinct values"),
        (np.append(np.random.default_rng(0).normal(size=500), 99.0), False, "1 value far outside"),
        (np.random.default_rng(0).pareto(1.2, 500), False, "skewed to the right"),
    ],
)
def test_columns_are_warned_of(values, whole, expected):
    assert any(expected in warning for warning in warnings_of(values, whole))


def test_ordinary_columns_are_not():
    assert warnings_of(np.random.default_rng(0).normal(size=500)) == []
    assert warnings_of(np.random.default_rng(0).poisson(3, 500).astype(float), whole=True) == []


def test_the_summary_of_a_column_is_true(written):
    X = np.random.default_rng(0).normal(5, 2, size=(101, 2))
    text = written(KMLE(1).fit(X), X, ["height", "width"]).text.partition("Columns")[2]
    row = text[text.index("height") :]
    for number in (X[:, 0].min(), np.median(X[:, 0]), X[:, 0].max(), X[:, 0].mean(), X[:, 0].std()):
        assert f"{number:.3f}" in row


def test_numbers_are_as_exact_as_a_figure_shows():
    years = np.linspace(2001.0, 2002.0, 50)
    np.testing.assert_allclose(rounded(years), years, atol=6e-4)
    stamps = 1.7e9 + np.arange(50.0)
    np.testing.assert_allclose(rounded(stamps), stamps, rtol=0, atol=0.01)
    decades = np.geomspace(1e-4, 1e5, 30)
    np.testing.assert_allclose(rounded(decades), decades, rtol=6e-3)
    assert rounded([np.nan, 1.0]) == [None, 1.0]


def test_equal_lists_are_in_the_page_once():
    long = [float(value) for value in range(30)]
    content, lists = shared_lists({"a": {"x": long, "y": list(long)}, "b": [{"x": long[:3]}]})
    assert lists == [long]
    assert content == {"a": {"x": {"shared": 0}, "y": {"shared": 0}}, "b": [{"x": [0.0, 1.0, 2.0]}]}
    assert line_of([np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[4.0, 5.0]])]) == ([0, 2, None, 4], [1, 3, None, 5])
