"""`kmle impute`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from . import tasks as t
from .app import Command, app, examples
from .naming import names_categorical
from .tables import Asked, counted, read
from .terminal import Terminal

if TYPE_CHECKING:
    from ..io import Table
    from ..mixture import Mixture
    from ..numerics.arrays import Array


@app.command(
    cls=Command,
    epilog=examples(
        "kmle impute air.csv --out complete.csv",
        "kmle impute air.csv --append --out complete.csv",
        "kmle impute air.csv --sample --seed 7 --out draw7.csv",
        "kmle impute air.csv --save air.json && kmle impute today.csv --model air.json --out complete.csv",
    ),
)
def impute(
    data: o.Data,
    new: t.New = None,
    model: t.ModelIn = None,
    k: t.K = None,
    family: o.Family = None,
    columns: o.Columns = None,
    weights: o.Weights = None,
    ignore_text: o.IgnoreText = False,
    categorical: o.Categorical = None,
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    sample: Annotated[
        bool,
        typer.Option(
            "--sample", help="Draw values, for multiple imputation, instead of expected ones.", rich_help_panel=o.OUTPUT
        ),
    ] = False,
    out: t.Out = None,
    append: Annotated[
        bool,
        typer.Option(
            "--append",
            help="With --out: write all columns, not only the used ones.",
            rich_help_panel=o.OUTPUT,
        ),
    ] = False,
    save: t.Save = None,
    force: o.Force = False,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Fill in missing values by a mixture, given the other values of each row."""
    asked = Asked(
        data,
        columns,
        weights,
        ignore_text,
        False,
        categorical,
        header,
        separator,
        encoding,
        thousands,
        code_text=names_categorical(family),
    )
    task = t.Task(Terminal(quiet), asked, new, model, save, out, append, json)
    task.check(force)
    if model is not None:
        content = task.content()
        table = task.rows_for(content, None if content.columns is None else list(content.columns))
        _finish(task, table, content.mixture, sample, seed)
        return
    rows = read(task.terminal, asked, leaves_out=True)
    own = task.family(family, rows)
    from ..estimators import MixtureImputer

    imputer = MixtureImputer("auto" if k is None else k, family=own, n_jobs=jobs, random_state=seed)
    fitted = task.learned("learning", rows, own, lambda: imputer.fit(rows.rows, sample_weight=rows.weights))
    task.say(fitted.notes_, rows.columns)
    task.saved(fitted.mixture_, rows, list(rows.columns), {})
    _finish(task, task.others(rows), fitted.mixture_, sample, seed)


def _finish(task: t.Task, table: Table, mixture: Mixture, sample: bool, seed: int) -> None:
    """Writes the completed table and shows what was missing."""
    import numpy as np

    hole = np.isnan(table.rows)
    filled = task.learned("imputing", table, mixture.family, lambda: mixture.impute(table.rows, sample, seed))
    named = {name: _named(filled[:, place], name, table) for place, name in enumerate(table.columns)}
    if task.out is not None:
        task.write(table, _with_others(table, named) if task.append else named, in_place=True)
    each = {name: int(hole[:, place].sum()) for place, name in enumerate(table.columns)}
    figures = {
        "rows": len(table),
        "missing": int(hole.sum()),
        "incomplete_rows": int(hole.any(axis=1).sum()),
        "missing_by_column": each,
        "components": mixture.n_components,
        "family": mixture.family.name,
    }
    task.show(figures, *_tables(table, figures, filled))


def _named(column: Array, name: str, table: Table) -> Any:
    """Codes of categories by their names."""
    import numpy as np

    levels = table.categories.get(name)
    return column if levels is None else np.array(levels)[column.astype(int)]


def _with_others(table: Table, named: t.Columns) -> t.Columns:
    """All columns of the table in their order, those that were completed in their place."""
    assert table.cells is not None  # every format that is read whole has them
    cells = table.cells()[table.row_numbers()]
    return {name: named.get(name, cells[name]) for name in cells.columns}


def _tables(table: Table, figures: dict[str, Any], filled: Array) -> list[Any]:
    from rich import box
    from rich.table import Table as Sheet

    from ..presentation.cells import number
    from .sheets import details_table
    from .terminal import printable

    rows = {
        "rows": str(figures["rows"]),
        "missing": f"{counted(figures['missing'], 'value')} in {counted(figures['incomplete_rows'], 'row')}",
        "model": f"{figures['components']} {figures['family']}",
    }
    found = {name: count for name, count in figures["missing_by_column"].items() if count}
    if not found:
        return [details_table(rows)]
    sheet = Sheet(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    sheet.add_column("column")
    for heading in ("missing", "mean of known", "mean of imputed"):
        sheet.add_column(heading, justify="right")
    for name, count in found.items():
        place = table.columns.index(name)
        known, imputed = _means(table.rows[:, place], filled[:, place])
        shown = ["", ""] if name in table.categories else [number(known), number(imputed)]
        sheet.add_row(printable(name), str(count), *shown)
    return [sheet, "", details_table(rows)]


def _means(before: Array, after: Array) -> tuple[float, float]:
    import numpy as np

    hole = np.isnan(before)
    known = float(before[~hole].mean()) if not hole.all() else float("nan")
    return known, float(after[hole].mean())
