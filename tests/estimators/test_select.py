"""`select`: the right family and number of components, one table, one problem a family, an estimator that is ready."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from kmle import ExponentialFamilyMixture, Intervals, Mixture, Selection, select
from kmle import families as f
from kmle.estimators import prepare
from kmle.estimators.comparison import compared
from kmle.estimators.plan import Plan
from kmle.estimators.usual import usual_families
from kmle.selection.criteria import CRITERIA

LINE = ("gaussian", "gamma", "log-normal", "inverse-gaussian")
PLANE = ("gaussian", "diagonal-gaussian", "spherical-gaussian")
COUNTING = ("poisson", "geometric")
PLACES = [[0, 0], [12, 0], [0, 15]]
KNOWN = {
    "gaussian": (
        PLANE,
        Mixture.from_source(
            "gaussian",
            [0.5, 0.3, 0.2],
            mean=PLACES,
            covariance=[[[1, 0.7], [0.7, 1]], [[1, -0.6], [-0.6, 2]], [[1, 0.5], [0.5, 1]]],
        ),
    ),
    "diagonal-gaussian": (
        PLANE,
        Mixture.from_source("diagonal-gaussian", [0.4, 0.3, 0.3], mean=PLACES, variance=[[1, 3], [2, 0.5], [1, 4]]),
    ),
    "gamma": (LINE, Mixture.from_source("gamma", [0.4, 0.3, 0.3], shape=[4, 5, 6], scale=[1, 25, 600])),
    "log-normal": (
        LINE,
        Mixture.from_source("log-normal", [0.4, 0.3, 0.3], log_mean=[0, 4, 8], log_std=[0.5, 0.4, 0.6]),
    ),
    "poisson": (COUNTING, Mixture.from_source("poisson", [0.3, 0.4, 0.3], rate=[2, 25, 80])),
    "geometric": (COUNTING, Mixture.from_source("geometric", [0.5, 0.5], probability=[0.5, 0.005])),
}
GAMMAS = Mixture.from_source("gamma", [0.4, 0.6], shape=[3.0, 60.0], scale=[1.0, 1.0]).sample(300, random_state=0)
COUNTS = Mixture.from_source("poisson", [0.5, 0.5], rate=[[1, 5, 2], [9, 1, 30]]).sample(200, random_state=0)


def refusal(**arguments):
    with pytest.raises(ValueError, match=r"\w") as caught:
        select(**{"X": GAMMAS, "families": ("gamma",), **arguments})
    assert "\n" not in str(caught.value)
    return str(caught.value)


# The right answer -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", KNOWN)
def test_the_truth_is_found(name, seed):
    families, truth = KNOWN[name]
    selection = select(truth.sample(5000, random_state=seed), families, range(1, 6), random_state=seed)
    assert (selection.best.name, selection.best.n_components) == (name, truth.n_components)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_best_has_the_lowest_criterion(criterion):
    selection = select(GAMMAS, LINE, range(1, 5), criterion, random_state=0)
    values = [candidate.value(criterion) for candidate in selection.candidates]
    assert selection.best.value(criterion) == min(values)
    ranked = [c.value(criterion) for c in selection.ranking]
    assert ranked == sorted(ranked)
    assert ranked[0] == min(values)
    assert type(selection.best_estimator) is ExponentialFamilyMixture
    assert {c.fit.algorithm for c in selection.candidates} == {"em"}


@pytest.mark.parametrize(("algorithm", "likelihood"), [("em", "log_likelihood"), ("k-mle", "complete_log_likelihood")])
def test_where_more_components_explain_less_a_note_says_so(algorithm, likelihood):
    X = np.random.default_rng(0).normal(size=(150, 2))
    selection = select(X, PLANE, (1, 2, 4, 5, 8), algorithm=algorithm, random_state=0)
    for name in PLANE:
        values = [getattr(c.criteria, likelihood) for c in selection.candidates if c.name == name]
        assert len(values) == 5
        falls = bool(np.any(np.diff(values) < -0.5))
        assert falls == any(
            note.startswith(f"{name} with") and "has a lower likelihood than with" in note for note in selection.notes
        )


def test_components_that_gain_nothing_are_told():
    selection = select(
        [[0.0], [0.0], [5.0], [5.0], [5.0]], "poisson", range(1, 6), "icl", algorithm="k-mle", random_state=0
    )
    assert selection.best.n_components == selection.best.fit.mixture.n_components == 2
    assert selection.candidates[-1].note == "3 of 5 components ended up empty and were removed"
    assert [candidate.n_components for candidate in selection.ranking] == [2, 1]


@pytest.mark.parametrize("algorithm", ["k-mle", "hard-em", "hartigan", "swap", "em", "sparse-em"])
def test_every_algorithm_serves(algorithm):
    selection = select(GAMMAS, "gamma", (1, 2, 3), algorithm=algorithm, random_state=0)
    assert selection.best.n_components == 2
    assert selection.best_estimator.algorithm == selection.best.fit.algorithm == algorithm


# What is reused and what is the same again ----------------------------------------------------------------------------


def test_one_problem_a_family(monkeypatch):
    X = np.random.default_rng(0).gamma(4.0, size=(25_000, 1))
    built = []

    class Counted(prepare.Problem):
        def __init__(self, family, *arguments, **options):
            built.append(family.name)
            super().__init__(family, *arguments, **options)

    monkeypatch.setattr(prepare, "Problem", Counted)
    selection = select(X, ("gamma", "log-normal"), (1, 2, 3), random_state=0, n_jobs=1)
    assert built == ["gamma", "log-normal"]
    assert {c.fit.engine for c in selection.candidates} == {"dense"}


def test_the_same_answer_for_any_number_of_threads():
    tables = [select(GAMMAS, LINE, (1, 2, 3), random_state=1, n_jobs=n).to_frame() for n in (1, 2, 3)]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table.drop(columns="seconds"), tables[0].drop(columns="seconds"))


def test_a_weight_of_two_is_a_row_twice():
    counts = COUNTS[:, :1]
    weighed = select(counts, COUNTING, (1, 2), sample_weight=np.full(len(counts), 2.0), random_state=0)
    twice = select(np.repeat(counts, 2, axis=0), COUNTING, (1, 2), random_state=0)
    for one, other in zip(weighed.candidates, twice.candidates, strict=True):
        assert one.criteria.bic == pytest.approx(other.criteria.bic, rel=1e-9)
        assert one.criteria.n == 2 * len(counts)


# The estimator --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("criterion", ["bic", "icl"])
def test_the_best_estimator_is_ready(criterion):
    frame = pd.DataFrame(GAMMAS, columns=["size"])
    selection = select(frame, ("gaussian", "gamma"), (1, 2, 3), criterion, random_state=0)
    model = selection.best_estimator
    assert isinstance(selection, Selection)
    assert model.n_components == selection.best.n_components
    assert model.family_ == selection.best.family
    assert model.feature_names_in_.tolist() == ["size"]
    assert model.mixture_ is selection.best.fit.mixture
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    assert getattr(model, criterion)(frame) == pytest.approx(selection.best.value(criterion), rel=1e-9)
    assert model.fit(frame).bic(frame) == pytest.approx(selection.best.criteria.bic, abs=1.0)


def test_the_best_says_what_the_estimator_says_of_a_table_with_holes():
    pd = pytest.importorskip("pandas")
    X = np.concatenate([np.random.default_rng(0).normal(size=(60, 2)), np.random.default_rng(1).normal(6, 1, (60, 2))])
    X[::10, 0] = np.nan
    table = pd.DataFrame(X, columns=["width", "height"])
    best = select(table, "gaussian", 2, random_state=0).best_estimator
    alone = ExponentialFamilyMixture(2, random_state=0).fit(table)
    assert best.mixture_.columns == alone.mixture_.columns == ("width", "height")
    missing = "12 of 240 entries (5 %) are missing, in 1 pattern: the fit is that of the entries that are there."
    assert missing in best.notes_
    assert missing in alone.notes_


def test_labels_when_rows_repeat_and_some_weigh_nothing():
    counts = np.tile(COUNTS[:, :1], (3, 1))
    weights = (np.arange(len(counts)) % 7 > 0).astype(float)
    model = select(counts, "poisson", (1, 2), sample_weight=weights, random_state=0).best_estimator
    assert "distinct rows" in model.result_.engine
    assert len(model.labels_) == len(counts)
    np.testing.assert_array_equal(model.predict(counts), model.labels_)


def test_sparse_rows():
    selection = select(csr_array(COUNTS), n_components=(1, 2, 3), random_state=0)
    assert (selection.best.name, selection.best.n_components) == ("poisson", 2)
    dense = select(COUNTS, "poisson", (1, 2, 3), random_state=0)
    assert selection.best.criteria.bic == pytest.approx(dense.best.criteria.bic, rel=1e-6)


# The table, the words, the picture ------------------------------------------------------------------------------------


def test_the_table():
    table = select(
        GAMMAS[:6], ("gamma", f.Weibull(1.5), f.Weibull(2.5), "beta"), range(4, 9), random_state=0
    ).to_frame()
    assert list(table.columns) == [
        "family", "n_components", "log_likelihood", "complete_log_likelihood", "n_parameters",
        "aic", "aicc", "bic", "icl", "seconds", "note",
    ]  # fmt: skip
    assert table.family.unique().tolist() == ["gamma", "weibull (shape=1.5)", "weibull (shape=2.5)", "beta"]
    assert table[table.n_components == 7].note.unique().tolist() == ["more components than the 6 rows"]
    left_out = table[table.family == "beta"]
    assert len(left_out) == 1
    assert left_out.n_components.isna().all()
    assert "beta accepts numbers above 0 and below 1" in left_out.note.iloc[0]
    assert (table.seconds[table.bic.notna()] > 0).all()


def test_the_words():
    selection = select(GAMMAS, (*LINE, "beta"), range(1, 4), random_state=0)
    lines = str(selection).splitlines()
    assert repr(selection) == str(selection)
    assert lines[0].split() == ["family", "k", "log-likelihood", "parameters", "bic", "behind"]
    assert lines[1].split()[:2] == ["gamma", "2"]
    assert lines[11] == f"... and {len(selection.ranking) - 10} more"
    assert lines[12].startswith("beta is omitted: row 0, column 0 holds")
    second = selection.ranking[1]
    lead = second.criteria.bic - selection.best.criteria.bic
    message = (
        f"By bic the best is gamma with 2 components, {lead:.2f} ahead of {second.name} with {second.n_components}."
    )
    assert lines[-1] == selection.sentence == message
    assert select(GAMMAS, "gamma", 1).sentence == "By bic the best is gamma with 1 component, the only candidate."


def test_the_picture():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    selection = select(GAMMAS, ("gamma", "gaussian", "beta", "rayleigh"), range(1, 5), random_state=0)
    figure, ax = pyplot.subplots()
    assert selection.plot(ax) is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels[0] == "gamma"
    assert labels[-1] == "best: gamma, 2"
    np.testing.assert_allclose(
        ax.lines[0].get_ydata(), [c.criteria.bic for c in selection.candidates if c.name == "gamma"]
    )
    assert ax.get_ylabel() == "BIC (lower is better)"
    pyplot.close(figure)
    pyplot.close(select(GAMMAS, "gamma", 1).plot().figure)


@pytest.mark.parametrize(("package", "act"), [("pandas", Selection.to_frame), ("matplotlib", Selection.plot)])
def test_optional_packages_are_named(package, act, monkeypatch):
    selection = select(GAMMAS, "gamma", 1)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"needs {package}: pip install"):
        act(selection)


def test_progress(capsys):
    seen = []
    select(GAMMAS, LINE[:2], (1, 2), progress=lambda *step: seen.append(step), random_state=0)
    assert [done for done, _, _ in seen] == [1, 2, 3, 4]
    assert {total for _, total, _ in seen} == {4}
    assert {candidate.name for _, _, candidate in seen} == set(LINE[:2])
    assert capsys.readouterr() == ("", "")
    select(GAMMAS, "gamma", (1, 2), verbose=1, random_state=0)
    assert capsys.readouterr().err.startswith("1 of 2: gamma, k = 1, bic ")
    select(GAMMAS, "gamma", (1, 2), progress=True, random_state=0)
    assert "\r2 of 2: gamma, k = 2, bic " in capsys.readouterr().err


# Which families -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "names"),
    [
        ([[0], [3]], ("poisson", "geometric", "negative-binomial")),
        ([[0], [1]], ("bernoulli", "poisson", "geometric", "negative-binomial")),
        ([[2, 1], [0, 3]], ("poisson", "geometric", "negative-binomial", "multinomial")),
        ([[-1.5], [2.0]], ("gaussian",)),
        ([[-1, 4], [2, 5]], ("gaussian", "diagonal-gaussian", "spherical-gaussian")),
        ([[0.6, 0.8], [0.0, -1.0]], ("von-mises-fisher",)),
        ([[0.3, 0.7], [0.4, 0.6]], ("dirichlet",)),
        ([[2, None], [0, 3]], ("poisson", "geometric", "negative-binomial")),
        (Intervals([-np.inf, 2.5], [-1.5, np.inf]), ("gaussian",)),
        ([np.eye(2), np.eye(2)], ("wishart", "inverse-wishart")),
        (csr_array([[0, 1], [1, 1]]), ("bernoulli", "poisson")),
        (csr_array([[0, 2], [1, 1]]), ("poisson",)),
    ],
)
def test_the_usual_families(X, names):
    assert usual_families(X) == names


@pytest.mark.parametrize(
    ("draw", "best"),
    [
        (lambda rng: rng.negative_binomial(4.0, 0.2, (600, 1)), "negative-binomial"),
        (lambda rng: 3 * rng.weibull(3.6, (600, 1)), "weibull"),
        (lambda rng: rng.poisson(4.0, (600, 1)), "poisson"),
    ],
)
def test_families_with_estimated_shapes_are_found(draw, best):
    X = draw(np.random.default_rng(0)).astype(float)
    selection = select(X, n_components=(1, 2, 3), random_state=0)
    assert (selection.best.name, selection.best.n_components) == (best, 1)


@pytest.mark.parametrize("X", [[[0.5], [7.5]], [[0.5], [0.25]], COUNTS, GAMMAS, np.array([[2, 1], [0, 3]])])
def test_the_usual_families_hold_the_data_and_compare(X):
    selection = select(X, n_components=1)
    assert all(candidate.note == "" for candidate in selection.candidates)


# Bad input ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "families",
    [
        ("gaussian", "poisson"),
        ("geometric", "gamma"),
        ("von-mises", "gaussian"),
        ("dirichlet", "gaussian"),
        ("multinomial", "poisson"),
        (f.Product((f.Poisson(), f.Gamma())), "gaussian"),
    ],
)
def test_likelihoods_that_do_not_compare_are_refused(families):
    assert "are not comparable: select among families of one kind" in refusal(X=COUNTS, families=families)


def test_what_compares_is_let_through():
    totals = Mixture.from_source(f.Multinomial(5), [1.0], probabilities=[[0.2, 0.8]]).sample(50, random_state=0)
    selection = select(totals, ("multinomial", "poisson", f.Product((f.Poisson(), f.Geometric()))), (1, 2))
    assert all(candidate.fit is not None for candidate in selection.candidates)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"criterion": "dic"}, "criterion is 'dic': it must be one of aic, aicc, bic, icl"),
        ({"algorithm": "exact"}, "algorithm is 'exact': it must be one of k-mle"),
        ({"n_components": 0}, "n_components is 0"),
        ({"n_components": [2, 2.5]}, "n_components is 2.5"),
        ({"n_components": []}, "n_components is empty"),
        ({"n_components": [400]}, "n_components starts at 400 but there are only 300 rows"),
        ({"n_init": 0}, "n_init is 0"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"prior_strength": -1}, "prior_strength is -1"),
        ({"random_state": "a"}, "random_state is 'a'"),
        ({"progress": 3}, "progress is 3"),
        ({"families": ()}, "families is empty"),
        ({"families": ("gamma", "gama")}, "did you mean 'gamma'?"),
        ({"families": ("gamma", "gamma")}, "families names gamma twice"),
        ({"families": ("fixed-shape-gamma",)}, "needs its shape"),
        ({"sample_weight": [1.0]}, "sample_weight has shape (1,)"),
        ({"X": [[1.0], [np.inf]], "families": ("gamma", "gaussian")}, "row 1, column 0 is infinite"),
        ({"X": [[-1.0]], "families": ("gamma", "beta")}, "no family supports the data (gamma: row 0"),
        ({"X": GAMMAS[:2], "criterion": "aicc", "n_components": 2}, "aicc is infinite for every candidate"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, words):
    assert words in refusal(**arguments)


def test_negative_binomials_have_at_most_as_many_components_as_the_best_poisson_mixture():
    X = np.random.default_rng(0).negative_binomial(3, 0.2, (80, 1)).astype(float)
    plan = Plan(1, algorithm="em", n_init=1, random_state=0)
    found = compared(X, ["poisson", "negative-binomial"], range(1, 7), "bic", plan, only_best=True).selection
    sizes = {name: [c for c in found.candidates if c.name == name] for name in ("poisson", "negative-binomial")}
    best = min(sizes["poisson"], key=lambda candidate: candidate.value("bic")).n_components
    assert len(sizes["poisson"]) == 6
    assert 1 <= len(sizes["negative-binomial"]) <= best
    assert found.best.name == "negative-binomial"
