"""The table of the components: weight, size and usual parameters with their standard errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..families import Categorical
from ..inspection import StandardErrors, standard_errors
from ..learning.certificate import SOFT_ALGORITHMS
from ..mixture import Mixture
from ..numerics.arrays import Array
from ..plotting.marginals import category_counts
from .markup import TIMES, badge, element, folded, table, text
from .numbers import column, count

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

    @property
    def is_matrix(self) -> bool:
        """Whether each component has a square table of it."""
        return self.values.ndim == 3

    @property
    def entries(self) -> list[tuple[str, Array, Array | None]]:
        """A name, values (k,) and errors of each number; of a symmetric matrix the upper half."""
        k = len(self.values)
        if self.is_matrix:
            width = self.values.shape[1]
            places = [(i, j) for i in range(width) for j in range(i, width)]
            names = [self._column(i) if i == j else f"{self._column(i)}, {self._column(j)}" for i, j in places]
            names = names if width > 1 else [""]
            chosen = [(slice(None), i, j) for i, j in places]
            return [
                (name, self.values[at], None if self.errors is None else self.errors[at])
                for name, at in zip(names, chosen, strict=True)
            ]
        values = self.values.reshape(k, -1)
        errors = None if self.errors is None else self.errors.reshape(k, -1)
        width = values.shape[1]
        return [
            (self._column(i) if width > 1 else "", values[:, i], None if errors is None else errors[:, i])
            for i in range(width)
        ]

    def _column(self, place: int) -> str:
        """What a number belongs to: a column of the data where there is one for each, else its place."""
        shape = self.values.shape[1:]
        return self.columns[place] if shape[0] == len(self.columns) else str(place)


def errors_of(
    mixture: Mixture, X: Any, sample_weight: ArrayLike | None, algorithm: str, weights_held: bool
) -> StandardErrors | str:
    """Standard errors by the method that suits the algorithm, or the sentence that says why there are none."""
    unknowns = mixture.n_components * (mixture.family.order + 1)
    if unknowns > MOST_UNKNOWNS:
        return f"There are no standard errors: {count(unknowns)} unknowns are too many; use kmle.inspection.bootstrap."
    method = "observed" if algorithm in SOFT_ALGORITHMS else "complete"
    try:
        found = standard_errors(mixture, X, sample_weight, method, weights_held=weights_held)
    except ValueError as error:
        return f"There are no standard errors: {error}."
    if not all(np.isfinite(value).all() for value in (found.weights, *found.source.values())):
        return "There are no standard errors: they are not finite at these parameters."
    return found


def components_section(mixture: Mixture, sizes: Array, errors: StandardErrors | str, columns: tuple[str, ...]) -> str:
    """The table of components and, where they have many numbers, tables of their parameters."""
    known = errors if isinstance(errors, StandardErrors) else None
    if isinstance(mixture.family, Categorical):
        levels = zip(columns, category_counts(mixture.family), strict=True)
        columns = tuple(f"{name}: {category}" for name, categories in levels for category in range(categories))
    parameters = [
        Parameter(name, np.asarray(value), None if known is None else known.source[name], columns)
        for name, value in mixture.source.items()
    ]
    numbers = sum(len(parameter.entries) for parameter in parameters)
    inline = parameters if numbers <= MOST_INLINE else []
    weights = _cells(mixture.weights, None if known is None else known.weights)
    cells = [weights, [count(size) for size in sizes]]
    groups = [("", 3)]
    heads = ["component", "weight", "rows"]
    for parameter in inline:
        entries = parameter.entries
        groups.append((parameter.name, len(entries)))
        heads += [text(name) if name else text(parameter.name) for name, _, _ in entries]
        cells += [_cells(values, error) for _, values, error in entries]
    rows = [[badge(j), *(cell[j] for cell in cells)] for j in range(mixture.n_components)]
    named = any(size > 1 for _, size in groups[1:])
    above = "".join(element("th", text(n if size > 1 else ""), colspan=str(size), class_="group") for n, size in groups)
    shown = table(heads, rows, above=f"<tr>{above}</tr>" if named else "")
    others = [_own_table(mixture, parameter) for parameter in parameters if not inline]
    told = f"Numbers after ± are standard errors ({known.method} information)." if known is not None else str(errors)
    return shown + "".join(others) + element("p", text(told), class_="note")


def _own_table(mixture: Mixture, parameter: Parameter) -> str:
    title = element("span", text(parameter.name), class_="name")
    if parameter.is_matrix:
        return _matrices(mixture, parameter, title)
    entries = parameter.entries
    shown = entries[: max(1, min(MOST_ROWS, MOST_CELLS // mixture.n_components))]
    cells = [_cells(values, errors) for _, values, errors in shown]
    heads = ["column", *(badge(j) for j in range(mixture.n_components))]
    rows = [[text(name or parameter.name), *row] for (name, _, _), row in zip(shown, cells, strict=True)]
    more = f"<p class='note'>The first {count(len(shown))} of {count(len(entries))}; the model file has all.</p>"
    content = table(heads, rows) + (more if len(entries) > len(shown) else "")
    return folded(f"{title} <small>{count(len(entries))} for each component</small>", content, opened=len(shown) <= 12)


def _matrices(mixture: Mixture, parameter: Parameter, title: str) -> str:
    width = parameter.values.shape[1]
    size = f"<small>{width} {TIMES} {width} for each component</small>"
    if width > WIDEST_MATRIX or mixture.n_components > MOST_MATRICES:
        return folded(f"{title} {size}", "<p class='note'>Too large to be read here; the model file has it.</p>")
    names = [text(parameter._column(place)) for place in range(width)]
    tables = []
    for component, matrix in enumerate(parameter.values):
        errors = None if parameter.errors is None else parameter.errors[component]
        cells = [_cells(matrix[:, j], None if errors is None else errors[:, j]) for j in range(width)]
        rows = [[names[i], *(cells[j][i] for j in range(width))] for i in range(width)]
        tables.append(f"<h4>{badge(component)}</h4>" + table(["", *names], rows))
    return folded(f"{title} {size}", "".join(tables), opened=False)


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
