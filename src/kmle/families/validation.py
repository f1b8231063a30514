"""Validation at the edge: data, weights and usual parameters, each refused with one sentence that says what to do."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from .._kernels import ColumnSummary, summarize_columns
from ..numerics.arrays import Array
from .contract import FamilyContract
from .shapes import as_matrices
from .support import PositiveDefinite, Support

# The largest absolute value of t(x): its square is finite.
LARGEST_STATISTIC = 1e150
# The largest absolute values of x and t(x) that are learned from: products of three, and sums of many, are finite.
LARGEST_LEARNED, LARGEST_LEARNED_STATISTIC = 1e75, 1e95
# The least difference within a column that is learned from: products of three are no zeros.
SMALLEST_SPREAD = 1e-75
# Weights whose sum falls short of the number of rows by less than this share count rows: it is rounding.
RELATIVE = 1e-9


def issparse(X: Any) -> bool:
    """Whether X is a sparse array or matrix of SciPy; where nobody has loaded those, there is none.

    >>> issparse([[1.0]])
    False
    """
    return "scipy.sparse" in sys.modules and bool(scipy.sparse.issparse(X))


def in_memory(X: Any) -> Any:
    """X, or a NumPy array with the numbers of an array of another library; one on another device is refused.

    >>> in_memory([[1.0]])
    [[1.0]]
    """
    if isinstance(X, np.ndarray | np.generic | list | tuple) or not hasattr(X, "__dlpack__"):
        return X
    try:
        return np.asarray(X)
    except (TypeError, RuntimeError, ValueError, BufferError):
        pass
    try:
        return np.from_dlpack(X)
    except (TypeError, RuntimeError, ValueError, BufferError, AttributeError):
        library = type(X).__module__.split(".")[0]
        raise ValueError(
            f"this {library} array cannot be read here: give a dense one in the memory of the CPU, without gradients "
            "(X.detach().cpu().to_dense().double() in torch, X.get() in CuPy, outside of jit in JAX)"
        ) from None


def unmasked(X: Any) -> Any:
    """X, or the data of a masked array: what is masked is missing (NaN)."""
    if not isinstance(X, np.ma.MaskedArray):
        return in_memory(X)
    if not np.ma.is_masked(X):
        return X.data
    values = np.array(X.data, dtype=X.dtype if X.dtype == np.float32 else float)
    values[np.ma.getmaskarray(X)] = np.nan
    return values


def unmasked_weights(sample_weight: Any, first_row: int = 0) -> Any:
    """Weights, or the data of a masked array of them with nothing masked."""
    if not isinstance(sample_weight, np.ma.MaskedArray):
        return sample_weight
    if np.ma.is_masked(sample_weight):
        place = first_row + int(np.argmax(np.ma.getmaskarray(sample_weight)))
        raise ValueError(f"sample_weight[{place}] is masked: give every row a weight, zero to ignore it")
    return sample_weight.data


def as_rows(family: FamilyContract, X: ArrayLike) -> Array:
    """X as a float array (n, d): a flat list is one column, (n, p, p) matrices are flattened. float32 stays."""
    X = unmasked(X)
    try:
        data = np.asarray(X)
    except ValueError:
        raise ValueError("the rows have different lengths: give the same number of columns in every row") from None
    if data.dtype not in (np.float32, np.float64):
        data = _as_float(data)
    if data.ndim == 1:
        data = data[:, None]
    if data.ndim == 3 and isinstance(family.support, PositiveDefinite):
        data = data.reshape(len(data), -1)
    if data.ndim != 2:
        raise ValueError(f"{family.name} takes rows and columns, a 2-D array; this one has {data.ndim} dimensions")
    if len(data) == 0:
        raise ValueError("there are no rows: at least one is needed")
    if data.shape[1] == 0:
        raise ValueError("there are no columns: at least one is needed")
    return data


def without_na(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Objects with NaN where pandas has NA, which is no float."""
    lacking = np.array([type(value).__name__ == "NAType" for value in values.flat], dtype=bool).reshape(values.shape)
    return np.where(lacking, np.nan, values) if lacking.any() else values


def _as_float(data: np.ndarray[Any, Any]) -> Array:
    if np.iscomplexobj(data):
        raise ValueError("the data is complex: give real numbers (the real and imaginary parts as two columns, say)")
    if data.dtype == object:
        data = without_na(data)
    try:
        return data.astype(float)
    except (TypeError, ValueError):
        pass
    for index in np.ndindex(data.shape):
        try:
            float(data[index])
        except (TypeError, ValueError):
            places = zip(("row", "column"), index, strict=False)
            where = ", ".join(f"{place} {number}" for place, number in places) or "the data"
            value = data[index].item() if isinstance(data[index], np.generic) else data[index]
            raise ValueError(f"{where} holds {value!r}, which is not a number: encode or drop it") from None
    raise ValueError("the data is not a table of numbers")


