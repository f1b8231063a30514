"""Arguments and options that several commands share."""

from enum import StrEnum
from typing import Annotated, Any

import typer


class AlgorithmName(StrEnum):
    """Ways of learning; the last two are soft."""

    K_MLE = "k-mle"
    HARD_EM = "hard-em"
    HARTIGAN = "hartigan"
    SWAP = "swap"
    EXACT = "exact"
    ONLINE = "online"
    EM = "em"
    SPARSE_EM = "sparse-em"


SOFT = (AlgorithmName.EM, AlgorithmName.SPARSE_EM)


class InitName(StrEnum):
    """Ways to start."""

    AUTO = "auto"
    K_MLE = "k-mle++"
    K_MLE_PASSES = "k-mle||"
    RANDOM = "random"
    RESTRICTED = "restricted"
    QUANTILE = "quantile"
    K_MEANS = "k-means"
    SHORT_EM = "short-em"
    AGGLOMERATIVE = "agglomerative"
    GRID = "grid"


def _family_names(incomplete: str) -> list[str]:
    from ..families import FAMILIES

    return [name for name in FAMILIES if name.startswith(incomplete)]


READS = "CSV, TSV, Parquet, Arrow, NPY or NPZ, gzipped or not; - is standard input."
TABLE, MODEL_FILE, OUTPUT, LEARNING, TALK = "The table", "The model", "Output", "Learning", "Messages"

Data = Annotated[str, typer.Argument(metavar="DATA", help=f"The table: {READS}", show_default=False)]
ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help="A model file (JSON) as `kmle fit --out` writes it.")]
Columns = Annotated[
    str | None,
    typer.Option("--columns", "-c", metavar="A,B", help="Columns to use; all by default.", rich_help_panel=TABLE),
]
Weights = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The column that says how often a row counts.", rich_help_panel=TABLE),
]
IgnoreText = Annotated[bool, typer.Option("--ignore-text", help="Leave columns of text out.", rich_help_panel=TABLE)]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave rows with missing values out.", rich_help_panel=TABLE)
]
Family = Annotated[
    str | None,
    typer.Option(
        "--family",
        "-f",
        metavar="NAME",
        help="The family, as `kmle families` lists them; guessed from the columns by default. Fixed facts follow a "
        "colon (binomial:trials=10), columns of different kinds are joined (poisson+gamma).",
        autocompletion=_family_names,
        rich_help_panel=LEARNING,
    ),
]
Algorithm = Annotated[
    AlgorithmName | None,
    typer.Option(
        "--algorithm",
        "-a",
        help="How to learn; em and sparse-em are soft. By default k-mle, and em where k is selected (k-mle for icl).",
        show_default=False,
        rich_help_panel=LEARNING,
    ),
]
Init = Annotated[
    InitName | None,
    typer.Option(help="The kind of starts; several kinds by default.", show_default=False, rich_help_panel=LEARNING),
]
Prior = Annotated[
    float,
    typer.Option(
        min=0.0, metavar="N", help="Pseudo-observations that keep components regular.", rich_help_panel=LEARNING
    ),
]
Resolution = Annotated[
    str,
    typer.Option(
        "--resolution",
        metavar="auto|none|STEPS",
        help="Steps the columns were rounded to, one or one per column (0.1,0,5): no component is narrower.",
        rich_help_panel=LEARNING,
    ),
]
Restarts = Annotated[
    str,
    typer.Option(
        "--restarts",
        metavar="auto|N",
        help="Starts to try: exactly N, or as many as pay, with moves that leave local optima.",
        rich_help_panel=LEARNING,
    ),
]
MaxIter = Annotated[
    int | None,
    typer.Option(
        "--max-iter",
        metavar="N",
        min=1,
        help="Most iterations: 300 by default, 1000 for em.",
        show_default=False,
        rich_help_panel=LEARNING,
    ),
]
Stream = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Read the table batch after batch in little memory: CSV, Parquet, Arrow or NPY of any size.",
        rich_help_panel=TABLE,
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Keep the state of the fit here, every few seconds.", rich_help_panel=LEARNING),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on from what --checkpoint kept, if there is any.", rich_help_panel=LEARNING),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="The seed of all random draws.")]
Jobs = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", help="Threads; all cores by default.", rich_help_panel=LEARNING),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.", rich_help_panel=OUTPUT)]
ModelOut = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="MODEL.json", help="Write the model here.", rich_help_panel=OUTPUT),
]
TableOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="TABLE",
        help="Write here, in the format the extension names; - is CSV on standard output.",
        rich_help_panel=OUTPUT,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.", rich_help_panel=TALK)]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Tell every step.", rich_help_panel=TALK)]


def n_init_of(restarts: str) -> int | str:
    """What --restarts says, as the estimators want it.

    >>> n_init_of("auto"), n_init_of("5")
    ('auto', 5)
    """
    if restarts == "auto":
        return restarts
    if not restarts.isdecimal() or int(restarts) < 1:
        raise ValueError(f"--restarts is {restarts}: write auto, or a whole number from 1 on")
    return int(restarts)


def resolution_of(resolution: str) -> Any:
    """What --resolution says, as the estimators want it.

    >>> resolution_of("auto"), resolution_of("none"), resolution_of("0.1,5")
    ('auto', None, [0.1, 5.0])
    """
    if resolution in ("auto", "none"):
        return None if resolution == "none" else resolution
    try:
        steps = [float(step) for step in resolution.split(",")]
    except ValueError:
        raise ValueError(f"--resolution is {resolution}: write auto, none, or steps such as 0.1,0,5") from None
    return steps[0] if len(steps) == 1 else steps


def split_columns(columns: str | None) -> list[str] | None:
    """Names between commas; None for none given."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",") if name.strip()]
    if not names:
        raise ValueError("--columns names no column: write --columns a,b")
    return names
