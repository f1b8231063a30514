"""Lines and letters on images: ellipses of components, boundaries, the contact sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .image import ImageData, Pixels, as_image, in_colour, pillow, to_bytes
from .model import ImageMixture
from .rendering import boundaries, painted, patch_sheet, reconstructed, sampled, voronoi

CORNERS = 72
FADED = 0.55
"""How far the image under the ellipses is faded to white."""
TITLE_HEIGHT, GAP, INK = 26, 8, (30, 30, 30)
CELL = 512
"""Longer side of an image on the contact sheet."""


def ellipses(
    model: ImageMixture, image: ImageData | str | Path | ArrayLike | None = None, *, radius: float = 2.0
) -> Pixels:
    """Draws the components as ellipses in their mean colours over the faded image.

    Parameters
    ----------
    model : ImageMixture
        The model.
    image : path, array or ImageData, default=None
        The image; None leaves the background empty.
    radius : float, default=2.0
        The radius of the ellipses in standard deviations.

    Returns
    -------
    array of uint8 (height, width, 3)
        The pixels.
    """
    from PIL import ImageDraw

    if not radius > 0:
        raise ValueError(f"radius is {radius}: it must be positive")
    if image is None:
        under = np.full((model.height, model.width, 3), 255, dtype=np.uint8)
    else:
        levels = as_image(image).levels
        under = in_colour(to_bytes(FADED + (1 - FADED) * levels))
    # Drawn twice as large and shrunk again, which smooths the lines.
    zoom = 2
    canvas = pillow("ellipses").fromarray(under).resize((model.width * zoom, model.height * zoom))
    draw = ImageDraw.Draw(canvas)
    turn = np.linspace(0, 2 * np.pi, CORNERS)
    circle = np.column_stack([np.cos(turn), np.sin(turn)])
    width = max(1, round(max(model.width, model.height) / 256))
    center, spread = model.mean[:, :2], np.linalg.cholesky(model.covariance[:, :2, :2])
    # The anchor of a patch is its corner; the ellipse goes round its middle.
    shift = (model.patch - 1) / 2 / model.unit
    # Large ones first, so that small ones stay visible.
    for j in np.argsort(-np.linalg.det(spread)):
        outline = (center[j] + shift + radius * circle @ spread[j].T) * model.unit * zoom
        corners = [(float(x), float(y)) for x, y in outline]
        draw.line(corners, fill=INK, width=(width + 1) * zoom + 2, joint="curve")
        draw.line(
            corners, fill=tuple(in_colour(to_bytes(model.colours[j])[None, None])[0, 0].tolist()), width=width * zoom
        )
    return np.asarray(canvas.reduce(zoom))


def with_boundaries(
    image: ImageData | str | Path | ArrayLike, labels: NDArray[Any], colour: tuple[int, int, int] = (255, 230, 0)
) -> Pixels:
    """Draws the borders between labels over an image.

    Parameters
    ----------
    image : path, array or ImageData
        The image.
    labels : array of int (height, width)
        The label of every pixel.
    colour : (int, int, int), default=(255, 230, 0)
        The colour of the borders.

    Returns
    -------
    array of uint8 (height, width, 3)
        The pixels.
    """
    drawn = in_colour(to_bytes(as_image(image).levels))
    if labels.shape != drawn.shape[:2]:
        raise ValueError(f"labels of shape {labels.shape} do not fit an image of shape {drawn.shape[:2]}")
    drawn[boundaries(labels)] = colour
    return drawn


def panels(
    model: ImageMixture,
    image: ImageData | str | Path | ArrayLike,
    *,
    size: tuple[int, int] | None = None,
    random_state: Any = 0,
) -> dict[str, Pixels]:
    """Draws the panels of the paper's figures.

    Parameters
    ----------
    model : ImageMixture
        The model.
    image : path, array or ImageData
        The image of the fit.
    size : (int, int), default=None
        Width and height of the panels that do not depend on the pixels of the image.
    random_state : int, Generator or None, default=0
        The seed of the sample.

    Returns
    -------
    dict of str to array
        The panels by title.
    """
    image = as_image(image)
    labels = model.labels(image)
    shown = {
        "image": in_colour(to_bytes(image.levels)),
        "ellipses": ellipses(model, image),
        "hard segmentation": painted(model, labels),
        "sample": sampled(model, size, random_state=random_state),
        "posterior mean": reconstructed(model, size),
        "Voronoi diagram": voronoi(model, size, borders=True),
    }
    if model.patch > 1:
        shown |= {
            "mean patches in place": painted(model, labels, whole_patches=True),
            "mean patches": patch_sheet(model),
        }
    return shown


def figure(model: ImageMixture, image: ImageData | str | Path | ArrayLike, *, random_state: Any = 0) -> Pixels:
    """Draws all panels of the paper's figures on one contact sheet.

    Parameters
    ----------
    model : ImageMixture
        The model.
    image : path, array or ImageData
        The image of the fit.
    random_state : int, Generator or None, default=0
        The seed of the sample.

    Returns
    -------
    array of uint8 (height, width, 3)
        The sheet.
    """
    size = size_within(model.width, model.height)
    return contact_sheet(panels(model, image, size=size, random_state=random_state))


def contact_sheet(images: dict[str, Pixels], columns: int = 3, cell: int = CELL) -> Pixels:
    """Arranges images under their titles on one sheet.

    Parameters
    ----------
    images : dict of str to array
        The images by title.
    columns : int, default=3
        The number of columns of the sheet.
    cell : int, default=512
        The maximum width and height of an image in pixels.

    Returns
    -------
    array of uint8 (height, width, 3)
        The sheet.
    """
    from PIL import ImageDraw, ImageFont

    if not images:
        raise ValueError("a contact sheet needs at least one image")
    image_module = pillow("contact_sheet")
    canvases = [_within(image_module.fromarray(pixels), cell) for pixels in images.values()]
    columns = min(columns, len(canvases))
    font = ImageFont.load_default(size=16)
    titles = [f"({_letters(place)}) {title}" for place, title in enumerate(images)]
    wide = max(*(canvas.width for canvas in canvases), *(round(font.getlength(title)) for title in titles))
    high = max(canvas.height for canvas in canvases) + TITLE_HEIGHT
    rows = -(-len(canvases) // columns)
    sheet = image_module.new("RGB", (columns * (wide + GAP) + GAP, rows * (high + GAP) + GAP), "white")
    draw = ImageDraw.Draw(sheet)
    for place, (title, canvas) in enumerate(zip(titles, canvases, strict=True)):
        left, top = GAP + place % columns * (wide + GAP), GAP + place // columns * (high + GAP)
        draw.text((left, top), title, fill=INK, font=font)
        sheet.paste(canvas, (left, top + TITLE_HEIGHT))
    return np.asarray(sheet)


def _within(canvas: Any, cell: int) -> Any:
    """The image, shrunk (never enlarged) to fit a square."""
    size = size_within(canvas.width, canvas.height, cell)
    return canvas if canvas.size == size else canvas.resize(size)


def size_within(width: int, height: int, cell: int = CELL) -> tuple[int, int]:
    """Width and height shrunk, never enlarged, to fit a square."""
    factor = min(1.0, cell / max(width, height))
    return max(1, round(width * factor)), max(1, round(height * factor))


def _letters(place: int) -> str:
    return chr(ord("a") + place) if place < 26 else str(place + 1)
