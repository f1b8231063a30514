"""Two columns: points by label, ellipses or contours of every component, contours of the mixture."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..families import VonMises
from ..families.support import Integers, Interval, Support
from ..mixture import Mixture
from ..numerics.arrays import Array
from .bins import view
from .marginals import column_supports, gaussian_parts, means
from .style import PALE, colours, integer_ticks, number
from .univariate import angle_axis, wrapped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 140
AXES: tuple[Literal["x", "y"], ...] = ("x", "y")
# A Gaussian has these shares of its mass inside one and two standard deviations in the plane.
ONE_SIGMA, TWO_SIGMA = 1 - np.exp(-0.5), 1 - np.exp(-2.0)
MIXTURE_SHARES = (0.9, 0.6, 0.3)
# A column of fewer whole numbers than this is no axis for contours.
FEWEST_VALUES = 6


def draw_plane(
    ax: "Axes",
    mixture: Mixture | None,
    points: Array,
    labels: NDArray[np.intp],
    n_components: int,
    names: list[str],
    contours: bool = True,
) -> None:
    """Points (n, 2) by label and, where the law of the two columns is known, its densities."""
    angles = mixture is not None and isinstance(mixture.family, VonMises)
    points = wrapped(points) if angles else points
    draw_points(ax, _jittered(points, mixture), labels, n_components)
    if mixture is not None and not _few_values(mixture, points):
        draw_laws(ax, mixture, points, contours)
    _limits(ax, mixture, points)
    ax.set(xlabel=names[0], ylabel=names[1])
    if angles:
        angle_axis(ax, "x")
        angle_axis(ax, "y")


def draw_points(ax: "Axes", points: Array, labels: NDArray[np.intp], n_components: int) -> None:
    """Points by the colour of their label, in their own order so that no component hides another."""
    chosen = np.array(colours(n_components))[labels]
    size = float(np.clip(9000 / len(points), 3, 16))
    ax.scatter(
        points[:, 0], points[:, 1], s=size, c=chosen.tolist(), alpha=0.5, linewidths=0, rasterized=len(points) > 2000
    )


def draw_laws(ax: "Axes", mixture: Mixture, points: Array, contours: bool = True) -> None:
    """Ellipses (Gaussian families) or contours of the components, and contours of the mixture."""
    from matplotlib.patches import Ellipse

    k = mixture.n_components
    parts = gaussian_parts(mixture.family, mixture.natural)
    if contours or parts is None:
        grid = [_axis(points[:, at], support) for at, support in enumerate(column_supports(mixture))]
        x, y = np.meshgrid(*grid)
        joint = np.exp(mixture.log_joint(np.stack([x.ravel(), y.ravel()], axis=1))).reshape(*x.shape, k)
        if contours and k > 1:
            contour(ax, x, y, joint.sum(axis=-1), MIXTURE_SHARES, PALE, 0.6)
    for label, colour in enumerate(colours(k)):
        if parts is None:
            contour(ax, x, y, joint[..., label], (TWO_SIGMA, ONE_SIGMA), colour, 1.4)
            continue
        values, vectors = np.linalg.eigh(parts[1][label])
        angle = float(np.degrees(np.arctan2(vectors[1, 1], vectors[0, 1])))
        for radius in (1.0, 2.0):
            width, height = 2 * radius * np.sqrt(np.maximum(values[::-1], 0.0))
            centre = (float(parts[0][label, 0]), float(parts[0][label, 1]))
            ax.add_patch(Ellipse(centre, width, height, angle=angle, fill=False, color=colour, lw=1.4, zorder=4))
    centres = means(mixture)
    if centres is not None and k > 1:
        for label, colour in enumerate(colours(k)):
            number(ax, label, float(centres[label, 0]), float(centres[label, 1]), colour)


def contour(
    ax: "Axes",
    x: Array,
    y: Array,
    density: Array,
    shares: tuple[float, ...],
    colour: str,
    lw: float,
    area: Array | float = 1.0,
) -> None:
    """Lines round the smallest regions of the grid that hold these shares of its mass; `area` is that of its cells."""
    legal = np.isfinite(density)
    heights = density[legal]
    order = np.argsort(-heights)
    mass = np.cumsum((heights * np.broadcast_to(area, density.shape)[legal])[order])
    if mass.size == 0 or mass[-1] <= 0:
        return
    levels = heights[order][np.searchsorted(mass / mass[-1], shares).clip(max=len(order) - 1)]
    levels = np.unique(levels[(levels > heights.min()) & (levels < heights.max())])
    if len(levels):
        ax.contour(x, y, density, levels=levels, colors=[colour], linewidths=lw, zorder=3)


def _axis(values: Array, support: Support) -> Array:
    """Grid values over the data and a little beyond, inside the support."""
    low, high = view(values)
    margin = 0.12 * (high - low) or 1.0
    low, high = low - margin, high + margin
    if isinstance(support, Integers):
        low, high = max(np.floor(low), support.lower), float(np.minimum(np.ceil(high), support.upper))
        return np.arange(low, high + 1, max(1, int((high - low) // GRID)))
    lower, upper = (support.lower, support.upper) if isinstance(support, Interval) else (-np.inf, np.inf)
    inside = 1e-4 * (high - low)
    return np.linspace(max(low, lower + inside), min(high, upper - inside), GRID)


def _jittered(points: Array, mixture: Mixture | None) -> Array:
    """Whole numbers spread a little, so that equal rows are seen as many."""
    whole = [] if mixture is None else [isinstance(support, Integers) for support in column_supports(mixture)]
    if not any(whole):
        return points
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, points.shape)
    return points + np.where(whole, shift, 0.0)


def _few_values(mixture: Mixture, points: Array) -> bool:
    return any(
        isinstance(support, Integers) and np.ptp(values) + 1 < FEWEST_VALUES
        for support, values in zip(column_supports(mixture), points.T, strict=True)
    )


def _limits(ax: "Axes", mixture: Mixture | None, points: Array) -> None:
    """The data with a margin, and a little more where the ellipses need it."""
    parts = None if mixture is None else gaussian_parts(mixture.family, mixture.natural)
    whole = [False, False] if mixture is None else [isinstance(s, Integers) for s in column_supports(mixture)]
    for at, axis in enumerate(AXES):
        low, high = view(points[:, at])
        length = (high - low) or 1.0
        first, last = low - 0.06 * length, high + 0.06 * length
        if whole[at]:
            first, last = min(first, low - 0.5), max(last, high + 0.5)
            integer_ticks(ax, axis)
        if parts is not None:
            reach = 2.1 * np.sqrt(parts[1][:, at, at])
            first = min(first, max(float((parts[0][:, at] - reach).min()), low - 0.35 * length))
            last = max(last, min(float((parts[0][:, at] + reach).max()), high + 0.35 * length))
        ax.set(**{f"{axis}lim": (first, last)})
