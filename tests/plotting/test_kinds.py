"""Pictures of their own: directions, proportions, probabilities, matrices, mixed columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kmle import Mixture
from kmle.families import Categorical, Gamma, Multinomial, Poisson, Product
from kmle.plotting import plot_fit

pytest.importorskip("matplotlib")
from matplotlib.collections import LineCollection, PathCollection, QuadMesh
from matplotlib.patches import Wedge

from plotting.artists import all_of, bars, component_lines, note_of


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
    family = Product((Poisson(), Gamma()))
    mixture = Mixture.from_source(
        family, [0.5, 0.5], poisson_rate=[2.0, 9.0], gamma_shape=[3.0, 30.0], gamma_scale=[1.0, 0.5]
    )
    X = mixture.sample(100, 0)
    assert plot_fit(mixture, X, columns=[0]).get_ylabel() == "probability"
    assert plot_fit(mixture, X, columns=[1]).get_ylabel() == "density"
