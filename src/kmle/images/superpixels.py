"""Superpixels: an image cut into many small connected pieces of nearly one colour."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import distance_transform_edt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ..algorithms import KMLELloyd
from ..algorithms.loop import after_steps
from ..estimators.arguments import threads_of
from ..families import FixedCovarianceGaussian
from ..numerics.arrays import Array
from ..numerics.options import whole_number
from ..problem.problem import Problem
from .image import ImageData, Pixels, as_image, in_colour, save_image, to_bytes
from .points import anchors, points

COMPACTNESS = 0.2
ITERATIONS = 10
SMALLEST_SHARE = 0.25
"""A piece smaller than this share of the mean piece joins its neighbours."""
MOST_IN_PNG = 2**16


@dataclass(frozen=True, eq=False)
class Superpixels:
    """An image cut into connected regions.

    Attributes
    ----------
    labels : array (height, width) of int
        A label for every pixel, from 0 without gaps; equal labels are connected.
    """

    labels: NDArray[np.int32]

    @property
    def n_segments(self) -> int:
        return int(self.labels.max()) + 1

    def mean_colours(self, image: ImageData | str | Path | ArrayLike) -> Pixels:
        """Draws every superpixel in its mean colour.

        Parameters
        ----------
        image : path or array (height, width, channels)
            The image that was segmented.

        Returns
        -------
        array (height, width, 3) of uint8
            The drawing.
        """
        levels = as_image(image).levels
        if levels.shape[:2] != self.labels.shape:
            raise ValueError(f"labels of shape {self.labels.shape} do not fit an image of shape {levels.shape[:2]}")
        place = self.labels.ravel()
        sums = [np.bincount(place, levels[:, :, c].ravel()) for c in range(levels.shape[2])]
        means = np.column_stack(sums) / np.bincount(place)[:, None]
        return in_colour(to_bytes(means)[self.labels])

    def save(self, stem: str | Path) -> tuple[Path, Path]:
        """Writes the label map as a 16-bit PNG and as NPY.

        Parameters
        ----------
        stem : path
            Where to write, without an ending: `.png` and `.npy` are added.

        Returns
        -------
        tuple of two paths
            The PNG and the NPY file.
        """
        if self.n_segments > MOST_IN_PNG:
            raise ValueError(f"{self.n_segments} labels do not fit 16 bits: save `labels` with numpy.save instead")
        png, npy = Path(f"{stem}.png"), Path(f"{stem}.npy")
        save_image(png, self.labels.astype(np.uint16))
        np.save(npy, self.labels)
        return png, npy


def superpixels(
    image: ImageData | str | Path | ArrayLike,
    n_segments: int = 1000,
    *,
    compactness: float = COMPACTNESS,
    max_iter: int = ITERATIONS,
    n_jobs: int | None = None,
) -> Superpixels:
    """Segments an image into about `n_segments` connected superpixels.

    The algorithm is k-MLE with one fixed covariance, started from a grid of squares.

    Parameters
    ----------
    image : path, array or ImageData
        The image.
    n_segments : int, default=1000
        The number of superpixels.
    compactness : float, default=0.2
        The difference in level that counts as much as one side of a square.
    max_iter : int, default=10
        The maximum number of iterations.
    n_jobs : int or None, default=None
        The number of threads.

    Returns
    -------
    Superpixels
        The label of every pixel.

    Examples
    --------
    >>> superpixels(np.zeros((20, 20)), 16).n_segments
    16
    """
    image = as_image(image)
    height, width = image.height, image.width
    if not 1 <= n_segments <= height * width:
        raise ValueError(f"n_segments is {n_segments}: it must be from 1 to {height * width}, the number of pixels")
    if not 0 < compactness < np.inf:
        raise ValueError(f"compactness is {compactness}: it must be a positive number")
    whole_number("max_iter", max_iter, 1)
    squares = _squares(height, width, n_segments)
    side = np.sqrt(height * width / n_segments)
    table = points(image, *anchors(image, 1, 1), 1, compactness * max(height, width) / side)
    labels = _clustered(table, squares.ravel(), max_iter, n_jobs).reshape(height, width)
    return Superpixels(connected(labels, SMALLEST_SHARE * height * width / (squares.max() + 1)))


def _clustered(table: Array, squares: NDArray[np.int32], max_iter: int, n_jobs: int | None) -> NDArray[np.int32]:
    """The labels after some steps of k-MLE with equal weights: all that is wanted of a fit, and half of its time."""
    k = int(squares.max()) + 1
    family = FixedCovarianceGaussian(1.0).for_data(table)
    weights = np.full(k, 1 / k)
    problem = Problem(family, table, weights=weights, n_threads=threads_of(n_jobs), n_components=k)
    algorithm = KMLELloyd()
    state = algorithm.init(problem, problem.first_parameters(problem.gather(squares, k)))
    state = after_steps(algorithm, problem, state, max_iter)
    return problem.assign(state.parameters)[0].labels


def connected(labels: NDArray[np.integer], smallest: float) -> NDArray[np.int32]:
    """Connected pieces as labels of their own; pieces of fewer than `smallest` pixels go to the nearest others."""
    pieces = _pieces(labels)
    sizes = np.bincount(pieces.ravel())
    small = (sizes < min(smallest, sizes.max()))[pieces]
    while small.any():
        nearest = distance_transform_edt(small, return_distances=False, return_indices=True)
        pieces = pieces[tuple(nearest)]
        # A small piece that lay between two others may have been shared out in parts that do not touch their new owner.
        pieces = _pieces(pieces)
        sizes = np.bincount(pieces.ravel())
        small = (sizes < min(smallest, sizes.max()))[pieces]
    return pieces


def _pieces(labels: NDArray[np.integer]) -> NDArray[np.int32]:
    """A number for every connected piece of equal labels: neighbours lie left, right, above and below."""
    index = np.arange(labels.size).reshape(labels.shape)
    across, down = labels[:, :-1] == labels[:, 1:], labels[:-1] == labels[1:]
    first = np.concatenate([index[:, :-1][across], index[:-1][down]])
    second = np.concatenate([index[:, 1:][across], index[1:][down]])
    joined = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(labels.size, labels.size))
    return connected_components(joined, directed=False)[1].reshape(labels.shape).astype(np.int32)


def _squares(height: int, width: int, n_segments: int) -> NDArray[np.int32]:
    """About `n_segments` equal rectangles, as square as the image allows."""
    short, long = sorted([height, width])
    across = max(1, round(short / np.sqrt(height * width / n_segments)))
    along = min(long, max(1, round(n_segments / across)))
    rows, columns = (across, along) if height <= width else (along, across)
    squares = (np.arange(height) * rows // height)[:, None] * columns + np.arange(width) * columns // width
    return squares.astype(np.int32)