def check_rows(
    family: FamilyContract,
    X: ArrayLike,
    columns: list[str] | None = None,
    first_row: int = 0,
    n_threads: int = 1,
    missing: bool = False,
) -> tuple[Array, ColumnSummary]:
    """Legal rows and the summary of their columns, or one sentence naming the first row and column that are not.

    With `missing` entries may be NaN, where the family can learn from such rows.
    """
    rows = check_shape(family, X)
    summary = summarize_columns(rows, n_threads)
    check_values(family, rows, summary, columns, first_row, missing)
    return rows, summary


def check_shape(family: FamilyContract, X: ArrayLike) -> Array:
    """X as rows of as many columns as the family has."""
    rows = as_rows(family, X)
    if family.n_features is not None and rows.shape[1] != family.n_features:
        raise ValueError(f"{family.name} has {family.n_features} columns but the data has {rows.shape[1]}")
    return rows


def check_values(
    family: FamilyContract,
    rows: Array,
    summary: ColumnSummary,
    columns: list[str] | None = None,
    first_row: int = 0,
    missing: bool = False,
) -> None:
    """Raises an error if rows are not legal, from the summary of their columns; `missing` entries may be legal."""
    if summary.missing and missing and family.takes_missing:
        _check_holes(family, rows, columns, first_row)
        summary = replace(_with_ends(family, summary), finite=True)
    # What was seen usually tells that all is well; only if not is the offender sought.
    if summary.finite and family.support.holds_all(summary):
        _check_size(family, summary, columns)
        return
    if not summary.finite:
        # With infinite entries among missing ones the infinite ones are what is wrong.
        infinite = np.isinf(rows) if missing and family.takes_missing else ~np.isfinite(rows)
        row, column = np.argwhere(infinite)[0]
        what = "missing (NaN)" if np.isnan(rows[row, column]) else "infinite"
        needs = f"{family.name} needs complete rows; " if missing and what != "infinite" else ""
        raise ValueError(
            f"row {first_row + row}, column {_column(column, columns)} is {what}: {needs}drop the row or fill in a "
            "value first"
        )
    if summary.missing:
        rows = np.where(np.isnan(rows), family.support.example(rows.shape[1]), rows)
    offender = family.support.first_outsider(rows)
    if offender is not None:
        row, place = offender
        where = f"row {first_row + row}" + ("" if place is None else f", column {_column(place, columns)}")
        value = _shown(rows[row]) if place is None else f"{rows[row, place]:.6g}"
        raise ValueError(f"{where} holds {value}; {family.name} accepts {family.support.description}")
    _check_size(family, summary, columns)


def _with_ends(family: FamilyContract, summary: ColumnSummary) -> ColumnSummary:
    """The summary with a legal value as the ends of a column that has no entry."""
    unseen = summary.lowest > summary.highest
    if not summary.missing or not unseen.any():
        return summary
    example = family.support.example(len(unseen))
    lowest, highest = (np.where(unseen, example, end) for end in (summary.lowest, summary.highest))
    return replace(summary, lowest=lowest, highest=highest)


def _check_holes(family: FamilyContract, rows: Array, columns: list[str] | None, first_row: int) -> None:
    """Refuses columns that must be known together and are not."""
    for unit in family.units():
        if len(unit.columns) == 1 or unit.family.has_marginals:
            continue
        hole = np.isnan(rows[:, list(unit.columns)])
        broken = hole.any(axis=1) & ~hole.all(axis=1)
        if broken.any():
            row = int(np.argmax(broken))
            column = unit.columns[int(np.argmax(hole[row]))]
            raise ValueError(
                f"row {first_row + row}, column {_column(column, columns)} is missing (NaN): {unit.family.name} needs "
                f"all of its {len(unit.columns)} columns or none; drop the row or fill in a value first"
            )


def check_entries(summary: ColumnSummary, columns: list[str] | None = None) -> None:
    """Refuses columns without a single entry."""
    if summary.missing and (unseen := summary.lowest > summary.highest).any():
        raise ValueError(no_entry(int(np.argmax(unseen)), columns))


def no_entry(column: int, columns: list[str] | None) -> str:
    """What is said of a column whose values are all missing."""
    return f"column {_column(column, columns)} has no entry, all its values are missing: drop the column"


def check_learnable(family: FamilyContract, summary: ColumnSummary, columns: list[str] | None = None) -> None:
    """Refuses legal rows that cannot be learned from: products of a few values or statistics would overflow, or
    those of their differences underflow."""
    _check_size(family, summary, columns, LARGEST_LEARNED, LARGEST_LEARNED_STATISTIC)
    spread = np.subtract(summary.highest, summary.lowest, dtype=float)
    narrow = (spread > 0) & (spread < SMALLEST_SPREAD)
    if narrow.any():
        column = int(np.argmax(narrow))
        raise ValueError(
            f"values in column {_column(column, columns)} differ by at most {spread[column]:.3g}: products of such "
            f"numbers underflow in {family.name}; rescale the column"
        )


