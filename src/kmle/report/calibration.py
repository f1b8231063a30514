"""Whether each column has the mixture's distribution: quantiles, and probability integral transforms."""

from typing import Any

import numpy as np
from scipy.special import kolmogorov

from ..families.support import Angles, Integers, Interval
from ..inspection import kolmogorov_smirnov, pit
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..plotting.marginals import column_supports, marginal
from ..plotting.quantiles import mixture_quantiles
from ..plotting.reading import Subject, entries
from ..plotting.scales import is_logarithmic
from .figure import Figure, Panel, rounded
from .markup import label

# Columns to choose from, quantiles of each, bars of a histogram, rows examined.
MOST_COLUMNS, MOST_QUANTILES, BINS, MOST_ROWS = 12, 200, 20, 100_000


def calibrated_columns(subject: Subject) -> list[tuple[int, Mixture]]:
    """The columns whose own distribution has a distribution function, each with that distribution."""
    found: list[tuple[int, Mixture]] = []
    if subject.intervals is not None:  # the survival curve compares what is known of censored values
        return found
    for column in subject.columns:
        alone = marginal(subject.mixture, [column])
        if alone is not None and isinstance(column_supports(alone)[0], Integers | Interval | Angles):
            found.append((column, alone))
    return found


def quantile_panel(subject: Subject) -> Panel | None:
    """Quantiles of each column against those of the mixture; None where no column has any."""
    rows = subject.sampled(MOST_ROWS)
    views: list[tuple[str, Figure]] = []
    for column, alone in calibrated_columns(subject):
        support = column_supports(alone)[0]
        if isinstance(support, Angles) or len(views) == MOST_COLUMNS:
            continue
        try:
            figure = _quantile_figure(alone, entries(rows, column).astype(float), subject.names[column])
        except ValueError:  # a needle, as of a constant column, has no quantiles to speak of
            continue
        views.append((subject.names[column], figure))
    return (
        Panel(views, "Points on the line fit the mixture; the ends of the line are the rarest values.")
        if views
        else None
    )


def _quantile_figure(alone: Mixture, values: Array, name: str) -> Figure:
    count = min(len(values), MOST_QUANTILES)
    shares = (np.arange(count) + 0.5) / count
    seen = np.sort(values)[np.floor(shares * len(values)).astype(np.intp)]
    expected = mixture_quantiles(alone, shares)
    ends = [float(min(seen[0], expected[0])), float(max(seen[-1], expected[-1]))]
    logarithmic = is_logarithmic(values, column_supports(alone)[0]) and ends[0] > 0
    scale: dict[str, Any] = {"type": "log"} if logarithmic else {}
    line = {"type": "scatter", "mode": "lines", "x": ends, "y": ends, "line": {"color": "@muted", "width": 1}}
    dots = {
        "type": "scatter",
        "mode": "markers",
        "x": rounded(expected),
        "y": rounded(seen),
        "marker": {"color": "@accent", "size": 6, "opacity": 0.75},
        "hovertemplate": "%{y}, expected %{x}<extra></extra>",
    }
    axes = {
        "xaxis": {"title": {"text": "quantile of the mixture"}, **scale},
        "yaxis": {"title": {"text": f"quantile of {label(name)}"}, **scale},
    }
    return Figure([{**line, "hoverinfo": "skip"}, dots], {**axes, "showlegend": False})


def transform_panel(subject: Subject) -> Panel | None:
    """Histograms of P(value <= x): flat where the mixture fits; None where no column has any."""
    rows = subject.sampled(MOST_ROWS)
    views = [
        (subject.names[column], _transform_figure(pit(alone, entries(rows, column)[:, None], 0)))
        for column, alone in calibrated_columns(subject)[:MOST_COLUMNS]
    ]
    message = "The probability integral transform is flat where the mixture fits; 19 of 20 bars stay in the band."
    return Panel(views, message) if views else None


def _transform_figure(values: Array) -> Figure:
    counts, edges = np.histogram(values, BINS, (0.0, 1.0))
    n = len(values)
    spread = 1.96 * np.sqrt((1 - 1 / BINS) * BINS / n)
    distance = kolmogorov_smirnov(values)
    bars = {
        "type": "bar",
        "x": rounded(edges[:-1] + 0.5 / BINS),
        "y": rounded(counts * BINS / n),
        "marker": {"color": "@accent"},
        "hovertemplate": "%{y}<extra></extra>",
    }
    band = {
        "type": "scatter",
        "mode": "none",
        "x": [0, 1, 1, 0],
        "y": rounded([1 - spread, 1 - spread, 1 + spread, 1 + spread]),
        "fill": "toself",
        "fillcolor": "@muted/0.25",
        "hoverinfo": "skip",
    }
    layout = {
        "xaxis": {"title": {"text": "P(value ≤ observed)"}, "range": [0, 1]},
        "yaxis": {"title": {"text": "density"}, "rangemode": "tozero"},
        "bargap": 0.06,
        "showlegend": False,
    }
    message = (
        f"Kolmogorov-Smirnov distance {distance:.3f}; 19 of 20 samples of a mixture known beforehand stay below "
        f"{limit(n):.3f}."
    )
    return Figure([bars, band], layout, message)


def limit(n: float, share: float = 0.05) -> float:
    """The Kolmogorov-Smirnov distance that this share of samples exceeds."""
    return float({0.05: 1.358, 0.01: 1.628}[share] / np.sqrt(n))


def significance(distance: float, n: float) -> float:
    """The probability of a distance at least this large by chance."""
    root = np.sqrt(n)
    return float(kolmogorov((root + 0.12 + 0.11 / root) * distance))
