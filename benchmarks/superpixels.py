"""Superpixels beside scikit-image's SLIC, on synthetic pictures whose segmentation is known.

    python -m benchmarks.superpixels

Regions with winding borders in random colours, with shading, blur and noise. Boundary recall: the share of true border
pixels with a border of the pieces within two pixels; undersegmentation error: what pieces leak over true borders, the
smaller side of each, as a share of the picture. Means over the pictures; SLIC at several of its settings.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import binary_dilation, gaussian_filter
from scipy.spatial import KDTree
from skimage.data import astronaut
from skimage.segmentation import slic

from kmle.images import superpixels
from kmle.images.rendering import boundaries

SIDE, REGIONS, PICTURES, REACH = 256, 40, 5, 2
LabelMap = NDArray[Any]


def known_picture(seed: int) -> tuple[NDArray[np.float64], LabelMap]:
    """A picture and the region of every pixel."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:SIDE, :SIDE]
    winding = [gaussian_filter(rng.normal(size=(SIDE, SIDE)), 12) for _ in range(2)]
    bent = [axis + 8 * bend / bend.std() for axis, bend in zip((x, y), winding, strict=True)]
    regions = KDTree(rng.uniform(0, SIDE, (REGIONS, 2))).query(np.stack(bent, axis=2))[1]
    colours = rng.uniform(0.1, 0.9, (REGIONS, 3))[regions] + 0.15 * (x / SIDE - 0.5)[:, :, None]
    return np.clip(gaussian_filter(colours, (0.7, 0.7, 0)) + rng.normal(0, 0.04, (SIDE, SIDE, 3)), 0, 1), regions


def boundary_recall(truth: LabelMap, found: LabelMap) -> float:
    near = binary_dilation(boundaries(found), np.ones((2 * REACH + 1, 2 * REACH + 1)))
    return float(near[boundaries(truth)].mean())


def undersegmentation(truth: LabelMap, found: LabelMap) -> float:
    shared = np.zeros((found.max() + 1, truth.max() + 1))
    np.add.at(shared, (found.ravel(), truth.ravel()), 1)
    return float(np.minimum(shared, shared.sum(axis=1, keepdims=True) - shared).sum() / truth.size)


def compare(name: str, n: int, cut: Callable[[NDArray[np.float64]], LabelMap]) -> None:
    figures = []
    for seed in range(PICTURES):
        image, truth = known_picture(seed)
        found = cut(image)
        pieces = len(np.unique(found))
        figures.append(
            [pieces, boundary_recall(truth, found), undersegmentation(truth, found), boundaries(found).mean()]
        )
    pieces, recall, leak, border = np.mean(figures, axis=0)
    print(f"| {n} | {name} | {pieces:.0f} | {recall:.3f} | {leak:.3f} | {border:.3f} |", flush=True)


def timed(name: str, cut: Callable[[], Any]) -> None:
    start = time.perf_counter()
    cut()
    print(f"{name}: {time.perf_counter() - start:.2f} s")


def main() -> None:
    print("| asked | by | pieces | boundary recall | undersegmentation error | share of border pixels |")
    print("|---|---|---|---|---|---|")
    for n in (150, 400, 1000):
        compare("kmle", n, lambda image, n=n: superpixels(image, n).labels)
        for compactness in (10.0, 20.0, 30.0, 50.0):
            compare(
                f"SLIC, compactness {compactness:g}",
                n,
                lambda image, n=n, c=compactness: slic(image, n, compactness=c, start_label=0),
            )
    print("\n1000 superpixels of the astronaut (512 x 512 pixels)")
    timed("kmle", lambda: superpixels(astronaut(), 1000))
    timed("SLIC", lambda: slic(astronaut(), 1000, start_label=0))


if __name__ == "__main__":
    main()
