"""`kmle families` and `kmle demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from . import options as o
from .app import Command, app, examples
from .terminal import Terminal

# Terminals with fewer columns than this have no room for the table of families.
NARROW = 70
DEMO_FILES = ("faithful.json", "faithful.png", "faithful.html")


@app.command(cls=Command, epilog=examples("kmle families", "kmle families --json"))
def families(json: o.Json = False) -> None:
    """List the families, their data and their parameters."""
    from rich import box
    from rich.table import Table

    terminal = Terminal()
    entries = _entries()
    if json:
        terminal.write_json(entries)
        return
    if terminal.out.width < NARROW:
        for entry in entries:
            terminal.show(f"{entry['name']}: {entry['data']}; {', '.join(entry['parameters'])}")
        return
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("family", no_wrap=True)
    table.add_column("data")
    table.add_column("parameters (fixed)")
    for entry in entries:
        fixed = ", ".join(entry["needs"] + [f"{name}={value}" for name, value in entry["may_have"].items()])
        table.add_row(entry["name"], entry["data"], ", ".join(entry["parameters"]) + (f" ({fixed})" if fixed else ""))
    terminal.show(table, "", "Fixed parameters follow a colon: --family binomial:trials=10.")
    terminal.show("Gaussians whose covariances share something have mclust's names: --family gaussian-vev.")
    terminal.show("Columns of different kinds have a family each: --family poisson+gamma+gaussian.")


def _entries() -> list[dict[str, Any]]:
    from dataclasses import MISSING, fields

    from ..families import FAMILIES

    entries = []
    for name, kind in FAMILIES.items():
        own = [field for field in fields(kind) if field.name != "n_features"]
        entries.append(
            {
                "name": name,
                "data": _data(kind),
                "parameters": _parameters(kind),
                "needs": [field.name for field in own if field.default is MISSING],
                "may_have": {field.name: field.default for field in own if field.default not in (MISSING, None)},
            }
        )
    return entries


def _data(kind: Any) -> str:
    """The support in a few words; for some families it depends on fixed parameters."""
    from ..families.support import PositiveDefinite, Simplex, Support, UnitSphere

    short = {
        PositiveDefinite: "definite matrices",
        Simplex: "proportions, sum 1",
        UnitSphere: "rows of length 1",
    }
    named = {
        "bernoulli": "zeros and ones",
        "beta": "between 0 and 1",
        "binomial": "0, 1, ..., trials",
        "categorical": "codes 0, 1, 2, ...",
        "multinomial": "rows of counts",
        "pareto": "numbers from minimum on",
        "product": "columns of many kinds",
    }
    if kind.name in named:
        return named[kind.name]
    declared = kind.support
    assert isinstance(declared, Support)
    return short.get(type(declared)) or declared.description.removeprefix("all ")


def _parameters(kind: Any) -> list[str]:
    return list(kind.parameters) if isinstance(kind.parameters, dict) else ["of its families"]


@app.command(cls=Command, epilog=examples("kmle demo", "kmle demo --directory results"))
def demo(
    directory: Annotated[
        str | None,
        typer.Option(
            metavar="DIRECTORY",
            help="Directory to write to; created if missing. By default kmle-demo.",
            show_default=False,
        ),
    ] = None,
    force: o.Force = False,
) -> None:
    """Fit two kinds of eruptions of a geyser from bundled data, and plot them."""
    from importlib.resources import as_file, files

    from .fit import about, show_fit
    from .learning import FitOptions, learn, resolved_family
    from .tables import Asked, read

    terminal = Terminal()
    place = _demo_folder(directory, force)
    terminal.show("Old Faithful, a geyser: minutes of eruption, minutes of waiting for the next", "")
    with as_file(files("kmle") / "io" / "faithful.csv") as path:
        table = read(terminal, Asked(str(path)))
    outcome = learn(terminal, table, resolved_family(terminal, None, table), 2, FitOptions())
    details = about(outcome, table) | {"data": "faithful.csv"}
    show_fit(terminal, outcome, table, details)
    *others, last = _written(terminal, outcome, table, place, details)
    names = f"{', '.join(others)} and {last}" if others else last
    model = place / "faithful.json"
    terminal.show("", f"kmle show {model} prints the model again. Wrote {names} to {place}.")


def _demo_folder(directory: str | None, force: bool) -> Path:
    """The folder named, or one of its own that nothing is in yet."""
    from .outputs import check_files

    if directory is None:
        names = ("kmle-demo", *(f"kmle-demo-{count}" for count in range(2, 1000)))
        place = next(Path(name) for name in names if force or not Path(name).exists())
    else:
        place = Path(directory)
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file: give a directory")
    files = zip(("model", "plot", "report"), DEMO_FILES, strict=True)
    check_files({what: str(place / name) for what, name in files if (place / name).exists()}, [], force)
    place.mkdir(parents=True, exist_ok=True)
    return place


def _written(terminal: Terminal, outcome: Any, table: Any, place: Path, details: dict[str, Any]) -> list[str]:
    """The names of the files: the model, and a plot and a report as far as the packages they need are installed."""
    from ..io.models import write_model
    from ..io.outputs import output_file
    from .fit import draw

    model, *drawn = DEMO_FILES
    write_model(str(place / model), outcome.mixture, table.columns, details)
    written = [model]
    for name, make in zip(drawn, (draw, _report), strict=True):
        try:
            with output_file(str(place / name)) as made:
                make(outcome, table, made)
        except ImportError as error:
            terminal.note(f"note: no {name}: {error}")
        else:
            written.append(name)
    return written


def _report(outcome: Any, table: Any, path: str) -> None:
    from ..report import write_report

    columns = list(table.columns)
    write_report(path, outcome.estimator, table.rows, columns, command="kmle demo", seed=outcome.plan.random_state)
