"""An image as a set of points: position and colour of pixels, or of square patches of them."""

import numpy as np
from numpy.typing import NDArray

from ..numerics.arrays import Array
from .image import ImageData

LEVELS = 256


def anchors(image: ImageData, patch: int, stride: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the upper left pixels of patches `stride` pixels apart, all of them inside the image."""
    rows = np.arange(0, image.height - patch + 1, stride)
    columns = np.arange(0, image.width - patch + 1, stride)
    return np.repeat(rows, len(columns)), np.tile(columns, len(rows))


def points(
    image: ImageData,
    rows: NDArray[np.intp],
    columns: NDArray[np.intp],
    patch: int,
    scale: float,
    rng: np.random.Generator | None = None,
) -> Array:
    """(x, y, levels of the patch), one row for each anchor: x and y from 0 to scale * patch.

    With `rng` each is spread evenly over the pixel and the level it was rounded to: a density in the plane and in
    colour exists then even where many pixels are alike. Without, it stands in their middle.
    """
    side = max(image.width, image.height)
    windows = np.lib.stride_tricks.sliding_window_view(image.levels, (patch, patch), axis=(0, 1))
    table = np.empty((len(rows), 2 + patch * patch * image.channels))
    table[:, 0], table[:, 1] = columns, rows
    # (n, channels, patch, patch), put in the order of a small image.
    table[:, 2:] = np.moveaxis(windows[rows, columns], 1, 3).reshape(len(rows), -1)
    table[:, 2:] *= LEVELS - 1
    if rng is None:
        table += 0.5
    else:
        # Column by column, so that no second table is held.
        for column in table.T:
            column += rng.random(len(rows))
    table[:, :2] *= scale * patch / side
    table[:, 2:] /= LEVELS
    return table


def levels_of(colours: Array) -> Array:
    """Levels from 0 to 1 of the colour columns of points, where level l of 255 is the middle of its 256th part."""
    return (colours * LEVELS - 0.5) / (LEVELS - 1)
