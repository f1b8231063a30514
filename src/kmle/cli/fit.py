"""`kmle fit`."""

from __future__ import annotations

from collections.abc import Sequence
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import FAILED, Command, app, examples
from .knowing import Knowing, Known
from .learning import FitOptions, Outcome, learn, resolved_family, with_number
from .naming import names_categorical
from .outputs import PLOT_FORMATS, check_checkpoint, check_files, check_table_output, page_name, plot_name
from .pages import Title, write_fit_report
from .streaming import check_streamed
from .tables import LEARNING, SELECTING, Asked, counted, open_table, read, with_groups
from .terminal import Terminal, printable

if TYPE_CHECKING:
    from ..families import ExponentialFamily
    from ..io import Table
    from .learning import Data

# Standard errors are computed for up to MOST_PARAMETERS parameters, and MOST_SCORES rows times parameters.
MOST_PARAMETERS = 500
MOST_SCORES = 10_000_000

K = Annotated[
    int | None,
    typer.Option(
        "-k", "--components", min=1, help="Number of components; by default selected from 1 to 10.", show_default=False
    ),
]


@app.command(
    cls=Command,
    epilog=examples(
        "kmle fit data.csv -k 3",
        "kmle fit data.csv -k 3 --family gamma --columns duration --out model.json --labels labels.csv",
        "kmle fit data.parquet -k 8 --hard --plot fit.png --report report.html",
        "cat data.csv | kmle fit - -k 2 --json",
        "kmle fit huge.parquet --stream -k 8 --out model.json --checkpoint state.npz",
    ),
)
def fit(
    data: o.Data,
    k: K = None,
    family: o.Family = None,
    noise: o.Noise = False,
    columns: o.Columns = None,
    weights: o.Weights = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    categorical: o.Categorical = None,
    event: o.Event = None,
    upper: o.Upper = None,
    labels_from: o.LabelsFrom = None,
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    stream: o.Stream = False,
    hard: o.Hard = False,
    algorithm: o.Algorithm = None,
    init: o.Init = None,
    prior: o.Prior = 1e-3,
    resolution: o.Resolution = "auto",
    restarts: o.Restarts = "auto",
    max_iter: o.MaxIter = None,
    criterion: o.Criterion = o.CriterionName.BIC,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    checkpoint: o.Checkpoint = None,
    resume: o.Resume = False,
    out: o.ModelOut = None,
    labels: Annotated[
        str | None,
        typer.Option(metavar="TABLE", help="Write the component of each row to this file.", rich_help_panel=o.OUTPUT),
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="PLOT", help="Write a plot of the fit to this file (PNG, SVG, PDF).", rich_help_panel=o.OUTPUT
        ),
    ] = None,
    report: Annotated[
        str | None, typer.Option(metavar="PAGE.html", help="Write a report to this file.", rich_help_panel=o.OUTPUT)
    ] = None,
    title: Title = None,
    force: o.Force = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Fit a mixture to a table and print its components."""
    terminal = Terminal(quiet, verbose)
    n_init, steps, how = o.n_init_of(restarts), o.resolution_of(resolution), o.algorithm_of(algorithm, hard)
    plot, report = plot_name(plot), page_name(report)
    files = {"--out": out, "--labels": labels, "--plot": plot, "--report": report}
    check_table_output(labels)
    check_files(files, [data], force)
    _check_checkpoint(k, checkpoint, resume)
    check_checkpoint(checkpoint, [data, *files.values()], resume, force)
    asked = Asked(
        data,
        columns,
        weights,
        ignore_text,
        drop_missing,
        categorical,
        header,
        separator,
        encoding,
        thousands,
        code_text=names_categorical(family),
    )
    knowing, known = Knowing(event, upper, labels_from), Known()
    if knowing:
        knowing.check(asked, stream)
        asked = knowing.asked(asked)
    table: Data
    if stream:
        check_streamed(k, how, labels, plot, report, checkpoint)
        table = open_table(terminal, asked, leaves_out=True)
    else:
        table = read(terminal, asked, loading=SELECTING if k is None else LEARNING, leaves_out=True)
        if knowing:
            table, known = knowing.split(table)
            k = known.n_classes if k is None and known.labels is not None else k
        if family is None and event is None and upper is None:
            table = with_groups(terminal, table)
    options = FitOptions(
        how,
        init,
        prior,
        n_init,
        max_iter,
        seed,
        jobs,
        None if checkpoint is None else realpath(checkpoint),
        resume,
        resolution=steps,
    )
    chosen, k = with_number(resolved_family(terminal, family, table), family, k, noise)
    if k is None:
        outcome = _selected(terminal, table, chosen, options, str(criterion), family is not None, known)
    else:
        outcome = learn(terminal, table, chosen, k, options, known)
    if known.labels is not None:
        terminal.note(f"classes of the components: {known.class_names(outcome.plan.n_components)}")
    _write(terminal, outcome, table, out, labels, drop_missing)
    if outcome.interrupted:
        kept = f"it is in {out}" if out else "--out saves it"
        terminal.note(f"stopped by Ctrl-C before the end: this is the best model so far, and {kept}")
    _draw(outcome, table, plot, report, seed, title)
    _show(terminal, outcome, table, json)
    for path in filter(None, files.values()):
        terminal.note(f"wrote {path}")
    if outcome.interrupted:
        raise typer.Exit(FAILED)


def _check_checkpoint(k: int | None, checkpoint: str | None, resume: bool) -> None:
    if resume and checkpoint is None:
        raise ValueError("--resume needs --checkpoint: name the file with the state of the earlier fit")
    if checkpoint is not None and k is None:
        raise ValueError("--checkpoint needs -k: it saves the state of one fit, but selecting k runs many")


def _selected(
    terminal: Terminal,
    table: Data,
    family: ExponentialFamily,
    options: FitOptions,
    criterion: str,
    named: bool,
    known: Known,
) -> Outcome:
    """The best number of components by the criterion, and its fit; also the best of families like the one guessed."""
    from ..io.table import Table
    from .select import MOST_COMPONENTS, choose, relatives

    assert isinstance(table, Table)  # a stream comes with k
    tried = range(1, MOST_COMPONENTS + 1)
    families = [family] if named or known.intervals is not None else relatives(family, table, options, criterion)
    selection, outcome = choose(terminal, table, families, tried, criterion, options, only_best=True, known=known)
    k, possible = outcome.plan.n_components, min(MOST_COMPONENTS, len(table))
    most = min(possible, max(own.n_components for own in selection.candidates))
    if len(families) > 1:
        chosen = outcome.mixture.family.full_name
        names = " and ".join(own.full_name for own in families)
        which = names if len(families) == 2 else f"{len(families)} covariance models"
        terminal.note(f"chosen: {chosen}, the best of {which} by {criterion.upper()}")
    left = ", larger ones were not tried" if most < possible and not outcome.interrupted else ""
    details = f"k: {k}, the best from 1 to {most} by {criterion.upper()}{left} (-k sets another)"
    if k == MOST_COMPONENTS:
        details += f"; it is the largest that was tried, `kmle select -k 1-{2 * MOST_COMPONENTS}` tries more"
    terminal.note(details)
    return outcome


def about(outcome: Outcome, table: Data) -> dict[str, Any]:
    """How a model came about, for its file."""
    from .. import __version__
    from .figures import fit_figures

    seed = outcome.plan.random_state
    return {"kmle": __version__, "data": table.source, "rows": outcome.n_rows, "seed": seed} | fit_figures(outcome)


def _write(
    terminal: Terminal, outcome: Outcome, table: Data, out: str | None, labels: str | None, numbered: bool
) -> None:
    from ..io.models import write_model

    if out is not None:
        write_model(out, outcome.mixture, table.columns, about(outcome, table), table.categories)
    if labels is not None:
        _write_labels(terminal, outcome, table, labels, numbered)


def _write_labels(terminal: Terminal, outcome: Outcome, table: Data, path: str, numbered: bool) -> None:
    """A label per row used, with its number in the file where rows may be left out."""
    from ..io.table import Table
    from ..io.writing import write_batches, write_table

    if isinstance(table, Table) and len(outcome.fit.labels) == outcome.n_rows:
        write_table(path, row_column(table, numbered) | {"label": outcome.labels})
        return
    with terminal.working("labelling the rows"):
        predict = outcome.mixture.predict
        parts = (row_column(part, numbered) | {"label": predict(part.rows).astype("int32")} for part in table.parts())
        write_batches(path, parts)


def row_column(part: Table, numbered: bool) -> dict[str, Any]:
    """The numbers of the rows in the file, as a column."""
    return {"row": part.row_numbers()} if numbered else {}


def _draw(outcome: Outcome, table: Data, plot: str | None, report: str | None, seed: int, title: str | None) -> None:
    from ..io.table import Table

    if plot is None and report is None:
        return
    assert isinstance(table, Table)  # refused with a stream
    from ..io.outputs import output_file

    if plot is not None:
        with output_file(plot) as made:
            draw(outcome, table, made)
    if report is not None:
        with output_file(report) as made:
            write_fit_report(made, outcome, table, seed, title)


def draw(outcome: Outcome, table: Table, path: str) -> None:
    """Plots the fit."""
    import matplotlib
    import numpy as np

    matplotlib.use("agg")
    from ..plotting import plot_fit

    axes = plot_fit(outcome.fit, table.rows, columns=list(table.columns))
    figure = np.ravel(np.asarray(axes, dtype=object))[0].figure
    known = Path(path).suffix.lower() in PLOT_FORMATS
    figure.savefig(path, dpi=150, bbox_inches="tight", format=None if known else "png")


def standard_errors_of(terminal: Terminal, outcome: Outcome, table: Data) -> Any:
    """Standard errors of the weights and parameters, where they can be had in a moment; None where not."""
    from ..io.table import Table

    free = outcome.mixture.n_parameters
    if not isinstance(table, Table):
        terminal.detail("no standard errors: they need the data in memory")
        return None
    if free > MOST_PARAMETERS or free * len(table) > MOST_SCORES:
        return None
    from ..inspection import standard_errors

    try:
        method = "complete" if outcome.hard else "observed"
        if outcome.known is not None and outcome.known.intervals is not None:
            intervals: Any = outcome.known.intervals
            return standard_errors(outcome.fit, intervals, table.weights)
        return standard_errors(outcome.fit, table.rows, table.weights, method)
    except ValueError as error:
        # Parameters on the edge, or components the rows do not tell apart, have no standard errors.
        terminal.detail(f"no standard errors: {error}")
        return None


def _show(terminal: Terminal, outcome: Outcome, table: Data, as_json: bool) -> None:
    details = about(outcome, table)
    if as_json:
        terminal.write_json(fit_dict(terminal, outcome, table, details))
        return
    show_fit(terminal, outcome, table, details)


def fit_dict(terminal: Terminal, outcome: Outcome, table: Data, details: dict[str, Any]) -> dict[str, Any]:
    """The model file's content and all that the table shows."""
    from ..io.models import model_dict
    from .figures import errors_dict, shape_dict
    from .sheets import plain

    mixture, sizes = outcome.mixture, outcome.sizes()
    errors = standard_errors_of(terminal, outcome, table)
    return model_dict(mixture, table.columns, details, table.categories) | {
        "source": plain(mixture.source),
        **shape_dict(mixture),
        "sizes": None if sizes is None else sizes.tolist(),
        "standard_errors": None if errors is None else errors_dict(mixture, errors),
    }


def show_fit(
    terminal: Terminal, outcome: Outcome, table: Data, details: dict[str, Any], notes_shown: Sequence[str] = ()
) -> None:
    """The components and the figures of a fit, as tables; then its notes, but for those shown before."""
    from .figures import fit_details, option_words
    from .sheets import category_details, details_table, left_out, widest_table

    mixture = outcome.mixture
    named = ", ".join(table.columns[:6]) + (", ..." if len(table.columns) > 6 else "")
    plural = "component" if mixture.n_components == 1 else "components"
    family = mixture.family.full_name
    title = f"{mixture.n_components} {family} {plural}, {counted(outcome.n_rows, 'row')} of {printable(named)}"
    errors = standard_errors_of(terminal, outcome, table)
    sheet = widest_table(terminal.out, mixture, table.columns, outcome.sizes(), errors)
    rows = fit_details(details) | category_details(table.categories)
    terminal.show(title, "", sheet, "", details_table(rows))
    for note in [*option_words(outcome.fit.notes, table.columns), left_out(mixture)]:
        if note and note not in notes_shown:
            terminal.note(f"note: {note}")
