"""`kmle fit`."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import FAILED, Command, app, examples
from .learning import Outcome, Wish, learn, read, settled_family
from .terminal import Terminal, printable

if TYPE_CHECKING:
    from ..families import ExponentialFamily
    from ..io import Table

# Standard errors are worked out for up to this many parameters, and so many rows times parameters.
MOST_PARAMETERS = 500
MOST_SCORES = 10_000_000

K = Annotated[
    int | None,
    typer.Option(
        "-k", "--components", min=1, help="How many components; selected by BIC when left out.", show_default=False
    ),
]


@app.command(
    cls=Command,
    epilog=examples(
        "kmle fit data.csv -k 3",
        "kmle fit data.csv -k 3 --family gamma --columns duration --out model.json --labels labels.csv",
        "kmle fit data.parquet -k 8 --algorithm em --plot fit.png --report report.html",
        "cat data.csv | kmle fit - -k 2 --json",
    ),
)
def fit(
    data: o.Data,
    k: K = None,
    family: o.Family = None,
    columns: o.Columns = None,
    weights: o.Weights = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    algorithm: o.Algorithm = None,
    init: o.Init = None,
    prior: o.Prior = 1e-3,
    restarts: o.Restarts = 1,
    max_iter: o.MaxIter = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    out: o.ModelOut = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Write each row's component here.", rich_help_panel=o.OUTPUT),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="PICTURE", help="Draw the fit here (PNG, SVG, PDF).", rich_help_panel=o.OUTPUT)
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="PAGE.html", help="Write a report here.", rich_help_panel=o.OUTPUT)
    ] = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Learn a mixture from a table and print its components."""
    terminal = Terminal(quiet, verbose)
    _check_outputs(out, labels, plot, report)
    table = read(terminal, data, o.split_columns(columns), weights, ignore_text, drop_missing, selects=k is None)
    wish = Wish(algorithm, init, prior, restarts, max_iter, seed, jobs, scikit_learn=report is not None)
    chosen = settled_family(terminal, family, table)
    outcome = _selected(terminal, table, chosen, wish, out) if k is None else learn(terminal, table, chosen, k, wish)
    _write(outcome, table, out, labels)
    if outcome.interrupted:
        kept = f"it is in {out}" if out else "--out would have kept it"
        terminal.note(f"stopped by Ctrl-C before the end: this is the best model so far, and {kept}")
    _draw(outcome, table, plot, report, seed)
    _show(terminal, outcome, table, json)
    for path in filter(None, (out, labels, plot, report)):
        terminal.note(f"wrote {path}")
    if outcome.interrupted:
        raise typer.Exit(FAILED)


def _check_outputs(out: str | None, labels: str | None, plot: str | None, report: str | None) -> None:
    """Everything that can be known to go wrong with the outputs is said before any work."""
    from ..io.formats import check_output, output_kind

    for path in (out, labels, plot, report):
        check_output(path)
    if labels is not None:
        output_kind(labels)
    for path in (plot, report):
        if path == "-":
            raise ValueError("pictures and reports do not go to standard output: give the name of a file")


def _selected(terminal: Terminal, table: Table, family: ExponentialFamily, wish: Wish, out: str | None) -> Outcome:
    """The best number of components by BIC, and its fit."""
    from .select import MOST_COMPONENTS, choose

    tried = range(1, MOST_COMPONENTS + 1)
    _, outcome = choose(terminal, table, [family], tried, "bic", wish, out)
    k, most = outcome.estimator.mixture_.n_components, min(MOST_COMPONENTS, len(table))
    terminal.note(f"k: {k}, the best from 1 to {most} by BIC (-k chooses another)")
    return outcome


def about(outcome: Outcome, table: Table) -> dict[str, Any]:
    """How a model came about, for its file."""
    from .. import __version__
    from .figures import fit_figures

    seed = outcome.estimator.random_state
    return {"kmle": __version__, "data": table.source, "rows": len(table), "seed": seed} | fit_figures(outcome)


def _write(outcome: Outcome, table: Table, out: str | None, labels: str | None) -> None:
    from ..io.models import write_model

    if out is not None:
        write_model(out, outcome.estimator.mixture_, table.columns, about(outcome, table))
    if labels is not None:
        from ..io.writing import write_table

        write_table(labels, {"label": outcome.estimator.labels_})


def _draw(outcome: Outcome, table: Table, plot: str | None, report: str | None, seed: int) -> None:
    if plot is not None:
        draw(outcome, table, plot)
    if report is not None:
        from ..report import write_report

        command = shlex.join(["kmle", *sys.argv[1:]])
        columns = list(table.columns)
        weights = table.weights
        write_report(report, outcome.estimator, table.rows, columns, sample_weight=weights, command=command, seed=seed)


def draw(outcome: Outcome, table: Table, path: str) -> None:
    """The fit as a picture."""
    import matplotlib
    import numpy as np

    matplotlib.use("agg")
    from ..plotting import plot_fit

    axes = plot_fit(outcome.estimator.fit_, table.rows, columns=list(table.columns))
    figure = np.ravel(np.asarray(axes, dtype=object))[0].figure
    try:
        figure.savefig(path, dpi=150, bbox_inches="tight")
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {(error.strerror or str(error)).lower()}") from None


def standard_errors_of(terminal: Terminal, outcome: Outcome, table: Table) -> Any:
    """Standard errors of the weights and parameters, where they can be had in a moment; None where not."""
    free = outcome.estimator.mixture_.n_parameters
    if free > MOST_PARAMETERS or free * len(table) > MOST_SCORES:
        return None
    from ..inspection import standard_errors

    try:
        method = "complete" if outcome.hard else "observed"
        return standard_errors(outcome.estimator, table.rows, table.weights, method)
    except ValueError as error:
        # Parameters on the edge, or components the rows do not tell apart, have no standard errors.
        terminal.detail(f"no standard errors: {error}")
        return None


def _show(terminal: Terminal, outcome: Outcome, table: Table, as_json: bool) -> None:
    from ..io.models import model_dict
    from .sheets import plain

    told = about(outcome, table)
    if as_json:
        mixture = outcome.estimator.mixture_
        shown = {"source": plain(mixture.source), "sizes": outcome.sizes().tolist()}
        terminal.write_json(model_dict(mixture, table.columns, told) | shown)
        return
    show_fit(terminal, outcome, table, told)


def show_fit(terminal: Terminal, outcome: Outcome, table: Table, told: dict[str, Any]) -> None:
    """The components and the figures of a fit, as tables."""
    from .figures import fit_facts
    from .naming import words_from_family
    from .sheets import facts_table, left_out, widest_table

    mixture = outcome.estimator.mixture_
    named = ", ".join(table.columns[:6]) + (", ..." if len(table.columns) > 6 else "")
    plural = "component" if mixture.n_components == 1 else "components"
    title = (
        f"{mixture.n_components} {words_from_family(mixture.family)} {plural}, {len(table)} rows of {printable(named)}"
    )
    errors = standard_errors_of(terminal, outcome, table)
    sheet = widest_table(terminal.out, mixture, table.columns, outcome.sizes(), errors)
    terminal.show(title, "", sheet, "", facts_table(fit_facts(told)))
    for note in [*outcome.estimator.notes_, left_out(mixture)]:
        if note:
            terminal.note(f"note: {note}")
