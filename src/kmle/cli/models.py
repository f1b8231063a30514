"""Commands on a model alone: `show`, `sample` and `simplify`."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options as o
from .app import Command, app, examples
from .interruption import deferred
from .outputs import check_files, check_table_output
from .tables import counted
from .terminal import Terminal, printable

if TYPE_CHECKING:
    from ..io import Model


class MethodName(StrEnum):
    """Ways to simplify."""

    CLUSTERING = "clustering"
    HIERARCHICAL = "hierarchical"


class CentroidName(StrEnum):
    """Which distribution stands for several."""

    RIGHT = "right"
    LEFT = "left"
    SYMMETRIC = "symmetric"


@app.command(cls=Command, epilog=examples("kmle show model.json", "kmle show model.json --json"))
def show(model: o.ModelPath, json: o.Json = False) -> None:
    """Show the contents of a model file."""
    from ..io.models import model_dict, read_model
    from .figures import shape_dict
    from .sheets import category_details, details_table, left_out, plain, widest_table

    terminal = Terminal()
    content = read_model(model)
    if json:
        terminal.write_json(
            model_dict(content.mixture, content.columns, content.about, content.categories)
            | {"source": plain(content.mixture.source)}
            | shape_dict(content.mixture)
        )
        return
    sheet = widest_table(terminal.out, content.mixture, content.columns)
    terminal.show(_title(content.mixture, content.columns), "", sheet)
    rows = {name: _described(value) for name, value in content.about.items() if not isinstance(value, list | dict)}
    rows |= category_details(content.categories)
    if rows:
        terminal.show("", details_table(rows))
    if note := left_out(content.mixture):
        terminal.note(f"note: {note}")


def _title(mixture: Any, columns: tuple[str, ...] | None) -> str:

    plural = "component" if mixture.n_components == 1 else "components"
    width = mixture.family.n_features
    named = counted(width, "column") if columns is None or width > 6 else printable(", ".join(columns))
    return f"{mixture.n_components} {mixture.family.full_name} {plural} of {named}"


def _described(value: Any) -> str:
    return f"{value:.7g}" if isinstance(value, float) else str(value)


@app.command(
    cls=Command,
    epilog=examples("kmle sample model.json -n 1000 --out rows.csv", "kmle sample model.json -n 5 --seed 7"),
)
def sample(
    model: o.ModelPath,
    n: Annotated[int, typer.Option("-n", "--rows", min=1, help="Number of rows to draw.")] = 1000,
    seed: o.Seed = 0,
    labels: Annotated[bool, typer.Option("--labels", help="Add the component of each row.")] = False,
    out: o.TableOut = "-",
    force: o.Force = False,
) -> None:
    """Draw rows from a model."""
    with deferred():
        from ..io.models import read_model
        from ..io.writing import write_table

    terminal = Terminal()
    check_table_output(out)
    check_files({"--out": out}, [model], force)
    content = read_model(model)
    with terminal.working(f"drawing {counted(n, 'row')}"):
        rows, components = content.mixture.sample_joint(n, seed)
    rows = rows.reshape(n, -1)
    names = content.columns or [f"x{place}" for place in range(rows.shape[1])]
    columns: dict[str, Any] = {name: _named(rows[:, place], name, content) for place, name in enumerate(names)}
    if labels:
        columns["label"] = components
    write_table(out, columns)


def _named(column: Any, name: str, content: Model) -> Any:
    """Codes of categories by their names."""
    import numpy as np

    levels = content.categories.get(name)
    return column if levels is None else np.array(levels)[column.astype(int)]


@app.command(
    cls=Command,
    epilog=examples("kmle simplify model.json -k 4 --out small.json", "kmle simplify model.json --tolerance 0.01"),
)
def simplify(
    model: o.ModelPath,
    k: Annotated[
        int | None, typer.Option("-k", "--components", min=1, help="Number of components to keep.", show_default=False)
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            metavar="NATS",
            min=0.0,
            help="Instead of -k: the largest loss, in nats; the fewest components are kept.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        MethodName, typer.Option(help="Merge pairs of components, or also cluster them.")
    ] = MethodName.CLUSTERING,
    centroid: Annotated[
        CentroidName, typer.Option(help="Side of the divergence; right keeps the moments of the mixture.")
    ] = CentroidName.RIGHT,
    seed: o.Seed = 0,
    out: o.ModelOut = None,
    force: o.Force = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Replace a mixture by one with fewer components."""
    from ..io.models import model_dict, read_model, write_model
    from .sheets import details_table, widest_table

    if (k is None) == (tolerance is None):
        raise ValueError("give either -k 4 or --tolerance 0.01")
    from .. import simplify as merge

    terminal = Terminal(quiet)
    check_files({"--out": out}, [model], force)
    content = read_model(model)
    if k is not None and k > content.mixture.n_components:
        raise ValueError(f"-k is {k} but {model} has only {content.mixture.n_components} components: use fewer")
    with terminal.working("simplifying"):
        simpler = merge(
            content.mixture, k, tolerance=tolerance, method=str(method), centroid=str(centroid), random_state=seed
        )
    details = {"simplified_from": content.mixture.n_components, "loss": float(simpler.loss)}
    if out is not None:
        write_model(out, simpler.mixture, content.columns, details, content.categories)
    if json:
        terminal.write_json(model_dict(simpler.mixture, content.columns, details, content.categories))
        return
    rows = {
        "components": f"{content.mixture.n_components} before, {simpler.mixture.n_components} now",
        "loss": f"{simpler.loss:.6g} nats",
    }
    table = widest_table(terminal.out, simpler.mixture, content.columns)
    terminal.show(_title(simpler.mixture, content.columns), "", table, "", details_table(rows))
    if out is not None:
        terminal.note(f"wrote {out}")
