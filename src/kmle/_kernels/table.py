"""Rows of a table scored where they lie, and examined on the way: one reading of memory for both."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .backend import selected
from .columns import ColumnSummary, summarize_columns
from .packed import components_for
from .row_scores import RowScores


def score_table(
    table: NDArray[Any],
    shift: ArrayLike,
    natural: ArrayLike,
    bias: ArrayLike,
    labels: NDArray[np.int32] | None = None,
    out: RowScores | None = None,
    n_threads: int = 1,
) -> ColumnSummary | None:
    """Labels of rows (n, d) and what `out` wants of them, where t(x) is x less a shift (d,); what was seen of the rows.

    None where rows cannot be read as they lie, or there is no compiler: `PackedRows` has the same labels and scores.

    >>> labels = np.empty(2, np.int32)
    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> seen = score_table(rows, np.zeros(2), np.array([[1.0, 0.0], [0.0, 2.0]]), np.zeros(2), labels)
    >>> None if seen is None else labels.tolist()
    [0, 1]
    """
    compiled: Any = selected.module if table.size and table.flags.c_contiguous else None
    if compiled is None or table.dtype not in (np.float32, np.float64):
        return None
    n, d = table.shape
    theta, b = components_for(d, natural, bias)
    if out is not None:
        out.check(n, len(b))
    lowest, highest = np.full(d, np.inf), np.full(d, -np.inf)
    score = compiled.score_table32 if table.dtype == np.float32 else compiled.score_table64
    shifts = np.ascontiguousarray(shift, dtype=np.float64)
    wanted = None if out is None else out.compiled(compiled)
    finite, whole, shortest, longest = score(table, shifts, theta, b, labels, wanted, lowest, highest, n_threads)
    # Scores may overflow where no value is infinite.
    if not finite:
        return summarize_columns(table)
    return ColumnSummary(lowest, highest, np.full(d, np.nan), finite, whole, square_lengths=(shortest, longest))
