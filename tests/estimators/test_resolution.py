"""No component gains by rounding, and no column that says nothing decides anything."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from kmle import KMLE, ExponentialFamilyMixture, Mixture, select
from kmle.data.batches import Batches
from kmle.families import Bernoulli, DiagonalGaussian, Gaussian, Product
from kmle.problem import problem

ROUNDED = np.round(np.random.default_rng(0).normal(size=(300, 2)) * [3.0, 10.0]) * [1.0, 0.1]


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", ["gaussian", "diagonal-gaussian", "spherical-gaussian"])
@pytest.mark.parametrize("prior_strength", [0.0, 1e-3])
def test_components_are_at_least_four_tenths_of_a_step_wide(kind, family, prior_strength):
    model = kind(6, family=family, prior_strength=prior_strength, random_state=0).fit(ROUNDED)
    source = model.mixture_.source
    if family == "gaussian":
        covariance = source["covariance"]
    else:
        covariance = np.stack([np.diag(np.broadcast_to(own, 2)) for own in source["variance"]])
    bound = np.diag([0.16, 0.0016]) if family != "spherical-gaussian" else 0.16 * np.eye(2)
    assert np.linalg.eigvalsh(covariance - bound).min() > -1e-7
    assert np.all(np.diff(model.history_) >= -1e-9 * np.abs(model.history_[1:]))


@pytest.mark.parametrize(("step", "n"), [(1.0, 200), (0.5, 1000), (0.1, 1000)])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_rounded_gaussian_stays_one(step, n, seed):
    X = np.round(np.random.default_rng(seed).normal(0, 3, (n, 1)) / step) * step
    assert select(X, "gaussian", range(1, 7), random_state=0).best.n_components == 1


def test_rounded_gammas_stay_gammas():
    X = np.maximum(np.round(np.random.default_rng(0).gamma(3.0, 1.0, (1000, 1)) * 2) / 2, 0.5)
    families = ("gaussian", "gamma", "log-normal", "inverse-gaussian", "inverse-gamma")
    best = select(X, families, range(1, 6), random_state=0).best
    assert (best.name, best.n_components <= 2) == ("gamma", True)


def test_petal_widths():
    best = select(load_iris().data[:, [3]], n_components=range(1, 8), random_state=0).best
    assert best.n_components <= 4
    assert best.name != "inverse-gamma"


def test_steps_may_be_given():
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = ExponentialFamilyMixture(8, family="diagonal-gaussian", resolution=[2.0, 0.0], random_state=0).fit(X)
    assert np.sqrt(model.mixture_.source["variance"][:, 0].min()) >= 0.8 * (1 - 1e-6)
    np.testing.assert_array_equal(model.result_.resolution.steps, [2.0, 0.0])
    free = ExponentialFamilyMixture(8, family="diagonal-gaussian", resolution=None, random_state=0).fit(X)
    assert free.result_.log_likelihood > model.result_.log_likelihood


@pytest.mark.parametrize("wrong", ["fine", -1.0, [1.0, 2.0, 3.0], [np.nan, 1.0], {}])
def test_other_resolutions_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^resolution is .*\b(auto|zero or more)\b") as caught:
        KMLE(2, resolution=wrong).fit(ROUNDED)
    assert "\n" not in str(caught.value)


def test_chunks_find_the_same_grid():
    whole = ExponentialFamilyMixture(3, random_state=0).fit(ROUNDED)
    parts = ExponentialFamilyMixture(3, random_state=0).fit(Batches(lambda: iter(np.array_split(ROUNDED, 7))))
    np.testing.assert_array_equal(parts.result_.resolution.steps, whole.result_.resolution.steps)
    np.testing.assert_allclose(parts.mixture_.natural, whole.mixture_.natural, rtol=1e-4, atol=1e-6)


def test_notes_say_it():
    frame = pd.DataFrame(ROUNDED, columns=["length", "width"])
    notes = " ".join(ExponentialFamilyMixture(2, random_state=0).fit(frame).notes_)
    assert "length" in notes
    assert "0.4 steps" in notes
    smooth = ExponentialFamilyMixture(2, random_state=0).fit(np.random.default_rng(0).normal(size=(100, 2)))
    assert "steps" not in " ".join(smooth.notes_)


# Columns that say nothing ---------------------------------------------------------------------------------------------


GAMMAS = np.random.default_rng(0).gamma(3.0, 1.0, (400, 2))
FAMILIES = ("gaussian", "diagonal-gaussian", "gamma", "log-normal")


@pytest.mark.parametrize(
    "extra",
    [np.ones(400), np.full(400, 1e8), GAMMAS[:, 0], 2 * GAMMAS[:, 1] + 1, GAMMAS.sum(axis=1)],
    ids=["ones", "far", "copy", "scaled", "sum"],
)
def test_columns_without_news_decide_nothing(extra):
    alone = select(GAMMAS, FAMILIES, range(1, 4), random_state=0)
    more = select(np.column_stack([GAMMAS, extra]), FAMILIES, range(1, 4), random_state=0)
    assert [(c.name, c.n_components) for c in more.ranking] == [(c.name, c.n_components) for c in alone.ranking]
    np.testing.assert_allclose(
        [c.value("bic") for c in more.ranking], [c.value("bic") for c in alone.ranking], rtol=1e-9
    )
    assert more.left_out == ("2",)
    assert more.best_estimator.mixture_.family.n_features == 3
    assert "excluded from the comparison" in str(more)


def test_a_constant_column_changes_no_label():
    X = GAMMAS + np.repeat([[0.0, 0.0], [40.0, 0.0], [0.0, 50.0], [40.0, 50.0]], 100, axis=0)
    plain = KMLE(4, random_state=0).fit(X)
    more = KMLE(4, random_state=0).fit(np.column_stack([X, np.ones(400)]))
    assert adjusted_rand_score(plain.labels_, more.labels_) == 1.0


def test_the_same_candidate_whatever_the_range():
    X = load_iris().data
    several = select(X, "gaussian", range(1, 5), random_state=0)
    alone = select(X, "gaussian", 3, random_state=0)
    fitted = ExponentialFamilyMixture(3, random_state=0).fit(X)
    value = next(c.value("bic") for c in several.candidates if c.n_components == 3)
    assert alone.best.value("bic") == pytest.approx(value, rel=1e-12)
    assert fitted.bic(X) == pytest.approx(value, rel=1e-9)


def test_nested_families():
    """A family that holds another one is at least as likely with as many components."""
    X = np.random.default_rng(4).exponential(1.0, (300, 1))
    selection = select(X, ("gamma", "exponential", "chi-square"), range(1, 4), random_state=0)
    by = {(c.name, c.n_components): c.fit.log_likelihood for c in selection.candidates}
    for k in (1, 2, 3):
        assert by["gamma", k] > max(by["exponential", k], by["chi-square", k]) - 0.5


def test_columns_without_a_scale_are_not_named():
    X = np.column_stack([np.random.default_rng(0).normal(size=200), np.arange(200) % 2, np.round(ROUNDED[:200, 0])])
    family = Product((Gaussian(), Bernoulli(), DiagonalGaussian()))
    (note,) = (n for n in ExponentialFamilyMixture(1, family=family).fit(X).notes_ if "steps" in n)
    assert "column 2 to steps of 1" in note
    assert "column 1" not in note


# Extreme values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("prior_strength", [0.0, 1e-3])
@pytest.mark.parametrize("chunked", [False, True])
def test_one_extreme_value_widens_no_component(kind, prior_strength, chunked):
    rng = np.random.default_rng(1)
    X = (3 * rng.normal(size=400) + np.repeat([0.0, 20.0], 200))[:, None]
    X[3] = 1e6
    data = Batches(lambda: iter(np.array_split(X, 3))) if chunked else X
    model = kind(3, prior_strength=prior_strength, random_state=0).fit(data)
    near = model.mixture_.source["mean"].ravel() < 100
    assert near.sum() == 2
    np.testing.assert_allclose(np.sqrt(model.mixture_.source["covariance"].ravel()[near]), 3.0, atol=0.5)
    assert model.mixture_.n_components == 3
    assert model.result_.log_likelihood == pytest.approx(model.score(X) * len(X), rel=1e-9)


@pytest.mark.parametrize("chunked", [False, True])
def test_an_extreme_value_outside_of_the_sample_widens_no_component(chunked, monkeypatch):
    monkeypatch.setattr(problem, "SAMPLE_ROWS", 200)
    monkeypatch.setattr(problem, "SAMPLE_ROWS_EACH", 1)
    rng = np.random.default_rng(1)
    X = (0.1 * rng.normal(size=4000) + np.repeat([0.0, 20.0], 2000))[:, None]
    start = Mixture.from_source("gaussian", [0.4, 0.4, 0.2], mean=[[0.0], [20.0], [1e6]], covariance=[[[1.0]]] * 3)
    # No sample of 200 rows can hold all of these.
    for place in range(0, 4000, 500):
        Y = X.copy()
        Y[place] = 1e6
        data = Batches(lambda: iter(np.array_split(Y, 3))) if chunked else Y  # noqa: B023
        model = ExponentialFamilyMixture(3, init=start, prior_strength=1.0, random_state=0).fit(data)
        near = model.mixture_.source["mean"].ravel() < 100
        assert np.sqrt(model.mixture_.source["covariance"].ravel()[near]).max() < 1.0


@pytest.mark.parametrize("kind", [KMLE, ExponentialFamilyMixture])
@pytest.mark.parametrize("family", ["poisson", "geometric", "gamma", "gaussian"])
def test_a_value_that_is_extreme_is_so_with_copies_and_with_weights(kind, family):
    """Copies are fitted as one row with a weight; what the prior stands at must not change with that."""
    values = np.array([1.0, 2.0, 3.0, 4.0, 11.0, 1e6])
    counts = np.array([30, 14, 9, 5, 1, 1])
    copies = kind(2, family=family, random_state=1).fit(np.repeat(values, counts)[:, None])
    weighted = kind(2, family=family, random_state=1).fit(values[:, None], sample_weight=counts)
    assert copies.objective_ == pytest.approx(weighted.objective_, rel=1e-9)
    assert copies.certify(np.repeat(values, counts)[:, None]).stable
    assert weighted.certify(values[:, None], counts).stable
