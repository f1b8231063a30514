"""What is known of rows beside their values: labels (McLachlan and Peel, 2000, section 2.19) and groups.

A label fixes the class of a row: a component, or the set of components that the row may belong to. A matrix of
probabilities weighs the components of each row. Rows of one group share a component.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..families import ComponentFamilies, resolve
from ..families.parameterless import Parameterless
from ..numerics.arrays import Array
from .plan import Plan

# Names of this many groups or classes at most are written out in messages.
NAMED = 6


@dataclass(frozen=True)
class Classes:
    """The class of each component (k,); `unknown` stands for none: -1 beside whole numbers, None beside names."""

    of_components: NDArray[Any]
    unknown: Any

    @property
    def known(self) -> NDArray[Any]:
        """The classes, each once, in order."""
        return _distinct(self.of_components[[not _is_unknown(value) for value in self.of_components]])

    def without(self, removed: tuple[int, ...]) -> "Classes":
        """The classes of the components that are left."""
        return Classes(np.delete(self.of_components, list(removed)), self.unknown)

    def patterns(self) -> Array:
        """For each class the logarithms of what rows of it allow (c, k): zero, or minus infinity."""
        allowed = self.of_components[None, :] == self.known[:, None]
        return np.where(allowed, 0.0, -np.inf)

    def codes(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """The place of each label (n,) among the known classes, -1 where it is unknown; others are refused by name."""
        known = {value: place for place, value in enumerate(self.known.tolist())}
        codes = np.empty(len(labels), dtype=np.intp)
        for row, value in enumerate(labels.tolist()):
            if _is_unknown(value):
                codes[row] = -1
            elif value in known:
                codes[row] = known[value]
            else:
                raise ValueError(f"row {row} has the label {value!r}: the classes are {_listed(self.known)}")
        return codes


@dataclass(frozen=True)
class Knowledge:
    """Labels as patterns of log prior probabilities (p, k) with a code for each row (-1: nothing is known), groups as
    numbers (n,), and the classes of the components.
    """

    patterns: Array | None = None
    codes: NDArray[np.intp] | None = None
    groups: NDArray[np.intp] | None = None
    classes: Classes | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known."""
        return self.codes is None and self.groups is None

    def notes(self) -> list[str]:
        """What is known, in words."""
        notes = []
        if self.codes is not None:
            notes.append(f"{int((self.codes >= 0).sum())} of {len(self.codes)} rows are labelled.")
        if self.groups is not None:
            notes.append(f"{len(self.groups)} rows are in {len(np.unique(self.groups))} groups.")
        return notes

    def take(self, rows: NDArray[Any] | slice) -> "Knowledge":
        """What is known of some rows."""
        codes = None if self.codes is None else self.codes[rows]
        return Knowledge(self.patterns, codes, None if self.groups is None else self.groups[rows], self.classes)


def knowledge_of(labels: Any, groups: Any, n_rows: int, plan: Plan) -> Knowledge:
    """What a user says of rows, checked."""
    numbers = None if groups is None else group_numbers(groups, n_rows)
    if labels is None:
        if plan.component_classes is not None:
            raise ValueError("component_classes needs labels: give labels to fit")
        return Knowledge(groups=numbers)
    table = _as_array(labels)
    if table.ndim == 2:
        if plan.component_classes is not None:
            raise ValueError("labels are probabilities of components: leave component_classes out")
        patterns, codes = probability_patterns(table, n_rows, plan.n_components)
        return Knowledge(patterns, codes, numbers)
    column = label_column(table, n_rows)
    classes = _classes(column, plan)
    codes = classes.codes(column)
    return Knowledge(classes.patterns(), codes, numbers, classes)


