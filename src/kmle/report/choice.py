"""How the number of components, and the family, were chosen: the criterion of every candidate."""

from typing import Any

from ..selection import Selection
from ..selection.plots import DASHES, TITLES, lines_of, shown_range
from .figure import Figure, Panel, Trace, rounded
from .markup import element, label, table, text
from .numbers import count, plain

SHOWN = 12
MARKS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x")
# Those of the dashes of plots.
PAGE_DASHES = dict(zip(DASHES, ("solid", "dash", "dot"), strict=True))


def criterion_panel(selection: Selection) -> Panel:
    """The criterion over the number of components, a line for each family."""
    lines = lines_of(selection)
    low, high = shown_range(selection, lines)
    traces: list[Trace] = []
    for place, (name, line) in enumerate(lines.items()):
        turn, style = divmod(place, len(MARKS))
        values = [candidate.value(selection.criterion) for candidate in line]
        dash = PAGE_DASHES[DASHES[turn % len(DASHES)]]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": label(name if min(values) <= high else f"{name} (above)"),
                "x": [candidate.n_components for candidate in line],
                "y": rounded(values),
                "line": {"color": f"@line{style}", "width": 2, "dash": dash},
                "marker": {"color": f"@line{style}", "symbol": MARKS[style], "size": 7},
                "hovertemplate": "%{x}: %{y}<extra></extra>",
            }
        )
    best = selection.best
    ring: dict[str, Any] = {"color": "@ink", "size": 16, "symbol": "circle-open", "line": {"color": "@ink", "width": 2}}
    at = {"x": [best.n_components], "y": rounded([best.value(selection.criterion)])}
    traces.append({"type": "scatter", "mode": "markers", "name": "best", **at, "marker": ring, "hoverinfo": "skip"})
    layout = {
        "xaxis": {"title": {"text": "number of components"}, "dtick": 1 if len(lines[best.name]) <= 20 else None},
        "yaxis": {"title": {"text": TITLES[selection.criterion]}, "range": [low, high]},
        "showlegend": len(lines) > 1,
    }
    return Panel([("", Figure(traces, layout))], "Lower is better; the ring marks the selected candidate.")


def candidates_section(selection: Selection) -> str:
    """The best candidates, their distance from the best, and notes."""
    lowest = selection.best.value(selection.criterion)
    rows = []
    for candidate in selection.ranking[:SHOWN]:
        assert candidate.criteria is not None  # a fit has them
        value = candidate.value(selection.criterion)
        figures = [plain(candidate.criteria.log_likelihood, 2), count(candidate.criteria.n_parameters)]
        cells = [*figures, plain(value, 2), plain(value - lowest, 2)]
        rows.append([text(candidate.name), count(candidate.n_components or 0), *cells])
    heads = ["family", "components", "log-likelihood", "parameters", TITLES[selection.criterion], "behind"]
    message = [selection.sentence, *selection.notes]
    return table(heads, rows) + "".join(element("p", text(sentence), class_="note") for sentence in message)
