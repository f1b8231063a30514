"""The pair plot of the page: every column by itself on the diagonal, every pair below it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..families import VonMises
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..plotting.marginals import marginal
from .columns import by_label_figure, column_figure
from .figure import Figure, Trace, legend_title
from .markup import label
from .planes import plane_parts

# Rows drawn as points in each panel.
MOST_POINTS = 300
PANEL, GAP = 170, 0.025
# Pixels of an entry of the legend.
LEGEND_LINE = 27


def pairs_figure(
    mixture: Mixture, points: Array, labels: NDArray[np.intp], columns: list[int], names: list[str]
) -> Figure:
    """All panels of these columns (their values are the columns of `points`) in one figure."""
    every = -(-len(points) // MOST_POINTS)
    few, few_labels = points[::every], labels[::every]
    count = len(columns)
    traces: list[Trace] = []
    layout: dict[str, Any] = {"bargap": 0.02, "barmode": "stack", "height": 90 + PANEL * count, **legend_title(mixture)}
    if LEGEND_LINE * (mixture.n_components + 1) < PANEL * (count - 1):
        # The panels above the diagonal are empty.
        layout["legend"] |= {"x": 1, "xanchor": "right"}
    place = 0
    seen, few_seen = ~np.isnan(points), ~np.isnan(few)
    for i in range(count):
        for j in range(i + 1):
            place += 1
            if i == j:
                figure = _diagonal(mixture, columns[i], points[seen[:, i], i], labels[seen[:, i]], names[i])
                own, axes = figure.traces, [figure.layout["xaxis"], figure.layout["yaxis"]]
            else:
                pair = marginal(mixture, [columns[j], columns[i]])
                both = few_seen[:, i] & few_seen[:, j]
                own, axes = plane_parts(mixture, pair, few[both][:, [j, i]], few_labels[both], marked=False)
            named = i == 1 and j == 0
            traces += [_placed(trace, place, named) for trace in own]
            x_axis, y_axis = (
                _axis(axis, at) for axis, at in zip(axes, ((j, count), (count - 1 - i, count)), strict=True)
            )
            x_axis |= {"anchor": f"y{_number(place)}", "showticklabels": i == count - 1}
            x_axis["title"] = {"text": label(names[j]) if i == count - 1 else ""}
            y_axis |= {"anchor": f"x{_number(place)}", "showticklabels": j == 0 and i > 0}
            y_axis["title"] = {"text": label(names[i]) if j == 0 else ""}
            layout |= {f"xaxis{_number(place)}": x_axis, f"yaxis{_number(place)}": y_axis}
    return Figure(traces, layout)


def panels_of(columns: list[int]) -> tuple[tuple[int, int | None], ...]:
    """The columns along x and y of each panel, in the order in which they are drawn.

    >>> panels_of([4, 7])
    ((4, None), (4, 7), (7, None))
    """
    places = [(i, j) for i in range(len(columns)) for j in range(i + 1)]
    return tuple((columns[j], None if i == j else columns[i]) for i, j in places)


def _diagonal(mixture: Mixture, column: int, values: Array, labels: NDArray[np.intp], name: str) -> Figure:
    alone = marginal(mixture, [column])
    if alone is None or isinstance(alone.family, VonMises):
        return by_label_figure(values, labels, mixture, name)
    return column_figure(alone, values, name)


def _placed(trace: Trace, place: int, named: bool) -> Trace:
    """A trace in its panel; one panel names the components for all."""
    return {
        **trace,
        "xaxis": f"x{_number(place)}",
        "yaxis": f"y{_number(place)}",
        "showlegend": named and trace.get("showlegend", True),
    }


def _number(place: int) -> str:
    """How Plotly numbers axes: the first has no number."""
    return "" if place == 1 else str(place)


def _axis(axis: dict[str, Any], at: tuple[int, int]) -> dict[str, Any]:
    first, count = at
    domain = [first / count + GAP / 2, (first + 1) / count - GAP / 2]
    kept = {name: value for name, value in axis.items() if name != "title"}
    return {**kept, "domain": domain, "nticks": 4}
