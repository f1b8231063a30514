"""Bad input gets one sentence that names it and the remedy, before anything is drawn."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kmle import KMLE, Mixture
from kmle.plotting import plot_cells, plot_dendrogram, plot_fit, plot_history, plot_posterior, plot_qq, plot_selection

plt = pytest.importorskip("matplotlib.pyplot")

PLANE = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[0.0, 0.0], [5.0, 5.0]], covariance=[np.eye(2)] * 2)
SPACE = Mixture.from_source("gaussian", [0.5, 0.5], mean=[[0.0] * 3, [5.0] * 3], covariance=[np.eye(3)] * 2)
CIRCLE = Mixture.from_source("von-mises-fisher", [1.0], direction=[[1.0, 0.0]], concentration=[2.0])
ROWS = PLANE.sample(20, 0)


@pytest.mark.parametrize("draw", [plot_fit, plot_posterior, plot_cells])
@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([[1.0], [2.0]], "X has 1 columns but the mixture is of 2: give the columns it was fitted to"),
        ([[1.0, 2.0], [np.inf, 3.0]], "row 1, column 'column 0' is infinite"),
        ([["a", 2.0]], "row 0, column 0 holds 'a'"),
        (np.empty((0, 2)), "there are no rows"),
    ],
)
def test_rows(draw, rows, sentence):
    with pytest.raises(ValueError, match=sentence):
        draw(PLANE, rows)
    assert not plt.get_fignums()


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (["height"], "columns names 'height'; it must be one of 0 to 1: 'column 0', 'column 1'"),
        ([2], "columns names 2; it must be one of 0 to 1"),
        ([], "name at least one column"),
        ([0, 0], "each only once"),
    ],
)
def test_columns(columns, sentence):
    with pytest.raises(ValueError, match=sentence):
        plot_fit(PLANE, ROWS, columns=columns)


@pytest.mark.parametrize("draw", [plot_fit, plot_cells, plot_posterior, plot_qq])
def test_an_unfitted_estimator(draw):
    with pytest.raises(NotFittedError, match="fit"):
        draw(KMLE(2), ROWS)


def test_an_unfitted_estimator_has_no_history():
    with pytest.raises(NotFittedError, match="fit"):
        plot_history(KMLE(2))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: plot_fit([1.0], ROWS), "model is a list: give a fitted KMLE, its result_, or a Mixture"),
        (lambda: plot_fit(PLANE, ROWS, max_points=0), "max_points is 0"),
        (lambda: plot_fit(PLANE, ROWS, ax=3), "ax is int: plot_fit draws on plain Axes"),
        (lambda: plot_history(PLANE), "plot_history draws a Fit or a fitted estimator, not a Mixture"),
        (lambda: plot_cells(SPACE), "plot_cells draws two columns; there are 3: select two"),
        (lambda: plot_cells(CIRCLE), "von-mises-fisher rows do not fill the plane"),
        (lambda: plot_cells(PLANE, xlim=(3, 1)), r"xlim is \(3, 1\): give the lower and the upper end"),
        (lambda: plot_qq(PLANE, ROWS), r"plot_qq draws one column; there are 2: select one with columns=\[...\]"),
        (lambda: plot_qq(CIRCLE, [[1.0, 0.0]], columns=[0]), "have no quantiles"),
        (lambda: plot_selection(PLANE), "plot_selection draws a selection of candidates, not a Mixture"),
        (lambda: plot_dendrogram(PLANE), "this Mixture has none"),
        (lambda: plot_dendrogram([[0, 1, 0.5, 2]], labels=["a"]), "labels has 1 names for 2 components"),
    ],
)
def test_arguments(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_one_axes_are_not_enough_for_a_pair_plot():
    with pytest.raises(ValueError, match="give ax as an array of 3 x 3 Axes, omit it, or draw one or two columns"):
        plot_fit(SPACE, SPACE.sample(9, 0), ax=plt.figure().subplots())


def test_polar_axes_are_refused():
    polar = plt.figure().add_subplot(projection="polar")
    with pytest.raises(ValueError, match="ax is polar axes: plot_fit draws on plain Axes"):
        plot_fit(CIRCLE, [[1.0, 0.0]], ax=polar)


@pytest.mark.parametrize("draw", [plot_fit, plot_posterior, plot_cells])
def test_without_matplotlib_the_extra_is_named(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=rf"{draw.__name__} needs matplotlib: pip install 'kmle\[plot\]'"):
        draw(PLANE, ROWS)


def test_matplotlib_is_imported_when_a_picture_is_asked_for():
    code = "import sys, kmle; assert 'kmle.plotting' not in sys.modules; import kmle.plotting; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "kmle.plotting" in loaded
    assert not any(name.split(".")[0] == "matplotlib" for name in loaded)
