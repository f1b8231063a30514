"""Two columns and their like: points by label, with ellipses, contours or means of the components."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..families import VonMises
from ..families.support import Integers, Interval, Support
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..plotting.bins import view
from ..plotting.bivariate import FEWEST_VALUES, ONE_SIGMA, TWO_SIGMA
from ..plotting.directions import hammer
from ..plotting.marginals import column_supports, gaussian_parts
from ..plotting.univariate import wrapped
from .figure import Figure, Trace, legend_title, of_component, rounded
from .markup import label

GRID = 60
LINES = "Lines hold the mass a Gaussian has inside one and two standard deviations."
ELLIPSE = np.linspace(0, 2 * np.pi, 61)


def plane_figure(
    mixture: Mixture, pair: Mixture | None, points: Array, labels: NDArray[np.intp], names: list[str], contours: bool
) -> Figure:
    """Points (n, 2) and, where the law of the two columns is known, its components."""
    angles = isinstance((pair or mixture).family, VonMises)
    points = wrapped(points) if angles else points
    supports: list[Support | None] = [None, None] if pair is None else [*column_supports(pair)]
    whole = np.array([isinstance(support, Integers) for support in supports])
    # Whole numbers spread a little, so that equal rows are seen as many.
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, points.shape)
    traces = point_traces(mixture, points + np.where(whole, shift, 0.0), labels)
    few = whole.any() and (np.ptp(points[:, whole], axis=0) + 1 < FEWEST_VALUES).any()
    if pair is not None and not few:
        traces += _laws(pair, points, contours)
    if mixture.n_components > 1:
        traces += _marks(mixture, _centres(mixture, points, labels, angles))
    axes = {
        axis: {"title": {"text": label(name)}, "range": _range(points[:, at])}
        for at, (axis, name) in enumerate(zip(("xaxis", "yaxis"), names, strict=True))
    }
    lined = any(trace["type"] == "contour" or trace["mode"] == "lines" for trace in traces)
    return Figure(traces, {**axes, **legend_title(mixture), "hovermode": "closest"}, LINES if lined else "")


def point_traces(mixture: Mixture, points: Array, labels: NDArray[np.intp]) -> list[Trace]:
    """Points (n, 2), those of each label a trace."""
    size = float(np.clip(round(220 / np.sqrt(len(points)), 1), 4, 8))
    return [
        of_component(
            mixture,
            component,
            type="scatter",
            mode="markers",
            x=rounded(points[labels == component, 0]),
            y=rounded(points[labels == component, 1]),
            marker={"color": f"@{component}", "size": size, "opacity": 0.55},
            hovertemplate="%{x}, %{y}<extra></extra>",
        )
        for component in range(mixture.n_components)
    ]


def sphere_figure(mixture: Mixture, rows: Array, labels: NDArray[np.intp]) -> Figure:
    """Unit vectors (n, 3) on Hammer's map of the sphere, which keeps areas, and the mean directions."""
    centres = np.stack(hammer(mixture.source["direction"]), axis=1)
    traces = [*_graticule(), *point_traces(mixture, np.stack(hammer(rows), axis=1), labels), *_marks(mixture, centres)]
    bare: dict[str, Any] = {"visible": False, "fixedrange": True}
    layout = {"xaxis": {**bare, "scaleanchor": "y"}, "yaxis": bare, "hovermode": "closest", **legend_title(mixture)}
    return Figure(traces, layout)


def ternary_figure(mixture: Mixture, rows: Array, labels: NDArray[np.intp], names: list[str]) -> Figure:
    """Three proportions as points of a triangle."""
    traces = [
        of_component(
            mixture,
            component,
            type="scatterternary",
            mode="markers",
            a=rounded(rows[labels == component, 0]),
            b=rounded(rows[labels == component, 1]),
            c=rounded(rows[labels == component, 2]),
            marker={"color": f"@{component}", "size": 5, "opacity": 0.55},
            hovertemplate="%{a}, %{b}, %{c}<extra></extra>",
        )
        for component in range(mixture.n_components)
    ]
    axes = {f"{corner}axis": {"title": {"text": label(name)}} for corner, name in zip("abc", names, strict=True)}
    return Figure(traces, {"ternary": axes, **legend_title(mixture)})


def _laws(pair: Mixture, points: Array, contours: bool) -> list[Trace]:
    parts = gaussian_parts(pair.family, pair.natural)
    if parts is not None:
        return [_ellipse(pair, component, *law) for component, law in enumerate(zip(*parts, strict=True))]
    return _contours(pair, points) if contours else []


