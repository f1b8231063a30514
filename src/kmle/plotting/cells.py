"""`plot_cells`: which component each point of the plane belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..families import Categorical, Product
from ..families.numeric_divergences import NumericDivergences
from ..families.support import Integers, Interval
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import colours
from ..titles import title
from .bins import SAMPLED_ROWS, view
from .bivariate import draw_points
from .marginals import column_supports, gaussian_parts, marginal, means
from .reading import Columns, Model, dense, mixture_of, named_columns, read
from .scales import bounds, is_logarithmic, log_view
from .style import INK, component_legend, heading, number, plain_axes, row_note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 360
MOST_POINTS = 5000
Limits = tuple[float, float]


def plot_cells(
    model: Model,
    X: ArrayLike | None = None,
    *,
    columns: Columns = None,
    xlim: Limits | None = None,
    ylim: Limits | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plots the cells of two columns: where in the plane each component is the most probable.

    These are the weighted Bregman Voronoi cells. For a mixture of more columns, they are the cells of the marginal of
    two.

    Parameters
    ----------
    model : fitted estimator, Fit or Mixture
        The mixture.
    X : array or data frame (n, d), default=None
        Rows to draw over the cells.
    columns : sequence of names or numbers, default=None
        The two columns to plot.
    xlim, ylim : (float, float), default=None
        The range of each axis.
    ax : Axes, default=None
        Where to draw; None creates a figure.

    Returns
    -------
    Axes
        The Axes.

    Examples
    --------
    >>> from kmle import Mixture
    >>> mixture = Mixture.from_source("poisson", [0.5, 0.5], rate=[[2.0, 9.0], [9.0, 2.0]])
    >>> plot_cells(mixture, xlim=(0, 15), ylim=(0, 15)).get_title(loc="left")
    'Cells of 2 Poisson components'
    """
    whole = mixture_of(model)
    subject = None if X is None else read(model, X, columns).with_entries()
    names, chosen = named_columns(model, columns) if subject is None else (subject.names, subject.columns)
    mixture = _plane(whole, chosen)
    rows = mixture.sample(2000, 0) if subject is None else dense(subject.sampled(SAMPLED_ROWS), chosen)
    axes = plain_axes("plot_cells", ax, (6.4, 4.6))
    limits = [_limits(mixture, at, given, rows) for at, given in enumerate((xlim, ylim))]
    logarithmic = [given is None and _logarithmic(mixture, at, rows) for at, given in enumerate((xlim, ylim))]
    _draw_cells(axes, mixture, limits, logarithmic)
    note = ""
    if subject is not None:
        few = subject.sampled(MOST_POINTS)
        draw_points(axes, dense(few, chosen), mixture.predict(dense(few, chosen)), mixture.n_components)
        note = row_note(few.shape[0], subject.total)
    axes.set(xlim=limits[0], ylim=limits[1], xlabel=names[chosen[0]], ylabel=names[chosen[1]])
    tidy(axes, None)
    title(axes, heading(whole).replace("Mixture", "Cells").replace("One", "Cell of one"), note)
    component_legend(axes, mixture)
    return axes


def _plane(mixture: Mixture, columns: Sequence[int]) -> Mixture:
    """The mixture of the two columns to draw, or one sentence on why there are no cells."""
    family = mixture.family
    if len(columns) != 2:
        raise ValueError(
            f"plot_cells draws two columns; there are {len(columns)}: select two with columns=[...],"
            " or draw all with plot_fit"
        )
    pair = marginal(mixture, columns)
    if (
        pair is None
        or isinstance(family, Categorical)
        or not all(isinstance(support, Integers | Interval) for support in column_supports(pair))
    ):
        raise ValueError(f"{family.name} rows do not fill the plane and have no cells in it: use plot_fit")
    return pair


def _logarithmic(mixture: Mixture, at: int, rows: Array) -> bool:
    return is_logarithmic(rows[:, at], column_supports(mixture)[at])


