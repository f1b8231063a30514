"""Images as arrays: reading files of any kind, and writing them."""

from __future__ import annotations

import struct
import warnings
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..numerics.arrays import Array

Pixels: TypeAlias = NDArray[np.uint8]

LARGEST = 100_000_000
"""Pixels of the largest file that is opened."""
MAX_PIXELS = 4_000_000
"""Pixels kept by default: a larger image is shrunk."""
TRANSPARENT = ("RGBA", "LA", "PA", "RGBa", "La")


@dataclass(frozen=True, eq=False)
class ImageData:
    """An image as numbers.

    >>> ImageData([[0.0, 0.5], [0.5, 1.0]])
    Image of 2 x 2 pixels, grey

    Parameters
    ----------
    levels : array (height, width, 1 or 3)
        Levels from 0 (black) to 1.
    notes : tuple of str, default=()
        What reading the file changed.
    """

    levels: Array
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        levels = np.array(self.levels)
        if levels.dtype.kind not in "buif":
            raise ValueError(f"an image must hold numbers, not {levels.dtype}")
        if levels.dtype == np.uint8:
            levels = levels / 255
        levels = levels.astype(float)
        if levels.ndim == 2:
            levels = levels[:, :, None]
        if levels.ndim != 3 or levels.shape[2] not in (1, 3) or levels.size == 0:
            raise ValueError(
                f"an image must have shape (height, width) or (height, width, 3), not {np.shape(self.levels)}"
            )
        if not np.isfinite(levels).all() or levels.min() < 0 or levels.max() > 1:
            raise ValueError("the levels of an image must be from 0 to 1; give whole levels from 0 to 255 as uint8")
        levels.setflags(write=False)
        object.__setattr__(self, "levels", levels)

    @property
    def height(self) -> int:
        return int(self.levels.shape[0])

    @property
    def width(self) -> int:
        return int(self.levels.shape[1])

    @property
    def channels(self) -> int:
        """1 for grey, 3 for red, green and blue."""
        return int(self.levels.shape[2])

    def __repr__(self) -> str:
        return f"Image of {self.width} x {self.height} pixels, {'grey' if self.channels == 1 else 'colour'}"


def as_image(image: ImageData | str | Path | ArrayLike) -> ImageData:
    """The image itself, that of a file, or that of an array (uint8, or numbers from 0 to 1)."""
    if isinstance(image, ImageData):
        return image
    return read_image(image) if isinstance(image, str | Path) else ImageData(np.asarray(image))


def read_image(path: str | Path, *, max_pixels: int = MAX_PIXELS) -> ImageData:
    """Reads an image file in grey or colour and applies its orientation.

    Parameters
    ----------
    path : str or Path
        The file.
    max_pixels : int, default=4000000
        A larger image is shrunk, with a note.

    Returns
    -------
    ImageData
        The levels and notes.
    """
    image_module = pillow("read_picture")
    from PIL import ImageOps

    if max_pixels < 1:
        raise ValueError(f"max_pixels is {max_pixels}: at least one pixel must be kept")
    try:
        with warnings.catch_warnings():
            # Size is checked here, before any pixel is decoded.
            warnings.simplefilter("ignore", image_module.DecompressionBombWarning)
            image = image_module.open(path)
        with image:
            if image.width * image.height > LARGEST:
                raise _refused(path, image.width, image.height)
            notes = []
            if getattr(image, "n_frames", 1) > 1:
                notes.append(f"Only the first of {image.n_frames} frames was read.")
            image.seek(0)
            image.load()
            image = ImageOps.exif_transpose(image)
            levels = _levels(image, max_pixels, notes)
    except image_module.DecompressionBombError:
        raise ValueError(
            f"{path} unpacks to more than {LARGEST // 10**6} million pixels: shrink the image first"
        ) from None
    except FileNotFoundError:
        raise ValueError(f"file {path} not found") from None
    except image_module.UnidentifiedImageError:
        raise ValueError(
            f"{path} is not an image that Pillow can read: give a PNG, JPEG, TIFF, GIF, WebP or BMP"
        ) from None
    except (OSError, SyntaxError, EOFError, struct.error, zlib.error) as error:
        raise ValueError(f"{path} cannot be read ({error}): the file is damaged or truncated") from None
    return ImageData(levels, tuple(notes))


