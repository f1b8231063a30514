"""`kmle compare`: how far apart two mixtures are."""

from __future__ import annotations

from contextlib import suppress
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import typer

from . import options as o
from .app import Command, app, examples
from .terminal import Terminal

if TYPE_CHECKING:
    from ..mixture import Mixture

Figures = dict[str, dict[str, float]]


@app.command(
    cls=Command,
    epilog=examples("kmle compare model.json other.json", "kmle compare a.json b.json --draws 1000000 --json"),
)
def compare(
    model: o.ModelPath,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The model to compare it with.")],
    draws: Annotated[int, typer.Option(metavar="N", min=100, help="Rows to draw for each estimate.")] = 100_000,
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Measure the divergence between two models, in nats."""
    from ..io.models import read_model

    terminal = Terminal()
    p, q = read_model(model).mixture, read_model(other).mixture
    with terminal.working("drawing rows"):
        figures = _divergences(p, q, draws, seed)
    if json:
        terminal.write_json({name: _finite(value) for name, value in figures.items()})
        return
    from .sheets import details_table

    terminal.show(details_table({name: _shown(value) for name, value in figures.items()}))


def _divergences(p: Mixture, q: Mixture, draws: int, seed: int) -> Figures:
    from .. import divergences

    figures: Figures = {}
    for name, first, second in (("first : second", p, q), ("second : first", q, p)):
        estimate = divergences.kl(first, second, draws, seed)
        figures[f"KL({name})"] = {"value": estimate.value, "standard_error": estimate.standard_error}
        if p.family == q.family:
            bounds = divergences.kl_bounds(first, second)
            figures[f"KL({name})"] |= {"lower": bounds.lower, "upper": bounds.upper}
    for name, divergence in (("Jeffreys", divergences.jeffreys), ("Jensen-Shannon", divergences.jensen_shannon)):
        estimate = divergence(p, q, draws, seed)
        figures[name] = {"value": estimate.value, "standard_error": estimate.standard_error}
    # Not every family has a closed form for it.
    with suppress(ValueError):
        figures["Cauchy-Schwarz"] = {"value": divergences.cauchy_schwarz(p, q)}
    return figures


def _finite(value: dict[str, float]) -> dict[str, float | None]:
    """JSON knows no infinity."""
    return {name: number if isfinite(number) else None for name, number in value.items()}


def _shown(value: dict[str, float]) -> str:
    message = f"{value['value']:.6g}"
    if value.get("standard_error"):
        message += f" ± {value['standard_error']:.2g}"
    if "lower" in value:
        message += f", bounds [{value['lower']:.6g}, {value['upper']:.6g}]"
    return message
