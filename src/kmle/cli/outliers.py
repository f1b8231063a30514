"""`kmle outliers`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from . import tasks as t
from .app import Command, app, examples
from .naming import names_categorical
from .tables import Asked, read
from .terminal import Terminal

if TYPE_CHECKING:
    from ..io import Table
    from ..mixture import Mixture
    from ..numerics.arrays import Array

# Rows that are shown.
SHOWN = 10


@app.command(
    cls=Command,
    epilog=examples(
        "kmle outliers data.csv",
        "kmle outliers data.csv --contamination 0.02 --out marked.csv --append",
        "kmle outliers data.csv --save normal.json",
        "kmle outliers today.csv --model normal.json --json",
    ),
)
def outliers(
    data: o.Data,
    new: t.New = None,
    model: t.ModelIn = None,
    k: t.K = None,
    family: o.Family = None,
    columns: o.Columns = None,
    weights: o.Weights = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    categorical: o.Categorical = None,
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    contamination: Annotated[
        str,
        typer.Option(
            metavar="auto|SHARE",
            help="Share of outliers, up to 0.5; auto marks rows below all but 1 % of the model's own draws.",
            rich_help_panel=o.LEARNING,
        ),
    ] = "auto",
    cluster_share: Annotated[
        str,
        typer.Option(
            metavar="auto|SHARE",
            help="Rows of a component far from all others are outliers if it holds at most this share of the rows; "
            "auto is 1.25 times a given contamination, or 0.05.",
            rich_help_panel=o.LEARNING,
        ),
    ] = "auto",
    out: t.Out = None,
    append: t.Append = False,
    save: t.Save = None,
    force: o.Force = False,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Mark rows that are improbable under a mixture."""
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
    task = t.Task(Terminal(quiet), asked, new, model, save, out, append, json)
    task.check(force)
    share = _share(contamination)
    clusters = _cluster_share(cluster_share)
    if model is not None:
        content = task.content()
        table = task.rows_for(content, None if content.columns is None else list(content.columns))
        from ..estimators.outlier_scores import outlier_scores

        mixture = content.mixture
        scores = task.learned("scoring", table, mixture.family, lambda: outlier_scores(mixture, table.rows))
        offset = _known_offset(content.about, mixture, scores, share, seed)
        _finish(task, table, scores, offset, mixture)
        return
    rows = read(task.terminal, asked, leaves_out=True)
    own = task.family(family, rows)
    from ..estimators import MixtureOutlierDetector

    detector = MixtureOutlierDetector(
        "auto" if k is None else k,
        family=own,
        contamination="auto" if share is None else share,
        cluster_share=clusters,
        n_jobs=jobs,
        random_state=seed,
    )
    fitted = task.learned("learning", rows, own, lambda: detector.fit(rows.rows, sample_weight=rows.weights))
    task.say(fitted.notes_, rows.columns)
    task.saved(fitted.normal_, rows, list(rows.columns), {"offset": fitted.offset_, "contamination": contamination})
    table = task.others(rows)
    _finish(task, table, fitted.score_samples(table.rows), fitted.offset_, fitted.normal_)


def _share(contamination: str) -> float | None:
    """The share of outliers; None where the model says what they are."""
    if contamination == "auto":
        return None
    try:
        share = float(contamination)
    except ValueError:
        share = -1.0
    if not 0 < share <= 0.5:
        raise ValueError(f"--contamination is {contamination}: write auto, or a share above 0, up to 0.5")
    return share


def _cluster_share(cluster_share: str) -> str | float:
    """The largest share of rows in clusters of outliers, or "auto"."""
    if cluster_share == "auto":
        return cluster_share
    try:
        share = float(cluster_share)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 0.5:
        raise ValueError(f"--cluster-share is {cluster_share}: write auto, or a share from 0 to 0.5")
    return share


def _known_offset(about: Any, mixture: Mixture, scores: Array, share: float | None, seed: int) -> float:
    """The threshold of a model: the share of these rows, the one it was saved with, or that of its own draws."""
    import numpy as np

    if share is not None:
        return float(np.quantile(scores, share))
    saved = about.get("offset")
    if isinstance(saved, float):
        return saved
    from ..estimators.outlier_scores import drawn_offset

    return drawn_offset(mixture, seed)


def _finish(task: t.Task, table: Table, scores: Array, offset: float, mixture: Mixture) -> None:
    """Writes and shows which rows are outliers."""
    import numpy as np

    marked = scores < offset
    task.write(table, {"outlier": marked.astype(int), "log_density": scores})
    places = np.flatnonzero(marked)
    lowest = places[np.argsort(scores[places], kind="stable")]
    numbers = table.row_numbers()
    figures = {
        "rows": len(table),
        "outliers": int(marked.sum()),
        "threshold": offset,
        "components": mixture.n_components,
        "family": mixture.family.name,
        "outlier_rows": [int(numbers[place]) for place in lowest],
        "log_densities": [float(scores[place]) if np.isfinite(scores[place]) else None for place in lowest],
    }
    task.show(figures, *_tables(table, figures, lowest))


def _tables(table: Table, figures: dict[str, Any], lowest: Any) -> list[Any]:
    from rich import box
    from rich.table import Table as Sheet

    from .sheets import details_table

    rows = {
        "rows": str(len(table)),
        "outliers": f"{figures['outliers']} with a log-density below {figures['threshold']:.6g}",
        "model": f"{figures['components']} {figures['family']}",
    }
    if not len(lowest):
        return [details_table(rows)]
    sheet = Sheet(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    shown = list(table.columns[:6])
    for name in ("row", "log-density", *shown):
        sheet.add_column(name, justify="right", overflow="fold")
    for place, number, score in zip(
        lowest[:SHOWN].tolist(), figures["outlier_rows"], figures["log_densities"], strict=False
    ):
        density = "-inf" if score is None else f"{score:.4g}"
        sheet.add_row(str(number), density, *(_cell(table, place, column) for column in shown))
    more = len(lowest) - SHOWN
    rest = [f"and {more} more; --out writes all"] if more > 0 else []
    return [details_table(rows), "", sheet, *rest]


def _cell(table: Table, row: int, column: str) -> str:
    from ..presentation.cells import number
    from .terminal import printable

    value = float(table.rows[row, table.columns.index(column)])
    if value != value:
        return ""
    levels = table.categories.get(column)
    return number(value) if levels is None else printable(levels[int(value)])
