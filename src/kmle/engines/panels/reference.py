"""The panels passes in plain NumPy: the statement of what the compiled ones compute, and their stand-in.

Nothing is given up early here: every component is scored with every row, and only near ties need care.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from ..._kernels.row_scores import RowScores
from ..._kernels.statistics import Totals
from .products import CenteredTable

Floats = NDArray[np.float64]

VALUES_PER_BLOCK = 2**17  # 1 MB of float64: a block and its residuals stay in the cache
EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class PanelsModel:
    """Components with scores constant_j - |A_j y - shift_j|^2 / 2: factors (k, d, d), shifts (k, d), constants (k,)."""

    factors: Floats
    shifts: Floats
    constants: Floats

    @property
    def active(self) -> NDArray[np.intp]:
        """The components whose constant is not -inf."""
        return np.flatnonzero(~np.isneginf(self.constants))

    def lower(self) -> "PanelsModel":
        """The active components, with zeros above the diagonals of their factors."""
        active = self.active
        return PanelsModel(np.tril(self.factors[active]), self.shifts[active], self.constants[active])


class PanelsRows:
    """Rows kept for many passes."""

    def __init__(self, rows: int, columns: int) -> None:
        self._values = np.zeros((rows, columns))

    def load(self, first: int, rows: Floats) -> None:
        self._values[first : first + len(rows)] = rows

    def hard_pass(self, model: PanelsModel, labels: NDArray[np.int32]) -> int:
        if len(model.active) == 0:
            found = np.zeros(len(labels), dtype=np.int32)
        else:
            found = model.active[self._best(model.lower())].astype(np.int32)
        changed = int(np.count_nonzero(found != labels))
        labels[:] = found
        return changed

    def row_scores(
        self, model: PanelsModel, labels: NDArray[np.int32], out: RowScores, entropies: Floats | None
    ) -> None:
        active, lower = model.active, model.lower()
        for rows, sums in self._sums(lower):
            scores = np.full((len(sums), len(model.constants)), -np.inf)
            scores[:, active] = lower.constants - 0.5 * sums
            out.put(rows, scores)
            if entropies is not None:
                shares = scipy.special.softmax(scores[:, active], axis=1) if len(active) else sums
                entropies[rows] = scipy.special.entr(shares).sum(axis=1)

    def soft_pass(
        self,
        model: PanelsModel,
        labels: NDArray[np.int32],
        table: CenteredTable,
        weights: Floats | None,
        kept: int,
        totals: Totals,
    ) -> float:
        active, lower = model.active, model.lower()
        if len(active) == 0:
            return -np.inf
        k, d, total = len(model.constants), len(table.center), 0.0
        linear, products = np.zeros((k, d)), np.zeros((k, d, d))
        for block, squares in self._sums(lower):
            scores = _largest(lower.constants - 0.5 * squares, kept)
            labels[block] = active[scores.argmax(axis=1)]
            log_likelihood = scipy.special.logsumexp(scores, axis=1)
            own = np.ones(len(scores)) if weights is None else weights[block]
            total += float(own @ log_likelihood)
            x = table.values(block)
            shares = own * np.exp(scores - log_likelihood[:, np.newaxis]).T
            totals.counts[active] += shares.sum(axis=1)
            linear[active] += shares @ x
            for j, share in zip(active, shares, strict=True):
                products[j] += (share[:, np.newaxis] * x).T @ x
        upper = np.triu_indices(d)
        totals.sums[:] = np.concatenate([linear, products[:, upper[0], upper[1]]], axis=1)
        return total

    def _sums(self, model: PanelsModel) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows and their sums of squared residuals (m, k)."""
        step = max(1, VALUES_PER_BLOCK // self._values.shape[1])
        for first in range(0, len(self._values), step):
            y = self._values[first : first + step]
            pairs = zip(model.factors, model.shifts, strict=True)
            squares = [((y @ factor.T - shift) ** 2).sum(axis=1) for factor, shift in pairs]
            yield slice(first, first + step), np.stack(squares, axis=1) if squares else np.zeros((len(y), 0))

    def _best(self, model: PanelsModel) -> NDArray[np.intp]:
        best = np.zeros(len(self._values), dtype=np.intp)
        for rows, sums in self._sums(model):
            y = self._values[rows]
            scores = model.constants - 0.5 * sums
            errors = _score_errors(y, sums, model)
            certain = (scores - errors).max(axis=1)
            candidates = ~(scores + errors < certain[:, np.newaxis])
            unsure = np.flatnonzero(np.count_nonzero(candidates, axis=1) != 1)
            exact = _scores_in_order(y[unsure], model)
            scores[unsure] = np.where(candidates[unsure], exact, -np.inf)
            best[rows] = scores.argmax(axis=1)
        return best


def _largest(scores: Floats, kept: int) -> Floats:
    """The scores (n, k), but for each row only the largest: others become -inf; the first stay among equals."""
    if kept >= scores.shape[1]:
        return scores
    dropped = np.argsort(-scores, axis=1, kind="stable")[:, kept:]
    np.put_along_axis(scores, dropped, -np.inf, axis=1)
    return scores


def _score_errors(y: Floats, sums: Floats, model: PanelsModel) -> Floats:
    """How far the scores (n, k) may be from those summed in order.

    Two computations of the residuals differ by a vector no longer than `length`, whatever their order of summation.
    """
    slack = (y.shape[1] + 8) * EPSILON
    sizes = np.linalg.norm(model.factors, axis=(1, 2))
    length = 2 * slack * (np.outer(np.linalg.norm(y, axis=1), sizes) + np.linalg.norm(model.shifts, axis=1))
    return np.asarray(2 * slack * (sums + np.abs(model.constants)) + 2 * length * (np.sqrt(sums) + length))


def _scores_in_order(y: Floats, model: PanelsModel) -> Floats:
    """The scores, each residual summed in the order of the columns, then the squares in the order of the rows."""
    scores = np.empty((len(y), len(model.factors)))
    for j, (factor, shift) in enumerate(zip(model.factors, model.shifts, strict=True)):
        residuals = np.tile(-shift, (len(y), 1))
        for column, coefficients in zip(y.T, factor.T, strict=True):
            residuals += np.multiply.outer(column, coefficients)
        total = np.zeros(len(y))
        for residual in residuals.T:
            total += residual * residual
        scores[:, j] = model.constants[j] - 0.5 * total
    return scores
