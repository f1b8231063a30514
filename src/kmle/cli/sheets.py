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

from ..families import Categorical, ComponentFamilies, Product
from ..families.support import PositiveDefinite
from .tables import counted
from .terminal import printable

if TYPE_CHECKING:
    from ..families import ExponentialFamily
    from ..mixture import Mixture
    from ..numerics.arrays import Array

# More components than this are cut to the heaviest, more columns to the first, longer lists to their beginning.
MOST_COMPONENTS = 20
MOST_COLUMNS = 10
MOST_NUMBERS = 6

Cells = dict[tuple[int, str], str]
"""By line and heading."""


def number(value: float, error: float | None = None) -> str:
    """Four digits (all before the point, if there are not too many) and the standard error where there is one.

    >>> number(2.03638, 0.0271), number(21402.6, 257.3)
    ('2.036 ± 0.027', '21403 ± 257')
    """
    text = f"{value:.0f}" if 1e4 <= abs(value) < 1e7 else f"{value:.4g}"
    if error is None or not np.isfinite(error):
        return text
    return f"{text} ± {error:.0f}" if 99.5 <= error < 1e7 else f"{text} ± {error:.2g}"


def numbers(values: Sequence[float] | Array) -> str:
    """A short list of numbers, the rest counted.

    >>> numbers([1.0, 2.5])
    '1, 2.5'
    """
    shown = ", ".join(f"{value:.3g}" for value in values[:MOST_NUMBERS])
    return shown if len(values) <= MOST_NUMBERS else f"{shown}, ... ({len(values)})"


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
    names = _line_names(mixture.family, columns)
    lines = []
    for j in _shown_components(mixture):
        own = _component_cells(mixture, j, {})
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
    lines = _line_names(mixture.family, columns)
    spread = {} if errors is None else errors.source
    cells = [_component_cells(mixture, j, spread) for j in range(mixture.n_components)]
    headings = list(dict.fromkeys(heading for own in cells for _, heading in own))
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
    for j in _shown_components(mixture):
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
    wide = len(_line_names(mixture.family, None)) > MOST_COLUMNS
    parts = [f"{gone} components of lower weight" if gone > 0 else "", "further columns" if wide else ""]
    left = " and ".join(filter(None, parts))
    return f"The table omits {left}; --json prints everything." if left else None


def _shown_components(mixture: Mixture) -> list[int]:
    heaviest = np.argsort(-mixture.weights, kind="stable")[:MOST_COMPONENTS]
    return sorted(int(j) for j in heaviest)


def _line_names(family: ExponentialFamily, columns: Sequence[str] | None) -> list[str]:
    """The lines of a component: its columns, or the rows of its matrix."""
    width = family.n_features or 1
    if isinstance(family.support, PositiveDefinite):
        return [f"row {row}" for row in range(round(np.sqrt(width)))]
    names = [f"x{place}" for place in range(width)] if columns is None else columns
    return [printable(name) for name in names]


def _component_cells(mixture: Mixture, j: int, errors: Mapping[str, Array]) -> Cells:
    family = mixture.family
    source = {name: value[j] for name, value in mixture.source.items()}
    spread = {name: value[j] for name, value in errors.items()}
    if isinstance(family, ComponentFamilies):
        return _member_cells(family, mixture, j, spread)
    if not isinstance(family, Product):
        return _block_cells(family, source, spread, 0)
    cells: Cells = {}
    start = 0
    for block, own, width in zip(family.block_names, family.families, family.widths, strict=True):
        names = [(f"{block}_{name}", name) for name in own.parameters]
        part = {name: source[long] for long, name in names}
        part_spread = {name: spread[long] for long, name in names if long in spread}
        cells |= _block_cells(own, part, part_spread, start)
        start += width
    return cells


def _member_cells(family: ComponentFamilies, mixture: Mixture, j: int, spread: Mapping[str, Array]) -> Cells:
    """The parameters of a component by the names of its own family, which stands beside them."""
    member, kind = mixture.members[j], int(family.kind_of(mixture.natural)[j])
    prefix = f"{family.kind_names[kind]}_"
    source = {name: value[0] for name, value in member.source.items()}
    own = {name: spread[prefix + name] for name in source if prefix + name in spread}
    return {(0, "family"): member.family.name, **_block_cells(member.family, source, own, 0)}


def _block_cells(family: ExponentialFamily, source: dict[str, Any], spread: dict[str, Any], start: int) -> Cells:
    cells: Cells = {}
    for name, value in source.items():
        cells |= {
            (start + line, heading): text
            for (line, heading), text in _parameter_cells(family, name, np.asarray(value), spread.get(name)).items()
        }
    return cells


def _parameter_cells(family: ExponentialFamily, name: str, value: Array, error: Any) -> Cells:
    """One parameter of one component, line by line."""
    width = family.n_features or 1
    if value.ndim == 2 and name == "covariance":
        return _covariance_cells(value, error)
    if value.ndim == 2:
        return {(row, name): numbers(value[row]) for row in range(len(value))}
    if isinstance(family, Categorical):
        levels = np.broadcast_to(np.asarray(family.n_categories, dtype=int), width)
        stops = np.cumsum(levels)[:-1]
        return {(line, name): numbers(part) for line, part in enumerate(np.split(value, stops))}
    if value.shape == (width,):
        flat = [None] * width if error is None else np.ravel(error)
        return {(line, name): number(value[line], flat[line]) for line in range(width)}
    if value.size == 1:
        return {(0, name): number(value.item(), None if error is None else np.ravel(error)[0])}
    return {(0, name): numbers(value.ravel())}


def _covariance_cells(covariance: Array, error: Any) -> Cells:
    """Standard deviations and, for a few columns, their correlations."""
    variance = np.diag(covariance)
    deviation = np.sqrt(variance)
    # The error of a square root is that of its square, divided by twice the root.
    spread = [None] * len(deviation) if error is None else np.diag(np.atleast_2d(error)) / (2 * deviation)
    cells = {(line, "std. dev."): number(deviation[line], spread[line]) for line in range(len(deviation))}
    if len(deviation) <= MOST_NUMBERS:
        correlation = covariance / np.outer(deviation, deviation)
        for line in range(1, len(deviation)):
            cells[line, "correlation"] = " ".join(f"{round(value, 2) + 0.0:5.2f}" for value in correlation[line, :line])
    return cells


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
