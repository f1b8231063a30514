"""Lines of equal density on a grid, by marching squares (Lorensen and Cline, 1987, in the plane)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array

Crossing = tuple[int, int, int]
"""Row and column of a grid point, and which of its edges is crossed: 0 to the right, 1 upwards."""


def mass_levels(density: Array, shares: Sequence[float], area: Array | float = 1.0) -> Array:
    """Densities at the borders of the smallest regions of a grid that hold these shares of its mass, lowest first.

    >>> mass_levels(np.array([[1.0, 2.0, 5.0, 2.0]]), [0.6])
    array([2.])
    """
    legal = np.isfinite(density)
    heights = density[legal]
    order = np.argsort(-heights)
    mass = np.cumsum((heights * np.broadcast_to(area, density.shape)[legal])[order])
    if mass.size == 0 or not mass[-1] > 0:
        return np.empty(0)
    levels = heights[order][np.searchsorted(mass / mass[-1], shares).clip(max=len(order) - 1)]
    return np.unique(levels[(levels > heights.min()) & (levels < heights.max())])


def level_lines(density: Array, level: float) -> list[Array]:
    """Lines along which a grid (n, m) has this level, each (p, 2): fractional rows and columns.

    Squares with a corner that is no number are left out.
    """
    above = density > level
    corners = above[:-1, :-1].astype(int) + above[:-1, 1:] + above[1:, :-1] + above[1:, 1:]
    known = np.isfinite(density)
    whole = known[:-1, :-1] & known[:-1, 1:] & known[1:, :-1] & known[1:, 1:]
    neighbours: dict[Crossing, list[Crossing]] = {}
    for row, column in np.argwhere((corners > 0) & (corners < 4) & whole).tolist():
        for one, other in _segments(density, above, level, row, column):
            neighbours.setdefault(one, []).append(other)
            neighbours.setdefault(other, []).append(one)
    return [np.array([_place(density, level, crossing) for crossing in line]) for line in _chains(neighbours)]


def _segments(
    density: Array, above: NDArray[np.bool_], level: float, row: int, column: int
) -> list[tuple[Crossing, Crossing]]:
    """The one or two lines through a square, as pairs of crossed edges."""
    low, right = (row, column, 0), (row, column + 1, 1)
    top, left = (row + 1, column, 0), (row, column, 1)
    corner, along, up, far = (
        above[row, column],
        above[row, column + 1],
        above[row + 1, column],
        above[row + 1, column + 1],
    )
    crossed = [
        edge
        for edge, is_crossed in ((low, corner != along), (right, along != far), (top, up != far), (left, corner != up))
        if is_crossed
    ]
    if len(crossed) == 2:
        return [(crossed[0], crossed[1])]
    # A saddle: the middle decides which corners belong together.
    middle = density[row : row + 2, column : column + 2].mean() > level
    return [(low, right), (top, left)] if middle == corner else [(low, left), (right, top)]


def _chains(neighbours: dict[Crossing, list[Crossing]]) -> list[list[Crossing]]:
    """Open lines from end to end, then closed ones."""
    lines = []
    ends = [crossing for crossing, others in neighbours.items() if len(others) == 1]
    for start in [*ends, *neighbours]:
        line = [start]
        while neighbours.get(line[-1]):
            following = neighbours[line[-1]].pop()
            neighbours[following].remove(line[-1])
            line.append(following)
        if len(line) > 1:
            lines.append(line)
    return lines


def _place(density: Array, level: float, crossing: Crossing) -> tuple[float, float]:
    row, column, upwards = crossing
    first = density[row, column]
    last = density[row + 1, column] if upwards else density[row, column + 1]
    part = float((level - first) / (last - first))
    return (row + part, float(column)) if upwards else (float(row), column + part)
