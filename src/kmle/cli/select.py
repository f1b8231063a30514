"""`kmle select`: how many components, and which family."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import FAILED, Command, app, examples
from .interruption import Interruption
from .learning import FitOptions, Outcome, check_categories, in_words_of, resolved_family
from .naming import family_from_words, names_categorical
from .outputs import check_files, check_table_output, page_name
from .pages import Title, write_fit_report
from .reach import Reach
from .tables import SELECTING, Asked, read, with_groups
from .terminal import Terminal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..families import ExponentialFamily, Product
    from ..io import Table
    from ..numerics.arrays import Array
    from .knowing import Known


# A fit without -k tries up to this many components.
MOST_COMPONENTS = 10
# Of Gaussians it compares all covariance models in tables of up to this many rows and columns; by criteria that need
# every candidate, of up to this many rows times squared columns. So it does families of counts.
MOST_ROWS, MOST_COLUMNS, MOST_PRODUCTS = 5000, 15, 200_000
# Counts whose variance is this many times their mean are compared with negative binomial ones.
OVERDISPERSED = 1.5
# Beside columns of other kinds they are compared in tables of up to this many entries.
MOST_ENTRIES = 3000


@app.command(
    cls=Command,
    epilog=examples(
        "kmle select data.csv",
        "kmle select data.csv -k 1-20 --families gamma,log-normal,gaussian --criterion icl",
        "kmle select data.csv --families gaussians",
        "kmle select data.csv --out best.json --table candidates.csv",
    ),
)
def select(
    data: o.Data,
    k: Annotated[str, typer.Option("-k", metavar="1-10", help="Numbers of components: 1-10, or 2,4,8.")] = "1-10",
    families: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Families to compare; guessed from the columns by default. gaussians stands for all covariance models "
            "of Gaussians. Semicolons separate sets of families: 'gaussian,uniform;gaussian'.",
        ),
    ] = None,
    criterion: o.Criterion = o.CriterionName.BIC,
    columns: o.Columns = None,
    weights: o.Weights = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    categorical: o.Categorical = None,
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    hard: o.Hard = False,
    algorithm: o.Algorithm = None,
    prior: o.Prior = 1e-3,
    resolution: o.Resolution = "auto",
    restarts: o.Restarts = "auto",
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    out: o.ModelOut = None,
    table: Annotated[
        str | None, typer.Option(metavar="TABLE", help="Write all candidates to this file.", rich_help_panel=o.OUTPUT)
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="PAGE.html", help="Write a report on the best candidate to this file.", rich_help_panel=o.OUTPUT
        ),
    ] = None,
    title: Title = None,
    force: o.Force = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
    verbose: o.Verbose = False,
) -> None:
    """Compare numbers of components and families by a criterion."""
    terminal = Terminal(quiet, verbose)
    numbers, n_init, how = _numbers(k), o.n_init_of(restarts), o.algorithm_of(algorithm, hard)
    check_table_output(table)
    report = page_name(report)
    check_files({"--out": out, "--table": table, "--report": report}, [data], force)
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
        code_text=names_categorical(families),
    )
    rows = read(terminal, asked, loading=SELECTING, leaves_out=True)
    rows = with_groups(terminal, rows) if families is None else rows
    kinds = (
        [resolved_family(terminal, None, rows)]
        if families is None
        else [
            family
            for words in families.split(";" if ";" in families else ",")
            for family in _families(words.strip(), rows)
        ]
    )
    steps = o.resolution_of(resolution)
    options = FitOptions(how, prior=prior, restarts=n_init, seed=seed, jobs=jobs, resolution=steps)
    selection, outcome = choose(terminal, rows, kinds, numbers, str(criterion), options)
    if report is not None:
        from ..io.outputs import output_file

        with output_file(report) as made:
            write_fit_report(made, outcome, rows, seed, title)
    _report(terminal, selection, outcome, rows, out, table, json)
    if report is not None:
        terminal.note(f"wrote {report}")
    if outcome.interrupted:
        raise typer.Exit(FAILED)


def _families(words: str, table: Table) -> list[ExponentialFamily]:
    """One family, or the covariance models for "gaussians"."""
    from ..estimators.family_candidates import expanded
    from ..families import resolve

    families = [
        family_from_words(family) if isinstance(family, str) else resolve(family)
        for family in expanded(words, table.rows)
    ]
    for family in families:
        check_categories(family, table)
    return families


def relatives(family: ExponentialFamily, table: Table, options: FitOptions, criterion: str) -> list[ExponentialFamily]:
    """The family itself and those to compare it with where that takes a few seconds.

    These are the covariance models of Gaussians, and the negative binomial family for counts that vary more than
    Poisson counts.
    """
    import numpy as np

    from ..families import Gaussian, NegativeBinomial, Poisson, Product
    from ..families.structured_gaussian import MODELS, structured
    from ..search.race import BIC

    n, d = table.rows.shape
    usual = options.algorithm == o.AlgorithmName.EM and options.init is None and options.restarts == "auto"
    if d > MOST_COLUMNS or n > MOST_ROWS or not usual:
        return [family]
    few = n * d * d <= MOST_PRODUCTS
    if type(family) is Gaussian and d >= 2 and (few or criterion == BIC) and np.isfinite(table.rows).all():
        return [structured(name) for name in MODELS]
    if not few:
        return [family]
    if type(family) is Poisson and _overdispersed(table.rows).any():
        return [family, NegativeBinomial()]
    if isinstance(family, Product) and n * d <= MOST_ENTRIES:
        wider = _with_negative_binomials(family, table.rows)
        return [family] if wider == family else [family, wider]
    return [family]


def _overdispersed(X: Array) -> NDArray[np.bool_]:
    """Which columns of counts (d,) vary more than Poisson counts; missing entries do not count."""
    import numpy as np

    return np.asarray(np.nanvar(X, axis=0) > OVERDISPERSED * np.nanmean(X, axis=0))


def _with_negative_binomials(family: Product, X: Array) -> Product:
    """The same columns, with negative binomial counts where they vary more than Poisson counts."""
    from itertools import groupby

    import numpy as np

    from ..families import NegativeBinomial, Poisson, Product

    blocks: list[ExponentialFamily] = []
    for block, columns in zip(family.families, np.split(X, np.cumsum(family.widths)[:-1], axis=1), strict=True):
        if type(block) is not Poisson:
            blocks.append(block)
            continue
        for varies, own in groupby(_overdispersed(columns)):
            width = len(list(own))
            blocks.append(NegativeBinomial(n_features=width) if varies else Poisson(n_features=width))
    return Product(tuple(blocks))


def _numbers(text: str) -> list[int]:
    """1-10 or 2,4,8 as numbers."""
    try:
        first, dash, last = text.partition("-")
        numbers = list(range(int(first), int(last) + 1)) if dash else [int(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not numbers or min(numbers) < 1:
        raise ValueError(f"-k {text} is not a list of numbers of components: write 1-10 or 2,4,8")
    return numbers


def choose(
    terminal: Terminal,
    table: Table,
    families: list[ExponentialFamily],
    numbers: Sequence[int],
    criterion: str,
    options: FitOptions,
    only_best: bool = False,
    known: Known | None = None,
) -> tuple[Any, Outcome]:
    """All candidates, and the best of them as a fit. The first Ctrl-C ends the comparison with the best so far.

    Where `only_best` matters, fits that cannot become it are ended early. Values may be known as intervals.
    """
    from ..algorithms.loop import watched
    from ..estimators.comparison import compared

    began = time.perf_counter()
    with Interruption(terminal) as interruption, terminal.working("comparing candidates") as report:
        alike = len(families) == 1 and not families[0].has_places
        reach = Reach(criterion) if only_best and alike and options.algorithm == o.AlgorithmName.EM else None

        def step(iteration: int, objective: float) -> bool:
            return not interruption.requested and (reach is None or reach.step(objective))

        def progress(done: int, total: int, candidate: Any) -> bool:
            message = f"{candidate.name}, k = {candidate.n_components}: {criterion} {candidate.value(criterion):.2f}"
            report(f"{done} of {total}: {message}")
            terminal.detail(message)
            if reach is not None:
                reach.candidate(candidate)
            return not interruption.requested

        data: Any = table.rows if known is None or known.intervals is None else known.intervals
        try:
            with watched(step, lambda: interruption.requested):
                found = compared(
                    data,
                    families,
                    numbers,
                    criterion,
                    options.plan(),
                    sample_weight=table.weights,
                    progress=progress,
                    columns=table.columns,
                    only_best=only_best,
                )
        except ValueError as error:
            raise ValueError(in_words_of(table, families[0], error)) from None
    seconds = time.perf_counter() - began
    columns, stopped = tuple(table.columns), interruption.requested
    outcome = Outcome(found.fit, found.plan, columns, seconds, len(table), stopped, found.selection, known)
    return found.selection, outcome


def _report(
    terminal: Terminal, selection: Any, outcome: Outcome, table: Table, out: str | None, path: str | None, as_json: bool
) -> None:
    from ..io.models import write_model
    from .figures import option_words
    from .fit import about, fit_dict, show_fit

    message = about(outcome, table)
    mixture = outcome.mixture
    if path is not None:
        from ..io.writing import write_table

        write_table(path, _candidates(selection))
    if out is not None:
        write_model(out, mixture, table.columns, message, table.categories)
    if outcome.interrupted:
        kept = f"the best of them is in {out}" if out else "--out saves the best of them"
        terminal.note(f"stopped by Ctrl-C before the end: these are the candidates so far, and {kept}")
    if as_json:
        compared = {"criterion": selection.criterion, "candidates": _records(selection)}
        terminal.write_json(fit_dict(terminal, outcome, table, message) | compared)
    else:
        notes = option_words(selection.notes, table.columns)
        terminal.show("\n".join([*selection.lines, selection.sentence, *notes]), "")
        show_fit(terminal, outcome, table, message, notes)
    for written in filter(None, (out, path)):
        terminal.note(f"wrote {written}")


def _records(selection: Any) -> list[dict[str, Any]]:
    """The candidates for JSON; None where one has no fit, or a criterion no value."""
    records = []
    for candidate in selection.candidates:
        values = {str(name): candidate.value(name) for name in o.CriterionName}
        records.append(
            {
                "family": candidate.name,
                "n_components": candidate.n_components,
                "n_parameters": None if candidate.criteria is None else candidate.criteria.n_parameters,
                "log_likelihood": None if candidate.criteria is None else candidate.criteria.log_likelihood,
                **{name: value if isfinite(value) else None for name, value in values.items()},
                "note": candidate.note,
            }
        )
    return records


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
    return columns | {str(name): np.array([candidate.value(name) for candidate in fitted]) for name in o.CriterionName}
