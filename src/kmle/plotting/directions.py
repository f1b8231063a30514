"""Directions: on the circle a rose, on the sphere a map."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..families import VonMises
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import colours
from .bins import SAMPLED_ROWS
from .bivariate import ONE_SIGMA, TWO_SIGMA, contour, draw_points
from .style import BARS, FAINT, GREY, INK, NORMAL, SMALL, number
from .univariate import MIXTURE_DASHES, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# The inner circle of the rose, as a part of its height: narrow bars then do not run into a point.
INNER = 0.55
TURN = 1440
LATITUDES, LONGITUDES = 121, 240


def draw_rose(ax: "Axes", mixture: Mixture, rows: Array, name: str) -> None:
    """Angles (n, 1) or unit vectors (n, 2) as bars round a circle, with the densities as curves."""
    from matplotlib.patches import Circle, Wedge

    angles = _angles(rows)
    joint = _joint(mixture)
    edges = np.linspace(-np.pi, np.pi, _sectors(angles, mixture) + 1)
    counts, _ = np.histogram(angles, len(edges) - 1, (-np.pi, np.pi))
    density = counts / (len(angles) * (edges[1] - edges[0]))
    turn = np.linspace(-np.pi, np.pi, TURN + 1)
    curves = joint(turn)
    height = 1.08 * max(density.max(), min(curves.sum(axis=1).max(), 1.6 * density.max()))
    for bar, start, stop in zip(density / height, np.degrees(edges[:-1]), np.degrees(edges[1:]), strict=True):
        ax.add_patch(Wedge((0, 0), INNER + bar, start, stop, width=bar, facecolor=BARS, edgecolor="white", lw=0.4))
    ax.add_patch(Circle((0, 0), INNER, fill=False, edgecolor=GREY, lw=0.8))

    def ring(curve: Array, **style: Any) -> None:
        radius = INNER + np.minimum(curve / height, 1.1)
        ax.plot(radius * np.cos(turn), radius * np.sin(turn), **style)

    k = mixture.n_components
    if k > 1:
        ring(curves.sum(axis=1), color=INK, lw=1.0, ls=MIXTURE_DASHES)
    for label, (colour, curve) in enumerate(zip(colours(k), curves.T, strict=True)):
        ring(np.where(curve > 4e-3 * height, curve, np.nan), color=colour, lw=1.7)
        if k > 1:
            at = int(np.argmax(curve))
            radius = INNER + min(float(curve[at]) / height, 1.1) + 0.09
            number(ax, label, radius * np.cos(turn[at]), radius * np.sin(turn[at]), colour)
    for degrees in (0, 90, 180, 270):
        way = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
        x, y = way * (INNER - 0.12)
        ax.text(x, y, f"{degrees}°", ha="center", va="center", fontsize=SMALL, color=GREY)
    ax.text(0, 0, name, ha="center", va="center", fontsize=NORMAL, color=INK)
    rim = INNER + np.maximum(np.interp(turn, 0.5 * (edges[:-1] + edges[1:]), density), curves.sum(axis=1)) / height
    _bare(ax, np.minimum(rim, INNER + 1.1) * np.cos(turn), np.minimum(rim, INNER + 1.1) * np.sin(turn), 0.18)


def _angles(rows: Array) -> Array:
    return np.arctan2(rows[:, 1], rows[:, 0]) if rows.shape[1] == 2 else wrapped(rows[:, 0])


def _joint(mixture: Mixture) -> Callable[[Array], Array]:
    """Weighted densities (m, k) at angles (m,)."""
    if isinstance(mixture.family, VonMises):
        return lambda angles: np.exp(mixture.log_joint(angles[:, None]))
    return lambda angles: np.exp(mixture.log_joint(np.stack([np.cos(angles), np.sin(angles)], axis=1)))


def _sectors(angles: Array, mixture: Mixture) -> int:
    """Bars all round, narrow enough for the most concentrated component that holds a fair share of the rows."""
    concentration = mixture.source["concentration"].ravel()
    fair = mixture.weights >= 0.5 * mixture.weights.mean()
    spread = min(np.pi / 2, 1.35 / np.sqrt(max(float(concentration[fair].max()), 1.0)))
    count = min(len(angles), SAMPLED_ROWS) * float(mixture.weights[fair][np.argmax(concentration[fair])])
    wanted = 2 * np.pi / (2 * spread / count ** (1 / 3))
    # A multiple of four, so that the quarters of the circle are edges.
    return 4 * int(np.clip(round(wanted / 4), 4, 20))


def draw_sphere(ax: "Axes", mixture: Mixture, points: Array, labels: NDArray[np.intp]) -> None:
    """Unit vectors (n, 3) on Hammer's map of the sphere, which keeps areas, with contours of the densities."""
    _graticule(ax)
    draw_points(ax, np.stack(hammer(points), axis=1), labels, mixture.n_components)
    latitude = np.radians(np.linspace(-89.9, 89.9, LATITUDES))[:, None]
    longitude = np.radians(np.linspace(-179.9, 179.9, LONGITUDES))[None]
    shape = np.broadcast_shapes(latitude.shape, longitude.shape)
    nodes = np.stack(
        [
            np.cos(latitude) * np.cos(longitude),
            np.cos(latitude) * np.sin(longitude),
            np.broadcast_to(np.sin(latitude), shape),
        ],
        axis=-1,
    )
    flat = nodes.reshape(-1, 3)
    x, y = (coordinate.reshape(shape) for coordinate in hammer(flat))
    joint = np.exp(mixture.log_joint(flat)).reshape(*shape, -1)
    area = np.broadcast_to(np.cos(latitude), shape)
    at_x, at_y = hammer(mixture.source["direction"])
    for label, colour in enumerate(colours(mixture.n_components)):
        contour(ax, x, y, joint[..., label], (TWO_SIGMA, ONE_SIGMA), colour, 1.4, area)
        if mixture.n_components > 1:
            number(ax, label, float(at_x[label]), float(at_y[label]), colour)
    _bare(ax, x, y, 0.1)


