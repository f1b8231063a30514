"""`kmle image`: a picture as a mixture."""

from typing import Annotated

import typer

from .app import Command, app, examples
from .options import n_init_of
from .terminal import Terminal

ALGORITHMS = "As in kmle fit; em by default, k-mle for patches of more than 16 columns"
FAMILIES = "gaussian; or rayleigh, gamma, weibull, which segment a grey picture by its amplitudes"


@app.command(
    cls=Command,
    epilog=examples(
        "kmle image photo.jpg -k 32 --out photo --figure",
        "kmle image photo.jpg -k 64 --out photo --superpixels 1000",
        "kmle image scan.png -k 3 --family rayleigh --out scan",
    ),
)
def image(
    picture: Annotated[str, typer.Argument(metavar="PICTURE", help="A picture: PNG, JPEG, TIFF, ...")],
    out: Annotated[str, typer.Option("--out", "-o", metavar="DIRECTORY", help="Where to write; made if missing.")],
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many components.", min=1)] = 32,
    patch: Annotated[int, typer.Option(metavar="S", help="Squares of S x S pixels instead of pixels.", min=1)] = 1,
    scale: Annotated[float, typer.Option(help="How much position counts against colour.")] = 1.0,
    family: Annotated[str, typer.Option(metavar="FAMILY", help=FAMILIES)] = "gaussian",
    algorithm: Annotated[str | None, typer.Option(metavar="NAME", help=ALGORITHMS)] = None,
    figure: Annotated[bool, typer.Option("--figure", help="One contact sheet instead of single pictures.")] = False,
    superpixels: Annotated[
        int | None, typer.Option(metavar="N", help="Cut the picture into about N pieces too.", min=1)
    ] = None,
    rates: Annotated[
        str | None, typer.Option(metavar="K,K,...", help="Compare size and likeness at these numbers of components.")
    ] = None,
    window: Annotated[int, typer.Option(metavar="S", help="Amplitudes: average over S x S pixels first.", min=1)] = 1,
    restarts: Annotated[
        str, typer.Option(metavar="auto|N", help="Amplitudes: starts to try; exactly N, or as many as pay.")
    ] = "auto",
    seed: Annotated[int, typer.Option(help="For every random draw.", min=0)] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print for programs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Learn the mixture of a picture and draw what it says of it."""
    from ..images import run
    from .sheets import facts_table

    terminal = Terminal(quiet)
    n_init = n_init_of(restarts)
    with terminal.working(f"learning {k} components of {picture}"):
        made = run(
            picture,
            out,
            k,
            patch=patch,
            scale=scale,
            algorithm=algorithm,
            family=family,
            figure=figure,
            superpixels=superpixels,
            rates=_numbers(rates),
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
    facts = {"components": str(made.n_components), "learned in": f"{made.learning_seconds:.2f} s"}
    facts |= {name: f"{value:.4g}" for name, value in made.measures.items()}
    terminal.show(facts_table(facts), "", "Wrote " + ", ".join(files))


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"--rates is {text!r}: give whole numbers with commas between, such as 8,32,128") from None
