"""A legend under an image: what its colours mean."""

from collections.abc import Sequence

import numpy as np

from .image import Pixels, pillow

LINE, SWATCH, MARGIN, INK = 22, 14, 6, (30, 30, 30)


def with_legend(pixels: Pixels, colours: Sequence[str], names: Sequence[str]) -> Pixels:
    """The image with one line per colour below it, side by side where there is room."""
    from PIL import ImageDraw, ImageFont

    module = pillow("with_legend")
    font = ImageFont.load_default(size=13)
    wide = max(round(font.getlength(name)) for name in names) + SWATCH + 3 * MARGIN
    columns = max(1, pixels.shape[1] // wide)
    lines = -(-len(names) // columns)
    size = max(pixels.shape[1], wide), pixels.shape[0] + lines * LINE + MARGIN
    sheet = module.new("RGB", size, "white")
    sheet.paste(module.fromarray(pixels), (0, 0))
    draw = ImageDraw.Draw(sheet)
    for place, (colour, name) in enumerate(zip(colours, names, strict=True)):
        left = MARGIN + place % columns * wide
        top = pixels.shape[0] + MARGIN + place // columns * LINE
        draw.rectangle((left, top, left + SWATCH, top + SWATCH), fill=colour)
        draw.text((left + SWATCH + MARGIN, top - 1), name, fill=INK, font=font)
    return np.asarray(sheet)
