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


class CriterionName(StrEnum):
    """What decides; lower is better."""

    AIC = "aic"
    AICC = "aicc"
    BIC = "bic"
    ICL = "icl"


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
    from ..families.registry import short_names

    return [name for name in short_names() if name.startswith(incomplete)]


READS = "CSV, TSV, Excel, JSON lines, Parquet, Arrow, NPY or NPZ, gzipped or not; - is standard input."
TABLE, MODEL_FILE, OUTPUT, LEARNING, TALK = "The table", "The model", "Output", "Learning", "Messages"

Data = Annotated[str, typer.Argument(metavar="DATA", help=f"The table: {READS}", show_default=False)]
ModelPath = Annotated[str, typer.Argument(metavar="MODEL", help="A model file (JSON) as `kmle fit --out` writes it.")]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        "-c",
        metavar="A,B",
        help="Columns to use; by default all except row numbers and ids.",
        rich_help_panel=TABLE,
    ),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column with the weight of each row; 2 counts a row twice.", rich_help_panel=TABLE
    ),
]
IgnoreText = Annotated[bool, typer.Option("--ignore-text", help="Omit columns of text.", rich_help_panel=TABLE)]
DropMissing = Annotated[
    bool,
    typer.Option(
        "--drop-missing",
        help="Drop rows with missing values. By default the values that they have are used.",
        rich_help_panel=TABLE,
    ),
]
Categorical = Annotated[
    str | None,
    typer.Option(
        "--categorical",
        metavar="A,B",
        help="Columns of text (or numbers) to read as categories; a categorical --family reads all text like this.",
        show_default=False,
        rich_help_panel=TABLE,
    ),
]
Event = Annotated[
    str | None,
    typer.Option(
        "--event",
        metavar="COLUMN",
        help="Column of events beside one column of times: 1 seen, 0 still running (censored on the right).",
        show_default=False,
        rich_help_panel=TABLE,
    ),
]
Upper = Annotated[
    str | None,
    typer.Option(
        "--upper",
        metavar="COLUMN",
        help="Column of upper bounds beside one column of lower ones; empty cells are open ends.",
        show_default=False,
        rich_help_panel=TABLE,
    ),
]
LabelsFrom = Annotated[
    str | None,
    typer.Option(
        "--labels-from",
        metavar="COLUMN",
        help="Column with known classes of rows; empty cells are unknown.",
        show_default=False,
        rich_help_panel=TABLE,
    ),
]
Header = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        help="Whether the first line of a text file names the columns; detected by default.",
        show_default=False,
        rich_help_panel=TABLE,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="Field separator of a text file (a mark, or a name such as tab or space); detected by default.",
        show_default=False,
        rich_help_panel=TABLE,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Encoding of a text file; utf-8 by default.", show_default=False, rich_help_panel=TABLE
    ),
]
Thousands = Annotated[
    str | None,
    typer.Option(
        metavar="MARK",
        help="Thousands separator of a text file: , for 1,250,000.",
        show_default=False,
        rich_help_panel=TABLE,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace existing files.", rich_help_panel=OUTPUT)]
Hard = Annotated[
    bool,
    typer.Option(
        "--hard",
        help="Assign every row to one component. The same as --algorithm k-mle.",
        rich_help_panel=LEARNING,
    ),
]
Family = Annotated[
    str | None,
    typer.Option(
        "--family",
        "-f",
        metavar="NAME",
        help="Family from the list of `kmle families`; guessed from the columns by default. Fixed parameters follow "
        "a colon (binomial:trials=10), columns of different kinds are joined (poisson+gamma). Commas list the families "
        "of components (gaussian*2,uniform), which sets their number.",
        autocompletion=_family_names,
        rich_help_panel=LEARNING,
    ),
]
Noise = Annotated[
    bool,
    typer.Option(
        "--noise",
        help="Add a component of uniform density over the box of the data; its rows have the label -1.",
        rich_help_panel=LEARNING,
    ),
]
Algorithm = Annotated[
    AlgorithmName | None,
    typer.Option(
        "--algorithm",
        "-a",
        help="Algorithm; em by default. em and sparse-em are soft, the others hard.",
        show_default=False,
        rich_help_panel=LEARNING,
    ),
]
Criterion = Annotated[
    CriterionName,
    typer.Option(help="Criterion that selects the number of components; lower is better.", rich_help_panel=LEARNING),
]
Init = Annotated[
    InitName | None,
    typer.Option(help="Kind of starts; several kinds by default.", show_default=False, rich_help_panel=LEARNING),
]
Prior = Annotated[
    float,
    typer.Option(min=0.0, metavar="N", help="Strength of the prior, in pseudo-observations.", rich_help_panel=LEARNING),
]
Resolution = Annotated[
    str,
    typer.Option(
        "--resolution",
        metavar="auto|none|STEPS",
        help="Rounding steps of the columns, one or one per column (0.1,0,5); they bound the width of components.",
        rich_help_panel=LEARNING,
    ),
]
Restarts = Annotated[
    str,
    typer.Option(
        "--restarts",
        metavar="auto|N",
        help="Number of starts: exactly N, or auto: several, with moves that escape local optima.",
        rich_help_panel=LEARNING,
    ),
]
MaxIter = Annotated[
    int | None,
    typer.Option(
        "--max-iter",
        metavar="N",
        min=1,
        help="Maximum number of iterations; 300 by default, 1000 for em.",
        show_default=False,
        rich_help_panel=LEARNING,
    ),
]
Stream = Annotated[
    bool,
    typer.Option(
        "--stream",
        help="Read the table in batches, with little memory: CSV, Parquet, Arrow or NPY of any size.",
        rich_help_panel=TABLE,
    ),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Save the state of the fit to this file every few seconds.", rich_help_panel=LEARNING
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Continue from the state in --checkpoint, if the file exists.", rich_help_panel=LEARNING
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", min=0, help="Seed of all random draws.")]
Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs", "-j", metavar="N", min=1, help="Number of threads; all cores by default.", rich_help_panel=LEARNING
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.", rich_help_panel=OUTPUT)]
ModelOut = Annotated[
    str | None,
    typer.Option("--out", "-o", metavar="MODEL.json", help="Write the model to this file.", rich_help_panel=OUTPUT),
]
TableOut = Annotated[
    str,
    typer.Option(
        "--out",
        "-o",
        metavar="TABLE",
        help="File to write, in the format of its extension; - is CSV on standard output.",
        rich_help_panel=OUTPUT,
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.", rich_help_panel=TALK)]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log each step.", rich_help_panel=TALK)]


def n_init_of(restarts: str) -> int | str:
    """What --restarts says, as the estimators want it.

    >>> n_init_of("auto"), n_init_of("5")
    ('auto', 5)
    """
    if restarts == "auto":
        return restarts
    if not restarts.isdecimal() or int(restarts) < 1:
        raise ValueError(f"--restarts is {restarts}: write auto or a whole number of at least 1")
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


def split_columns(columns: str | None, option: str = "--columns") -> list[str] | None:
    """Names between commas; None for none given."""
    if columns is None:
        return None
    names = [name.strip() for name in columns.split(",") if name.strip()]
    if not names:
        raise ValueError(f"{option} is empty: write {option} a,b")
    return names


def algorithm_of(algorithm: AlgorithmName | None, hard: bool) -> AlgorithmName:
    """What --algorithm and --hard say together.

    >>> algorithm_of(None, False).value, algorithm_of(None, True).value
    ('em', 'k-mle')
    """
    if hard and algorithm not in (None, AlgorithmName.K_MLE):
        raise ValueError(f"--hard is the same as --algorithm k-mle and cannot be combined with --algorithm {algorithm}")
    return AlgorithmName.K_MLE if hard else algorithm or AlgorithmName.EM
