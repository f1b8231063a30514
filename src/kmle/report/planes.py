"""Two columns and their like: points by label, with ellipses, contours or means of the components."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import map_coordinates

from ..families import VonMises
from ..families.support import Integers, Interval
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..plotting.bivariate import ONE_SIGMA, TWO_SIGMA, few_values, jittered, joint_grid, plane_limits
from ..plotting.contours import level_lines, mass_levels
from ..plotting.directions import hammer
from ..plotting.marginals import column_supports, gaussian_parts
from ..plotting.scales import is_logarithmic
from ..plotting.ternary import CORNERS
from ..plotting.univariate import wrapped
from .figure import Figure, Trace, bare_axes, legend_title, line_of, note_at, of_component, rounded
from .markup import label

GRID, TRIANGLE_GRID, LATITUDES, LONGITUDES = 60, 80, 61, 121
LINES = "Lines hold the mass a Gaussian has inside one and two standard deviations."
ELLIPSE = np.linspace(0, 2 * np.pi, 49)
SHARES = (TWO_SIGMA, ONE_SIGMA)
# The mean of each component is marked by its number on so few of them.
MOST_MARKS = 30


def plane_figure(
    mixture: Mixture, pair: Mixture | None, points: Array, labels: NDArray[np.intp], names: list[str]
) -> Figure:
    """Points (n, 2) and, where the distribution of the two columns is known, its components."""
    traces, axes = plane_parts(mixture, pair, points, labels)
    for axis, name in zip(axes, names, strict=True):
        axis["title"] = {"text": label(name)}
    lined = any(trace["mode"] == "lines" for trace in traces)
    layout = {"xaxis": axes[0], "yaxis": axes[1], **legend_title(mixture), "hovermode": "closest"}
    return Figure(traces, layout, LINES if lined else "")


def plane_parts(
    mixture: Mixture, pair: Mixture | None, points: Array, labels: NDArray[np.intp], marked: bool = True
) -> tuple[list[Trace], list[dict[str, Any]]]:
    """The traces of a plane, and its two axes."""
    angles = isinstance((pair or mixture).family, VonMises)
    points = wrapped(points) if angles else points
    traces = point_traces(mixture, jittered(points, pair), labels)
    if pair is not None and not few_values(pair, points):
        traces += _component_lines(pair, points)
    if marked and 1 < mixture.n_components <= MOST_MARKS:
        traces += _marks(mixture, _centres(mixture, points, labels, angles))
    axes: list[dict[str, Any]] = []
    for at, (low, high) in enumerate(plane_limits(pair, points)):
        logarithmic = pair is not None and is_logarithmic(points[:, at], column_supports(pair)[at])
        ends = np.log10([low, high]) if logarithmic else np.array([low, high])
        axes.append({"range": [float(end) for end in ends]} | ({"type": "log", "dtick": 1} if logarithmic else {}))
    return traces, axes


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
    """Unit vectors (n, 3) on Hammer's map of the sphere, which keeps areas, with contours and mean directions."""
    latitude = np.radians(np.linspace(-89.9, 89.9, LATITUDES))[:, None]
    longitude = np.radians(np.linspace(-179.9, 179.9, LONGITUDES))[None]
    nodes = np.stack(
        np.broadcast_arrays(
            np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)
        ),
        axis=-1,
    ).reshape(-1, 3)
    shape = LATITUDES, LONGITUDES
    x, y = (part.reshape(shape) for part in hammer(nodes))
    joint = np.exp(mixture.log_joint(nodes)).reshape(*shape, -1)
    area = np.broadcast_to(np.cos(latitude), shape)
    lines = _contour_traces(mixture, joint, _on_grid(x, y), area)
    centers = np.stack(hammer(mixture.source["direction"]), axis=1)
    points = point_traces(mixture, np.stack(hammer(rows), axis=1), labels)
    traces = [*_graticule(), *points, *lines, *_marks(mixture, centers)]
    return Figure(traces, {**bare_axes(), "hovermode": "closest", **legend_title(mixture)}, LINES)


