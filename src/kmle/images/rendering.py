"""Images made from a model: segmentation, samples, reconstruction, the Voronoi diagram, mean patches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import distance_transform_edt, gaussian_filter

from ..numerics.arrays import Array
from .image import ImageData, Pixels, in_colour, pillow, to_bytes
from .model import ImageMixture
from .points import levels_of

BLOCK_NUMBERS = 2**18
"""Numbers held at a time: pixels of a block times components, few enough for the cache of a processor."""
DRAWN_NUMBERS = 2**22
# How far the levels of a shown patch reach from its mean, and how much at most they are spread for that.
REACH, MOST_CONTRAST = 0.35, 12.0


def segmentation(model: ImageMixture, image: ImageData | str | Path | ArrayLike) -> Pixels:
    """Draws every pixel (every tile, for patches) in the mean colour of its component.

    Parameters
    ----------
    model : ImageMixture
        The model.
    image : path, array or ImageData
        The image of the fit.

    Returns
    -------
    array of uint8 (height, width, channels)
        The pixels.
    """
    return painted(model, model.labels(image))


def mosaic(model: ImageMixture, image: ImageData | str | Path | ArrayLike) -> Pixels:
    """Replaces every tile of patch x patch pixels by the mean patch of its component.

    Parameters
    ----------
    model : ImageMixture
        The model.
    image : path, array or ImageData
        The image of the fit.

    Returns
    -------
    array of uint8 (height, width, channels)
        The pixels.
    """
    return painted(model, model.labels(image), whole_patches=True)


def painted(model: ImageMixture, labels: NDArray[np.int32], *, whole_patches: bool = False) -> Pixels:
    """The image of what `ImageMixture.labels` gave, in mean colours or in whole mean patches."""
    patches = model.patches if whole_patches else np.broadcast_to(model.colours[:, None, None], model.patches.shape)
    shown = to_bytes(patches)[labels]
    tiles = np.swapaxes(shown, 1, 2)
    whole = tiles.reshape(labels.shape[0] * model.patch, labels.shape[1] * model.patch, model.channels)
    return in_colour(whole[: model.height, : model.width])


def patch_sheet(model: ImageMixture, zoom: int = 8, *, contrast: bool = True) -> Pixels:
    """Draws the mean patches side by side, in order of decreasing weight.

    Parameters
    ----------
    model : ImageMixture
        The model.
    zoom : int, default=8
        The width of a pixel of a patch.
    contrast : bool, default=True
        Whether to spread the levels of each patch around its mean; mean patches are nearly flat.

    Returns
    -------
    array of uint8 (height, width, channels)
        The pixels.
    """
    order = np.argsort(-model.mixture.weights, kind="stable")
    columns = int(np.ceil(np.sqrt(2 * len(order))))
    rows = -(-len(order) // columns)
    cell = model.patch * zoom + 2
    sheet = np.full((rows * cell, columns * cell, 3), 255, dtype=np.uint8)
    for place, j in enumerate(order):
        top, left = place // columns * cell + 1, place % columns * cell + 1
        patch = _spread(model.patches[j]) if contrast else model.patches[j]
        shown = in_colour(to_bytes(patch)).repeat(zoom, axis=0).repeat(zoom, axis=1)
        sheet[top : top + cell - 2, left : left + cell - 2] = shown
    return sheet


def _spread(patch: Array) -> Array:
    """A patch whose levels reach as far from its mean as they can, up to a factor that would show noise alone."""
    mean = patch.mean(axis=(0, 1))
    away = patch - mean
    reach = float(np.abs(away).max())
    if reach == 0:
        return patch
    # Room for the contrast: no mean is too close to black or white.
    middle = np.clip(mean, REACH, 1 - REACH)
    return np.asarray(middle + away * min(REACH / reach, MOST_CONTRAST))


def voronoi(model: ImageMixture, size: tuple[int, int] | None = None, *, borders: bool = False) -> Pixels:
    """Draws the anisotropic weighted Voronoi diagram of the positions, each cell in its mean colour.

    A pixel belongs to the component with the largest weight times density of (x, y).

    Parameters
    ----------
    model : ImageMixture
        The model.
    size : (int, int), default=None
        Width and height; None is the size of the image.
    borders : bool, default=False
        Whether to draw the borders of the cells.

    Returns
    -------
    array of uint8 (height, width, channels)
        The pixels.
    """
    cells = voronoi_labels(model, size)
    drawn = in_colour(to_bytes(model.colours)[cells])
    if borders:
        drawn[boundaries(cells)] = 0
    return drawn


def voronoi_labels(model: ImageMixture, size: tuple[int, int] | None = None) -> NDArray[np.int32]:
    """Returns the Voronoi cell of every pixel.

    Parameters
    ----------
    model : ImageMixture
        The model.
    size : (int, int), default=None
        Width and height; None is the size of the image.

    Returns
    -------
    array of int (height, width)
        The cells.
    """
    width, height = _size(model, size)
    block = max(1, BLOCK_NUMBERS // (width * model.n_components))
    parts = [
        model.positions.predict(_places(model, width, height, slice(top, min(top + block, height))))
        for top in range(0, height, block)
    ]
    return np.concatenate(parts).astype(np.int32).reshape(height, width)


def boundaries(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether the pixel to the right or below has another label."""
    edge = np.zeros(labels.shape, dtype=bool)
    edge[:, :-1] |= labels[:, :-1] != labels[:, 1:]
    edge[:-1] |= labels[:-1] != labels[1:]
    return edge


