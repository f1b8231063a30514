"""Commands on a model and data: `predict` and `score`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import Command, app, examples
from .learning import in_words_of, read
from .terminal import Terminal

if TYPE_CHECKING:
    from ..io import Model, Table


@app.command(
    cls=Command,
    epilog=examples(
        "kmle predict model.json data.csv --out labels.csv",
        "kmle predict model.json data.csv --probabilities",
        "cat data.csv | kmle predict model.json -",
    ),
)
def predict(
    model: o.ModelPath,
    data: o.Data,
    columns: o.Columns = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", "-p", help="Add the probability of every component.")
    ] = False,
    out: o.TableOut = "-",
    quiet: o.Quiet = False,
) -> None:
    """The most probable component of each row."""
    from ..io.formats import check_output, output_kind
    from ..io.writing import write_table

    terminal = Terminal(quiet)
    check_output(out)
    output_kind(out)
    content, table = _both(terminal, model, data, columns, ignore_text, drop_missing)
    mixture = content.mixture
    with terminal.working("predicting"):
        written: dict[str, Any] = {"label": mixture.predict(table.rows)}
        if probabilities:
            posterior = mixture.posterior(table.rows)
            written |= {f"probability_{j}": posterior[:, j] for j in range(mixture.n_components)}
    write_table(out, written)


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
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="TABLE", help="Write each row's log-density here."),
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """How likely a model finds data."""
    from ..io.formats import check_output, output_kind
    from ..learning.criteria import Criteria
    from .figures import merits, shown
    from .sheets import facts_table

    terminal = Terminal(quiet)
    check_output(out)
    if out is not None:
        output_kind(out)
    content, table = _both(terminal, model, data, columns, ignore_text, drop_missing)
    mixture = content.mixture
    with terminal.working("scoring"):
        densities = mixture.log_density(table.rows)
        complete = mixture.complete_log_likelihood(table.rows)
    if out is not None:
        from ..io.writing import write_table

        write_table(out, {"log_density": densities})
    figures = merits(Criteria(float(densities.sum()), complete, mixture.n_parameters, len(table)))
    mean = float(densities.mean())
    if json:
        terminal.write_json({"rows": len(table), "mean_log_density": mean} | figures)
        return
    terminal.show(facts_table({"rows": str(len(table)), "log-density a row": f"{mean:.6f}"} | shown(figures)))


def _both(
    terminal: Terminal, model: str, data: str, columns: str | None, ignore_text: bool, drop_missing: bool
) -> tuple[Model, Table]:
    """The model, and rows it can take; columns are those it was learned from unless others are named."""
    from ..io.models import read_model

    content = read_model(model)
    named = o.split_columns(columns) or (None if content.columns is None else list(content.columns))
    table = read(terminal, data, named, None, ignore_text, drop_missing)
    family = content.mixture.family
    if len(table.columns) != family.n_features:
        raise ValueError(
            f"{model} has {family.n_features} columns, {data} gives {len(table.columns)}: choose them with --columns"
        )
    try:
        family.check(table.rows, list(table.columns))
    except ValueError as error:
        raise ValueError(in_words_of(table, family, error)) from None
    return content, table
