"""plot_fit: every family has a picture, and the picture shows the data and the mixture as they are."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats
from scipy.integrate import trapezoid

from cases import CASES, case_id
from kmle import KMLE, Mixture
from kmle.families import Categorical, Multinomial, Product
from kmle.plotting import plot_fit
from mixture.drawing import typical

pytest.importorskip("matplotlib")
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.contour import ContourSet
from matplotlib.patches import Ellipse, Rectangle, Wedge


def all_of(ax, kind):
    """The artists of exactly this kind."""
    return [artist for artist in ax.get_children() if type(artist) is kind]


def bars(ax):
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def component_lines(ax):
    """The curves of the components: the lines that are not dashed."""
    return [line for line in ax.lines if line.get_linestyle() == "-"]


def note_of(ax):
    return " ".join(text.get_text() for text in ax.texts)


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
    assert "500 of them drawn" in note_of(first)


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


# Pictures of their own ------------------------------------------------------------------------------------------------


def test_the_rose_goes_round_once():
    mixture = Mixture.from_source("von-mises", [0.5, 0.5], mean=[0.0, 2.5], concentration=[4.0, 9.0])
    ax = plot_fit(mixture, mixture.sample(3000, 0) + 20 * np.pi, columns=["wind"])
    wedges = all_of(ax, Wedge)
    assert wedges[0].theta1 == -180
    assert wedges[-1].theta2 == pytest.approx(180)
    lengths = np.array([wedge.width for wedge in wedges])
    inner = wedges[0].r - wedges[0].width
    density = np.exp(mixture.log_joint(np.array([[0.0], [2.5]]))).max(axis=0)
    peaks = [np.nanmax(np.hypot(*line.get_data())) - inner for line in component_lines(ax)]
    # The same scale for bars and curves: the bars have the area of one full turn of the density.
    scale = lengths.sum() * 2 * np.pi / len(wedges)
    np.testing.assert_allclose(peaks / density, scale, rtol=0.01)
    assert "wind" in note_of(ax)


def test_the_two_pictures_of_angles_agree():
    angles = Mixture.from_source("von-mises", [0.4, 0.6], mean=[0.5, -2.0], concentration=[4.0, 9.0])
    X = angles.sample(500, 0)[:, 0]
    directions = np.stack([np.cos([0.5, -2.0]), np.sin([0.5, -2.0])], axis=1)
    vectors = Mixture.from_source("von-mises-fisher", [0.4, 0.6], direction=directions, concentration=[4.0, 9.0])
    one, two = plot_fit(angles, X), plot_fit(vectors, np.stack([np.cos(X), np.sin(X)], axis=1))
    for a, b in zip(one.lines, two.lines, strict=True):
        np.testing.assert_allclose(a.get_xydata(), b.get_xydata(), atol=1e-9)
    assert [w.width for w in all_of(one, Wedge)] == pytest.approx([w.width for w in all_of(two, Wedge)])


def test_directions_lie_on_the_map():
    mixture = Mixture.from_source("von-mises-fisher", [1.0], direction=[[0.0, 0.0, 1.0]], concentration=[3.0])
    ax = plot_fit(mixture, mixture.sample(400, 0))
    x, y = next(c for c in ax.collections if isinstance(c, PathCollection)).get_offsets().T
    assert np.all((x / np.sqrt(8)) ** 2 + (y / np.sqrt(2)) ** 2 <= 1 + 1e-12)
    assert y.mean() > 0.5, "the third axis points upwards"


def test_proportions_lie_in_the_triangle():
    mixture = Mixture.from_source("dirichlet", [0.5, 0.5], concentration=[[90.0, 5.0, 5.0], [5.0, 5.0, 90.0]])
    ax = plot_fit(mixture, [[0.98, 0.01, 0.01], [0.01, 0.98, 0.01], [0.01, 0.01, 0.98]], columns=["a", "b", "c"])
    points = next(c for c in ax.collections if isinstance(c, PathCollection)).get_offsets()
    np.testing.assert_allclose(points, [[0, 0], [1, 0], [0.5, np.sqrt(0.75)]], atol=0.03)
    places = {text.get_text(): text.get_position() for text in ax.texts}
    for point, name in zip(points, "abc", strict=True):
        assert np.hypot(*(point - places[name])) < 0.12


def test_binary_columns_are_a_heat_map_of_their_probabilities():
    probability = np.random.default_rng(0).random((3, 40))
    mixture = Mixture.from_source("bernoulli", [0.2, 0.3, 0.5], probability=probability)
    X = mixture.sample(100, 0)
    for data in (X, sparse.csr_array(X)):
        components, everything = [m for m in plot_fit(mixture, data).collections if isinstance(m, QuadMesh)]
        np.testing.assert_allclose(np.asarray(components.get_array()), probability)
        np.testing.assert_allclose(np.asarray(everything.get_array())[0], X.mean(axis=0))


def test_categories_are_bars_of_their_probabilities():
    table = np.array([[0.5, 0.3, 0.2, 0.9, 0.1], [0.1, 0.1, 0.8, 0.4, 0.6]])
    mixture = Mixture(Categorical((3, 2)), [0.5, 0.5], np.log(table))
    ax = plot_fit(mixture, pd.DataFrame(mixture.sample(50, 0), columns=["colour", "size"]))
    np.testing.assert_allclose([bar.get_height() for bar in bars(ax)], table.ravel())
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2", "0", "1"]
    assert {"colour", "size"} <= {text.get_text() for text in ax.texts}


def test_words_are_bars_with_their_names():
    mixture = Mixture.from_source(Multinomial(9), [0.5, 0.5], probabilities=[[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]])
    ax = plot_fit(mixture, mixture.sample(50, 0), columns=["cat", "dog", "fish"])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["cat", "dog", "fish"]
    assert len(bars(ax)) == 6


def test_small_matrices_are_ellipses():
    mixture = Mixture.from_source("wishart", [1.0], degrees=[9.0], scale=[[[2.0, 0.5], [0.5, 1.0]]])
    X = mixture.sample(20, 0)
    (lines,) = [c for c in plot_fit(mixture, X).collections if isinstance(c, LineCollection)]
    for matrix, outline in zip(X.reshape(-1, 2, 2), lines.get_segments(), strict=True):
        np.testing.assert_allclose(np.einsum("ni,ij,nj->n", outline, np.linalg.inv(matrix), outline), 1.0)


def test_larger_matrices_are_their_eigenvalues():
    mixture = Mixture.from_source("wishart", [1.0], degrees=[9.0], scale=[np.diag([1.0, 4.0, 0.1])])
    X = mixture.sample(20, 0)
    (lines,) = [c for c in plot_fit(mixture, X).collections if isinstance(c, LineCollection)]
    drawn = np.array(lines.get_segments())[:, :, 1]
    np.testing.assert_allclose(drawn, np.linalg.eigvalsh(X.reshape(-1, 3, 3))[:, ::-1])


def test_mixed_columns_keep_their_kinds():
    from kmle.families import Gamma, Poisson

    family = Product((Poisson(), Gamma()))
    mixture = Mixture.from_source(
        family, [0.5, 0.5], poisson_rate=[2.0, 9.0], gamma_shape=[3.0, 30.0], gamma_scale=[1.0, 0.5]
    )
    X = mixture.sample(100, 0)
    assert plot_fit(mixture, X, columns=[0]).get_ylabel() == "probability"
    assert plot_fit(mixture, X, columns=[1]).get_ylabel() == "density"


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
    fit = KMLE(2, random_state=0).fit(X).fit_
    assert plot_fit(fit, X).get_title(loc="left") == "Mixture of 2 Gaussian components"
