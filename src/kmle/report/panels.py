"""Which plots the page has: the data with the mixture, the sizes, the certainty of labels, the objective."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..algorithms import Fit
from ..data.intervals import Intervals
from ..families import VonMises
from ..numerics.arrays import Array
from ..plotting.fit import plot_of
from ..plotting.history import search_ascent
from ..plotting.marginals import marginal
from ..plotting.pairs import telling_columns
from ..plotting.profiles import profile_of
from ..plotting.reading import Subject, dense, entries
from .columns import by_label_figure, column_figure, rose_figure
from .figure import Figure, Panel, Trace, legend_title, of_component, rounded
from .markup import TIMES, label
from .numbers import count
from .pairs import pairs_figure, panels_of
from .planes import plane_figure, sphere_figure, ternary_figure
from .survival import survival_panel

# Rows drawn as points: of one plot, and of each of many to choose from.
MOST_POINTS, FEWER_POINTS = 2000, 1000
# Single columns to choose from.
MOST_COLUMNS = 24
MOST_ENTRIES = 60
# More components than this are not named one by one.
MANY = 30
MOST_STEPS = 400
LEAST_RISE = 1.0
CERTAINTY_ROWS = 20_000


@dataclass(frozen=True)
class View:
    """A plot that can be drawn: its name, and the columns along x and y of its panels, where they are columns."""

    name: str
    draw: Callable[[], Figure]
    columns: tuple[tuple[int, int | None], ...] = ()


def data_panel(subject: Subject) -> Panel:
    """The data with the mixture, of the kind that suits the family."""
    views, caption = data_views(subject)
    return Panel([(view.name, view.draw()) for view in views], caption)


def data_views(subject: Subject) -> tuple[list[View], str]:
    """The plots of the data with the mixture, none of them drawn yet, and what is said under them."""
    if subject.intervals is not None:
        return _lifetimes(subject, subject.intervals)
    kind, mixture = plot_of(subject), subject.mixture
    if kind == "profile":
        return _profile(subject)
    if kind == "rose":
        bars = f"Bars are the {count(subject.rows.shape[0])} rows, lines the components times their weights."
        return [View("", lambda: rose_figure(mixture, dense(subject.with_entries().rows, subject.columns)))], bars
    if kind == "proportion":
        rows = subject.sampled(MOST_POINTS)
        views = [View("", lambda: _single(subject, 0, rows, mixture.predict(rows)), ((0, None),))]
        return views, f"{count(subject.rows.shape[0])} rows; the other column is one minus this one."
    if kind in ("sphere", "triangle"):
        return _directions(subject, kind)
    return _views(subject)


def _lifetimes(subject: Subject, intervals: Intervals) -> tuple[list[View], str]:
    """The survival curve of censored values."""
    panel = survival_panel(subject.mixture, intervals, None, subject.names[0])
    ((name, figure),) = panel.views
    return [View(name, lambda: figure)], panel.caption


def _directions(subject: Subject, kind: str) -> tuple[list[View], str]:
    """Rows of length one, or of three proportions."""
    mixture, rows = subject.mixture, dense(subject.sampled(MOST_POINTS), subject.columns)
    labels = mixture.predict(rows)
    if kind == "triangle":
        return [View("", lambda: ternary_figure(mixture, rows, labels, subject.chosen_names))], _drawn(subject, rows)
    message = f"Hammer's equal-area map: {subject.names[0]} in the middle, {subject.names[2]} upwards. "
    return [View("", lambda: sphere_figure(mixture, rows, labels))], message + _drawn(subject, rows)


def _views(subject: Subject) -> tuple[list[View], str]:
    """All columns together, pairs of columns, and columns by themselves."""
    mixture = subject.mixture
    rows = subject.sampled(MOST_POINTS if len(subject.columns) == 2 else FEWER_POINTS)
    labels = mixture.predict(rows)
    points = dense(rows, subject.columns)
    telling = telling_columns(subject, points, labels)
    pairs = list(combinations(telling, 2))
    singles = list(subject.columns) if len(subject.columns) <= MOST_COLUMNS else telling
    views: list[View] = []
    if len(telling) > 2:
        places = [subject.columns.index(column) for column in telling]
        names = [subject.names[column] for column in telling]
        draw = partial(pairs_figure, mixture, points[:, places], labels, telling, names)
        views.append(View("all pairs", draw, panels_of(telling)))
    for first, second in pairs:
        draw = partial(_plane, subject, (first, second), points, labels)
        views.append(View(f"{subject.names[first]} {TIMES} {subject.names[second]}", draw, ((first, second),)))
    for column in singles:
        draw = partial(_single, subject, column, rows, labels)
        views.append(View(subject.names[column], draw, ((column, None),)))
    message = [_drawn(subject, points)] if pairs else [f"{count(subject.rows.shape[0])} rows."]
    if len(telling) < len(subject.columns):
        message.append(f"Pairs are of the {len(telling)} columns that separate the components best.")
    return views, " ".join(message)


def _plane(subject: Subject, pair: tuple[int, int], points: Array, labels: NDArray[np.intp]) -> Figure:
    at = [subject.columns.index(column) for column in pair]
    names = [subject.names[column] for column in pair]
    seen = ~np.isnan(points[:, at]).any(axis=1)
    return plane_figure(subject.mixture, marginal(subject.mixture, pair), points[seen][:, at], labels[seen], names)


def _single(subject: Subject, column: int, rows: Any, labels: NDArray[np.intp]) -> Figure:
    alone, name = marginal(subject.mixture, [column]), subject.names[column]
    if alone is None:
        values = dense(rows, [column])[:, 0]
        seen = ~np.isnan(values)
        return by_label_figure(values[seen], labels[seen], subject.mixture, name)
    if isinstance(alone.family, VonMises):
        return rose_figure(alone, entries(subject.rows, column)[:, None])
    return column_figure(alone, entries(subject.rows, column), name)


def _profile(subject: Subject) -> tuple[list[View], str]:
    """Probabilities as dots on a line for each column or category."""
    profile, mixture = profile_of(subject), subject.mixture
    columns = [name for name, size in profile.groups for _ in range(size)]
    names = [f"{c}: {e}" if c else e for c, e in zip(columns, profile.entries, strict=True)]
    table, message = profile.table, "Dots are the components, ticks all rows."
    kept = np.arange(len(names))
    if len(names) > MOST_ENTRIES:
        spread = mixture.weights @ (table - mixture.weights @ table) ** 2
        kept = np.sort(np.argsort(-spread, kind="stable")[:MOST_ENTRIES])
        message += f" Of {count(len(names))} entries, the {MOST_ENTRIES} that separate the components best."
    # Places rather than names along the axis: two columns may have the same name.
    places = np.arange(len(kept))
    dots = [
        of_component(
            mixture,
            component,
            type="scatter",
            mode="markers",
            x=rounded(table[component, kept]),
            y=places.tolist(),
            marker={"color": f"@{component}", "size": 10, "opacity": 0.9},
            hovertemplate="%{x}<extra></extra>",
        )
        for component in range(mixture.n_components)
    ]
    overall = {
        "type": "scatter",
        "mode": "markers",
        "name": "all rows",
        "x": rounded(profile.overall[kept]),
        "y": places.tolist(),
        "marker": {"symbol": "line-ns-open", "size": 12, "color": "@ink", "line": {"width": 1.6, "color": "@ink"}},
        "hovertemplate": "%{x}<extra></extra>",
    }
    ticks = {"tickvals": places.tolist(), "ticktext": [label(names[place]) for place in kept]}
    layout = {
        "xaxis": {"title": {"text": profile.what}, "range": [-0.02, max(1.02 * float(table.max()), 0.01) + 0.02]},
        "yaxis": {**ticks, "range": [len(kept) - 0.4, -0.6], "zeroline": False},
        "height": 120 + 22 * len(kept),
        "hovermode": "closest",
        **legend_title(mixture),
        "showlegend": True,
    }
    return [View("", lambda: Figure([overall, *dots], layout))], message


def certainty_panel(subject: Subject) -> Panel:
    """How probable the label of a row is, component by component."""
    mixture = subject.mixture
    posterior = mixture.posterior(subject.known(subject.sampled_places(CERTAINTY_ROWS)))
    labels, certainty = posterior.argmax(axis=1), posterior.max(axis=1)
    edges = np.linspace(0, 1, 41)
    traces = [
        of_component(
            mixture,
            component,
            type="bar",
            x=rounded(edges[:-1] + 0.0125),
            y=rounded(100 * np.histogram(certainty[labels == component], edges)[0] / len(labels)),
            marker={"color": f"@{component}"},
            hovertemplate="%{x}: %{y} %<extra></extra>",
        )
        for component in range(mixture.n_components)
    ]
    layout = {
        "barmode": "stack",
        "bargap": 0.08,
        "xaxis": {"title": {"text": "posterior probability of the label"}, "range": [0.9 / mixture.n_components, 1]},
        "yaxis": {"title": {"text": "% of rows"}},
        **legend_title(mixture),
        "showlegend": False,
    }
    wrong = 100 * (1 - float(certainty.mean()))
    message = f"Rows far to the right have a certain component; {wrong:.1f} % of the labels are expected to be wrong."
    shown = len(labels)
    note = f" {count(shown)} of {count(subject.rows.shape[0])} rows used." if shown < subject.rows.shape[0] else ""
    return Panel([("", Figure(traces, layout))], message + note)


def weights_panel(subject: Subject, sizes: Array) -> Panel:
    """The weight of every component beside the share of rows it was given."""
    mixture = subject.mixture
    weights, shares = mixture.weights, sizes / sizes.sum()
    places = list(range(mixture.n_components))
    bars = [
        of_component(
            mixture,
            component,
            type="bar",
            orientation="h",
            x=rounded(100 * weights[[component]]),
            y=[component],
            marker={"color": f"@{component}"},
            hovertemplate="%{x} %<extra></extra>",
        )
        for component in places
    ]
    ticks = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded(100 * shares),
        "y": places,
        "marker": {"symbol": "line-ns-open", "size": 16, "color": "@ink", "line": {"width": 2, "color": "@ink"}},
        "hovertemplate": "%{x} % of rows<extra></extra>",
    }
    layout = {
        "xaxis": {"title": {"text": "%"}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "component"}, "range": [len(places) - 0.4, -0.6], "zeroline": False}
        | ({"tickvals": places} if len(places) <= MANY else {}),
        "bargap": 0.35,
        "barmode": "overlay",
        "showlegend": False,
        "height": max(300, 70 + 16 * min(len(places), MANY)),
    }
    if len(places) > MANY:
        return Panel([("", Figure(bars, layout))], "The weight of every component.")
    return Panel([("", Figure([*bars, ticks], layout))], "Bars are weights, ticks the share of rows by their label.")


def history_panel(fit: Fit) -> Panel:
    """Objective of the fit: the best start of the search after every pass, then every half-step."""
    total, search = len(fit.history), search_ascent(fit)
    traces = [_ascent_trace(fit, len(search))]
    if len(search):
        kept = _thinned(len(search))
        traces.insert(
            0,
            {
                "type": "scatter",
                "mode": "lines",
                "name": "search",
                "x": kept.tolist(),
                "y": [float(value) for value in search[kept]],
                "line": {"color": "@muted", "width": 2, "dash": "dash"},
                "hovertemplate": "search: %{y}<extra></extra>",
            },
        )
    layout: dict[str, Any] = {
        "xaxis": {"title": {"text": "passes of the search, then half-steps" if len(search) else "half-step"}},
        "yaxis": {"title": {"text": "objective"}, "exponentformat": "none", "separatethousands": True},
        "showlegend": False,
    }
    values = np.concatenate([search, fit.objectives])
    low, high = values[np.isfinite(values)].min(), values[np.isfinite(values)].max()
    if high - low < LEAST_RISE:
        # Differences of far less than a nat are rounding, not a rise.
        layout["yaxis"] |= {"range": [float(high) - LEAST_RISE, float(high) + 0.1 * LEAST_RISE]}
    penalty = " The objective includes the prior's penalty." if fit.includes_penalty else ""
    message = f"{count(total)} half-step{'s' * (total != 1)}"
    message += f", {count(MOST_STEPS)} of them shown" if total > MOST_STEPS else ""
    before = f" after {count(len(search))} passes of the search, whose best start is dashed" if len(search) else ""
    return Panel([("", Figure(traces, layout))], f"Higher is better. {message}{before}.{penalty}")


def _thinned(total: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, total - 1, min(total, MOST_STEPS)).round().astype(int))


def _ascent_trace(fit: Fit, first: int) -> Trace:
    kept = _thinned(len(fit.history))
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(kept) <= 60 else "lines",
        # Objectives of many rows differ late in their digits: none are left out.
        "x": (first + kept).tolist(),
        "y": [float(value) if np.isfinite(value) else None for value in fit.objectives[kept]],
        "text": [label(fit.history[step].kind) for step in kept],
        "line": {"color": "@accent", "width": 2},
        "marker": {"color": "@accent", "size": 6},
        "hovertemplate": "%{text}: %{y}<extra></extra>",
    }


def _drawn(subject: Subject, points: Array) -> str:
    total = subject.rows.shape[0]
    if len(points) == total:
        return f"{count(total)} rows."
    return f"{count(len(points))} of {count(total)} rows drawn as points, the same ones every time."
