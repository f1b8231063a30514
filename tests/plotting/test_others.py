"""Cells, histories, posteriors, quantiles, selections, dendrograms, and the map of the sphere."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from kmle import KMLE, ExponentialFamilyMixture, Intervals, Mixture, select
from kmle.families import Gamma, Poisson, Product
from kmle.palette import PALETTE, colours
from kmle.plotting import (
    plot_cells,
    plot_dendrogram,
    plot_fit,
    plot_history,
    plot_posterior,
    plot_qq,
    plot_selection,
    plot_survival,
)
from kmle.plotting.directions import hammer
from plotting.artists import note_of

pytest.importorskip("matplotlib")
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb

PLANE = Mixture.from_source(
    "gaussian",
    [0.2, 0.3, 0.5],
    mean=[[0.0, 0.0], [5.0, 5.0], [0.0, 6.0]],
    covariance=[np.eye(2), 2 * np.eye(2), np.eye(2)],
)
LINE = Mixture.from_source("poisson", [0.5, 0.5], rate=[2.0, 9.0])


# Cells ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "mixture",
    [
        PLANE,
        Mixture.from_source("gamma", [0.4, 0.6], shape=[[2.0, 8.0], [20.0, 3.0]], scale=[[1.0, 1.0], [0.5, 1.0]]),
        Mixture.from_source("poisson", [0.4, 0.6], rate=[[2.0, 9.0], [9.0, 2.0]]),
        Mixture.from_source(
            Product((Poisson(), Gamma())),
            [0.5, 0.5],
            poisson_rate=[2.0, 9.0],
            gamma_shape=[3.0, 3.0],
            gamma_scale=[1.0, 2.0],
        ),
    ],
    ids=["gaussian", "gamma", "poisson", "product"],
)
def test_a_row_lies_in_the_cell_of_its_label(mixture):
    X = mixture.sample(300, 0)
    ax = plot_cells(mixture, X)
    (image,) = ax.images
    cells = np.asarray(image.get_array())
    left, right, low, high = image.get_extent()
    inside = (X[:, 0] >= left) & (X[:, 0] < right) & (X[:, 1] >= low) & (X[:, 1] < high)
    column = ((X[inside, 0] - left) / (right - left) * cells.shape[1]).astype(int)
    row = ((X[inside, 1] - low) / (high - low) * cells.shape[0]).astype(int)
    # A pixel has one colour though a border may cross it.
    assert (cells[row, column] == mixture.predict(X[inside])).mean() > 0.98


def test_cells_need_no_data():
    ax = plot_cells(PLANE, xlim=(-3, 9), ylim=(-2, 10), columns=["a", "b"])
    assert (ax.get_xlim(), ax.get_ylim()) == ((-3, 9), (-2, 10))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")
    assert {text.get_text() for text in ax.texts} >= {"0", "1", "2"}, "the means are marked by their labels"


# Histories ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["k-mle", "hartigan", "exact"])
def test_a_history_is_drawn_whole(algorithm):
    model = KMLE(2, family="exponential", algorithm=algorithm, random_state=0).fit(LINE.sample(200, 0) + 0.5)
    ax = plot_history(model)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.history_)
    kinds = [half.kind for half in model.result_.history]
    marks = [line for line in ax.lines[1:] if line.get_linestyle() != "--"]
    assert [len(line.get_xdata()) for line in marks] == [kinds.count(kind) for kind in dict.fromkeys(kinds)]
    assert ax.get_title(loc="left") == "Objective of the fit"
    assert model.result_.stop_reason in note_of(ax)
    if ax.get_legend() is not None:
        shown = [text.get_text() for text in ax.get_legend().get_texts() if text.get_text() != "search"]
        assert shown == list(dict.fromkeys(kinds))


@pytest.mark.parametrize("estimator", [KMLE, ExponentialFamilyMixture])
def test_the_search_is_part_of_the_ascent(estimator):
    fit = estimator(3, random_state=0).fit(PLANE.sample(300, 0)).result_
    ax = plot_history(fit)
    (search,) = [line for line in ax.lines if line.get_linestyle() == "--"]
    values = search.get_ydata()
    assert len(values) > 3
    assert (np.diff(values) >= 0).all()
    # It ends where the half-steps begin, and all of it is to be seen.
    assert abs(values[-1] - fit.objectives[0]) < 0.5
    low, high = ax.get_ylim()
    assert low <= values[0] <= fit.objective <= high


def test_a_fit_has_a_history_too():
    fit = ExponentialFamilyMixture(2, family="poisson", random_state=0).fit(LINE.sample(100, 0)).result_
    assert isinstance(plot_history(fit), Axes)


# Posteriors -----------------------------------------------------------------------------------------------------------


def test_posteriors_are_stacked_to_one():
    X = PLANE.sample(300, 0)
    ax = plot_posterior(PLANE, X)
    areas = [polygon_area(stack.get_paths()[0].vertices) for stack in ax.collections]
    assert len(areas) == 3
    np.testing.assert_allclose(areas, PLANE.posterior(X).sum(axis=0), rtol=1e-6)


def test_posteriors_of_one_column_stand_over_its_values():
    ax = plot_posterior(LINE, LINE.sample(300, 0))
    assert ax.get_xlabel() == "x"
    posterior = LINE.posterior(np.array([[4.0]]))[0, 0]
    border = ax.lines[0]
    at = np.flatnonzero(np.abs(border.get_xdata() - 4) <= 0.5)
    assert posterior in border.get_ydata()[at]


def polygon_area(vertices):
    x, y = vertices[:, 0], vertices[:, 1]
    return 0.5 * abs(np.dot(x, np.roll(y, -1)) - np.dot(y, np.roll(x, -1)))


# Quantiles ------------------------------------------------------------------------------------------------------------


def test_quantiles_of_the_right_mixture_lie_on_the_diagonal():
    mixture = Mixture.from_source("gamma", [0.5, 0.5], shape=[3.0, 30.0], scale=[1.0, 0.5])
    ax = plot_qq(mixture, mixture.sample(20_000, 0))
    x, y = ax.collections[0].get_offsets().T
    assert np.abs(x - y).mean() < 0.1
    wrong = Mixture.from_source("gamma", [1.0], shape=[3.0], scale=[3.0])
    x, y = plot_qq(wrong, mixture.sample(20_000, 0)).collections[0].get_offsets().T
    assert np.abs(x - y).mean() > 1.0


def test_quantiles_beside_noise_lie_on_the_diagonal():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, 800), rng.uniform(-10, 30, 200)])[:, None]
    fit = ExponentialFamilyMixture(1, noise=True, random_state=0).fit(X)
    x, y = plot_qq(fit, X).collections[0].get_offsets().T
    assert np.abs(x - y).max() < 3.0


def test_a_point_mass_is_drawn_where_it_is():
    X = np.repeat([0.0, 3.0, 4.0, 9.0, 30.0], [50, 20, 20, 10, 2])[:, None]
    ax = plot_fit(ExponentialFamilyMixture(family="zero-inflated-poisson", random_state=0).fit(X), X)
    lines = [own for own in ax.collections if isinstance(own, LineCollection)]
    stems = [segment for own in lines for segment in own.get_segments()]
    assert len(stems) == 1
    np.testing.assert_allclose(stems[0][:, 0], 0.0)


# Selections and dendrograms -------------------------------------------------------------------------------------------


def test_a_selection_draws_itself():
    drawn = []
    ax = plot_selection(SimpleNamespace(plot=lambda ax: drawn.append(ax) or ax))
    assert drawn == [ax]


def test_a_dendrogram_has_a_leaf_for_every_component_and_a_colour_for_every_group():
    points = np.array([[0.0], [0.1], [5.0], [5.1], [20.0], [20.2]])
    ax = plot_dendrogram(SimpleNamespace(linkage=linkage(points, "average")), labels=list("abcdef"))
    assert sorted(tick.get_text() for tick in ax.get_xticklabels()) == list("abcdef")
    drawn = {tuple(np.round(c.get_colors()[0][:3], 3)) for c in ax.collections}
    assert tuple(np.round(to_rgb(PALETTE[0]), 3)) in drawn
    assert ax.get_title(loc="left") == "Merges of 6 components"


# Style ----------------------------------------------------------------------------------------------------------------


def test_colours_are_distinct_however_many():
    for count in (1, 8, 9, 40):
        assert len(set(colours(count))) == count


def test_colours_are_dark_enough_on_white():
    for colour in colours(8) + colours(20):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
        luminance = np.dot([0.2126, 0.7152, 0.0722], linear)
        assert 1.05 / (luminance + 0.05) > 1.5


def test_the_map_keeps_areas():
    latitude, longitude = np.radians([[-60.0, 0.0, 35.0, 70.0], [10.0, 100.0, -150.0, 60.0]])

    def on_map(lat, lon):
        return np.array(hammer(np.stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)], axis=1)))

    step = 1e-5
    south, east = (
        (on_map(latitude + step * a, longitude + step * b) - on_map(latitude - step * a, longitude - step * b))
        / (2 * step)
        for a, b in ((1, 0), (0, 1))
    )
    area = np.abs(south[0] * east[1] - south[1] * east[0])
    np.testing.assert_allclose(area, np.cos(latitude), rtol=1e-6)


# Two of many columns, and selections ----------------------------------------------------------------------------------


def test_cells_of_two_of_many_columns_are_those_of_their_own_distribution():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(2, 4, 4))
    wide = Mixture.from_source(
        "gaussian", [0.4, 0.6], mean=rng.normal(size=(2, 4)) * 3, covariance=root @ np.swapaxes(root, 1, 2) + np.eye(4)
    )
    source = wide.source
    pair = Mixture.from_source(
        "gaussian",
        wide.weights,
        mean=source["mean"][:, [2, 0]],
        covariance=source["covariance"][:, [2, 0]][:, :, [2, 0]],
    )
    X = wide.sample(200, 0)
    ax = plot_cells(wide, X, columns=[2, 0])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column 2", "column 0")
    expected = plot_cells(pair, X[:, [2, 0]])
    np.testing.assert_array_equal(ax.images[0].get_array(), expected.images[0].get_array())
    with pytest.raises(ValueError, match="there are 4: select two with columns="):
        plot_cells(wide, X)
    assert plot_cells(wide, columns=[1, 3], xlim=(0, 1), ylim=(0, 1)).get_xlabel() == "column 1"


def test_a_selection_is_titled_and_nothing_of_it_is_cut_off():
    from matplotlib import pyplot

    X = np.random.default_rng(0).gamma(4.0, size=(200, 1))
    found = select(X, ["gamma", "gaussian", "exponential"], range(1, 4), random_state=0)
    for ax in (plot_selection(found), plot_selection(found, pyplot.subplots(figsize=(6, 4))[1])):
        assert ax.get_title(loc="left").startswith("Best by BIC: ")
        low, high = ax.get_ylim()
        shown = [line for line in ax.lines if "above" not in line.get_label()]
        assert all(low <= value <= high for line in shown for value in line.get_ydata())
        figure = ax.figure
        figure.canvas.draw()
        legend = ax.get_legend().get_window_extent()
        assert legend.x1 <= figure.bbox.x1 + 1
        assert ax.title.get_window_extent().y1 <= figure.bbox.y1 + 1


# Survival -------------------------------------------------------------------------------------------------------------


def test_survival_has_both_curves_and_marks_where_values_are_censored():
    mixture = Mixture.from_source("exponential", [0.5, 0.5], rate=[0.2, 1.0])
    ax = plot_survival(mixture, Intervals.from_events([1.0, 2.0, 3.0, 4.0], [1, 0, 1, 0]))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["component 0", "component 1", "mixture", "data", "its band", "censored"]
    fitted, data, marks = ax.lines[-3:]
    times = fitted.get_xdata()
    np.testing.assert_allclose(fitted.get_ydata(), 0.5 * np.exp(-0.2 * times) + 0.5 * np.exp(-times), atol=1e-9)
    assert data.get_ydata().tolist() == pytest.approx([1.0, 0.75, 0.375])
    assert (marks.get_xdata().tolist(), marks.get_ydata().tolist()) == ([2.0, 4.0], [0.75, 0.375])
    assert note_of(ax) == "4 rows; 2 censored on the right"


@pytest.mark.parametrize("place", ["left", "center", "right"])
def test_a_title_of_your_own_replaces_that_of_the_plot(place):
    ax = plot_fit(LINE, LINE.sample(100, 0))
    (note,) = [text for text in ax.texts if "rows" in text.get_text()]
    assert note.get_visible()
    ax.set_title("Mine", loc=place)
    titles = {loc: ax.get_title(loc=loc) for loc in ("left", "center", "right")}
    assert titles == dict.fromkeys(titles, "") | {place: "Mine"}
    assert not note.get_visible()
    ax.set_title("Mine, larger", loc=place, fontsize=14)
    assert ax.get_title(loc=place) == "Mine, larger"
