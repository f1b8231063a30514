"""Commands that show data under a model: `plot` and `report`."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import Command, app, examples
from .pages import Title, data_name
from .scoring import _both
from .terminal import Terminal

if TYPE_CHECKING:
    from ..io import Model, Table


class KindName(StrEnum):
    """What `kmle plot` draws."""

    FIT = "fit"
    CELLS = "cells"
    POSTERIOR = "posterior"
    QUANTILES = "quantiles"


Force = Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.", rich_help_panel=o.OUTPUT)]
Show = Annotated[
    str | None,
    typer.Option("--show", metavar="A,B", help="Columns to draw; all by default.", rich_help_panel=o.OUTPUT),
]


@app.command(
    cls=Command,
    epilog=examples(
        "kmle plot model.json data.csv",
        "kmle plot model.json data.csv --kind cells --show width,length --out cells.svg",
    ),
)
def plot(
    model: o.ModelPath,
    data: o.Data,
    columns: o.Columns = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    kind: Annotated[
        KindName, typer.Option(help="The mixture over the data, cells, certainty of labels, or quantiles.")
    ] = KindName.FIT,
    show: Show = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="PICTURE", help="PNG, SVG or PDF; DATA's name .png by default."),
    ] = None,
    force: Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Plot data under a model."""
    terminal = Terminal(quiet)
    target = _target(out, data, ".png", force)
    content, table = _read(terminal, model, data, columns, ignore_text, drop_missing)
    import matplotlib

    matplotlib.use("agg")
    figure = _drawn(kind, content, table, o.split_columns(show))
    try:
        figure.savefig(target, dpi=150, bbox_inches="tight")
    except OSError as error:
        raise ValueError(f"{target} cannot be written: {(error.strerror or str(error)).lower()}") from None
    terminal.note(f"wrote {target}")


@app.command(
    cls=Command,
    epilog=examples("kmle report model.json new.csv", "kmle report model.json june.csv --title June --out june.html"),
)
def report(
    model: o.ModelPath,
    data: o.Data,
    columns: o.Columns = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    title: Title = None,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="PAGE.html", help="The page; DATA's name .html by default.")
    ] = None,
    force: Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Write a page on new data against a model: the drift of each column and of the likelihood."""
    terminal = Terminal(quiet)
    target = _target(out, data, ".html", force)
    content, table = _read(terminal, model, data, columns, ignore_text, drop_missing)
    from ..report import write_comparison

    with terminal.working(f"comparing {data} with {model}"):
        write_comparison(
            target,
            content.mixture,
            table.rows,
            list(table.columns),
            title=title or data_name(table.source),
            command=shlex.join(["kmle", *sys.argv[1:]]),
            about=content.about,
            row_names=table.row_name,
        )
    terminal.note(f"wrote {target}")


def _target(out: str | None, data: str, extension: str, force: bool) -> str:
    """Where to write, or one sentence on why not: said before any work."""
    from ..io.formats import check_output

    if out == "-":
        raise ValueError("plots and reports do not go to standard output: give the name of a file with --out")
    target = out or f"{'data' if data == '-' else data_name(data)}{extension}"
    if extension == ".png" and not Path(target).suffix:
        target += extension
    if extension == ".png" and Path(target).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ValueError(f"{target} is no format for a plot: give a name that ends in .png, .svg or .pdf")
    check_output(target)
    if Path(target).exists() and not force:
        raise ValueError(f"{target} exists: --force overwrites it, --out names another file")
    return target


def _read(
    terminal: Terminal, model: str, data: str, columns: str | None, ignore_text: bool, drop_missing: bool
) -> tuple[Model, Table]:
    from ..io.table import Table
    from .learning import in_words_of

    content, table = _both(terminal, model, data, columns, ignore_text, drop_missing, False)
    assert isinstance(table, Table)  # it was not asked for as a stream
    family = content.mixture.family
    try:
        family.check(table.rows, list(table.columns))
    except ValueError as error:
        raise ValueError(in_words_of(table, family, error)) from None
    return content, table


def _drawn(kind: KindName, content: Model, table: Table, show: list[str] | None) -> Any:
    """The figure of this kind."""
    import numpy as np
    import polars as pl

    from ..plotting import plot_cells, plot_fit, plot_posterior, plot_qq

    rows: Any = pl.DataFrame({name: table.rows[:, place] for place, name in enumerate(table.columns)})
    mixture = content.mixture
    if kind == KindName.POSTERIOR:
        axes: Any = plot_posterior(mixture, rows)
    elif kind == KindName.CELLS:
        axes = plot_cells(mixture, rows, columns=show)
    elif kind == KindName.QUANTILES:
        axes = plot_qq(mixture, rows, columns=show)
    else:
        axes = plot_fit(mixture, rows, columns=show)
    return np.ravel(np.asarray(axes, dtype=object))[0].figure
