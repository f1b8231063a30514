"""How like two images are: PSNR and SSIM."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.ndimage import gaussian_filter

from ..numerics.arrays import Array
from .image import as_image

SSIM_SIGMA, SSIM_TRUNCATE = 1.5, 3.5
SSIM_FLOORS = 0.01**2, 0.03**2


def psnr(first: ArrayLike, second: ArrayLike) -> float:
    """Returns the peak signal-to-noise ratio of two images in decibels, infinite if they are equal.

    Parameters
    ----------
    first, second : array
        Two images of one size.

    Returns
    -------
    float
        The ratio in decibels.

    Examples
    --------
    >>> psnr([[0.0, 0.0]], [[0.1, 0.1]])
    20.0
    """
    a, b = _alike(first, second)
    error = float(((a - b) ** 2).mean())
    return float("inf") if error == 0 else round(-10 * float(np.log10(error)), 10)


def ssim(first: ArrayLike, second: ArrayLike) -> float:
    """Returns the mean structural similarity of Wang et al. (2004), averaged over channels.

    The windows are Gaussian and have 11 pixels.

    Parameters
    ----------
    first, second : array
        Two images of one size.

    Returns
    -------
    float
        The similarity, at most one.

    Examples
    --------
    >>> ssim([[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]])
    1.0
    """
    a, b = _alike(first, second)
    # Where there is room, the margin in which windows reach over the edge does not count.
    margin = int(SSIM_TRUNCATE * SSIM_SIGMA + 0.5)
    inner = slice(margin, -margin) if min(a.shape[:2]) > 2 * margin else slice(None)
    channels = (_similarity(a[:, :, c], b[:, :, c])[inner, inner].mean() for c in range(a.shape[2]))
    return float(np.mean(list(channels)))


def _similarity(a: Array, b: Array) -> Array:
    def blurred(values: Array) -> Array:
        return gaussian_filter(values, SSIM_SIGMA, truncate=SSIM_TRUNCATE)

    mean_a, mean_b = blurred(a), blurred(b)
    variance_a, variance_b = blurred(a * a) - mean_a**2, blurred(b * b) - mean_b**2
    covariance = blurred(a * b) - mean_a * mean_b
    light, structure = SSIM_FLOORS
    return ((2 * mean_a * mean_b + light) * (2 * covariance + structure)) / (
        (mean_a**2 + mean_b**2 + light) * (variance_a + variance_b + structure)
    )


def _alike(first: ArrayLike, second: ArrayLike) -> tuple[Array, Array]:
    a, b = as_image(first).levels, as_image(second).levels
    if a.shape[:2] != b.shape[:2]:
        raise ValueError(f"the images have {a.shape[1]} x {a.shape[0]} and {b.shape[1]} x {b.shape[0]} pixels")
    channels = max(a.shape[2], b.shape[2])
    return np.broadcast_to(a, (*a.shape[:2], channels)), np.broadcast_to(b, (*b.shape[:2], channels))
