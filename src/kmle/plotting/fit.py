"""`plot_fit`: data and mixture in one plot, of the kind that suits the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..families import Bernoulli, Categorical, Dirichlet, Multinomial, VonMises, VonMisesFisher
from ..families.support import PositiveDefinite
from ..numerics.options import whole_number
from ..titles import title
from .bivariate import draw_plane
from .directions import draw_rose, draw_sphere
from .marginals import marginal
from .matrices import MOST_MATRICES, draw_matrices
from .pairs import draw_pairs
from .profiles import draw_profile, overall_mark, profile_of
from .reading import UNNAMED, Columns, Model, Subject, dense, read
from .style import component_legend, heading, plain_axes, row_note, tidy
from .ternary import draw_triangle
from .univariate import draw_by_label, draw_column, mixture_mark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# So few binary columns are bars, more are a heat map.
FEW_BINARY = 3


def plot_fit(
    model: Model,
    X: ArrayLike,
    *,
    columns: Columns = None,
    ax: Axes | NDArray[np.object_] | None = None,
    max_points: int = 5000,
) -> Axes | NDArray[np.object_]:
    """Plots the rows and the mixture together.

    One column is a histogram with densities, two columns are points by label with ellipses or contours, more columns
    are a pair plot. Angles, directions, three proportions, matrices, binary columns and categories have plots of their
    own.

    Parameters
    ----------
    model : fitted estimator, Fit or Mixture
        The mixture.
    X : array or data frame (n, d)
        The rows. Those that lack a column are left out where it is drawn.
    columns : sequence of names or numbers, default=None
        The columns to plot. If the data has no names, one name per column sets them.
    ax : Axes or array of Axes, default=None
        Where to draw; None creates a figure. A pair plot needs a d x d array.
    max_points : int, default=5000
        The maximum number of rows drawn as points.

    Returns
    -------
    Axes or array of Axes
        The Axes.

    Examples
    --------
    >>> from kmle import Mixture
    >>> mixture = Mixture.from_source("poisson", [0.5, 0.5], rate=[2.0, 9.0])
    >>> plot_fit(mixture, mixture.sample(300, 0), columns=["calls a day"]).get_xlabel()
    'calls a day'
    """
    whole_number("max_points", max_points, 1)
    subject = read(model, X, columns)
    kind = plot_of(subject)
    if kind == "pairs":
        return draw_pairs("plot_fit", subject, ax, max_points)
    subject = subject.with_entries()
    square = kind in ("rose", "matrices", "triangle")
    axes = plain_axes("plot_fit", ax, (6.4, 5.2) if square else (6.8, 4.2))
    _DRAW[kind](axes, subject, max_points)
    return axes


def plot_of(subject: Subject) -> str:
    """Which kind of plot suits the family and the columns to draw."""
    family, count = subject.mixture.family, len(subject.columns)
    if isinstance(family, Bernoulli | Categorical | Multinomial):
        return "profile"
    if isinstance(family, VonMises) and count == 1:
        return "rose"
    if subject.whole:
        if isinstance(family, VonMisesFisher) and count <= 3:
            return "rose" if count == 2 else "sphere"
        if isinstance(family, Dirichlet) and count <= 3:
            return "proportion" if count == 2 else "triangle"
        if isinstance(family.support, PositiveDefinite) and count > 1:
            return "matrices"
    return {1: "column", 2: "plane"}.get(count, "pairs")


def _draw_column(ax: Axes, subject: Subject, max_points: int) -> None:
    _one_column(ax, subject, subject.columns[0], max_points)


def _one_column(ax: Axes, subject: Subject, column: int, max_points: int) -> None:
    mixture, name = subject.mixture, subject.names[column]
    alone = marginal(mixture, [column])
    shown, total = subject.rows.shape[0], subject.total
    if alone is None:
        rows = subject.sampled(max_points)
        shown, note = rows.shape[0], "by label"
        draw_by_label(ax, dense(rows, [column])[:, 0], mixture.predict(rows), mixture.n_components, name)
    else:
        note = draw_column(ax, alone, dense(subject.rows, [column])[:, 0], name)
    tidy(ax, "y")
    title(ax, heading(mixture), row_note(shown, total, note))
    component_legend(ax, mixture, *([] if alone is None or mixture.n_components == 1 else mixture_mark()))


def _draw_plane(ax: Axes, subject: Subject, max_points: int) -> None:
    mixture = subject.mixture
    rows = subject.sampled(max_points)
    pair = marginal(mixture, subject.columns)
    points = dense(rows, subject.columns)
    draw_plane(ax, pair, points, mixture.predict(rows), mixture.n_components, subject.chosen_names)
    tidy(ax)
    _close(ax, subject, len(points))


def _draw_rose(ax: Axes, subject: Subject, max_points: int) -> None:
    alone = marginal(subject.mixture, subject.columns)
    assert alone is not None
    rows = dense(subject.rows, subject.columns)
    name = subject.chosen_names[0] if len(subject.columns) == 1 else ""
    draw_rose(ax, alone, rows, "" if name == UNNAMED else name)
    title(ax, heading(subject.mixture), row_note(len(rows), subject.total))
    component_legend(ax, subject.mixture, *(mixture_mark() if subject.mixture.n_components > 1 else []))


def _draw_sphere(ax: Axes, subject: Subject, max_points: int) -> None:
    rows = dense(subject.sampled(max_points), subject.columns)
    draw_sphere(ax, subject.mixture, rows, subject.mixture.predict(rows))
    _close(ax, subject, len(rows), f"{subject.names[0]} in the middle, {subject.names[2]} upwards")


def _draw_triangle(ax: Axes, subject: Subject, max_points: int) -> None:
    rows = dense(subject.sampled(max_points), subject.columns)
    draw_triangle(ax, subject.mixture, rows, subject.mixture.predict(rows), subject.chosen_names)
    _close(ax, subject, len(rows))


def _draw_proportion(ax: Axes, subject: Subject, max_points: int) -> None:
    _one_column(ax, subject, 0, max_points)


def _draw_matrices(ax: Axes, subject: Subject, max_points: int) -> None:
    rows = dense(subject.sampled(min(max_points, MOST_MATRICES)), subject.columns)
    draw_matrices(ax, rows, subject.mixture.predict(rows), subject.mixture.n_components)
    _close(ax, subject, len(rows), "bold: the mean of each label")


def _draw_profile(ax: Axes, subject: Subject, max_points: int) -> None:
    bars = not isinstance(subject.mixture.family, Bernoulli) or len(subject.columns) <= FEW_BINARY
    shown, total = subject.rows.shape[0], subject.total
    if draw_profile(ax, subject.mixture, profile_of(subject), bars):
        component_legend(ax, subject.mixture, *overall_mark())
    title(ax, heading(subject.mixture), row_note(shown, total))


def _close(ax: Axes, subject: Subject, shown: int, *notes: str) -> None:
    title(ax, heading(subject.mixture), row_note(shown, subject.total, *notes))
    component_legend(ax, subject.mixture)


_DRAW: dict[str, Any] = {
    "column": _draw_column,
    "plane": _draw_plane,
    "rose": _draw_rose,
    "sphere": _draw_sphere,
    "triangle": _draw_triangle,
    "proportion": _draw_proportion,
    "matrices": _draw_matrices,
    "profile": _draw_profile,
}
