"""Shapes of usual parameters: the first axis always counts components."""

from collections.abc import Callable
from functools import reduce

import numpy as np

from ..numerics.arrays import Array

# With this many rows, an array holds data instead of parameters.
MANY_ROWS = 1 << 12


def as_columns(value: Array) -> Array:
    """A parameter of independent columns as (k, d): a flat list is k components of one column."""
    value = np.asarray(value, dtype=float)
    return value[:, None] if value.ndim == 1 else np.atleast_2d(value)


def as_scalars(value: Array) -> Array:
    """A parameter with one number per component as (k,)."""
    return np.asarray(value, dtype=float).reshape(-1)


def as_matrices(value: Array) -> Array:
    """A matrix parameter as (k, p, p).

    A flat list is k matrices of size one, one square table is one matrix, any other table is k rows of p * p numbers.
    """
    value = np.asarray(value, dtype=float)
    if value.ndim <= 1:
        return value.reshape(-1, 1, 1)
    size = round(np.sqrt(value.shape[-1]))
    if value.ndim == 2 and len(value) != value.shape[1] and size * size == value.shape[1]:
        return value.reshape(-1, size, size)
    return value[None] if value.ndim == 2 else value


def blocks(parameter: Array, count: int) -> list[Array]:
    """The `count` equal blocks of the last axis: one for each statistic of a family of independent columns."""
    return np.split(parameter, count, axis=-1)


def over_columns(function: Callable[..., Array], X: Array, *parameters: Array) -> Array:
    """The sum (n, k) over columns of function(x (n, 1), parameters (k,)): never an n x k x d array."""
    columns = zip(X.T, *(parameter.T for parameter in parameters), strict=True)
    return reduce(np.add, (function(x[:, None], *own) for x, *own in columns))


def join(*parts: Array) -> Array:
    """The inverse of `blocks`."""
    alike = np.broadcast_arrays(*parts)
    if alike[0].shape[-1] > 1 or alike[0].size < MANY_ROWS:
        return np.concatenate(alike, axis=-1)
    # Statistics of a single column: each is written, and later read, in one piece.
    joined = np.empty((len(alike), *alike[0].shape[:-1]), dtype=np.result_type(*alike))
    for place, part in zip(joined, alike, strict=True):
        place[...] = part[..., 0]
    return np.moveaxis(joined, 0, -1)
