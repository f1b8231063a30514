"""Legal rows of a mixture's family, visited in blocks of bounded memory."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..families.layout import BLOCK_NUMBERS
from ..families.sparse import check_sparse
from ..families.validation import issparse
from ..mixture import Mixture
from ..numerics.arrays import Array


def mixture_of(model: Any) -> Mixture:
    """The mixture itself, or that of a fitted estimator or a Fit."""
    for candidate in (model, getattr(model, "mixture_", None), getattr(model, "mixture", None)):
        if isinstance(candidate, Mixture):
            return candidate
    raise TypeError(f"model must be a Mixture or a fitted estimator, not a {type(model).__name__} (is it fitted?)")


def in_numbers(model: Any, X: Any) -> Any:
    """X; of a frame whose columns a fitted estimator knows by name, these columns as numbers."""
    named = getattr(model, "_named", None)
    return X if named is None or not hasattr(X, "columns") else named.frame(X)


def mixture_and_data(model: Any, X: Any) -> tuple[Mixture, Any]:
    """The mixture of a model, and its data as numbers."""
    return mixture_of(model), in_numbers(model, X)


def legal_rows(mixture: Mixture, X: ArrayLike) -> Any:
    """Rows (n, d), dense or sparse, or one sentence naming the first that is not legal; entries may be missing."""
    return check_sparse(mixture.family, X) if issparse(X) else mixture.family.check(X, missing=True)


def column_of(mixture: Mixture, X: ArrayLike) -> Array:
    """The values of one column that are there, in double precision."""
    x = legal_rows(mixture, X)[:, 0].astype(float)
    return x[~np.isnan(x)]


def row_blocks(rows: Any, width: int) -> Iterator[slice]:
    """Slices of rows for which a table of this many columns stays small."""
    size = max(1, BLOCK_NUMBERS // max(1, width))
    for start in range(0, rows.shape[0], size):
        yield slice(start, start + size)


def dense(rows: Any) -> Array:
    """A block of rows, filled in if it is sparse, in double precision."""
    block: Array = rows.toarray() if issparse(rows) else rows
    return block.astype(float, copy=False)
