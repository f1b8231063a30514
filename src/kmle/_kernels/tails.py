"""Rows scored with heavy-tailed components, and what estimates of these need of them, in one pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .packed import PackedRows, labels_for
from .statistics import Meter, Work

Floats = NDArray[np.float64]
Array = NDArray[np.floating[Any]]

LOWEST = float(np.finfo(np.float64).min)
# Squares beyond this are as good as this: what follows from them stays finite.
LARGEST_SQUARE = 1e300
# Rows that the version in NumPy takes at a time.
ROWS_AT_ONCE = 1 << 12


@dataclass(frozen=True)
class Tailed:
    """Components with the scores constant - (degrees + d) / 2 log(1 + q / degrees), q = |W (x - location)|^2.

    These are the log-densities of multivariate t distributions, with weights. Infinite degrees stand for Gaussians,
    whose score is constant - q / 2. `location` is (k, d), `whitening` the lower triangles W (k, d, d); a component
    whose constant is -inf is inactive.
    """

    location: Array
    whitening: Array
    degrees: Array
    constant: Array

    @property
    def n_cells(self) -> int:
        """How many numbers are summed for each component."""
        d = self.location.shape[1]
        return 3 + d + d * (d + 1) // 2

    def compiled(self, module: Any) -> Any:
        """The same for compiled passes."""
        lower = np.tri(self.location.shape[1], dtype=bool)
        packed = np.ascontiguousarray(self.whitening[:, lower], dtype=np.float64)
        others = (np.ascontiguousarray(part, dtype=np.float64) for part in (self.degrees, self.constant))
        return module.Tailed(np.ascontiguousarray(self.location, dtype=np.float64), packed, *others)


class TailedRows:
    """Rows X (n, d) with weights, over which passes with heavy-tailed components are made.

    Passes add up, for each component, r, r u, r log(1 + q / degrees), r u y and the lower triangle of r u y y', row
    after row: r are weighted responsibilities, u = (degrees + d) / (degrees + q) the expected hidden scales (one for
    Gaussians) and y = W (x - location).

    >>> rows = TailedRows(np.array([[0.0], [1.0], [9.0]]))
    >>> one = Tailed(np.zeros((1, 1)), np.ones((1, 1, 1)), np.array([1.0]), np.zeros(1))
    >>> rows.soft_pass(one)[0].round(3)
    array([[3.   , 3.024, 5.1  , 1.22 , 2.976]])
    """

    def __init__(
        self, X: Array, weights: ArrayLike | None = None, n_threads: int = 1, meter: Meter | None = None
    ) -> None:
        self.n_rows, self._meter = len(X), meter
        self._packed = PackedRows(len(X), X.shape[1], "identity", weights, n_threads=n_threads)
        self._module, self._X = self._packed.module, X
        self._weights = np.ones(len(X)) if weights is None else np.asarray(weights, dtype=np.float64)
        if self._module is not None:
            self._packed.load(0, X)

    def soft_pass(self, components: Tailed, n_responsibilities: int | None = None) -> tuple[Floats, float]:
        """The sums (k, cells) by responsibility, and the weighted sum of the rows' log-likelihoods."""
        return self._sums(components, n_responsibilities, None)

    def hard_pass(self, components: Tailed, labels: NDArray[np.int32]) -> tuple[Floats, float]:
        """The sums (k, cells) by the best components, and the sum of the best scores; labels (n,) are written."""
        if labels.shape != (self.n_rows,) or labels.dtype != np.int32:
            raise ValueError(f"labels must be {self.n_rows} int32, got {labels.dtype} of shape {labels.shape}.")
        return self._sums(components, 1, labels)

    def log_likelihood(self, components: Tailed) -> tuple[float, float]:
        """The weighted sums of the rows' log-likelihoods and of the entropies of their responsibilities."""
        self._count(components)
        if self._module is not None:
            given = components.compiled(self._module), len(components.constant)
            score, entropy = self._packed.native.tails_pass(*given, None, None)
            return float(score), float(entropy)
        score = entropy = 0.0
        for rows in self._slices():
            scores = tailed_scores(components, self._X[rows])[0]
            shares, values = responsibilities(scores, None)
            score += float(self._weights[rows] @ values)
            with np.errstate(invalid="ignore"):
                each = np.where(shares > 0, shares * (scores - values[:, None]), 0.0)
            entropy -= float(self._weights[rows] @ each.sum(axis=1))
        return score, entropy

    def own_scores(self, components: Tailed, labels: ArrayLike) -> Floats:
        """The weighted sums (k,) of the scores of rows with the components of their labels; -1 is none."""
        k = len(components.constant)
        own, totals = labels_for(self.n_rows, labels, k), np.zeros(k)
        self._count(components)
        if self._module is not None:
            self._packed.native.tails_own_scores(components.compiled(self._module), own, totals)
            return totals
        for rows in self._slices():
            scores = tailed_scores(components, self._X[rows])[0]
            held = own[rows] >= 0
            mine = scores[held, own[rows][held]]
            totals += np.bincount(own[rows][held], self._weights[rows][held] * mine, k)
        return totals

    def _sums(
        self, components: Tailed, n_responsibilities: int | None, labels: NDArray[np.int32] | None
    ) -> tuple[Floats, float]:
        k = len(components.constant)
        kept = k if n_responsibilities is None else min(n_responsibilities, k)
        sums = np.zeros((k, components.n_cells))
        self._count(components)
        if self._module is not None:
            score, _ = self._packed.native.tails_pass(components.compiled(self._module), kept, labels, sums)
            return sums, float(score)
        total = 0.0
        for rows in self._slices():
            scores, logs, scales, white = tailed_scores(components, self._X[rows])
            shares, values = responsibilities(scores, kept)
            total += float(self._weights[rows] @ values)
            if labels is not None:
                labels[rows] = np.argmax(scores, axis=1)
            sums += _added(shares * self._weights[rows, None], logs, scales, white)
        return sums, total

    def _slices(self) -> list[slice]:
        return [slice(first, first + ROWS_AT_ONCE) for first in range(0, self.n_rows, ROWS_AT_ONCE)]

    def _count(self, components: Tailed) -> None:
        if self._meter is not None:
            pairs = self.n_rows * len(components.constant)
            self._meter.add(Work(1, pairs, 0, pairs if self._module is None else 0))


