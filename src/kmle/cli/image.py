"""`kmle image`: an image as a mixture."""

from pathlib import Path
from typing import Annotated

import typer

from . import options as o
from .app import Command, app, examples
from .options import n_init_of
from .terminal import Terminal

ALGORITHMS = "As in kmle fit; em by default, k-mle for patches of more than 16 columns."
GAUSSIANS = ("gaussian", "diagonal-gaussian", "spherical-gaussian")
AMPLITUDES = ("rayleigh", "gamma", "weibull")
FAMILIES = f"{', '.join(GAUSSIANS)}; or {', '.join(AMPLITUDES)}, which segment a grey image by amplitude."
# The labels of superpixels are written as 16-bit images.
MOST_SUPERPIXELS = 2**16 - 1


@app.command(
    cls=Command,
    epilog=examples(
        "kmle image photo.jpg -k 32 --out photo --figure",
        "kmle image photo.jpg -k 64 --out photo --superpixels 1000",
        "kmle image scan.png -k 3 --family rayleigh --out scan",
    ),
)
def image(
    image: Annotated[str, typer.Argument(metavar="IMAGE", help="An image file: PNG, JPEG, TIFF, ...")],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIRECTORY", help="Directory to write to; created if missing.")
    ],
    force: o.Force = False,
    k: Annotated[int, typer.Option("-k", metavar="N", help="Number of components.", min=1)] = 32,
    patch: Annotated[int, typer.Option(metavar="S", help="Fit patches of S x S pixels instead of pixels.", min=1)] = 1,
    scale: Annotated[float, typer.Option(help="Weight of position relative to colour.")] = 1.0,
    family: Annotated[str, typer.Option(metavar="FAMILY", help=FAMILIES)] = "gaussian",
    algorithm: Annotated[str | None, typer.Option(metavar="NAME", help=ALGORITHMS)] = None,
    figure: Annotated[bool, typer.Option("--figure", help="Write one contact sheet instead of single images.")] = False,
    superpixels: Annotated[
        int | None, typer.Option(metavar="N", help="Also segment the image into about N superpixels.", min=1)
    ] = None,
    rates: Annotated[
        str | None, typer.Option(metavar="K,K,...", help="Compare size and quality at these numbers of components.")
    ] = None,
    window: Annotated[int, typer.Option(metavar="S", help="Amplitudes: average over S x S pixels first.", min=1)] = 1,
    restarts: Annotated[
        str, typer.Option(metavar="auto|N", help="Amplitudes: number of starts; exactly N, or auto.")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="Seed of all random draws.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")] = False,
) -> None:
    """Fit a mixture to an image and draw its figures."""
    from ..images import run
    from .sheets import details_table

    terminal = Terminal(quiet)
    n_init, numbers = n_init_of(restarts), _numbers(rates)
    _check_options(family, algorithm, scale, window)
    _check_files(image, out, force)
    _check_size(image, patch, superpixels)
    with terminal.working(f"fitting {k} components to {image}"):
        made = run(
            image,
            out,
            k,
            patch=patch,
            scale=scale,
            algorithm=algorithm,
            family=family,
            figure=figure,
            superpixels=superpixels,
            rates=numbers,
            window=window,
            n_init=n_init,
            random_state=seed,
        )
    for note in made.notes:
        terminal.note(f"note: {note}")
    files = [str(path) for path in made.files]
    if json:
        about = {"components": made.n_components, "learning_seconds": made.learning_seconds}
        terminal.write_json(about | made.measures | {"files": files})
        return
    rows = {"components": str(made.n_components), "learned in": f"{made.learning_seconds:.2f} s"}
    rows |= {name: f"{value:.4g}" for name, value in made.measures.items()}
    terminal.show(details_table(rows), "", "Wrote " + ", ".join(files))


def _check_options(family: str, algorithm: str | None, scale: float, window: int) -> None:
    from difflib import get_close_matches

    from ..images.model import HARD, SOFT

    known = (*GAUSSIANS, *AMPLITUDES)
    if family not in known:
        near = get_close_matches(family, known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"--family {family} does not apply to images: {hint}choose one of {', '.join(known)}")
    if algorithm is not None and algorithm not in (*SOFT, *HARD):
        raise ValueError(f"--algorithm {algorithm} does not apply to images: choose one of {', '.join((*SOFT, *HARD))}")
    if not 0 < scale < float("inf"):
        raise ValueError(f"--scale is {scale:g}: give a positive number")
    if window % 2 == 0:
        raise ValueError(f"--window is {window}: give an odd number of pixels")


def _check_files(image: str, out: str, force: bool) -> None:
    from ..io.formats import existing_file

    source, folder = existing_file(image), Path(out)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out {out} is a file: give a directory")
    if folder.is_dir():
        if source.resolve().parent == folder.resolve():
            raise ValueError(
                f"--out {out} is the directory of {image}, which could be overwritten: give another directory"
            )
        if not force and any(folder.iterdir()):
            raise ValueError(f"--out {out} is not empty: give another directory, or --force to replace files in it")


def _check_size(image: str, patch: int, superpixels: int | None) -> None:
    """What does not fit the size of the image is refused before anything is learned."""
    from ..images.image import read_image

    read = read_image(image)
    pixels = read.width * read.height
    if patch > min(read.width, read.height):
        raise ValueError(
            f"--patch is {patch} but the image has {read.width} x {read.height} pixels: give a smaller patch"
        )
    most = min(pixels, MOST_SUPERPIXELS)
    if superpixels is not None and superpixels > most:
        raise ValueError(f"--superpixels is {superpixels}: an image of {pixels} pixels has 1 to {most} segments")


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--rates is {text!r}: give whole numbers with commas between, such as 8,32,128") from None