def save_image(path: str | Path, pixels: ArrayLike) -> Path:
    """Writes an image in the format of its extension.

    Parameters
    ----------
    path : str or Path
        The file.
    pixels : array
        uint8, or levels from 0 to 1.

    Returns
    -------
    Path
        The file.
    """
    image_module = pillow("save_picture")
    array = np.asarray(pixels)
    if array.dtype not in (np.uint8, np.uint16):
        array = to_bytes(array)
    image_module.fromarray(array.squeeze(axis=2) if array.ndim == 3 and array.shape[2] == 1 else array).save(path)
    return Path(path)


def to_bytes(levels: ArrayLike) -> Pixels:
    """Levels from 0 to 1 as whole numbers from 0 to 255; what lies outside is cut off."""
    return np.clip(np.rint(np.asarray(levels, dtype=float) * 255), 0, 255).astype(np.uint8)


def in_colour(pixels: Pixels) -> Pixels:
    """Three channels, whether the pixels have one or three."""
    return np.broadcast_to(pixels, (*pixels.shape[:2], 3)).copy()


def pillow(needed_by: str) -> Any:
    """Pillow's Image module."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"{needed_by} needs Pillow: pip install 'kmle[image]'") from None
    return Image


def _refused(path: str | Path, width: int, height: int) -> ValueError:
    return ValueError(
        f"{path} has {width} x {height} pixels, more than {LARGEST // 10**6} million: shrink the image first"
    )


def _levels(image: Any, max_pixels: int, notes: list[str]) -> Array:
    """Levels of a loaded image of any mode, shrunk where it is too large."""
    mode = image.mode
    if mode in TRANSPARENT or "transparency" in image.info:
        image = _over_white(image, notes)
    elif mode == "CMYK":
        notes.append("CMYK was converted to RGB without its colour profile.")
        image = image.convert("RGB")
    elif mode == "1":
        image = image.convert("L")
    elif mode not in ("L", "RGB") and not mode.startswith(("I", "F")):
        image = image.convert("RGB")
    factor = int(np.ceil(np.sqrt(image.width * image.height / max_pixels)))
    if factor > 1:
        width, height = image.size
        if image.mode.startswith("I;"):
            image = image.convert("I")
        image = image.reduce(factor)
        notes.append(f"Shrunk from {width} x {height} to {image.width} x {image.height} pixels (max_pixels).")
    array = np.asarray(image)
    levels = array / 255 if array.dtype == np.uint8 else _deep_levels(array, notes)
    if levels.ndim == 3 and (levels == levels[:, :, :1]).all():
        return levels[:, :, :1]
    return levels


def _over_white(image: Any, notes: list[str]) -> Any:
    image_module = pillow("read_picture")
    layered = image.convert("RGBA")
    if layered.getextrema()[3][0] == 255:
        return layered.convert("RGB")
    notes.append("Transparent parts were blended with white.")
    white = image_module.new("RGBA", layered.size, "white")
    return image_module.alpha_composite(white, layered).convert("RGB")


def _deep_levels(values: NDArray[Any], notes: list[str]) -> Array:
    """Levels of more than 8 bits: whole numbers up to 65535, fractions up to one, else the range of the values."""
    if not np.isfinite(values).all():
        raise OSError("some of its levels are not numbers")
    low, high = float(values.min()), float(values.max())
    full = 1 if values.dtype.kind == "f" else 65535
    if low >= 0 and high <= full:
        return values / full
    notes.append(f"Levels from {low:g} to {high:g} were scaled to black and white.")
    return (values - low) / (high - low) if high > low else np.zeros(values.shape)
