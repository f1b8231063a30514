"""plot_fit: every family has a picture, and the picture shows the data and the mixture as they are."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import trapezoid

from cases import CASES, case_id
from kmle import KMLE, Mixture
from kmle.plotting import plot_fit
from mixture.drawing import typical

pytest.importorskip("matplotlib")
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.contour import ContourSet
from matplotlib.patches import Ellipse

from plotting.artists import all_of, bars, component_lines, note_of


def two_gaussians(d=2):
    return Mixture.from_source(
        "gaussian", [0.3, 0.7], mean=np.outer([0.0, 5.0], np.ones(d)), covariance=[np.eye(d), np.eye(d) + 0.5]
    )


# Every family ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=case_id)
def test_every_family_has_a_picture(case):
    mixture, _ = typical(case)
    drawn = plot_fit(mixture, mixture.sample(40, 0))
    panels = np.ravel(drawn)
    assert all(isinstance(panel, Axes) for panel in panels)
    if isinstance(drawn, Axes):
        drawn.figure.canvas.draw()
    assert all(panel.has_data() for panel in np.atleast_1d(np.diagonal(np.atleast_2d(drawn))))


# One column -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "source"),
    [
        ("gaussian", {"mean": [[0.0], [6.0]], "covariance": [[[1.0]], [[0.3]]]}),
        ("gamma", {"shape": [4.0, 30.0], "scale": [1.0, 0.5]}),
        ("beta", {"alpha": [2.0, 9.0], "beta": [5.0, 2.0]}),
    ],
)
def test_bars_and_curves_have_their_areas(family, source):
    mixture = Mixture.from_source(family, [0.4, 0.6], **source)
    ax = plot_fit(mixture, mixture.sample(2000, 1))
    assert sum(bar.get_width() * bar.get_height() for bar in bars(ax)) == pytest.approx(1.0)
    areas = [trapezoid(np.nan_to_num(line.get_ydata()), line.get_xdata()) for line in component_lines(ax)]
    np.testing.assert_allclose(areas, mixture.weights, atol=0.01)


def test_the_bars_stay_near_the_curve():
    mixture = two_gaussians(1)
    ax = plot_fit(mixture, mixture.sample(50_000, 0))
    for bar in bars(ax):
        edges = np.array([[bar.get_x()], [bar.get_x() + bar.get_width()]])
        heights = np.exp(mixture.log_density(np.linspace(*edges, 9)))
        assert heights.min() - 0.012 < bar.get_height() < heights.max() + 0.012


def test_masses_of_counts_are_those_of_the_law():
    mixture = Mixture.from_source("poisson", [0.25, 0.75], rate=[2.0, 9.0])
    X = mixture.sample(500, 0)
    ax = plot_fit(mixture, X)
    heights = [bar.get_height() for bar in bars(ax)]
    assert sum(heights) == pytest.approx(1.0)
    np.testing.assert_allclose(heights, np.bincount(X[:, 0].astype(int)) / 500)
    for line, weight, rate in zip(component_lines(ax), [0.25, 0.75], [2.0, 9.0], strict=True):
        shown = np.isfinite(line.get_ydata())
        expected = weight * stats.poisson(rate).pmf(line.get_xdata())
        np.testing.assert_allclose(line.get_ydata()[shown], expected[shown])


def test_many_decades_are_drawn_over_the_logarithm():
    mixture = Mixture.from_source("gamma", [0.5, 0.5], shape=[3.0, 3.0], scale=[0.01, 50.0])
    ax = plot_fit(mixture, mixture.sample(1000, 0), columns=["income"])
    assert ax.get_xscale() == "log"
    assert ax.get_ylabel() == "density of log10 income"
    total = sum(bar.get_height() * np.log10((bar.get_x() + bar.get_width()) / bar.get_x()) for bar in bars(ax))
    assert total == pytest.approx(1.0)
    areas = [trapezoid(np.nan_to_num(li.get_ydata()), np.log10(li.get_xdata())) for li in component_lines(ax)]
    np.testing.assert_allclose(areas, [0.5, 0.5], atol=0.02)


def test_rounded_data_has_equal_chances_in_every_bin():
    rng = np.random.default_rng(0)
    X = np.round(rng.uniform(1, 9, 3000), 1)[:, None]
    widths = np.array([bar.get_width() for bar in bars(plot_fit(KMLE(1).fit(X), X))])
    np.testing.assert_allclose(widths / 0.1, np.round(widths[0] / 0.1))


def test_far_outliers_do_not_press_the_picture_flat():
    mixture = two_gaussians(1)
    ax = plot_fit(mixture, np.append(mixture.sample(999, 0), 1e6))
    assert ax.get_xlim()[1] < 100
    assert "1 beyond the edges" in note_of(ax)


def test_a_pole_does_not_press_the_bars_flat():
    mixture = Mixture.from_source("beta", [0.2, 0.8], alpha=[0.3, 9.0], beta=[0.3, 9.0])
    ax = plot_fit(mixture, mixture.sample(2000, 0))
    assert ax.get_ylim()[1] < 3 * max(bar.get_height() for bar in bars(ax))


# Two columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("family", "spread", "eigenvalues"),
    [
        ("gaussian", {"covariance": [[[2.0, 0.6], [0.6, 0.5]], [[1.0, 0.0], [0.0, 4.0]]]}, None),
        ("diagonal-gaussian", {"variance": [[2.0, 1.0], [1.0, 4.0]]}, [[1.0, 2.0], [1.0, 4.0]]),
        ("spherical-gaussian", {"variance": [2.0, 3.0]}, [[2.0, 2.0], [3.0, 3.0]]),
    ],
)
def test_ellipses_at_one_and_two_sigma(family, spread, eigenvalues):
    means = [[0.0, 1.0], [7.0, 8.0]]
    mixture = Mixture.from_source(family, [0.5, 0.5], mean=means, **spread)
    ellipses = all_of(plot_fit(mixture, mixture.sample(300, 0)), Ellipse)
    assert [ellipse.center for ellipse in ellipses] == [pytest.approx(mean) for mean in means for _ in range(2)]
    expected = np.linalg.eigvalsh(spread["covariance"]) if eigenvalues is None else np.array(eigenvalues)
    for ellipse, radius, values in zip(ellipses, [1, 2, 1, 2], np.repeat(expected, 2, axis=0), strict=True):
        np.testing.assert_allclose(sorted([ellipse.width, ellipse.height]), 2 * radius * np.sqrt(values))


def test_an_ellipse_lies_along_its_covariance():
    covariance = np.array([[2.0, 0.9], [0.9, 0.5]])
    mixture = Mixture.from_source("gaussian", [1.0], mean=[[0.0, 0.0]], covariance=[covariance])
    ellipse = all_of(plot_fit(mixture, mixture.sample(50, 0)), Ellipse)[0]
    outline = ellipse.get_patch_transform().transform(ellipse.get_path().vertices[:24:3])
    np.testing.assert_allclose(np.einsum("ni,ij,nj->n", outline, np.linalg.inv(covariance), outline), 1.0, rtol=1e-6)


def test_contours_hold_the_share_of_two_sigma():
    mixture = Mixture.from_source("gamma", [0.5, 0.5], shape=[[3.0, 9.0], [30.0, 4.0]], scale=[[1.0, 1.0], [1.0, 0.5]])
    ax = plot_fit(mixture, mixture.sample(4000, 0))
    coloured = [contour for contour in all_of(ax, ContourSet) or ax.collections if isinstance(contour, ContourSet)]
    assert len(coloured) == 3, "the mixture and two components"
    rows = mixture.family.sample(mixture.natural[0], 4000, np.random.default_rng(1))
    outer = coloured[1].get_paths()[0]
    assert outer.contains_points(rows).mean() == pytest.approx(1 - np.exp(-2), abs=0.03)


def test_points_are_the_rows_in_the_colour_of_their_label():
    mixture = two_gaussians()
    X = mixture.sample(200, 0)
    points = next(c for c in plot_fit(mixture, X).collections if isinstance(c, PathCollection))
    np.testing.assert_array_equal(points.get_offsets(), X)
    colours = np.unique(points.get_facecolors(), axis=0, return_inverse=True)[1]
    labels = mixture.predict(X)
    assert len(set(zip(colours.ravel(), labels, strict=True))) == 2


def test_many_rows_are_thinned_the_same_way_every_time_and_said_so():
    mixture = two_gaussians()
    X = mixture.sample(3000, 0)
    first, second = (plot_fit(mixture, X, max_points=500) for _ in range(2))
    offsets = [next(c for c in ax.collections if isinstance(c, PathCollection)).get_offsets() for ax in (first, second)]
    assert len(offsets[0]) == 500
    np.testing.assert_array_equal(*offsets)
    assert "500 of them shown" in note_of(first)


# More columns ---------------------------------------------------------------------------------------------------------


def test_a_pair_plot_has_its_columns_on_the_diagonal():
    names = ["height", "weight", "age"]
    mixture = two_gaussians(3)
    axes = plot_fit(mixture, pd.DataFrame(mixture.sample(100, 0), columns=names))
    axes[0, 0].figure.canvas.draw()
    assert axes.shape == (3, 3)
    assert [axes[2, j].get_xlabel() for j in range(3)] == names
    assert [axes[i, 0].get_ylabel() for i in range(3)] == names
    for i, j in np.ndindex(3, 3):
        assert len(all_of(axes[i, j], Ellipse)) == (4 if j < i else 0)
        assert bool(bars(axes[i, j])) == (i == j)
        assert axes[i, j].axison == (j <= i)


def test_of_many_columns_the_telling_ones_are_drawn():
    means = np.zeros((2, 20))
    means[1, [2, 3, 5, 11, 13, 17]] = 6.0
    mixture = Mixture.from_source("spherical-gaussian", [0.5, 0.5], mean=means, variance=[1.0, 1.0])
    axes = plot_fit(mixture, mixture.sample(300, 0))
    assert [axes[5, j].get_xlabel() for j in range(6)] == [f"column {j}" for j in (2, 3, 5, 11, 13, 17)]
    assert "6 of 20 columns" in note_of(axes[0, 5])


def test_given_axes_are_used():
    plt = pytest.importorskip("matplotlib.pyplot")
    axes = plt.figure().subplots(3, 3)
    mixture = two_gaussians(3)
    assert plot_fit(mixture, mixture.sample(50, 0), ax=axes) is axes
    own = plt.figure().subplots()
    assert plot_fit(mixture, mixture.sample(50, 0), columns=[0], ax=own) is own


# Words ----------------------------------------------------------------------------------------------------------------


def test_the_legend_numbers_components_as_labels_do():
    mixture = Mixture.from_source("poisson", [0.344, 0.655, 0.001], rate=[2.0, 9.0, 30.0])
    legend = plot_fit(mixture, mixture.sample(50, 0)).get_legend()
    assert [text.get_text() for text in legend.get_texts()] == ["0 (34 %)", "1 (66 %)", "2 (< 1 %)", "mixture"]


@pytest.mark.parametrize("layout", [None, "constrained", "tight"])
def test_the_legend_stands_beside_the_data_and_inside_the_figure(layout):
    plt = pytest.importorskip("matplotlib.pyplot")
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout=layout)
    for ax in axes:
        plot_fit(two_gaussians(), two_gaussians().sample(50, 0), ax=ax)
    figure.canvas.draw()
    data, beside = ([extent.get_window_extent() for extent in each] for each in (axes, (a.get_legend() for a in axes)))
    assert not any(legend.overlaps(panel) for legend in beside for panel in data)
    assert beside[1].x1 <= figure.bbox.x1


def test_names_come_from_the_estimator_when_the_data_has_none():
    table = pd.DataFrame(two_gaussians().sample(60, 0), columns=["eruption", "wait"])
    model = KMLE(2, random_state=0).fit(table)
    ax = plot_fit(model, table.to_numpy())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("eruption", "wait")
    table["kind"] = "geyser"
    assert plot_fit(model, table, columns="wait").get_xlabel() == "wait"


def test_columns_choose_and_turn():
    mixture = two_gaussians(3)
    ax = plot_fit(mixture, mixture.sample(60, 0), columns=[2, 0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column 2", "column 0")


def test_a_fit_will_do():
    X = two_gaussians(1).sample(60, 0)
    fit = KMLE(2, random_state=0).fit(X).result_
    assert plot_fit(fit, X).get_title(loc="left") == "Mixture of 2 Gaussian components"


def test_a_constant_column_is_drawn():
    X = np.ones((20, 1))
    model = KMLE(1, random_state=0).fit(X)
    assert plot_fit(model, X).patches
