"""`plot_cells`: which component each point of the plane belongs to."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..families import Categorical, Product
from ..families.support import Integers, Interval
from ..mixture import Mixture
from ..numerics.arrays import Array
from .bins import LOOKED_AT, view
from .bivariate import draw_points
from .marginals import column_supports, gaussian_parts, means
from .reading import Columns, Model, dense, mixture_of, read
from .style import INK, colours, component_legend, heading, number, plain_axes, row_note, tidy, title

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
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the weighted Bregman Voronoi cells of a mixture of two columns: where each component is the most probable.

    >>> from kmle import Mixture
    >>> mixture = Mixture.from_source("poisson", [0.5, 0.5], rate=[[2.0, 9.0], [9.0, 2.0]])
    >>> plot_cells(mixture, xlim=(0, 15), ylim=(0, 15)).get_title(loc="left")
    'Cells of 2 Poisson components'
    """
    mixture = mixture_of(model)
    _check_plane(mixture)
    subject = None if X is None else read(model, X, columns)
    names = _names(model, columns) if subject is None else subject.chosen_names
    rows = mixture.sample(2000, 0) if subject is None else dense(subject.sampled(LOOKED_AT), (0, 1))
    limits = [_limits(mixture, at, given, rows) for at, given in enumerate((xlim, ylim))]
    axes = plain_axes("plot_cells", ax, (6.4, 4.6))
    _draw_cells(axes, mixture, limits)
    note = ""
    if subject is not None:
        few = dense(subject.sampled(MOST_POINTS), (0, 1))
        draw_points(axes, few, mixture.predict(few), mixture.n_components)
        note = row_note(len(few), subject.rows.shape[0])
    axes.set(xlim=limits[0], ylim=limits[1], xlabel=names[0], ylabel=names[1])
    tidy(axes, None)
    title(axes, heading(mixture).replace("Mixture", "Cells").replace("One", "The cell of one"), note)
    component_legend(axes, mixture)
    return axes


def _check_plane(mixture: Mixture) -> None:
    family = mixture.family
    if family.n_features != 2:
        raise ValueError(
            f"plot_cells draws mixtures of two columns; this one has {family.n_features}: fit two of them,"
            " or draw all with plot_fit"
        )
    if isinstance(family, Categorical) or not all(
        isinstance(support, Integers | Interval) for support in column_supports(mixture)
    ):
        raise ValueError(f"{family.name} rows do not fill the plane, so they have no cells in it: use plot_fit")


def _names(model: Model, columns: Columns) -> list[str]:
    given = list(columns) if columns is not None else list(getattr(model, "feature_names_in_", ()))
    return [str(name) for name in given] if len(given) == 2 else ["column 0", "column 1"]


def _limits(mixture: Mixture, at: int, given: Limits | None, rows: Array) -> Limits:
    name = ("xlim", "ylim")[at]
    if given is not None:
        if len(given) != 2 or not np.isfinite(given).all() or not given[0] < given[1]:
            raise ValueError(f"{name} is {given!r}: give the lower end and the upper end, such as (0, 10)")
        return float(given[0]), float(given[1])
    low, high = view(rows[:, at])
    margin = 0.08 * (high - low) or 1.0
    support = column_supports(mixture)[at]
    lower, upper = (support.lower, support.upper) if isinstance(support, Interval) else (-np.inf, np.inf)
    return max(low - margin, lower), min(high + margin, upper)


def scores(mixture: Mixture, points: Array) -> Array:
    """log(weight density) up to a term all components share, (n, k); whole numbers are not asked for."""
    family, natural = mixture.family, mixture.natural
    with np.errstate(divide="ignore"):
        log_weights = np.log(mixture.weights)
    if gaussian_parts(family, natural) is not None and not isinstance(family, Product):
        return mixture.log_joint(points)
    center = family.center(natural)
    (natural,) = family.centered(center, natural)
    points = points if center is None else family.measured_from(points, center)
    return family.sufficient_statistic(points) @ natural.T - family.log_normalizer(natural) + log_weights


def _draw_cells(ax: "Axes", mixture: Mixture, limits: list[Limits]) -> None:
    from matplotlib.colors import ListedColormap, to_rgb

    k = mixture.n_components
    (left, right), (low, high) = limits
    # The middles of the pixels: no point lies on the border of the support.
    x = left + (right - left) * (np.arange(GRID) + 0.5) / GRID
    y = low + (high - low) * (np.arange(GRID) + 0.5) / GRID
    mesh = np.stack([axis.ravel() for axis in np.meshgrid(x, y)], axis=1)
    heights = scores(mixture, mesh).reshape(GRID, GRID, k)
    owners = heights.argmax(axis=-1)
    pale = [tuple(1 - 0.28 * (1 - part) for part in to_rgb(colour)) for colour in colours(k)]
    ax.imshow(
        owners,
        cmap=ListedColormap(pale),
        vmin=-0.5,
        vmax=k - 0.5,
        extent=(left, right, low, high),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        zorder=0,
    )
    # A border is where a component ties with the best of the others: a smooth line, whatever the pixels.
    for label in np.unique(owners) if k > 1 else []:
        others = np.delete(heights, label, axis=-1).max(axis=-1)
        ax.contour(x, y, heights[..., label] - others, levels=[0.0], colors=["white"], linewidths=1.6, zorder=1)
    centres = means(mixture)
    if centres is not None:
        ax.scatter(centres[:, 0], centres[:, 1], s=90, c="white", edgecolors=INK, linewidths=0.8, zorder=5)
        for label, (at_x, at_y) in enumerate(centres):
            number(ax, label, float(at_x), float(at_y), INK)
