"""The parameters of components as text: a cell for each column and parameter, wide ones cut to what can be read."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from ..families import Categorical, ExponentialFamily, Member, Product
from ..families.support import PositiveDefinite
from ..numerics.arrays import Array

# More components than this are cut to the heaviest, more columns to the first, longer lists to their beginning.
MOST_COMPONENTS = 20
MOST_COLUMNS = 10
MOST_NUMBERS = 6
# Parameters that are a place among the values, and where a float has no digit after the point left.
PLACES, MOST_DIGITS = ("mean", "location"), 1e15

Cells = dict[tuple[int, str], str]
"""By line and heading."""


class Shown(Protocol):
    """What is shown of a mixture."""

    @property
    def family(self) -> ExponentialFamily: ...
    @property
    def weights(self) -> Array: ...
    @property
    def natural(self) -> Array: ...
    @property
    def columns(self) -> tuple[str, ...] | None: ...
    @property
    def n_components(self) -> int: ...
    @property
    def members(self) -> list[Member]: ...


def number(value: float, error: float | None = None, place: bool = False) -> str:
    """Four digits (all before the point, if there are not too many) and the standard error where there is one.

    Large numbers that are a place, such as times, have all digits before the point, and those that the error leaves.

    >>> number(2.03638, 0.0271), number(21402.6, 257.3), number(1.7e9 + 61, 202.4, place=True)
    ('2.036 ± 0.027', '21403 ± 257', '1700000061 ± 202')
    """
    text = f"{value:.0f}" if 1e4 <= abs(value) < (MOST_DIGITS if place else 1e7) else f"{value:.4g}"
    if error is None or not np.isfinite(error):
        return text
    if place and error > 0 and 1e3 * error < abs(value) < MOST_DIGITS:
        after = 1 - int(np.floor(np.log10(error)))
        before = 1 + int(np.floor(np.log10(abs(value))))
        text = f"{value:.{max(0, min(after, 15 - before))}f}"
    return f"{text} ± {error:.0f}" if 99.5 <= error < 1e7 else f"{text} ± {error:.2g}"


def numbers(values: Sequence[float] | Array) -> str:
    """A short list of numbers, the rest counted.

    >>> numbers([1.0, 2.5])
    '1, 2.5'
    """
    shown = ", ".join(f"{value:.3g}" for value in values[:MOST_NUMBERS])
    return shown if len(values) <= MOST_NUMBERS else f"{shown}, ... ({len(values)})"


def shown_components(mixture: Shown) -> list[int]:
    """The components of a table: the heaviest."""
    heaviest = np.argsort(-mixture.weights, kind="stable")[:MOST_COMPONENTS]
    return sorted(int(j) for j in heaviest)


def line_names(family: ExponentialFamily, columns: Sequence[str] | None) -> list[str]:
    """The lines of a component: its columns, or the rows of its matrix."""
    width = family.n_features or 1
    if isinstance(family.support, PositiveDefinite):
        return [f"row {row}" for row in range(round(np.sqrt(width)))]
    names = [f"x{place}" for place in range(width)] if columns is None else columns
    return [str(name) for name in names]


def component_cells(member: Member, j: int, errors: Mapping[str, Array]) -> Cells:
    """The parameters of component j, each beside its column, with standard errors where they are known."""
    family = member.family
    source = {name: value[0] for name, value in member.source.items()}
    # A list of families has its parameters under the names of both.
    prefix = family.name.replace("-", "_")
    own_errors = {name: errors.get(name, errors.get(f"{prefix}_{name}")) for name in source}
    spread = {name: value[j] for name, value in own_errors.items() if value is not None}
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
        return {(line, name): number(value[line], flat[line], name in PLACES) for line in range(width)}
    if value.size == 1:
        return {(0, name): number(value.item(), None if error is None else np.ravel(error)[0], name in PLACES)}
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
