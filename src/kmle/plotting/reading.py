"""What is drawn: a mixture, legal rows, names of columns; all checked before anything is drawn."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from ..algorithms import Fit
from ..data.intervals import Intervals
from ..estimators import KMLE, ExponentialFamilyMixture
from ..families.sparse import check_sparse
from ..families.validation import as_rows, issparse
from ..inspection.rows import in_numbers
from ..mixture import Mixture
from ..numerics.arrays import Array

Model: TypeAlias = KMLE | ExponentialFamilyMixture | Fit | Mixture
Columns: TypeAlias = Sequence[int | str] | None
# What the only column is called when it has no name.
UNNAMED = "x"


@dataclass(frozen=True, eq=False)
class Subject:
    """A mixture, the rows (dense or sparse) and all columns' names, and which columns are to be drawn."""

    mixture: Mixture
    rows: Array | csr_array
    names: tuple[str, ...]
    columns: tuple[int, ...]
    left_out: int = 0
    """Rows that lack a column to draw, and are not among these."""
    intervals: Intervals | None = None
    """What is known of the values of the only column, where some are censored."""

    def known(self, places: NDArray[np.intp]) -> Any:
        """Some rows as a mixture scores them: as intervals where values are censored."""
        return self.rows[places] if self.intervals is None else self.intervals[places]

    @property
    def total(self) -> int:
        """The number of all rows."""
        return self.rows.shape[0] + self.left_out

    def with_entries(self) -> "Subject":
        """The same without rows that lack a column to draw."""
        if issparse(self.rows):
            return self
        seen = ~np.isnan(dense(self.rows, self.columns)).any(axis=1)
        if seen.all():
            return self
        if not seen.any():
            raise ValueError(f"no row has all of {', '.join(map(repr, self.chosen_names))}: choose other columns")
        return replace(self, rows=self.rows[seen], left_out=self.left_out + int((~seen).sum()))

    @property
    def whole(self) -> bool:
        """Whether all columns are drawn, in their order."""
        return self.columns == tuple(range(len(self.names)))

    @property
    def chosen_names(self) -> list[str]:
        """The names of the columns to draw."""
        return [self.names[column] for column in self.columns]

    def sampled(self, max_points: int) -> Array | csr_array:
        """At most `max_points` rows, the same ones every time, in their order."""
        return self.rows if self.rows.shape[0] <= max_points else self.rows[self.sampled_places(max_points)]

    def sampled_places(self, max_points: int) -> NDArray[np.intp]:
        """The numbers of these rows."""
        n = self.rows.shape[0]
        if n <= max_points:
            return np.arange(n)
        return np.sort(np.random.default_rng(0).choice(n, max_points, replace=False, shuffle=False))


def dense(rows: Array | csr_array, columns: Sequence[int]) -> Array:
    """These columns of the rows, as an array; one column, or all, is not copied."""
    if issparse(rows):
        chosen: Any = rows[:, list(columns)]
        return np.asarray(chosen.toarray())
    if len(columns) == 1:
        return rows[:, columns[0] : columns[0] + 1]
    return rows if tuple(columns) == tuple(range(rows.shape[1])) else rows[:, list(columns)]


def entries(rows: Array | csr_array, column: int) -> Array:
    """The values of a column that are there (m,)."""
    values = dense(rows, [column])[:, 0]
    seen = ~np.isnan(values)
    return values if seen.all() else values[seen]


def mixture_of(model: Any) -> Mixture:
    """The mixture of a fitted estimator, of a Fit, or the mixture itself."""
    if isinstance(model, Mixture):
        return model
    if isinstance(model, Fit):
        return model.mixture
    if not hasattr(model, "fit"):
        raise ValueError(f"model is a {type(model).__name__}: give a fitted KMLE, its result_, or a Mixture")
    check_is_fitted(model, "mixture_")
    return model.mixture_


def read(model: Any, X: ArrayLike, columns: Columns = None) -> Subject:
    """Mixture, legal rows and names; `columns` chooses, or names the columns of data without names."""
    mixture = mixture_of(model)
    n_features = mixture.family.n_features or 1
    learned = [str(name) for name in getattr(model, "feature_names_in_", ())]
    table: Any = in_numbers(model, X)
    headers = _headers(table)
    if headers is not None and learned and headers != learned and set(learned) <= set(headers):
        table, headers = table[learned], learned
    if issparse(table):
        rows, width = table, table.shape[1]
    else:
        rows = as_rows(mixture.family, table)
        width = rows.shape[1]
    if width != n_features:
        raise ValueError(
            f"X has {width} columns but the mixture is of {n_features}: give the columns it was fitted to"
            " (and select among them with columns=[...])"
        )
    names = headers or (learned if len(learned) == n_features else None)
    names, chosen = _choice(columns, names, n_features)
    legal = check_sparse(mixture.family, rows) if issparse(rows) else mixture.family.check(rows, names, missing=True)
    return Subject(mixture, legal, tuple(names), chosen)


def named_columns(model: Any, columns: Columns) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The names of a model's columns and which are chosen, where there is no data to ask."""
    n_features = mixture_of(model).family.n_features or 1
    learned = [str(name) for name in getattr(model, "feature_names_in_", ())]
    names, chosen = _choice(columns, learned if len(learned) == n_features else None, n_features)
    return tuple(names), chosen


def _headers(X: Any) -> list[str] | None:
    """The names of the columns of a data frame (or of its one column), None for anything else."""
    headers = getattr(X, "columns", None)
    if headers is None:
        name = getattr(X, "name", None) if hasattr(X, "dtype") else None
        return [name] if isinstance(name, str) and np.ndim(X) == 1 else None
    return [str(name) for name in headers]


def _choice(columns: Columns, names: list[str] | None, width: int) -> tuple[list[str], tuple[int, ...]]:
    numbered = [f"column {column}" for column in range(width)] if width > 1 else [UNNAMED]
    if columns is None:
        return names or numbered, tuple(range(width))
    wanted = [columns] if isinstance(columns, int | str) else list(columns)
    if names is None and len(wanted) == width and all(isinstance(name, str) for name in wanted):
        return [str(name) for name in wanted], tuple(range(width))
    known = names or numbered
    places = tuple(_place(column, known) for column in wanted)
    if not places or len(set(places)) < len(places):
        raise ValueError(f"columns is {columns!r}: name at least one column, and each only once")
    return known, places


def _place(column: int | str, names: list[str]) -> int:
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int | np.integer) and 0 <= column < len(names):
        return int(column)
    listed = ", ".join(map(repr, names[:8])) + (", ..." if len(names) > 8 else "")
    raise ValueError(f"columns names {column!r}; it must be one of 0 to {len(names) - 1}: {listed}")
