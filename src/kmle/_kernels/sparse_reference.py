"""The passes over sparse rows in SciPy: the statement of what the compiled ones compute, and their stand-in."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from .row_scores import RowScores
from .statistics import Clusters, Totals

Floats = NDArray[np.float64]
Labels = NDArray[np.int32]

VALUES_PER_BLOCK = 2**18
# The square of the rounding of doubles: a smaller share of a row changes no sum.
SMALLEST_SHARE = 2.0**-104


class CompressedRows:
    """Compressed sparse rows kept for many passes."""

    def __init__(
        self, values: NDArray[Any], columns: NDArray[Any], starts: NDArray[Any], n_columns: int, weights: Floats | None
    ) -> None:
        if len(starts) == 0 or starts[0] != 0 or starts[-1] != len(values) or len(columns) != len(values):
            raise ValueError(PLACES)
        if np.any(starts[1:] < starts[:-1]):
            raise ValueError(PLACES)
        if len(columns) and (columns.min() < 0 or columns.max() >= n_columns):
            raise ValueError("indices must lie below the number of columns, and none may be negative.")
        self._X = scipy.sparse.csr_array((values, columns, starts), shape=(len(starts) - 1, n_columns))
        self._weights = np.ones(self._X.shape[0]) if weights is None else weights

    def hard_pass(self, natural: Floats, bias: Floats, clusters: Clusters) -> int:
        found = np.empty_like(clusters.labels)
        self.best(natural, bias, found)
        changed = int(np.count_nonzero(found != clusters.labels))
        clusters.labels[:] = found
        clusters.sizes[:] = np.bincount(found, minlength=len(bias))
        self.label_sums(found, Totals(clusters.counts, clusters.sums))
        return changed

    def best(self, natural: Floats, bias: Floats, labels: Labels) -> float:
        total = 0.0
        for rows, scores in self._scored(natural, bias):
            labels[rows] = scores.argmax(axis=1)
            total += float(self._weights[rows] @ scores.max(axis=1))
        return total

    def row_scores(self, natural: Floats, bias: Floats, out: RowScores) -> None:
        for rows, scores in self._scored(natural, bias):
            out.put(rows, scores)

    def log_likelihood(self, natural: Floats, bias: Floats) -> tuple[float, float]:
        score = entropy = 0.0
        for rows, scores in self._scored(natural, bias):
            score += float(self._weights[rows] @ scipy.special.logsumexp(scores, axis=1))
            shares = scipy.special.softmax(scores, axis=1)
            entropy += float(self._weights[rows] @ scipy.special.entr(shares).sum(axis=1))
        return score, entropy

    def soft_pass(self, natural: Floats, bias: Floats, kept: int, totals: Totals) -> float:
        total = 0.0
        counts, sums = totals.counts, totals.sums
        for rows, scores in self._scored(natural, bias):
            # A stable sort of the negated scores keeps the lowest indices among equals.
            dropped = np.argsort(-scores, axis=1, kind="stable")[:, kept:]
            np.put_along_axis(scores, dropped, -np.inf, axis=1)
            log_likelihood = scipy.special.logsumexp(scores, axis=1)
            total += float(self._weights[rows] @ log_likelihood)
            shares = np.exp(scores - scores.max(axis=1, keepdims=True))
            shares = np.where(shares < SMALLEST_SHARE, 0.0, shares)
            shares *= (self._weights[rows] / shares.sum(axis=1))[:, np.newaxis]
            counts += shares.sum(axis=0)
            sums += (self._X[rows].T @ shares).T
        return total

    def label_sums(self, labels: Labels, totals: Totals) -> None:
        counts, sums = totals.counts, totals.sums
        own = np.flatnonzero(labels >= 0)
        shape = len(counts), len(labels)
        members = scipy.sparse.csr_array((self._weights[own], (labels[own], own)), shape=shape)
        counts[:] = np.bincount(labels[own], self._weights[own], len(counts))
        sums[:] = (members @ self._X).toarray()

    def _scored(self, natural: Floats, bias: Floats) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows and their scores: the bias, then one product after the other in the order of the entries."""
        theta = np.vstack([bias, np.where(np.isneginf(bias)[:, np.newaxis], 0.0, natural).T])
        step = max(1, VALUES_PER_BLOCK // len(bias))
        for first in range(0, self._X.shape[0], step):
            X = self._X[first : first + step]
            led = scipy.sparse.hstack([np.ones((X.shape[0], 1)), X.astype(float)], format="csr")
            yield slice(first, first + step), np.asarray(led @ theta)


PLACES = "indptr must begin with 0, never decrease, and end with the number of stored entries."
