"""One column: a histogram with the density of the mixture and of every component, flat or round a circle."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..families import VonMises
from ..families.support import Integers
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..plotting.bins import SAMPLED_ROWS, Bins, continuous_bins, integer_bins
from ..plotting.directions import INNER
from ..plotting.marginals import column_supports
from ..plotting.scales import bounds, is_logarithmic
from ..plotting.univariate import VISIBLE, wrapped
from .figure import Figure, Trace, bare_axes, legend_title, line_of, note_at, of_component, rounded
from .markup import label
from .numbers import count

# Above this many whole numbers the masses are a line without dots.
MOST_DOTS = 45
# Points of a curve, evenly spaced; the components share as many more.
CURVE_POINTS = 160
# Points of the curve of one component, at most twice as many.
COMPONENT_POINTS = 50
SECTORS = 48
MOST_DECADES = 12


def column_figure(mixture: Mixture, values: Array, name: str) -> Figure:
    """The histogram of all values under the densities of a univariate mixture."""
    every = -(-len(values) // SAMPLED_ROWS)
    few = np.concatenate([values[::every], [values.min(), values.max()]]).astype(float)
    (support,) = column_supports(mixture)
    if isinstance(support, Integers):
        bins = integer_bins(few)
        first, last = max(np.ceil(bins.start), support.lower), float(np.minimum(np.floor(bins.stop), support.upper))
        x, mode = np.arange(first, last + 1), "probability"
    else:
        lower, upper = bounds(support)
        labels = mixture.predict(few[:, None])
        if is_logarithmic(few, support):
            return _decades_figure(mixture, values, few, labels, name, lower)
        bins = continuous_bins(few, labels, lower, upper)
        # Not at the very ends of the support, where a density may have a pole.
        inside = 1e-6 * (bins.stop - bins.start)
        x = _grid(bins.start + inside, bins.stop - inside, few, labels)
        mode = "density"
    heights = bins.fractions(values) / bins.width
    joint = np.exp(mixture.log_joint(x[:, None]))
    top = _top(heights, joint)
    dots = mode == "probability" and len(x) <= MOST_DOTS
    traces = [_bars(bins, heights), *_curves(mixture, x, np.minimum(joint, 20 * top), dots)]
    layout = {
        "xaxis": {"title": {"text": label(name)}, "range": [bins.start, bins.stop]},
        "yaxis": {"title": {"text": mode}, "range": [0, top], "rangemode": "nonnegative"},
        "bargap": 0.12 if dots else 0.02,
        **legend_title(mixture),
    }
    return Figure(traces, layout, _beyond(values, bins))


def _decades_figure(
    mixture: Mixture, values: Array, few: Array, labels: NDArray[np.intp], name: str, lower: float
) -> Figure:
    """Over decades: the density of the decimal logarithm, so that areas stay shares."""
    positive = few > 0
    logarithms, labels = np.log10(few[positive]), labels[positive]
    bins = continuous_bins(logarithms, labels, np.log10(lower) if lower > 0 else -np.inf, np.inf)
    with np.errstate(divide="ignore"):
        heights = bins.fractions(np.log10(values)) / bins.width
    x = _grid(bins.start + 1e-6 * bins.width, bins.stop, logarithms, labels)
    joint = np.exp(mixture.log_joint(10 ** x[:, None])) * (10**x * np.log(10))[:, None]
    top = _top(heights, joint)
    decades = np.arange(np.ceil(bins.start), np.floor(bins.stop) + 1)
    decades = decades[:: -(-len(decades) // MOST_DECADES)]
    ticks = {"tickvals": decades.tolist(), "ticktext": [f"{10**decade:g}" for decade in decades]}
    layout = {
        "xaxis": {"title": {"text": label(name)}, "range": [bins.start, bins.stop], **ticks},
        "yaxis": {"title": {"text": "density of the decimal logarithm"}, "range": [0, top]},
        "bargap": 0.02,
        **legend_title(mixture),
    }
    traces = [_bars(bins, heights), *_curves(mixture, x, np.minimum(joint, 20 * top), dots=False)]
    return Figure([{**trace, "hovertemplate": "%{y}<extra></extra>"} for trace in traces], layout)


def by_label_figure(values: Array, labels: NDArray[np.intp], mixture: Mixture, name: str) -> Figure:
    """Histograms by label, stacked: for columns whose own distribution has no formula."""
    bins = continuous_bins(values, labels, -np.inf, np.inf)
    middles = rounded(bins.edges[:-1] + bins.width / 2)
    of_label = [labels == component for component in range(mixture.n_components)]
    heights = [
        bins.fractions(values[own]) * own.mean() / bins.width if own.any() else np.zeros(bins.count) for own in of_label
    ]
    traces = [
        of_component(
            mixture,
            component,
            type="bar",
            x=middles,
            y=rounded(own),
            marker={"color": f"@{component}"},
            hovertemplate="%{x}: %{y}<extra></extra>",
        )
        for component, own in enumerate(heights)
    ]
    top = 1.08 * float(np.sum(heights, axis=0).max())
    axes = {
        "xaxis": {"title": {"text": label(name)}, "range": [bins.start, bins.stop]},
        "yaxis": {"title": {"text": "density"}, "range": [0, top]},
    }
    return Figure(traces, {**axes, "barmode": "stack", "bargap": 0.02, **legend_title(mixture)})


def rose_figure(mixture: Mixture, rows: Array) -> Figure:
    """Angles (n, 1) or unit vectors (n, 2) as bars round a circle, the densities as curves."""
    angles = np.arctan2(rows[:, 1], rows[:, 0]) if rows.shape[1] == 2 else wrapped(rows[:, 0])
    counts, edges = np.histogram(angles, SECTORS, (-np.pi, np.pi))
    heights = counts / (len(angles) * (edges[1] - edges[0]))
    turn = np.linspace(-np.pi, np.pi, 361)
    circular = isinstance(mixture.family, VonMises)
    points = turn[:, None] if circular else np.stack([np.cos(turn), np.sin(turn)], axis=1)
    joint = np.exp(mixture.log_joint(points))
    top = _top(heights, joint)
    wedges = [
        _ring(np.linspace(start, stop, 5), [height / top] * 5)
        for height, start, stop in zip(heights, edges[:-1], edges[1:], strict=True)
        if height > 0
    ]
    x, y = line_of(wedges)
    bars: Trace = {"type": "scatter", "mode": "none", "x": x, "y": y, "fill": "toself", "fillcolor": "@bars"}
    curves = []
    for component, curve in enumerate(joint.T):
        visible = np.where(curve > VISIBLE * top, np.minimum(curve / top, 1.05), np.nan)
        line = _arc(turn, visible)
        shown: Trace = {"type": "scatter", "mode": "lines", "x": rounded(line[:, 0]), "y": rounded(line[:, 1])}
        shown |= {"line": {"color": f"@{component}", "width": 2.2}, "hoverinfo": "skip"}
        curves.append(of_component(mixture, component, **shown))
    quarters = [note_at(f"{degrees}°", *_arc(np.radians([degrees]), [-0.14])[0]) for degrees in (0, 90, 180, 270)]
    layout = {**bare_axes(), "annotations": quarters, "height": 460, **legend_title(mixture)}
    return Figure([{**bars, "name": "data", "hoverinfo": "skip"}, *curves, _inner_circle(turn)], layout)


def _arc(angles: Array, heights: ArrayLike) -> Array:
    """Points at these angles and heights above the inner circle."""
    radius = INNER + np.asarray(heights, dtype=float)
    return np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=1)


def _ring(angles: Array, heights: ArrayLike) -> Array:
    """The outline of a bar: its outer arc, and back along the inner circle."""
    return np.concatenate([_arc(angles, heights), _arc(angles[::-1], np.zeros(len(angles)))])


def _inner_circle(turn: Array) -> Trace:
    x, y = line_of([_arc(turn, np.zeros(len(turn)))])
    line = {"color": "@muted", "width": 1}
    return {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "showlegend": False, "hoverinfo": "skip"}


def _top(heights: Array, joint: Array) -> float:
    """How high the plot is: a pole or a needle must not press the histogram flat."""
    total = joint.sum(axis=1)
    highest = float(heights.max())
    return float(f"{1.08 * max(highest, min(float(total[np.isfinite(total)].max()), 1.6 * highest)):.5g}")


def _grid(low: float, high: float, values: Array, labels: NDArray[np.intp]) -> Array:
    """Points from low to high, closer where the rows of a component are."""
    found = np.unique(labels)
    shares = np.linspace(0, 1, max(2, CURVE_POINTS // len(found)))
    near = [np.quantile(values[labels == label], shares) for label in found]
    grid = np.unique(np.concatenate([np.linspace(low, high, CURVE_POINTS), *near]))
    return grid[(grid >= low) & (grid <= high)]


def _bars(bins: Bins, heights: Array) -> Trace:
    return {
        "type": "bar",
        "x": rounded(bins.edges[:-1] + bins.width / 2),
        "y": rounded(heights),
        "name": "data",
        "marker": {"color": "@bars"},
        "hovertemplate": "%{x}: %{y}<extra></extra>",
    }


def _visible_part(curve: Array, top: float) -> slice:
    """From the first to the last point of a curve that is seen, and one more at either end."""
    visible = np.flatnonzero(curve > VISIBLE * top)
    if not visible.size:
        return slice(0, 1)
    first, last = max(int(visible[0]) - 1, 0), int(visible[-1]) + 2
    return slice(first, last, max(1, (last - first) // COMPONENT_POINTS))


def _curves(mixture: Mixture, x: Array, joint: Array, dots: bool) -> list[Trace]:
    mode, top = "lines+markers" if dots else "lines", float(joint.max())
    spans = [_visible_part(curve, top) for curve in joint.T]
    curves = [
        of_component(
            mixture,
            component,
            type="scatter",
            mode=mode,
            x=rounded(x[part]),
            y=rounded(curve[part]),
            line={"color": f"@{component}", "width": 2.2},
            marker={"size": 6},
            fill="tozeroy",
            fillcolor=f"@{component}/0.13",
            hovertemplate="%{x}: %{y}<extra></extra>",
        )
        for component, (curve, part) in enumerate(zip(joint.T, spans, strict=True))
    ]
    total: Trace = {
        "type": "scatter",
        "mode": "lines",
        "x": rounded(x),
        "y": rounded(joint.sum(axis=1)),
        "name": "mixture",
        "line": {"color": "@ink", "width": 1.4, "dash": "dash"},
        "hovertemplate": "%{x}: %{y}<extra></extra>",
    }
    return [*curves, total] if mixture.n_components > 1 else curves


def _beyond(values: Array, bins: Bins) -> str:
    outside = int(np.count_nonzero((values < bins.start) | (values > bins.stop)))
    return f"{count(outside)} {'rows lie' if outside > 1 else 'row lies'} beyond the edges." if outside else ""
