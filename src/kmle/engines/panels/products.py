"""Sums of rows and of the products of their columns, for each component: what full covariances are estimated from."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._kernels.backend import compiled_module
from ..._kernels.statistics import Totals

Floats = NDArray[np.float64]

BLOCK_ROWS = 4096


@dataclass(frozen=True)
class CenteredTable:
    """Rows (n, d), the columns of a row side by side, and the center (d,) they are seen from."""

    rows: NDArray[Any]
    center: Floats

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        return module.CenteredTable(self.rows, self.center)

    def values(self, rows: slice | NDArray[np.int32]) -> Floats:
        """Some of the rows less the center: rounded in their own precision, then in float64."""
        x = self.rows[rows]
        return (x - self.center).astype(x.dtype, copy=False).astype(np.float64, copy=False)


def product_sums(
    rows: NDArray[Any],
    center: Floats,
    places: NDArray[np.int32],
    components: NDArray[np.int32],
    shares: NDArray[np.floating[Any]],
    n_components: int,
    n_threads: int = 1,
) -> tuple[Floats, Floats]:
    """Counts (k,) and sums (k, D) of x and of the upper triangle of x x^T, for x = rows[place] - center.

    A share of row `places[i]` counts for component `components[i]`; a row may be named any number of times.

    >>> table = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> at, of = np.array([0, 1], dtype=np.int32), np.zeros(2, dtype=np.int32)
    >>> product_sums(table, np.zeros(2), at, of, np.array([1.0, 0.5]), 1)
    (array([1.5]), array([[ 2.5,  4. ,  5.5,  8. , 12. ]]))
    """
    d = rows.shape[1]
    totals = Totals.zeros(n_components, d + d * (d + 1) // 2)
    compiled = compiled_module()
    if compiled is not None:
        members = compiled.Members(places, components, shares)
        table = CenteredTable(as_table(rows), center).compiled(compiled)
        compiled.product_sums(table, members, totals.compiled(compiled), n_threads)
        return totals.counts, totals.sums
    counts, sums = totals.counts, totals.sums
    order = np.argsort(components, kind="stable")
    edges = np.searchsorted(components[order], np.arange(n_components + 1))
    for j in np.flatnonzero(np.diff(edges)):
        chosen = order[edges[j] : edges[j + 1]]
        counts[j], sums[j] = _totals(CenteredTable(rows, center), places[chosen], shares[chosen])
    return counts, sums


def as_table(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows in double or single precision, the columns of a row side by side; as they are, where they are so."""
    table = rows if rows.dtype in (np.float64, np.float32) else rows.astype(np.float64)
    return table if table.strides[1] == table.itemsize and table.strides[0] > 0 else np.ascontiguousarray(table)


def _totals(table: CenteredTable, places: NDArray[np.int32], shares: NDArray[np.floating[Any]]) -> tuple[float, Floats]:
    d = len(table.center)
    linear, products = np.zeros(d), np.zeros((d, d))
    for start in range(0, len(places), BLOCK_ROWS):
        x = table.values(places[start : start + BLOCK_ROWS])
        weighted = shares[start : start + BLOCK_ROWS, np.newaxis] * x
        linear += weighted.sum(axis=0)
        products += weighted.T @ x
    return float(shares.sum()), np.concatenate([linear, products[np.triu_indices(d)]])
