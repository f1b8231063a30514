"""The survival curve of a mixture beside that of censored values (Kaplan and Meier, 1958; Turnbull, 1976)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.intervals import Intervals
from ..inspection import survival
from ..mixture import Mixture
from ..numerics.arrays import Array
from .figure import Figure, Panel, of_component, rounded
from .markup import label
from .numbers import count

# Steps drawn of the curve of the data, censored values marked on it, components with curves of their own.
MOST_STEPS, MOST_MARKS, MOST_COMPONENTS = 1000, 500, 30


def survival_panel(mixture: Mixture, X: Intervals, weights: Array | None, name: str) -> Panel:
    """Both curves, the band of the data's, and marks where values are censored."""
    found = survival(mixture, X, weights)
    observed = found.observed
    assert observed is not None  # there is data
    drawn = _thinned(len(observed.times), MOST_STEPS)
    # Times begin at zero; other values where the first of them is.
    begin = [0.0] if found.times[0] >= 0 else observed.times[:1]
    times, curve = np.append(begin, observed.times[drawn]), np.append(np.ones(len(begin)), observed.survival[drawn])
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
            "line": {"color": "@ink", "width": 2.5},
            "name": "mixture",
        },
    ]
    if 1 < mixture.n_components <= MOST_COMPONENTS:
        traces += [
            of_component(
                mixture,
                component,
                type="scatter",
                mode="lines",
                x=rounded(found.times),
                y=rounded(found.components[:, component]),
                line={"color": f"@{component}", "width": 1.5, "dash": "dash"},
            )
            for component in range(mixture.n_components)
        ]
    for end in (observed.lower, observed.upper):
        dotted = {"shape": "hv", "color": "@muted", "width": 1, "dash": "dot"}
        band = {**steps, "line": dotted, "x": rounded(observed.times[drawn]), "y": rounded(end[drawn])}
        traces.append({**band, "showlegend": False, "hoverinfo": "skip"})
    if len(observed.censored):
        marks = {"color": "@muted", "symbol": "line-ns-open", "size": 9}
        ends = observed.censored[_thinned(len(observed.censored), MOST_MARKS)]
        places = {"x": rounded(ends), "y": rounded(observed.at(ends))}
        traces.append({"type": "scatter", "mode": "markers", "marker": marks, "name": "censored", **places})
    axes = {
        "xaxis": {"title": {"text": label(name)}, "rangemode": "tozero"},
        "yaxis": {"title": {"text": "share beyond"}, "range": [0, 1.02]},
    }
    lives = ", ".join(f"{100 * share:.0f} % by {time:.5g}" for share, time in found.quantiles.items())
    message = f"Failed under the mixture: {lives}. The curves are {found.largest_gap:.3f} apart at most."
    known = int(X.exact.sum())
    note = f"{count(len(X))} rows, {count(len(X) - known)} of them censored."
    return Panel([("", Figure(traces, axes, note))], message)


def _thinned(total: int, most: int) -> NDArray[np.intp]:
    """Places spread evenly over all, at most `most`, with both ends."""
    return np.unique(np.linspace(0, max(total - 1, 0), min(total, most)).round().astype(np.intp))
