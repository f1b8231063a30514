"""`ImageMixture`: an image as a mixture of Gaussians over position and colour."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import Mixture
from ..estimators.learn import learn
from ..estimators.plan import Plan
from ..numerics.arrays import Array
from ..numerics.blas import blas_on_one_thread
from .image import ImageData, as_image
from .points import anchors, levels_of, points
from .starting import SOFT_COLUMNS, starting_mixture

MAX_POINTS = 2**19
"""Points learned from; of a larger image a random part."""
MAX_NUMBERS = 2**24
"""Numbers in the table of points: patches are wide, so fewer of them are taken."""
TOLERANCE = 1e-4
"""The gain in log-likelihood a point and column below which learning stops: the eye sees none of it."""
SOFT = ("em", "sparse-em")
HARD = ("k-mle", "hard-em", "hartigan", "swap", "online")
FILE_VERSION = 1


def check_algorithm(algorithm: str | None) -> None:
    """Refuses a name no algorithm for images has; None is a name for the usual one."""
    if algorithm is not None and algorithm not in (*SOFT, *HARD):
        raise ValueError(f"algorithm is {algorithm!r}: it must be one of {', '.join((*SOFT, *HARD))}")


@dataclass(frozen=True, eq=False)
class ImageMixture:
    """A mixture of Gaussians over (x, y, colour) of the pixels of an image, or over (x, y, patch of pixels).

    Colours run from 0 to 1; x and y, right and down, from 0 to `scale` times `patch` on the longer side, so that
    position has the same influence for patches as for pixels.

    >>> stripes = np.repeat([[0.1, 0.9]], 16, axis=0).repeat(8, axis=1)
    >>> model = ImageMixture.fit(stripes, 2)
    >>> np.sort(model.colours.ravel()).round(1).tolist()
    [0.1, 0.9]

    Parameters
    ----------
    mixture : Mixture
        The Gaussians.
    width : int
        The width of the image, in pixels.
    height : int
        The height of the image, in pixels.
    channels : int
        1 for grey, 3 for colour.
    patch : int, default=1
        The side of a patch, in pixels.
    scale : float, default=1.0
        How far x and y reach on the longer side.
    notes : tuple of str, default=()
        What is to be known about the fit.
    """

    mixture: Mixture
    width: int
    height: int
    channels: int
    patch: int = 1
    scale: float = 1.0
    notes: tuple[str, ...] = ()

    @staticmethod
    def fit(
        image: ImageData | str | Path | ArrayLike,
        n_components: int = 32,
        *,
        patch: int = 1,
        scale: float = 1.0,
        algorithm: str | None = None,
        family: str = "gaussian",
        stride: int | None = None,
        max_points: int = MAX_POINTS,
        tol: float = TOLERANCE,
        random_state: Any = 0,
        n_jobs: int | None = None,
    ) -> ImageMixture:
        """Fits a mixture to an image.

        Parameters
        ----------
        image : path, array or ImageData
            The image.
        n_components : int, default=32
            The number of components.
        patch : int, default=1
            The side of the patches; 1 fits pixels.
        scale : float, default=1.0
            The weight of position relative to colour. For full Gaussians it affects only the start, a k-means of the
            scaled points; for spherical Gaussians it affects the whole fit.
        algorithm : str, default=None
            "em", "sparse-em" or an algorithm of `KMLE`. None is EM, and k-MLE for points of more than 16 columns
            (patches), which belong almost certainly to one component.
        family : str, default="gaussian"
            "gaussian", "diagonal-gaussian" or "spherical-gaussian".
        stride : int, default=None
            The distance of patches in pixels; None is a quarter of their side.
        max_points : int
            The maximum number of points, drawn at random.
        tol : float
            The gain per row and step at which to stop.
        random_state : int, Generator or None, default=0
            The seed of all random draws.
        n_jobs : int or None, default=None
            The number of threads.

        Returns
        -------
        ImageMixture
            The model.
        """
        image = as_image(image)
        _check(image, n_components, patch, scale, family, max_points)
        stride = max(1, patch // 4) if stride is None else stride
        if stride < 1:
            raise ValueError(f"stride is {stride}: it must be at least 1")
        check_algorithm(algorithm)
        rng = np.random.default_rng(random_state)
        rows, columns = anchors(image, patch, stride)
        notes = list(image.notes)
        most = min(max_points, MAX_NUMBERS // (2 + patch * patch * image.channels))
        if len(rows) > most:
            notes.append(f"Fitted to {most} of {len(rows)} points, drawn at random.")
            chosen = np.sort(rng.choice(len(rows), most, replace=False))
            rows, columns = rows[chosen], columns[chosen]
        if n_components > len(rows):
            raise ValueError(
                f"n_components is {n_components}, but the image has {len(rows)} points: use fewer components"
            )
        table = points(image, rows, columns, patch, scale, rng)
        seed = int(rng.integers(2**31))
        if algorithm is None:
            algorithm = "em" if table.shape[1] <= SOFT_COLUMNS else "k-mle"
        with blas_on_one_thread():
            start = starting_mixture(table, n_components, family, rng, n_jobs)
            plan = Plan(
                n_components,
                family=family,
                algorithm=algorithm,
                init=start,
                tol=tol * table.shape[1],
                random_state=seed,
                n_jobs=n_jobs,
            )
            mixture = learn(table, plan).mixture
        return ImageMixture(mixture, image.width, image.height, image.channels, patch, float(scale), tuple(notes))

    # Reading ----------------------------------------------------------------------------------------------------------

    @property
    def n_components(self) -> int:
        """k; fewer than requested if components ended up empty."""
        return self.mixture.n_components

    @cached_property
    def mean(self) -> Array:
        """(k, d)."""
        return self.mixture.source["mean"]

    @cached_property
    def covariance(self) -> Array:
        """(k, d, d), whatever the family."""
        source = self.mixture.source
        if "covariance" in source:
            return source["covariance"]
        variance = np.broadcast_to(source["variance"].reshape(self.n_components, -1), self.mean.shape)
        return variance[:, :, None] * np.eye(self.mean.shape[1])

    @cached_property
    def positions(self) -> Mixture:
        """The mixture of positions alone: its distribution of (x, y)."""
        return Mixture.from_source(
            "gaussian", self.mixture.weights, mean=self.mean[:, :2], covariance=self.covariance[:, :2, :2]
        )

    @property
    def patches(self) -> Array:
        """The mean patch of each component, levels (k, patch, patch, channels)."""
        return levels_of(self.mean[:, 2:]).reshape(-1, self.patch, self.patch, self.channels)

    @property
    def colours(self) -> Array:
        """The mean colour of each component, levels (k, channels)."""
        return self.patches.mean(axis=(1, 2))

    @property
    def unit(self) -> float:
        """The pixels of one unit of position."""
        return max(self.width, self.height) / (self.scale * self.patch)

    # On an image -----------------------------------------------------------------------------------------------------

    def labels(self, image: ImageData | str | Path | ArrayLike) -> NDArray[np.int32]:
        """Returns the component of every pixel, or of every tile of patch x patch pixels.

        Parameters
        ----------
        image : path, array or ImageData
            The image of the fit.

        Returns
        -------
        array of int (height, width)
            The labels.
        """
        image = self._fitting(image)
        rows, columns = _tiles(image.height, self.patch), _tiles(image.width, self.patch)
        down, right = np.repeat(rows, len(columns)), np.tile(columns, len(rows))
        size = max(1, MAX_NUMBERS // 4 // self.mean.shape[1])
        parts = (slice(start, start + size) for start in range(0, len(down), size))
        blocks = [
            self.mixture.predict(points(image, down[part], right[part], self.patch, self.scale)) for part in parts
        ]
        return np.concatenate(blocks).astype(np.int32).reshape(len(rows), len(columns))

    def score(self, image: ImageData | str | Path | ArrayLike, random_state: Any = 0) -> float:
        """Returns the mean log-density of the pixels (patches at every tile), spread over their rounding steps.

        Parameters
        ----------
        image : path, array or ImageData
            The image of the fit.
        random_state : int, Generator or None, default=0
            The seed of the spread.

        Returns
        -------
        float
            The mean log-density in nats.
        """
        image = self._fitting(image)
        rows, columns = anchors(image, self.patch, self.patch)
        rng = np.random.default_rng(random_state)
        return float(self.mixture.log_density(points(image, rows, columns, self.patch, self.scale, rng)).mean())

    def _fitting(self, image: ImageData | str | Path | ArrayLike) -> ImageData:
        image = as_image(image)
        own = (self.width, self.height, self.channels)
        if (image.width, image.height, image.channels) != own:
            raise ValueError(
                f"the model is of {self.width} x {self.height} pixels with {self.channels} channels, but the image has "
                f"{image.width} x {image.height} with {image.channels}: give the image of the fit"
            )
        return image

    # Files ------------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> int:
        """Writes the model to a small file in single precision.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        int
            The size of the file in bytes.
        """
        factor = np.linalg.cholesky(self.covariance)
        lower = np.tril_indices(self.mean.shape[1])
        with Path(path).open("wb") as file:
            np.savez_compressed(
                file,
                facts=np.array([FILE_VERSION, self.width, self.height, self.channels, self.patch, self.scale]),
                laws=np.column_stack([self.mixture.weights, self.mean, factor[:, *lower]]).astype(np.float32),
            )
        return Path(path).stat().st_size

    @staticmethod
    def load(path: str | Path) -> ImageMixture:
        """Reads the model from a file that `save` wrote, as full Gaussians for any family.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        ImageMixture
            The model.
        """
        try:
            with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as content:
                facts, components = content["facts"].tolist(), content["laws"].astype(float)
            version, width, height, channels, patch, scale = facts
        except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is not a valid image model (possibly truncated): {error}") from None
        if version != FILE_VERSION:
            raise ValueError(f"{path} has version {version:g}; this version of kmle reads version {FILE_VERSION}")
        d = 2 + int(patch) ** 2 * int(channels)
        if components.ndim != 2 or components.shape[1] != 1 + d + d * (d + 1) // 2 or len(components) == 0:
            raise ValueError(f"{path} is not a valid image model: its table has shape {components.shape}")
        factor = np.zeros((len(components), d, d))
        factor[:, *np.tril_indices(d)] = components[:, 1 + d :]
        mixture = Mixture.from_source(
            "gaussian",
            components[:, 0] / components[:, 0].sum(),
            mean=components[:, 1 : 1 + d],
            covariance=factor @ np.swapaxes(factor, 1, 2),
        )
        return ImageMixture(mixture, int(width), int(height), int(channels), int(patch), float(scale))


def _tiles(length: int, patch: int) -> NDArray[np.intp]:
    """Where tiles begin; the last is moved back so that it lies inside."""
    return np.minimum(np.arange(0, length, patch), length - patch)


def _check(image: ImageData, n_components: int, patch: int, scale: float, family: str, max_points: int) -> None:
    if isinstance(n_components, bool) or not isinstance(n_components, int | np.integer) or n_components < 1:
        raise ValueError(f"n_components is {n_components!r}: it must be a whole number, at least 1")
    if isinstance(patch, bool) or not isinstance(patch, int | np.integer) or patch < 1:
        raise ValueError(f"patch is {patch!r}: it must be a whole number, at least 1")
    if patch > min(image.width, image.height):
        raise ValueError(
            f"patch is {patch}, but the image has {image.width} x {image.height} pixels: give a smaller patch"
        )
    if not 0 < scale < np.inf:
        raise ValueError(f"scale is {scale}: it must be a positive number")
    if family not in ("gaussian", "diagonal-gaussian", "spherical-gaussian"):
        raise ValueError(f"family is {family!r}: it must be gaussian, diagonal-gaussian or spherical-gaussian")
    if max_points < 2:
        raise ValueError(f"max_points is {max_points}: it must be at least 2")
