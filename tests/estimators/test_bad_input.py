"""Wrong arguments and wrong data: one sentence that names what is wrong, for both estimators and every family."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from algorithms.drawing import drawn_rows
from cases import CASES, case_id
from each import for_each
from kmle import KMLE, ExponentialFamilyMixture, Mixture
from kmle import families as f

BOTH = for_each("Model", [KMLE, ExponentialFamilyMixture])
X = np.random.default_rng(0).standard_normal((30, 2))


def refusal(fit):
    """The one sentence of the ValueError."""
    with pytest.raises(ValueError, match=r"\w") as caught:
        fit()
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


# Arguments ------------------------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("n_components", [0, -1, 2.5, "3", None, True]),
        ("n_init", [0, 1.5, "1"]),
        ("max_iter", [0, -5, 1.5, None]),
        ("tol", [-1, "small", np.nan, np.inf, None]),
        ("prior_strength", [-1e-9, np.inf, "weak", None]),
        ("empty_components", ["keep", None, 3]),
        ("engine", ["tree", None]),
        ("algorithm", ["lloyd", "exactly", None, 3]),
        ("init", ["k-means||", None, 3, [0, 1], np.zeros(30), np.full(30, 2), np.full(30, -1)]),
        ("weights", ["equal", [0.5, 0.6], [0.2, 0.3, 0.5], [1.5, -0.5], [0.0, 1.0], [np.nan, 1.0], ["a", "b"], 3]),
        ("n_jobs", [0, 1.5, "2"]),
        ("random_state", ["a", -1]),
        ("verbose", ["loud", None]),
    ],
)
def test_wrong_arguments_are_named(Model, name, values):
    for value in values:
        assert name in refusal(lambda value=value: Model(**{"n_components": 2, name: value}).fit(X))


def test_arguments_of_one_estimator_only():
    assert "batch_size is 0" in refusal(lambda: KMLE(2, batch_size=0).fit(X))
    assert "n_responsibilities is 0" in refusal(lambda: ExponentialFamilyMixture(2, n_responsibilities=0).fit(X))
    assert "for KMLE it must be one of k-mle, hard-em" in refusal(lambda: KMLE(2, algorithm="em").fit(X))
    assert "for ExponentialFamilyMixture it must be one of em" in refusal(
        lambda: ExponentialFamilyMixture(2, algorithm="k-mle").fit(X)
    )


@BOTH
def test_families_that_do_not_exist_or_know_too_little(Model):
    assert "did you mean 'gaussian'?" in refusal(lambda: Model(2, family="gausian").fit(X))
    assert "needs its trials" in refusal(lambda: Model(2, family="binomial").fit(X))
    assert "3 columns but the data has 2" in refusal(lambda: Model(2, family=f.Gaussian(n_features=3)).fit(X))
    with pytest.raises(TypeError, match="family is a int: give a short name"):
        Model(2, family=3).fit(X)


@BOTH
def test_starts_that_do_not_fit(Model):
    poisson = Mixture.from_source("poisson", [0.5, 0.5], rate=[[1.0, 2.0], [3.0, 4.0]])
    assert "init is a mixture of poisson" in refusal(lambda: Model(2, init=poisson).fit(X))
    gaussian = Mixture.from_source("gaussian", np.full(3, 1 / 3), mean=X[:3], covariance=[np.eye(2)] * 3)
    assert "init has 3 components, n_components is 2" in refusal(lambda: Model(2, init=gaussian).fit(X))
    assert "init must have as many components as prescribed weights" in refusal(
        lambda: Model(4, init=gaussian, weights="uniform").fit(X)
    )


@BOTH
def test_nothing_can_be_asked_before_a_fit(Model):
    for ask in ("predict", "predict_proba", "score_samples", "score", "aic", "bic", "icl", "complete_log_likelihood"):
        with pytest.raises(NotFittedError):
            getattr(Model(), ask)(X)
    with pytest.raises(NotFittedError):
        Model().sample()


# Data, for every family -----------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_more_components_than_rows(case, Model):
    rows = drawn_rows(case, 6)
    sentence = refusal(lambda: Model(7, family=case.family).fit(rows))
    assert f"n_components is 7 but there are only n_samples = {len(rows)} rows" in sentence


@BOTH
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_more_components_than_distinct_rows(case, Model):
    rows = np.repeat(drawn_rows(case, 3), 4, axis=0)
    distinct = len(np.unique(rows, axis=0))
    model = Model(6, family=case.family, random_state=0).fit(rows)
    assert 1 <= model.mixture_.n_components <= distinct
    assert np.isfinite(model.score(rows))
    assert any("removed" in note for note in model.notes_)


@BOTH
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_one_row_and_equal_rows(case, Model):
    row = drawn_rows(case, 3)[:1]
    for rows in (row, np.repeat(row, 9, axis=0)):
        model = Model(1, family=case.family).fit(rows)
        assert np.isfinite(model.score(rows))
        assert all(np.isfinite(value).all() for value in model.mixture_.source.values())
        assert model.predict(rows).tolist() == [0] * len(rows)


@BOTH
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_missing_and_infinite_values_are_named(case, Model):
    for value, word in ((np.nan, "missing"), (np.inf, "infinite"), (-np.inf, "infinite")):
        rows = drawn_rows(case, 9)
        rows[4, -1] = value
        if word == "missing" and case.family.takes_missing:
            continue  # tests/missing has these
        column = rows.shape[1] - 1
        assert f"row 4, column {column} is {word}" in refusal(lambda rows=rows: Model(2, family=case.family).fit(rows))


@BOTH
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_wrong_sample_weights_are_named(case, Model):
    rows = drawn_rows(case, 9)
    n = len(rows)
    for weights, words in [
        (np.where(np.arange(n) == 2, -1.0, 1.0), "sample_weight[2] is -1"),
        (np.where(np.arange(n) == 2, np.nan, 1.0), "sample_weight[2] is nan"),
        (np.zeros(n), "all sample weights are zero"),
        (np.ones(n + 1), "sample_weight has shape"),
        (np.ones((n, 1)), "sample_weight has shape"),
    ]:
        assert words in refusal(lambda w=weights: Model(2, family=case.family).fit(rows, sample_weight=w))


@BOTH
@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_words_and_wrong_widths(case, Model):
    rows = drawn_rows(case, 9).astype(object)
    rows[2, 0] = "many"
    assert "row 2, column 0 holds 'many', which is not a number" in refusal(
        lambda: Model(2, family=case.family).fit(rows)
    )
    wide = np.ones((9, case.family.n_features + 1))
    assert "columns" in refusal(lambda: Model(2, family=case.family).fit(wide))
    with pytest.raises(ValueError, match="Complex data not supported"):
        Model(2, family=case.family).fit(drawn_rows(case, 9) + 1j)


OUTSIDE = {
    "bernoulli": [[2.0]], "beta": [[1.0]], "binomial": [[13.0]], "categorical": [[7.0]], "chi-square": [[0.0]],
    "dirichlet": [[0.5]], "exponential": [[-1.0]], "fixed-degrees-inverse-wishart": [[-1.0]],
    "fixed-degrees-wishart": [[-1.0]], "fixed-shape-gamma": [[0.0]], "gamma": [[0.0]], "geometric": [[-1.0]],
    "half-normal": [[-1.0]], "inverse-gamma": [[0.0]], "inverse-gaussian": [[0.0]], "inverse-wishart": [[-1.0]],
    "log-normal": [[0.0]], "maxwell": [[-1.0]], "multinomial": [[0.5]], "negative-binomial": [[0.5]],
    "pareto": [[1.0]], "poisson": [[0.5]], "product": [[0.5]], "rayleigh": [[-1.0]],
    "von-mises-fisher": [[2.0]], "weibull": [[-1.0]], "wishart": [[-1.0]],
    "zero-truncated-poisson": [[0.0]],
}  # fmt: skip
EVERYWHERE = {
    "gaussian", "diagonal-gaussian", "spherical-gaussian", "fixed-covariance-gaussian", "laplace",
    "generalized-gaussian", "von-mises",
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_rows_outside_the_support_are_shown(case):
    name = case.family.name
    rows = drawn_rows(case, 9)
    if name in EVERYWHERE:
        rows[3] = -1234.5
        KMLE(2, family=case.family, random_state=0).fit(rows)
        return
    rows[3, 0] = OUTSIDE[name][0][0]
    model = KMLE(2, family=case.family, random_state=0)
    sentence = refusal(lambda: model.fit(rows))
    assert sentence.startswith("row 3")
    assert f"; {name} accepts " in sentence
    fitted = KMLE(2, family=case.family, random_state=0).fit(np.delete(rows, 3, axis=0))
    assert refusal(lambda: fitted.predict(rows)).startswith("row 3")


@BOTH
def test_shapes_that_are_no_table(Model):
    for rows, words in [
        (X[:, 0], "Expected 2D array"),
        (X[None], "Found array with dim 3"),
        (X[:0], "0 sample"),
        (X[:, :0], "0 feature"),
        ([[1.0, 2.0], [3.0]], "different lengths"),
    ]:
        with pytest.raises(ValueError, match=words):
            Model(2).fit(rows)
