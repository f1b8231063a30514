"""`kmle classify`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from . import tasks as t
from .app import Command, app, examples
from .naming import names_categorical
from .tables import Asked
from .terminal import Terminal, printable

if TYPE_CHECKING:
    from ..io import Model, Table
    from ..mixture import Mixture
    from ..numerics.arrays import Array

REJECTED = "rejected"


@app.command(
    cls=Command,
    epilog=examples(
        "kmle classify flowers.csv --target species",
        "kmle classify flowers.csv --target species --new field.csv --out classes.csv",
        "kmle classify flowers.csv --target species --save species.json",
        "kmle classify field.csv --model species.json --out classes.csv --append --probabilities",
    ),
)
def classify(
    data: o.Data,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column with the class of each row.", show_default=False),
    ] = None,
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
    uniform: Annotated[
        bool,
        typer.Option("--uniform-priors", help="Take all classes as equally probable.", rich_help_panel=o.LEARNING),
    ] = False,
    reject: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="P",
            help="Write 'rejected' where no class is as probable as this.",
            show_default=False,
            rich_help_panel=o.OUTPUT,
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(min=0, metavar="N", help="Cross-validate with N folds.", rich_help_panel=o.LEARNING)
    ] = 0,
    probabilities: Annotated[
        bool,
        typer.Option("--probabilities", "-p", help="Add the probabilities of all classes.", rich_help_panel=o.OUTPUT),
    ] = False,
    out: t.Out = None,
    append: t.Append = False,
    save: t.Save = None,
    force: o.Force = False,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Learn classes from labelled rows and predict them: a mixture per class, and Bayes' rule."""
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
    if model is not None:
        content = task.content()
        classes, owners = _classes_of(content, model)
        table = task.rows_for(content, None if content.columns is None else list(content.columns))
        shares = _class_shares(content.mixture, owners, len(classes), table)
        _finish(task, table, classes, shares, reject, probabilities, {"rows": len(table), "classes": classes})
        return
    known = t.training(task, t.needs_target(target), classes=True)
    settings = {
        "n_components": "auto" if k is None else k,
        "family": task.family(family, known.features),
        "priors": "uniform" if uniform else None,
        "n_jobs": jobs,
        "random_state": seed,
    }
    fitted, figures = _learned(task, known, settings, folds)
    combined, owners = _combined(fitted)
    classes = fitted.classes_.tolist()
    about = {"classes": classes, "component_classes": owners}
    task.saved(combined, known.features, list(known.features.columns), about)
    table = task.others(known.features)
    _finish(task, table, classes, fitted.predict_proba(table.rows), reject, probabilities, figures)


def _learned(task: t.Task, known: t.Training, settings: dict[str, Any], folds: int) -> tuple[Any, dict[str, Any]]:
    """The classifier, and how well it does."""
    import numpy as np

    from ..estimators import MixtureClassifier

    X, codes, weights = known.known(task.terminal)
    y = np.array(known.levels)[codes.astype(int)]
    family = settings["family"]
    fitted = task.learned(
        "learning classes", known.features, family, lambda: MixtureClassifier(**settings).fit(X, y, weights)
    )
    task.say(fitted.notes_, known.features.columns)
    found = fitted.predict(X)
    figures = {
        "rows": len(y),
        "classes": fitted.classes_.tolist(),
        "priors": fitted.priors_.tolist(),
        "components": [mixture.n_components for mixture in fitted.mixtures_],
        "family": fitted.mixtures_[0].family.name,
        "accuracy": float(np.mean(found == y)),
        "recall": [float(np.mean(found[y == name] == name)) for name in fitted.classes_],
    }
    if folds:
        figures["cross_validated_accuracy"] = task.learned(
            "cross-validating", known.features, family, lambda: _cross_validated(settings, X, y, folds)
        )
    return fitted, figures


