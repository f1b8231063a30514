"""Pictures: the mixture of a picture beside scikit-learn's on the same scaled points, times, and memory.

    python -m benchmarks.images [--quick] [--no-patches]

Needs scikit-image, for the picture of the astronaut (512 x 512 pixels). `--quick` takes every fourth pixel.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from skimage.data import astronaut
from sklearn.mixture import GaussianMixture

from kmle.images import ImageMixture, Picture, run, save_picture
from kmle.images.points import anchors, points

from .memory import peak

COMPONENTS, PATCH = 32, 8
SEEDS = 3


def likelihoods(picture: Picture) -> None:
    """Both learn from pixels spread by one draw; both are scored on pixels spread by another."""
    scored = points(picture, *anchors(picture, 1, 1), 1, 1.0, np.random.default_rng(99))
    print("| learned by | seed | seconds | mean log-likelihood |\n|---|---|---|---|")
    for algorithm in ("k-mle", "em"):
        for seed in range(SEEDS):
            start = time.perf_counter()
            model = ImageMixture.fit(picture, COMPONENTS, algorithm=algorithm, random_state=seed)
            seconds = time.perf_counter() - start
            score = model.mixture.log_density(scored).mean()
            print(f"| kmle, {algorithm} | {seed} | {seconds:.2f} | {score:.4f} |", flush=True)
    table = points(picture, *anchors(picture, 1, 1), 1, 1.0, np.random.default_rng(0))
    start = time.perf_counter()
    peer = GaussianMixture(COMPONENTS, random_state=0).fit(table)
    seconds = time.perf_counter() - start
    print(f"| scikit-learn GaussianMixture | 0 | {seconds:.2f} | {peer.score(scored):.4f} |", flush=True)


def sheet(picture: Picture) -> None:
    """The whole contact sheet, from a file to a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = save_picture(Path(folder) / "astronaut.png", picture.levels)
        start = time.perf_counter()
        outcome = run(path, folder, COMPONENTS, figure=True)
        seconds = time.perf_counter() - start
    print(f"\ncontact sheet: {seconds:.2f} s, of which learning {outcome.learning_seconds:.2f} s")
    print(", ".join(f"{name} {value:.4g}" for name, value in outcome.measures.items()), flush=True)


def patches(picture: Picture) -> None:
    """Patches of 8 x 8 pixels."""
    rows, _ = anchors(picture, PATCH, PATCH // 4)
    start = time.perf_counter()
    ImageMixture.fit(picture, COMPONENTS, patch=PATCH)
    seconds = time.perf_counter() - start
    columns = 2 + PATCH**2 * picture.channels
    print(
        f"\npatches: {len(rows)} x {columns} points in {seconds:.1f} s, peak {peak() / 2**30:.2f} GiB (whole process)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every fourth pixel in each direction")
    parser.add_argument("--no-patches", action="store_true", help="leave out the patches")
    chosen = parser.parse_args()
    step = 4 if chosen.quick else 1
    picture = Picture(np.ascontiguousarray(astronaut()[::step, ::step]))
    if not chosen.no_patches:
        # First, because the peak of memory is that of the whole process so far.
        patches(picture)
    sheet(picture)
    likelihoods(picture)


if __name__ == "__main__":
    main()
