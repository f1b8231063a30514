"""Lines and letters on pictures: ellipses of components, boundaries, the contact sheet."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .image import ImageData, Pixels, as_image, in_colour, pillow, to_bytes
from .model import ImageMixture
from .rendering import boundaries, painted, patch_sheet, reconstructed, sampled, voronoi

CORNERS = 72
FADED = 0.55
"""How far the picture under the ellipses is faded to white."""
TITLE_HEIGHT, GAP, INK = 26, 8, (30, 30, 30)
CELL = 512
"""Longer side of a picture on the contact sheet."""


def ellipses(
    model: ImageMixture, image: ImageData | str | Path | ArrayLike | None = None, *, radius: float = 2.0
) -> Pixels:
    """The components as ellipses of `radius` standard deviations, in their mean colours, over the faded picture."""
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
    """The picture with the borders between labels drawn over it."""
    drawn = in_colour(to_bytes(as_image(image).levels))
    if labels.shape != drawn.shape[:2]:
        raise ValueError(f"labels of shape {labels.shape} do not fit a picture of shape {drawn.shape[:2]}")
    drawn[boundaries(labels)] = colour
    return drawn


def panels(
    model: ImageMixture,
    image: ImageData | str | Path | ArrayLike,
    *,
    size: tuple[int, int] | None = None,
    random_state: Any = 0,
) -> dict[str, Pixels]:
    """The pictures of the paper's figures by their titles; what has no pixels of its own is drawn at `size`."""
    image = as_image(image)
    labels = model.labels(image)
    shown = {
        "picture": in_colour(to_bytes(image.levels)),
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
    """All panels on one contact sheet."""
    size = size_within(model.width, model.height)
    return contact_sheet(panels(model, image, size=size, random_state=random_state))


def contact_sheet(images: dict[str, Pixels], columns: int = 3, cell: int = CELL) -> Pixels:
    """Pictures under their titles on one sheet, each at most `cell` pixels wide and high."""
    from PIL import ImageDraw, ImageFont

    if not images:
        raise ValueError("a contact sheet needs at least one picture")
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
