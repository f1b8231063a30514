"""Reports of fits, as `fit` and `select` write them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import OUTPUT

if TYPE_CHECKING:
    from ..io import Table
    from .learning import Outcome

Title = Annotated[
    str | None,
    typer.Option(
        "--title", metavar="TEXT", help="Title of the page; by default the name of the data.", rich_help_panel=OUTPUT
    ),
]


def write_fit_report(path: str, outcome: Outcome, table: Table, seed: int, title: str | None) -> None:
    """The report of a fit that `fit` or `select` made."""
    from ..report import write_report

    write_report(
        path,
        outcome.estimator,
        table.rows,
        list(table.columns),
        sample_weight=table.weights,
        command=shlex.join(["kmle", *sys.argv[1:]]),
        seed=seed,
        title=title or data_name(table.source),
        selection=outcome.selection,
        row_names=table.row_name,
        intervals=None if outcome.known is None else outcome.known.intervals,
    )


def data_name(source: str) -> str:
    """What a data set is called: its file's name without folder and extensions.

    >>> data_name("data/faithful.csv.gz"), data_name("standard input")
    ('faithful', 'standard input')
    """
    name = Path(source).name
    return name.partition(".")[0] or name
