"""Three proportions in a triangle."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..mixture import Mixture
from ..numerics.arrays import Array
from ..palette import colours
from .bivariate import MIXTURE_SHARES, ONE_SIGMA, TWO_SIGMA, contour, draw_points
from .style import FAINT, GREY, INK, NORMAL, PALE, SMALL, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID = 160
# Left, right and upper corner.
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def draw_triangle(ax: "Axes", mixture: Mixture, points: Array, labels: NDArray[np.intp], names: list[str]) -> None:
    """Proportions (n, 3) as points of a triangle, each column the share of one corner, with contours."""
    _frame(ax, names)
    draw_points(ax, points @ CORNERS, labels, mixture.n_components)
    x, y = np.meshgrid(np.linspace(0, 1, GRID), np.linspace(0, CORNERS[2, 1], GRID))
    second = x - y / np.sqrt(3)
    third = y / CORNERS[2, 1]
    shares = np.stack([1 - second - third, second, third], axis=-1)
    inside = (shares > 1e-4).all(axis=-1)
    joint = np.full((*x.shape, mixture.n_components), np.nan)
    joint[inside] = np.exp(mixture.log_joint(shares[inside] / shares[inside].sum(axis=1, keepdims=True)))
    if mixture.n_components > 1:
        contour(ax, x, y, joint.sum(axis=-1), MIXTURE_SHARES, PALE, 0.6)
    concentration = mixture.source["concentration"]
    means = concentration / concentration.sum(axis=1, keepdims=True) @ CORNERS
    for label, colour in enumerate(colours(mixture.n_components)):
        contour(ax, x, y, joint[..., label], (TWO_SIGMA, ONE_SIGMA), colour, 1.4)
        if mixture.n_components > 1:
            number(ax, label, float(means[label, 0]), float(means[label, 1]), colour)


def _frame(ax: "Axes", names: list[str]) -> None:
    """The triangle, lines of equal share, and the scale of each column along the side where it grows."""
    ax.plot(*np.vstack([CORNERS, CORNERS[:1]]).T, color=GREY, lw=0.9, zorder=0.6)
    for part in (0.2, 0.4, 0.6, 0.8):
        for corner in range(3):
            after, before = (corner + 1) % 3, (corner + 2) % 3
            # The line where the share of this corner is `part`, from the side shared with the next corner.
            start = part * CORNERS[corner] + (1 - part) * CORNERS[before]
            stop = part * CORNERS[corner] + (1 - part) * CORNERS[after]
            ax.plot(*np.stack([start, stop]).T, color=FAINT, lw=0.7, zorder=0.5)
            x, y = start + 0.035 * (start - stop) / np.linalg.norm(start - stop)
            ax.text(x, y, f"{part:.1f}", fontsize=SMALL, color=GREY, ha="center", va="center")
    middle = CORNERS.mean(axis=0)
    for corner, name in zip(CORNERS, names, strict=True):
        x, y = middle + 1.1 * (corner - middle)
        ax.text(x, y, name, fontsize=NORMAL, color=INK, ha="center", va="center")
    ax.set(xlim=(-0.14, 1.14), ylim=(-0.13, 1.0), aspect="equal")
    ax.set_axis_off()