def group_numbers(groups: Any, n_rows: int) -> NDArray[np.intp]:
    """Groups as whole numbers in the order in which they appear first."""
    column = _as_array(groups)
    if column.shape != (n_rows,):
        raise ValueError(f"groups has shape {column.shape}: one group per row is needed, shape ({n_rows},)")
    missing = [row for row, value in enumerate(column.tolist()) if value is None or value != value]
    if missing:
        raise ValueError(f"row {missing[0]} has no group: give every row a group, a row by itself one of its own")
    _, first, numbers = np.unique(column, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[numbers.ravel()]


def label_column(table: NDArray[Any], n_rows: int) -> NDArray[Any]:
    """Labels (n,): whole numbers with -1 for unknown ones, or names with None."""
    if table.shape != (n_rows,):
        raise ValueError(f"labels has shape {table.shape}: one label per row is needed, shape ({n_rows},)")
    if table.dtype.kind == "f":
        whole = np.where(np.isnan(table), -1, table)
        if (wrong := whole != np.floor(whole)).any():
            row = int(np.argmax(wrong))
            raise ValueError(f"row {row} has the label {table[row]}: labels must be whole numbers or names")
        table = whole.astype(np.int64)
    if table.dtype.kind in "iu" and (table < -1).any():
        row = int(np.argmax(table < -1))
        raise ValueError(f"row {row} has the label {table[row]}: whole numbers must be -1 (unknown) or more")
    return table


def probability_patterns(table: NDArray[Any], n_rows: int, k: int) -> tuple[Array, NDArray[np.intp]]:
    """The distinct rows of a matrix of prior probabilities, as logarithms of shares of each row's largest."""
    if table.shape != (n_rows, k):
        raise ValueError(f"labels has shape {table.shape}: probabilities need one row per row and {k} columns")
    try:
        shares = table.astype(float)
    except (TypeError, ValueError):
        raise ValueError("labels as a matrix must be numbers: a probability for each row and component") from None
    wrong = ~(np.isfinite(shares) & (shares >= 0)).all(axis=1) | (shares.sum(axis=1) <= 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(f"row {row} of labels is {shares[row].tolist()}: it must be probabilities, not all zero")
    patterns, codes = np.unique(shares / shares.max(axis=1, keepdims=True), axis=0, return_inverse=True)
    codes = codes.ravel()
    # Rows that weigh all components alike know nothing.
    alike = (patterns == 1).all(axis=1)
    with np.errstate(divide="ignore"):
        return np.log(patterns), np.where(alike[codes], -1, codes)


def _classes(labels: NDArray[Any], plan: Plan) -> Classes:
    unknown = -1 if labels.dtype.kind in "iub" else None
    if plan.component_classes is not None:
        given = np.empty(np.size(_as_array(plan.component_classes)), dtype=object)
        given[:] = [None if _is_unknown(value) else value for value in _as_array(plan.component_classes).tolist()]
        if given.shape != (plan.n_components,):
            raise ValueError(
                f"component_classes has {len(given)} entries: {plan.n_components} are needed, one per component"
            )
        return Classes(given, unknown)
    known = _distinct(labels[[not _is_unknown(value) for value in labels.tolist()]])
    if len(known) == 0:
        raise ValueError("no row has a label: leave labels out, or give component_classes")
    classless = _without_parameters(plan)
    n_components = plan.n_components - int(classless.sum())
    each, left = divmod(n_components, len(known))
    if left or each == 0:
        raise ValueError(
            f"labels have {len(known)} classes ({_listed(known)}) and n_components is {n_components}: use a "
            "multiple of the number of classes, or give the class of each component as component_classes"
        )
    found = np.empty(plan.n_components, dtype=object)
    found[classless], found[~classless] = unknown, np.repeat(known, each)
    return Classes(found, unknown)


def _without_parameters(plan: Plan) -> NDArray[np.bool_]:
    """Which components (k,) are noise or point masses, which are of no class unless `component_classes` says so."""
    family = resolve(plan.family)
    if not isinstance(family, ComponentFamilies):
        return np.zeros(plan.n_components, dtype=bool)
    return np.array([isinstance(own, Parameterless) for own in family.families])


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    try:
        found = sorted(set(values.tolist()))
    except TypeError:
        raise ValueError("labels must be all whole numbers or all names") from None
    distinct = np.empty(len(found), dtype=object)
    distinct[:] = found
    return distinct


def _is_unknown(value: Any) -> bool:
    """None, NaN, pandas' NA, or -1."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating) and np.isnan(value):
        return True
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value == -1


def _as_array(values: Any) -> NDArray[Any]:
    """Numbers or objects, from lists, arrays and columns of tables."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    table = np.asarray(values)
    if table.dtype.kind in "USO" or table.ndim == 0:
        table = np.asarray(values, dtype=object)
    return table


def _listed(values: NDArray[Any]) -> str:
    names = [repr(value) for value in values.tolist()]
    return ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