def _check_size(
    family: FamilyContract,
    summary: ColumnSummary,
    columns: list[str] | None,
    largest: float = np.inf,
    largest_statistic: float = LARGEST_STATISTIC,
) -> None:
    extremes = family.support.extremes(_with_ends(family, summary))
    with np.errstate(all="ignore"):
        statistics = np.abs(family.sufficient_statistic(extremes) if family.exponential else extremes)
        if np.all(statistics <= largest_statistic) and np.all(np.abs(extremes) <= largest):
            return
        sizes = np.log(np.abs(extremes))
    # Large numbers first; if there are none, those next to zero have large statistics.
    offends = np.where(np.isfinite(sizes), sizes if (sizes > 0).any() else -sizes, 0.0)
    end, column = np.unravel_index(np.argmax(offends), sizes.shape)
    raise ValueError(
        f"column {_column(int(column), columns)} holds {extremes[end, column]:.6g}: products of such numbers overflow "
        f"in {family.name}; rescale the column, or drop such rows"
    )


def _column(index: int, columns: list[str] | None) -> str:
    return str(index) if columns is None else repr(columns[index])


def _shown(row: Array) -> str:
    return "[" + ", ".join(f"{value:.4g}" for value in row[:6]) + (", ...]" if len(row) > 6 else "]")


def check_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> Array | None:
    """Weights (n,), finite, not negative, not all zero, as counts of rows; None when none are given.

    >>> check_sample_weight([0.25, 0.75], 2)
    array([0.5, 1.5])
    """
    if sample_weight is None:
        return None
    weights = check_weights(sample_weight, n_rows)
    if not weights.any():
        raise ValueError("all sample weights are zero: at least one must be positive")
    factor = relative_factor(float(weights.sum()), int(np.count_nonzero(weights)))
    return weights if factor == 1 else factor * weights


def relative_factor(total: float, n_rows: int) -> float:
    """What weights are multiplied by so that they count rows; `n_rows` are those of positive weight.

    A weight of 2 is a row twice, so whole numbers sum to at least the number of rows. Weights that sum to less are
    relative: they are made to sum to the number of rows, and multiplying all of them by a number changes nothing.
    """
    return 1.0 if total >= n_rows * (1 - RELATIVE) else n_rows / total


def check_weights(sample_weight: ArrayLike, n_rows: int, first_row: int = 0) -> Array:
    """Weights (n,) of all rows or of a part that begins at `first_row`: finite, not negative."""
    weights = np.asarray(unmasked_weights(sample_weight, first_row), dtype=float)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight has shape {weights.shape}; one weight per row is needed, shape ({n_rows},)")
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(np.argmax(bad))
        place = first_row + row
        raise ValueError(f"sample_weight[{place}] is {weights[row]:.6g}: weights must be finite and not negative")
    return weights


def check_fixed(family: FamilyContract) -> None:
    """The fixed parameters of a family, inside their domains."""
    columns: object = family.n_features
    if columns is not None and (isinstance(columns, bool) or not isinstance(columns, int | np.integer) or columns < 1):
        raise ValueError(f"n_features is {columns!r}: {family.name} needs a whole number of columns, at least 1")
    for name, domain in family.fixed.items():
        value = getattr(family, name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            raise ValueError(f"{name} is {value!r}: {family.name} needs a single number")
        if not np.isfinite(value) or domain.outside(np.array([[value]], dtype=float)).any():
            raise ValueError(f"{name} is {value}: {family.name} needs {domain.description}")


def check_parameters(family: FamilyContract, source: Mapping[str, ArrayLike]) -> dict[str, Array]:
    """Usual parameters as float arrays with a leading axis for components, inside their domains."""
    expected = family.parameters
    unknown = sorted(set(source) - set(expected))
    missing = [name for name in expected if name not in source]
    if unknown or missing:
        message = f"unknown {', '.join(unknown)}" if unknown else f"missing {', '.join(missing)}"
        raise ValueError(f"{family.name} takes the parameters {', '.join(expected)}: {message}")
    return {name: _check_parameter(family, name, source[name], domain) for name, domain in expected.items()}


def _check_parameter(family: FamilyContract, name: str, value: ArrayLike, domain: Support) -> Array:
    array = np.atleast_1d(np.asarray(value, dtype=float))
    if isinstance(domain, PositiveDefinite):
        array = as_matrices(array)
    if array.size == 0 or not np.isfinite(array).all():
        raise ValueError(f"the parameter {name} of {family.name} is empty or holds a value that is not finite")
    flat = array.reshape(len(array), -1)
    if (offender := domain.first_outsider(flat)) is not None:
        component, place = offender
        shown = _shown(flat[component]) if place is None else f"{flat[component, place]:.6g}"
        raise ValueError(f"component {component} of {name} is {shown}; {family.name} needs {domain.description}")
    return array
