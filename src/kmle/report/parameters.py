"""The table of the components: weight, size and usual parameters with their standard errors."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithms.certificate import SOFT_ALGORITHMS
from ..families import Categorical, ComponentFamilies, ExponentialFamily, Product
from ..inspection import StandardErrors, standard_errors
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..plotting.marginals import category_counts
from .markup import TIMES, badge, element, folded, table, text
from .numbers import column, count, plain

# Up to this many numbers a component are in the one table; more have tables of their own.
MOST_INLINE = 6
MOST_ROWS, MOST_CELLS, WIDEST_MATRIX, MOST_MATRICES = 200, 4000, 30, 24
# The information matrix has this many rows at most; it is held, and inverted, as a whole.
MOST_UNKNOWNS = 1500


@dataclass(frozen=True)
class Parameter:
    """One usual parameter of all components: values (k, ...) and errors of the same shape, or none."""

    name: str
    values: Array
    errors: Array | None
    columns: tuple[str, ...]
    symmetric: bool = False
    """Whether each component has a square table of it whose lower half says all: correlations."""

    @property
    def is_matrix(self) -> bool:
        """Whether each component has a square table of it."""
        return self.values.ndim == 3

    @property
    def entries(self) -> list[tuple[str, Array, Array | None]]:
        """What it belongs to, values (k,) and errors of each number; of a symmetric matrix the upper half."""
        if not self.is_matrix:
            flat = self.values.reshape(len(self.values), -1)
            errors = None if self.errors is None else self.errors.reshape(flat.shape)
            return [
                (self._column(i), flat[:, i], None if errors is None else errors[:, i]) for i in range(flat.shape[1])
            ]
        width = self.values.shape[1]
        places = [(i, j) for i in range(width) for j in range(i + self.symmetric, width)]
        return [
            (
                self._column(i) if i == j else f"{self._column(i)}, {self._column(j)}",
                self.values[:, i, j],
                None if self.errors is None else self.errors[:, i, j],
            )
            for i, j in places
        ]

    def _column(self, place: int) -> str:
        """What a number belongs to: a column of the data where there is one for each, else its place."""
        shape = self.values.shape[1:]
        if len(shape) and shape[0] == len(self.columns):
            return self.columns[place]
        return "" if self.values.size == len(self.values) else str(place)


def parameters_of(mixture: Mixture, errors: StandardErrors | None, columns: tuple[str, ...]) -> list[Parameter]:
    """The parameters of all blocks, by the names of their columns; covariances as deviations and correlations."""
    found: list[Parameter] = []
    start = 0
    mixed = isinstance(mixture.family, ComponentFamilies)
    for prefix, family, width in _blocks(mixture.family):
        own = columns[start : start + width]
        start += 0 if mixed else width
        if isinstance(family, Categorical):
            levels = zip(own, category_counts(family), strict=True)
            own = tuple(f"{name}: {category}" for name, categories in levels for category in range(categories))
        for name in family.parameters:
            values = np.asarray(mixture.source[prefix + name])
            error = None if errors is None else np.asarray(errors.source[prefix + name])
            for each in _readable(Parameter(name.replace("_", " "), values, error, own)):
                found.append(replace(each, name=f"{family.name} {each.name}") if mixed else each)
    return found


def _blocks(family: ExponentialFamily) -> list[tuple[str, ExponentialFamily, int]]:
    """What the parameters of each block begin with, its family and its number of columns."""
    if isinstance(family, ComponentFamilies):
        named = zip(family.kind_names, family.kinds, strict=True)
        return [(f"{name}_", kind, family.n_features or 1) for name, kind in named]
    if not isinstance(family, Product):
        return [("", family, family.n_features or 1)]
    names = [f"{name}_" for name in family.block_names]
    return list(zip(names, family.families, family.widths, strict=True))


def _readable(parameter: Parameter) -> list[Parameter]:
    """Of a covariance the standard deviations and, of several columns, the correlations; else the parameter itself."""
    if parameter.name != "covariance" or not parameter.is_matrix:
        return [parameter]
    covariance, columns = parameter.values, parameter.columns
    deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    error = None
    if parameter.errors is not None:
        # The error of a square root is that of its square, divided by twice the root.
        error = np.diagonal(parameter.errors, axis1=1, axis2=2) / (2 * deviation)
    found = [Parameter("std. dev.", deviation, error, columns)]
    if len(columns) > 1:
        correlation = covariance / (deviation[:, :, None] * deviation[:, None, :])
        found.append(Parameter("correlation", correlation, None, columns, symmetric=True))
    return found


def errors_of(
    mixture: Mixture, X: Any, sample_weight: ArrayLike | None, algorithm: str, weights_held: bool
) -> StandardErrors | str:
    """Standard errors by the method that suits the algorithm, or the sentence that says why there are none."""
    unknowns = mixture.n_components * (mixture.family.n_statistics + 1)
    if unknowns > MOST_UNKNOWNS:
        return f"There are no standard errors: {count(unknowns)} unknowns are too many; use kmle.inspection.bootstrap."
    method = "observed" if algorithm in SOFT_ALGORITHMS else "complete"
    try:
        found = standard_errors(mixture, X, sample_weight, method, weights_held=weights_held)
    except ValueError as error:
        return f"There are no standard errors: {error}."
    known = [(mixture.weights, found.weights), *((mixture.source[name], own) for name, own in found.source.items())]
    if not all(np.isfinite(errors[np.isfinite(values)]).all() for values, errors in known):
        return "There are no standard errors: they are not finite at these parameters."
    return found


def components_section(mixture: Mixture, sizes: Array, errors: StandardErrors | str, columns: tuple[str, ...]) -> str:
    """The table of components and, where they have many numbers, tables of their parameters."""
    known = errors if isinstance(errors, StandardErrors) else None
    parameters = parameters_of(mixture, known, columns)
    numbers = sum(len(parameter.entries) for parameter in parameters)
    inline = parameters if numbers <= MOST_INLINE else []
    cells = [_cells(mixture.weights, None if known is None else known.weights), [count(size) for size in sizes]]
    groups = [("", 3)]
    heads = ["component", "weight", "rows"]
    for parameter in inline:
        entries = parameter.entries
        groups.append((parameter.name, len(entries)))
        heads += [text(name) if len(columns) > 1 else text(parameter.name) for name, _, _ in entries]
        cells += [_cells(values, error) for _, values, error in entries]
    rows = [[badge(j), *(cell[j] for cell in cells)] for j in range(mixture.n_components)]
    above = "".join(
        element("th" if name else "td", text(name), colspan=str(size), class_="group") for name, size in groups
    )
    shown = table(heads, rows, above=f"<tr>{above}</tr>" if inline and len(columns) > 1 else "")
    flat = [] if inline else [parameter for parameter in parameters if not parameter.is_matrix]
    others = [_flat_table(mixture, flat)] if flat else []
    others += [_matrices(mixture, parameter) for parameter in parameters if not inline and parameter.is_matrix]
    message = f"Numbers after ± are standard errors ({known.method} information)." if known is not None else str(errors)
    return shown + "".join(others) + element("p", text(message), class_="note")


def _flat_table(mixture: Mixture, parameters: list[Parameter]) -> str:
    """A line for each column and parameter, a cell for each component; the lines of a column stand together."""
    lines = [
        (name, parameter.name, values, errors) for parameter in parameters for name, values, errors in parameter.entries
    ]
    order = {name: place for place, name in enumerate(dict.fromkeys(name for name, *_ in lines))}
    lines.sort(key=lambda line: order[line[0]])
    shown = lines[: max(1, min(MOST_ROWS, MOST_CELLS // mixture.n_components))]
    heads = ["column", "", *(badge(j) for j in range(mixture.n_components))]
    rows = [[text(name), text(what), *_cells(values, errors)] for name, what, values, errors in shown]
    more = f"<p class='note'>The first {count(len(shown))} of {count(len(lines))}; the model file has all.</p>"
    content = table(heads, rows) + (more if len(lines) > len(shown) else "")
    title = element("span", text(", ".join(parameter.name for parameter in _distinct(parameters))), class_="name")
    return folded(f"{title} <small>{count(len(lines))} for each component</small>", content, opened=len(shown) <= 24)


def _distinct(parameters: list[Parameter]) -> list[Parameter]:
    return list({parameter.name: parameter for parameter in parameters}.values())


def _matrices(mixture: Mixture, parameter: Parameter) -> str:
    width = parameter.values.shape[1]
    title = element("span", text(parameter.name), class_="name")
    size = f"<small>{width} {TIMES} {width} for each component</small>"
    if width > WIDEST_MATRIX or mixture.n_components > MOST_MATRICES:
        return folded(f"{title} {size}", "<p class='note'>Too large to show here; the model file has it.</p>")
    names = [text(parameter._column(place)) for place in range(width)]
    tables = []
    for component, matrix in enumerate(parameter.values):
        errors = None if parameter.errors is None else parameter.errors[component]
        if parameter.symmetric:
            heads = ["", *names[:-1]]
            rows = [
                [names[i], *(plain(matrix[i, j], 2) for j in range(i)), *[""] * (width - 1 - i)]
                for i in range(1, width)
            ]
        else:
            heads = ["", *names]
            cells = [_cells(matrix[:, j], None if errors is None else errors[:, j]) for j in range(width)]
            rows = [[names[i], *(cells[j][i] for j in range(width))] for i in range(width)]
        tables.append(f"<div><h3>{badge(component)}</h3>{table(heads, rows)}</div>")
    opened = width * mixture.n_components <= 16
    return folded(f"{title} {size}", element("div", *tables, class_="beside"), opened=opened)


def _cells(values: Array, errors: Array | None) -> list[str]:
    """Numbers, each with its error behind it in grey."""
    shown = column(values, errors)
    if errors is None:
        return shown
    behind = column(np.append(errors, values), np.append(errors, errors))[: len(errors)]
    return [
        f"{value}<span class='error'> ± {error}</span>" if size > 0 else value
        for value, error, size in zip(shown, behind, errors, strict=True)
    ]
