"""`kmle select`: how many components, and which family."""

from __future__ import annotations

import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import Command, app, examples
from .learning import Outcome, Wish, in_words_of, read, settled_family
from .naming import family_from_words
from .terminal import Terminal

if TYPE_CHECKING:
    from ..families import ExponentialFamily
    from ..io import Table


class CriterionName(StrEnum):
    """What decides; lower is better."""

    AIC = "aic"
    AICC = "aicc"
    BIC = "bic"
    ICL = "icl"


@app.command(
    cls=Command,
    epilog=examples(
        "kmle select data.csv",
        "kmle select data.csv -k 1-20 --families gamma,log-normal,gaussian --criterion icl",
        "kmle select data.csv --out best.json --table candidates.csv",
    ),
)
def select(
    data: o.Data,
    k: Annotated[str, typer.Option("-k", metavar="1-10", help="Numbers of components: 1-10, or 2,4,8.")] = "1-10",
    families: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Families to compare; guessed from the columns by default."),
    ] = None,
    criterion: Annotated[CriterionName, typer.Option(help="What decides; lower is better.")] = CriterionName.BIC,
    columns: o.Columns = None,
    weights: o.Weights = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    algorithm: o.Algorithm = o.AlgorithmName.EM,
    seed: o.Seed = 0,
    out: o.ModelOut = None,
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Write all candidates here.", rich_help_panel=o.OUTPUT)
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Compare numbers of components, and families, by a criterion."""
    from ..io.formats import check_output, output_kind

    terminal = Terminal(quiet, verbose)
    numbers = _numbers(k)
    check_output(out)
    check_output(table)
    if table is not None:
        output_kind(table)
    rows = read(terminal, data, o.split_columns(columns), weights, ignore_text, drop_missing)
    kinds = (
        [settled_family(terminal, None, rows)]
        if families is None
        else [family_from_words(words.strip()) for words in families.split(",")]
    )
    selection, outcome = choose(terminal, rows, kinds, numbers, str(criterion), Wish(algorithm, seed=seed))
    _report(terminal, selection, outcome, rows, out, table, json)


def _numbers(text: str) -> list[int]:
    """1-10 or 2,4,8 as numbers."""
    try:
        first, dash, last = text.partition("-")
        numbers = list(range(int(first), int(last) + 1)) if dash else [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ValueError(f"-k {text} is no list of numbers of components: write 1-10, or 2,4,8")
    return numbers


def choose(
    terminal: Terminal,
    table: Table,
    families: list[ExponentialFamily],
    numbers: list[int] | None,
    criterion: str,
    wish: Wish,
) -> tuple[Any, Outcome]:
    """All candidates, and the best of them as a fit."""
    from .. import select as compare

    most = min(10, len(table))
    began = time.perf_counter()
    with terminal.working("comparing candidates"):
        try:
            selection = compare(
                table.rows,
                families=families,
                n_components=range(1, most + 1) if numbers is None else numbers,
                criterion=criterion,
                algorithm=str(wish.algorithm),
                sample_weight=table.weights,
                random_state=wish.seed,
            )
        except ValueError as error:
            raise ValueError(in_words_of(table, families[0], error)) from None
    return selection, Outcome(selection.best_estimator, time.perf_counter() - began)


def _report(
    terminal: Terminal, selection: Any, outcome: Outcome, table: Table, out: str | None, path: str | None, as_json: bool
) -> None:
    from ..io.models import model_dict, write_model
    from .fit import about, show_fit

    told = about(outcome, table)
    mixture = outcome.estimator.mixture_
    if path is not None:
        from ..io.writing import write_table

        frame = selection.to_frame()
        write_table(path, {str(name): frame[name].to_numpy() for name in frame.columns})
    if out is not None:
        write_model(out, mixture, table.columns, told)
    if as_json:
        terminal.write_json(model_dict(mixture, table.columns, told))
    else:
        terminal.show(str(selection), "")
        show_fit(terminal, outcome, table, told)
    for written in filter(None, (out, path)):
        terminal.note(f"wrote {written}")