# The version in NumPy -------------------------------------------------------------------------------------------------


def tailed_scores(components: Tailed, X: Array) -> tuple[Floats, Floats, Floats, Floats]:
    """Scores (n, k), log(1 + q / degrees), hidden scales (n, k), and y (k, n, d)."""
    d, degrees = X.shape[1], components.degrees
    with np.errstate(over="ignore", invalid="ignore"):
        white = np.einsum("kij,knj->kni", components.whitening, X - components.location[:, None])
        square = np.minimum((white**2).sum(axis=2).T, LARGEST_SQUARE)
    heavy = np.isfinite(degrees)
    finite = np.where(heavy, degrees, 1.0)
    ratio = np.where(heavy, 1.0 + square / finite, 1.0)
    logs = np.log(ratio)
    scales = np.where(heavy, (finite + d) / finite, 1.0) / ratio
    scores = components.constant - np.where(heavy, 0.5 * (finite + d) * logs, 0.5 * square)
    active = components.constant >= LOWEST
    return np.where(active, scores, -np.inf), logs, scales, np.where(active[:, None, None], white, 0.0)


def responsibilities(scores: Floats, kept: int | None) -> tuple[Floats, Floats]:
    """Shares (n, k) of the largest scores, the lowest index on a tie, and the logarithms of what they share (n,)."""
    if kept is not None and kept < scores.shape[1]:
        order = np.argsort(-scores, axis=1, kind="stable")
        scores = scores.copy()
        np.put_along_axis(scores, order[:, kept:], -np.inf, axis=1)
    top = scores.max(axis=1)
    shares = np.exp(scores - top[:, None])
    total = shares.sum(axis=1)
    return shares / total[:, None], top + np.log(total)


def _added(shares: Floats, logs: Floats, scales: Floats, white: Floats) -> Floats:
    """The sums (k, cells) of some rows."""
    weights = shares * scales
    lower = np.tri(white.shape[2], dtype=bool)
    first = np.einsum("nk,kni->ki", weights, white)
    second = np.einsum("nk,kni,knj->kij", weights, white, white)[:, lower]
    scalars = np.stack([shares.sum(axis=0), weights.sum(axis=0), (shares * logs).sum(axis=0)], axis=1)
    return np.concatenate([scalars, first, second], axis=1)