def hammer(vectors: Array) -> tuple[Array, Array]:
    """Hammer's equal-area map of unit vectors: the first axis in its middle, the third at its top."""
    half = 0.5 * np.arctan2(vectors[:, 1], vectors[:, 0])
    sine = np.clip(vectors[:, 2], -1, 1)
    cosine = np.sqrt(1 - sine**2)
    scale = np.sqrt(2) / np.sqrt(1 + cosine * np.cos(half))
    return 2 * scale * cosine * np.sin(half), scale * sine


def _graticule(ax: "Axes") -> None:
    fine = np.radians(np.linspace(-90, 90, 91))
    for degrees in range(-180, 181, 60):
        meridian = np.radians(np.clip(degrees, -179.99, 179.99))
        line = np.stack([np.cos(fine) * np.cos(meridian), np.cos(fine) * np.sin(meridian), np.sin(fine)], axis=1)
        outline = abs(degrees) == 180
        ax.plot(*hammer(line), color=GREY if outline else FAINT, lw=0.9 if outline else 0.7, zorder=0.5)
    turn = np.radians(np.linspace(-179.99, 179.99, 181))
    for degrees in range(-60, 61, 30):
        height = np.radians(degrees)
        line = np.stack(
            [np.cos(height) * np.cos(turn), np.cos(height) * np.sin(turn), np.full_like(turn, np.sin(height))], axis=1
        )
        ax.plot(*hammer(line), color=FAINT, lw=0.7, zorder=0.5)
        x, y = (float(c[0]) for c in hammer(line[:1]))
        text = f"{degrees}°".replace("-", "\N{MINUS SIGN}")
        ax.text(x - 0.04, y, text, ha="right", va="center", fontsize=SMALL, color=GREY)


def _bare(ax: "Axes", x: Array, y: Array, margin: float) -> None:
    """Nothing but the plot, which reaches as far as these points."""
    ax.set(xlim=(x.min() - margin, x.max() + margin), ylim=(y.min() - margin, y.max() + margin), aspect="equal")
    ax.set_axis_off()
