"""The picture as a model file: how small, and how like the picture."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .model import ImageMixture
from .picture import Picture, as_picture
from .quality import psnr, ssim
from .rendering import reconstructed

COMPONENTS = (8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Rate:
    """What a model of so many components costs and gives."""

    n_components: int
    n_bytes: int
    bits_per_pixel: float
    psnr: float
    ssim: float


def rate_distortion(
    picture: Picture | str | Path | ArrayLike, components: Iterable[int] = COMPONENTS, **options: Any
) -> tuple[Rate, ...]:
    """For every number of components the size of the model file, and PSNR and SSIM of the picture read back from it.

    The options are those of `ImageMixture.fit`.
    """
    picture = as_picture(picture)
    return tuple(_rate(picture, n_components, options) for n_components in components)


def plot_rate_distortion(rates: Sequence[Rate], ax: Any = None) -> Any:
    """PSNR (left axis) and SSIM (right axis) over the size of the file; returns the left Axes."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot_rate_distortion needs matplotlib: pip install 'kmle[plot]'") from None

    if not rates:
        raise ValueError("there are no rates to draw: rate_distortion needs at least one number of components")
    if ax is None:
        ax = Figure(figsize=(6, 4), layout="constrained").subplots()
    right = ax.twinx()
    size = [rate.n_bytes / 1000 for rate in rates]
    (left_line,) = ax.plot(size, [rate.psnr for rate in rates], "o-", color="#3b6fb6", label="PSNR")
    (right_line,) = right.plot(size, [rate.ssim for rate in rates], "s--", color="#d1603d", label="SSIM")
    for rate, kilobytes in zip(rates, size, strict=True):
        ax.annotate(f"k = {rate.n_components}", (kilobytes, rate.psnr), xytext=(6, -12), textcoords="offset points")
    ax.set(xscale="log", xlabel="size of the model (kB)", ylabel="PSNR (dB)")
    right.set_ylabel("SSIM")
    ax.legend(handles=[left_line, right_line], loc="upper left", frameon=False)
    return ax


def _rate(picture: Picture, n_components: int, options: dict[str, Any]) -> Rate:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        n_bytes = ImageMixture.fit(picture, n_components, **options).save(path)
        shown = reconstructed(ImageMixture.load(path))
    bits = 8 * n_bytes / (picture.width * picture.height)
    return Rate(n_components, n_bytes, bits, psnr(picture.levels, shown), ssim(picture.levels, shown))
