"""What the kernels ask of their arguments: right shapes and types, said once for all versions of a kernel."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Statistics = NDArray[np.float32] | Floats


def checked_statistics(statistics: ArrayLike) -> Statistics:
    array = np.asarray(statistics)
    if array.dtype not in (np.float32, np.float64):
        raise TypeError(f"statistics must be float32 or float64, got {array.dtype}: convert by astype(float).")
    if array.ndim != 2:
        raise ValueError(f"statistics must have shape (n, D), got {array.shape}.")
    return array


def checked_components(natural: ArrayLike, bias: ArrayLike, order: int) -> tuple[Floats, Floats]:
    natural = np.asarray(natural, dtype=np.float64)
    bias = np.asarray(bias, dtype=np.float64)
    if natural.ndim != 2 or len(natural) == 0 or natural.shape[1] != order:
        raise ValueError(f"natural must have shape (k, {order}), as wide as statistics, got {natural.shape}.")
    if bias.shape != (len(natural),):
        raise ValueError(f"bias must have shape ({len(natural)},), one per row of natural, got {bias.shape}.")
    return natural, bias


def checked_weights(weights: ArrayLike | None, n_rows: int) -> Floats | None:
    if weights is None:
        return None
    array = np.asarray(weights, dtype=np.float64)
    if array.shape != (n_rows,):
        raise ValueError(f"weights must have shape ({n_rows},), one per row, got {array.shape}.")
    return array


def checked_labels(labels: ArrayLike, n_rows: int, n_labels: int) -> NDArray[np.int32]:
    array = np.asarray(labels)
    if array.shape != (n_rows,):
        raise ValueError(f"labels must have shape ({n_rows},), one per row, got {array.shape}.")
    if n_rows and not np.issubdtype(array.dtype, np.integer):
        raise TypeError(f"labels must be integers, got {array.dtype}: convert by astype(int).")
    if n_rows and (array.min() < 0 or array.max() >= n_labels):
        # A label outside would write outside the sums, so this is checked although it reads all the labels.
        raise ValueError(f"labels must lie in 0..{n_labels - 1}, got {array.min()}..{array.max()}.")
    return array.astype(np.int32, copy=False)