def _centres(mixture: Mixture, points: Array, labels: NDArray[np.intp], angles: bool) -> Array:
    """The mean of the points of each label, NaN without any; of angles, on the circle."""
    sums = np.zeros((mixture.n_components, 2), dtype=complex)
    np.add.at(sums, labels, np.exp(1j * points) if angles else points)
    with np.errstate(all="ignore"):
        means = sums / np.bincount(labels, minlength=mixture.n_components)[:, None]
    return np.angle(means) if angles else means.real


def _ellipse(pair: Mixture, component: int, mean: Array, covariance: Array) -> Trace:
    """One and two standard deviations as one line with a gap."""
    values, vectors = np.linalg.eigh(covariance)
    circle = np.stack([np.cos(ELLIPSE), np.sin(ELLIPSE)])
    round_it = ((vectors * np.sqrt(np.maximum(values, 0.0))) @ circle).T
    line = np.concatenate([mean + round_it, [[np.nan, np.nan]], mean + 2 * round_it])
    return of_component(
        pair,
        component,
        shown=False,
        type="scatter",
        mode="lines",
        x=rounded(line[:, 0]),
        y=rounded(line[:, 1]),
        line={"color": f"@{component}", "width": 2},
        hoverinfo="skip",
    )


def _marks(mixture: Mixture, centres: Array) -> list[Trace]:
    return [
        of_component(
            mixture,
            component,
            shown=False,
            type="scatter",
            mode="markers+text",
            x=rounded(centre[:1]),
            y=rounded(centre[1:2]),
            text=[str(component)],
            textfont={"color": "@paper", "size": 11},
            marker={"color": f"@{component}", "size": 18, "line": {"color": "@paper", "width": 1.5}},
            hovertemplate="%{x}, %{y}<extra></extra>",
        )
        for component, centre in enumerate(centres)
    ]


def _contours(pair: Mixture, points: Array) -> list[Trace]:
    """Lines round the smallest regions of the grid with the mass a Gaussian has in one and two deviations."""
    supports = column_supports(pair)
    if not all(isinstance(support, Integers | Interval) for support in supports):
        return []
    x, y = (_axis(points[:, at], support) for at, support in enumerate(supports))
    across, up = np.meshgrid(x, y)
    joint = np.exp(pair.log_joint(np.stack([across.ravel(), up.ravel()], axis=1))).reshape(*across.shape, -1)
    traces = []
    for component in range(pair.n_components):
        density = joint[..., component]
        heights = -np.sort(-density[np.isfinite(density)])
        mass = np.cumsum(heights)
        if mass.size == 0 or not mass[-1] > 0:
            continue
        start, end = heights[np.searchsorted(mass / mass[-1], [TWO_SIGMA, ONE_SIGMA]).clip(max=len(heights) - 1)]
        levels = {"start": float(start), "end": float(end), "size": max(float(end - start), 1e-300)}
        traces.append(
            of_component(
                pair,
                component,
                shown=False,
                type="contour",
                x=rounded(x),
                y=rounded(y),
                z=[rounded(line) for line in density],
                contours={"coloring": "none", **levels},
                autocontour=False,
                line={"color": f"@{component}", "width": 2},
                showscale=False,
                hoverinfo="skip",
            )
        )
    return traces


def _axis(values: Array, support: Support) -> Array:
    """Grid values over the data and a little beyond, inside the support."""
    low, high = _range(values)
    if isinstance(support, Integers):
        low, high = max(np.floor(low), support.lower), float(np.minimum(np.ceil(high), support.upper))
        return np.arange(low, high + 1, max(1, int((high - low) // GRID)))
    lower, upper = (support.lower, support.upper) if isinstance(support, Interval) else (-np.inf, np.inf)
    inside = 1e-4 * (high - low)
    return np.linspace(max(low, lower + inside), min(high, upper - inside), GRID)


def _range(values: Array) -> list[float]:
    low, high = view(values)
    margin = 0.1 * (high - low) or 1.0
    return [float(low - margin), float(high + margin)]


def _graticule() -> list[Trace]:
    arc, turn = np.radians(np.linspace(-90, 90, 61)), np.radians(np.linspace(-179.99, 179.99, 121))
    lines = [(arc, np.radians(np.clip(degrees, -179.99, 179.99))) for degrees in range(-180, 181, 60)]
    lines += [(np.radians(degrees), turn) for degrees in range(-60, 61, 30)]
    traces = []
    for height, way in lines:
        height, way = np.broadcast_arrays(height, way)
        x, y = hammer(np.stack([np.cos(height) * np.cos(way), np.cos(height) * np.sin(way), np.sin(height)], axis=1))
        line = {"color": "@grid", "width": 1}
        trace: Trace = {"type": "scatter", "mode": "lines", "x": rounded(x), "y": rounded(y), "line": line}
        traces.append({**trace, "hoverinfo": "skip", "showlegend": False})
    return traces
