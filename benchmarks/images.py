"""Pictures: the mixture of a picture beside scikit-learn's on the same scaled points, times, and memory.

    python -m benchmarks.images [--quick] [--no-patches] [--pictures astronaut coffee chelsea]

Needs scikit-image, for its pictures. `--quick` takes every fourth pixel.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from skimage import data
from sklearn.mixture import GaussianMixture

from kmle import ExponentialFamilyMixture, Mixture
from kmle.images import ImageData, ImageMixture, save_image
from kmle.images.points import anchors, points
from kmle.numerics.arrays import Array

from .memory import peak

COMPONENTS, PATCH = 32, 8
SEEDS, FRESH = 5, 99
PICTURES = ("astronaut", "coffee", "chelsea")
RUNS = 3


def likelihoods(names: list[str], step: int) -> None:
    """Both learn from the same points; both are scored on pixels spread by another draw.

    scikit-learn's `GaussianMixture` stops when a step gains less than 0.001 a point. Its outcome is also taken as a
    start of EM to the end (by kmle, the steps being the same), which tells what its patience is worth.
    """
    print(f"\nload at the start {os.getloadavg()[0]:.1f}, {len(os.sched_getaffinity(0))} cores")
    print("| picture | seed | kmle | seconds | kmle, k-MLE | scikit-learn | seconds | scikit-learn, EM to the end |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        image = shrunk(name, step)
        scored = table_of(image, FRESH)
        rows = []
        for seed in range(SEEDS):
            rows.append(_side_by_side(image, scored, seed))
            own, seconds, hard, peer, peer_seconds, patient = rows[-1]
            shown = f"{own:.4f} | {seconds:.2f} | {hard:.4f} | {peer:.4f} | {peer_seconds:.1f} | {patient:.4f}"
            print(f"| {name} | {seed} | {shown} |", flush=True)
        values = np.array(rows)
        worst, best, end = values[:, 0].min(), values[:, 3].max(), values[:, 5].max()
        print(f"| {name} | worst of kmle, best of the peer | {worst:.4f} | | | {best:.4f} | | {end:.4f} |", flush=True)


def _side_by_side(image: ImageData, scored: Array, seed: int) -> tuple[float, ...]:
    start = time.perf_counter()
    model = ImageMixture.fit(image, COMPONENTS, random_state=seed)
    seconds = time.perf_counter() - start
    hard = ImageMixture.fit(image, COMPONENTS, algorithm="k-mle", random_state=seed)
    table = table_of(image, seed)
    start = time.perf_counter()
    peer = GaussianMixture(COMPONENTS, random_state=seed).fit(table)
    peer_seconds = time.perf_counter() - start
    found = Mixture.from_source("gaussian", peer.weights_, mean=peer.means_, covariance=peer.covariances_)
    patient = ExponentialFamilyMixture(COMPONENTS, init=found, prior_strength=0.0, tol=1e-6).fit(table)
    mixtures = (model.mixture, hard.mixture, found, patient.mixture_)
    own, hardly, peers, end = (float(mixture.log_density(scored).mean()) for mixture in mixtures)
    return own, seconds, hardly, peers, peer_seconds, end


def table_of(image: ImageData, seed: int) -> Array:
    """The points `ImageMixture.fit` learns from with this `random_state`."""
    return points(image, *anchors(image, 1, 1), 1, 1.0, np.random.default_rng(seed))


def shrunk(name: str, step: int) -> ImageData:
    """A picture of scikit-image, every n-th pixel of it."""
    return ImageData(np.ascontiguousarray(getattr(data, name)()[::step, ::step]))


def sheet(image: ImageData) -> None:
    """The whole contact sheet from the command line, a new process each time."""
    with tempfile.TemporaryDirectory() as folder:
        path = save_image(Path(folder) / "picture.png", image.levels)
        command = [sys.executable, "-m", "kmle", "image", str(path), "-k", str(COMPONENTS), "--figure", "--json"]
        for _ in range(RUNS):
            start = time.perf_counter()
            message = subprocess.run([*command, "--out", folder], capture_output=True, text=True, check=True).stdout
            seconds = time.perf_counter() - start
            about = json.loads(message)
            print(
                f"contact sheet: {seconds:.2f} s, of which learning {about['learning_seconds']:.2f} s; "
                f"psnr {about['psnr']:.2f}, ssim {about['ssim']:.3f}, {about['bytes']} bytes",
                flush=True,
            )


def patches(image: ImageData) -> None:
    """Patches of 8 x 8 pixels."""
    rows, _ = anchors(image, PATCH, PATCH // 4)
    start = time.perf_counter()
    ImageMixture.fit(image, COMPONENTS, patch=PATCH)
    seconds = time.perf_counter() - start
    columns = 2 + PATCH**2 * image.channels
    print(
        f"\npatches: {len(rows)} x {columns} points in {seconds:.1f} s, peak {peak() / 2**30:.2f} GiB (whole process)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every fourth pixel in each direction")
    parser.add_argument("--no-patches", action="store_true", help="leave out the patches")
    parser.add_argument("--pictures", nargs="*", default=PICTURES, help="which pictures of scikit-image")
    chosen = parser.parse_args()
    step = 4 if chosen.quick else 1
    if not chosen.no_patches:
        # First, because the peak of memory is that of the whole process so far.
        patches(shrunk("astronaut", step))
    sheet(shrunk("astronaut", step))
    likelihoods(chosen.images, step)


if __name__ == "__main__":
    main()
