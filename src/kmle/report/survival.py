"""The survival curve of a mixture beside that of censored values (Kaplan and Meier, 1958; Turnbull, 1976)."""

from typing import Any

import numpy as np

from ..data.intervals import Intervals
from ..inspection import survival
from ..mixture import Mixture
from ..numerics.arrays import Array
from .figure import Figure, Panel, rounded
from .markup import label


def survival_panel(mixture: Mixture, X: Intervals, weights: Array | None, name: str) -> Panel:
    """Both curves, the band of the data's, and marks where values are censored."""
    found = survival(mixture, X, weights)
    observed = found.observed
    assert observed is not None  # there is data
    times, curve = np.append(0.0, observed.times), np.append(1.0, observed.survival)
    steps: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "line": {"shape": "hv", "color": "@muted", "width": 1.5},
    }
    traces: list[dict[str, Any]] = [
        {**steps, "x": rounded(times), "y": rounded(curve), "name": "data"},
        {
            "type": "scatter",
            "mode": "lines",
            "x": rounded(found.times),
            "y": rounded(found.survival),
            "line": {"color": "@accent", "width": 2.5},
            "name": "mixture",
        },
    ]
    for end in (observed.lower, observed.upper):
        dotted = {"shape": "hv", "color": "@muted", "width": 1, "dash": "dot"}
        band = {**steps, "line": dotted, "x": rounded(observed.times), "y": rounded(end)}
        traces.append({**band, "showlegend": False, "hoverinfo": "skip"})
    if len(observed.censored):
        marks = {"color": "@muted", "symbol": "line-ns-open", "size": 9}
        places = {"x": rounded(observed.censored), "y": rounded(observed.at(observed.censored))}
        traces.append({"type": "scatter", "mode": "markers", "marker": marks, "name": "censored", **places})
    axes = {
        "xaxis": {"title": {"text": label(name)}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "share beyond"}, "range": [0, 1.02]},
    }
    lives = ", ".join(f"{100 * share:.0f} % by {time:.5g}" for share, time in found.quantiles.items())
    message = f"Failed under the mixture: {lives}. The curves are {found.largest_gap:.3f} apart at most."
    return Panel([("", Figure(traces, axes))], message)
