"""Commands that show data under a model: `plot` and `report`."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import Command, app, examples
from .outputs import check_files, page_name, plot_name
from .pages import Title, data_name
from .scoring import model_and_table
from .tables import Asked
from .terminal import Terminal

if TYPE_CHECKING:
    from ..io import Model, Table


class KindName(StrEnum):
    """What `kmle plot` draws."""

    FIT = "fit"
    CELLS = "cells"
    POSTERIOR = "posterior"
    QUANTILES = "quantiles"


Show = Annotated[
    str | None,
    typer.Option("--show", metavar="A,B", help="Columns to plot; all by default.", rich_help_panel=o.OUTPUT),
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
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    kind: Annotated[
        KindName, typer.Option(help="Plot the mixture over the data, cells, certainty of labels, or quantiles.")
    ] = KindName.FIT,
    show: Show = None,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PLOT",
            help="File to write (PNG, SVG or PDF); by default the name of DATA with .png.",
        ),
    ] = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Plot data under a model."""
    terminal = Terminal(quiet)
    target = plot_name(out or f"{_name_of(data)}.png", "--out") or ""
    check_files({"--out": target}, [model, data], force)
    asked = Asked(data, columns, None, ignore_text, drop_missing, None, header, separator, encoding, thousands)
    content, table = _read(terminal, model, asked)
    import matplotlib

    matplotlib.use("agg")
    figure = _drawn(kind, content, table, o.split_columns(show))
    from ..io.outputs import output_file

    with output_file(target) as made:
        figure.savefig(made, dpi=150, bbox_inches="tight")
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
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    title: Title = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="PAGE.html", help="Page to write; by default the name of DATA with .html."),
    ] = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Write a page that compares new data with a model: the drift of each column and of the likelihood."""
    terminal = Terminal(quiet)
    target = page_name(out or f"{_name_of(data)}.html", "--out") or ""
    check_files({"--out": target}, [model, data], force)
    asked = Asked(data, columns, None, ignore_text, drop_missing, None, header, separator, encoding, thousands)
    content, table = _read(terminal, model, asked)
    from ..io.outputs import output_file
    from ..report import write_comparison

    with terminal.working(f"comparing {data} with {model}"), output_file(target) as made:
        write_comparison(
            made,
            content.mixture,
            table.rows,
            list(table.columns),
            title=title or data_name(table.source),
            command=shlex.join(["kmle", *sys.argv[1:]]),
            about=content.about,
            row_names=table.row_name,
        )
    terminal.note(f"wrote {target}")


def _name_of(data: str) -> str:
    """What outputs are called after the data they show."""
    return "data" if data == "-" else data_name(data)


def _read(terminal: Terminal, model: str, asked: Asked) -> tuple[Model, Table]:
    from ..io.table import Table
    from .learning import in_words_of

    content, table = model_and_table(terminal, model, asked, stream=False)
    assert isinstance(table, Table)  # it was not asked for as a stream
    family = content.mixture.family
    try:
        family.check(table.rows, list(table.columns), missing=True)
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
