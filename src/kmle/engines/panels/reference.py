"""The pass over rows of many columns in plain NumPy: what the compiled one computes, and its stand-in.

Nothing is given up early here: every component is scored with every row, and only near ties need care.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from ..._kernels.row_scores import RowScores

Floats = NDArray[np.float64]

VALUES_PER_BLOCK = 2**17  # 1 MB of float64: a block and its residuals stay in the cache
EPSILON = float(np.finfo(np.float64).eps)


class PanelsRows:
    """Rows kept for many passes."""

    def __init__(self, rows: int, columns: int) -> None:
        self._values = np.zeros((rows, columns))

    def load(self, first: int, rows: Floats) -> None:
        self._values[first : first + len(rows)] = rows

    def hard_pass(self, factors: Floats, shifts: Floats, constants: Floats, labels: NDArray[np.int32]) -> int:
        active = np.flatnonzero(~np.isneginf(constants))
        if len(active) == 0:
            found = np.zeros(len(labels), dtype=np.int32)
        else:
            found = active[self._best(np.tril(factors[active]), shifts[active], constants[active])].astype(np.int32)
        changed = int(np.count_nonzero(found != labels))
        labels[:] = found
        return changed

    def row_scores(
        self,
        factors: Floats,
        shifts: Floats,
        constants: Floats,
        labels: NDArray[np.int32],
        *arrays: Floats | None,
    ) -> None:
        out, entropies = RowScores(*arrays[:-1]), arrays[-1]
        active = np.flatnonzero(~np.isneginf(constants))
        for rows, sums in self._sums(np.tril(factors[active]), shifts[active]):
            scores = np.full((len(sums), len(constants)), -np.inf)
            scores[:, active] = constants[active] - 0.5 * sums
            out.put(rows, scores)
            if entropies is not None:
                shares = scipy.special.softmax(scores[:, active], axis=1) if len(active) else sums
                entropies[rows] = scipy.special.entr(shares).sum(axis=1)

    def soft_pass(
        self,
        factors: Floats,
        shifts: Floats,
        constants: Floats,
        labels: NDArray[np.int32],
        rows: NDArray[Any],
        center: Floats,
        weights: Floats | None,
        kept: int,
        counts: Floats,
        sums: Floats,
    ) -> float:
        active = np.flatnonzero(~np.isneginf(constants))
        if len(active) == 0:
            return -np.inf
        total, d = 0.0, len(center)
        linear, products = np.zeros((len(constants), d)), np.zeros((len(constants), d, d))
        for block, squares in self._sums(np.tril(factors[active]), shifts[active]):
            scores = _largest(constants[active] - 0.5 * squares, kept)
            labels[block] = active[scores.argmax(axis=1)]
            log_likelihood = scipy.special.logsumexp(scores, axis=1)
            own = np.ones(len(scores)) if weights is None else weights[block]
            total += float(own @ log_likelihood)
            x = rows[block]
            x = (x - center).astype(x.dtype, copy=False).astype(np.float64, copy=False)
            shares = own * np.exp(scores - log_likelihood[:, np.newaxis]).T
            counts[active] += shares.sum(axis=1)
            linear[active] += shares @ x
            for j, share in zip(active, shares, strict=True):
                products[j] += (share[:, np.newaxis] * x).T @ x
        upper = np.triu_indices(d)
        sums[:] = np.concatenate([linear, products[:, upper[0], upper[1]]], axis=1)
        return total

    def _sums(self, factors: Floats, shifts: Floats) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows and their sums of squared residuals (m, k)."""
        step = max(1, VALUES_PER_BLOCK // self._values.shape[1])
        for first in range(0, len(self._values), step):
            y = self._values[first : first + step]
            squares = [((y @ factor.T - shift) ** 2).sum(axis=1) for factor, shift in zip(factors, shifts, strict=True)]
            yield slice(first, first + step), np.stack(squares, axis=1) if squares else np.zeros((len(y), 0))

    def _best(self, factors: Floats, shifts: Floats, constants: Floats) -> NDArray[np.intp]:
        best = np.zeros(len(self._values), dtype=np.intp)
        for rows, sums in self._sums(factors, shifts):
            y = self._values[rows]
            scores = constants - 0.5 * sums
            errors = _score_errors(y, sums, factors, shifts, constants)
            certain = (scores - errors).max(axis=1)
            contenders = ~(scores + errors < certain[:, np.newaxis])
            unsure = np.flatnonzero(np.count_nonzero(contenders, axis=1) != 1)
            exact = _scores_in_order(y[unsure], factors, shifts, constants)
            scores[unsure] = np.where(contenders[unsure], exact, -np.inf)
            best[rows] = scores.argmax(axis=1)
        return best


def _largest(scores: Floats, kept: int) -> Floats:
    """The scores (n, k), but for each row only the largest: others become -inf; the first stay among equals."""
    if kept >= scores.shape[1]:
        return scores
    dropped = np.argsort(-scores, axis=1, kind="stable")[:, kept:]
    np.put_along_axis(scores, dropped, -np.inf, axis=1)
    return scores


def _score_errors(y: Floats, sums: Floats, factors: Floats, shifts: Floats, constants: Floats) -> Floats:
    """How far the scores (n, k) may be from those summed in order.

    Two computations of the residuals differ by a vector no longer than `length`, whatever their order of summation.
    """
    slack = (y.shape[1] + 8) * EPSILON
    sizes = np.linalg.norm(factors, axis=(1, 2))
    length = 2 * slack * (np.outer(np.linalg.norm(y, axis=1), sizes) + np.linalg.norm(shifts, axis=1))
    return np.asarray(2 * slack * (sums + np.abs(constants)) + 2 * length * (np.sqrt(sums) + length))


def _scores_in_order(y: Floats, factors: Floats, shifts: Floats, constants: Floats) -> Floats:
    """The scores, each residual summed in the order of the columns, then the squares in the order of the rows."""
    scores = np.empty((len(y), len(factors)))
    for j, (factor, shift) in enumerate(zip(factors, shifts, strict=True)):
        residuals = np.tile(-shift, (len(y), 1))
        for column, coefficients in zip(y.T, factor.T, strict=True):
            residuals += np.multiply.outer(column, coefficients)
        total = np.zeros(len(y))
        for residual in residuals.T:
            total += residual * residual
        scores[:, j] = constants[j] - 0.5 * total
    return scores
