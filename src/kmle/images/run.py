"""Everything for one image, written to a folder: what a command calls."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from .amplitude import AMPLITUDE_FAMILIES, segment_amplitude
from .compression import Rate, plot_rate_distortion, rate_distortion
from .drawing import contact_sheet, panels, size_within, with_boundaries
from .image import ImageData, in_colour, read_image, save_image, to_bytes
from .model import ImageMixture
from .quality import psnr, ssim
from .rendering import reconstructed
from .superpixels import superpixels as cut


@dataclass(frozen=True)
class Outcome:
    """What a run on an image gave.

    Attributes
    ----------
    files : tuple of Path
        The files written.
    notes : tuple of str
        Notes for the reader.
    n_components : int
        The number of components.
    learning_seconds : float
        How long learning took.
    measures : dict of float
        What was measured.
    rates : tuple of Rate
        Sizes and qualities by number of components.
    """

    files: tuple[Path, ...]
    notes: tuple[str, ...]
    n_components: int
    learning_seconds: float
    measures: dict[str, float] = field(default_factory=dict)
    rates: tuple[Rate, ...] = ()


def run(
    path: str | Path,
    out: str | Path,
    n_components: int = 32,
    *,
    patch: int = 1,
    scale: float = 1.0,
    algorithm: str | None = None,
    family: str = "gaussian",
    figure: bool = False,
    superpixels: int | None = None,
    rates: Iterable[int] | None = None,
    window: int = 1,
    n_init: int | str = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
) -> Outcome:
    """Fits a mixture to an image and writes images, model and label map to a directory.

    Parameters
    ----------
    path : str or Path
        The image file.
    out : str or Path
        The directory.
    n_components : int, default=32
        The number of components.
    patch, scale, algorithm : default=1, 1.0, None
        As in `ImageMixture.fit`.
    family : str, default="gaussian"
        A Gaussian family, or "rayleigh", "gamma" or "weibull", which segment by amplitude.
    figure : bool, default=False
        Whether to write one contact sheet instead of single images.
    superpixels : int, default=None
        A number of superpixels to segment the image into.
    rates : iterable of int, default=None
        Numbers of components at which to compare size and quality.
    window, n_init : default=1, "auto"
        As in `segment_amplitude`.
    random_state : int, Generator or None, default=0
        The seed of all random draws.
    n_jobs : int or None, default=None
        The number of threads.

    Returns
    -------
    Outcome
        The files, notes and measurements.
    """
    image = read_image(path)
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: give a directory")
    if family in AMPLITUDE_FAMILIES:
        if patch > 1 or superpixels is not None or rates is not None:
            raise ValueError(
                f"family {family} fits amplitudes and cannot be combined with patch, superpixels and rates"
            )
        chosen = {"window": window, "n_init": n_init, "random_state": random_state, "n_jobs": n_jobs}
        return _amplitude(image, folder, n_components, family, algorithm or "em", chosen)
    if n_init != "auto":
        raise ValueError(f"family {family} has one start, from k-means, and cannot be combined with restarts")
    options: dict[str, Any] = {"patch": patch, "scale": scale, "algorithm": algorithm, "family": family}
    options |= {"random_state": random_state, "n_jobs": n_jobs}
    start = time.perf_counter()
    model = ImageMixture.fit(image, n_components, **options)
    seconds = time.perf_counter() - start
    with written_together(folder) as made:
        files, measures, measured = _write(made, model, image, figure, superpixels, rates, options)
    files = [folder / file.name for file in files]
    return Outcome(tuple(files), model.notes, model.n_components, seconds, measures, measured)


def _write(
    folder: Path,
    model: ImageMixture,
    image: ImageData,
    figure: bool,
    superpixels: int | None,
    rates: Iterable[int] | None,
    options: dict[str, Any],
) -> tuple[list[Path], dict[str, float], tuple[Rate, ...]]:
    """Writes the images, model and label map of a mixture; returns the files and what was measured."""
    files = [folder / "model.npz"]
    measures: dict[str, float] = {"bytes": model.save(files[0])}
    size = size_within(model.width, model.height) if figure else None
    shown = panels(model, image, size=size, random_state=options["random_state"])
    rebuilt = shown["posterior mean"]
    if rebuilt.shape[:2] != (model.height, model.width):
        rebuilt = reconstructed(model)
    measures |= {"psnr": psnr(image.levels, rebuilt), "ssim": ssim(image.levels, rebuilt)}
    if figure:
        files.append(save_image(folder / "figure.png", contact_sheet(shown)))
    else:
        files += [save_image(folder / _file_name(title), pixels) for title, pixels in shown.items()]
    if superpixels is not None:
        pieces = cut(image, superpixels, n_jobs=options["n_jobs"])
        files += pieces.save(folder / "labels")
        files.append(save_image(folder / "superpixels.png", with_boundaries(image, pieces.labels)))
        measures["superpixels"] = pieces.n_segments
    measured = () if rates is None else rate_distortion(image, rates, **options)
    if measured:
        files.append(folder / "rate_distortion.png")
        plot_rate_distortion(measured).figure.savefig(files[-1], dpi=110)
    return files, measures, measured


@contextmanager
def written_together(folder: Path) -> Iterator[Path]:
    """A folder to write to; its files are moved to `folder` at the end, all or, after a failure, none of them."""
    is_new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with TemporaryDirectory(dir=folder, prefix=".part-") as made:
            yield Path(made)
            for file in Path(made).iterdir():
                file.replace(folder / file.name)
    finally:
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


def _amplitude(
    image: ImageData,
    folder: Path,
    n_components: int,
    family: str,
    algorithm: str,
    options: dict[str, Any],
) -> Outcome:
    start = time.perf_counter()
    found = segment_amplitude(image, n_components, family=family, algorithm=algorithm, **options)
    seconds = time.perf_counter() - start
    original, segments = in_colour(to_bytes(image.levels)), found.segments()
    sheet = contact_sheet({"image": original, f"{family} segments": segments, "mean levels": found.image()})
    with written_together(folder) as made:
        files = [save_image(made / "segmentation.png", segments), save_image(made / "figure.png", sheet)]
        files += [made / "labels.npy", made / "model.json"]
        np.save(files[2], found.labels)
        files[3].write_text(found.mixture.to_json(), encoding="utf-8")
    named = tuple(folder / file.name for file in files)
    return Outcome(named, found.notes, found.mixture.n_components, seconds)


def _file_name(title: str) -> str:
    return title.lower().replace(" ", "_") + ".png"
