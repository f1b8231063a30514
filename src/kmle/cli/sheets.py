"""Mixtures as tables: for each component a line for each column, wide parameters cut to what can be read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from rich import box
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from ..families import ComponentFamilies, Member
from ..presentation.cells import (
    MOST_COLUMNS,
    MOST_COMPONENTS,
    Cells,
    component_cells,
    line_names,
    number,
    shown_components,
)
from .tables import counted
from .terminal import printable

if TYPE_CHECKING:
    from ..mixture import Mixture
    from ..numerics.arrays import Array


def widest_table(
    console: Console, mixture: Mixture, columns: Sequence[str] | None, sizes: Array | None = None, errors: Any = None
) -> Table | Text:
    """The fullest table that the console has room for: correlations are left out first, then standard errors.

    Where no table has room the components are listed one after the other, so that no number is cut.
    """
    for known, correlations in ((errors, True), (errors, False), (None, True), (None, False)):
        table = mixture_table(mixture, columns, sizes, known, correlations)
        if Measurement.get(console, console.options.update(width=1000), table).maximum <= console.width:
            return table
    return component_list(mixture, columns, sizes)


def component_list(mixture: Mixture, columns: Sequence[str] | None, sizes: Sequence[float] | Array | None) -> Text:
    """The components in lines: weight and size, then the parameters of each column."""
    names = _printable_names(mixture, columns)
    lines = []
    members = mixture.members
    for j in shown_components(mixture):
        own = _cells(mixture, members[j], j, {})
        rows = "" if sizes is None else f", {counted(round(float(sizes[j])), 'row')}"
        lines.append(f"{j}: weight {number(mixture.weights[j])}{rows}")
        for place, name in enumerate(names[:MOST_COLUMNS]):
            left = [f"{heading.replace('_', ' ')} {text}" for (line, heading), text in own.items() if line == place]
            lines.append(f"   {name}: {', '.join(left)}" if len(names) > 1 else f"   {', '.join(left)}")
    return Text("\n".join(lines))


def mixture_table(
    mixture: Mixture,
    columns: Sequence[str] | None,
    sizes: Sequence[float] | Array | None = None,
    errors: Any = None,
    correlations: bool = True,
) -> Table:
    """Component, weight, size and the usual parameters, with standard errors (`.weights`, `.source`) where known."""
    lines = _printable_names(mixture, columns)
    spread = {} if errors is None else errors.source
    members = mixture.members
    cells = {j: _cells(mixture, members[j], j, spread) for j in shown_components(mixture)}
    headings = list(dict.fromkeys(heading for own in cells.values() for _, heading in own))
    headings = [heading for heading in headings if correlations or heading != "correlation"]
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("#", justify="right")
    table.add_column("weight", justify="right")
    if sizes is not None:
        table.add_column("rows", justify="right")
    if len(lines) > 1:
        table.add_column("column", overflow="fold")
    for heading in headings:
        # Correlations are a triangle: each stands under the column it is with.
        side: Literal["left", "right"] = "left" if heading == "correlation" else "right"
        table.add_column(heading.replace("_", " "), justify=side, overflow="fold")
    for j in cells:
        weight = number(mixture.weights[j], None if errors is None else errors.weights[j])
        first = [str(j), weight, *([] if sizes is None else [f"{sizes[j]:.0f}"])]
        for line, name in enumerate(lines[:MOST_COLUMNS]):
            start = first if line == 0 else [""] * len(first)
            own = [cells[j].get((line, heading), "") for heading in headings]
            table.add_row(*start, *([name] if len(lines) > 1 else []), *own)
        if len(lines) > 1 and line + 1 < len(lines):
            table.add_row(*[""] * len(first), f"... {len(lines) - line - 1} more")
        if len(lines) > 1:
            table.add_section()
    return table


def left_out(mixture: Mixture) -> str | None:
    """What the table does not show."""
    gone = mixture.n_components - MOST_COMPONENTS
    wide = len(line_names(mixture.family, None)) > MOST_COLUMNS
    parts = [f"{gone} components of lower weight" if gone > 0 else "", "further columns" if wide else ""]
    left = " and ".join(filter(None, parts))
    return f"The table omits {left}; --json prints everything." if left else None


def _cells(mixture: Mixture, member: Member, j: int, spread: Mapping[str, Array]) -> Cells:
    """The cells of a component; where families differ its own stands before them."""
    first: Cells = {(0, "family"): member.family.name} if isinstance(mixture.family, ComponentFamilies) else {}
    return first | component_cells(member, j, spread)


def _printable_names(mixture: Mixture, columns: Sequence[str] | None) -> list[str]:
    return [printable(name) for name in line_names(mixture.family, columns)]


def plain(source: Mapping[str, Array]) -> dict[str, Any]:
    """Parameters as lists, for JSON."""
    return {name: _known(value) for name, value in source.items()}


def _known(values: Array) -> Any:
    """Nested lists of numbers, None for parameters of other families."""
    known: Any = values.astype(object)
    known[~np.isfinite(values)] = None
    return known.tolist()


def details_table(rows: Mapping[str, str]) -> Table:
    """Names and values, one a line."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(printable(name), printable(value))
    return table


def category_details(categories: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The names of categories, in the order of their probabilities."""
    return {f"categories of {name}": ", ".join(levels) for name, levels in categories.items()}
