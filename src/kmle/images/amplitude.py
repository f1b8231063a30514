"""Grey images by the amplitude of their pixels: Rayleigh, gamma and Weibull mixtures, as for ultrasound."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import uniform_filter

from .. import Mixture
from ..estimators.learn import learn
from ..estimators.plan import Plan
from ..families import ExponentialFamily, Weibull
from ..numerics.arrays import Array
from ..palette import colours
from .image import ImageData, Pixels, as_image, in_colour, to_bytes
from .legends import with_legend
from .model import check_algorithm
from .points import LEVELS, levels_of

AMPLITUDE_FAMILIES = ("rayleigh", "gamma", "weibull")
WEIBULL_SHAPES = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0)
"""Weibull distributions form an exponential family only when their shape is known: these are tried."""
LUMA = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True, eq=False)
class AmplitudeSegmentation:
    """A mixture of amplitudes, darkest component first, and the component of every pixel.

    Attributes
    ----------
    mixture : Mixture
        The mixture of amplitudes, darkest component first.
    labels : array (height, width) of int
        The component of every pixel.
    means : array (k,)
        The mean amplitude of each component, from 0 to 1.
    notes : tuple of str
        What is to be known about the result.
    """

    mixture: Mixture
    labels: NDArray[np.int32]
    means: Array
    notes: tuple[str, ...] = ()

    def image(self) -> Pixels:
        """Returns every pixel in the mean level of its component.

        Returns
        -------
        array (height, width, 3)
            An image in colour, from 0 to 255.
        """
        return in_colour(to_bytes(levels_of(self.means))[self.labels][:, :, None])

    def segments(self) -> Pixels:
        """Returns every pixel in the colour of its component, and a legend below.

        Returns
        -------
        array (height', width, 3)
            An image in colour, from 0 to 255.
        """
        palette = colours(self.mixture.n_components)
        table = np.array([[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in palette], dtype=np.uint8)
        shares = np.bincount(self.labels.ravel(), minlength=len(palette)) / self.labels.size
        names = [
            f"{component}: {100 * share:.0f} % of pixels, mean level {255 * mean:.0f}"
            for component, (share, mean) in enumerate(zip(shares, levels_of(self.means), strict=True))
        ]
        return with_legend(table[self.labels], palette, names)


def segment_amplitude(
    image: ImageData | str | Path | ArrayLike,
    n_components: int = 3,
    *,
    family: str | ExponentialFamily = "rayleigh",
    algorithm: str = "em",
    window: int = 1,
    n_init: int | str = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> AmplitudeSegmentation:
    """Fits a mixture to the amplitudes of a grey image and labels every pixel.

    Components of speckle overlap, so EM has less bias than a hard algorithm of `KMLE`.

    Parameters
    ----------
    image : path, array or ImageData
        The image.
    n_components : int, default=3
        The number of components.
    family : str or ExponentialFamily, default="rayleigh"
        "rayleigh", "gamma", "weibull" or an object.
    algorithm : str, default="em"
        An algorithm of either estimator.
    window : int, default=1
        With more than one pixel, a pixel gets the most probable component of the square around it.
    n_init : int or "auto", default="auto"
        The number of starts, as in the estimators.
    random_state : int, Generator or None, default=0
        The seed of all random draws.
    n_jobs : int or None, default=None
        The number of threads.

    Returns
    -------
    AmplitudeSegmentation
        The mixture, darkest component first, and the labels.

    Examples
    --------
    >>> dark, light = np.full((8, 8), 0.2), np.full((8, 8), 0.9)
    >>> found = segment_amplitude(np.hstack([dark, light]), 2, family="gamma")
    >>> found.labels[0, ::8].tolist()
    [0, 1]
    """
    image = as_image(image)
    if isinstance(family, str) and family not in AMPLITUDE_FAMILIES:
        raise ValueError(f"family is {family!r}: choose {', '.join(AMPLITUDE_FAMILIES)}, or give a family object")
    if isinstance(window, bool) or not isinstance(window, int | np.integer) or window < 1 or window % 2 == 0:
        raise ValueError(f"window is {window!r}: it must be an odd whole number of pixels")
    check_algorithm(algorithm)
    notes = image.notes
    levels = image.levels[:, :, 0]
    if image.channels == 3:
        levels = image.levels @ LUMA
        notes = (*notes, "Colours were converted to grey.")
    # Zero is no amplitude: every level is taken at the middle of the values rounded to it.
    values, place = np.unique((levels * (LEVELS - 1) + 0.5) / LEVELS, return_inverse=True)
    counts = np.bincount(place.ravel()).astype(float)
    candidates = [Weibull(shape=shape) for shape in WEIBULL_SHAPES] if family == "weibull" else [family]
    fixed: dict[str, Any] = {"algorithm": algorithm, "init": "quantile", "n_init": n_init}
    fixed |= {"random_state": random_state, "n_jobs": n_jobs}
    mixtures = [
        learn(values[:, None], Plan(n_components, family=candidate, **fixed), sample_weight=counts).mixture
        for candidate in candidates
    ]
    best = max(mixtures, key=lambda mixture: float(counts @ mixture.log_density(values[:, None])))
    if isinstance(best.family, Weibull) and len(candidates) > 1:
        notes = (*notes, f"The Weibull shape {best.family.shape:g} has the highest likelihood of those tried.")
    mixture, means = _darkest_first(best, values, counts)
    labels = _labels(mixture, values, place.reshape(levels.shape), window)
    return AmplitudeSegmentation(mixture, labels, means, notes)


def _darkest_first(mixture: Mixture, values: Array, counts: Array) -> tuple[Mixture, Array]:
    """The mixture and its mean amplitudes, in the order of these."""
    share = mixture.posterior(values[:, None]) * counts[:, None]
    means = (share * values[:, None]).sum(axis=0) / share.sum(axis=0)
    order = np.argsort(means, kind="stable")
    return Mixture(mixture.family, mixture.weights[order], mixture.natural[order]), means[order]


def _labels(mixture: Mixture, values: Array, place: NDArray[np.intp], window: int) -> NDArray[np.int32]:
    """The most probable component of each pixel, or of all pixels in the window around it."""
    if window == 1:
        return mixture.predict(values[:, None])[place].astype(np.int32)
    densities = mixture.family.log_density(values[:, None], mixture.natural)
    best = np.full(place.shape, -np.inf)
    labels = np.zeros(place.shape, dtype=np.int32)
    for j, weight in enumerate(mixture.weights):
        # The mean over the window times its size is the sum over its pixels.
        score = uniform_filter(densities[:, j][place], window, mode="nearest") * window**2 + np.log(weight)
        better = score > best
        best[better], labels[better] = score[better], j
    return labels
