"""`kmle regress`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from . import tasks as t
from .app import Command, app, examples
from .tables import Asked
from .terminal import Terminal

if TYPE_CHECKING:
    from ..io import Model, Table
    from ..mixture.conditional import ConditionalMixtures


@app.command(
    cls=Command,
    epilog=examples(
        "kmle regress geyser.csv --target waiting",
        "kmle regress geyser.csv --target waiting --new later.csv --out waiting.csv --std",
        "kmle regress geyser.csv --target waiting --quantiles 0.05,0.95 --append --out longer.csv",
        "kmle fit geyser.csv --out model.json && kmle regress later.csv --target waiting --model model.json",
    ),
)
def regress(
    data: o.Data,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column to predict from the others.", show_default=False),
    ] = None,
    new: t.New = None,
    model: t.ModelIn = None,
    k: t.K = None,
    family: o.Family = None,
    columns: o.Columns = None,
    weights: o.Weights = None,
    ignore_text: o.IgnoreText = False,
    drop_missing: o.DropMissing = False,
    header: o.Header = None,
    separator: o.Separator = None,
    encoding: o.Encoding = None,
    thousands: o.Thousands = None,
    folds: Annotated[
        int, typer.Option(min=0, metavar="N", help="Cross-validate with N folds.", rich_help_panel=o.LEARNING)
    ] = 0,
    std: Annotated[
        bool, typer.Option("--std", help="Add the standard deviation of each prediction.", rich_help_panel=o.OUTPUT)
    ] = False,
    quantiles: Annotated[
        str | None,
        typer.Option(metavar="P,P", help="Add quantiles: 0.05,0.95.", show_default=False, rich_help_panel=o.OUTPUT),
    ] = None,
    out: t.Out = None,
    append: t.Append = False,
    save: t.Save = None,
    force: o.Force = False,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Predict a column from the others by their joint mixture: means, standard deviations and quantiles."""
    asked = Asked(data, columns, weights, ignore_text, drop_missing, None, header, separator, encoding, thousands)
    task = t.Task(Terminal(quiet), asked, new, model, save, out, append, json)
    task.check(force)
    levels, name = _levels(quantiles), t.needs_target(target)
    if model is not None:
        content = task.content()
        features = _features(content, model, name)
        table = task.rows_for(content, features)
        known = {feature: table.rows[:, place] for place, feature in enumerate(features)}
        _finish(task, table, name, content.mixture.condition(known), std, levels, {"rows": len(table)})
        return
    data_known = t.training(task, name, classes=False)
    settings = {
        "n_components": "auto" if k is None else k,
        "family": "gaussian" if family is None else task.family(family, data_known.features),
        "n_jobs": jobs,
        "random_state": seed,
    }
    fitted, figures = _learned(task, data_known, settings, folds)
    names = [*data_known.features.columns, name]
    task.saved(fitted.mixture_, data_known.features, names, {"target": name} | figures)
    table = task.others(data_known.features)
    _finish(task, table, name, fitted.condition(table.rows), std, levels, figures)


def _levels(quantiles: str | None) -> list[float]:
    try:
        levels = [float(level) for level in (quantiles or "").split(",") if level.strip()]
    except ValueError:
        levels = [-1.0]
    if not all(0 < level < 1 for level in levels):
        raise ValueError(f"--quantiles is {quantiles}: write probabilities between 0 and 1, such as 0.05,0.95")
    return levels


def _features(content: Model, path: str, target: str) -> list[str]:
    """The columns of a model but the target."""
    if content.columns is None:
        raise ValueError(f"{path} does not name its columns: learn the model from a table with names")
    if target not in content.columns:
        raise ValueError(f"{path} has no column {target!r}: its columns are {', '.join(content.columns)}")
    return [name for name in content.columns if name != target]


def _learned(task: t.Task, known: t.Training, settings: dict[str, Any], folds: int) -> tuple[Any, dict[str, Any]]:
    """The regressor, and how well it does."""
    from ..estimators import MixtureRegressor
    from ..families import resolve

    X, y, weights = known.known(task.terminal)
    family = resolve(settings["family"])
    fitted = task.learned("learning", known.features, family, lambda: MixtureRegressor(**settings).fit(X, y, weights))
    task.say(fitted.notes_, [*known.features.columns, known.name])
    residual = y - fitted.predict(X)
    figures: dict[str, Any] = {
        "rows": len(y),
        "components": fitted.mixture_.n_components,
        "family": fitted.mixture_.family.name,
        "r2": float(1 - (residual**2).mean() / y.var()) if y.var() > 0 else 0.0,
        "rmse": float((residual**2).mean() ** 0.5),
    }
    if folds:
        figures["cross_validated_r2"] = task.learned(
            "cross-validating", known.features, family, lambda: _cross_validated(settings, X, y, folds)
        )
    return fitted, figures


def _cross_validated(settings: dict[str, Any], X: Any, y: Any, folds: int) -> float:
    from sklearn.metrics import r2_score
    from sklearn.model_selection import KFold, cross_val_predict

    from ..estimators import MixtureRegressor

    if not 2 <= folds <= len(y):
        raise ValueError(f"--folds is {folds}: it must be from 2 to {len(y)}, the number of rows")
    split = KFold(folds, shuffle=True, random_state=settings["random_state"])
    return float(r2_score(y, cross_val_predict(MixtureRegressor(**settings), X, y, cv=split)))


def _finish(
    task: t.Task,
    table: Table,
    target: str,
    given: ConditionalMixtures | Any,
    std: bool,
    levels: list[float],
    figures: dict[str, Any],
) -> None:
    """Writes and shows the predictions."""
    import numpy as np

    mean, deviation = given.mean_and_std()
    written: t.Columns = {f"predicted_{target}": mean[:, 0]}
    if std:
        written[f"std_{target}"] = deviation[:, 0]
    for level in levels:
        written[f"{target}_q{level:g}"] = given.quantile(level)
    task.write(table, written)
    ends = [float(end) for end in (mean.min(), mean.max())]
    about = figures | {"predicted_rows": len(table), "predicted_mean": float(np.mean(mean)), "predicted_range": ends}
    task.show(about, *_tables(table, target, about))


def _tables(table: Table, target: str, figures: dict[str, Any]) -> list[Any]:
    from ..presentation.cells import number
    from .sheets import details_table

    rows = {}
    if "components" in figures:
        rows = {
            "learned from": f"{figures['rows']} rows",
            "components": f"{figures['components']} {figures['family']}",
            "r2": f"{figures['r2']:.4f} on the rows learned from",
            "rmse": number(figures["rmse"]),
        }
    if "cross_validated_r2" in figures:
        rows["cross-validated r2"] = f"{figures['cross_validated_r2']:.4f}"
    low, high = figures["predicted_range"]
    rows["predicted"] = f"{t.rows_of(table)} of {target}, from {number(low)} to {number(high)}"
    return [details_table(rows)]
