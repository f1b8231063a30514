"""The image as a model file: how small, and how like the image."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from .image import ImageData, as_image
from .model import ImageMixture
from .quality import psnr, ssim
from .rendering import reconstructed

COMPONENTS = (8, 16, 32, 64, 128)


@dataclass(frozen=True)
class Rate:
    """The size and the quality of a model with a number of components.

    Attributes
    ----------
    n_components : int
        The number of components.
    n_bytes : int
        The size of the model.
    bits_per_pixel : float
        The same, by pixel.
    psnr : float
        The peak signal-to-noise ratio, in decibels.
    ssim : float
        The structural similarity; 1 is equal.
    """

    n_components: int
    n_bytes: int
    bits_per_pixel: float
    psnr: float
    ssim: float


def rate_distortion(
    image: ImageData | str | Path | ArrayLike, components: Iterable[int] = COMPONENTS, **options: Any
) -> tuple[Rate, ...]:
    """Measures the size of the model file and the quality of the image read back from it.

    Parameters
    ----------
    image : path, array or ImageData
        The image.
    components : iterable of int, default=(8, 16, 32, 64, 128)
        The numbers of components.
    **options
        Options of `ImageMixture.fit`.

    Returns
    -------
    tuple of Rate
        Size, PSNR and SSIM for each number of components.
    """
    image = as_image(image)
    return tuple(_rate(image, n_components, options) for n_components in components)


def plot_rate_distortion(rates: Sequence[Rate], ax: Any = None) -> Any:
    """Plots PSNR (left axis) and SSIM (right axis) against the size of the model file.

    Parameters
    ----------
    rates : sequence of Rate
        The result of `rate_distortion`.
    ax : Axes, default=None
        Where to draw; None creates a figure.

    Returns
    -------
    Axes
        The left Axes.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plot_rate_distortion needs matplotlib: pip install 'kmle[plot]'") from None

    if not rates:
        raise ValueError("rates is empty: rate_distortion needs at least one number of components")
    if ax is None:
        ax = Figure(figsize=(6.8, 4.2), layout="constrained").subplots()
    from ..palette import PALETTE
    from ..plotting.style import GREY, INK, SMALL, tidy
    from ..titles import title

    right = ax.twinx()
    size = [rate.n_bytes / 1000 for rate in rates]
    (left_line,) = ax.plot(size, [rate.psnr for rate in rates], "o-", color=PALETTE[0], lw=1.6, markersize=5)
    (right_line,) = right.plot(size, [rate.ssim for rate in rates], "s--", color=PALETTE[1], lw=1.6, markersize=5)
    for rate, kilobytes in zip(rates, size, strict=True):
        ax.annotate(
            f"k = {rate.n_components}",
            (kilobytes, rate.psnr),
            xytext=(0, 7),
            textcoords="offset points",
            ha="center",
            fontsize=SMALL,
            color=INK,
        )
    ax.margins(x=0.08, y=0.14)
    ax.set(xscale="log", xlabel="size of the model (kB)", ylabel="PSNR (dB)")
    right.set_ylabel("SSIM")
    tidy(ax)
    tidy(right, None)
    right.spines["right"].set(visible=True, color=GREY)
    right.spines[["left", "bottom"]].set_visible(False)
    _size_ticks(ax, size)
    ax.legend(
        [left_line, right_line], ["PSNR", "SSIM"], loc="lower right", frameon=False, fontsize=SMALL, labelcolor=INK
    )
    title(ax, "Quality and size of the model")
    return ax


def _size_ticks(ax: Any, size: Sequence[float]) -> None:
    """Sizes as plain numbers, at those that were measured."""
    from matplotlib.ticker import NullFormatter

    ax.set_xticks(size, [f"{kilobytes:.3g}" for kilobytes in size])
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.minorticks_off()


def _rate(image: ImageData, n_components: int, options: dict[str, Any]) -> Rate:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        n_bytes = ImageMixture.fit(image, n_components, **options).save(path)
        shown = reconstructed(ImageMixture.load(path))
    bits = 8 * n_bytes / (image.width * image.height)
    return Rate(n_components, n_bytes, bits, psnr(image.levels, shown), ssim(image.levels, shown))
