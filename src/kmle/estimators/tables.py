"""Tables as scikit-learn's estimators take them: columns are counted and named, what is no number is refused."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from ..families import ExponentialFamily
from ..families.support import PositiveDefinite
from ..families.validation import as_rows, issparse, unmasked, without_na
from ..numerics.arrays import Array


def table_of(estimator: Any, X: ArrayLike, family: ExponentialFamily, reset: bool) -> Array:
    """X as a table of floats, dense or sparse, with the estimator's columns; with `reset` it takes those of X."""
    X = _without_na(unmasked(X))
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
        if str(error).startswith(("could not convert", "setting an array element")):
            as_rows(family, X)  # says which row and column is no number
        raise
    except TypeError as error:
        if issparse(X):
            raise
        try:
            as_rows(family, X)
        except ValueError as explained:  # scikit-learn expects a TypeError here
            raise TypeError(f"{explained} ({error})") from None
        raise
    return table


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
