"""Commands on a model and data: `predict` and `score`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import Command, app, examples
from .fit import row_column
from .learning import in_words_of
from .outputs import check_files, check_table_output
from .streaming import report_dropped
from .tables import Asked, counted, open_table, read
from .terminal import Teller, Terminal

if TYPE_CHECKING:
    from ..families import ExponentialFamily
    from ..io import Model, Table, TableStream
    from .learning import Data

Columns = dict[str, Any]


@app.command(
    cls=Command,
    epilog=examples(
        "kmle predict model.json data.csv --out labels.csv",
        "kmle predict model.json data.csv --probabilities",
        "cat data.csv | kmle predict model.json -",
        "kmle predict model.json huge.parquet --stream --out labels.npy",
    ),
)
def predict(
    model: o.ModelPath,
    data: o.Data,
    columns: o.Columns = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    stream: o.Stream = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="Add the probabilities of all components.")
    ] = False,
    append: Annotated[bool, typer.Option("--append", help="Append the labels to all columns of the table.")] = False,
    out: o.TableOut = "-",
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Write the most probable component of each row.

    Rows that --drop-missing removes have no line; each line then has the number of its row, or all its columns.
    """
    terminal = Terminal(quiet)
    if append and stream:
        raise ValueError("--append cannot be combined with --stream: it needs the whole table in memory")
    check_table_output(out, batches=stream)
    check_files({"--out": out}, [model, data], force)
    asked = Asked(data, columns, None, ignore_text, drop_missing, None, header, separator, encoding, thousands)
    content, table = model_and_table(terminal, model, asked, stream)
    mixture = content.mixture

    from ..estimators.tables import without_noise  # slow to import

    def predicted(part: Table) -> Columns:
        written: Columns = {"label": without_noise(mixture, mixture.predict(part.rows))}
        if probabilities:
            posterior = mixture.posterior(part.rows)
            written |= {f"probability_{j}": posterior[:, j] for j in range(mixture.n_components)}
        return appended(part, written) if append else row_column(part, drop_missing) | written

    _write_parts(terminal, "predicting", out, table, mixture.family, predicted)


@app.command(
    cls=Command,
    epilog=examples("kmle score model.json data.csv", "kmle score model.json data.csv --out log_densities.parquet"),
)
def score(
    model: o.ModelPath,
    data: o.Data,
    columns: o.Columns = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    stream: o.Stream = False,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="TABLE",
            help="Write the log-density of each row to this file.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    force: o.Force = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score data under a model."""
    import numpy as np

    from ..algorithms.criteria import Criteria
    from .figures import merits, shown
    from .sheets import details_table

    terminal = Terminal(quiet)
    check_table_output(out, batches=stream)
    check_files({"--out": out}, [model, data], force)
    asked = Asked(data, columns, None, ignore_text, drop_missing, None, header, separator, encoding, thousands)
    content, table = model_and_table(terminal, model, asked, stream)
    mixture = content.mixture
    # The sums over the parts of the log-densities, the largest terms of them, and ones.
    totals = np.zeros(3)

    def scored(part: Table) -> Columns:
        densities = mixture.log_density(part.rows)
        totals[:] += densities.sum(), mixture.complete_log_likelihood(part.rows), len(part)
        return row_column(part, drop_missing) | {"log_density": densities}

    _write_parts(terminal, "scoring", out, table, mixture.family, scored)
    log_likelihood, complete, n_rows = totals.tolist()
    figures = merits(Criteria(log_likelihood, complete, mixture.n_parameters, int(n_rows)))
    mean = log_likelihood / n_rows
    if json:
        terminal.write_json({"rows": int(n_rows), "mean_log_density": mean} | figures)
        return
    terminal.show(details_table({"rows": f"{n_rows:.0f}", "log-density per row": f"{mean:.6f}"} | shown(figures)))


def appended(part: Table, written: Columns) -> Columns:
    """All columns of the table, then the new ones under names that are free."""
    assert part.cells is not None  # every format that is read whole has them
    cells = part.cells()[part.row_numbers()]
    columns: Columns = {name: cells[name] for name in cells.columns}
    for name, values in written.items():
        free, count = name, 2
        while free in columns:
            free, count = f"{name}_{count}", count + 1
        columns[free] = values
    return columns


def _write_parts(
    terminal: Terminal,
    what: str,
    out: str | None,
    table: Data,
    family: ExponentialFamily,
    make: Callable[[Table], Columns],
) -> None:
    """Makes columns of each part of the table, and writes them if they are to go anywhere."""
    from ..io.table import Table
    from ..io.writing import write_batches, write_table

    if isinstance(table, Table):
        with terminal.working(what):
            columns = make(_legal(table, family))
        if out is not None:
            write_table(out, columns)
        return
    # A bar among the lines of a table on a terminal helps nobody.
    with nullcontext(_say_nothing) if out == "-" else terminal.working(what) as report:
        batches = (make(_legal(part, family)) for part in _reported_parts(table, report))
        if out is None:
            deque(batches, maxlen=0)
        else:
            write_batches(out, batches)
    report_dropped(terminal, table)


def _legal(part: Table, family: ExponentialFamily) -> Table:
    try:
        family.check(part.rows, list(part.columns), missing=True)
    except ValueError as error:
        raise ValueError(in_words_of(part, family, error)) from None
    return part


def _reported_parts(stream: TableStream, report: Teller) -> Iterator[Table]:
    """The parts, and how far they have come told next to the bar."""
    seen = 0
    for part in stream.parts():
        yield part
        seen += len(part)
        report(counted(seen, "row"))


def _say_nothing(text: str) -> None:
    pass


def model_and_table(terminal: Terminal, model: str, asked: Asked, stream: bool) -> tuple[Model, Data]:
    """The model, and rows it can take; columns are those it was learned from unless others are named."""
    from ..io.models import read_model

    content = read_model(model)
    named = None if content.columns is None else list(content.columns)
    levels = content.categories
    table: Data
    if stream:
        table = open_table(terminal, asked, columns=named, levels=levels)
    else:
        table = read(terminal, asked, columns=named, levels=levels)
    needed, given = content.mixture.family.n_features or 1, len(table.columns)
    if given != needed:
        raise ValueError(
            f"{model} has {counted(needed, 'column')}, {asked.path} has {given}: select them with --columns"
        )
    return content, table