def _limits(mixture: Mixture, at: int, given: Limits | None, rows: Array) -> Limits:
    name = ("xlim", "ylim")[at]
    if given is not None:
        if len(given) != 2 or not np.isfinite(given).all() or not given[0] < given[1]:
            raise ValueError(f"{name} is {given!r}: give the lower and the upper end, for example (0, 10)")
        return float(given[0]), float(given[1])
    lower, upper = bounds(column_supports(mixture)[at]) if not _whole(mixture, at) else (-np.inf, np.inf)
    if _logarithmic(mixture, at, rows):
        low, high = log_view(rows[:, at])
        margin = 0.08 * (high - low)
        return max(10 ** (low - margin), lower), 10 ** (high + margin)
    low, high = view(rows[:, at])
    margin = 0.08 * (high - low) or 1.0
    return max(low - margin, lower), min(high + margin, upper)


def _whole(mixture: Mixture, at: int) -> bool:
    return isinstance(column_supports(mixture)[at], Integers)


def scores(mixture: Mixture, points: Array) -> Array:
    """log(weight density) up to a term all components share, (n, k); whole numbers are not asked for."""
    family, natural = mixture.family, mixture.natural
    with np.errstate(divide="ignore"):
        log_weights = np.log(mixture.weights)
    if gaussian_parts(family, natural) is not None and not isinstance(family, Product):
        return mixture.log_joint(points)
    if isinstance(family, NumericDivergences):
        density = family.direct_log_density(points, natural)
        assert density is not None  # such families have no others
        return density + log_weights
    center = family.center(natural)
    (natural,) = family.centered(center, natural)
    points = points if center is None else family.centered_rows(points, center)
    return family.sufficient_statistic(points) @ natural.T - family.log_normalizer(natural) + log_weights


def _draw_cells(ax: Axes, mixture: Mixture, limits: list[Limits], logarithmic: list[bool]) -> None:
    from matplotlib.colors import ListedColormap, to_rgb

    k = mixture.n_components
    # The middles of the pixels: no point lies on the border of the support.
    x, y = (_middles(ends, log) for ends, log in zip(limits, logarithmic, strict=True))
    mesh = np.stack([axis.ravel() for axis in np.meshgrid(x, y)], axis=1)
    heights = scores(mixture, mesh).reshape(GRID, GRID, k)
    owners = heights.argmax(axis=-1)
    pale = [tuple(1 - 0.28 * (1 - part) for part in to_rgb(colour)) for colour in colours(k)]
    shown: dict[str, Any] = {"cmap": ListedColormap(pale), "vmin": -0.5, "vmax": k - 0.5, "zorder": 0}
    if any(logarithmic):
        ax.set(**{f"{which}scale": "log" for which, log in zip("xy", logarithmic, strict=True) if log})
        ax.pcolormesh(x, y, owners, shading="nearest", rasterized=True, **shown)
    else:
        extent = (*limits[0], *limits[1])
        ax.imshow(owners, extent=extent, origin="lower", aspect="auto", interpolation="nearest", **shown)
    # A border is where a component ties with the best of the others: a smooth line, whatever the pixels.
    for label in np.unique(owners) if k > 1 else []:
        others = np.delete(heights, label, axis=-1).max(axis=-1)
        ax.contour(x, y, heights[..., label] - others, levels=[0.0], colors=["white"], linewidths=1.6, zorder=1)
    centers = means(mixture)
    if centers is not None:
        ax.scatter(centers[:, 0], centers[:, 1], s=90, c="white", edgecolors=INK, linewidths=0.8, zorder=5)
        for label, (at_x, at_y) in enumerate(centers):
            number(ax, label, float(at_x), float(at_y), INK)


def _middles(ends: Limits, logarithmic: bool) -> Array:
    parts = (np.arange(GRID) + 0.5) / GRID
    low, high = ends
    return np.asarray(low * (high / low) ** parts if logarithmic else low + (high - low) * parts)
