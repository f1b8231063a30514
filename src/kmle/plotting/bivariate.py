"""Two columns: points by label, ellipses or contours of every component, contours of the mixture."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from ..families import VonMises
from ..families.support import Integers, Support
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import colours
from .bins import view
from .contours import mass_levels
from .marginals import column_supports, gaussian_parts, means
from .scales import bounds, is_logarithmic, log_view
from .style import PALE, integer_ticks, number
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
    """Points (n, 2) by label and, where the distribution of the two columns is known, its densities."""
    angles = mixture is not None and isinstance(mixture.family, VonMises)
    points = wrapped(points) if angles else points
    draw_points(ax, jittered(points, mixture), labels, n_components)
    if mixture is not None and not few_values(mixture, points):
        draw_components(ax, mixture, points, contours)
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


def draw_components(ax: "Axes", mixture: Mixture, points: Array, contours: bool = True) -> None:
    """Ellipses (Gaussian families) or contours of the components, and contours of the mixture."""
    from matplotlib.patches import Ellipse

    k = mixture.n_components
    parts = gaussian_parts(mixture.family, mixture.natural)
    if contours or parts is None:
        x, y, joint = joint_grid(mixture, points)
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
            center = (float(parts[0][label, 0]), float(parts[0][label, 1]))
            ax.add_patch(Ellipse(center, width, height, angle=angle, fill=False, color=colour, lw=1.4, zorder=4))
    centers = means(mixture)
    if centers is not None and k > 1:
        for label, colour in enumerate(colours(k)):
            number(ax, label, float(centers[label, 0]), float(centers[label, 1]), colour)


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
    levels = mass_levels(density, shares, area)
    if len(levels):
        ax.contour(x, y, density, levels=levels, colors=[colour], linewidths=lw, zorder=3)


def joint_grid(mixture: Mixture, points: Array, size: int = GRID) -> tuple[Array, Array, Array]:
    """Grids of both columns (n, m) and weighted densities (n, m, k); over logarithms, densities of these."""
    supports = column_supports(mixture)
    logarithmic = [is_logarithmic(points[:, at], support) for at, support in enumerate(supports)]
    axes = [
        _axis(points[:, at], support, log, size)
        for at, (support, log) in enumerate(zip(supports, logarithmic, strict=True))
    ]
    x, y = np.meshgrid(*axes)
    joint = np.exp(mixture.log_joint(np.stack([x.ravel(), y.ravel()], axis=1))).reshape(*x.shape, -1)
    for values, log in zip((x, y), logarithmic, strict=True):
        if log:
            joint *= values[..., None]
    return x, y, joint


def _axis(values: Array, support: Support, logarithmic: bool, size: int) -> Array:
    """Grid values over the data and a little beyond, inside the support."""
    low, high = log_view(values) if logarithmic else view(values)
    margin = 0.12 * (high - low) or 1.0
    low, high = low - margin, high + margin
    lower, upper = bounds(support)
    if isinstance(support, Integers):
        low, high = max(np.floor(low), lower), float(np.minimum(np.ceil(high), upper))
        return np.arange(low, high + 1, max(1, int((high - low) // size)))
    if logarithmic:
        grid = np.geomspace(10**low, 10**high, size)
        return grid[grid > lower]
    inside = 1e-4 * (high - low)
    return np.linspace(max(low, lower + inside), min(high, upper - inside), size)


def jittered(points: Array, mixture: Mixture | None) -> Array:
    """Whole numbers spread a little, so that equal rows are seen as many."""
    whole = [] if mixture is None else [isinstance(support, Integers) for support in column_supports(mixture)]
    if not any(whole):
        return points
    shift = np.random.default_rng(0).uniform(-0.3, 0.3, points.shape)
    return points + np.where(whole, shift, 0.0)


def few_values(mixture: Mixture, points: Array) -> bool:
    """Whether a column of whole numbers has so few of them that it is no axis for contours."""
    return any(
        isinstance(support, Integers) and np.ptp(values) + 1 < FEWEST_VALUES
        for support, values in zip(column_supports(mixture), points.T, strict=True)
    )


def _limits(ax: "Axes", mixture: Mixture | None, points: Array) -> None:
    """The data with a margin, and a little more where the ellipses need it."""
    for at, (which, (first, last)) in enumerate(zip(AXES, plane_limits(mixture, points), strict=True)):
        ax.set(**{f"{which}lim": (first, last)})
        support = None if mixture is None else column_supports(mixture)[at]
        if isinstance(support, Integers):
            integer_ticks(ax, which)
        elif support is not None and is_logarithmic(points[:, at], support):
            ax.set(**{f"{which}scale": "log"})


def plane_limits(mixture: Mixture | None, points: Array) -> list[tuple[float, float]]:
    """From where to where each of two columns is drawn."""
    parts = None if mixture is None else gaussian_parts(mixture.family, mixture.natural)
    supports = [None, None] if mixture is None else column_supports(mixture)
    limits = []
    for at, support in enumerate(supports):
        if support is not None and is_logarithmic(points[:, at], support):
            low, high = log_view(points[:, at])
            margin = 0.06 * (high - low) or 0.5
            limits.append((10 ** (low - margin), 10 ** (high + margin)))
            continue
        low, high = view(points[:, at])
        length = (high - low) or 1.0
        first, last = low - 0.06 * length, high + 0.06 * length
        if isinstance(support, Integers):
            first, last = min(first, low - 0.5), max(last, high + 0.5)
        if parts is not None:
            reach = 2.1 * np.sqrt(parts[1][:, at, at])
            first = min(first, max(float((parts[0][:, at] - reach).min()), low - 0.35 * length))
            last = max(last, min(float((parts[0][:, at] + reach).max()), high + 0.35 * length))
        limits.append((first, last))
    return limits
