"""`kmle fit`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import FAILED, Command, app, examples
from .learning import Outcome, Wish, learn, read, settled_family
from .pages import Title, write_fit_report
from .streaming import check_streamed, open_table
from .terminal import Terminal, printable

if TYPE_CHECKING:
    from ..families import ExponentialFamily
    from ..io import Table
    from .learning import Data

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
        "kmle fit huge.parquet --stream -k 8 --out model.json --checkpoint state.npz",
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
    stream: o.Stream = False,
    algorithm: o.Algorithm = None,
    init: o.Init = None,
    prior: o.Prior = 1e-3,
    resolution: o.Resolution = "auto",
    restarts: o.Restarts = "auto",
    max_iter: o.MaxIter = None,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    checkpoint: o.Checkpoint = None,
    resume: o.Resume = False,
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
    title: Title = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Learn a mixture from a table and print its components."""
    terminal = Terminal(quiet, verbose)
    n_init, steps = o.n_init_of(restarts), o.resolution_of(resolution)
    _check_outputs(out, labels, plot, report, checkpoint)
    _check_checkpoint(k, checkpoint, resume)
    table: Data
    if stream:
        check_streamed(k, algorithm, labels, plot, report, checkpoint)
        table = open_table(terminal, data, o.split_columns(columns), weights, ignore_text, drop_missing)
    else:
        table = read(terminal, data, o.split_columns(columns), weights, ignore_text, drop_missing, selects=k is None)
    plain = report is None
    wish = Wish(
        algorithm,
        init,
        prior,
        n_init,
        max_iter,
        seed,
        jobs,
        checkpoint,
        resume,
        scikit_learn=not plain,
        resolution=steps,
    )
    chosen = settled_family(terminal, family, table)
    outcome = _selected(terminal, table, chosen, wish, out) if k is None else learn(terminal, table, chosen, k, wish)
    _write(terminal, outcome, table, out, labels)
    if outcome.interrupted:
        kept = f"it is in {out}" if out else "--out would have kept it"
        terminal.note(f"stopped by Ctrl-C before the end: this is the best model so far, and {kept}")
    _draw(outcome, table, plot, report, seed, title)
    _show(terminal, outcome, table, json)
    for path in filter(None, (out, labels, plot, report)):
        terminal.note(f"wrote {path}")
    if outcome.interrupted:
        raise typer.Exit(FAILED)


def _check_outputs(
    out: str | None, labels: str | None, plot: str | None, report: str | None, checkpoint: str | None
) -> None:
    """Everything that can be known to go wrong with the outputs is said before any work."""
    from ..io.formats import check_output, output_kind

    for path in (out, labels, plot, report, checkpoint):
        check_output(path)
    if labels is not None:
        output_kind(labels)
    for path in (plot, report, checkpoint):
        if path == "-":
            raise ValueError("pictures, reports and checkpoints do not go to standard output: give the name of a file")


def _check_checkpoint(k: int | None, checkpoint: str | None, resume: bool) -> None:
    if resume and checkpoint is None:
        raise ValueError("--resume needs --checkpoint: name the file that an earlier fit kept its state in")
    if checkpoint is not None and k is None:
        raise ValueError("--checkpoint needs -k: it keeps the state of one fit, selecting k makes many")


def _selected(terminal: Terminal, table: Data, family: ExponentialFamily, wish: Wish, out: str | None) -> Outcome:
    """The best number of components by BIC, and its fit."""
    from ..io.table import Table
    from .select import MOST_COMPONENTS, choose

    assert isinstance(table, Table)  # a stream comes with k
    tried = range(1, MOST_COMPONENTS + 1)
    _, outcome = choose(terminal, table, [family], tried, "bic", wish, out)
    k, most = outcome.estimator.mixture_.n_components, min(MOST_COMPONENTS, len(table))
    terminal.note(f"k: {k}, the best from 1 to {most} by BIC (-k chooses another)")
    return outcome


def about(outcome: Outcome, table: Data) -> dict[str, Any]:
    """How a model came about, for its file."""
    from .. import __version__
    from .figures import fit_figures

    seed = outcome.estimator.random_state
    return {"kmle": __version__, "data": table.source, "rows": outcome.n_rows, "seed": seed} | fit_figures(outcome)


def _write(terminal: Terminal, outcome: Outcome, table: Data, out: str | None, labels: str | None) -> None:
    from ..io.models import write_model

    if out is not None:
        write_model(out, outcome.estimator.mixture_, table.columns, about(outcome, table))
    if labels is not None:
        _write_labels(terminal, outcome, table, labels)


def _write_labels(terminal: Terminal, outcome: Outcome, table: Data, path: str) -> None:
    from ..io.writing import write_batches, write_table

    if len(outcome.estimator.labels_) == outcome.n_rows:
        write_table(path, {"label": outcome.estimator.labels_})
        return
    with terminal.working("labelling the rows"):
        predict = outcome.estimator.mixture_.predict
        write_batches(path, ({"label": predict(part.rows).astype("int32")} for part in table.parts()))


def _draw(outcome: Outcome, table: Data, plot: str | None, report: str | None, seed: int, title: str | None) -> None:
    from ..io.table import Table

    if plot is None and report is None:
        return
    assert isinstance(table, Table)  # refused with a stream
    if plot is not None:
        draw(outcome, table, plot)
    if report is not None:
        write_fit_report(report, outcome, table, seed, title)


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


def standard_errors_of(terminal: Terminal, outcome: Outcome, table: Data) -> Any:
    """Standard errors of the weights and parameters, where they can be had in a moment; None where not."""
    from ..io.table import Table

    free = outcome.estimator.mixture_.n_parameters
    if not isinstance(table, Table):
        terminal.detail("no standard errors: they need the data in memory")
        return None
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


def _show(terminal: Terminal, outcome: Outcome, table: Data, as_json: bool) -> None:
    from ..io.models import model_dict
    from .sheets import plain

    told = about(outcome, table)
    if as_json:
        mixture = outcome.estimator.mixture_
        sizes = outcome.sizes()
        shown = {"source": plain(mixture.source), "sizes": None if sizes is None else sizes.tolist()}
        terminal.write_json(model_dict(mixture, table.columns, told) | shown)
        return
    show_fit(terminal, outcome, table, told)


def show_fit(
    terminal: Terminal, outcome: Outcome, table: Data, told: dict[str, Any], notes_shown: Sequence[str] = ()
) -> None:
    """The components and the figures of a fit, as tables; then its notes, but for those shown before."""
    from .figures import fit_facts, named_columns
    from .naming import words_from_family
    from .sheets import facts_table, left_out, widest_table

    mixture = outcome.estimator.mixture_
    named = ", ".join(table.columns[:6]) + (", ..." if len(table.columns) > 6 else "")
    plural = "component" if mixture.n_components == 1 else "components"
    family = words_from_family(mixture.family)
    title = f"{mixture.n_components} {family} {plural}, {outcome.n_rows} rows of {printable(named)}"
    errors = standard_errors_of(terminal, outcome, table)
    sheet = widest_table(terminal.out, mixture, table.columns, outcome.sizes(), errors)
    terminal.show(title, "", sheet, "", facts_table(fit_facts(told)))
    for note in [*named_columns(outcome.estimator.notes_, table.columns), left_out(mixture)]:
        if note and note not in notes_shown:
            terminal.note(f"note: {note}")
