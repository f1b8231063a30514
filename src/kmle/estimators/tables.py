"""Tables and batches as scikit-learn's estimators take them: columns are counted and named, text is refused."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import validate_data

from ..data.batches import as_batches, chunks_of
from ..data.holes import with_entries
from ..data.intervals import as_intervals
from ..families import ComponentFamilies, ExponentialFamily, Gaussian, Uniform
from ..families.support import PositiveDefinite
from ..families.validation import as_rows, issparse, unmasked, without_na
from ..mixture import Mixture
from ..mixture.densities import of_rows
from ..numerics.arrays import Array
from .online import legal_rows, opened

# How the types of dates and of lengths of time begin, in NumPy, pandas and polars.
LENGTHS = ("timedelta", "duration")
TIMES = ("date", "period", "time", *LENGTHS)


def table_of(estimator: Any, X: ArrayLike, family: ExponentialFamily, reset: bool) -> Array:
    """X as a table of floats, dense or sparse, with the estimator's columns; with `reset` it takes those of X."""
    X = _without_na(unmasked(X))
    _check_dates(X)
    matrices = isinstance(family.support, PositiveDefinite)
    if matrices and np.ndim(X) == 3:
        X = np.reshape(np.asarray(X), (len(np.asarray(X)), -1))
    try:
        table: Array = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse="csr" if family.sparse else False,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
    except ValueError as error:
        if str(error).startswith(("could not convert", "setting an array element", "Cannot cast")):
            _check_columns(X)
            as_rows(family, X)  # says which row and column is no number
        raise
    except TypeError as error:
        if issparse(X):
            raise
        try:
            _check_columns(X)
            as_rows(family, X)
        except ValueError as explained:  # scikit-learn expects a TypeError here, with words of its own
            words = "" if hasattr(X, "columns") else f" ({error})"
            raise TypeError(f"{explained}{words}") from None
        raise
    return table


def _check_dates(X: Any) -> None:
    """Refuses dates and lengths of time, which NumPy would take as numbers of nanoseconds."""
    kinds: Any = getattr(X, "dtypes", None)
    if kinds is None:
        kind = getattr(X, "dtype", None)
        if str(kind).startswith(TIMES):
            raise TypeError(f"the data holds {_times(kind)}: convert it to numbers, for example days")
        return
    for name, kind in zip(getattr(X, "columns", ()), kinds, strict=False):
        if str(kind).lower().startswith(TIMES):
            raise TypeError(f"column {name!r} holds {_times(kind)}: convert it to numbers, for example days")


def _times(kind: Any) -> str:
    return "lengths of time" if str(kind).lower().startswith(LENGTHS) else "dates"


def _check_columns(X: Any) -> None:
    """Refuses columns of a frame that hold text, by their names."""
    text = []
    for name in getattr(X, "columns", ()):
        try:
            as_rows(Gaussian(), np.asarray(X[name]))
        except ValueError:
            text.append(name)
    if text:
        verb, them = ("column {} holds", "it") if len(text) == 1 else ("columns {} hold", "them")
        raise ValueError(
            f"{verb.format(', '.join(map(repr, text)))} values that are not numbers: encode or drop {them}, "
            f"or name the families of all columns, as in family={{{text[0]!r}: 'categorical', ...}}"
        )


def _without_na(X: Any) -> Any:
    """A pandas frame or an array with NaN where objects hold pandas' NA, which scikit-learn does not read."""
    if isinstance(X, list | tuple | np.ndarray):
        values = _objects(X)
        return X if values is None else without_na(values)
    kinds: Any = getattr(X, "dtypes", None)
    if not hasattr(X, "isna") or not hasattr(X, "where") or "object" not in {str(kind) for kind in np.ravel(kinds)}:
        return X
    return X.where(X.notna(), np.nan)


def _objects(X: Any) -> np.ndarray[Any, Any] | None:
    """An array or a list as an array of objects, where that is what it holds."""
    try:
        values = np.asarray(X)
    except ValueError:  # rows of different lengths, which are refused later
        return None
    return values if values.dtype == object else None


def names_in(estimator: Any) -> list[str] | None:
    """The names of the columns that a fitted estimator knows."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def count_rows(rows: Any, weights: Array | None) -> float:
    """What the rows weigh that have at least one entry."""
    seen = slice(None) if issparse(rows) or as_intervals(rows) is not None else with_entries(rows)
    if weights is not None:
        return float(weights[seen].sum())
    return rows.shape[0] if isinstance(seen, slice) else int(seen.sum())


def of_block(mixture: Mixture, name: str, X: Any, first_row: int = 0) -> Array:
    """What a mixture says of the rows of one block, dense or sparse, after they have been checked."""
    found = of_rows(mixture, name, legal_rows(mixture.family, X, first_row))
    return without_noise(mixture, found) if name == "labels" else found


def without_noise(mixture: Mixture, labels: NDArray[Any]) -> NDArray[Any]:
    """Labels with -1 for rows of the noise component that `noise=True` added, the last one."""
    family = mixture.family
    last = family.families[-1] if isinstance(family, ComponentFamilies) else None
    if not isinstance(last, Uniform) or not last.everywhere:
        return labels
    return np.where(labels == mixture.n_components - 1, -1, labels)


def score_of_batches(mixture: Mixture, X: Any, sample_weight: Any) -> float:
    """The mean log-density of the rows of a stream."""
    sums = np.zeros(2)
    for chunk in chunks_of(opened(X) if sample_weight is None else as_batches(X, sample_weight), mixture.family):
        densities = of_block(mixture, "log_sums", chunk.X, chunk.first_row)
        weights = np.ones(len(densities)) if chunk.weights is None else chunk.weights
        sums += weights @ densities, weights.sum()
    return float(sums[0] / sums[1])