def _cross_validated(settings: dict[str, Any], X: Array, y: Any, folds: int) -> float:
    import numpy as np
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    from ..estimators import MixtureClassifier

    smallest = int(np.unique(y, return_counts=True)[1].min())
    if not 2 <= folds <= smallest:
        raise ValueError(f"--folds is {folds}: it must be from 2 to {smallest}, the rows of the smallest class")
    split = StratifiedKFold(folds, shuffle=True, random_state=settings["random_state"])
    return float(np.mean(cross_val_predict(MixtureClassifier(**settings), X, y, cv=split) == y))


def _combined(fitted: Any) -> tuple[Mixture, list[int]]:
    """The mixtures of all classes as one, and the class of each component."""
    from ..mixture import Mixture

    owners = [place for place, mixture in enumerate(fitted.mixtures_) for _ in range(mixture.n_components)]
    return Mixture.combine(fitted.mixtures_, fitted.priors_), owners


def _classes_of(content: Model, path: str) -> tuple[list[str], list[int]]:
    """The names of the classes of a model, and the class of each component."""
    classes, owners = content.about.get("classes"), content.about.get("component_classes")
    sound = (
        isinstance(classes, list)
        and isinstance(owners, list)
        and len(owners) == content.mixture.n_components
        and all(isinstance(name, str) for name in classes)
        and all(isinstance(owner, int) and 0 <= owner < len(classes) for owner in owners)
    )
    if not sound:
        raise ValueError(f"{path} has no classes: learn them with `kmle classify DATA --target COLUMN --save {path}`")
    assert isinstance(classes, list)
    assert isinstance(owners, list)
    return classes, owners


def _class_shares(mixture: Mixture, owners: list[int], n_classes: int, table: Table) -> Array:
    import numpy as np

    posterior = mixture.posterior(table.rows)
    return np.stack([posterior[:, np.asarray(owners) == place].sum(axis=1) for place in range(n_classes)], axis=1)


def _finish(
    task: t.Task,
    table: Table,
    classes: list[str],
    shares: Array,
    reject: float | None,
    probabilities: bool,
    figures: dict[str, Any],
) -> None:
    """Writes and shows the classes of the rows."""
    import numpy as np

    found = np.array(classes, dtype=object)[shares.argmax(axis=1)]
    if reject is not None:
        found[shares.max(axis=1) < reject] = REJECTED
    written: t.Columns = {"class": found.astype(str)}
    if probabilities:
        written |= {f"probability_{name}": shares[:, place] for place, name in enumerate(classes)}
    task.write(table, written)
    counts = {name: int((found == name).sum()) for name in [*classes, *([] if reject is None else [REJECTED])]}
    task.show(figures | {"predicted": counts}, *_tables(table, figures, counts))


def _tables(table: Table, figures: dict[str, Any], counts: dict[str, int]) -> list[Any]:
    from rich import box
    from rich.table import Table as Sheet

    from .sheets import details_table

    sheet = Sheet(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    sheet.add_column("class")
    learned = "components" in figures
    for name in [*(["prior", "components", "recall"] if learned else []), "predicted"]:
        sheet.add_column(name, justify="right")
    for place, (name, count) in enumerate(counts.items()):
        own = ["", "", ""] if place >= len(figures["classes"]) else _figures_of(figures, place) if learned else []
        sheet.add_row(printable(name), *(own if learned else []), str(count))
    rows = {"rows": str(len(table))}
    if learned:
        rows |= {"family": figures["family"], "accuracy": f"{figures['accuracy']:.4f} on the rows learned from"}
    if "cross_validated_accuracy" in figures:
        rows["cross-validated"] = f"{figures['cross_validated_accuracy']:.4f}"
    return [sheet, "", details_table(rows)]


def _figures_of(figures: dict[str, Any], place: int) -> list[str]:
    return [
        f"{figures['priors'][place]:.4f}",
        str(figures["components"][place]),
        f"{figures['recall'][place]:.4f}",
    ]
