"""Three columns and more: every column by itself, and every pair."""

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import colours
from ..titles import LARGE, pyplot
from .bivariate import draw_plane
from .marginals import marginal
from .reading import Subject, dense
from .style import GREY, INK, SMALL, component_names, heading, row_note, tidy
from .univariate import draw_by_label, draw_column

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More columns than this are not readable side by side; those that separate the components best are drawn.
MOST_COLUMNS = 6


def draw_pairs(caller: str, subject: Subject, ax: Any, max_points: int) -> NDArray[np.object_]:
    """The pair plot: an array of Axes, the columns by themselves on its diagonal, pairs below it."""
    mixture = subject.mixture
    rows = subject.sampled(max_points)
    labels = mixture.predict(rows)
    columns = telling_columns(subject, dense(rows, subject.columns), labels)
    names = [subject.names[column] for column in columns]
    left_out = len(subject.columns) - len(columns)
    best = f"{len(columns)} of {len(subject.columns)} columns, those that separate the components best"
    axes = _grid(caller, ax, len(columns))
    points = dense(rows, columns)
    seen = ~np.isnan(points)
    for i, j in product(range(len(columns)), repeat=2):
        panel: Axes = axes[i, j]
        if j > i:
            panel.set_axis_off()
            continue
        if i == j:
            own = seen[:, i]
            _diagonal(panel, mixture, subject, columns[i], points[own, i], labels[own])
        else:
            pair = marginal(mixture, [columns[j], columns[i]])
            own = seen[:, i] & seen[:, j]
            points_here = points[own][:, [j, i]]
            draw_plane(panel, pair, points_here, labels[own], mixture.n_components, [names[j], names[i]], False)
        tidy(panel, None if i == j else "both")
        _outer_labels(panel, i, j, len(columns), names)
    _share_limits(axes)
    _caption(axes, mixture, row_note(len(points), subject.rows.shape[0], best if left_out else ""))
    return axes


def telling_columns(subject: Subject, points: Array, labels: NDArray[np.intp]) -> list[int]:
    """All columns asked for or, of too many, those whose variance lies most between the components."""
    if len(subject.columns) <= MOST_COLUMNS:
        return list(subject.columns)
    centered = np.nan_to_num(points - np.nanmean(points, axis=0))
    between = np.zeros(points.shape[1])
    for label in np.unique(labels):
        own = centered[labels == label]
        between += len(own) * own.mean(axis=0) ** 2
    share = between / np.maximum((centered**2).sum(axis=0), 1e-300)
    best = np.sort(np.argsort(-share, kind="stable")[:MOST_COLUMNS])
    return [subject.columns[place] for place in best]


def _grid(caller: str, ax: Any, n_columns: int) -> NDArray[np.object_]:
    if ax is None:
        size = float(np.clip(2.1 * n_columns, 5.5, 11.0))
        return pyplot(caller).subplots(n_columns, n_columns, figsize=(size, size), layout="constrained")[1]
    axes = np.asarray(ax, dtype=object)
    if axes.shape != (n_columns, n_columns):
        raise ValueError(
            f"{n_columns} columns make a pair plot: give ax as an array of {n_columns} x {n_columns} Axes, omit"
            " it, or draw one or two columns with columns=[...]"
        )
    return axes


def _diagonal(
    panel: "Axes", mixture: Mixture, subject: Subject, column: int, values: Array, labels: NDArray[np.intp]
) -> None:
    alone = marginal(mixture, [column])
    name = subject.names[column]
    if alone is None:
        draw_by_label(panel, values, labels, mixture.n_components, name)
    else:
        draw_column(panel, alone, values, name, small=True)


def _outer_labels(panel: "Axes", i: int, j: int, size: int, names: list[str]) -> None:
    panel.tick_params(labelbottom=i == size - 1, labelleft=j == 0 and i > 0)
    panel.set(xlabel=names[j] if i == size - 1 else "", ylabel=names[i] if j == 0 else "")
    if panel.get_xscale() == "linear":
        panel.locator_params(axis="x", nbins=4)
    if panel.get_yscale() == "linear":
        panel.locator_params(axis="y", nbins=4)
    if i == j:
        panel.tick_params(left=False)
        panel.spines["left"].set_visible(False)


def _share_limits(axes: NDArray[np.object_]) -> None:
    """A column of panels has the limits of its points, so that the diagonal stands over its pairs."""
    for j in range(len(axes) - 1):
        axes[j, j].set_xlim(axes[j + 1, j].get_xlim())
    axes[-1, -1].set_xlim(axes[-1, 0].get_ylim())


def _caption(axes: NDArray[np.object_], mixture: Mixture, note: str) -> None:
    """Title, note and legend in the empty upper corner."""
    from matplotlib.lines import Line2D

    corner = axes[0, -1]

    def write(text: str, height: float, size: float, colour: str) -> None:
        written = corner.annotate(
            text, (1, height), xycoords="axes fraction", ha="right", va="top", fontsize=size, color=colour
        )
        # The text reaches over empty panels; the layout must not widen the last one for it.
        written.set_in_layout(False)

    write(heading(mixture), 1.0, LARGE, INK)
    write(note.replace("; ", "\n"), 0.86, SMALL, GREY)
    if mixture.n_components > 1:
        legend = corner.legend(
            [Line2D([], [], color=colour, lw=3) for colour in colours(mixture.n_components)],
            component_names(mixture),
            title="component (weight)",
            loc="upper right",
            bbox_to_anchor=(1.0, 0.6),
            ncols=1 + (mixture.n_components - 1) // 6,
            fontsize=SMALL,
            title_fontsize=SMALL,
            labelcolor=INK,
            frameon=False,
            borderaxespad=0.0,
        )
        legend.set_in_layout(False)