def ternary_figure(mixture: Mixture, rows: Array, labels: NDArray[np.intp], names: list[str]) -> Figure:
    """Three proportions as points of a triangle, each column the share of one corner, with contours."""
    x, y = np.meshgrid(np.linspace(0, 1, TRIANGLE_GRID), np.linspace(0, CORNERS[2, 1], TRIANGLE_GRID))
    third = y / CORNERS[2, 1]
    second = x - y / np.sqrt(3)
    shares = np.stack([1 - second - third, second, third], axis=-1)
    inside = (shares > 1e-4).all(axis=-1)
    joint = np.full((*x.shape, mixture.n_components), np.nan)
    joint[inside] = np.exp(mixture.log_joint(shares[inside] / shares[inside].sum(axis=1, keepdims=True)))
    lines = _contour_traces(mixture, joint, _on_grid(x, y))
    concentration = mixture.source["concentration"]
    centers = concentration / concentration.sum(axis=1, keepdims=True) @ CORNERS
    traces = [*_triangle(), *point_traces(mixture, rows @ CORNERS, labels), *lines, *_marks(mixture, centers)]
    middle = CORNERS.mean(axis=0)
    notes = [
        note_at(name, *(middle + 1.14 * (corner - middle)), colour="@ink")
        for corner, name in zip(CORNERS, names, strict=True)
    ]
    return Figure(traces, {**bare_axes(), "annotations": notes, "height": 520, **legend_title(mixture)}, LINES)


def _component_lines(pair: Mixture, points: Array) -> list[Trace]:
    parts = gaussian_parts(pair.family, pair.natural)
    if parts is not None:
        return [
            _ellipse(pair, component, *distribution) for component, distribution in enumerate(zip(*parts, strict=True))
        ]
    if not all(isinstance(support, Integers | Interval) for support in column_supports(pair)):
        return []
    x, y, joint = joint_grid(pair, points, GRID)
    return _contour_traces(pair, joint, _on_grid(x, y))


def _on_grid(x: Array, y: Array) -> Callable[[Array], Array]:
    """From fractional places on a grid to the points there."""
    return lambda places: np.stack(
        [map_coordinates(axis, places.T, order=1, mode="nearest") for axis in (x, y)], axis=1
    )


def _contour_traces(
    mixture: Mixture, joint: Array, on_grid: Callable[[Array], Array], area: Array | float = 1.0
) -> list[Trace]:
    """The contours of every component, one line with gaps each."""
    traces = []
    for component in range(mixture.n_components):
        density = joint[..., component]
        lines = [
            on_grid(line) for level in mass_levels(density, SHARES, area) for line in level_lines(density, float(level))
        ]
        if lines:
            traces.append(_component_line(mixture, component, lines))
    return traces


def _component_line(mixture: Mixture, component: int, lines: list[Array]) -> Trace:
    x, y = line_of(lines)
    line = {"color": f"@{component}", "width": 2}
    shown: dict[str, Any] = {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip"}
    return of_component(mixture, component, shown=False, **shown)


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
    return _component_line(pair, component, [mean + round_it, mean + 2 * round_it])


def _marks(mixture: Mixture, centers: Array) -> list[Trace]:
    return [
        of_component(
            mixture,
            component,
            shown=False,
            type="scatter",
            mode="markers+text",
            x=rounded(center[:1]),
            y=rounded(center[1:2]),
            text=[str(component)],
            textfont={"color": f"@on{component}", "size": 11},
            marker={"color": f"@{component}", "size": 18, "line": {"color": "@paper", "width": 1.5}},
            hovertemplate="%{x}, %{y}<extra></extra>",
        )
        for component, center in enumerate(centers)
        if mixture.n_components > 1
    ]


def _thin_lines(lines: list[Array]) -> list[Trace]:
    """Lines behind the points."""
    x, y = line_of(lines)
    line = {"color": "@grid", "width": 1}
    return [
        {"type": "scatter", "mode": "lines", "x": x, "y": y, "line": line, "hoverinfo": "skip", "showlegend": False}
    ]


def _triangle() -> list[Trace]:
    lines = [np.vstack([CORNERS, CORNERS[:1]])]
    for part in (0.2, 0.4, 0.6, 0.8):
        for corner in range(3):
            after, before = (corner + 1) % 3, (corner + 2) % 3
            start = part * CORNERS[corner] + (1 - part) * CORNERS[before]
            lines.append(np.stack([start, part * CORNERS[corner] + (1 - part) * CORNERS[after]]))
    return _thin_lines(lines)


def _graticule() -> list[Trace]:
    arc, turn = np.radians(np.linspace(-90, 90, 61)), np.radians(np.linspace(-179.99, 179.99, 121))
    lines = [(arc, np.radians(np.clip(degrees, -179.99, 179.99))) for degrees in range(-180, 181, 60)]
    lines += [(np.radians(degrees), turn) for degrees in range(-60, 61, 30)]
    mapped = []
    for height, way in lines:
        height, way = np.broadcast_arrays(height, way)
        vectors = np.stack([np.cos(height) * np.cos(way), np.cos(height) * np.sin(way), np.sin(height)], axis=1)
        mapped.append(np.stack(hammer(vectors), axis=1))
    return _thin_lines(mapped)