def reconstructed(model: ImageMixture, size: tuple[int, int] | None = None) -> Pixels:
    """Returns the posterior mean E[colour | x, y] at every position; overlapping patches are averaged.

    Parameters
    ----------
    model : ImageMixture
        The model.
    size : (int, int), default=None
        Width and height; None is the size of the image.

    Returns
    -------
    array of uint8 (height, width, channels)
        The pixels.
    """
    if model.patch > 1:
        return _resized(_from_patches(model), _size(model, size))
    width, height = _size(model, size)
    block = max(1, BLOCK_NUMBERS // (width * model.n_components))
    offset, slope = _regression(model)
    rows = [
        _expected(model, _places(model, width, height, slice(top, min(top + block, height))), offset, slope)
        for top in range(0, height, block)
    ]
    levels = levels_of(np.concatenate(rows)).reshape(height, width, model.channels)
    return in_colour(to_bytes(levels))


def sampled(
    model: ImageMixture,
    size: tuple[int, int] | None = None,
    *,
    draws: float = 4.0,
    smooth: float = 0.0,
    random_state: Any = 0,
) -> Pixels:
    """Draws an image from the mixture.

    Points in the same pixel are averaged. Pixels without a point take the colour of the nearest one.

    Parameters
    ----------
    model : ImageMixture
        The model.
    size : (int, int), default=None
        Width and height; None is the size of the image.
    draws : float, default=4.0
        The number of points per pixel.
    smooth : float, default=0.0
        The number of pixels over which each point is spread.
    random_state : int, Generator or None, default=0
        The seed of the points.

    Returns
    -------
    array of uint8 (height, width, channels)
        The pixels.
    """
    if not draws > 0 or not smooth >= 0:
        raise ValueError(f"draws is {draws} and smooth is {smooth}: draws must be positive, smooth not negative")
    width, height = (model.width, model.height) if model.patch > 1 else _size(model, size)
    rng = np.random.default_rng(random_state)
    total = np.zeros((height, width, model.channels))
    count = np.zeros((height, width))
    remaining = max(1, round(draws * width * height / model.patch**2))
    while remaining > 0:
        n = min(remaining, max(1, DRAWN_NUMBERS // model.mean.shape[1]))
        _splat(model, model.mixture.sample(n, rng), total, count)
        remaining -= n
    if smooth:
        count = gaussian_filter(count, smooth, mode="constant")
        total = np.stack([gaussian_filter(part, smooth, mode="constant") for part in np.moveaxis(total, 2, 0)], axis=2)
    seen = count > 1e-6
    if not seen.any():
        raise ValueError("no point is inside the image: use more draws")
    levels = total / np.where(seen, count, 1.0)[:, :, None]
    if not seen.all():
        levels = levels[tuple(distance_transform_edt(~seen, return_distances=False, return_indices=True))]
    drawn = in_colour(to_bytes(levels))
    return _resized(drawn, _size(model, size)) if model.patch > 1 else drawn


# Parts ----------------------------------------------------------------------------------------------------------------


def _size(model: ImageMixture, size: tuple[int, int] | None) -> tuple[int, int]:
    width, height = (model.width, model.height) if size is None else size
    if width < 1 or height < 1:
        raise ValueError(f"size is {width} x {height}: both must be at least 1")
    return int(width), int(height)


def _places(model: ImageMixture, width: int, height: int, rows: slice) -> Array:
    """Where patches round the middles of pixels are anchored, for some rows of an image of any size."""
    shift = (model.patch - 1) / 2 / model.unit
    x = (np.arange(width) + 0.5) * (model.width / width / model.unit)
    y = (np.arange(rows.start, rows.stop) + 0.5) * (model.height / height / model.unit)
    return np.column_stack([np.tile(x, len(y)), np.repeat(y, len(x))]) - shift


def _regression(model: ImageMixture) -> tuple[Array, Array]:
    """offset (k, q) and slope (k, 2, q) of each component's mean colour at a place: offset + place @ slope."""
    covariance = model.covariance
    slope = np.linalg.solve(covariance[:, :2, :2], covariance[:, :2, 2:])
    return model.mean[:, 2:] - (model.mean[:, None, :2] @ slope)[:, 0], slope


def _expected(model: ImageMixture, places: Array, offset: Array, slope: Array) -> Array:
    """E[colour | place]: the planes of the components, mixed by how probable each is there."""
    joint = model.positions.log_joint(places)
    joint -= joint.max(axis=1, keepdims=True)
    share = np.exp(joint, out=joint)
    share /= share.sum(axis=1, keepdims=True)
    expected = share @ offset
    for axis in range(2):
        expected += places[:, axis, None] * (share @ slope[:, axis])
    return expected


def _from_patches(model: ImageMixture) -> Pixels:
    """Expected patches at places half a patch apart, averaged where they overlap."""
    s, step = model.patch, max(1, model.patch // 2)
    rows = np.unique([*range(0, model.height - s + 1, step), model.height - s])
    columns = np.unique([*range(0, model.width - s + 1, step), model.width - s])
    total = np.zeros((model.height, model.width, model.channels))
    count = np.zeros((model.height, model.width, 1))
    offset, slope = _regression(model)
    for top in rows:
        places = np.column_stack([columns + 0.5, np.full(len(columns), top + 0.5)]) / model.unit
        patches = _expected(model, places, offset, slope).reshape(-1, s, s, model.channels)
        for left, patch in zip(columns, patches, strict=True):
            total[top : top + s, left : left + s] += patch
            count[top : top + s, left : left + s] += 1
    return in_colour(to_bytes(levels_of(total / count)))


def _splat(model: ImageMixture, drawn: Array, total: Array, count: Array) -> None:
    """Adds drawn points to the image; what falls outside is left out."""
    height, width = count.shape
    s = model.patch
    column = np.floor(drawn[:, 0] * model.unit * (width / model.width)).astype(int)
    row = np.floor(drawn[:, 1] * model.unit * (height / model.height)).astype(int)
    levels = np.clip(levels_of(drawn[:, 2:]), 0, 1).reshape(-1, s, s, model.channels)
    for down in range(s):
        for right in range(s):
            inside = (row + down >= 0) & (row + down < height) & (column + right >= 0) & (column + right < width)
            place = (row[inside] + down) * width + column[inside] + right
            count += np.bincount(place, minlength=height * width).reshape(height, width)
            for c in range(model.channels):
                weights = levels[inside, down, right, c]
                total[:, :, c] += np.bincount(place, weights, minlength=height * width).reshape(height, width)


def _resized(pixels: Pixels, size: tuple[int, int]) -> Pixels:
    if pixels.shape[1::-1] == size:
        return pixels
    image = pillow("reconstructed").fromarray(pixels)
    return np.asarray(image.resize(size))
