"""What notebooks show: well-formed HTML of every family, safe names, the colours of the theme, words in completions."""

import inspect
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import kmle
from cases import CASES, case_id
from kmle import KMLE, ExponentialFamilyMixture, Mixture, select

ROWS = np.random.default_rng(0).normal(size=(120, 2)) + np.repeat([[0.0], [6.0]], 60, axis=0)


def tree_of(page):
    """Parsed; every element of ours is closed, so that the page is XML too."""
    return ElementTree.fromstring(page.replace("<style>", "<style><![CDATA[").replace("</style>", "]]></style>"))


def texts(tree, tag):
    return ["".join(cell.itertext()) for cell in tree.iter(tag)]


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_has_a_table(case):
    mixture = Mixture(case.family, [0.25, 0.75], case.naturals(2, 0))
    tree = tree_of(mixture._repr_html_())
    cells = texts(tree, "td")
    assert "0.25" in cells
    assert "0.75" in cells
    assert all(np.isfinite(float(point)) for path in tree.iter("path") for point in numbers_of(path.get("d")))


def numbers_of(path):
    for letter in "MLHVZ,":
        path = path.replace(letter, " ")
    return path.split()


@pytest.mark.parametrize("family", ["gaussian", "poisson", "gamma", "exponential", "von-mises"])
def test_one_column_is_plotted(family):
    X = np.abs(ROWS[:, 0]).round() + 1 if family != "von-mises" else np.mod(ROWS[:, 0], 3)
    mixture = KMLE(2, family=family, random_state=0).fit(X[:, None]).mixture_
    (plot,) = tree_of(mixture._repr_html_()).iter("svg")
    drawn = [path for path in plot.iter("path") if path.get("class") in ("part", "bars")]
    assert len(drawn) == mixture.n_components


def test_ellipses_are_two_standard_deviations_of_the_first_columns():
    mixture = Mixture.from_source("gaussian", [1.0], mean=[[1.0, 5.0, 0.0]], covariance=[np.diag([4.0, 9.0, 1.0])])
    tree = tree_of(mixture.with_columns(["a", "b", "c"])._repr_html_())
    labels = texts(next(iter(tree.iter("svg"))), "text")
    assert labels == ["b ↑", "-3", "5", "a →"]


def test_names_cannot_break_the_page():
    mixture = Mixture.from_source("gaussian", [1.0], mean=[[0.0, 0.0]], covariance=[np.eye(2)])
    page = mixture.with_columns(["<script>alert(1)</script>", 'a & "b"'])._repr_html_()
    assert "<script" not in page
    assert 'a & "b"' in texts(tree_of(page), "td")


def test_noise_and_other_families_have_their_own_cells():
    rows = np.concatenate([ROWS, np.random.default_rng(1).uniform(-30, 30, (12, 2))])
    tree = tree_of(ExponentialFamilyMixture(2, noise=True, random_state=0).fit(rows).mixture_._repr_html_())
    cells = texts(tree, "td")
    assert "uniform" in cells
    assert "nan" not in cells


def test_fits_show_how_they_ended():
    fit = ExponentialFamilyMixture(2, random_state=0).fit(ROWS).result_
    tree = tree_of(fit._repr_html_())
    cells = texts(tree, "td")
    assert f"{fit.log_likelihood:.6g}" in cells
    assert any(cell.startswith(f"{fit.n_iter}, converged") for cell in cells)


def test_selections_show_the_best_candidates():
    selection = select(ROWS, ["gaussian", "diagonal-gaussian"], range(1, 4), random_state=0)
    tree = tree_of(selection._repr_html_())
    assert selection.sentence in texts(tree, "div")
    rows = [texts(row, "td") for row in tree.iter("tr")][1:]
    assert rows[0][:2] == [selection.best.name, str(selection.best.n_components)]
    assert rows[0][-1] == "0.00"
    assert len([path for path in tree.iter("path") if path.get("class") == "line"]) == 2


def test_a_selection_of_one_candidate_has_no_plot():
    assert not list(tree_of(select(ROWS, "gaussian", 2)._repr_html_()).iter("svg"))


def test_many_components_are_cut():
    mixture = Mixture.from_source("poisson", np.full(50, 0.02), rate=np.arange(1.0, 51.0))
    page = mixture._repr_html_()
    assert "and 30 components of lower weight" in page
    assert len(list(tree_of(page).iter("tbody"))) == 20


def test_themes_are_known():
    page = Mixture.from_source("poisson", [1.0], rate=[1.0])._repr_html_()
    for theme in ("prefers-color-scheme:dark", "data-jp-theme-light", "vscode-dark"):
        assert theme in page


# Help and completion --------------------------------------------------------------------------------------------------


def public_functions():
    for name in kmle.__all__:
        thing = getattr(kmle, name)
        if inspect.isclass(thing):
            yield name, thing
            for member in dir(thing):
                value = inspect.getattr_static(thing, member)
                plain = value.__func__ if isinstance(value, staticmethod | classmethod) else value
                if not member.startswith("_") and inspect.isfunction(plain):
                    yield f"{name}.{member}", plain
        elif inspect.isfunction(thing):
            yield name, thing


def test_signatures_are_short():
    found = {name: str(inspect.signature(function)) for name, function in public_functions()}
    assert len(found) > 100
    assert [name for name, signature in found.items() if "numpy." in signature] == []


def test_completion_shows_words():
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(dir(kmle))
    assert {"KMLE", "select", "families", "plotting", "io"} <= set(dir(kmle))
    assert all(hasattr(kmle, name) for name in dir(kmle))


@pytest.mark.parametrize("Model", [KMLE, ExponentialFamilyMixture])
def test_parameters_have_their_usual_names(Model):
    for family in ("gaussian", "diagonal-gaussian", "spherical-gaussian", "gaussian-eee"):
        model = Model(2, family=family, random_state=0)
        assert not hasattr(model, "means_")
        model.fit(ROWS)
        labels = model.predict(ROWS)
        assert np.abs(model.means_ - [ROWS[labels == j].mean(axis=0) for j in range(2)]).max() < 0.1
        assert model.covariances_.shape == model.precisions_.shape == (2, 2, 2)
        np.testing.assert_allclose(model.covariances_ @ model.precisions_, [np.eye(2)] * 2, atol=1e-10)
    counts = Model(2, family="poisson", random_state=0).fit(np.abs(ROWS).round())
    np.testing.assert_allclose(counts.means_, counts.mixture_.source["rate"])
    assert not hasattr(counts, "precisions_")
    angles = Model(1, family="von-mises").fit(np.mod(ROWS, 3))
    assert not hasattr(angles, "means_")
    assert not hasattr(angles, "covariances_")
