"""`kmle select`: how many components, and which family."""

from __future__ import annotations

import time
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import FAILED, Command, app, examples
from .learning import Outcome, Wish, in_words_of, read, settled_family
from .naming import family_from_words
from .pages import Title, write_fit_report
from .terminal import Terminal

if TYPE_CHECKING:
    from ..families import ExponentialFamily
    from ..io import Table


# A fit without -k tries up to this many components.
MOST_COMPONENTS = 10


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
    algorithm: o.Algorithm = None,
    prior: o.Prior = 1e-3,
    resolution: o.Resolution = "auto",
    restarts: o.Restarts = "auto",
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    out: o.ModelOut = None,
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Write all candidates here.", rich_help_panel=o.OUTPUT)
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="PAGE.html", help="Write a report on the best here.", rich_help_panel=o.OUTPUT)
    ] = None,
    title: Title = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Compare numbers of components, and families, by a criterion."""
    from ..io.formats import check_output, output_kind

    terminal = Terminal(quiet, verbose)
    numbers, n_init = _numbers(k), o.n_init_of(restarts)
    check_output(out)
    check_output(table)
    check_output(report)
    if table is not None:
        output_kind(table)
    rows = read(terminal, data, o.split_columns(columns), weights, ignore_text, drop_missing, selects=True)
    kinds = (
        [settled_family(terminal, None, rows)]
        if families is None
        else [family_from_words(words.strip()) for words in families.split(",")]
    )
    steps = o.resolution_of(resolution)
    wish = Wish(algorithm, prior=prior, restarts=n_init, seed=seed, jobs=jobs, resolution=steps)
    selection, outcome = choose(terminal, rows, kinds, numbers, str(criterion), wish, out)
    if report is not None:
        write_fit_report(report, outcome, rows, seed, title)
    _report(terminal, selection, outcome, rows, out, table, json)
    if report is not None:
        terminal.note(f"wrote {report}")


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
    numbers: Sequence[int],
    criterion: str,
    wish: Wish,
    out: str | None,
) -> tuple[Any, Outcome]:
    """All candidates, and the best of them as a fit. Ctrl-C keeps the best so far if there is a file for it."""
    from .. import select as compare

    found: list[Any] = []
    began = time.perf_counter()
    with terminal.working("comparing candidates") as tell:

        def progress(done: int, total: int, candidate: Any) -> None:
            told = f"{candidate.name}, k = {candidate.n_components}: {criterion} {candidate.value(criterion):.2f}"
            tell(f"{done} of {total}: {told}")
            terminal.detail(told)
            found.append(candidate)

        try:
            selection = compare(
                table.rows,
                families,
                numbers,
                criterion,
                algorithm=None if wish.algorithm is None else str(wish.algorithm),
                n_init=wish.restarts,
                sample_weight=table.weights,
                prior_strength=wish.prior,
                resolution=wish.resolution,
                n_jobs=wish.jobs,
                random_state=wish.seed,
                progress=progress,
            )
        except ValueError as error:
            raise ValueError(in_words_of(table, families[0], error)) from None
        except KeyboardInterrupt:
            if out is None or not found:
                raise
            _keep(terminal, min(found, key=lambda candidate: candidate.value(criterion)), table, out)
            raise typer.Exit(FAILED) from None
    return selection, Outcome(selection.best_estimator, time.perf_counter() - began, len(table), selection=selection)


def _keep(terminal: Terminal, candidate: Any, table: Table, out: str) -> None:
    from ..io.models import write_model

    write_model(out, candidate.fit.mixture, table.columns, {"data": table.source, "rows": len(table)})
    best = f"{candidate.name} with k = {candidate.n_components}"
    terminal.note(f"stopped by Ctrl-C before the end: the best candidate so far, {best}, is in {out}")


def _report(
    terminal: Terminal, selection: Any, outcome: Outcome, table: Table, out: str | None, path: str | None, as_json: bool
) -> None:
    from ..io.models import model_dict, write_model
    from .fit import about, show_fit

    told = about(outcome, table)
    mixture = outcome.estimator.mixture_
    if path is not None:
        from ..io.writing import write_table

        write_table(path, _candidates(selection))
    if out is not None:
        write_model(out, mixture, table.columns, told)
    if as_json:
        terminal.write_json(model_dict(mixture, table.columns, told))
    else:
        terminal.show(str(selection), "")
        show_fit(terminal, outcome, table, told, selection.notes)
    for written in filter(None, (out, path)):
        terminal.note(f"wrote {written}")


def _candidates(selection: Any) -> dict[str, Any]:
    """The fitted candidates as columns."""
    import numpy as np

    fitted = [candidate for candidate in selection.candidates if candidate.fit is not None]
    columns: dict[str, Any] = {
        "family": np.array([candidate.name for candidate in fitted]),
        "n_components": np.array([candidate.n_components for candidate in fitted]),
        "n_parameters": np.array([candidate.criteria.n_parameters for candidate in fitted]),
        "log_likelihood": np.array([candidate.criteria.log_likelihood for candidate in fitted]),
    }
    return columns | {str(name): np.array([candidate.value(name) for candidate in fitted]) for name in CriterionName}
